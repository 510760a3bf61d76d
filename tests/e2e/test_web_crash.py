# SPDX-License-Identifier: Apache-2.0
"""The page for stacks, with reports of real crashes: what gets a name, what is offered, and where a frame leads"""
import html
import re
import shutil
import urllib.parse

import pytest

from browser import LOOKS, checked, narrow
from unhex_server import Server
from crash_reports import CHAIN, Crash, kernel
from http_api import Api
from tool import build_id, compile_c, symbol

CHAIN_NAMES = [name for name, _, _ in CHAIN]


@pytest.fixture(scope="module")
def crash(tmp_path_factory):
    return Crash(tmp_path_factory.mktemp("crash"))


@pytest.fixture(scope="module")
def site(crash, tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("site") / "server").start()
    files = sorted((crash.folder / "full").iterdir())
    assert server.unhex("push", *files, "/lib/x86_64-linux-gnu/libc.so.6").returncode == 0
    assert server.unhex("push", "--with-debuginfo", "--sources", crash.folder / "full/prog", cwd=crash.folder).returncode == 0
    yield server
    assert server.stop() in (0, None)


@pytest.fixture(scope="module")
def oops_symbols(site, tmp_path_factory):
    """The functions of a kernel that the server has: {name: [(start, size)]}"""
    vmlinux, symbols = kernel(tmp_path_factory.mktemp("kernel"))
    assert site.unhex("push", vmlinux).returncode == 0
    return symbols


def pasted(server, text, **more):
    """The page for a text."""
    api = Api(server, token="")
    api.connection.request("POST", "/symbolize", urllib.parse.urlencode({"text": text, **more}),
                           {"Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded"})
    answer = api.connection.getresponse()
    assert answer.status == 200
    return answer.read().decode()


def counts(page):
    return tuple(map(int, re.search(r"(\d+) of (\d+) frames? ha", page).groups()))


def functions(page):
    return re.findall(r'<code class="fn">([^<]*)</code>', page)


def test_a_position_in_a_file_is_resolved_by_the_segments_of_its_symbols(site, tmp_path):
    program = compile_c(tmp_path, name="unmoved", flags=("-O2", "-g", "-no-pie"))
    address = symbol(program, "main")[0]
    assert site.unhex("push", program).returncode == 0
    page = pasted(site, f"unmoved[7]: segfault at 0 ip {address + 4:016x} sp 00007ffd error 4 in "
                        f"unmoved[{address + 4 - 0x400000:x},{0x401000:x}+1000]\n")
    assert counts(page) == (1, 1) and "main" in functions(page), page


@pytest.mark.parametrize("kind", ["backtrace", "backtrace_fixed", "sanitizer", "coredump", "core", "rust"])
def test_each_frame_of_a_pasted_crash_gets_its_name(crash, site, kind):
    text = getattr(crash, kind)()
    if kind == "sanitizer":  # its own library was not pushed
        text = re.sub(r"(?m)^.*libasan.*\n", "", text)
    page = pasted(site, text)
    named, frames = counts(page)
    assert named == frames >= 6, page
    names = functions(page)
    first = names.index("inner")
    assert names[first:first + len(CHAIN)] == CHAIN_NAMES and "main" in names[first:]
    assert "which only one build has" in page or "by the ID in the text" in page


def test_stacks_of_gdb_and_panics_of_go_are_complete(crash, site):
    for text in (crash.gdb("info proc mappings"), crash.go()):
        named, frames = counts(pasted(site, text))
        assert named == frames >= 3
    named, frames = counts(page := pasted(site, crash.gdb()))
    assert named < frames and "paste /proc/PID/maps" in page or "does not name the module" in page


def test_an_oops_is_named_by_functions_offsets_and_sizes(site, oops_symbols):
    symbols = oops_symbols
    (start, size), = symbols["vfs_read"]
    (_, small), (_, large) = sorted(((s, n + 15 & ~15) for s, n in symbols["init"]), key=lambda place: place[1])
    page = pasted(site, f"CPU: 1 PID: 7 Comm: cat Not tainted 6.1.0-18-amd64 #1\nRIP: 0010:vfs_read+0x1/{size + 15 & ~15:#x}\n"
                        f" ? init+0x1/{large:#x}\n init+0x1/{small * 4:#x}\n gone+0x1/0x10 [nfs]\n")
    assert functions(page)[:2] == ["vfs_read", "init"] and "two.c" in page and start > 0
    assert "functions have that name" in page and "no module has a file of that name" in page


