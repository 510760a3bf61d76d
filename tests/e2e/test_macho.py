# SPDX-License-Identifier: Apache-2.0
"""Mach-O: every address as llvm-symbolizer says; slices, UUIDs, bundles."""
import os
import re
import shutil
import struct

import pytest

from apple import agree, compiled, fat, inside, link, linked, ours, run, text_of, theirs
from http_api import Api
from tool import fails, lines, unhex

GO = """package main

import "os"

func add(a, b int) int { return a*b + len(os.Args) }
func main() {
	for i := 0; i < 3; i++ {
		println(add(i, 7))
	}
}
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """{name: dylib} for two machines, and a universal file of them with its bundle."""
    root = tmp_path_factory.mktemp("both")
    made = {arch: linked(root / arch, arch) for arch in ("x86_64", "arm64")}
    made["fat"] = fat(root / "p", made.values())
    fat(root / "p.dSYM/Contents/Resources/DWARF/p", [inside(made[a]) for a in ("x86_64", "arm64")])
    return made


def uuid_of(path, arch):
    found = re.search(r"UUID: (\S+) \(%s\)" % arch, run("llvm-dwarfdump-19", "--uuid", path))
    return "uuid:" + found[1].replace("-", "").lower()


def ids_of(path):
    reported = lines(unhex("id", "--json", path))
    return {o["arch"]: o["ids"] for o in reported}


@pytest.mark.parametrize("dwarf", [4, 5])
@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_dylibs_with_their_bundles_come_out_as_llvm_symbolizer_says(tmp_path, arch, dwarf):
    path = linked(tmp_path / "d", arch, dwarf=dwarf)
    addresses = range(*text_of(path, arch))
    mine = ours(path, addresses)
    agree(mine, theirs(path, addresses))
    assert max(map(len, mine)) == 3
    names = {frames[-1][0] for frames in mine if frames}
    assert names == {"_ZN3geo5firstEi", "_ZL6hiddenii", "second", "other", "main",
                     "_ZNK3geo3BoxIiE5twiceEi"}


@pytest.mark.parametrize("kind", [["-bundle"], ["-execute", "-e", "_main"]])
def test_bundles_and_executables_are_read(tmp_path, kind):
    path = linked(tmp_path / "d", "x86_64", kind=kind)
    start, end = text_of(path, "x86_64")
    assert (start > 0x100000000) == (kind[0] == "-execute")
    mine = ours(path, range(start, end))
    agree(mine, theirs(path, range(start, end)))
    unhex("extract", path, "-o", tmp_path / "p.gsym")
    dump = unhex("gsym", "stat", tmp_path / "p.gsym").stdout
    base = 0x100000000 if kind[0] == "-execute" else 0
    assert f"uuid {uuid_of(path, 'x86_64')[5:]}, base {base:#x}," in dump


def test_the_gsym_of_a_dylib_answers_as_the_dylib(both, tmp_path):
    out = unhex("extract", both["arm64"], "-o", tmp_path / "p.gsym")
    assert (out.returncode, out.stderr) == (0, "")
    addresses = range(*text_of(both["arm64"], "arm64"))
    assert ours(tmp_path / "p.gsym", addresses) == ours(both["arm64"], addresses)
    reported = run("llvm-gsymutil-19", f"--address={addresses[0]:#x}", tmp_path / "p.gsym")
    assert ours(both["arm64"], addresses[:1])[0][-1][0] in reported


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
@pytest.mark.parametrize("wide", [[], ["-fat64"]])
def test_each_slice_of_a_universal_file_is_reported(both, tmp_path, arch, wide):
    whole = fat(tmp_path / "p", [both["x86_64"], both["arm64"]], *wide)
    shutil.copytree(both["fat"].parent / "p.dSYM", tmp_path / "p.dSYM")
    addresses = range(*text_of(both[arch], arch))
    mine = ours(whole, addresses, f"--arch={arch}")
    assert mine == ours(both[arch], addresses)
    agree(mine, theirs(both["fat"], addresses, arch))


def test_a_slice_that_is_not_there_is_named_with_those_that_are(both, tmp_path):
    out = tmp_path / "p.gsym"
    fails(unhex("extract", "--arch=ppc", both["fat"], "-o", out), 1, "ppc", "x86_64, arm64")
    fails(unhex("lookup", "--arch=i386", both["fat"], "0x1"), 1, "i386", "x86_64, arm64")
    fails(unhex("extract", "--arch=arm64", both["x86_64"], "-o", out), 1, "the file has: x86_64")
    assert not out.exists()


def test_without_a_choice_a_universal_file_of_other_machines_lists_its_slices(tmp_path):
    objects = [compiled(tmp_path / arch, arch)[1] for arch in ("i386", "arm64_32")]
    whole = fat(tmp_path / "p", objects)
    fails(unhex("lookup", whole, "0x1"), 1, "--arch", "i386, arm64_32")
    assert [frames[-1][0] for frames in ours(whole, [0], "--arch=i386")] == ["other"]


def test_id_tells_each_slice(both):
    reported = ids_of(both["fat"])
    assert list(reported) == ["x86_64", "arm64"]
    for arch, ids in reported.items():
        assert ids[0] == uuid_of(both["fat"], arch)
        assert ids == ids_of(both[arch])[arch]  # also the File ID
    assert {a: i[0] for a, i in ids_of(both["fat"].parent / "p.dSYM").items()} == {
        a: i[0] for a, i in reported.items()}
    text = unhex("id", both["fat"]).stdout.splitlines()
    assert [line for line in text if not line.startswith(" ")] == [
        f"{both['fat']} (x86_64)", f"{both['fat']} (arm64)"]


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_a_bundle_may_be_given_as_folder_or_file_and_be_looked_up_itself(both, tmp_path, arch):
    alone = shutil.copy(both[arch], tmp_path / "alone")
    bundle = both["fat"].parent / "p.dSYM"
    addresses = range(*text_of(alone, arch))
    expected = ours(both[arch], addresses)
    for debug in (bundle, inside(both["fat"]), inside(both[arch])):
        out = unhex("extract", alone, "-d", debug, "-o", tmp_path / "p.gsym")
        assert (out.returncode, out.stderr) == (0, "")
        assert ours(tmp_path / "p.gsym", addresses) == expected
    assert ours(bundle, addresses, f"--arch={arch}") == expected
    assert ours(inside(both[arch]), addresses) == expected


def test_a_bundle_of_another_build_is_refused_and_not_found(both, tmp_path):
    other = linked(tmp_path / "d", "x86_64", "-DNOTHING", "-O1", dsym=True)
    alone = shutil.copy(both["x86_64"], tmp_path / "alone")
    shutil.copytree(other.parent / "p.dSYM", tmp_path / "alone.dSYM")
    gsym = tmp_path / "p.gsym"
    refused = unhex("extract", alone, "-d", tmp_path / "alone.dSYM", "-o", gsym)
    fails(refused, 1, "UUIDs differ", uuid_of(other, "x86_64"), uuid_of(alone, "x86_64"))
    assert not gsym.exists()
    assert unhex("extract", "--allow-mismatch", alone, "-d", tmp_path / "alone.dSYM", "-o",
                 gsym).returncode == 0
    assert lines(unhex("id", "--json", alone))[0]["quality"] == "symtab"
    shutil.rmtree(tmp_path / "alone.dSYM")
    shutil.copytree(both["fat"].parent / "p.dSYM", tmp_path / "alone.dSYM")
    assert lines(unhex("id", "--json", alone))[0]["quality"] == "inlines"
    fails(unhex("extract", alone, "-d", inside(both["arm64"]), "-o", gsym), 1, "another machine")


def test_the_bundle_beside_an_application_is_found(both, tmp_path):
    program = tmp_path / "P.app/Contents/MacOS/p"
    program.parent.mkdir(parents=True)
    shutil.copy(both["x86_64"], program)
    assert lines(unhex("id", "--json", program))[0]["quality"] == "symtab"
    shutil.copytree(both["fat"].parent / "p.dSYM", tmp_path / "P.app.dSYM")
    assert lines(unhex("id", "--json", program))[0]["quality"] == "inlines"


def test_without_a_bundle_symbols_are_reported_and_dsymutil_is_named(both, tmp_path):
    alone = shutil.copy(both["x86_64"], tmp_path / "alone")
    out = unhex("extract", alone, "-o", tmp_path / "p.gsym")
    assert out.returncode == 0
    assert "DWARF of 2 of 2 object files" in out.stderr and "dsymutil" in out.stderr
    addresses = range(*text_of(alone, "x86_64"))
    agree(ours(alone, addresses), theirs(alone, addresses))


@pytest.mark.parametrize("dwarf", [4, 5])
@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_dwarf_that_was_left_in_the_objects_is_the_bundles(tmp_path, arch, dwarf):
    path = linked(tmp_path / "d", arch, dwarf=dwarf, keep=True)
    alone = shutil.copy(path, tmp_path / "alone")
    for file in (path, alone):
        out = unhex("extract", file, "-o", file.with_suffix(".gsym"))
        assert (out.returncode, out.stderr) == (0, "")
    assert alone.with_suffix(".gsym").read_bytes() == path.with_suffix(".gsym").read_bytes()
    for file in (path, alone):
        (reported,) = lines(unhex("id", "--json", file))
        origin = "dSYM bundle" if file == path else "object files"
        assert f"debug file     {origin}\n" in unhex("explain", file).stdout
        assert reported["sources"][0] == {"source": "dwarf", "version": dwarf, "found": 6}
    more = unhex("extract", "--memory=64M", "--threads=3", alone, "-o", tmp_path / "more.gsym")
    assert (more.returncode, more.stderr) == (0, "")
    assert (tmp_path / "more.gsym").read_bytes() == alone.with_suffix(".gsym").read_bytes()


def test_objects_of_archives_are_read(tmp_path):
    path = linked(tmp_path / "d", "arm64", keep=True)
    objects = [path.with_name("a.o"), path.with_name("b.o").rename(path.with_name(
        "a name of more than sixteen letters.o"))]
    for style, name in (("darwin", "lib.a"), ("gnu", "libgnu.a")):
        run("llvm-ar-19", f"--format={style}", "rcsU", path.with_name(name), *objects)
        whole = link(tmp_path / style, "arm64", ["-all_load", path.with_name(name)])
        addresses = range(*text_of(whole, "arm64"))
        assert ours(whole, addresses) == ours(path, addresses)
        assert lines(unhex("id", "--json", whole))[0]["quality"] == "inlines"


def write_times(path):
    """Writes when each object file was made into a dylib's debug map: LLD 19 leaves zeros there."""
    file = bytearray(path.read_bytes())
    at, text = 32, 0
    while text == 0:  # LC_SYMTAB: offset and number of symbols, offset of their names
        command, size, *table = struct.unpack_from("<IIIII", file, at)
        if command == 2:
            first, count, text = table
        at += size
    for symbol in range(first, first + 16 * count, 16):
        name, kind = struct.unpack_from("<IB", file, symbol)
        if kind == 0x66:  # N_OSO
            object_file = bytes(file[text + name:file.index(0, text + name)]).decode()
            struct.pack_into("<Q", file, symbol + 8, int(os.stat(object_file).st_mtime))
    path.write_bytes(file)


