# SPDX-License-Identifier: Apache-2.0
"""unhex proc: lines of the kernel and of its modules, below a root that the test makes: what a kernel
tells in proc and sys, modules placed as its loader does, files as distributions put them. Against
binutils' addr2line."""
import contextlib
import gzip
import http.server
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

from live import function
from tool import ROOT, build_id, lines, unhex

RELEASE = "6.99.0-test"
TEXT = 0xffffffffa7200000  # where this kernel was loaded
MODULES = 0xffffffffc0600000

MODULE = r"""
extern int sink;
static inline __attribute__((always_inline)) int inlined_one(int x)
{
	return x * 7 + sink;
}
__attribute__((noinline)) int first_of_text(int x)
{
	sink = x;
	return inlined_one(x) / 3;
}
__attribute__((noinline)) int second_of_text(int x)
{
	sink = x + 2;
	return x - 1;
}
__attribute__((noinline, section(".text.unlikely"))) int rarely(int x)
{
	sink = x + 3;
	return inlined_one(x + 1);
}
__attribute__((noinline, section(".exit.text"))) int at_the_end(int x)
{
	sink = x + 4;
	return x + 5;
}
__attribute__((noinline, section(".init.text"))) int at_the_start(int x)
{
	sink = x + 6;
	return inlined_one(x + 9);
}
int sink;
"""

VMLINUX = r"""
int sink;
__attribute__((noinline)) int of_the_kernel(int x)
{
	sink = x;
	return x / 7;
}
void _start(void)
{
	of_the_kernel(2);
}
"""


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True)


class Kernel:
    """What a running kernel shows below `root`, and the files it is made of."""

    def __init__(self, root):
        self.root = root
        self.kallsyms = []
        self.modules = []
        self.dep = []
        self.next = MODULES
        self.lib = root / "lib/modules" / RELEASE
        self.debug = root / "usr/lib/debug"
        self.write("proc/sys/kernel/osrelease", RELEASE + "\n")
        self.write("sys/kernel/notes", b"")

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def load(self, name, file, gap=0x40, tell_sections=True):
        """Loads a module of a file: gives where each of its code sections is. A gap beside each
        section but those that stay one behind the other as a loader's rule has them."""
        text = run("readelf", "-SW", file).stdout
        places, at, size = {}, self.next, 0
        sections = re.findall(r"\] (\S+) +(?:PROGBITS|NOBITS) +\S+ +\S+ +(\S+) +\S+ +(\S+) .* (\d+)$",
                              text, re.M)
        code = [(n, int(s, 16), int(a)) for n, s, f, a in sections if "X" in f and int(s, 16)]
        for section, size, align in sorted(code, key=lambda c: (c[0].startswith(".init"),
                                                                c[0] != ".text" and gap == 0)):
            at = (at + align - 1) // align * align
            places[section] = at
            at += size + (gap + align - 1) // align * align
        for section, start in places.items():
            if tell_sections:
                self.write(f"sys/module/{name}/sections/{section}", f"{start:#018x}\n")
        note = self.root / "note"
        run("objcopy", "-O", "binary", "--only-section=.note.gnu.build-id", file, note)
        self.write(f"sys/module/{name}/notes/.note.gnu.build-id", note.read_bytes())
        numbers = {int(i): n for i, n in re.findall(r"\[ *(\d+)\] (\S+)", text)}
        for value, symbol_type, section, symbol in re.findall(
                r"\d+: (\S+) +\S+ (FUNC) +\S+ +\S+ +(\d+) (\S+)", run("readelf", "-sW", file).stdout):
            if numbers[int(section)] in places:
                address = places[numbers[int(section)]] + int(value, 16)
                self.kallsyms.append((address, "t", symbol, name))
        total = at - self.next
        self.modules.append(f"{name} {total} 0 - Live {self.next:#x}\n")
        self.next = (at + 0xfff) // 0x1000 * 0x1000
        return places

    def boot(self, vmlinux):
        """Moves the kernel of a file to TEXT."""
        note = self.root / "note"
        run("objcopy", "-O", "binary", "--only-section=.note.gnu.build-id", vmlinux, note)
        self.write("sys/kernel/notes", note.read_bytes())
        symbols = re.findall(r"(\S+) (\S) (\S+)", run("nm", vmlinux).stdout)
        linked = next(int(v, 16) for v, _, n in symbols if n == "_text")
        for value, kind, name in symbols:
            kind = "T" if kind == "A" else kind  # that the linker's option made it
            self.kallsyms.append((int(value, 16) - linked + TEXT, kind, name, ""))

    def install(self, file, place, packed=""):
        """Puts a file below the root, compressed by the name's end."""
        content = pathlib.Path(file).read_bytes()
        if packed == ".xz":
            content = lzma.compress(content, check=lzma.CHECK_CRC32)
        elif packed == ".gz":
            content = gzip.compress(content)
        elif packed == ".zst":
            content = subprocess.run(["zstd", "-c", file], check=True, capture_output=True).stdout
        return self.write(f"{place}{packed}", content)

    def depmod(self, *paths):
        self.write(f"lib/modules/{RELEASE}/modules.dep",
                   "kernel/other/thing.ko: kernel/other/else.ko\n" +
                   "".join(f"{p}: kernel/other/thing.ko\n" for p in paths))

    def ask(self, *addresses, options=(), env=None):
        self.write("proc/kallsyms", "".join(
            f"{a:016x} {t} {n}" + (f"\t[{m}]\n" if m else "\n")
            for a, t, n, m in sorted(self.kallsyms)))
        self.write("proc/modules", "".join(self.modules))
        result = unhex("proc", os.getpid(), "--json", "--kernel-root", self.root, *options,
                       *[hex(a) for a in addresses], env={"DEBUGINFOD_URLS": "", **(env or {})})
        assert result.returncode == 0, result.stderr
        return lines(result)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A module with DWARF, the same stripped, and its debug file; a kernel alike."""
    folder = tmp_path_factory.mktemp("kernel-files")
    (folder / "m.c").write_text(MODULE)
    run("gcc", "-O2", "-g", "-c", "-fno-pic", "-mcmodel=kernel" if os.uname().machine == "x86_64"
        else "-fno-pie", "-o", folder / "m.o", folder / "m.c")
    run("ld", "-r", "--build-id", "-o", folder / "m.ko", folder / "m.o")
    (folder / "vmlinux.c").write_text(VMLINUX)
    run("gcc", "-O2", "-g", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-Wl,--build-id",
        *(["-mcmodel=kernel"] if os.uname().machine == "x86_64" else []),
        "-Wl,-Ttext-segment=0xffffffff81000000", "-Wl,--defsym=_text=0xffffffff81000000",
        "-o", folder / "vmlinux", folder / "vmlinux.c")
    for name in ("m.ko", "vmlinux"):
        run("objcopy", "--only-keep-debug", folder / name, folder / f"{name}.debug")
        run("objcopy", "--strip-debug", folder / name, folder / f"{name}.bare")
    return folder


@pytest.fixture
def kernel(tmp_path):
    return Kernel(tmp_path / "root")


def addr2line(file, section, offsets):
    """binutils' frames of offsets in a section: (function, file:line) each."""
    out = run("addr2line", "-fia", "-j", section, "-e", file, *[hex(o) for o in offsets]).stdout
    frames = []
    for line in out.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            frames.append([])
            continue
        frames[-1].append(line.split(" (disc")[0])
    return [list(zip(f[::2], f[1::2])) for f in frames]


