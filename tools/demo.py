#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `./dev run` shows: real programs are sampled, pushed and symbolized by a server, which then
keeps a recording of four of them and shows its flame graph.

With --once it ends, with status 0 only when the server really named inlined frames of the C++
program, of the Go program and of libc, with files and lines, and functions of each recorded program.
"""
import argparse
import collections
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STACKS = 400
INPUT = [ROOT / "LICENSE", ROOT / "README.md"]
STARTED = int(os.environ.get("DEV_STARTED") or time.time())  # of `./dev`, which builds first
SECONDS = 10  # of the recording
SERVICE = "words"
# A viewer that the page of the service leads to, where tests or tools/speedscope.sh have fetched it.
SPEEDSCOPE = ROOT / ".peers/speedscope/node_modules/speedscope/dist/release"
# A function of each program of the recording, as its frame is named there; (the JIT's mark says how it was compiled).
RECORDED = {"C++": r"words::count", "Go": r"main\.count", "Python": r"_PyEval_EvalFrameDefault",
            "JavaScript": r"JS:[*^~]\w+"}
NAMED_LEAST = 98.0  # percent of the samples of the recording, when all debug files are there
REPEAT = 15  # seconds after which a step that goes on is named again


class Failure(Exception):
    """What kept the demonstration from working, in one line."""


def command(*args, **options):
    """Standard output of a command that has to work."""
    args = list(map(str, args))
    run = subprocess.run(args, capture_output=True, text=True, check=False, **options)
    if run.returncode != 0:
        raise Failure(f"{' '.join(args)}: status {run.returncode}\n{run.stdout}{run.stderr}")
    return run.stdout


@contextlib.contextmanager
def step(text):
    """Says what is done now and how long after the start, and again while it goes on."""
    def say(what):
        print(f"dev: {int(time.time()) - STARTED} s: {what}", flush=True)

    def remind():
        while not done.wait(REPEAT):
            say(f"still {text}")

    done = threading.Event()
    reminder = threading.Thread(target=remind, daemon=True)
    say(text)
    reminder.start()
    try:
        yield
    finally:
        done.set()
        reminder.join()


class Server:
    """`unhex serve` as a child, with the admin key of its folder."""

    def __init__(self, unhex, data):
        self.data = Path(data)
        self.key_file = self.data / "store/admin-key"
        if (self.data / "admin.key").exists():  # of a folder that an earlier version began
            self.key_file = self.data / "admin.key"
        self.url = self.child = None
        for port in (8420, 0):
            if self._start(unhex, port):
                return
        log = (self.data / "serve.log").read_text(errors="replace")
        raise Failure(f"the server did not start; its log:\n{log}")

    def _start(self, unhex, port):
        self.data.mkdir(parents=True, exist_ok=True)
        with open(self.data / "serve.log", "ab") as log:
            # pylint: disable-next=consider-using-with
            self.child = subprocess.Popen(
                [unhex, "serve", "--listen", f"127.0.0.1:{port}", "--data", str(self.data / "store"),
                 "--keep-profiles", "7d",
                 *(("--set", f"speedscope={SPEEDSCOPE}") if SPEEDSCOPE.exists() else ())],
                stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        for line in self.child.stdout:
            if match := re.match(r"unhex: serving on (\S+)", line):
                self.url = match[1]
                return True
        self.child.wait()
        return False

    def symbolize(self, modules, return_addresses):
        """POST /v1/symbolize: {id: [address]} to {(id, address): frames}."""
        body = {"modules": [{"id": i, "addresses": a} for i, a in modules.items()],
                "return_addresses": return_addresses}
        request = urllib.request.Request(self.url + "/v1/symbolize",
                                         json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answered = json.load(answer)["modules"]
        return {(module["id"], address): frames
                for module in answered if module["status"] == "found"
                for address, frames in zip(modules[module["id"]], module["frames"])}

    def keep(self, profile):
        """POST /v1/profiles."""
        request = urllib.request.Request(
            f"{self.url}/v1/profiles?service={SERVICE}", profile.read_bytes(),
            {"Content-Type": "application/octet-stream",
             "Authorization": f"Bearer {self.key_file.read_text().split()[0]}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["profiles"][0]["id"]

    def folded(self, profile):
        """A kept profile as lines of folded stacks."""
        path = "/v1/profiles/merged?" + urllib.parse.urlencode({"id": profile, "format": "folded"})
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read().decode()

    def stop(self):
        """Lets it end by itself."""
        if self.child and self.child.poll() is None:
            self.child.terminate()
            self.child.wait(20)


class Process:
    """What sample.c saw of one run of a program."""

    def __init__(self, sampler, program):
        self.program = program
        self.maps = []
        self.stacks = []
        for line in command(sampler, STACKS, program, *INPUT).splitlines():
            kind, *words = line.split(" ", 3)
            if kind == "map":
                low, high = (int(w, 16) for w in words[0].split("-"))
                self.maps.append((low, high, int(words[1], 16), words[2]))
            else:
                self.stacks.append([int(w, 16) for w in " ".join(words).split()])

    def files(self):
        """The binaries that are mapped as code."""
        return sorted({path for _, _, _, path in self.maps})

    def place(self, address):
        """(path, pc as the file has it), or None."""
        for low, high, offset, path in self.maps:
            if low <= address < high:
                return path, pc_of(path, address - low + offset)
        return None


SEGMENTS = {}


def pc_of(path, offset):
    """The virtual address at which a file says that its byte at offset lies."""
    if path not in SEGMENTS:
        text = command("readelf", "-lW", path)
        SEGMENTS[path] = [tuple(int(n, 16) for n in m) for m in re.findall(
            r"^ +LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) ", text, re.M)]
    for start, pc, size in SEGMENTS[path]:
        if start <= offset < start + size:
            return pc + offset - start
    return offset


def compile_examples(folder):
    """The C++ and the Go program, as anybody would compile them for production."""
    folder.mkdir(parents=True, exist_ok=True)
    source = ROOT / "docs" / "examples"
    programs = [folder / "words-cxx", folder / "words-go"]
    if not up_to_date(programs[0], source / "words.cc"):
        with step("compiling words.cc"):
            command("g++", "-std=c++17", "-O2", "-g", "-fno-omit-frame-pointer",
                    source / "words.cc", "-o", programs[0])
    if not up_to_date(programs[1], source / "words.go"):
        cache = os.environ.get("GOCACHE") or str(folder.resolve() / "go-cache")
        with step("compiling words.go, and Go's library the first time"):
            command("go", "build", "-o", programs[1], source / "words.go",
                    env={**os.environ, "GOCACHE": cache, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
    return programs


def up_to_date(target, source):
    """True when target was made after source."""
    return target.exists() and target.stat().st_mtime >= source.stat().st_mtime


def readable(names):
    """Linkage names as people write them."""
    text = "".join(n + "\n" for n in names)
    return dict(zip(names, command("c++filt", "-p", input=text).splitlines()))


def ask(server, process, ids):
    """Every stack as a list of (path, frames); an address without symbols has no frames."""
    leaves, callers = collections.defaultdict(set), collections.defaultdict(set)
    placed = []
    for stack in process.stacks:
        places = [process.place(address) for address in stack]
        placed.append([p for p in places if p])
        for depth, place in enumerate(places):
            if place:
                (callers if depth else leaves)[ids[place[0]]].add(place[1])
    answers = [server.symbolize({i: sorted(a) for i, a in requested.items()}, returns)
               for requested, returns in ((leaves, False), (callers, True))]
    return [[(path, answers[depth > 0].get((ids[path], pc), []))
             for depth, (path, pc) in enumerate(places)] for places in placed]


def short(name):
    """A C++ name without its arguments and return type, so that it fits a line."""
    cut = name.replace("(anonymous namespace)", "{anonymous}").split(" [")[0]
    while "operator" not in cut and "(*" not in cut:
        less = re.sub(r"\((?:[^()<>]*)\)| ?<[^<>()]*>", "", cut)
        if less == cut:
            break
        cut = less
    cut = cut.removesuffix(" const")
    if "operator" not in cut:
        cut = cut.split(" ")[-1] or name
    return cut if len(cut) <= 50 else cut[:47] + "..."


def lines_of(stack, pretty):
    """One line a frame; recursion is folded."""
    lines = []
    for path, frames in stack:
        for frame in frames:
            mark = "~" if frame.get("inlined") else " "
            where = f"{frame['file']}:{frame['line']}" if frame.get("file") else "-"
            lines.append(f"    {mark} {short(pretty[frame['function']]):50} "
                         f"{Path(path).name.split('.so')[0]:10} {where}")
    folded = [[line, 0] for i, line in enumerate(lines) if i == 0 or lines[i - 1] != line]
    at = -1
    for i, line in enumerate(lines):
        at += i == 0 or lines[i - 1] != line
        folded[at][1] += 1
    return [line + (f"  ({n} times)" if n > 1 else "") for line, n in folded]


def show(process, stacks):
    """What was named, and of each binary the richest stack that ends there."""
    pretty = readable(sorted({f["function"] for s in stacks for _, frames in s for f in frames}))
    named = sum(bool(frames) for s in stacks for _, frames in s)
    print(f"\n{process.program.name}: {len(stacks)} stacks, "
          f"{named} of {sum(map(len, stacks))} addresses named")
    seen = set()

    def interest(stack):
        return sum(1 + bool(f.get("inlined")) for _, frames in stack for f in frames)

    for stack in sorted(stacks, key=interest, reverse=True):
        if stack and stack[0][1] and stack[0][0] not in seen:
            seen.add(stack[0][0])
            print("\n".join(lines_of(stack, pretty)) + "\n")


def resolved(stacks, path):
    """Frames of one binary that have function, file and line: (all of them, inlined ones)."""
    frames = [f for s in stacks for p, fs in s if Path(p) == Path(path) for f in fs
              if f["function"] and f.get("file") and f.get("line")]
    return len(frames), sum(bool(f.get("inlined")) for f in frames)


def push(unhex, server, files, *options):
    """`unhex push`, which prints its lines as they come, and on a terminal how far it is."""
    args = [unhex, "push", "--url", server.url, "--token-file", str(server.key_file), *options, *map(str, files)]
    with step(f"extracting and pushing the symbols of {len(files)} binaries"):
        run = subprocess.run(args, check=False)
    if run.returncode != 0:
        raise Failure(f"{' '.join(args)}: status {run.returncode}")


def demonstrate(unhex, build, server):
    """Sample, push, ask, show; Failure unless inlined frames were named everywhere."""
    programs = compile_examples(build / "demo")
    processes = []
    for program in programs:
        with step(f"running {program.name} and sampling {STACKS} stacks of it"):
            processes.append(Process(build / "tools" / "sample", program.resolve()))
    files = sorted({path for p in processes for path in p.files()})
    push(unhex, server, [f for f in files if f not in map(str, programs)])
    # With their code and sources, which the pages of frames then show.
    push(unhex, server, programs, "--with-debuginfo", "--sources")
    ids = {f: json.loads(command(unhex, "id", "--json", f))["ids"][0] for f in files}
    total = collections.Counter()
    libc = next(f for f in files if "/libc.so" in f)
    for process in processes:
        with step(f"asking the server for the frames of {process.program.name}"):
            stacks = ask(server, process, ids)
        show(process, stacks)
        for path in {libc, str(process.program)}:
            plain, inlined = resolved(stacks, path)
            total[path, "frames"] += plain
            total[path, "inlined frames"] += inlined
    print("~ inlined into the function on the next line\n")
    for (path, kind), count in sorted(total.items()):
        print(f"{Path(path).name}: {count} {kind} with function, file and line")
        if count == 0:
            raise Failure(f"no {kind} of {path} were named with file and line")
    keep_and_show(unhex, build, server, programs)


def python():
    """The interpreter, with where its debug file is: Debian's is stripped, and half of it has no name then."""
    with step("fetching the debug file of Python's interpreter"):
        run = subprocess.run([ROOT / "tools" / "python.sh"], capture_output=True, text=True, check=False, timeout=600)
    if run.returncode == 0:
        path = (ROOT / run.stdout.strip()).resolve()
        return path, ["--debug-dir", "/usr/lib/debug", "--debug-dir", str(path.parents[2] / "usr/lib/debug")]
    print(f"    not there, so that functions of it have no names: {run.stderr.strip().splitlines()[-1:]}")
    return Path("/usr/bin/python3"), []