def test_objects_that_were_written_since_are_not_believed(tmp_path):
    path = linked(tmp_path / "d", "x86_64", keep=True, dsym=False)
    write_times(path)
    time = path.with_name("a.o").stat().st_mtime
    os.utime(path.with_name("a.o"), (time + 10, time + 10))
    out = unhex("extract", path, "-o", tmp_path / "p.gsym")
    assert out.returncode == 0 and "DWARF of 1 of 2 object files" in out.stderr
    reported = {f[-1][0]: f[-1][1] for f in ours(tmp_path / "p.gsym",
                                              range(*text_of(path, "x86_64"))) if f}
    assert reported["second"] == "" and reported["other"].endswith("b.c")
    path.with_name("b.o").write_bytes(b"nothing")
    os.utime(path.with_name("b.o"), (time, time))
    assert unhex("extract", path, "-o", tmp_path / "p.gsym").returncode == 0


def test_stubs_are_named_after_what_they_jump_to(both):
    for arch in ("x86_64", "arm64"):
        reported = run("llvm-objdump-19", "--section=__stubs", "-d", both[arch])
        address = int(re.search(r"^ *([0-9a-f]+):", reported, re.M)[1], 16)
        assert ours(both[arch], [address]) == [[("puts@plt", "", 0)]]


