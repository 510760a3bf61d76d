#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `./dev run` shows: real programs are sampled, pushed and symbolized by a server, which then
keeps a recording of them and shows its flame graph.

The C++ and Python programs run everywhere; Go and JavaScript where they are installed. With --once it ends. The exit
status is 0 when the server named inlined frames of the programs compiled here, with files and lines; what a
distribution strips is reported and never a failure. 1: something failed; 130: Ctrl-C.
"""
import argparse
import collections
import contextlib
import ctypes
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
SECONDS = 5  # of the recording
SERVICE = "words"
# A viewer that the page of the service leads to, where tests or tools/speedscope.sh have fetched it.
SPEEDSCOPE = ROOT / ".peers/speedscope/node_modules/speedscope/dist/release"
# A function of each program, as its frame is named there. V8 puts a mark before a function that says how it was
# compiled; until Node.js 18 it was a word ("LazyCompile:*count").
RECORDED = {"C++": r"words::count", "Go": r"main\.count", "Python": r"_PyEval_EvalFrameDefault",
            "JavaScript": r"(?:JS|LazyCompile|Function):[*^~]?\w+"}
PR_SET_CHILD_SUBREAPER = 36  # <sys/prctl.h>
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
    """The C++ program, and the Go program where Go is installed, as anybody would compile them for production."""
    folder.mkdir(parents=True, exist_ok=True)
    source = ROOT / "docs" / "examples"
    programs = [folder / "words-cxx"]
    if not up_to_date(programs[0], source / "words.cc"):
        with step("compiling words.cc"):
            command("g++", "-std=c++17", "-O2", "-g", "-fno-omit-frame-pointer",
                    source / "words.cc", "-o", programs[0])
    if not shutil.which("go"):
        return programs
    programs.append(folder / "words-go")
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
    """Samples, pushes, asks and shows; Failure unless inlined frames of the compiled programs were named."""
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
    folded = collections.Counter()
    libc = next(f for f in files if "/libc.so" in f)
    for process in processes:
        with step(f"asking the server for the frames of {process.program.name}"):
            stacks = ask(server, process, ids)
        show(process, stacks)
        folded.update(folded_lines(process, stacks))
        for path in {libc, str(process.program)}:
            plain, inlined = resolved(stacks, path)
            total[path, "frames"] += plain
            total[path, "inlined frames"] += inlined
    print("~ inlined into the function on the next line\n")
    for (path, kind), count in sorted(total.items()):
        print(f"{Path(path).name}: {count} {kind} with function, file and line")
        if count == 0 and path != libc:  # we compiled it just now, with its symbols
            raise Failure(f"no {kind} of {path} were named with file and line")
    if not total[libc, "frames"]:
        print(f"    {libc} is stripped here; its debug file is in the package libc6-dbg")
    return programs, folded


def folded_lines(process, stacks):
    """The stacks of one program as lines of folded text, outermost function first."""
    for stack in stacks:
        names = [f["function"] for _, frames in stack for f in frames]
        if names:
            yield ";".join([process.program.name, *(n.replace(";", ",") for n in reversed(names))])


def workload(programs):
    """The programs to record: what each is written in, and its command."""
    source = ROOT / "docs" / "examples"
    found = [("C++", programs[0].resolve())]
    if len(programs) > 1:
        found.append(("Go", programs[1].resolve()))
    commands = [(language, [program]) for language, program in found]
    commands.append(("Python", ["/usr/bin/python3", source / "words.py"]))
    if node := shutil.which("node"):
        commands.append(("JavaScript", [node, "--perf-basic-prof", source / "words.js"]))
    return [(language, [*args, *INPUT]) for language, args in commands]


def as_shell(commands):
    """One command that runs all of them beside each other until it is ended."""
    lines = [shlex.join(map(str, args)) + ' >/dev/null & all="$all $!"' for _, args in commands]
    return ["sh", "-c", "\n".join(["all=", "trap 'kill $all' TERM", *lines, "wait"])]


def record(unhex, build, commands):
    """A recording with names, or None where this machine permits none."""
    profile = build / "demo" / "words.pb.gz"
    args = [unhex, "record", "--duration", str(SECONDS), "--call-graph", "dwarf", "-o", str(profile), "--"]
    languages = ", ".join(language for language, _ in commands)
    with step(f"recording {SECONDS} seconds of {len(commands)} programs ({languages})"):
        run = subprocess.run([*args, *as_shell(commands)], capture_output=True, text=True, check=False,
                             cwd=profile.parent)  # Node.js writes a log where it is
    for log in profile.parent.glob("isolate-*-v8.log"):
        log.unlink()
    print(re.sub("^", "    ", run.stderr, flags=re.M).rstrip())
    return profile if run.returncode == 0 else None


def keep(unhex, server, profile, commands):
    """Has the server keep the recording, and says which programs it has named; its number in the server."""
    with step("handing the recording to the server, which keeps it for 7 days"):
        kept = server.keep(profile)
    stacks = server.folded(kept).splitlines()
    total = sum(int(line.rsplit(" ", 1)[1]) for line in stacks)
    print()
    for language, _ in commands:
        hits = [line for line in stacks if re.search(rf"(^|;|\b){RECORDED[language]}", line)]
        share = sum(int(line.rsplit(" ", 1)[1]) for line in hits) / (total or 1)
        names = collections.Counter(n for line in hits for n in re.findall(RECORDED[language], line))
        if names:
            print(f"    {language:10} {share:6.1%} of the samples below {names.most_common(1)[0][0]}")
        else:
            print(f"    {language:10} has no named function in this recording (its interpreter may be stripped)")
    print()
    subprocess.run([unhex, "top", "--rows", "10", "--demangle", "templates-elided", profile], check=False, stderr=subprocess.DEVNULL)
    return kept


def graphs(unhex, build, profile):
    """The flame graph as a page and as text, in files that stay."""
    files = [build / "demo" / "flame.html", build / "demo" / "flame.folded"]
    with step("writing the flame graph"):
        for file in files:
            command(unhex, "flame", profile, "-o", file)
    return files


def farewell(unhex, server, files, kept, once):
    """What there is to look at now, and the commands for the reader's own programs."""
    page, text = (os.path.relpath(file) for file in files)
    unhex = os.path.relpath(unhex)
    print(f"""
The flame graph of these programs: {page}
The same as text, a stack a line:  {text}""")
    if not once:
        print(f"""On the server:                     {server.url}{'/profiles/' + SERVICE if kept else '/'}""")
    print(f"""
Your own program, without a server:
    {unhex} flame -o flame.html -- ./program    a flame graph of what it does
    {unhex} symbolize core                      the stacks of its core dump""")
    if not once:
        print(f"""
With this server, from another terminal (the key is in {os.path.relpath(server.key_file)}):
    {unhex} push --url {server.url} --token-file {os.path.relpath(server.key_file)} ./program
    {unhex} symbolize cpu.pb.gz --url {server.url} -o named.pb.gz
An OpenTelemetry profiler sends to {server.url}/v1development/profiles (docs/otlp.md).

Serving on {server.url}; Ctrl-C ends it.""", flush=True)


