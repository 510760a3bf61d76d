# SPDX-License-Identifier: Apache-2.0
"""GSYM 2, and other names of a range, by a reader of the tests' own. LLVM's word is in
test_gsym_llvm.py."""
import re
import struct
import subprocess

import pytest

from gsym_plain import Gsym
from tool import UNHEX, build_id, compile_c, fails, lines, symbol, unhex

SHA256 = "0x" + "5a" * 32

ALIASES = r"""
int plain(int x) { return x * 3 + 1; }
int other(int x) __attribute__((alias("plain")));
int __other(int x) __attribute__((alias("plain")));
int __GI_plain(int x) __attribute__((alias("plain")));
int main(int argc, char **argv) { (void)argv; return plain(argc); }
"""


@pytest.fixture(scope="module")
def aliased(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("aliases"), source=ALIASES)


def extract(path, name, *options):
    """The GSYM as unhex dumps it, checked by it."""
    out = path.with_name(f"{path.name}.{name}.gsym")
    done = unhex("extract", path, "-o", out, *options)
    assert done.returncode == 0, done.stderr
    assert unhex("gsym", "verify", out).returncode == 0
    return out


@pytest.mark.parametrize("file", ["small", "large"])
def test_both_versions_say_the_same(file, prog, tmp_path):
    path = tmp_path / "input"
    path.symlink_to(prog if file == "small" else UNHEX)
    one, two = (Gsym(extract(path, f"v{v}", f"--gsym-version={v}").read_bytes()) for v in (1, 2))
    assert (one.version, two.version) == (1, 2)
    assert one.functions == two.functions and len(one.functions) > 5
    assert (one.base, one.uuid, one.files) == (two.base, two.uuid, two.files)


def test_sections_lie_as_llvm_writes_them(prog):
    g = Gsym(extract(prog, "laid", "--gsym-version=2").read_bytes())
    order = ["uuid", "starts", "records", "files", "strings", "functions"]
    assert list(g.parts) == order
    end = g.directory_end
    for name, align in zip(order, [1, g.width, 8, 4, 1, 4]):
        at, size = g.parts[name]
        assert at == end + -end % align
        assert not any(g.data[end:at])
        end = at + size
    # Behind it, where LLVM does not look, is which part of the program is loaded where.
    table = g.data[end:]
    count, zero, magic = struct.unpack("<II8s", table[-16:])
    assert (zero, magic) == (0, b"UXSEGMTS") and len(table) == 24 * count + 16
    headers = subprocess.run(["readelf", "-lW", prog], capture_output=True, text=True, check=True).stdout
    loads = [tuple(int(x, 16) for x in (m[1], m[3], m[2]))
             for m in re.finditer(r"LOAD +(\w+) (\w+) \w+ (\w+) \w+ R E", headers)]
    assert list(struct.iter_unpack("<QQQ", table[:-16])) == loads and len(loads) == 1


def test_dump_tells_what_another_reader_finds(prog):
    path = extract(prog, "dumped", "--gsym-version=2")
    reported = lines(unhex("gsym", "dump", "--json", path))
    for f, found in zip(reported, Gsym(path.read_bytes()).functions, strict=True):
        assert (f["address"], f["size"], f["function"]) == (hex(found.start), found.size, found.name)
        assert [(int(r["address"], 16), r.get("file", ""), r["line"]) for r in f["lines"]] \
            == list(found.rows)
        assert [(n["depth"], n["function"], n["call_line"]) for n in f["inlines"]] \
            == [(n.depth, n.name, n.line) for n in found.inlines[1:]]


def test_stat_and_lookup_know_version_2(prog):
    one, two = extract(prog, "1"), extract(prog, "2", "--gsym-version=2")
    (reported,) = lines(unhex("gsym", "stat", "--json", two))
    assert reported["version"] == 2
    assert reported["size"] == sum(reported["parts"].values()) == two.stat().st_size
    assert reported["parts"]["directory"] == 7 * 20
    start, size = symbol(prog, "outer")
    pcs = [hex(pc) for pc in range(start - 2, start + size + 2)]
    assert unhex("lookup", one, *pcs).stdout == unhex("lookup", two, *pcs).stdout