def test_a_stripped_dylib_has_what_it_exports_and_no_more(both, tmp_path):
    stripped = tmp_path / "p"
    run("llvm-strip-19", "-x", both["x86_64"], "-o", stripped)
    reported = lines(unhex("id", "--json", stripped))[0]
    assert reported["quality"] == "dynsym"
    full = {lo: (hi, n) for lo, hi, n in functions(both["x86_64"], tmp_path)}
    for lo, hi, name in functions(stripped, tmp_path):
        assert hi - full[lo][0] < 16  # not over the next function, which has lost its name
        lost = full[lo][1] in ("_ZL6hiddenii", "_ZNK3geo3BoxIiE5twiceEi")
        assert name == ("<no name>" if lost else full[lo][1])


def functions(path, folder):
    unhex("extract", path, "-o", folder / "f.gsym")
    dump = unhex("gsym", "dump", folder / "f.gsym").stdout
    return [(int(lo, 16), int(hi, 16), name)
            for lo, hi, name in re.findall(r"^function (\S+)-(\S+) (.+)$", dump, re.M)]


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_object_files_are_read_by_their_own_addresses(tmp_path, arch):
    path = compiled(tmp_path / "d", arch)[0]
    start, end = text_of(path, arch)
    agree(ours(path, range(start, end)), theirs(path, range(start, end)))