def run(unhex, build, data, once):
    """The whole show; serves on afterwards unless it is to end."""
    with step("starting the server"):
        server = Server(unhex, data)
    try:
        if not once:
            print(f"server on {server.url}\n")
        programs, folded = demonstrate(unhex, build, server)
        commands = workload(programs)
        profile, kept = record(unhex, build, commands), None
        if profile:
            kept = keep(unhex, server, profile, commands)
        else:  # the sampled stacks are there
            print("    so the flame graph has the sampled stacks of the compiled programs alone")
            profile = build / "demo" / "sampled.folded"
            profile.write_text("".join(f"{stack} {n}\n" for stack, n in sorted(folded.items())))
        farewell(unhex, server, graphs(unhex, build, profile), kept, once)
        if not once:
            server.child.wait()
    finally:
        server.stop()


def end_children():
    """Ends everything that still runs below this process, which adopts what its children leave behind."""
    while True:
        children = Path("/proc/thread-self/children").read_text(encoding="ascii").split()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def adopt_orphans():
    """A process that loses its parent becomes a child of this one, so that end_children() sees it."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--data", type=Path, default=ROOT / ".cache" / "run", help="what the server keeps without --once")
    parser.add_argument("--once", action="store_true", help="end instead of serving on")
    options = parser.parse_args()
    build = options.build.resolve()
    adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
    data = Path(tempfile.mkdtemp(prefix="unhex-")) if options.once else options.data
    try:
        run(str(build / "cli" / "unhex"), build, data, options.once)
        return 0
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (Failure, OSError, urllib.error.URLError, json.JSONDecodeError) as error:
        print(f"dev run: {error}", file=sys.stderr)
        return 1
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # once is enough
        end_children()
        if options.once:
            shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
