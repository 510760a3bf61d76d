# SPDX-License-Identifier: Apache-2.0
"""unhex split: stripped files and debug files that debuggers, profilers and unhex itself find"""
import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import zipfile
import zlib

import pytest

import apple
from tool import SOURCE, UNHEX, build_id, compile_c, fails, instructions, lines, unhex
from waiting import wait_for

LIBRARY = "int twice(int x) { return x * 2; }\n"


def call(*args):
    return subprocess.run([*map(str, args)], capture_output=True, text=True, check=True).stdout


def split(*args, **more):
    """The objects of --json of a run that succeeds."""
    result = unhex("split", "--json", *args, **more)
    assert result.returncode == 0, result.stderr
    return lines(result)


def sections(path):
    return {line[7:].split()[0] for line in call("readelf", "-SW", path).splitlines()
            if line.startswith("  [") and "NULL" not in line and "Nr" not in line}


def lint(path, *options):
    assert call("eu-elflint", "--gnu-ld", *options, path) == "No errors\n"


def frames(path, addresses):
    return unhex("lookup", "--json", path, *map(hex, addresses)).stdout


def gdb_line(path, function, *before):
    args = [x for command in before for x in ("-iex", command)]
    return call("gdb", "-nx", "-batch", *args, "-ex", f"info line {function}", path).splitlines()[-1]


@pytest.fixture
def prog(tmp_path):
    return compile_c(tmp_path)


@pytest.mark.parametrize("mode", ["debug", "unneeded", "all"])
def test_both_parts_are_whole_and_the_answers_are_the_same(prog, mode):
    addresses = instructions(prog, "outer")
    before, identity = frames(prog, addresses), build_id(prog)
    status = subprocess.run([prog]).returncode
    (said,) = split("--strip", mode, prog)
    debug = pathlib.Path(said["debug"])
    assert debug == prog.with_name("prog.debug") and said["id"] == identity == build_id(debug)
    assert (said["before"], said["after"]) > (said["after"], prog.stat().st_size - 1)
    assert said["debug_size"] == debug.stat().st_size
    lint(prog)
    lint(debug, "-d")
    assert not any(name.startswith(".debug") for name in sections(prog))
    assert (".symtab" in sections(prog)) == (mode == "debug")
    assert (".comment" in sections(prog)) == (mode != "all")
    assert {".debug_info", ".debug_line", ".symtab"} <= sections(debug)
    assert frames(prog, addresses) == before and "inner" in before
    assert subprocess.run([prog]).returncode == status
    assert 'of "' in gdb_line(prog, "outer")


def test_link_has_the_name_and_the_crc_of_the_debug_file(prog):
    split(prog)
    call("objcopy", f"--dump-section=.gnu_debuglink={prog}.link", prog)
    crc = zlib.crc32(prog.with_name("prog.debug").read_bytes())
    assert prog.with_name("prog.link").read_bytes() == b"prog.debug\0\0" + crc.to_bytes(4, "little")


def test_debug_files_may_be_in_a_tree_of_build_ids(prog, tmp_path):
    hexadecimal = build_id(prog).removeprefix("gnu:")
    (said,) = split("-o", tmp_path / "tree", prog)
    assert said["debug"] == f"{tmp_path}/tree/.build-id/{hexadecimal[:2]}/{hexadecimal[2:]}.debug"
    assert 'of "' in gdb_line(prog, "outer", f"set debug-file-directory {tmp_path}/tree")
    found = unhex("lookup", "--debug-dir", tmp_path / "tree", prog, hex(instructions(prog, "outer")[2]))
    assert "prog.c" in found.stdout


@pytest.mark.parametrize("how", ["zlib", "zstd", "none"])
def test_debug_sections_are_compressed(prog, how):
    addresses = instructions(prog, "outer")
    before = frames(prog, addresses)
    if how == "none":
        subprocess.run(["objcopy", "--compress-debug-sections=zlib", prog], check=True)
    (said,) = split("--compress", how, prog)
    flags = call("readelf", "-SW", said["debug"])
    line = next(line for line in flags.splitlines() if ".debug_info" in line)
    assert (" C " in line) == (how != "none")
    assert frames(prog, addresses) == before


