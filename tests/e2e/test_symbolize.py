# SPDX-License-Identifier: Apache-2.0
"""unhex symbolize: profiles of pprof and OTLP, perf script, folded stacks."""
import collections
import gzip
import hashlib
import json
import re
import subprocess

import pytest

import otlp_message
from firefox_profile import check
from pprof_message import Builder, Profile, frames
from tool import UNHEX, build_id, compile_c, fails, instructions, perfs, stripped, unhex


def run(*args, data=None, **environment):
    """Runs `unhex symbolize` with bytes in and out."""
    return subprocess.run([UNHEX, "symbolize", *map(str, args)], input=data, capture_output=True, check=False,
                          timeout=120, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environment})


def segment(path):
    """Offset and address of the executable segment."""
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    offset, address = re.search(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ 0x\w+ 0x\w+ R E", text).groups()
    return int(offset, 16), int(address, 16)


def oracle(path, pc):
    """(name, file, line) of each frame, by another symbolizer."""
    done = subprocess.run(["addr2line", "-f", "-i", "-e", path, hex(pc)], capture_output=True, text=True, check=True)
    text = done.stdout.splitlines()
    return [(name, place.split(":")[0], int(place.split(":")[1].split()[0]))
            for name, place in zip(text[::2], text[1::2], strict=True)]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("symbolize"))


@pytest.fixture(scope="module")
def pcs(program):
    """Every instruction of outer(), which has inlined calls."""
    return instructions(program, "outer")


@pytest.fixture(scope="module")
def recorded(program, pcs):
    """A profile as a profiler without symbols writes it, of a process at 0x555500000000."""
    b = Builder()
    offset, address = segment(program)
    start = 0x555500000000
    mapping = b.mapping(str(program), build_id(program).split(":")[1], start, start + 0x10000, offset)
    caller = b.named("already named")
    for i, pc in enumerate(pcs):
        b.sample([b.location(start + pc - address, mapping), caller], i + 1)
    return b.profile


def test_addresses_of_a_pprof_profile_get_the_frames_of_addr2line(program, pcs, recorded):
    done = run("-", data=recorded.SerializeToString())
    assert done.returncode == 0, done.stderr
    got = Profile.FromString(done.stdout)
    for i, pc in enumerate(pcs):
        assert frames(got, i + 2) == oracle(program, pc), hex(pc)
    assert frames(got, 1) == [("already named", "", 7)]
    assert got.sample == recorded.sample and got.time_nanos == recorded.time_nanos
    assert list(got.string_table)[:len(recorded.string_table)] == list(recorded.string_table)
    (mapping,) = got.mapping
    assert (mapping.has_functions, mapping.has_filenames, mapping.has_line_numbers, mapping.has_inline_frames) == \
        (True, True, True, True)
    assert done.stderr.decode() == "unhex: 100.0 % of samples named\n"


def test_without_dwarf_locations_get_the_function_of_the_symbol_table_alone(program, pcs, recorded):
    done = run("-", "--no-dwarf", data=recorded.SerializeToString())
    assert done.returncode == 0, done.stderr
    got = Profile.FromString(done.stdout)
    assert {tuple(frames(got, i + 2)) for i in range(len(pcs))} == {(("outer", "", 0),)}
    (mapping,) = got.mapping
    assert (mapping.has_functions, mapping.has_filenames, mapping.has_line_numbers, mapping.has_inline_frames) == \
        (True, False, False, False)


def test_the_standard_tool_reads_the_answer(recorded, tmp_path):
    (tmp_path / "in.pb.gz").write_bytes(gzip.compress(recorded.SerializeToString()))
    assert run(tmp_path / "in.pb.gz", "-o", tmp_path / "out.pb.gz").returncode == 0
    top = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-top", tmp_path / "out.pb.gz"], check=True,
                         capture_output=True, text=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}).stdout
    assert re.search(r" inner \(inline\)$", top, re.M) and re.search(r" outer$", top, re.M), top


