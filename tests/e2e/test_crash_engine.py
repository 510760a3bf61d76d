# SPDX-License-Identifier: Apache-2.0
"""One answer for one crash report: by unhex symbolize with files, by unhex symbolize with a server, and by the server's page"""
import html
import re
import subprocess

import pytest

from unhex_server import Server
from crash_reports import Crash, kernel
from test_crash_reports import VALGRIND, added
from test_web_crash import pasted
from tool import build_id, compile_c, stripped, symbol, unhex


@pytest.fixture(scope="module")
def crash(tmp_path_factory):
    return Crash(tmp_path_factory.mktemp("crash"))


@pytest.fixture(scope="module")
def site(crash, tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("site") / "server").start()
    files = sorted((crash.folder / "full").iterdir())
    assert server.unhex("push", *files, "/lib/x86_64-linux-gnu/libc.so.6").returncode == 0
    yield server
    assert server.stop() in (0, None)


def without_reasons(names):
    """-v has a line for each frame that has no name."""
    return [name for name in names if not name.startswith("??")]


def by_files(crash, text, *options):
    """The names by the files of this machine and the debug files of the programs."""
    result = unhex("symbolize", "--demangle", "full", "--debug-dir", crash.debug, *options, "-", stdin=text, cwd=crash.folder)
    return without_reasons(added(text, result.stdout)), result.stderr


def by_server(site, text, *options):
    """The names by the command, which has nothing but a server."""
    result = unhex("symbolize", "--demangle", "full", "--no-local", "--debug-dir", "", *options, "-", stdin=text,
                   env={"UNHEX_URL": site.url})
    return without_reasons(added(text, result.stdout)), result.stderr


def by_page(site, text, **fields):
    """The names that the page for pasted texts has."""
    page = pasted(site, text, **fields)
    copy = html.unescape(re.search(r'<summary>As text</summary><pre[^>]*>(.*?)</pre>', page, re.S).group(1))
    return added(text, copy), page


def agree(crash, site, text, *options):
    """The names, which are equal by all three."""
    local, remote, page = by_files(crash, text, *options), by_server(site, text), by_page(site, text)
    assert page[0] == remote[0], (text, remote[1])
    assert local[0] == remote[0], (text, local[1], remote[1])
    return local[0]


def functions(names):
    return [name.split(" at ")[0] for name in names]


@pytest.mark.parametrize("kind", ["backtrace", "backtrace_fixed", "rust"])
def test_a_report_gets_the_same_names_everywhere(crash, site, kind):
    names = agree(crash, site, getattr(crash, kind)())
    assert functions(names).count("middle") == 1


@pytest.mark.parametrize("kind", ["coredump", "core", "gdb"])
def test_a_report_of_a_debugger_gets_the_same_names_everywhere(crash, site, kind):
    names = agree(crash, site, getattr(crash, kind)())
    assert kind == "gdb" or functions(names).count("middle") == 1


def test_a_panic_of_go_gets_the_same_names_everywhere(crash, site):
    agree(crash, site, crash.go())


def test_hs_err_gets_the_same_names_everywhere(crash, site):
    assert len(agree(crash, site, crash.java())) >= 2


def test_a_report_with_mappings_and_one_of_a_sanitizer_do_too(crash, site):
    assert "middle" in functions(agree(crash, site, crash.gdb("info proc mappings")))
    text = re.sub(r"(?m)^.*libasan.*\n", "", crash.sanitizer())  # its own library was not pushed
    assert "middle" in functions(agree(crash, site, text))
    assert "middle" in functions(agree(crash, site, re.sub(r" \(BuildId: \w+\)", "", text)))


def one_frame(crash, form, program, name, past):
    """A line of a writer whose program does not run here, for an address in a function."""
    path, full = getattr(crash, program), crash.folder / "full" / program
    pc = symbol(full, name)[0] + past
    low = 0x400000 if program == "fixed" else 0
    base = low or 0x564200000000
    fixed = {"path": path, "pc": pc, "at": base + pc - low, "off": pc - low, "name": name, "past": past,
             "digits": build_id(path).split(":")[1], "page": base + (pc - low & ~0xfff), "in_page": pc & 0xfff}
    return form.format(**fixed) + "\n"