def test_an_oops_of_another_build_is_not_named(site, oops_symbols):
    (_, size), = oops_symbols["vfs_read"]
    page = pasted(site, f"CPU: 1 PID: 7 Comm: cat Not tainted 6.1.0-18-amd64 #1\nRIP: 0010:vfs_read+0x1/{size - 1:#x}\n")
    assert "it is another build" in page and not functions(page)


def test_what_is_missing_has_a_command_for_each_module(site):
    page = pasted(site, "/opt/gone/libgone.so(+0x10) [0x7f0010]\n/opt/gone/libgone.so(+0x20) [0x7f0020]\n"
                        "/opt/a b;`x`.so(+0x1) [0x1]\n")
    assert "unhex push /opt/gone/libgone.so" in page and "2</span>" not in page
    assert "unhex push FILE" in page and "push /opt/a b" not in page


def test_a_name_of_several_builds_takes_one_click(crash, browser, tmp_path):
    server = Server(tmp_path / "server").start()
    try:
        older, newer = crash.folder / "full/prog", tmp_path / "prog"
        shutil.copy(crash.folder / "full/asan", newer)
        assert all(server.unhex("push", file).returncode == 0 for file in (older, newer))
        page = browser.page(script=False)
        page.goto(f"{server.url}/symbolize")
        page.fill("#text", crash.coredump())
        page.during(lambda: page.click("form.paste button.main"))
        offered = page.eval("[...document.querySelectorAll('.builds li .id')].map(e => e.innerText)")
        assert offered == [build_id(newer), build_id(older)] and not page.eval("document.querySelector('.fn')")
        page.during(lambda: page.click(".builds li:nth-child(2) button"))
        names = page.eval("[...document.querySelectorAll('.fn')].map(e => e.innerText)")
        assert names[names.index("inner"):][:4] == CHAIN_NAMES and "selected" in page.text(".stack")
        assert not page.problems
        page.close()
    finally:
        assert server.stop() in (0, None)


@pytest.mark.parametrize("look", [{}, {"dark": True, "width": 390, "height": 800, "phone": True}],
                         ids=["light", "dark-phone"])