def ours(answer):
    return [(f["function"], f"{f.get('file', '??')}:{f.get('line', '?')}")
            for f in answer["frames"]]


def offsets_of_functions(file):
    """Every offset that a function has, by code section."""
    numbers = {int(i): n for i, n in re.findall(r"\[ *(\d+)\] (\S+)",
                                                run("readelf", "-SW", file).stdout)}
    found = {}
    for value, size, section in re.findall(r"\d+: (\S+) +(\d+) FUNC +\S+ +\S+ +(\d+) ",
                                           run("readelf", "-sW", file).stdout):
        found.setdefault(numbers[int(section)], []).extend(
            range(int(value, 16), int(value, 16) + int(size)))
    return found


def check_module(kernel, file, name, places, options=(), env=None):
    """Every address of a module's code is what binutils say of its offset in the section."""
    for section, offsets in offsets_of_functions(file).items():
        if section not in places:
            continue
        start = places[section]
        answers = kernel.ask(*[start + o for o in offsets], options=options, env=env)
        expected = addr2line(file, section, offsets)
        reported = 0
        for answer, frames in zip(answers, expected):
            assert answer["kind"] == "kernel" and answer["module"] == f"[{name}]", answer
            assert answer["build_id"] == build_id(file)
            if frames[0][1].startswith("??"):
                continue
            assert ours(answer) == frames, answer
            assert "lost" not in answer
            reported += 1
        assert reported > 0
        plain = lines(unhex("lookup", file, "--json", *[a["pc"] for a in answers]))
        assert [p["frames"] for p in plain] == [a["frames"] for a in answers]


PATH = "kernel/drivers/some-module.ko"


@pytest.mark.parametrize("packed", ["", ".xz", ".zst", ".gz"])
def test_a_modules_file_has_lines(built, kernel, packed):
    kernel.install(built / "m.ko", f"lib/modules/{RELEASE}/{PATH}", packed)
    kernel.depmod("kernel/drivers/not-some-module.ko", PATH + packed)
    check_module(kernel, built / "m.ko", "some_module", kernel.load("some_module", built / "m.ko"))