def workload(programs, interpreter):
    """A shell's command that runs the programs beside each other until it is ended."""
    source = ROOT / "docs" / "examples"
    commands = [*([program.resolve()] for program in programs), [interpreter, source / "words.py"]]
    if node := shutil.which("node"):
        commands.append([node, "--perf-basic-prof", source / "words.js"])
    lines = [shlex.join(map(str, [*command, *INPUT])) + ' >/dev/null & all="$all $!"'
             for command in commands]
    return ["sh", "-c", "\n".join(["all=", "trap 'kill $all' TERM", *lines, "wait"])]


def record(unhex, build, server, programs):
    """A recording with names, or None where this machine permits none."""
    profile = build / "demo" / "words.pb.gz"
    interpreter, debug = python()
    if debug:
        push(unhex, server, [interpreter], *debug)
    args = [unhex, "record", "--duration", str(SECONDS), "--call-graph", "dwarf", *debug, "-o", str(profile), "--"]
    with step(f"recording {SECONDS} seconds of {'four' if shutil.which('node') else 'three'} programs"):
        run = subprocess.run([*args, *workload(programs, interpreter)], capture_output=True, text=True, check=False,
                             cwd=profile.parent)  # Node.js writes a log where it is
    print(re.sub("^", "    ", run.stderr, flags=re.M).rstrip())
    if run.returncode == 0:
        named = re.search(r"([\d.]+) % of samples named", run.stderr)
        if debug and (not named or float(named[1]) < NAMED_LEAST):
            raise Failure(f"unhex record: fewer than {NAMED_LEAST} % of the samples have names")
        return profile
    if "perf_event_paranoid" in run.stderr:
        return None
    raise Failure(f"unhex record: status {run.returncode}")


