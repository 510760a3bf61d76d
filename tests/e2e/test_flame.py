# SPDX-License-Identifier: Apache-2.0
"""unhex flame: its page in a real Chromium, its picture, and what speedscope reads of it."""
import functools
import http.server
import json
import re
import sys
import threading
import xml.etree.ElementTree

import pytest

from browser import LOOKS, checked, narrow
from pprof_stacks import Stacks
from tool import ROOT, build_id, compile_c, fails, lines, symbol, unhex

sys.path[:0] = [str(ROOT / "bench")]

# pylint: disable=wrong-import-position
from servers import running, serve_samply  # noqa: E402

SPEEDSCOPE = ROOT / ".peers/speedscope/node_modules/speedscope/dist/release"
PHONE = {"width": 390, "height": 800, "phone": True}
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x1b[31m"
MAIN = ("main", "prog", "/src/main.c", 10)
OUTER = [("outer", "prog", "/src/prog.c", 20), ("middle<T>", "prog", "/src/prog.c", 3),
         ("inner", "prog", "/src/inner.h", 4)]
MANY = 100_000  # nodes of a large profile
SECONDS_MAX = 4  # of work until a large page is drawn: less than one on a machine at rest


def after():
    s = Stacks(("samples", "count"), ("cpu", "nanoseconds"))
    s.sample([MAIN, OUTER], 50, 500_000_000)
    s.sample([MAIN, OUTER[0], ("malloc", "libc.so.6")], 20, 200_000_000)
    s.sample([MAIN, (HOSTILE, "prog")], 15, 150_000_000)
    return s.sample([MAIN, (0x1234, "libfoo.so")], 15, 150_000_000)


def before():
    s = Stacks(("samples", "count"), ("cpu", "nanoseconds"))
    s.sample([MAIN, OUTER], 20, 200_000_000)
    return s.sample([MAIN, ("gone", "prog")], 60, 600_000_000)


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    path = tmp_path_factory.mktemp("profiles")
    after().write(path / "after.pb")
    before().write(path / "before.pb")
    Stacks().write(path / "empty.pb")
    return path


@pytest.fixture
def open_page(browser):
    """Opens files; at the end looks that nothing went wrong in them and that they asked for nothing."""
    made = []

    def make(path, **more):
        page = browser.page(**more).goto(path.as_uri())
        made.append((page, path.as_uri()))
        return page

    yield make
    for page, uri in made:
        requests, problems = [u for u in page.requests if u != uri], page.problems
        page.close()
        assert not requests and not problems, (requests, problems)


def flame(out, *args):
    done = unhex("flame", *args, "--no-local", "-o", out)
    assert done.returncode == 0, done.stderr
    return out


def key(page, *names):
    for name in names:
        page("Input.dispatchKeyEvent", type="keyDown", key=name)
        page("Input.dispatchKeyEvent", type="keyUp", key=name)


def current(page):
    """What a screen reader reads of the frame that has the focus."""
    return page.eval("document.getElementById('current').textContent")


def choose(page, select, value):
    page.eval(f"""(e => {{ e.value = {json.dumps(value)};
        e.dispatchEvent(new Event("change")); }})(document.getElementById({json.dumps(select)}))""")


def find(page, text):
    page.fill("#query", text)
    page.eval("document.getElementById('query').dispatchEvent(new Event('input'))")
    return page.text("#found")


def functions(page):
    return page.eval("""[...document.querySelectorAll("#functions tr")].map(r =>
        [...r.cells].map(c => c.textContent.replaceAll("\\u202f", " ")))""")


def click(page, x, row):
    """In a row of the graph, at a share of its width."""
    box = page.eval("""(r => [r.x, r.y, r.width])(document.getElementById("canvas").getBoundingClientRect())""")
    place = {"x": box[0] + box[2] * x, "y": box[1] + row * 20 + 10}
    page("Input.dispatchMouseEvent", type="mouseMoved", **place)
    for kind in ("mousePressed", "mouseReleased"):
        page("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)


def recorded(tmp_path):
    """A profile without names, of a program in which outer() has calls that are inlined."""
    program = compile_c(tmp_path)
    start, size = symbol(program, "outer")
    found = lines(unhex("lookup", program, "--json", *[hex(start + i) for i in range(size)]))
    pc = next(int(f["address"], 16) for f in found if len(f["frames"]) == 3)
    s = Stacks(("cpu", "nanoseconds"))
    s.build_ids[str(program)] = build_id(program).split(":")[1]
    # In a mapping from the start of the file, positions in the text are what the linker put at these addresses.
    s.sample([("main", str(program)), (pc, str(program))], 7_000_000)
    return s.write(tmp_path / "cpu.pb")


def test_a_real_program_shows_a_function_and_what_is_inlined_into_it(tmp_path, open_page):
    done = unhex("flame", recorded(tmp_path), "-o", tmp_path / "cpu.html")
    assert done.returncode == 0 and "100.0 % of samples named" in done.stderr, done.stderr
    page = open_page(tmp_path / "cpu.html")
    page.eval("document.getElementById('graph').focus()")
    key(page, "ArrowDown", "ArrowDown")
    assert current(page).startswith("outer, 7.00 ms, 100.0")
    assert f"{tmp_path}/prog.c:" in current(page) and "inlined" not in current(page)
    key(page, "ArrowDown", "ArrowDown")
    assert current(page).startswith("inner, ") and ", inlined, prog" in current(page)


def test_search_zoom_and_the_inverted_view(profiles, tmp_path, open_page):
    page = open_page(flame(tmp_path / "a.html", profiles / "after.pb", "--value", "samples"))
    assert find(page, "INNER").replace("\u202f", " ").startswith("50.0 % in 1 function that matches")
    assert find(page, "/^(inner|malloc)$/").replace("\u202f", " ").startswith("70.0 % in 2 functions")
    assert find(page, "libc").replace("\u202f", " ").startswith("20.0 % in 1")  # a module
    assert find(page, "/(/") == "This is not a regular expression."
    assert find(page, "nowhere").replace("\u202f", " ").startswith("0.0 % in 0 functions")
    find(page, "")
    assert [f[2] for f in functions(page)][:2] == ["inner", "malloc"]

    click(page, 0.6, 3)  # malloc, of which outer() is the caller
    assert page.text("#name") == "malloc" and not page.eval("document.getElementById('reset').disabled")
    click(page, 0.5, 4)  # there is nothing below it
    assert page.text("#name") == "malloc"
    click(page, 0.1, 2)  # its caller has the whole width
    assert page.text("#name") == "outer"
    page.click("#reset")
    assert page.text("#name") == "all"

    page.eval("document.getElementById('graph').focus()")
    key(page, "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight")
    assert page.text("#name") == "libfoo.so@0x1234"
    assert page.text("#why").startswith("Why no name? ") and "not symbolized" not in page.text("#why")
    key(page, "ArrowLeft", "Enter", "ArrowUp")
    assert page.text("#name") == "main"
    key(page, "Escape")
    assert page.text("#name") == "all"

    choose(page, "view", "inverted")
    page.eval("document.getElementById('graph').focus()")
    key(page, "Home", "ArrowDown")
    assert current(page).replace("\u202f", " ").startswith("inner, 50, 50.0 %")
    key(page, "ArrowDown")
    assert current(page).startswith("middle<T>, 50")
    key(page, "ArrowUp", "ArrowRight", "ArrowDown")
    assert current(page).startswith("outer, 20")  # called malloc

    choose(page, "color", "module")
    assert page.text("#legend").replace("\u202f", " ").startswith("prog 65.0 %")
    choose(page, "color", "source")
    assert "/src/inner.h 50.0" in page.text("#legend")
    choose(page, "type", "1")
    assert "1.00 s" in page.text("#facts")


def test_the_difference_of_two_profiles(profiles, tmp_path, open_page):
    args = profiles / "after.pb", "--diff", profiles / "before.pb"
    page = open_page(flame(tmp_path / "diff.html", *args))
    rows = functions(page)
    assert rows[0][2:4] == ["\u221275.0 %", "gone"] and ["+25.0 %", "inner"] in [r[2:4] for r in rows]
    page.eval("document.getElementById('graph').focus()")
    key(page, "ArrowDown", "ArrowDown")
    assert "before 200.0 ms, 25.0" in current(page) and "+45.0" in current(page)
    choose(page, "side", "other")
    click(page, 0.9, 2)
    assert page.text("#name") == "gone"
    svg = flame(tmp_path / "diff.svg", *args).read_text()
    assert "outer: 700000000 nanoseconds, 70.00 %, before 25.00 %" in svg
    assert "gone: 0 nanoseconds" not in svg  # it has no width


def test_hostile_names_stay_names(profiles, tmp_path, open_page):
    page = open_page(flame(tmp_path / "a.html", profiles / "after.pb"))
    assert page.eval("document.images.length + document.scripts.length") == 2  # the data and the script
    shown = HOSTILE.replace("\u202e", "\ufffd").replace("\x1b", "\ufffd")
    assert shown in [f[2] for f in functions(page)]
    assert find(page, "onerror").replace("\u202f", " ").startswith("15.0 %")
    page.eval("document.getElementById('graph').focus()")
    key(page, "ArrowDown", "ArrowDown", "ArrowRight")
    assert page.text("#name").split() == shown.split()


def test_an_empty_profile_has_a_page_that_says_so(profiles, tmp_path, open_page):
    page = open_page(flame(tmp_path / "e.html", profiles / "empty.pb"))
    assert page.text("#empty") == "No sample of this profile has a value."
    tree = xml.etree.ElementTree.parse(flame(tmp_path / "e.svg", profiles / "empty.pb"))
    assert "no samples" in "".join(tree.getroot().itertext())


def test_a_large_profile_is_drawn_at_once(tmp_path, open_page):
    s = Stacks()
    for i in range(MANY // 2):
        s.sample([(f"f{d}_{i // 2 ** (9 - d)}", f"lib{d}.so", f"/src/{d}.c", 1) for d in range(10)], 1 + i % 7)
    page = open_page(flame(tmp_path / "large.html", s.write(tmp_path / "large.pb")))
    page.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page("Performance.enable")

    def work():
        values = {m["name"]: m["value"] for m in page("Performance.getMetrics")["metrics"]}
        return values["TaskDuration"]

    first = work()
    assert page.eval("document.documentElement.dataset.ready") == "yes" and first < SECONDS_MAX
    choose(page, "view", "inverted")
    find(page, "f9_17")
    page.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert work() - first < SECONDS_MAX


@pytest.mark.parametrize("look", [{}, {"dark": True, **PHONE}], ids=["light", "dark-phone"])
def test_the_page_is_for_everybody(profiles, tmp_path, open_page, look):
    for args in ((profiles / "after.pb",), (profiles / "after.pb", "--diff", profiles / "before.pb")):
        page = open_page(flame(tmp_path / f"{len(args)}.html", *args), **look)
        choose(page, "color", "module")
        find(page, "inner")
        checked(page, look, LOOKS if look else None)
        narrow(page, look)
        assert page.eval("document.documentElement.lang") == "en"


def test_a_picture_needs_no_script_and_its_texts_fit(profiles, tmp_path, open_page):
    picture = flame(tmp_path / "a.svg", profiles / "after.pb")
    xml.etree.ElementTree.parse(picture)
    page = open_page(picture)
    texts = page.eval("""[...document.querySelectorAll("g > g")].map(g => {
        const t = g.querySelector("text"), r = g.querySelector("rect");
        return [g.querySelector("title").textContent, t ? t.getComputedTextLength() : 0, r.width.baseVal.value,
                r.x.baseVal.value];
    })""")
    assert len(texts) == 8
    assert all(text <= width for _, text, width, _ in texts), texts
    by_name = {title.split(":")[0]: (x, width) for title, _, width, x in texts}
    assert by_name["inner"] == (0, 600) and by_name["malloc"] == (600, 240)
    assert not page.eval("document.querySelector('script, img')")


def test_same_input_same_bytes(profiles, tmp_path):
    for suffix in ("html", "svg", "folded", "speedscope.json", "firefox.json"):
        first = flame(tmp_path / f"1.{suffix}", profiles / "after.pb").read_bytes()
        assert first == flame(tmp_path / f"2.{suffix}", profiles / "after.pb").read_bytes()


def test_speedscope_reads_it(profiles, tmp_path, browser):
    assert SPEEDSCOPE.exists(), "tools/speedscope.sh fetches speedscope"
    flame(tmp_path / "p.speedscope.json", profiles / "after.pb", "--value", "samples")

    class Files(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            return str(tmp_path / "p.speedscope.json") if path == "/p.json" else super().translate_path(path)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=SPEEDSCOPE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d" % server.server_port
    page = browser.page().goto(f"{url}/index.html#profileURL={url.replace(':', '%3A').replace('/', '%2F')}%2Fp.json")
    try:
        page.wait("document.title.startsWith('after.pb')")
        page.wait("document.body.innerText.includes('samples (1/2)')")
        page.eval("""[...document.querySelectorAll("div")].filter(e => e.innerText.endsWith("Sandwich"))
            .pop().click()""")
        page.wait("document.body.innerText.includes('middle<T>')")
        table = re.findall(r"(\d+) \([^)]*%\)\s+(\d+) \([^)]*%\)\s+(\S.*)", page.text())
        rows = lines(unhex("top", profiles / "after.pb", "--no-local", "--json", "--value", "samples"))
        assert len(rows) == 7
        ours = {(str(r["total"]), str(r["self"]), r["function"]) for r in rows}
        assert set(table) == ours
        assert not page.problems
    finally:
        page.close()
        server.shutdown()


def test_samply_finds_the_same_names_by_what_the_firefox_profiler_gets(tmp_path):
    """Libraries and addresses of the document lead samply to the names that are in it."""
    profile = recorded(tmp_path)
    done = unhex("flame", profile, "-o", tmp_path / "cpu.firefox.json")
    assert done.returncode == 0, done.stderr
    doc = json.loads((tmp_path / "cpu.firefox.json").read_text())
    thread, = doc["threads"]
    strings, func = thread["stringArray"], thread["funcTable"]
    frames, stacks = thread["frameTable"], thread["stackTable"]
    chain, stack = [], thread["samples"]["stack"][0]
    while stack is not None:
        chain.append(stacks["frame"][stack])
        stack = stacks["prefix"][stack]
    names = [strings[func["name"][frames["func"][f]]] for f in chain]
    assert names == ["inner", "middle", "outer", "main"]
    assert [frames["inlineDepth"][f] for f in chain] == [2, 1, 0, 0]
    lib = doc["libs"][thread["resourceTable"]["lib"][func["resource"][frames["func"][chain[0]]]]]
    with running(serve_samply(ROOT / ".peers/samply/bin/samply", doc["libs"], tmp_path)) as server:
        status, text = server.ask("POST", "/symbolicate/v5", json.dumps(
            {"memoryMap": [[lib["debugName"], lib["breakpadId"]]], "stacks": [[[0, frames["address"][chain[0]]]]]}))
    assert status == 200, text
    frame, = json.loads(text)["results"][0]["stacks"][0]
    assert [i["function"] for i in frame["inlines"]] + [frame["function"]] == names[:3]
    theirs = [i["line"] for i in frame["inlines"]] + [frame["line"]]
    assert theirs == [frames["line"][f] for f in chain[:3]]


def test_what_cannot_be_done_is_said(profiles, tmp_path):
    fails(unhex("flame", profiles / "after.pb", "--to", "png"), 2, "--to png", "speedscope")
    fails(unhex("flame", profiles / "after.pb", "--value", "wall", "-o", tmp_path / "x.html"), 1, '"wall"',
          "expected samples, cpu")
    fails(unhex("flame"), 2, "no profile")
    fails(unhex("flame", profiles / "after.pb", "--diff", profiles / "before.pb", "-o", tmp_path / "x.folded"), 2,
          "--diff")
    other = Stacks(("space", "bytes")).sample([MAIN], 1).write(tmp_path / "other.pb")
    fails(unhex("flame", profiles / "after.pb", "--diff", other, "-o", tmp_path / "x.html"), 1, "no values in common")
    assert not list(tmp_path.glob("x.*"))
