#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times `unhex symbolize` over a recording of a JVM and a C++ program, beside Debian's `perf script`.

The recording is made once, with its run-time code's names, and kept in BUILD/profile. A ratio is perf's
processor time divided by ours, of whole processes with their children; ours folds too, perf only prints.
Leaf functions are compared sample by sample: process, module and address have to be the same and the
function's name, too, without inlined ones, parameters, suffixes of clones (.isra.0) and symbol versions. Two names that
a symbol table has for one address are the same function, and are counted.
"""
import argparse
import collections
import contextlib
import gzip
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "e2e" / "helpers"))

# pylint: disable=wrong-import-position
from bench import ROOT, Elf, Result, run_once  # noqa: E402
from pprof_message import Profile  # noqa: E402

RATE = 5000       # samples a second of processor time
SECONDS = 10      # of processor time, of each program
LOCATIONS = 1_000_000
STREAMED = 1 << 30
SHOWN = 10
SAMPLE = 9        # PERF_RECORD_SAMPLE
PART = 1000      # samples for perf with inlined calls and lines
STACK = 4096     # bytes of each stack that are copied
GOAL_INLINE = 50
KEPT = "with GSYMs kept"
FOLD = Path("/usr/lib/perf-core/scripts/python/stackcollapse.py")
JVM = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]


def show(name, text, goal=None, fine=True):
    """One line."""
    verdict = f"  goal {goal}: {'reached' if fine else 'MISSED'}" if goal else ""
    print(f"{name:34} {text}{verdict}", flush=True)


def record(folder, rate, name, graph):
    """Runs both programs at the same time, each for SECONDS of processor time, however busy the machine is."""
    data = folder / name
    if data.exists():
        return data
    words = folder / "words"
    if not words.exists():
        subprocess.run(["g++", "-g", "-O2", "-fno-omit-frame-pointer", "-o", words, ROOT / "docs/examples/words.cc"],
                       check=True)
    # The JVM's start and the compiler of its program are recorded as well: they run in libjvm.
    both = ('ulimit -c 0; java "$@" & jvm=$!; echo $jvm > "$FOLDER/pid"; '
            '(ulimit -t "$SECONDS"; exec "$FOLDER/words" docs/*.md) & wait $jvm; wait')
    made = folder / "new.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(rate), "--call-graph", graph, "-o", made, "--",
                    "sh", "-c", both, "sh", *JVM, "bench/profile_load.java", str(SECONDS)], cwd=ROOT, check=True,
                   env={**os.environ, "FOLDER": str(folder), "SECONDS": str(SECONDS)}, stdout=subprocess.DEVNULL)
    pid = (folder / "pid").read_text(encoding="ascii").strip()
    shutil.copy(f"/tmp/perf-{pid}.map", folder / f"perf-{pid}.map")
    made.rename(data)
    return data


def restore_maps(folder):
    """Names of run-time code, where perf and unhex look for them."""
    for path in folder.glob("perf-*.map"):
        if not Path("/tmp", path.name).exists():
            shutil.copy(path, "/tmp")


def measure(args, rounds):
    """The figures of a command."""
    result = Result()
    for _ in range(rounds):
        run_once([shutil.which(args[0]), *args[1:]], None, result)
    return result


def cpu_of_group(group):
    """Processor seconds that the processes of a group have used so far, with the children they waited for."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            ticks += sum(int(x) for x in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def limited(args, limit, enough=float("inf")):
    """(processor seconds, whether it ended) of a command that is ended after limit seconds, or `enough` of these."""
    # pylint: disable-next=consider-using-with
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        end = time.monotonic() + limit
        used = 0.0
        while process.poll() is None and time.monotonic() < end and used < enough:
            used = max(used, cpu_of_group(process.pid))
            time.sleep(0.05)
        return used, process.poll() is not None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def perf_commands(data):
    """{name: (arguments, goal, whether its peer is --no-dwarf)} of perf. It folds stacks by a script of its own."""
    perf = ["perf", "script", "-i", str(data)]
    commands = {"--no-inline": ([*perf, "--no-inline"], 5, True), "--inline": ([*perf, "--inline"], GOAL_INLINE, False)}
    if FOLD.exists():
        commands["--no-inline, folded"] = ([*perf, "--no-inline", "-s", str(FOLD)], 5, True)
        commands["--inline, folded"] = ([*perf, "--inline", "-s", str(FOLD)], GOAL_INLINE, False)
    return commands


