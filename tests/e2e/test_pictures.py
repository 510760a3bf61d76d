# SPDX-License-Identifier: Apache-2.0
"""Pictures of the documents: pages about a real program that was recorded, and one that crashed."""
import pathlib
import shutil
import subprocess
import tempfile
import urllib.parse

import pytest

from browser import narrow
from unhex_server import Server
from http_api import Api
from pictures import picture
from tool import ROOT, build_id, unhex

EXAMPLES = ROOT / "docs/examples"
INPUT = [ROOT / "LICENSE", ROOT / "README.md"]
SPAN = "from=1794990000&until=1795010000"
PHONE = {"width": 390, "height": 800}


def build(folder, source, *flags):
    folder.mkdir()
    out = folder / source.split(".")[0]
    copy = shutil.copy(EXAMPLES / source, folder)
    subprocess.run(["g++" if source.endswith(".cc") else "gcc", "-g", *flags, "-Wl,--build-id", "-o", out, copy],
                   check=True)
    return out


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two builds of a program that counts words, each recorded for a few seconds; one that divides by zero."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="words-", dir="/tmp"))  # a short path, since pictures have it
    server = Server(tmp_path_factory.mktemp("pictures") / "server", options=("--keep-profiles", "7d")).start()
    builds = [build(folder / "v1", "words.cc", "-std=c++17", "-O1", "-fno-omit-frame-pointer"),
              build(folder / "v2", "words.cc", "-std=c++17", "-O2", "-fno-omit-frame-pointer")]
    crash = build(folder / "crash", "crash.c", "-O2")
    done = server.unhex("push", "--with-debuginfo", "--sources", *builds, crash)
    assert done.returncode == 0, done.stderr
    assert server.unhex("push", "/lib/x86_64-linux-gnu/libc.so.6").returncode == 0
    for number, program in enumerate(builds):
        out = folder / f"{number}.pb.gz"
        done = unhex("record", "--duration", "3", "-F", "499", "-o", out, "--", program, *INPUT)
        assert out.exists(), done.stderr
        query = urllib.parse.urlencode({"service": "words", "host": "web-1", "build": f"v{number + 1}",
                                        "time": 1_795_000_000 + 3600 * number})
        assert Api(server)("POST", f"/v1/profiles?{query}", out.read_bytes())[0] == 201
    server.words, server.crash = builds[1], crash
    yield server
    assert server.stop() in (0, None)
    shutil.rmtree(folder)


@pytest.fixture
def open_page(browser):
    made = []

    def make(url, **more):
        page = browser.page(**more)
        page("Emulation.setScrollbarsHidden", hidden=True)
        page.goto(url)
        made.append(page)
        return page

    yield make
    for page in made:
        assert not page.problems
        page.close()


def draw(page):
    page.wait("document.documentElement.dataset.ready")
    page("Input.dispatchMouseEvent", type="mouseMoved", x=450, y=300)
    page.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_picture_of_a_flame_graph(site, open_page, tmp_path):
    page = open_page(f"{site.url}/profiles/words/flame?{SPAN}&build=v2", width=1000, height=900)
    page.fill("#query", "words::count")
    page.eval("document.getElementById('query').dispatchEvent(new Event('input'))")
    draw(page)
    assert page.eval("document.getElementById('link').hidden") is False
    picture(page, "flame", tmp_path, "docs/flame.md")


def test_picture_of_a_difference_of_builds(site, open_page, tmp_path):
    page = open_page(f"{site.url}/profiles/words/flame?{SPAN}&build=v2&before_build=v1", width=1000, height=900)
    draw(page)
    picture(page, "difference", tmp_path, "docs/flame.md")


def test_picture_of_a_pasted_crash(site, open_page, tmp_path):
    """The text that README.md makes."""
    text = subprocess.run([site.crash], capture_output=True, text=True, check=False)
    page = open_page(f"{site.url}/symbolize", width=900, height=700)
    page.fill("#text", text.stdout + text.stderr)
    page.during(lambda: page.click("form.paste button.main"))
    names = page.eval("[...document.querySelectorAll('.stack .fn')].map(e => e.innerText)")
    assert {"half", "share", "main"} <= set(names), names
    picture(page, "crash", tmp_path, "docs/web.md")


def test_picture_of_a_module(site, open_page, tmp_path):
    page = open_page(f"{site.url}/modules/{build_id(site.words)}", width=900, height=700)
    picture(page, "module", tmp_path, "docs/web.md")


def test_picture_of_a_search_on_a_phone(site, open_page, tmp_path):
    page = open_page(f"{site.url}/search?q=words::&what=functions", **PHONE)
    narrow(page, "search")
    picture(page, "search-phone", tmp_path, "docs/web.md")


def test_picture_of_a_service(site, open_page, tmp_path):
    page = open_page(f"{site.url}/profiles/words?{SPAN}&build=v2", width=900, height=700)
    picture(page, "service", tmp_path, "docs/kept-profiles.md")