def test_a_stack_has_a_link_and_a_frame_its_source_and_code(crash, site, browser, look):
    page = browser.page(**look)
    browser.call("Browser.grantPermissions", browserContextId=page.context, origin=site.url,
                 permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.goto(f"{site.url}/symbolize")
    page.fill("#text", crash.backtrace())
    page.during(lambda: page.click("form.paste button.main"))
    checked(page, ("stack", look), LOOKS if look else None)
    narrow(page, ("stack", look))
    shown = page.eval("[...document.querySelectorAll('.stack .fn')].map(e => e.innerText)")
    copies = page.eval("[...document.querySelectorAll('.answer details pre')].map(e => e.textContent)")
    line = dict((name, number) for name, number, _ in CHAIN)["middle"]
    assert f"    middle at {crash.folder}/prog.c:{line}\n" in copies[0]
    assert re.search(rf"(?m)^\d+\. `middle` at `{crash.folder}/prog.c:{line}`$", copies[1])
    for n, button in enumerate(("Copy as text", "Copy as Markdown")):
        assert page.text(f".copies button:nth-of-type({n + 1})") == button
        page.click(f".copies button:nth-of-type({n + 1})")
        page.wait("document.querySelector('.copies [role=status]').textContent === 'Copied.'")
        assert page.eval("navigator.clipboard.readText()") == copies[n]
        page.eval("document.querySelector('.copies [role=status]').textContent = ''")
    # As from another machine over http, where there is no such object.
    page.eval("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true}); 1")
    page.click(".copies button")
    page.wait("document.querySelector('.copies [role=status]').textContent === 'Copied.'")
    page.eval("delete navigator.clipboard")
    assert page.eval("navigator.clipboard.readText()").rstrip() == copies[0].rstrip()
    link = page.eval("document.querySelector('.sum a').href")
    frame = page.eval("[...document.querySelectorAll('.stack > li')].find(li => li.innerText.includes('middle'))"
                      ".querySelector('a[href*=\"/frame\"]').href")
    page.goto(link)
    assert page.eval("[...document.querySelectorAll('.stack .fn')].map(e => e.innerText)") == shown
    assert "/prog.c" not in link and "0x7f" not in link
    page.goto(frame)
    checked(page, ("frame", look), LOOKS if look else None)
    narrow(page, ("frame", look))
    marks = page.eval("[...document.querySelectorAll('.lines mark')].map(e => e.innerText)")
    assert "return *p + 1;" in marks[0] and "return inner(p) * 2;" in marks[1] and len(marks) == 3
    address = re.search(r"addr=(0x\w+)", frame).group(1)
    assert marks[2].startswith(address) and "mov" in marks[2]
    assert not page.problems
    page.close()


def test_a_text_without_frames_says_so_and_what_would_have_some(site):
    page = pasted(site, "terminate called after throwing an instance of 'std::out_of_range'\nAborted\n")
    assert "No frame was found in this text" in page and "0 of 0" not in page
    assert "gnu:93ac" in page and "Copy as text" not in page


def test_a_link_is_refused_where_it_is_none(site):
    for path in ("/symbolize?stack=x", "/symbolize?stack=go:x@zz", "/frame?id=gnu:00", "/frame?id=x&addr=0x1"):
        api = Api(site, token="")
        api.connection.request("GET", path, headers={"Accept": "text/html"})
        answer = api.connection.getresponse()
        assert answer.status == 400 and "</html>" in answer.read().decode(), path


# How each of the ten kinds of text comes to be pasted: as it was printed, out of a log or a mail, out of a ticket.
WAYS = [("", ""), ("> ", ""), ("Nov 22 20:58:13 host app[12]: ", ""), ("2026-11-22T20:58:13.123456789Z stderr F ", ""),
        ("    ", "It crashed:\n")]


def kinds(crash, oops):
    """Ten kinds of text: each with functions that have to be shown in this order, and all of whose frames get names."""
    places = [symbol(crash.folder / "full/prog", name)[0] + 4 for name in ("middle", "outer", "compare", "main")]
    chain = [name for name in CHAIN_NAMES if name != "inner"] + ["main"]
    fault = symbol(crash.folder / "full/prog", "middle")[0] + 1
    asan = re.sub(r"(?m)^.*libasan.*\n", "", crash.sanitizer())  # its own library was not pushed
    return {
        "backtrace(3)": (crash.backtrace(), chain),
        "Go": (crash.go(), ["main.outer", "main.main"]),
        "Rust": (crash.rust(), chain),
        "AddressSanitizer": (asan, chain),
        "oops": (oops, ["vfs_read", "do_syscall_64"]),
        "dmesg": (f"[12345.678901] prog[77]: segfault at 0 ip {0x564200000000 + fault:016x} sp 00007ffd1 error 4 in "
                  f"prog[{fault:x},564200001000+1000] likely on CPU 1 (core 1, socket 0)\n", ["middle"]),
        "hs_err": (crash.java(), ["__futex_abstimed_wait_common"]),
        "gdb": (crash.gdb("info proc mappings"), chain),
        "systemd-coredump": (crash.coredump(), chain),
        "perf script": ("prog 7 [000] 1.0: 1 cycles:u: \n"
                        + "".join(f"\t{place:16x} [unknown] ({crash.prog})\n" for place in places) + "\n", chain),
    }


def test_ten_kinds_of_text_are_named_however_they_come_to_be_pasted(crash, site, oops_symbols):
    sizes = {name: oops_symbols[name][0][1] + 15 & ~15 for name in ("vfs_read", "do_syscall_64")}
    oops = ("[    1.0] BUG: kernel NULL pointer dereference, address: 0000000000000000\n"
            "[    1.0] CPU: 1 PID: 7 Comm: cat Not tainted 6.1.0-18-amd64 #1  Debian 6.1.76-1\n"
            f"[    1.0] RIP: 0010:vfs_read+0x1/{sizes['vfs_read']:#x}\n[    1.0] Call Trace:\n[    1.0]  <TASK>\n"
            f"[    1.0]  do_syscall_64+0x3/{sizes['do_syscall_64']:#x}\n[    1.0]  </TASK>\n")
    texts = kinds(crash, oops)
    assert len(texts) == 10
    for kind, (text, chain) in texts.items():
        first = None
        for prefix, before in WAYS:
            page = pasted(site, before + "".join(f"{prefix}{line}\n" for line in text.splitlines()))
            named, frames = counts(page)
            assert named == frames >= len(chain), (kind, prefix, named, frames)
            shown = html.unescape(re.sub(r"<[^>]*>", "", page))
            found = [shown.find(name) for name in chain]
            assert -1 not in found, (kind, prefix, chain)
            names = functions(page)
            if kind != "Go":  # whose functions are in the text already
                at = [names.index(name) for name in chain]
                assert at == sorted(at), (kind, prefix, names)
            first = first or (named, names)
            assert (named, names) == first, (kind, prefix)