def test_what_a_file_has_besides_its_content_stays(prog):
    os.chmod(prog, 0o4751)
    os.utime(prog, ns=(1_600_000_000_123_456_789, 1_500_000_000_987_654_321))
    os.setxattr(prog, "user.note", b"kept")
    was = prog.stat()
    split(prog)
    now, debug = prog.stat(), prog.with_name("prog.debug").stat()
    assert (now.st_mode, now.st_uid, now.st_gid) == (was.st_mode, was.st_uid, was.st_gid)
    assert (now.st_atime_ns, now.st_mtime_ns) == (was.st_atime_ns, was.st_mtime_ns)
    assert os.getxattr(prog, "user.note") == b"kept"
    assert stat.S_IMODE(debug.st_mode) == 0o640 and debug.st_mtime_ns == was.st_mtime_ns


def test_links_lead_to_the_file_that_is_replaced(prog, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere/link"
    link.symlink_to(prog)
    (said,) = split(link)
    assert link.is_symlink() and said["debug"] == str(prog) + ".debug"
    assert ".debug_info" not in sections(prog)


def test_build_id_is_added_to_a_file_without_one(tmp_path):
    prog = compile_c(tmp_path)
    call("objcopy", "--remove-section=.note.gnu.build-id", prog)
    result = unhex("split", "-o", tmp_path / "tree", prog)
    fails(result, 1, "no build ID", "--add-build-id")
    before = prog.read_bytes()
    (said,) = split("--add-build-id", "--dry-run", prog)
    assert prog.read_bytes() == before
    (again,) = split("--add-build-id", prog)
    assert again["id"] == said["id"] == build_id(prog) == build_id(again["debug"])
    assert f"Build ID: {again['id'][4:]}" in call("readelf", "-n", prog)


def test_empty_section_stays_in_its_segment(tmp_path):
    """Go programs have an empty .tm_clone_table between their data; ld drops such sections, so its size is set here."""
    prog = compile_c(tmp_path, source='__asm__(".section .table,\\"aw\\"\\n.quad 1\\n.text");\n' + SOURCE)
    header = next(line for line in call("readelf", "-SW", prog).splitlines() if "] .table" in line)
    number = int(header[3:5])
    image = bytearray(prog.read_bytes())
    records, = struct.unpack_from("<Q", image, 40)
    struct.pack_into("<Q", image, records + 64 * number + 32, 0)
    prog.write_bytes(image)
    address, off = header.split("PROGBITS")[1].split()[:2]
    (said,) = split("--strip", "unneeded", prog)
    lint(prog)
    lint(pathlib.Path(said["debug"]), "-d")
    assert re.search(rf"\.table +PROGBITS +{address} +{off} +000000", call("readelf", "-SW", prog))


def hard_link(path):
    os.link(path, path.with_name("second"))
    return path


def with_archive(path):
    with path.open("ab") as file:
        file.write(b"PK\5\6 and what a self-extracting program has behind it")
    return path


def archive(path):
    call("ar", "rc", path.with_name("lib.a"), path)
    return path.with_name("lib.a")


def cut(path):
    path.write_bytes(path.read_bytes()[:9000])
    return path


def stripped(path):
    call("strip", path)
    return path


def text(path):
    path.with_name("text").write_text("a text\n")
    return path.with_name("text")


@pytest.mark.parametrize("make, status, words", [
    (hard_link, 1, ["2 hard links"]),
    (with_archive, 1, ["belong to none"]),
    (archive, 1, ["not an ELF file"]),
    (cut, 1, ["exceed the file"]),
    (stripped, 1, ["no debug information and no symbol table"]),
    (text, 1, ["not an ELF file"]),
], ids=lambda x: getattr(x, "__name__", ""))
def test_what_cannot_be_split_stays_as_it_is(prog, make, status, words):
    path = make(prog)
    before, there = path.read_bytes(), set(path.parent.iterdir())
    fails(unhex("split", path), status, *words)
    assert path.read_bytes() == before and set(path.parent.iterdir()) == there


def test_failures_of_the_disk_leave_everything_as_it_was(prog):
    before, there = prog.read_bytes(), set(prog.parent.iterdir())
    limited = subprocess.run(["sh", "-c", 'ulimit -f 4; trap "" XFSZ; exec "$0" split "$1"',
                              os.environ.get("UNHEX_BIN") or os.environ.get("UNHEX") or
                              str(pathlib.Path(__file__).parents[2] / "build/cli/unhex"), prog],
                             capture_output=True, text=True)
    assert limited.returncode == 1 and "cannot write" in limited.stderr
    assert prog.read_bytes() == before and set(prog.parent.iterdir()) == there


def test_a_second_time_is_told(prog):
    split(prog)
    before = prog.read_bytes()
    fails(unhex("split", prog), 1, "was already split")
    fails(unhex("split", str(prog) + ".debug"), 1, "is a debug file")
    assert prog.read_bytes() == before


def test_link_of_dwz_goes_to_the_debug_file(tmp_path):
    one = compile_c(tmp_path, "one")
    two = compile_c(tmp_path, "two")
    call("dwz", "-m", tmp_path / "common", "-M", "common", one, two)
    addresses = instructions(one, "outer")
    before = frames(one, addresses)
    split(one, two)
    assert ".gnu_debugaltlink" not in sections(one)
    assert ".gnu_debugaltlink" in sections(str(one) + ".debug")
    assert frames(one, addresses) == before


def test_folder_stands_for_its_programs(tmp_path):
    tree = tmp_path / "usr/lib/app"
    tree.mkdir(parents=True)
    prog = compile_c(tree)
    addon = compile_c(tree, "addon.node", "int f(void) { return 1; }\n", ("-g", "-shared", "-fPIC"))
    call("gcc", "-g", "-c", "-o", tree / "prog.o", tree / "prog.c")
    (tree / "link").symlink_to("prog")
    elsewhere = compile_c(tmp_path)
    (tree / "out").symlink_to(elsewhere)
    before = (tree / "prog.o").read_bytes()
    said = split(tmp_path / "usr")
    assert [row["file"] for row in said] == [str(addon), str(prog)]
    assert ".debug_info" not in sections(prog) and ".debug_info" in sections(str(prog) + ".debug")
    assert (tree / "prog.o").read_bytes() == before and ".debug_info" in sections(elsewhere)
    fails(unhex("split", tmp_path / "usr"), 1, "no file with debug information")


# --- wheels -------------------------------------------------------------------------------------

TAG = "py3-none-any"


def digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def make_wheel(folder, libraries, stored=()):
    """A wheel with these libraries {name: content}; pip installs it."""
    path = folder / f"pair-1.0-{TAG}.whl"
    files = {"pair/__init__.py": b"", **libraries,
             "pair-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: pair\nVersion: 1.0\n",
             "pair-1.0.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {TAG}\n".encode()}
    rows = [f"{name},{digest(content)},{len(content)}\n" for name, content in files.items()]
    files["pair-1.0.dist-info/RECORD"] = "".join(rows + ["pair-1.0.dist-info/RECORD,,\n"]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2020, 2, 3, 4, 5, 6))
            info.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return path