@pytest.mark.parametrize("arch", ["arm64e", "i386", "armv7", "arm64_32", "x86_64h"])
def test_objects_of_other_machines_are_named_and_read(tmp_path, arch):
    triple = "armv7-apple-ios9" if arch == "armv7" else ""
    flags = ["-target", triple] if triple else []
    path = compiled(tmp_path / "d", arch, *flags)[1]
    reported = lines(unhex("id", "--json", path))[0]
    assert (reported["arch"], reported["quality"]) == (arch, "inlines")
    start, end = text_of(path, arch)
    addresses = range(start, end, 2 if arch == "armv7" else 1)
    agree(ours(path, addresses), theirs(path, addresses))


def test_llvm_symbolizers_stand_in_knows_slices(both):
    for arch in ("x86_64", "arm64"):
        start, end = text_of(both[arch], arch)
        pcs = [hex(pc) for pc in range(start, min(start + 0x80, end), 4)]
        for how in (["--obj", f"{both['fat']}:{arch}"],
                    [f"--default-arch={arch}", "--obj", both["fat"]]):
            mine = unhex("llvm-symbolizer", *how, *pcs).stdout
            reported = run("llvm-symbolizer-19", *how, *pcs)
            assert re.sub(r":0$", "", mine, flags=re.M) == re.sub(r":\d+$", "", reported, flags=re.M)


def pushed(server, *args):
    out = server.unhex("push", "--json", *args)
    return out.returncode, [(t["status"], t.get("id"), t.get("quality")) for t in lines(out)]


def test_each_slice_is_pushed_under_its_uuid(server, both):
    ids = {arch: uuid_of(both["fat"], arch) for arch in ("x86_64", "arm64")}
    assert pushed(server, both["fat"]) == (
        0, [("uploaded", ids[arch], "inlines") for arch in ("x86_64", "arm64")])
    assert pushed(server, both["arm64"])[1] == [("already-there", ids["arm64"], None)]
    for arch, name in ids.items():
        addresses = range(*text_of(both[arch], arch))
        out = server.unhex("lookup", "--json", "--demangle", "none", name,
                           stdin="".join(f"{a:#x}\n" for a in addresses))
        reported = [[(f["function"], f.get("file", ""), f.get("line", 0)) for f in o["frames"]]
                for o in lines(out)]
        assert reported == ours(both[arch], addresses)


def test_a_binary_and_its_bundle_in_a_folder_are_pushed_as_one(server, both, tmp_path):
    shutil.copy(both["x86_64"], tmp_path / "alone")
    shutil.copytree(both["x86_64"].parent / "p.dSYM", tmp_path / "elsewhere.dSYM")
    status, reported = pushed(server, tmp_path)
    uuid = uuid_of(both["x86_64"], "x86_64")
    assert status == 0 and ("uploaded", uuid, "inlines") in reported
    assert {t[0] for t in reported} == {"uploaded", "skipped"}
    name = unhex("id", "--json", tmp_path / "alone")
    (file_id,) = [i for i in lines(name)[0]["ids"] if i.startswith("file:")]
    start, _ = text_of(both["x86_64"], "x86_64")
    out = server.unhex("lookup", "--json", file_id, hex(start))
    assert lines(out)[0]["frames"][-1]["line"] > 0


