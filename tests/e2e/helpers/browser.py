# SPDX-License-Identifier: Apache-2.0
"""A real Chromium without a window, driven through a pipe by its own protocol (CDP)."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import threading
import time

from waiting import pause_for

# What a test waits for takes moments on a machine at rest; a busy one gets this long.
PATIENCE = 90
PIECE = 64 << 10  # bytes that a wire carries at a time

AXE = pathlib.Path(__file__).resolve().parents[3] / ".peers/axe/node_modules/axe-core/axe.min.js"
# Rules of axe-core about what depends on size and colours.
LOOKS = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]

# Nothing that a browser does by itself, and no name is resolved: pages come from an address. Without
# a sandbox, which root and many containers cannot have, since all it ever sees is pages of ours.
FLAGS = ("--no-sandbox", "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
         "--no-default-browser-check", "--disable-dev-shm-usage", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--metrics-recording-only", "--password-store=basic",
         "--disable-features=Translate,OptimizationHints,MediaRouter",
         "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--lang=en-US")


class Browser:
    """One process; pages have cookies and caches of their own unless they share a context."""

    def __init__(self, directory):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        assert program, "there is no chromium (./dev test installs it)"
        self.directory = pathlib.Path(directory)
        down, up = os.pipe(), os.pipe()
        # Out of the way of 3 and 4, which the protocol wants in the child.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (down[0], up[1])]
        os.close(down[0])
        os.close(up[1])

        def place():
            for number, fd in enumerate(theirs, 3):
                os.dup2(fd, number)

        self.log = open(self.directory / "chromium.log", "ab")
        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self.directory / 'profile'}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=place,
            pass_fds=(3, 4), env={**os.environ, "HOME": str(self.directory)})
        for fd in theirs:
            os.close(fd)
        self.write, self.read = down[1], up[0]
        self.buffer, self.number, self.answers, self.pages = b"", 0, {}, {}

    def close(self):
        try:
            self.call("Browser.close")
        except (AssertionError, OSError):
            pass
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write)
        os.close(self.read)
        self.log.close()

    def pump(self, seconds):
        """Takes what has come, waiting for a first piece at most so long."""
        if not select.select([self.read], [], [], seconds)[0]:
            return
        piece = os.read(self.read, 1 << 20)
        assert piece, f"chromium ended: see {self.log.name}"
        *messages, self.buffer = (self.buffer + piece).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].take(message["method"], message["params"])

    def call(self, method, session=None, **params):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        end = time.monotonic() + PATIENCE
        while number not in self.answers:
            assert time.monotonic() < end, f"{method} was not answered"
            self.pump(1)
        answer = self.answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def page(self, *args, **more):
        return Page(self, *args, **more)


class Wire:
    """
    A cable to the server, of a certain speed, that breaks after so many bytes until mended. A cable that breaks
    silently ends no connection: no byte moves any more, as when a radio link or a translated address is lost.
    """

    def __init__(self, port, bytes_a_second, most, silent=False):
        self.silent, self.cuts, self.over = silent, 0, threading.Event()
        self.port, self.pause, self.most = port, PIECE / bytes_a_second, most
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.whole, self.ends, self.lock = True, [], threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if not self.whole:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.port))
            self.ends += [client, server]
            for ends, pause in (((client, server), self.pause), ((server, client), 0)):
                threading.Thread(target=self.carry, args=(*ends, pause), daemon=True).start()

    def carry(self, source, sink, pause):
        cuts = self.cuts
        try:
            while piece := source.recv(PIECE):
                if self.silent and self.cuts > cuts:
                    self.over.wait()
                    break
                sink.sendall(piece)
                pause_for(pause * len(piece) / PIECE, "a slow network")
                with self.lock:
                    self.most -= len(piece)
                    last = self.most < 0 <= self.most + len(piece)
                if last:
                    self.cut()
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.whole, self.cuts = False, self.cuts + 1
        if self.silent and not self.over.is_set():
            return
        for end in self.ends:
            try:
                # With a reset: data in flight would keep a half-closed connection waiting for a window.
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)
                end.close()
            except OSError:
                pass

    def mend(self):
        self.whole = True

    def close(self):
        self.over.set()
        self.cut()
        self.listener.close()


class Page:
    """A tab of its own context: its requests and its errors."""

    def __init__(self, browser, width=1200, height=900, dark=False, script=True, phone=False,
                 context=None):
        self.browser, self.loaded = browser, 0
        self.requests, self.problems, self.statuses = [], [], {}
        self.context = context or browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", width=width, height=height,
                              browserContextId=self.context)["targetId"]
        self.target = target
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self("%s.enable" % domain)
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, mobile=phone,
             deviceScaleFactor=2 if phone else 1)
        self("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        if not script:
            self("Emulation.setScriptExecutionDisabled", value=True)

    def __call__(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def take(self, method, params):
        if method == "Page.loadEventFired":
            self.loaded += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.responseReceived":
            self.statuses[params["response"]["url"]] = params["response"]["status"]
        elif method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"])

    def goto(self, url):
        """Loads it, with all that it needs."""
        self.during(lambda: self("Page.navigate", url=url))
        return self

    def during(self, act):
        """Does what loads another page, and waits until it is there."""
        before = self.loaded
        act()
        end = time.monotonic() + PATIENCE
        while self.loaded == before:
            assert time.monotonic() < end, "no page was loaded"
            self.browser.pump(1)

    def frame(self, part):
        """Evaluates in a frame of another origin, which is a process of its own, by a part of its URL."""
        end = time.monotonic() + PATIENCE
        while not (found := [t["targetId"] for t in self.browser.call("Target.getTargets")["targetInfos"]
                             if t["type"] == "iframe" and part in t["url"]]):
            assert time.monotonic() < end, f"there is no frame {part}"
            self.browser.pump(0.1)
        session = self.browser.call("Target.attachToTarget", targetId=found[0], flatten=True)["sessionId"]

        def evaluate(expression):
            answer = self.browser.call("Runtime.evaluate", session, expression=expression, returnByValue=True,
                                       awaitPromise=True)
            assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
            return answer["result"].get("value")
        return evaluate

    def eval(self, expression):
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True,
                      awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, expression):
        """Until it is true."""
        end = time.monotonic() + PATIENCE
        while not (value := self.eval(expression)):
            assert time.monotonic() < end, (expression, self.text())
            self.browser.pump(0.05)
        return value

    def text(self, selector="body"):
        return self.eval(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def fill(self, selector, text):
        self.eval(f"document.querySelector({json.dumps(selector)}).value = {json.dumps(text)}; 1")

    def click(self, selector):
        """As a mouse does: in its middle, where it must be seen."""
        box = self.eval(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}});
            const r = e.getBoundingClientRect();
            const x = r.x + r.width / 2, y = r.y + r.height / 2;
            const top = document.elementFromPoint(x, y);
            return {{x, y, seen: top === e || e.contains(top)}};
        }})()""")
        assert box["seen"], f"{selector} is covered"
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=box["x"], y=box["y"], button="left",
                 clickCount=1)

    def press(self, key, code=None):
        extra = {"text": "\r"} if key == "Enter" else {}
        number = {"Tab": 9, "Enter": 13}[key]
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                 windowsVirtualKeyCode=number, **(extra if kind == "keyDown" else {}))

    def files(self, selector, *paths):
        root = self("DOM.getDocument")["root"]["nodeId"]
        node = self("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self("DOM.setFileInputFiles", nodeId=node, files=[str(p) for p in paths])

    def drag(self, kind, *paths, x=200, y=300):
        """What a mouse does with files or folders of the desktop: "dragEnter", "dragOver", "drop"."""
        self("Input.dispatchDragEvent", type=kind, x=x, y=y,
             data={"items": [], "files": [str(p) for p in paths], "dragOperationsMask": 1})

    def screenshot(self, path, full=True, most=4000):
        size = self.eval("[document.documentElement.scrollWidth, "
                         "document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], most), "scale": 1}
        form = {"format": "webp", "quality": 80} if str(path).endswith(".webp") else {"format": "png"}
        data = self("Page.captureScreenshot", captureBeyondViewport=full, **form,
                    **({"clip": clip} if full else {}))["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.browser.pages.pop(self.session, None)
        self.browser.call("Target.closeTarget", targetId=self.target)


def checked(page, where, rules=None):
    """What axe-core finds."""
    assert AXE.exists(), "tools/axe.sh fetches axe-core"
    page.eval(AXE.read_text() + ";1")
    options = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    found = page.eval(f"""axe.run(document, {json.dumps(options)}).then(r => r.violations.map(v =>
        [v.id, v.help, v.nodes.map(n => n.html + ": " + n.failureSummary)]))""")
    assert not found, (where, found)


def narrow(page, where):
    """No page is wider than the screen."""
    width, most = page.eval("[document.documentElement.scrollWidth, innerWidth]")
    wide = page.eval("""[...document.body.querySelectorAll("*")].filter(e =>
        !e.closest(".hidden, .skip, .wide, textarea, pre") &&
        e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 120))""")
    assert width <= most and not wide, (where, width, most, wide)