@pytest.mark.parametrize("place", [
    f"usr/lib/debug/lib/modules/{RELEASE}/{PATH}",             # Debian
    f"usr/lib/debug/lib/modules/{RELEASE}/{PATH}.debug",       # Fedora
    f"usr/lib/debug/usr/lib/modules/{RELEASE}/{PATH}.debug",   # openSUSE
    "usr/lib/debug/.build-id/@",
])
@pytest.mark.parametrize("alone", [False, True], ids=["with-its-module", "alone"])
def test_a_modules_debug_file_is_found(built, kernel, place, alone):
    number = build_id(built / "m.ko").removeprefix("gnu:")
    place = place.replace("@", f"{number[:2]}/{number[2:]}.debug")
    kernel.install(built / "m.ko.debug", place)
    if not alone:
        kernel.install(built / "m.ko.bare", f"lib/modules/{RELEASE}/{PATH}", ".xz")
    kernel.depmod(PATH + ".xz")
    check_module(kernel, built / "m.ko", "some_module",
                 kernel.load("some_module", built / "m.ko"))


def test_debug_folders_may_be_named(built, kernel, tmp_path):
    kernel.install(built / "m.ko.bare", f"lib/modules/{RELEASE}/{PATH}")
    kernel.depmod(PATH)
    places = kernel.load("some_module", built / "m.ko")
    folder = tmp_path / "elsewhere/lib/modules" / RELEASE / PATH
    folder.parent.mkdir(parents=True)
    shutil.copy(built / "m.ko.debug", folder)
    answer, = kernel.ask(places[".text"])
    assert ours(answer) == [("first_of_text", "??:?")]
    assert answer["lost"].startswith("no debug file of " + build_id(built / "m.ko"))
    check_module(kernel, built / "m.ko", "some_module", places,
                 options=["--debug-dir", tmp_path / "elsewhere"])


def test_places_that_sys_does_not_tell_are_the_loaders(built, kernel):
    kernel.install(built / "m.ko", f"lib/modules/{RELEASE}/{PATH}")
    kernel.depmod(PATH)
    places = kernel.load("some_module", built / "m.ko", gap=0, tell_sections=False)
    places.pop(".init.text")
    check_module(kernel, built / "m.ko", "some_module", places)


def test_places_that_are_unknown_and_do_not_fit_give_names_alone(built, kernel):
    kernel.install(built / "m.ko", f"lib/modules/{RELEASE}/{PATH}")
    kernel.depmod(PATH)
    kernel.load("some_module", built / "m.ko", gap=0, tell_sections=False)
    kernel.kallsyms = [(a + 8, t, n, m) for a, t, n, m in kernel.kallsyms]
    for address, _, name, _ in list(kernel.kallsyms):
        answer, = kernel.ask(address)
        assert ours(answer) == [(name, "??:?")]
        assert int(answer.get("pc", answer["address"]), 16) == address


def test_another_build_of_the_module_is_not_believed(built, kernel, tmp_path):
    source = tmp_path / "m.c"
    source.write_text(MODULE.replace("x * 7", "x * 70 + 1"))
    run("gcc", "-O2", "-g", "-c", "-fno-pic", "-o", tmp_path / "m.o", source)
    run("ld", "-r", "--build-id", "-o", tmp_path / "m.ko", tmp_path / "m.o")
    path = kernel.install(tmp_path / "m.ko", f"lib/modules/{RELEASE}/{PATH}")
    kernel.depmod(PATH)
    places = kernel.load("some_module", built / "m.ko")
    answer, = kernel.ask(places[".text"])
    assert ours(answer) == [("first_of_text", "??:?")]
    assert str(path)[-30:] in answer["lost"] and f"the loaded one has {build_id(built / 'm.ko')[:20]}" in answer["lost"]


def test_a_module_without_a_file_says_so(built, kernel):
    places = kernel.load("some_module", built / "m.ko")
    answer, = kernel.ask(places[".text"])
    assert ours(answer) == [("first_of_text", "??:?")]
    assert f"no file of {build_id(built / 'm.ko')}" in answer["lost"]
    result = unhex("proc", os.getpid(), "--kernel-root", kernel.root, hex(places[".text"]))
    assert result.stdout == f"{places['.text']:#x} first_of_text [some_module]\n"
    assert "[some_module]: no lines" in result.stderr


