# SPDX-License-Identifier: Apache-2.0
"""Perf maps that are not in /tmp, and interpreted code that has an address of its own."""
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

from jit_plain import in_map, read_map
from live import ask, compile_target, function, mapping_of, maps, running
from waiting import wait_for


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(prefix="unhex-jit-places-") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@pytest.fixture(scope="module")
def target(folder):
    return compile_target(folder)


@pytest.mark.parametrize("variable", ["DOTNET_PerfMapJitDumpPath", "COMPlus_PerfMapJitDumpPath"])
def test_a_map_where_dotnet_is_configured_to_write_it(target, folder, variable):
    place = folder / variable
    place.mkdir()
    with running(target, env={**os.environ, variable: f"{place}/"}) as live:
        path = place / f"perf-{live.pid}.map"
        path.write_text(f"{live['code']:016X} 40 void [Asm] Ns.Type::Method(int32)[Tier0]\n")
        answer, = live.ask(live["code"] + 4)
        assert (answer["kind"], answer["module"]) == ("jit", str(path))
        assert function(answer) == "void [Asm] Ns.Type::Method(int32)[Tier0]"
        path.rename(place / "perf-1.map")
        answer, = live.ask(live["code"] + 4)
        assert answer["frames"] == []


def test_a_folder_that_is_named_is_one_of_the_programs(target, folder):
    """The path is one below the root of the process, and links do not lead out of there."""
    outside = folder / "outside"
    inside = folder / "root/maps"
    inside.mkdir(parents=True)
    outside.mkdir()
    script = (f"mount -t tmpfs none {inside} && echo ok >{inside}/mark && exec {target}")
    command = ["unshare", *([] if os.geteuid() == 0 else ["-Ur"]), "-m", "sh", "-c", script]
    with running(*command, env={**os.environ, "DOTNET_PerfMapJitDumpPath": str(inside)}) as live:
        (inside / f"perf-{live.pid}.map").write_text(f"{live['code']:x} 40 of another mount\n")
        answer, = live.ask(live["code"])
        assert answer["frames"] == []
        there = pathlib.Path(f"/proc/{live.pid}/root{inside}/perf-{live.pid}.map")
        there.write_text(f"{live['code']:x} 40 of its own\n")
        answer, = live.ask(live["code"])
        assert function(answer) == "of its own"


@contextlib.contextmanager
def node(*arguments):
    process = subprocess.Popen(["node", *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                               cwd=pathlib.Path(arguments[-1]).parent)  # where it leaves its log
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        pathlib.Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)


INTERPRETED = """
function once(a) { return a + 1; }
function twice(a) { return once(a) + once(a); }
class Box { constructor(v) { this.v = v; } get doubled() { return twice(this.v); } }
console.log(new Box(4).doubled > 0 ? 'ready' : 'wrong');
setInterval(() => {}, 1e6);
"""


OWN = re.compile(r"(JS:~|Function:~|LazyCompile:~)(once|twice|get doubled|Box)? ")


def test_interpreted_functions_of_node_with_frames_of_their_own(folder):
    """With this option V8 copies the interpreter's entry for each function, so that the copy's address
    on a stack is the function's; without it they are all the interpreter's."""
    script = folder / "interpreted.js"
    script.write_text(INTERPRETED)
    with node("--perf-basic-prof", "--interpreted-frames-native-stack", script) as process:
        path = f"/tmp/perf-{process.pid}.map"

        def rested():
            """What there is to ask and the answers, of a map that did not change meanwhile."""
            entries, all_maps = read_map(path), maps(process.pid)
            own = [e for e in entries if OWN.match(e[2]) and str(script) in e[2] and
                   "x" in (mapping_of(all_maps, e[0]) or ("", "", ""))[2]]
            answers = ask(process.pid, [e[0] + at for e in own for at in (0, e[1] - 1)])
            return len(own) >= 3 and read_map(path) == entries and (own, entries, answers)

        own, entries, answers = wait_for(rested)
    assert len(own) >= 3
    for answer in answers:
        frame, = answer["frames"]
        name = in_map(entries, int(answer["address"], 16))
        assert (answer["kind"], answer["module"]) == ("jit", path)
        assert name.startswith(f"{frame['function']} {script}:{frame['line']}:")
        assert frame["file"] == str(script)