def library(folder, compiler="gcc", suffix=".c", source=LIBRARY):
    (folder / ("lib" + suffix)).write_text(source)
    call(compiler, "-g", "-shared", "-fPIC", "-Wl,--build-id", "-o", folder / "lib.so", folder / ("lib" + suffix))
    return (folder / "lib.so").read_bytes()


@pytest.fixture
def wheel(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "cc").mkdir()
    return make_wheel(tmp_path, {
        "pair/_c.so": library(tmp_path / "c"),
        "pair.libs/libcc-0123abcd.so.1.2": library(tmp_path / "cc", "g++", ".cc", 'extern "C" ' + LIBRARY),
        "pair/data.so": b"no library at all, but a file of this name",
    }, stored=["pair.libs/libcc-0123abcd.so.1.2"])


def check_record(path):
    """What pip and installers check: each file is listed with its hash and size."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        rows = list(csv.reader(io.StringIO(archive.read("pair-1.0.dist-info/RECORD").decode())))
        assert [row[0] for row in rows] == archive.namelist()
        for name, hash_, size in rows[:-1]:
            content = archive.read(name)
            assert (hash_, int(size)) == (digest(content), len(content)), name


def test_wheel_is_split_and_everything_else_in_it_stays(wheel):
    with zipfile.ZipFile(wheel) as archive:
        before = {i.filename: (i, archive.read(i)) for i in archive.infolist()}
    said = split(wheel)
    symbols = wheel.with_name(wheel.stem + "-debug-symbols.zip")
    assert [row["debug"] for row in said] == ["pair/_c.so.debug", "pair.libs/libcc-0123abcd.so.1.2.debug",
                                              str(symbols)]
    check_record(wheel)
    with zipfile.ZipFile(wheel) as archive:
        after = {i.filename: (i, archive.read(i)) for i in archive.infolist()}
    assert list(after) == list(before)
    for name, (was, content) in before.items():
        now = after[name][0]
        assert (was.date_time, was.external_attr, was.compress_type, was.create_system, was.flag_bits) == \
            (now.date_time, now.external_attr, now.compress_type, now.create_system, now.flag_bits)
        changed = name.endswith((".so.1.2", "_c.so", "RECORD"))
        assert (after[name][1] != content) == changed
    with zipfile.ZipFile(symbols) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [row["debug"] for row in said[:2]]
        assert {i.date_time for i in archive.infolist()} == {(2020, 2, 3, 4, 5, 6)}


def test_split_wheel_is_installed_and_gdb_finds_its_symbols(wheel, tmp_path):
    split(wheel)
    call(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile",
         "--root-user-action=ignore", "--target", tmp_path / "site", wheel)
    for name in ("pair/_c.so", "pair.libs/libcc-0123abcd.so.1.2"):
        path = tmp_path / "site" / name
        code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).twice(21))"
        assert call(sys.executable, "-c", code, path) == "42\n"
        assert 'of "' not in gdb_line(path, "twice")
    with zipfile.ZipFile(wheel.with_name(wheel.stem + "-debug-symbols.zip")) as archive:
        archive.extractall(tmp_path / "site")
    for name in ("pair/_c.so", "pair.libs/libcc-0123abcd.so.1.2"):
        assert 'of "' in gdb_line(tmp_path / "site" / name, "twice")
        lint(tmp_path / "site" / name)
        lint(tmp_path / "site" / (name + ".debug"), "-d")


@pytest.mark.parametrize("kind", ["thin", "universal"])
def test_macos_wheel_keeps_its_libraries_and_their_bundles_are_taken_out(server, tmp_path, kind):
    arches = ["x86_64"] if kind == "thin" else ["x86_64", "arm64"]
    paths = [apple.linked(tmp_path / arch, arch, dsym=False, keep=True) for arch in arches]
    path = paths[0] if kind == "thin" else apple.fat(tmp_path / "p", paths)
    wheel = make_wheel(tmp_path, {"pair/_m.so": path.read_bytes(), "pair/_c.so": library(tmp_path)})
    said = split(wheel)
    assert [row["debug"] for row in said[:2]] == ["pair/_m.so.dSYM", "pair/_c.so.debug"]
    check_record(wheel)
    symbols = wheel.with_name(wheel.stem + "-debug-symbols.zip")
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(symbols) as debug:
        assert archive.read("pair/_m.so") == path.read_bytes()
        archive.extractall(tmp_path / "site")
        debug.extractall(tmp_path / "site")
    library_path = tmp_path / "site/pair/_m.so"
    inner = tmp_path / "site/pair/_m.so.dSYM/Contents/Resources/DWARF/_m.so"
    for one in paths:
        for name in ("a.o", "b.o"):
            (one.parent / name).unlink()
    for arch, one in zip(arches, paths):
        addresses = range(*apple.text_of(one, arch))
        mine = apple.ours(library_path, addresses, "--arch", arch)
        apple.agree(mine, apple.theirs(inner, addresses, arch))
        assert sum(len(m) > 1 for m in mine) > 10
    result = server.unhex("push", "--json", symbols)
    assert [row["status"] for row in lines(result)] == ["uploaded"] * (1 + len(arches)), result.stdout


def without_objects(path, monkeypatch):
    for name in ("a.o", "b.o"):
        (path.parent / name).unlink()


def without_tool(path, monkeypatch):
    monkeypatch.setenv("PATH", str(path.parent))


@pytest.mark.parametrize("make, words", [(without_objects, "its object files are missing"),
                                         (without_tool, "splitting it needs dsymutil")])
def test_macos_library_whose_bundle_cannot_be_made_stays_as_it_is(tmp_path, monkeypatch, make, words):
    path = apple.linked(tmp_path / "m", "arm64", dsym=False, keep=True)
    wheel = make_wheel(tmp_path, {"pair/_m.so": path.read_bytes()})
    before = wheel.read_bytes()
    make(path, monkeypatch)
    result = unhex("split", wheel)
    assert result.returncode == 1 and words in result.stderr
    assert wheel.read_bytes() == before and {p.name for p in tmp_path.iterdir()} == {"m", wheel.name}


def test_a_signal_ends_dsymutil_and_leaves_no_temporary_folder(tmp_path, monkeypatch):
    path = apple.linked(tmp_path / "m", "arm64", dsym=False, keep=True)
    wheel = make_wheel(tmp_path, {"pair/_m.so": path.read_bytes()})
    before = wheel.read_bytes()
    tools, temporary = tmp_path / "tools", tmp_path / "tmp"
    tools.mkdir()
    temporary.mkdir()
    # Files appear beside its output, and it does not end by itself.
    (tools / "dsymutil").write_text('#!/bin/sh\necho $$ >"$TMPDIR/pid"\nfor i in 1 2 3; do echo >"$3.$i"; done\n'
                                    'mv "$TMPDIR/pid" "$TMPDIR/runs"\nexec sleep 600\n')
    (tools / "dsymutil").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(temporary))
    with subprocess.Popen([UNHEX, "split", wheel]) as process:
        wait_for((temporary / "runs").exists)
        process.terminate()
        assert process.wait(timeout=60) == -signal.SIGTERM
    (left,) = temporary.iterdir()
    wait_for(lambda: not pathlib.Path(f"/proc/{left.read_text().strip()}").exists())
    assert left.name == "runs" and wheel.read_bytes() == before


RUST = """
#[inline(never)]
#[no_mangle]
pub extern "C" fn twice(x: i32) -> i32 {
    std::hint::black_box(x) * 2
}
"""


def test_rust_wheel_is_installed_and_gdb_finds_its_symbols(tmp_path):
    (tmp_path / "lib.rs").write_text(RUST)
    call("rustc", "--crate-type=cdylib", "-g", "-Clink-arg=-Wl,--build-id", "-o", tmp_path / "lib.so",
         tmp_path / "lib.rs", "--edition=2018")
    whole = (tmp_path / "lib.so").read_bytes()
    wheel = make_wheel(tmp_path, {"pair/_r.so": whole})
    (row, _) = split(wheel)
    check_record(wheel)
    assert row["after"] < len(whole) / 2
    call(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile",
         "--root-user-action=ignore", "--target", tmp_path / "site", wheel)
    path = tmp_path / "site/pair/_r.so"
    code = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).twice(21))"
    assert call(sys.executable, "-c", code, path) == "42\n"
    assert 'of "' not in gdb_line(path, "twice")
    with zipfile.ZipFile(wheel.with_name(wheel.stem + "-debug-symbols.zip")) as archive:
        archive.extractall(tmp_path / "site")
    assert 'lib.rs"' in gdb_line(path, "twice")
    addresses = instructions(tmp_path / "lib.so", "twice")
    assert frames(path, addresses) == frames(tmp_path / "lib.so", addresses)
    assert "lib.rs" in frames(path, addresses)


def test_modules_of_debian_packages_have_nothing_to_split(tmp_path):
    """Distributions ship them stripped, and keep the symbols elsewhere."""
    modules = [p for name in ("yaml", "google/protobuf/pyext", "lib-dynload")
               for p in [*pathlib.Path("/usr/lib/python3/dist-packages", name).rglob("*.so"),
                         *pathlib.Path(f"/usr/lib/python3.{sys.version_info.minor}", name).glob("_*.so")]]
    assert len(modules) >= 3
    wheel = make_wheel(tmp_path, {f"pair/{p.name}": p.read_bytes() for p in modules[:8]})
    before = wheel.read_bytes()
    result = unhex("split", wheel)
    assert result.returncode == 1 and "has no library with debug information" in result.stderr
    assert result.stderr.count("was already split: it has a link to debug information, but none itself") >= 3
    assert wheel.read_bytes() == before and list(tmp_path.iterdir()) == [wheel]


def test_splitting_is_reproducible(wheel, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    copy = pathlib.Path(shutil.copy2(wheel, other))
    env = {"SOURCE_DATE_EPOCH": "1700000000"}
    split(wheel, env=env)
    split(copy, env=env)
    assert wheel.read_bytes() == copy.read_bytes()
    one, two = (p.with_name(p.stem + "-debug-symbols.zip") for p in (wheel, copy))
    assert one.read_bytes() == two.read_bytes()
    with zipfile.ZipFile(one) as archive:
        assert archive.infolist()[0].date_time == (2023, 11, 14, 22, 13, 20)
    result = unhex("split", wheel, env={"SOURCE_DATE_EPOCH": "yesterday"})
    fails(result, 2, "SOURCE_DATE_EPOCH")


def test_server_takes_the_debug_symbols_of_a_wheel(server, wheel):
    split(wheel)
    result = server.unhex("push", "--json", wheel.with_name(wheel.stem + "-debug-symbols.zip"))
    assert result.returncode == 0, result.stderr
    assert [row["status"] for row in lines(result)] == ["uploaded", "uploaded"]
    assert {row["quality"] for row in lines(result)} <= {"lines", "inlines"}


def rewrite(path, change):
    """Writes the archive again with change(name, content) for each member."""
    with zipfile.ZipFile(path) as archive:
        files = [(i, archive.read(i)) for i in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for info, content in files:
            archive.writestr(info, change(info.filename, content))


def signed(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("pair-1.0.dist-info/RECORD.jws", "{}")


def without_row(path):
    rewrite(path, lambda name, content: b"" if name.endswith("RECORD") else content)


def damaged(path):
    content = path.read_bytes()
    at = content.index(b"\x7fELF") + 2000
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])


def truncated(path):
    path.write_bytes(path.read_bytes()[:-30])


def without_symbols(path):
    rewrite(path, lambda name, content: b"" if ".so" in name else content)


@pytest.mark.parametrize("make, words", [
    (signed, ["signed", "RECORD.jws"]),
    (without_row, ["RECORD has no row for pair/_c.so"]),
    (damaged, ["libcc-0123abcd.so.1.2", "CRC"]),
    (truncated, ["no ZIP directory"]),
    (without_symbols, ["no library with debug information"]),
], ids=lambda x: getattr(x, "__name__", ""))
def test_wheel_that_cannot_be_split_stays_as_it_is(wheel, make, words):
    make(wheel)
    before, there = wheel.read_bytes(), set(wheel.parent.iterdir())
    result = unhex("split", "--json", wheel)
    fails(result, 1, *words)
    assert [list(row) for row in lines(result)] == [["file", "error"]]
    assert wheel.read_bytes() == before and set(wheel.parent.iterdir()) == there


def test_libraries_of_a_jar_are_split(tmp_path):
    jar = tmp_path / "native.jar"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\n\r\n")
        archive.writestr("Linux/x86_64/libn.so", library(tmp_path))
    said = split(jar)
    assert [json.loads(json.dumps(row))["status"] for row in said] == ["split", "split"]
    assert (tmp_path / "native-debug-symbols.zip").exists()
    with zipfile.ZipFile(jar) as archive:
        assert archive.testzip() is None and b".gnu_debuglink" in archive.read("Linux/x86_64/libn.so")