@pytest.mark.parametrize("place,packed", [
    (f"boot/vmlinux-{RELEASE}", ""),
    (f"boot/vmlinux-{RELEASE}", ".xz"),
    (f"lib/modules/{RELEASE}/vmlinux", ""),
    (f"lib/modules/{RELEASE}/build/vmlinux", ""),
    (f"usr/lib/debug/boot/vmlinux-{RELEASE}", ""),
    (f"usr/lib/debug/lib/modules/{RELEASE}/vmlinux", ""),
    ("usr/lib/debug/.build-id/@", ""),
])
def test_the_kernels_file_is_found_wherever_it_was_loaded(built, kernel, place, packed):
    number = build_id(built / "vmlinux").removeprefix("gnu:")
    kernel.install(built / "vmlinux", place.replace("@", f"{number[:2]}/{number[2:]}.debug"), packed)
    kernel.boot(built / "vmlinux")
    start = next(a for a, _, n, _ in kernel.kallsyms if n == "of_the_kernel")
    linked = int(re.search(r"(\S+) T of_the_kernel", run("nm", built / "vmlinux").stdout)[1], 16)
    answers = kernel.ask(*range(start, start + 8))
    for i, answer in enumerate(answers):
        out = run("addr2line", "-fi", "-e", built / "vmlinux", hex(linked + i)).stdout.split("\n")
        assert ours(answer)[-1] == (out[0], out[1].split(" (disc")[0])
        assert int(answer["pc"], 16) == linked + i
        assert answer["build_id"] == build_id(built / "vmlinux")


@contextlib.contextmanager
def debuginfod(files):
    """A server of debug files by their build IDs; yields its URL and its requests."""
    requested = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requested.append(self.path)
            content = files.get(self.path)
            self.send_response(200 if content else 404)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requested
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("alone", [False, True], ids=["with-its-module", "alone"])
def test_a_debuginfod_server_is_queried(built, kernel, tmp_path, alone):
    number = build_id(built / "m.ko").removeprefix("gnu:")
    if not alone:
        kernel.install(built / "m.ko.bare", f"lib/modules/{RELEASE}/{PATH}")
    kernel.depmod(PATH)
    places = kernel.load("some_module", built / "m.ko")
    files = {f"/buildid/{number}/debuginfo": (built / "m.ko.debug").read_bytes()}
    with debuginfod(files) as (url, requested):
        check_module(kernel, built / "m.ko", "some_module", places,
                     options=["--debuginfod", url],
                     env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert requested == [f"/buildid/{number}/debuginfo"]  # the others were kept


def test_a_server_that_does_not_answer_is_reported(built, kernel, tmp_path):
    places = kernel.load("some_module", built / "m.ko")
    with debuginfod({}) as (url, _):
        pass  # and it is gone
    answer, = kernel.ask(places[".text"], options=["--debuginfod", url],
                         env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert ours(answer) == [("first_of_text", "??:?")]
    assert url.removeprefix("http://") in answer["lost"], answer


def debian_modules():
    """(stripped, with DWARF) of modules as Debian ships them, where tools/corpus.sh was run."""
    pairs = []
    for debug in sorted((ROOT / "corpus/packages").glob("*/usr/lib/debug/lib/modules/*/kernel/**/*.ko")):
        below = debug.relative_to(debug.parents[[p.name for p in debug.parents].index("debug")])
        bare = [p for p in (ROOT / "corpus/packages").glob(f"linux-image-*/{below}*")]
        if debug.stat().st_size < 3 << 20:
            pairs.append((bare[0] if bare else None, debug))
    return pairs[:: max(1, len(pairs) // 12)]


@pytest.mark.parametrize("bare,debug", debian_modules(),
                         ids=lambda p: p.name if isinstance(p, pathlib.Path) else "alone")
def test_modules_as_debian_ships_them(kernel, bare, debug):
    if bare:
        kernel.install(bare, f"lib/modules/{RELEASE}/kernel/{bare.name}")
    kernel.install(debug, f"usr/lib/debug/lib/modules/{RELEASE}/kernel/{debug.name}")
    kernel.depmod(f"kernel/{(bare or debug).name}")
    name = debug.name.removesuffix(".ko").replace("-", "_")
    places = kernel.load(name, debug, gap=0x80)
    own = {n: (a, m) for a, _, n, m in kernel.kallsyms}
    answers = kernel.ask(*[a + 1 for a, _, _, _ in kernel.kallsyms[::3]])
    assert places and all(a["module"] == f"[{name}]" for a in answers)
    lined = [a for a in answers if a["frames"][-1].get("line")]
    # Kernels since 6.4 name the padding in front of functions, __pfx_NAME, for which DWARF has no lines.
    padding = [a for a in answers if function(a).startswith("__pfx_")]
    assert len(lined) >= (len(answers) - len(padding)) * 0.9
    named = [a for a in answers if function(a) in own]
    assert len(named) >= len(answers) * 0.95
    plain = lines(unhex("lookup", debug, "--json", *[a["pc"] for a in lined[:500]]))
    assert [p["frames"] for p in plain] == [a["frames"] for a in lined[:500]]