def test_compression_is_that_of_the_input(recorded):
    plain = recorded.SerializeToString()
    assert run("-", data=gzip.compress(plain)).stdout[:2] == b"\x1f\x8b"
    assert gzip.decompress(run("-", data=gzip.compress(plain)).stdout) == run("-", data=plain).stdout


@pytest.mark.parametrize("name", ["named.pb", "named.pb.gz", "named.pprof"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_profile_of_pprof_keeps_all_else_under_any_name(recorded, tmp_path, name, pack):
    raw = recorded.SerializeToString()
    plain = run("-", data=raw).stdout
    assert plain != raw
    assert run("-", "-o", tmp_path / name, data=pack(raw)).returncode == 0
    written = (tmp_path / name).read_bytes()
    assert (gzip.decompress(written) if name != "named.pb" else written) == plain
    assert gzip.decompress(run("-", "--to", "pprof", data=pack(raw)).stdout) == plain


@pytest.mark.parametrize("disk", ["usual", "gone", "limited"])
def test_a_large_packed_profile_is_that_of_the_plain_one(recorded, tmp_path, disk):
    """While it is named, it is in a temporary file, if there can be one."""
    large = Profile.FromString(recorded.SerializeToString())
    sample = recorded.sample[0]
    for i in range(500_000):
        large.sample.add(location_id=sample.location_id, value=[i + 1])
    plain = large.SerializeToString()
    assert len(plain) > 4 << 20
    expected = run("-", data=plain)
    assert expected.returncode == 0 and len(expected.stdout) > len(plain), expected.stderr
    (tmp_path / "large.pb.gz").write_bytes(gzip.compress(plain, 1))
    arguments = [tmp_path / "large.pb.gz"]
    if disk == "limited":  # one byte over it would be a signal
        arguments = ["-c", 'ulimit -f 1000; exec "$@"', "sh", UNHEX, "symbolize", *arguments]
        done = subprocess.run(["sh", *map(str, arguments)], capture_output=True, check=False, timeout=120)
    else:
        done = run(*arguments, TMPDIR=str(tmp_path if disk == "usual" else tmp_path / "gone"))
    assert done.returncode == 0, done.stderr
    assert gzip.decompress(done.stdout) == expected.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["large.pb.gz"]


def test_without_anything_to_name_the_bytes_are_the_same():
    b = Builder()
    b.sample([b.named("f"), b.named("g")], 3)
    unknown = b.profile.SerializeToString() + b"\xfa\x3f\x03abc" + b"\xf8\x3f\x96\x01"  # field 1023, twice
    done = run("-", data=unknown)
    assert (done.returncode, done.stdout) == (0, unknown)


def test_the_names_are_not_those_of_another_build(program, recorded, tmp_path):
    other = Profile.FromString(recorded.SerializeToString())
    other.string_table[list(other.string_table).index(build_id(program).split(":")[1])] = "00" * 20
    done = run("-", "-v", data=other.SerializeToString())
    assert done.returncode == 1
    assert done.stdout == other.SerializeToString()
    text = done.stderr.decode()
    assert "0.0 % of samples named" in text and f"100.0 %: {program} gnu:{'00' * 20}: " in text
    assert f"{program} is {build_id(program)}" in text


def test_binaries_of_another_machine_are_found_in_its_root_and_by_build_id(program, recorded, tmp_path):
    here = "/srv/app"
    moved = Profile.FromString(recorded.SerializeToString())
    moved.string_table[list(moved.string_table).index(str(program))] = here
    data = moved.SerializeToString()
    assert run("-", data=data).returncode == 1
    (tmp_path / "root/srv").mkdir(parents=True)
    (tmp_path / "root/srv/app").symlink_to(program)
    assert run("-", "--files", tmp_path / "root", data=data).returncode == 0
    name = build_id(program).split(":")[1]
    (tmp_path / "tree/.build-id" / name[:2]).mkdir(parents=True)
    (tmp_path / "tree/.build-id" / name[:2] / name[2:]).symlink_to(program)
    assert run("-", "--no-local", "--files", tmp_path / "tree", data=data).returncode == 0


def test_debug_files_name_virtual_addresses_and_say_why_not_positions(program, pcs, recorded, tmp_path):
    """A debug file does not have the code, and so not where in its file it was."""
    name = build_id(program).split(":")[1]
    (tmp_path / ".build-id" / name[:2]).mkdir(parents=True)
    _, debug = stripped(program, "bare")
    (tmp_path / ".build-id" / name[:2] / f"{name[2:]}.debug").symlink_to(debug)
    b = Builder()
    b.sample([b.location(pcs[0], b.mapping("/srv/app", name))], 1)
    done = run("-", "--no-local", "--debug-dir", tmp_path, data=b.profile.SerializeToString())
    assert done.returncode == 0, done.stderr
    assert frames(Profile.FromString(done.stdout), 1) == oracle(program, pcs[0])
    done = run("-", "--no-local", "--debug-dir", tmp_path, data=recorded.SerializeToString())
    assert done.returncode == 1 and b"need the executable" in done.stderr, done.stderr


def test_a_server_names_what_is_not_here(server, program, pcs, tmp_path):
    assert unhex("push", "--url", server.url, "--token", server.token, program).returncode == 0
    b = Builder()
    mapping = b.mapping("/srv/app", build_id(program).split(":")[1])  # without bounds: virtual addresses
    for pc in pcs:
        b.sample([b.location(pc, mapping)], 1)
    done = run("-", "--no-local", "--url", server.url, "-v", data=b.profile.SerializeToString())
    assert done.returncode == 0, done.stderr
    got = Profile.FromString(done.stdout)
    for i, pc in enumerate(pcs):
        assert frames(got, i + 1) == oracle(program, pc)
    assert "symbols from server" in done.stderr.decode()
    done = run("-", "--no-local", data=b.profile.SerializeToString(), UNHEX_URL="http://127.0.0.1:1")
    assert done.returncode == 3 and b"127.0.0.1" in done.stderr


def otlp_of(program, pcs, **ids):
    """A request as the eBPF profiler writes it: addresses of the file, IDs as attributes."""
    b = otlp_message.Builder()
    mapping = b.mapping(program.name, ids)
    caller = b.named("already named")
    for i, pc in enumerate(pcs):
        b.sample([b.location(pc, mapping), caller], values=[i + 1])
    return b


@pytest.mark.parametrize("unnamed", ["0x7f12ab", "[0x7f12ab]", "[unknown]", "??"])
def test_what_stands_where_a_name_is_missing_is_no_name(unnamed):
    """As other programs write it: in every format it counts as unnamed."""
    b = Builder()
    b.sample([b.named(unnamed), b.named("main")], 45)
    b.sample([b.named("work"), b.named("main")], 105)
    for data in (f"main;{unnamed} 45\nmain;work 105\n".encode(), gzip.compress(b.profile.SerializeToString())):
        done = run("-", data=data)
        assert done.stderr.decode().startswith("unhex: 70.0 % of samples named\n"), done.stderr


def test_an_address_that_another_program_could_not_name_gets_its_name(program, pcs):
    b = Builder()
    offset, address = segment(program)
    start = 0x555500000000
    mapping = b.mapping(str(program), build_id(program).split(":")[1], start, start + 0x10000, offset)
    location = b.named(hex(start + pcs[0] - address))
    b.profile.location[-1].address, b.profile.location[-1].mapping_id = start + pcs[0] - address, mapping
    b.sample([location], 1)
    done = run("-", data=gzip.compress(b.profile.SerializeToString()))
    assert done.stderr.decode() == "unhex: 100.0 % of samples named\n"
    assert frames(Profile.FromString(gzip.decompress(done.stdout)), location) == oracle(program, pcs[0])


def test_otlp_requests_get_names_and_keep_all_else(program, pcs, server, tmp_path):
    assert unhex("push", "--url", server.url, "--token", server.token, program).returncode == 0
    b = otlp_of(program, pcs, gnu=build_id(program).split(":")[1])
    done = run("-", "--no-local", "--url", server.url, data=b.data())
    assert done.returncode == 0, done.stderr
    got = otlp_message.Request.FromString(done.stdout)
    assert otlp_message.frames(got, 1) == [("already named", "", 7)]
    for i, pc in enumerate(pcs):
        assert otlp_message.frames(got, i + 2) == oracle(program, pc), hex(pc)
    assert got.resource_profiles == b.request.resource_profiles
    old, new = b.request.dictionary, got.dictionary
    for table in ("mapping_table", "link_table", "attribute_table", "stack_table"):
        assert getattr(old, table) == getattr(new, table), table
    for table in ("string_table", "function_table"):
        assert list(getattr(new, table))[:len(getattr(old, table))] == list(getattr(old, table)), table
    for before, after in zip(old.location_table, new.location_table, strict=True):
        assert (before.address, before.mapping_index, before.attribute_indices) == \
            (after.address, after.mapping_index, after.attribute_indices)
    assert run("-", "--no-local", "--url", server.url, data=done.stdout).stdout == done.stdout


@pytest.mark.parametrize("inline", [False, True])
def test_otlp_modules_are_found_by_each_kind_of_id(program, pcs, inline):
    ids = dict(x.split(":", 1) for x in json.loads(unhex("id", "--json", program).stdout)["ids"])
    file_id = ids.get("file") or unhex_file_id(program)
    for kind, text in (("gnu", ids["gnu"]), ("gnu", ids["gnu"].upper()), ("htlhash", file_id)):
        b = otlp_message.Builder()
        mapping = b.mapping(str(program), {kind: text}, inline=inline)
        b.sample([b.location(pcs[0], mapping)], values=[1])
        done = run("-", data=b.data())
        assert done.returncode == 0, (kind, done.stderr)
        assert otlp_message.frames(otlp_message.Request.FromString(done.stdout), 1) == oracle(program, pcs[0])
    b = otlp_message.Builder()
    b.sample([b.location(pcs[0], b.mapping(str(program), {"htlhash": "00" * 16}))], values=[1])
    assert run("-", data=b.data()).returncode == 1


def unhex_file_id(path):
    """By the definition: the ends of the file and its size."""
    data = path.read_bytes()
    return hashlib.sha256(data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")).hexdigest()[:32]


def test_unknown_fields_of_otlp_are_kept(program, pcs):
    b = otlp_of(program, pcs[:1], gnu=build_id(program).split(":")[1])
    later = b"\x9a\x06\x03new"  # field 99
    resource, dictionary = b.request.resource_profiles[0].SerializeToString(), b.request.dictionary.SerializeToString()
    data = field(1, resource + later) + field(2, dictionary + later) + later
    done = run("-", "--files", "/", data=data)
    got = done.stdout
    assert got.startswith(field(1, resource + later)) and got.endswith(later)
    assert got.count(later) == 3


def field(number, content):
    """A length-delimited field."""
    size, head = len(content), bytes([number << 3 | 2])
    while size >= 0x80:
        head += bytes([size & 0x7f | 0x80])
        size >>= 7
    return head + bytes([size]) + content


def test_samples_of_otlp_are_counted(program, pcs):
    b = otlp_message.Builder()
    mapping = b.mapping(str(program), {"gnu": build_id(program).split(":")[1]})
    leaf, caller = b.location(pcs[0], mapping), b.named("caller")
    b.sample([leaf, caller], values=[5, 2])
    b.sample([leaf, caller], times=[1, 2, 3])
    done = run("-", "--to", "folded", data=b.data())
    names = [name for name, _, _ in oracle(program, pcs[0])][::-1]
    assert done.stdout.decode() == ";".join(["caller", *names]) + " 10\n"


def test_dangling_indexes_of_otlp_are_refused(program):
    for damage in ("sample", "stack", "location", "mapping", "line"):
        b = otlp_message.Builder()
        b.sample([b.location(1, b.mapping("x", {"gnu": "00ff"})), b.named("f")], values=[1])
        tables = b.tables
        if damage == "sample":
            b.profile.samples[0].stack_index = 77
        elif damage == "stack":
            tables.stack_table[1].location_indices[0] = 77
        elif damage == "location":
            tables.location_table[1].mapping_index = 77
        elif damage == "mapping":
            tables.mapping_table[1].attribute_indices[0] = 77
        else:
            tables.location_table[2].lines[0].function_index = 77
        done = run("-", data=b.data())
        assert (done.returncode, done.stdout) == (1, b""), damage
        assert b"OTLP profiles+0x" in done.stderr and b"77 is past its table of " in done.stderr, (damage, done.stderr)


def test_folded_stacks_get_inlined_calls_as_frames(program, pcs):
    stack = f"main;[{program}+{pcs[0]:#x}] 3\nmain;/nowhere/libx.so+0x12 1\n\n_Z1fv 2\n"
    done = run("-", data=stack.encode())
    assert done.returncode == 0
    names = [name for name, _, _ in oracle(program, pcs[0])][::-1]
    assert done.stdout.decode().splitlines() == sorted([
        ";".join(["main", *names]) + " 3", "main;[libx.so+0x12] 1", "_Z1fv 2"])
    assert "16.7 %: /nowhere/libx.so" in done.stderr.decode()


def test_callers_in_folded_stacks_are_return_addresses(program, pcs):
    """The instruction behind a call may be of another function; the call is not."""
    done = run("-", data=f"[{program}+{pcs[-1] + 1:#x}];leaf 1\n".encode())
    assert done.stdout.decode().startswith("outer")


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A program that computes for a while in inlined calls, and what `perf record` says of it."""
    folder = tmp_path_factory.mktemp("busy")
    program = compile_c(folder, "busy", """
static inline __attribute__((always_inline)) unsigned spin(unsigned x)
{
	for (volatile int i = 0; i < 20000; i++)
		x += i;
	return x;
}
__attribute__((noinline)) unsigned outer(unsigned x) { return spin(x) + 1; }
int main(void)
{
	unsigned s = 0;
	for (int i = 0; i < 30000; i++)
		s += outer(s);
	return s == 12345;
}
""", ("-O1", "-g", "-fno-omit-frame-pointer"))
    bare, _ = stripped(program, "busy.bare")
    subprocess.run(["perf", "record", "-q", "-F", "499", "-g", "-e", "cpu-clock", "-o", folder / "perf.data", bare],
                   check=True, capture_output=True)
    return program, bare, folder / "perf.data"


def perf_script(data, *options, perf="perf"):
    return subprocess.run([perf, "script", "-i", data, *options], capture_output=True, text=True, check=True).stdout


def perf_positions(data, perf):
    """perf 6.1 prints positions in files; newer ones print addresses of the process, and positions on request."""
    newer = subprocess.run([perf, "script", "-i", data, "-F", "+dsoff"], capture_output=True, check=False)
    return ["-F", "+dsoff"] if newer.returncode == 0 else []


@pytest.mark.parametrize("perf", perfs(), ids=["system", "newest"][:len(perfs())])
def test_the_text_of_perf_script_gets_names_and_keeps_the_rest(busy, perf):
    program, bare, data = busy
    text = perf_script(data, "--no-inline", *perf_positions(data, perf), perf=perf)
    assert re.search(rf"\[unknown\] \({re.escape(str(bare))}(\+0x[0-9a-f]+)?\)", text)
    root = program.parent / "root"
    (root / bare.relative_to("/").parent).mkdir(parents=True, exist_ok=True)
    (root / bare.relative_to("/")).unlink(missing_ok=True)
    (root / bare.relative_to("/")).symlink_to(program)  # the same build, with its symbols
    done = run("-", "--files", root, data=text.encode())
    assert done.returncode == 0, done.stderr
    named = done.stdout.decode()
    kept = [line for line in text.splitlines() if "[unknown]" not in line or str(bare) not in line]
    assert [line for line in named.splitlines() if line in set(kept)] == kept
    for line in text.splitlines():
        match = re.match(r"\s+([0-9a-f]+) \[unknown\] \((.*?)(?:\+0x[0-9a-f]+)?\)$", line)
        if match and match[2] == str(bare):
            assert f"{line.split('[')[0]}" in named
    assert re.search(r"^\s+[0-9a-f]+ spin \(inlined\)\n\s+[0-9a-f]+ outer \(" + re.escape(str(bare)), named, re.M)
    folded = run("-", "--files", root, "--to", "folded", "--value", "samples", data=text.encode()).stdout.decode()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == len(re.findall(r"^\S", text, re.M))
    assert re.search(r"^busy.bare;.*;main;outer;spin \d+$", folded, re.M), folded


def test_other_fields_of_perf_script_are_read_too(busy):
    _, _, data = busy
    plain = run("-", "--to", "folded", "--value", "samples", data=perf_script(data).encode()).stdout
    assert plain.count(b"\n") > 0
    for options in (["-F", "comm,pid,tid,time,period,event,ip,sym,symoff,dso"], ["--show-mmap-events"],
                    ["-F", "comm,tid,time,ip,sym,dso"]):
        text = perf_script(data, *options)
        assert run("-", "--to", "folded", "--value", "samples", data=text.encode()).stdout == plain, options


def test_recordings_of_perf_are_named_with_inlined_calls(busy, tmp_path):
    program, bare, data = busy
    root = tmp_path / "root"
    (root / bare.relative_to("/").parent).mkdir(parents=True)
    (root / bare.relative_to("/")).symlink_to(program)
    done = run(data, "--files", root, "--value", "samples")
    assert done.returncode == 0, done.stderr
    text = perf_script(data, "--no-inline")
    folded = done.stdout.decode()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == len(re.findall(r"^\S", text, re.M))
    assert re.search(r"^busy.bare;.*;main;outer;spin \d+$", folded, re.M), folded
    assert run(data, "--files", root, "-o", tmp_path / "p.pb.gz").returncode == 0
    got = Profile.FromString(gzip.decompress((tmp_path / "p.pb.gz").read_bytes()))
    texts = got.string_table
    assert [texts[t.type] for t in got.sample_type][0] == "samples"
    assert sum(s.value[0] for s in got.sample) == len(re.findall(r"^\S", text, re.M))
    whole = data.read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-min(20000, len(whole) // 4)])
    done = run(tmp_path / "cut", "--files", root)
    assert b"cut off" in done.stderr and b"Traceback" not in done.stderr


def test_inlined_calls_of_copied_stacks_are_those_of_perf_script(tmp_path):
    """perf 6.1 looks for inlined calls only in callchains that it unwinds itself."""
    program = compile_c(tmp_path, "layers", """
#define INLINE static inline __attribute__((always_inline))
volatile unsigned sink;
INLINE void innermost(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
INLINE void middle(unsigned n) { innermost(n); sink ^= n; innermost(n / 2); }
__attribute__((noinline)) void one(unsigned n) { middle(n); sink++; }
__attribute__((noinline)) void other(unsigned n) { innermost(n); one(n); sink++; }
int main(void)
{
	for (unsigned i = 0; i < 40000; i++) {
		other(9000 + i % 7);
		sink++;
	}
	return 0;
}
""", ("-O1", "-g"))
    data = tmp_path / "perf.data"
    subprocess.run(["perf", "record", "-q", "-F", "499", "--call-graph", "dwarf,4096", "-e", "cpu-clock:u", "-o", data, program],
                   check=True, capture_output=True)
    own = {"innermost", "middle", "one", "other", "main"}
    theirs = collections.Counter()
    for sample in perf_script(data, "--inline", "-F", "comm,ip,sym").split("\n\n"):
        names = re.findall(r"^\s+[0-9a-f]+ (\S+)(?: \(inlined\))?$", sample, re.M)
        theirs[";".join(name for name in reversed(names) if name in own)] += bool(names)
    ours = collections.Counter()
    for line in run(data, "--to", "folded", "--value", "samples").stdout.decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        ours[";".join(name for name in stack.split(";")[1:] if name in own)] += int(count)
    del theirs[""], ours[""]  # the loader
    assert theirs == ours
    assert theirs["main;other;one;middle;innermost"] > 10 and theirs["main;other;innermost"] > 10


def test_the_sum_of_samples_stays(recorded):
    done = run("-", "--to", "folded", data=recorded.SerializeToString())
    total = sum(int(line.rsplit(" ", 1)[1]) for line in done.stdout.decode().splitlines())
    assert total == sum(s.value[0] for s in recorded.sample)


def test_one_value_of_several_is_the_last_one_or_that_which_is_named(recorded):
    both = Profile.FromString(recorded.SerializeToString())
    both.string_table.extend(["energy", "joules"])
    both.sample_type.add(type=len(both.string_table) - 2, unit=len(both.string_table) - 1)
    for sample in both.sample:
        sample.value.append(1000 * sample.value[0])
    count = sum(s.value[0] for s in recorded.sample)
    first = recorded.string_table[recorded.sample_type[0].type]
    for options, expected in (([], 1000 * count), (["--value", "energy"], 1000 * count), (["--value", "2"], 1000 * count),
                              (["--value", first], count), (["--value", "1"], count)):
        done = run("-", "--to", "folded", *options, data=both.SerializeToString())
        assert sum(int(x.rsplit(b" ", 1)[1]) for x in done.stdout.splitlines()) == expected, options
    for value in ("3", "0", "wall"):
        done = run("-", "--to", "folded", "--value", value, data=both.SerializeToString())
        assert done.returncode == 1 and b"expected " + first.encode() + b", energy" in done.stderr


def test_recordings_keep_their_times_in_formats_of_viewers(busy, tmp_path):
    _, _, data = busy
    times = [float(x) for x in re.findall(r"^\s*\S+\s+\d+\s+(\d+\.\d+):", perf_script(data, "-F", "comm,tid,time"), re.M)]
    done = run(data, "-o", tmp_path / "x.firefox.json")
    assert done.returncode in (0, 1), done.stderr  # 1: nothing has a name, since no sample was in the kernel
    doc = json.loads((tmp_path / "x.firefox.json").read_text())
    check(doc)
    ours = sorted(t for thread in doc["threads"] for t in thread["samples"]["time"])
    assert [round(t - ours[0], 3) for t in ours] == pytest.approx([(t - min(times)) * 1000 for t in sorted(times)], abs=2e-3)
    done = run(data, "--to", "speedscope")
    profiles = json.loads(done.stdout)["profiles"]
    assert any(sum(p["weights"]) == len(times) for p in profiles)


def test_the_output_name_selects_the_format(recorded, tmp_path):
    data = recorded.SerializeToString()
    assert run("-", "-o", tmp_path / "x.folded", data=data).returncode == 0
    assert (tmp_path / "x.folded").read_text().startswith("already named;")
    assert run(tmp_path / "x.folded", "-o", tmp_path / "y.pb.gz").returncode == 0
    again = run(tmp_path / "y.pb.gz", "--to", "folded", "--demangle", "full")
    assert again.stdout.decode() == (tmp_path / "x.folded").read_text()


@pytest.mark.parametrize("data,words", [
    (b"", ["not a profile or crash report", "a core dump, or a backtrace"]),
    (b"\x7fELF" + bytes(60), ["not a profile"]),
    (b"main;f\nno count\n", ["not a profile"]),
    (b"main;f 1\nmain;g\n", ["line 2"]),
    (gzip.compress(b"main;f 1\n")[:-9], ["standard input"]),
    # pprof: a type of values and two samples, of which the second is cut, before any string
    (b"\n\4\10\1\20\2" + b"\22\6\n\1\1\22\1\5" + b"\22\6\n\1", ["pprof profile+0x10", "ends too early"]),
], ids=["empty", "elf", "text", "line", "cut", "cut pprof"])
def test_what_is_no_profile_is_refused(data, words):
    done = run("-", data=data)
    assert (done.returncode, done.stdout) == (1, b"")
    for word in words:
        assert word in done.stderr.decode()


def test_other_commands_of_profiles_lead_from_a_crash_report_to_symbolize(tmp_path):
    (tmp_path / "crash.txt").write_text("hello\n#0  0x55 in ?? () from /lib/x.so\n")
    for command in ("flame", "top"):
        fails(subprocess.run([UNHEX, command, tmp_path / "crash.txt"], text=True, timeout=60, capture_output=True),
              1, "crash report; unhex symbolize names its frames")


@pytest.mark.parametrize("before, words", [
    (b"main;f 1\n", ["line 2", "expected at most"]),
    (b"prog 1 1.0: 1 cpu-clock:\n\t401000 f (/bin/f)\n\n", ["line 4", "expected at most"]),
    (b"", ["not a profile"]),
], ids=["folded", "perf script", "first"])
def test_a_line_of_ten_gigabytes_costs_no_memory(tmp_path, before, words):
    path = tmp_path / "long.txt"
    with path.open("wb") as file:  # sparse
        file.write(before + b"a" * (70 << 20))
        file.truncate(10 << 30)
    fails(subprocess.run(["prlimit", f"--data={256 << 20}", UNHEX, "symbolize", path], text=True, timeout=60,
                         capture_output=True), 1, *words)


def test_damaged_profiles_name_the_offset(recorded, tmp_path):
    data = recorded.SerializeToString()
    (tmp_path / "x.pb").write_bytes(data[:-5])
    done = unhex("symbolize", tmp_path / "x.pb", "-o", tmp_path / "out.pb")
    fails(done, 1, "x.pb", "pprof profile+0x")
    assert not (tmp_path / "out.pb").exists()


def test_usage():
    fails(unhex("symbolize"), 2, "no profile given")
    fails(unhex("symbolize", "a", "b"), 2, "more than one")
    fails(unhex("symbolize", "a", "--demangle", "x"), 2, "--demangle")


def test_the_same_bytes_each_time(recorded):
    data = recorded.SerializeToString()
    assert len({run("-", data=data).stdout for _ in range(3)}) == 1
    assert json.dumps(sorted(run("-", "--to", "folded", data=data).stdout.decode().splitlines()))


def test_a_program_is_not_a_profile_and_the_message_leads_on(program, tmp_path):
    name = program.name
    for command, words in (("symbolize", f"unhex lookup {name} ADDR; for a profile: unhex flame -- ./{name} "),
                           ("flame", f"{name} is a program; to record it: unhex flame -- ./{name} "),
                           ("top", f"to record it: unhex top -- ./{name} ")):
        fails(unhex(command, name, cwd=program.parent), 2, words)
    library = tmp_path / "lib.so"
    library.write_bytes(program.read_bytes())  # not executable
    fails(unhex("symbolize", library), 2, f"unhex lookup {library} ADDR")
    fails(unhex("top", library), 2, f"{library} is a binary, not a profile", f"unhex lookup {library} ADDR")


def test_a_file_that_is_written_is_named(recorded, tmp_path):
    data = recorded.SerializeToString()
    for command, name in (("symbolize", "x.pb"), ("flame", "x.html")):
        done = subprocess.run([UNHEX, command, "-", "-o", tmp_path / name], input=data, capture_output=True)
        assert done.returncode == 0 and f"unhex: wrote {tmp_path}/{name}\n" in done.stderr.decode()
        done = subprocess.run([UNHEX, command, "-", "-o", "-"], input=data, capture_output=True)
        assert done.returncode == 0 and "wrote" not in done.stderr.decode()