FORMS = {
    "android": "      #00 pc {off:016x}  {path} ({name}+{past}) (BuildId: {digits})",
    "android without an ID": "      #00 pc {off:016x}  {path} ({name}+{past})",
    "segfault": "prog[7]: segfault at 0 ip {at:016x} sp 00007ffd1 error 4 in {path}[{off:x},{page:x}+1000]",
    "segfault of an older kernel": "prog[7]: segfault at 0 ip {at:016x} sp 00007ffd1 error 4 in {path}[{page:x}+1000]",
    "faulthandler": '  Binary file "{path}", at {name}+{past:#x} [{at:#x}]',
    "faulthandler without a name": '  Binary file "{path}", at +{pc:#x} [{at:#x}]',
    "a symbol and an offset": "{path}({name}+{past:#x})[{at:#x}]",
    "an offset and an address": "{path}(+{off:#x})[{at:#x}]",
    "gdb": "#1  0x{at:016x} in ?? () from {path}",
    "valgrind": "==7==    by 0x{at:X}: ??? (in {path})",
    "hs_err": "C  [{path}+{off:#x}]  {name}+{past:#x}",
    "an ID and an address": "gnu:{digits} {pc:#x}",
    "py-spy": "Thread 7 (idle): \"MainThread\"\n    {at:#x} ({path})",
}


@pytest.mark.parametrize("program", ["prog", "fixed"])
@pytest.mark.parametrize("form", FORMS)
def test_a_line_of_any_writer_gets_the_same_names_everywhere(crash, site, form, program):
    """Also whether it gets none: what the text does not say is known to nobody."""
    text = "".join(one_frame(crash, FORMS[form], program, name, past) for name, past in
                   (("middle", 4), ("compare", 9), ("main", 20), ("middle", 0)))
    names = agree(crash, site, "==7==    at 0x1: f (f.c:1)\n" + text)
    if program == "fixed" or form not in ("segfault of an older kernel", "gdb", "valgrind", "py-spy"):
        assert (form, program) == ("an offset and an address", "fixed") or form.startswith(("segfault", "android")) or "main" in functions(names), names


@pytest.mark.parametrize("flags", [(), ("-no-pie",)])
def test_valgrinds_rules_hold_everywhere(crash, site, tmp_path, flags):
    whole = compile_c(tmp_path, name="grind", source=VALGRIND, flags=("-g", "-O0", *flags))
    bare, _ = stripped(whole)
    assert site.unhex("push", whole).returncode == 0
    text = subprocess.run(["valgrind", bare], capture_output=True, text=True).stderr
    digits = build_id(whole)
    names = by_files(crash, text, "--module", f"{bare.name}={whole}")[0]
    assert [n for n in functions(names) if n in ("first", "second", "main")][:3] == ["first", "second", "main"]
    assert by_server(site, text, "--module", f"{bare.name}={digits}")[0] == names
    assert by_page(site, text, use=f"{bare.name} {digits}")[0] == names


def test_an_oops_gets_the_same_names_everywhere(crash, site, tmp_path):
    """By functions, offsets and sizes, of which one name has two; and one of another build gets none."""
    vmlinux, symbols = kernel(tmp_path)
    assert site.unhex("push", vmlinux).returncode == 0
    (start, size), = symbols["vfs_read"]
    (_, small), (_, large) = sorted(((s, n + 15 & ~15) for s, n in symbols["init"]), key=lambda place: place[1])
    text = (f"CPU: 1 PID: 7 Comm: cat Not tainted 6.1.0-18-amd64 #1\nRIP: 0010:vfs_read+0x1/{size + 15 & ~15:#x}\n"
            f" ? init+0x1/{large:#x}\n init+0x1/{small * 4:#x}\n init+0x1/{small:#x}\n gone+0x1/0x10 [nfs]\n"
            f" vfs_read+0x1/{size - 1:#x}\n vfs_read+0x1/{size + 0x800:#x}\n"
            f" [<{start + 0x1f000001:016x}>] vfs_read+0x1/{size + 15 & ~15:#x}\n")
    names = by_files(crash, text, "--module", f"vmlinux={vmlinux}")[0]
    assert functions(names).count("vfs_read") == 3 and functions(names).count("init") == 2, names
    assert by_server(site, text)[0] == names
    assert by_page(site, text)[0] == names


MANY = """static __attribute__((noinline)) int same(int x) {{ __asm__ volatile(".skip {}, 0x90"); return x + 1; }}
int f{}(int x) {{ return same(x) + 1; }}
"""