@contextlib.contextmanager
def kept_in(folder):
    """GSYMs of large files are kept in a folder of the user's, as they are by default."""
    before = os.environ.copy()
    os.environ.pop("UNHEX_CACHE", None)
    os.environ["XDG_CACHE_HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def figures(result):
    """Processor time and memory of a command, in words."""
    return (f"{min(result.cpu):8.2f} s of processor time, {max(result.rss) / 1e6:.0f} MB "
            f"({max(result.anonymous) / 1e6:.0f} MB anonymous)")


def bench_recording(options, data, folder):
    """Time and memory of each, alternating. Kept: two commands before have filled the cache."""
    folded = [options.unhex, "symbolize", str(data), "--to", "folded"]
    commands = {"": (folded, None, False), "--no-dwarf": ([*folded, "--no-dwarf"], None, False), **perf_commands(data)}
    results = {name: Result() for name in [*commands, KEPT]}
    with kept_in(folder):
        for _ in range(2):
            measure(folded, 1)
    for _ in range(options.rounds):
        for name, (args, _, _) in commands.items():
            run_once([shutil.which(args[0]), *args[1:]], None, results[name])
        with kept_in(folder):
            run_once(folded, None, results[KEPT])
    cpu, quick, kept = (min(results[name].cpu) for name in ("", "--no-dwarf", KEPT))
    for name in "", KEPT, "--no-dwarf":
        show(f"unhex symbolize {name}".rstrip(), figures(results[name]), "200 MB", max(results[name].rss) < 200e6)
    for name, (_, goal, peer) in perf_commands(data).items():
        used = min(results[name].cpu)
        ratio = used / (quick if peer else cpu)
        others = f"x{ratio:.2f} of --no-dwarf" if peer else f"x{ratio:.2f} of all, x{used / kept:.2f} {KEPT}"
        show(f"perf script {name}", f"{used:8.2f} s of processor time, {max(results[name].rss) / 1e6:.0f} MB: {others}",
             f"x{goal}", ratio >= goal)
    text = subprocess.run(perf_commands(data)["--inline"][0], check=True, capture_output=True).stdout
    show("inlined calls in perf's --inline", f"{text.count(b'(inlined)')}")
    return cpu, kept


def thinned(data, to, count):
    """Makes a recording with every n-th sample of another, and all of its other records."""
    raw = data.read_bytes()
    begin, length = struct.unpack_from("<QQ", raw, 40)
    records, at = [], begin
    while at < begin + length:
        kind, _, size = struct.unpack_from("<IHH", raw, at)
        records.append((kind, raw[at:at + size]))
        at += size
    total = sum(kind == SAMPLE for kind, _ in records)
    out, seen = bytearray(), 0
    for kind, record in records:
        if kind == SAMPLE:
            seen += 1
            if seen * count // total == (seen - 1) * count // total:
                continue
        out += record
    to.write_bytes(with_data(raw, bytes(out)))
    return min(count, total)


def with_data(raw, data):
    """Makes a recording with another data section; moves the features that follow it."""
    begin, length = struct.unpack_from("<QQ", raw, 40)
    head, rest = bytearray(raw[:begin]), bytearray(raw[begin + length:])
    struct.pack_into("<Q", head, 48, len(data))
    flags = int.from_bytes(raw[72:104], "little")
    for i in range(flags.bit_count()):
        (offset,) = struct.unpack_from("<Q", rest, 16 * i)
        struct.pack_into("<Q", rest, 16 * i, offset + len(data) - length)
    return bytes(head) + data + bytes(rest)


def bench_inline(options, data, work, folder, whole):
    """perf with inlined calls: it starts addr2line only when it prints lines, for inlined calls as well."""
    part = work / "part.data"
    count = thinned(data, part, options.part)
    folded = [options.unhex, "symbolize", str(part), "--to", "folded"]
    cold = min(measure(folded, options.rounds).cpu)
    with kept_in(folder):
        kept = min(measure(folded, options.rounds).cpu)
    show(f"unhex symbolize, {count} samples", f"{cold:8.2f} s of processor time, {kept:.2f} s {KEPT}")
    for name, path, limit, ours in (f"{count} samples", part, options.part_limit, (cold, kept)), (
            "all samples", data, options.limit, whole):
        if limit == 0:
            continue
        used, ended = limited(["perf", "script", "-i", str(path), "--inline", "-F",
                               "comm,pid,time,ip,sym,dso,srcline"], limit)
        least = "" if ended else " at least"
        cut = "" if ended else f", ended after {limit} s"
        show(f"perf --inline, lines, {name}", f"{used:8.2f} s of processor time{cut}:{least} x{used / ours[0]:.0f} of "
             f"all, x{used / ours[1]:.0f} {KEPT}",
             "x50" if ended or used >= 50 * ours[0] else None, used >= 50 * ours[0])


def bench_copied(options, data, folder):
    """Callchains that are unwound from copies of the stacks: only in these perf 6.1 looks for inlined calls."""
    folded = [options.unhex, "symbolize", str(data), "--to", "folded"]
    perf = ["perf", "script", "-i", str(data)]
    fold = ["-s", str(FOLD)] if FOLD.exists() else []
    cold, plain, theirs, kept = Result(), Result(), Result(), Result()
    for _ in range(options.rounds):
        run_once(folded, None, cold)
        run_once([*folded, "--no-dwarf"], None, plain)
        run_once([shutil.which(perf[0]), *perf[1:], "--no-inline", *fold], None, theirs)
    with kept_in(folder):
        for result in Result(), Result(), kept:
            run_once(folded, None, result)
    for name, result in ("", cold), (KEPT, kept), ("--no-dwarf", plain):
        show(f"copied stacks, unhex {name}".rstrip(), figures(result), "200 MB", max(result.rss) < 200e6)
    show("copied stacks, perf --no-inline", f"{figures(theirs)}: x{min(theirs.cpu) / min(plain.cpu):.2f} of --no-dwarf")
    ours = min(cold.cpu), min(kept.cpu)
    used, ended = limited([*perf, "--inline", *fold], options.copied_limit, enough=1.2 * GOAL_INLINE * ours[0])
    show("copied stacks, perf --inline", f"{used:8.2f} s of processor time{'' if ended else ', ended then: at least'} "
         f"x{used / ours[0]:.0f} of all, x{used / ours[1]:.0f} {KEPT}", f"x{GOAL_INLINE}",
         used >= GOAL_INLINE * ours[0])


def plain_name(name):
    """A function's name without the suffixes of clones and the version of the symbol."""
    name = re.sub(r"(?<=.)@@?[A-Z][\w.]*$", "", name)
    return re.sub(r"\.(isra|part|constprop|cold|lto_priv|llvm)\b.*$|\.\d+$|\s|\[abi:cxx11\]", "", name)


def demangled(names):
    """Returns {name: binutils' form of it, without parameters and return type}."""
    names = sorted(names)
    done = subprocess.run(["c++filt", "-p"], input="\n".join(names), check=True, capture_output=True, text=True)
    return dict(zip(names, done.stdout.split("\n")))


def module_of(path):
    """The last part of a module's path; perf and unhex call run-time code differently."""
    name = os.path.basename(path)
    return "run-time code" if re.fullmatch(r"perf-\d+\.map|//anon|anon", name) else name


class Aliases:
    """Whether a symbol table has two names for one address."""

    def __init__(self):
        self.tables = {}

    def table(self, path, build_id):
        """{name: its addresses} of a file and its debug file."""
        if path not in self.tables:
            table = collections.defaultdict(set)
            identity = build_id.removeprefix("gnu:")
            for file in path, f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug":
                if os.path.isfile(file):
                    for line in subprocess.run(["nm", file], check=False, capture_output=True,
                                               text=True).stdout.splitlines():
                        address, _, name = line.rpartition(" ")
                        table[name].add(address.split(" ")[0])
            self.tables[path] = table
        return self.tables[path]

    def same(self, module, one, other):
        """Two names, of a module that is (path, build ID)."""
        table = self.table(*module)
        return bool(table.get(one, set()) & table.get(other, set()) - {""})


def perf_leaves(data):
    """How often perf has each (pid, module, address) innermost, and its name."""
    counts, names = collections.Counter(), {}
    with subprocess.Popen(["perf", "script", "--no-inline", "-i", str(data), "-F", "comm,pid,ip,sym,dso"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace") as process:
        pid = None
        for line in process.stdout:
            if not line[0].isspace():
                pid = int(line.split()[-1])
            elif pid is not None and line.strip():
                found = re.match(r"\s+([0-9a-f]+) (.*) \((.*)\)$", line)
                key = (pid, module_of(found[3]), int(found[1], 16))
                counts[key] += 1
                names[key] = found[2]
                pid = None
    return counts, names


def pprof_of(unhex, data, to):
    """The profile that unhex makes of a recording."""
    subprocess.run([unhex, "symbolize", str(data), "-o", to], check=True, stderr=subprocess.DEVNULL)
    profile = Profile()
    raw = to.read_bytes()
    profile.ParseFromString(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    return profile


def our_leaves(unhex, data, work):
    """The same of ours, with linkage names; and {module: (path, build ID)}."""
    profile = pprof_of(unhex, data, work / "leaves.pb")
    texts = list(profile.string_table)
    functions = {f.id: texts[f.system_name] for f in profile.function}
    modules = {m.id: module_of(texts[m.filename]) for m in profile.mapping}
    files = {module_of(texts[m.filename]): (texts[m.filename], texts[m.build_id]) for m in profile.mapping}
    locations = {}
    for x in profile.location:
        name = functions[x.line[-1].function_id] if x.line else None
        locations[x.id] = (modules.get(x.mapping_id, "[unknown]"), x.address, name)
    counts, names = collections.Counter(), {}
    for sample in profile.sample:
        if sample.location_id:
            pid = next(label.num for label in sample.label if texts[label.key] == "pid")
            module, address, name = locations[sample.location_id[0]]
            counts[pid, module, address] += sample.value[0]
            names[pid, module, address] = name
    return counts, names, files


def bench_leaves(options, data, work):
    """Agreement about the innermost function."""
    theirs, their_names = perf_leaves(data)
    ours, our_names, files = our_leaves(options.unhex, data, work)
    total = sum(theirs.values())
    show("samples", f"{total} of perf, {sum(ours.values())} of unhex", "equal", total == sum(ours.values()))
    shown = demangled({name for name in our_names.values() if name})
    same, equal, aliases, differences = 0, 0, Aliases(), collections.Counter()
    for key, n in theirs.items():
        name, their = our_names.get(key), their_names[key]
        both = min(n, ours[key])
        alike = their == "[unknown]" if name is None else plain_name(their) == plain_name(shown[name])
        alias = not alike and name and key[1] in files and aliases.same(files[key[1]], their, name)
        same += both * alike
        equal += both * bool(alias)
        if not (alike or alias) or both < n:
            where = shown[name] if name else "has no name" if key in ours else "has no such address"
            differences[key[1], their, where] += n - both * bool(alike or alias)
    show("same leaf function", f"{100 * (same + equal) / max(total, 1):8.3f} % of samples, {equal} by another name of "
         "its address", "99.9 %", same + equal >= 0.999 * total)
    print(f"    {sum(differences.values())} samples differ, {len(differences)} ways; the most frequent:")
    for (module, their, our), n in differences.most_common(SHOWN):
        print(f"    {n:6} x {module}: perf {their}, unhex {our}")


def varint(n):
    """A number of protobuf."""
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """A field: a number or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def libjvm():
    """The library of the java that runs."""
    found = next(Path(os.path.realpath(shutil.which("java"))).parent.parent.rglob("libjvm.so"), None)
    if not found:
        raise FileNotFoundError("java has no libjvm.so")
    return found


def bench_pprof(options, work, folder):
    """Makes a profile whose locations are all different addresses of libjvm's code."""
    path = libjvm()
    build_id = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", path], check=True, capture_output=True,
                                                           text=True).stdout)[1]
    code = max(Elf(path).code, key=lambda span: span[1] - span[0])
    addresses = random.Random(1).sample(range(*code), LOCATIONS)
    texts = ["", "samples", "count", str(path), build_id]
    out = [field(6, text.encode()) for text in texts]
    out += [field(1, field(1, 1) + field(2, 2)), field(3, field(1, 1) + field(5, 3) + field(6, 4))]
    out += [field(4, field(1, i + 1) + field(2, 1) + field(3, a)) for i, a in enumerate(addresses)]
    out += [field(2, field(1, b"".join(varint(i + j + 1) for j in range(10))) + field(2, b"\1"))
            for i in range(0, LOCATIONS, 10)]
    for name, write in ("pprof", bytes), ("pprof.gz", lambda raw: gzip.compress(raw, 6)):
        given = work / f"locations.{name}"
        given.write_bytes(write(b"".join(out)))
        args = ["taskset", "-c", "0", options.unhex, "symbolize", str(given)]
        result = measure(args, options.rounds)
        peak = max(result.rss) / 1e6
        show(f"1 million locations, {name}", f"{min(result.cpu):8.2f} s of processor time", "2 s",
             min(result.cpu) < 2)
        show(f"1 million locations, {name}", f"{peak:8.0f} MB ({max(result.anonymous) / 1e6:.0f} MB anonymous)",
             "200 MB", peak < 200)
        with kept_in(folder):
            show(f"the same, {KEPT}", figures(measure(args, options.rounds)))


def repeat(data, to, size):
    """Makes a recording whose data section repeats another's until it has size bytes."""
    raw = data.read_bytes()
    begin, length = struct.unpack_from("<QQ", raw, 40)
    times = -(-size // length)
    to.write_bytes(with_data(raw, raw[begin:begin + length] * times))
    return times


def bench_stream(options, data, work):
    """A recording much larger than the memory it may take."""
    large = work / "large.data"
    times = repeat(data, large, options.stream)
    result = measure([options.unhex, "symbolize", str(large), "--to", "folded"], 1)
    peak = max(result.rss) / 1e6
    show(f"perf.data of {large.stat().st_size / 1e6:.0f} MB", f"{min(result.cpu):8.2f} s of processor time, {peak:.0f} "
         f"MB ({max(result.anonymous) / 1e6:.0f} MB anonymous), the recording {times} times", "200 MB", peak < 200)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=Path, help="build folder to time")
    parser.add_argument("--rounds", type=int, default=2, help="measured rounds")
    parser.add_argument("--rate", type=int, default=RATE, help="samples a second, when it is recorded")
    parser.add_argument("--part", type=int, default=PART, help="samples for perf with inlined calls and lines")
    parser.add_argument("--part-limit", type=int, default=240, help="seconds for that")
    parser.add_argument("--limit", type=int, default=30, help="seconds for the same with all samples; 0: not at all")
    parser.add_argument("--copied-limit", type=int, default=600, help="seconds for perf with inlined calls")
    parser.add_argument("--only-copied", action="store_true", help="the recording with copied stacks alone")
    parser.add_argument("--stream", type=int, default=STREAMED, help="bytes of the large recording")
    options = parser.parse_args()
    options.unhex = str((options.build / "cli/unhex").resolve())
    folder = options.build.resolve() / "profile" / "recording"
    folder.mkdir(parents=True, exist_ok=True)
    copied = record(folder, options.rate, "copied.data", f"dwarf,{STACK}")
    data = record(folder, options.rate, "perf.data", "fp")
    restore_maps(folder)
    os.environ["UNHEX_CACHE"] = "off"
    with tempfile.TemporaryDirectory(dir=folder) as work, tempfile.TemporaryDirectory(dir=folder) as kept:
        bench_copied(options, copied, kept)
        if options.only_copied:
            return 0
        bench_leaves(options, data, Path(work))
        whole = bench_recording(options, data, kept)
        bench_pprof(options, Path(work), kept)
        bench_stream(options, data, Path(work))
        bench_inline(options, data, Path(work), kept, whole)
    return 0


if __name__ == "__main__":
    sys.exit(main())
