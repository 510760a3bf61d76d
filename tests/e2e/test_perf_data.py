# SPDX-License-Identifier: Apache-2.0
"""The reader of perf.data against perf itself: the same samples, threads, addresses and modules."""
import collections
import pathlib
import re
import subprocess

import pytest

from pprof_message import Profile
from tool import UNHEX, perfs

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRINT = pathlib.Path(UNHEX).resolve().parents[1] / "tests/make/print_perf"
HEAD = re.compile(r"^\s*(?P<comm>.*?)\s+(?P<ids>-?\d+/-?\d+)\s+(?P<time>\d+\.\d+): *(?P<rest>.*)$")
LINK = re.compile(r"^\s*(?P<address>[0-9a-f]+) .*? \((?P<dso>(?:/|\[|bpf_).*?)(?:\+0x(?P<off>[0-9a-f]+))?\)$")

SOURCE = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void spin(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i * i;
}
__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static void sort(void)
{
	int numbers[2000];
	for (int i = 0; i < 2000; i++)
		numbers[i] = rand();
	qsort(numbers, 2000, sizeof(int), compare);
}
__attribute__((noinline)) static void *work(void *name)
{
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < 60; i++) {
		spin(400000);
		sort();
	}
	return 0;
}
int main(int argc, char **argv)
{
	pthread_t threads[3];
	const char *names[3] = {"first", "a second", "third"};
	if (argc > 1) {
		work("executed");
		return 0;
	}
	/* Before there are threads: one of them might hold a lock that the child would wait for. */
	if (fork() == 0) {
		work("forked");
		if (fork() == 0) {
			execl(argv[0], argv[0], "again", (char *)0);
			_exit(1);
		}
		wait(0);
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, work, (void *)names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	wait(0);
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("perf-data")
    (folder / "work.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", "work", "work.c"],
                   cwd=folder, check=True)
    return folder


def record(perf, folder, name, options, command):
    """Records a command into a file; "|" among the options: through a pipe."""
    piped = "|" in options
    options = [o for o in options if o != "|"]
    target = folder / name
    args = [perf, "record", "-q", "-e", "cpu-clock", "-F", "997", *options]
    with open(target, "wb") if piped else open("/dev/null", "wb") as out:
        r = subprocess.run([*args, "-o", "-" if piped else target, "--", *command], stdout=out,
                           stderr=subprocess.PIPE, text=True, cwd=folder)
    if re.search("permission|not permitted|sys_perf_event_open", r.stderr, re.I):
        pytest.skip("this machine's kernel lets nobody record")
    assert r.returncode == 0, r.stderr
    return target


def link_of_perf(line):
    m = LINK.match(line)
    assert m, line
    dso = m["dso"]
    if dso.startswith("/tmp/perf-vdso.so-"):
        dso = "[vdso]"  # perf copies it for its reader of symbols
    if re.match(r"/tmp/perf-\d+\.map$|//anon|\[heap\]|\[stack\]|/memfd:", dso):
        dso = "JIT"
    absolute = dso in ("JIT", "[unknown]", "[kernel.kallsyms]") or dso.startswith("bpf_")
    address = int(m["off"] if m["off"] and not absolute else m["address"], 16)
    return address, "" if dso == "[unknown]" else dso


def samples_of_perf(perf, path):
    """
    perf 6.1 prints addresses of user mode as offsets in their files. Newer ones print them as they
    were, and those offsets with `dsoff`.
    """
    fields = "comm,pid,tid,time,ip,sym,dso"
    if perf != "perf":
        fields += ",dsoff"
    r = subprocess.run([perf, "script", "-i", path, "-F", fields, "--no-inline", "--ns"],
                       capture_output=True, text=True, errors="replace")
    assert r.returncode == 0, r.stderr
    samples = []
    for line in r.stdout.splitlines():
        if m := HEAD.match(line):
            seconds, nanos = m["time"].split(".")
            samples.append((m["comm"], m["ids"], int(seconds) * 10**9 + int(nanos), []))
            line = m["rest"]
        if line.strip():
            samples[-1][3].append(link_of_perf(line))
    return samples


def samples_of_ours(path):
    r = subprocess.run([PRINT, path], capture_output=True, text=True, errors="replace")
    assert r.returncode == 0, r.stderr
    samples = []
    for line in r.stdout.splitlines():
        fields = line.split("\t")
        if fields[0]:
            samples.append((fields[0], fields[1], int(fields[2]), []))
        else:
            dso = fields[2]
            if re.match(r"//anon|\[heap|\[stack|/memfd|/dev/zero", dso):
                dso = "JIT"
            samples[-1][3].append((int(fields[1], 16), dso))
    return samples


def summary(path):
    r = subprocess.run([PRINT, "--summary", path], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return dict(line.split("\t", 1) for line in r.stdout.splitlines() if line.count("\t") == 1)


def same_links(mine, other):
    """
    Whether two stacks are the same but for what is meant to differ: perf prints the 0 that ends a
    chain of frames, which is not an address, and it drops all of a chain in which the unwinder took a
    small negative number for a return address.
    """
    other = [link for i, link in enumerate(other) if link[0] or i == 0]
    if not other:
        return mine
    return len(mine) == len(other) and all(map(same_link, mine, other))


def same_link(mine, other):
    """
    A memfd has offsets for perf, and addresses for us; without callchains, perf 6.1 prints addresses
    where it otherwise prints offsets; of files that it cannot open, and for 6.12 the vDSO is one, perf prints other
    offsets or addresses; and perf finds numbers that the unwinder took for return addresses in the program that ran
    before exec(). The position in the page is always the same.
    """
    stale = not mine[1] and other[1].startswith("/")
    if mine[1] != other[1] and not stale:
        return False
    absent = mine[1] == "[vdso]" or mine[1].startswith("/") and not pathlib.Path(mine[1]).exists()
    loose = stale or absent or mine[1] == "JIT" or other[0] >= 1 << 32 and mine[1].startswith("/")
    return (mine[0] ^ other[0]) & (0xfff if loose else (1 << 64) - 1) == 0


def compare(perf, path):
    theirs, ours = samples_of_perf(perf, path), samples_of_ours(path)
    assert len(theirs) > 50
    assert len(ours) == len(theirs)
    exited = 0
    for mine, other in zip(ours, theirs):
        # Newer perfs forget the name of a thread when it ends, and count its last samples as ":TID".
        if mine[0] != other[0] and other[0] == ":" + other[1].split("/")[1]:
            exited += 1
        else:
            assert mine[0] == other[0]
        assert mine[1:3] == other[1:3]
        assert same_links(mine[3], other[3]), (mine, other)
    assert exited <= len(ours) / 10
    assert sum(not other[3] for other in theirs) <= len(ours) / 10
    stale = sum(bool(b[1]) and not a[1] for mine, other in zip(ours, theirs)
                for a, b in zip(mine[3], other[3]))
    assert stale <= len(ours) / 20
    return ours


WAYS = {
    "plain": ["-g"],
    "leaves": [],
    "ids": ["-g", "--buildid-mmap"],
    "zstd": ["-g", "-z"],
    "pipe": ["-g", "|"],
    "pipe-zstd": ["-g", "-z", "|"],
    "all": ["-g", "-a"],
    "two": ["-g", "-e", "task-clock"],
    "data": ["-g", "-d"],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("perf", perfs(), ids=["system", "newest"][:len(perfs())])
def test_the_same_as_perf_script(perf, way, program):
    path = record(perf, program, f"{way}.data", WAYS[way], ["./work"])
    compare(perf, path)
    counters = summary(path)
    assert counters["samples"] != "0"
    assert counters["damaged_records"] == counters["truncated"] == "0"
    assert counters["pipe"] == str(int("|" in WAYS[way]))
    assert counters["unknown_records"] == "0"
    assert "damage" not in counters


def folded(path, *options, stdin=None):
    """The folded stacks of a recording, with their counts, and what was said about it."""
    r = subprocess.run([UNHEX, "symbolize", path, "--to", "folded", "--value", "samples", *options], stdin=stdin,
                       capture_output=True, text=True, check=True)
    stacks = (line.rsplit(" ", 1) for line in r.stdout.splitlines())
    return {stack: int(count) for stack, count in stacks}, r.stderr


def test_a_recording_is_named(program):
    path = record("perf", program, "named.data", ["-g"], ["./work"])
    stacks, said = folded(path)
    assert sum(stacks.values()) == int(summary(path)["samples"])
    # The first of each stack is the thread's name.
    for thread in "first", "a second", "third", "forked", "executed":
        assert any(s.startswith(thread + ";") and ";spin" in s for s in stacks), thread
    assert " of samples named" in said
    with open(path, "rb") as stdin:
        assert folded("-", stdin=stdin)[0] == stacks


def test_a_recording_of_another_machine_is_named_by_the_symbols_of_a_server(program, server):
    path = record("perf", program, "far.data", ["-g"], ["./work"])
    here, _ = folded(path, "-v")
    spin = sum(n for stack, n in here.items() if ";spin" in stack)
    assert spin > 10

    def far():
        r = subprocess.run([UNHEX, "symbolize", path, "--to", "folded", "--value", "samples", "--no-local", "-v", "--url",
                            server.url, "--token-file", program / "token"], capture_output=True, text=True)
        return sum(int(line.rsplit(" ", 1)[1]) for line in r.stdout.splitlines() if ";spin" in line), r.stderr
    (program / "token").write_text(server.token)
    # Symbols without the table of segments, as other writers make them, do not tell where a position is in memory.
    gsym = program / "work.gsym"
    assert subprocess.run([UNHEX, "extract", program / "work", "-o", gsym]).returncode == 0
    whole = gsym.read_bytes()
    assert whole.endswith(b"UXSEGMTS")
    gsym.write_bytes(whole[:-16 - 24 * int.from_bytes(whole[-16:-12], "little")])
    assert server.unhex("push", gsym).returncode == 0
    n, said = far()
    assert n == 0 and "the server's symbols have no segments; push the file again" in said, said
    gsym.write_bytes(whole)
    assert server.unhex("push", "--force", gsym).returncode == 0
    n, said = far()
    assert n == spin and "symbols from server" in said, said


def kernel_leaves(path):
    """How often our --no-dwarf has each function of the kernel innermost."""
    out = path.with_suffix(".pb")
    done = subprocess.run([UNHEX, "symbolize", path, "--no-dwarf", "-v", "-o", out], capture_output=True, text=True, check=True)
    profile = Profile.FromString(out.read_bytes())
    texts = profile.string_table
    kernel = {m.id for m in profile.mapping if texts[m.filename].startswith("[kernel")}
    functions = {f.id: texts[f.name] for f in profile.function}
    locations = {x.id: functions[x.line[0].function_id] if x.line else "?"
                 for x in profile.location if x.mapping_id in kernel}
    leaves = collections.Counter()
    for sample in profile.sample:
        if sample.location_id[0] in locations:
            leaves[locations[sample.location_id[0]]] += sample.value[0]
    return leaves, done.stderr


def test_another_kernel_is_named_by_the_copy_of_its_symbols_that_perf_has_kept(program, monkeypatch):
    """As after the start of another build: the recording and the copy have its ID, what runs has another one."""
    path = record("perf", program, "kernel.data", [], ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000000"])
    monkeypatch.setenv("HOME", str(program / "home"))
    monkeypatch.delenv("PERF_CONFIG")  # which has another cache
    listed = subprocess.run(["perf", "buildid-list", "-i", path], check=True, capture_output=True, text=True).stdout
    own = re.search(r"^([0-9a-f]{40}) \[kernel\.kallsyms\]$", listed, re.M)[1]
    other = own[::-1]
    recorded = path.read_bytes()
    assert bytes.fromhex(own) in recorded
    path.write_bytes(recorded.replace(bytes.fromhex(own), bytes.fromhex(other)))
    leaves, said = kernel_leaves(path)
    assert set(leaves) == {"?"} and "another kernel is running" in said

    cache = program / "home/.debug"
    copy = cache / "[kernel.kallsyms]" / other
    copy.mkdir(parents=True)
    symbols = pathlib.Path("/proc/kallsyms").read_text(encoding="ascii")
    (copy / "kallsyms").write_text(symbols, encoding="ascii")
    (cache / ".build-id" / other[:2]).mkdir(parents=True)
    (cache / ".build-id" / other[:2] / other[2:]).symlink_to(f"../../[kernel.kallsyms]/{other}")
    leaves, said = kernel_leaves(path)
    assert f"symbols from {cache}/.build-id/{other[:2]}/{other[2:]}/kallsyms" in said
    script = subprocess.run(["perf", "script", "-i", path, "-F", "ip,sym,dso"], check=True, capture_output=True, text=True)
    theirs = collections.Counter(re.findall(r"^\s*[0-9a-f]+ (\S+) \(\[kernel\.kallsyms\]\)$", script.stdout, re.M))
    assert sum(theirs.values()) > 100 and "[unknown]" not in theirs, script.stderr
    # Functions may have several names: they are compared by where they begin.
    starts = {line.split()[2]: line.split()[0] for line in symbols.splitlines()}

    def by_start(names):
        sums = collections.Counter()
        for name, n in names.items():
            sums[starts[name]] += n
        return sums
    assert by_start(leaves) == by_start(theirs)


def test_a_recording_that_is_cut_off(program):
    path = record("perf", program, "cut.data", ["-g"], ["./work"])
    whole = samples_of_ours(path)
    content = path.read_bytes()
    cut = program / "half.data"
    cut.write_bytes(content[:len(content) // 2 + 3])
    half = samples_of_ours(cut)
    assert 0 < len(half) < len(whole)
    # Names and mappings of the missing part may be older than samples of the other processor.
    assert {sample[1:3] for sample in half} <= {sample[1:3] for sample in whole}
    counters = summary(cut)
    assert counters["truncated"] == "1"
    assert "the file ends inside a record" in folded(cut)[1]
    # perf writes the size of the records at its end.
    cut.write_bytes(content[:48] + bytes(8) + content[56:])
    assert len(samples_of_ours(cut)) == len(whole)
    assert "perf did not finish the recording" in folded(cut)[1]


def test_code_of_a_run_time_compiler(program):
    script = ("function f(x){let s=0;for(let i=0;i<1e6;i++)s+=Math.sqrt(i*x);return s}"
              "let t=Date.now(),z=0;while(Date.now()-t<700)z+=f(z%3);")
    path = record("perf", program, "node.data", ["-g"], ["node", "--perf-basic-prof", "-e", script])
    compare("perf", path)
    stacks, _ = folded(path)
    assert any(re.search(r";JS:\*?f |;JS:[~^*]?f\b", s) for s in stacks), list(stacks)[:5]