def test_as_many_functions_of_one_name_are_told_apart_everywhere(crash, site, tmp_path):
    """Twelve, which were too many for the page: the size decides."""
    files = []
    for n in range(12):
        files.append(tmp_path / f"m{n}.c")
        files[-1].write_text(MANY.format(100 * n, n))
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    path = tmp_path / "vmlinux"
    subprocess.run(["gcc", "-O1", "-g", "-no-pie", "-o", path, tmp_path / "main.c", *files], check=True)
    sizes = [int(line.split()[1], 16) for line in subprocess.run(
        ["nm", "-S", path], capture_output=True, text=True, check=True).stdout.splitlines() if line.endswith(" same")]
    assert len(set(sizes)) == 12
    server = Server(tmp_path / "server").start()
    try:
        assert server.unhex("push", path).returncode == 0
        text = "".join(f" same+0x1/{size:#x}\n" for size in sizes)
        names = by_files(crash, text, "--module", f"vmlinux={path}")[0]
        assert functions(names) == ["same"] * 12 and len(set(names)) == 12
        assert by_server(server, text)[0] == names and by_page(server, text)[0] == names
    finally:
        assert server.stop() in (0, None)


@pytest.fixture(scope="module")
def builds(crash, site, tmp_path_factory):
    """A text of build A, in which its ID is; A and B."""
    other = tmp_path_factory.mktemp("other") / "prog"
    other.write_bytes((crash.folder / "full/fixed").read_bytes())
    text = one_frame(crash, FORMS["android"], "prog", "middle", 4)
    return text, crash.folder / "full/prog", other


def test_the_id_in_the_text_has_precedence_over_a_chosen_build(crash, site, builds):
    """A build that the text contradicts is not used, which is said; unless the user insists."""
    text, own, other = builds
    expected = agree(crash, site, text)
    assert functions(expected)[-1:] == ["middle"]
    note = f"{build_id(other)} was chosen and not used: the text has {build_id(own)}"
    for what in (other, build_id(other)):
        names, said = by_files(crash, text, "--module", f"prog={what}")
        assert names == expected and note in said, said
    names, said = by_server(site, text, "--module", f"prog={build_id(other)}")
    assert names == expected and note in said, said
    for name in (crash.prog, "prog"):
        names, page = by_page(site, text, use=f"{name} {build_id(other)}")
        assert names == expected and note in html.unescape(page)
    names, page = by_page(site, text, id=f"prog={build_id(other)}")
    assert names == expected and note in html.unescape(page)
    # The build of the text itself is used, and nothing is said.
    names, said = by_files(crash, text, "--module", f"prog={own}", "-v")
    assert names == expected and "not used" not in said and "found by --module" in said
    names, page = by_page(site, text, use=f"prog {build_id(own)}")
    assert names == expected and "not used" not in page


def test_a_user_may_insist_on_a_build(crash, site, builds):
    text, own, other = builds
    forced = by_files(crash, text, "--module", f"prog={other}", "--force-module", "-v")
    expected = by_files(crash, text)[0]
    assert forced[0] != expected and f"the text has {build_id(own)}" in forced[1], forced
    names, said = by_server(site, text, "--module", f"prog={build_id(other)}", "--force-module", "-v")
    assert names == forced[0] and f"the text has {build_id(own)}" in said
    names, page = by_page(site, text, use=f"prog {build_id(other)}", force="1")
    assert names == forced[0] and f"the text has {build_id(own)}" in page


def test_a_module_without_a_name_is_for_frames_that_name_none(crash, site):
    """And not for a library that was found nowhere, which another file would name at random."""
    pc = symbol(crash.folder / "full/fixed", "middle")[0] + 4
    text = f"==7==    at {pc:#x}: ??? (in /opt/gone/libgone.so)\n#1  0x{pc:016x} in ?? ()\n{pc:#x}\n"
    digits = build_id(crash.folder / "full/fixed")
    names = by_files(crash, text, "--module", digits)[0]
    assert functions(names) == ["middle", "middle"], names
    assert by_server(site, text, "--module", digits)[0] == names
    assert by_page(site, text, id=digits)[0] == names


def test_an_id_alone_has_precedence_too(crash, site, builds):
    """Frames that have an ID and no name are not those without a module."""
    own, other = build_id(builds[1]), build_id(builds[2])
    text = f"==7==    at 0x1: f (f.c:1)\n{own} {symbol(builds[1], 'middle')[0] + 4:#x}\n"
    expected = agree(crash, site, text, "--debug-dir", "", "--files", crash.folder / "full")
    note = f"{other} was chosen and not used: the text has {own}"
    names, said = by_server(site, text, "--module", other)
    assert functions(names)[-1:] == ["middle"] and names == expected and note in said
    names, page = by_page(site, text, id=other)
    assert names == expected and note in html.unescape(page)