def test_what_the_objects_have_is_pushed(server, tmp_path):
    path = linked(tmp_path / "d", "x86_64", keep=True, dsym=False)
    worse = tmp_path / "worse"
    run("llvm-strip-19", "-S", path, "-o", worse)
    uuid = uuid_of(path, "x86_64")
    assert pushed(server, worse)[1] == [("uploaded", uuid, "symtab")]
    assert pushed(server, path)[1] == [("uploaded", uuid, "inlines")]


def test_a_given_bundle_of_another_build_is_not_pushed(server, both, tmp_path):
    other = linked(tmp_path / "d", "x86_64", "-O1")
    alone = shutil.copy(both["x86_64"], tmp_path / "alone")
    out = server.unhex("push", "-e", alone, "-d", other.parent / "p.dSYM")
    assert out.returncode == 1 and "UUIDs differ" in out.stdout + out.stderr
    assert pushed(server, "-e", alone, "-d", both["fat"].parent / "p.dSYM")[1] == [
        ("uploaded", uuid_of(alone, "x86_64"), "inlines")]


def test_a_pair_of_two_uuids_is_refused_before_anything_is_extracted(server, both, tmp_path):
    """A dry run extracts nothing, so no later check can stand in for this one."""
    other = linked(tmp_path / "d", "x86_64", "-O1")
    alone = shutil.copy(both["x86_64"], tmp_path / "alone")
    wrong = ("push", "--dry-run", "-e", alone, "-d")
    for debug in (other, other.parent / "p.dSYM"):
        out = server.unhex(*wrong, debug)
        assert out.returncode == 1 and "UUIDs differ" in out.stdout, out.stdout
        out = server.unhex(*wrong, debug, "--allow-mismatch")
        assert out.returncode == 0 and "would be uploaded" in out.stdout
    out = server.unhex(*wrong, both["fat"].parent / "p.dSYM")
    assert out.returncode == 0 and "would be uploaded" in out.stdout


def test_the_server_takes_no_symbols_of_another_uuid(server, both, tmp_path):
    other = linked(tmp_path / "d", "x86_64", "-O1")
    assert unhex("extract", other, "-o", tmp_path / "other.gsym").returncode == 0
    gsym = (tmp_path / "other.gsym").read_bytes()
    api = Api(server)
    mine = uuid_of(both["x86_64"], "x86_64")
    assert api.upload([mine], gsym)[0] == 409
    assert api("GET", f"/v1/modules/{mine}")[0] == 404
    assert api.upload([uuid_of(other, "x86_64")], gsym)[0] == 200


def test_an_object_of_mach_o_is_not_pushed(server, tmp_path):
    out = server.unhex("push", compiled(tmp_path / "d", "arm64")[0])
    assert out.returncode == 1 and "Mach-O object file" in out.stdout + out.stderr


def test_programs_of_go_are_read_with_the_dwarf_that_go_compresses(tmp_path):
    (tmp_path / "p.go").write_text(GO)
    for arch, ours_ in (("amd64", "x86_64"), ("arm64", "arm64")):
        run("go", "build", "-o", "p", "p.go", cwd=tmp_path, env={
            **os.environ, "GOOS": "darwin", "GOARCH": arch, "CGO_ENABLED": "0",
            "GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off", "GOFLAGS": ""})
        reported = lines(unhex("id", "--json", tmp_path / "p"))[0]
        assert (reported["arch"], reported["quality"]) == (ours_, "inlines")
        assert "go:" + run("go", "tool", "buildid", tmp_path / "p").strip() in reported["ids"]
        names = {n: (lo, hi) for lo, hi, n in functions(tmp_path / "p", tmp_path)}
        lo, hi = names["main.main"]
        frames = ours(tmp_path / "p", range(lo, hi, 4))
        assert any([n for n, *_ in f] == ["main.add", "main.main"] for f in frames)
        assert {f[-1][1] for f in frames if f} >= {str(tmp_path / "p.go")}


def test_damaged_files_are_errors(both, tmp_path):
    data = both["fat"].read_bytes()
    (tmp_path / "cut").write_bytes(data[:5000])
    fails(unhex("id", tmp_path / "cut"), 1, "slice", "exceed the file")
    thin = both["x86_64"].read_bytes()
    (tmp_path / "cut").write_bytes(thin[:200])
    fails(unhex("id", tmp_path / "cut"), 1, "cut")
    (tmp_path / "Java.class").write_bytes(bytes.fromhex("cafebabe00000037") + bytes(100))
    fails(unhex("id", tmp_path / "Java.class"), 1, "not an ELF file", "ca fe ba be")