def test_a_build_id_of_32_bytes_takes_version_2_by_itself(tmp_path):
    prog = compile_c(tmp_path)
    subprocess.run(["gcc", "-O2", "-g", f"-Wl,--build-id={SHA256}", "-o", prog, f"{prog}.c"],
                   check=True)
    path = extract(prog, "by-itself")
    g = Gsym(path.read_bytes())
    assert g.version == 2 and "0x" + g.uuid.hex() == SHA256
    (reported,) = lines(unhex("gsym", "stat", "--json", path))
    assert "gnu:" + reported["uuid"] == build_id(prog) == "gnu:" + SHA256[2:]
    out = tmp_path / "never.gsym"
    fails(unhex("extract", prog, "-o", out, "--gsym-version=1"), 1, "build ID has 32 bytes",
          "GSYM 1 holds 20")
    assert not list(tmp_path.glob("never*"))
    assert Gsym(extract(prog, "t1", "--threads=1").read_bytes()).data \
        == Gsym(extract(prog, "t2", "--threads=2").read_bytes()).data == g.data


def test_a_server_takes_and_answers_from_version_2(server, tmp_path):
    prog = compile_c(tmp_path)
    subprocess.run(["gcc", "-O2", "-g", f"-Wl,--build-id={SHA256}", "-o", prog, f"{prog}.c"],
                   check=True)
    pushed = server.unhex("push", prog, "--json")
    assert pushed.returncode == 0, pushed.stderr
    (reported,) = lines(pushed)
    assert reported["status"] == "uploaded"
    start, _ = symbol(prog, "outer")
    assert server.unhex("lookup", "gnu:" + SHA256[2:], hex(start)).stdout \
        == unhex("lookup", prog, hex(start)).stdout


def test_versions_that_do_not_exist_are_refused(prog):
    for version in ("0", "3", "two"):
        fails(unhex("extract", prog, f"--gsym-version={version}"), 2, "--gsym-version")


# --- other names -----------------------------------------------------------------------------------

@pytest.mark.parametrize("version", [1, 2])
def test_aliases_are_kept_on_request(version, aliased):
    path = extract(aliased, f"alternatives{version}", "--alternatives", f"--gsym-version={version}")
    start, _ = symbol(aliased, "plain")
    (found,) = [f for f in Gsym(path.read_bytes()).functions if f.start == start]
    assert found.name == "plain"
    assert [(m.start, m.size, m.name) for m in found.merged] == [(start, found.size, "other")]
    (reported,) = [f for f in lines(unhex("gsym", "dump", "--json", path))
               if f["function"] == "plain"]
    assert reported["alternatives"] == ["other"]
    assert "  merged other\n" in unhex("gsym", "dump", path).stdout
    (verified,) = lines(unhex("gsym", "verify", "--json", path))
    assert verified["notes"]["merged_functions"] == 1


def test_aliases_are_reported_on_request(aliased):
    with_them = extract(aliased, "with", "--alternatives")
    without = extract(aliased, "without")
    start, _ = symbol(aliased, "plain")
    for source in (aliased, with_them):
        (reported,) = lines(unhex("lookup", source, hex(start), "--json", "--alternatives"))
        assert reported["alternatives"] == ["other"]
        (plain,) = lines(unhex("lookup", source, hex(start), "--json"))
        assert "alternatives" not in plain and plain["frames"] == reported["frames"]
        text = unhex("lookup", source, hex(start), "--alternatives").stdout.splitlines()
        assert text[1:] == ["    (also) other"]
    (reported,) = lines(unhex("lookup", without, hex(start), "--json", "--alternatives"))
    assert "alternatives" not in reported
    assert not any(f.merged for f in Gsym(without.read_bytes()).functions)


def test_a_server_tells_no_alternatives():
    fails(unhex("lookup", "gnu:00112233", "0x1", "--alternatives"), 1, "--alternatives")


def test_llvm_19_gives_the_same_frames_with_alternatives(aliased):
    start, size = symbol(aliased, "plain")
    reported = {}
    for name, options in (("llvm-with", ["--alternatives"]), ("llvm-without", [])):
        path = extract(aliased, name, *options)
        run = subprocess.run(["llvm-gsymutil-19", "--addresses-from-stdin"], check=True,
                             input="".join(f"{pc:#x} {path}\n" for pc in range(start, start + size)),
                             capture_output=True, text=True)
        reported[name] = run.stdout
        assert not run.stderr and run.stdout.count("plain") == size
    assert reported["llvm-with"] == reported["llvm-without"]