def keep_and_show(unhex, build, server, programs):
    """Records programs of four languages, keeps that, and says where to look."""
    profile = record(unhex, build, server, programs)
    if profile is None:
        return
    with step("handing the recording to the server, which keeps it for 7 days"):
        kept = server.keep(profile)
    stacks = server.folded(kept).splitlines()
    total = sum(int(line.rsplit(" ", 1)[1]) for line in stacks)
    print()
    for language, function in RECORDED.items():
        if language == "JavaScript" and not shutil.which("node"):
            continue
        hits = [line for line in stacks if re.search(rf"(^|;|\b){function}", line)]
        share = sum(int(line.rsplit(" ", 1)[1]) for line in hits) / (total or 1)
        names = collections.Counter(n for line in hits for n in re.findall(function, line))
        if not names:
            raise Failure(f"no frame of the {language} program is named in the recording")
        print(f"    {language:10} {share:6.1%} of the samples below {names.most_common(1)[0][0]}")
    print(f"""
The flame graph of these {SECONDS} seconds: {server.url}/profiles/{SERVICE}
(a frame of the C++, the Go and the Python program leads to its source lines or its code)

Your own programs, from another terminal (the key is in {server.key_file}):
    unhex push --url {server.url} --token-file {server.key_file} ./program
    unhex flame --url {server.url} -o flame.html -- ./program
    unhex symbolize cpu.pb.gz --url {server.url} -o named.pb.gz
    go tool pprof {server.url}/p/{kept}/pprof/profile
An OpenTelemetry profiler sends to {server.url}/v1development/profiles (docs/otlp.md).
""")


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--once", action="store_true", help="end instead of serving on")
    options = parser.parse_args()
    build = options.build.resolve()
    unhex = str(build / "cli" / "unhex")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    data = Path(tempfile.mkdtemp(prefix="unhex-")) if options.once else ROOT / ".cache" / "run"
    server = None
    try:
        with step("starting the server"):
            server = Server(unhex, data)
        print(f"server on {server.url}, data in {data}\n")
        demonstrate(unhex, build, server)
        if not options.once:
            print(f"\nserving on {server.url}, admin key in {server.key_file}; Ctrl-C ends it",
                  flush=True)
            server.child.wait()
        return 0
    except KeyboardInterrupt:
        return 0
    except (Failure, OSError, urllib.error.URLError, json.JSONDecodeError) as error:
        print(f"dev run: {error}", file=sys.stderr)
        return 1
    finally:
        if server:
            server.stop()
        if options.once:
            shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
