# SPDX-License-Identifier: Apache-2.0
"""`./dev`, the door of the tree: what it says, what it shows, and that it cleans up. tools/newcomer.sh runs it whole."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from fresh_clone import fresh_clone, in_clone
from tool import ROOT, UNHEX
from waiting import pause_for, wait_for

BUILD = pathlib.Path(UNHEX).resolve().parents[1]
VERBS = re.findall(r"^  ([a-z]+)\b", subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True,
                                                    check=True).stdout, re.M)


@pytest.fixture(scope="module", name="clone")
def clone_of_the_tree(tmp_path_factory):
    return fresh_clone(tmp_path_factory.mktemp("clone") / "unhex")


# words that cost nothing

@pytest.fixture(name="touched")
def programs_that_tell(tmp_path):
    """A folder for PATH whose programs write down that somebody ran them, and that file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("apt-get", "apt-cache", "sudo", "meson", "ninja", "npm", "debootstrap"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} >>{tmp_path}/ran\nexit 1\n")
        (folder / name).chmod(0o755)
    return folder, tmp_path / "ran"


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_comes_without_installing_anything(verb, touched, clone):
    path, ran = touched
    shown = in_clone(clone, "./dev", verb, "--help", path=path, timeout=20)
    assert shown.returncode == 0 and shown.stdout.startswith(f"  {verb}"), shown
    assert not ran.exists(), ran.read_text()


@pytest.mark.parametrize("words", [["run", "--onec"], ["run", "once"], ["test", "nonsense"], ["test", "--al"],
                                   ["test", "unit", "e2"], ["format", "--chek"], ["corpus", "all"], ["lint", "x"],
                                   ["malformed", "5s"], ["peers", "--refrsh"], ["nonsense"]])
def test_a_misspelt_word_is_said_before_anything_is_installed(words, touched, clone):
    path, ran = touched
    shown = in_clone(clone, "./dev", *words, path=path, timeout=20)
    assert shown.returncode == 2 and shown.stderr, shown
    assert not ran.exists(), ran.read_text()


# checks

def test_checks_end_with_their_count(clone):
    run = in_clone(clone, "./dev", "test", "layers", timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1] == "1 passed, 0 failed"


def test_a_failed_check_fails_the_run(clone):
    bad = clone / "lib" / "base" / "upward.c"
    bad.write_text('#include "elf_file.h"\n')
    try:
        run = in_clone(clone, "./dev", "test", "layers", timeout=600)
    finally:
        bad.unlink()
    assert run.returncode == 1
    assert run.stdout.splitlines()[-1] == "0 passed, 1 failed"


def tally(tmp_path, cases, **environment):
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    run = subprocess.run(["/usr/bin/python3", "-B", ROOT / "tools/tally.py", "junit", report, "0"], text=True,
                         capture_output=True, check=True, env={**os.environ, "UNHEX_TESTS": "all", **environment})
    return run.stdout.split()


SKIPPED = '<testcase classname="a" name="b"/><testcase classname="a" name="c"><skipped message="only root"/></testcase>'


def test_a_skipped_test_counts_as_failed_where_everything_can_be_had(tmp_path):
    assert tally(tmp_path, SKIPPED) == ["1", "1", "0"]


def test_a_skipped_test_is_counted_as_such_on_any_other_machine(tmp_path):
    assert tally(tmp_path, SKIPPED, UNHEX_TESTS="bare") == ["1", "0", "1"]


UNSTEADY_MESON = """#!/usr/bin/python3
import json, os, sys
if sys.argv[1] == "setup":
    os.makedirs(sys.argv[2] + "/meson-logs")
    open(sys.argv[2] + "/build.ninja", "w").close()
    sys.exit(0)
folder, log = (sys.argv[sys.argv.index(option) + 1] for option in ("-C", "--logbase"))
again = log.endswith("-again")
with open(f"{folder}/meson-logs/{log}.json", "w") as file:
    json.dump({"name": "unhex:unit / unsteady", "result": "OK" if again else "FAIL"}, file)
sys.exit(not again)
"""


@pytest.fixture(name="unsteady")
def run_of_a_program_that_passes_only_when_repeated(clone, tmp_path):
    """A call that runs the check of unit tests; the programs that build and test are ours."""
    for name, text in (("meson", UNSTEADY_MESON), ("ninja", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    repeated = clone / "tests/repeated.txt"
    before = repeated.read_text()
    yield lambda text: repeated.write_text(text) and in_clone(clone, "tools/checks.sh", "unit", path=tmp_path)
    repeated.write_text(before)
    shutil.rmtree(clone / "build")


def test_a_test_that_passes_only_when_repeated_is_named(unsteady):
    run = unsteady("# none\n")
    assert run.returncode == 0, run
    assert run.stdout.splitlines()[-5:] == [
        "== 1 passed only when repeated alone:", "   unit: unsteady",
        "== new among them, to be mended or added to tests/repeated.txt:", "   unit: unsteady", "1 passed, 0 failed"]


def test_a_known_one_is_named_and_counted(unsteady):
    run = unsteady("# one\nunsteady # waits for a time\n")
    assert run.returncode == 0, run
    assert run.stdout.splitlines()[-3:] == ["== 1 passed only when repeated alone:", "   unit: unsteady", "1 passed, 0 failed"]


# the show

def test_the_pages_of_the_tests_left_out_name_only_tests_that_exist():
    from beyond import BEYOND
    from turns import LONG
    for entry in BEYOND.union(LONG):
        file, _, function = entry.partition("::")
        text = (ROOT / "tests/e2e" / file).read_text() if (ROOT / "tests/e2e" / file).exists() else \
            (ROOT / "tests/attack" / file).read_text()
        assert not function or re.search(rf"^def {function}\(", text, re.M), entry


@pytest.fixture(name="stage")
def folder_with_the_build(tmp_path):
    """A build folder of our own, whose command and sampler are those under test."""
    build = tmp_path / "build"
    build.mkdir()
    for part in ("cli", "tools"):
        (build / part).symlink_to(BUILD / part)
    return build


def show(build, *options, path=None):
    """The show as a process group of its own, and where it writes."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX")}
    env.update(PATH=f"{path}:{env['PATH']}" if path else env["PATH"], UNHEX_STAGE=str(build), TMPDIR=str(build))
    # pylint: disable-next=consider-using-with
    return subprocess.Popen(["/usr/bin/python3", "-uB", ROOT / "tools/demo.py", "--build", build, *options], env=env,
                            cwd=build.parent, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            stderr=subprocess.STDOUT, start_new_session=True)


def on_stage(build):
    """Processes of the show that run: each has inherited its environment."""
    mark, found = f"UNHEX_STAGE={build}".encode(), []
    for process in pathlib.Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process.name, (process / "cmdline").read_bytes()))
            except OSError:
                pass
    return found


def test_the_show_names_real_programs_and_leaves_a_flame_graph(stage):
    process = show(stage, "--once")
    shown = process.communicate(timeout=240)[0]
    assert process.returncode == 0, shown[-3000:]
    assert "__libc_start_call_main" in shown and re.search(r"words\.cc:\d+", shown)
    assert re.search(r"^words-cxx: [1-9]\d* inlined frames", shown, re.M)
    steps = [int(seconds) for seconds in re.findall(r"^dev: (\d+) s: ", shown, re.M)]
    assert steps == sorted(steps) and len(steps) >= 6
    # What it leaves is there; what it took down is not named.
    assert not re.search(r"http://(?!deb\.debian\.org/)", shown) and "admin-key" not in shown
    page = re.search(r"^The flame graph of these programs: (\S+)$", shown, re.M)[1]
    text = re.search(r"^The same as text, a stack a line: +(\S+)$", shown, re.M)[1]
    assert "words::count" in (stage.parent / page).read_text()
    assert re.search(r"^.*words::count.* \d+$", (stage.parent / text).read_text(), re.M)
    for command in re.findall(r"^    (\S+) (?:flame -o|symbolize core)", shown, re.M):
        assert os.access(stage.parent / command, os.X_OK), command
    assert on_stage(stage) == []
    assert not list(stage.glob("unhex-*"))


def test_a_stripped_interpreter_is_reported_and_no_failure(stage, tmp_path):
    """Debian's Node.js has its code in a stripped library."""
    (tmp_path / "node.c").write_text("int main(void) { for (volatile long i = 0;; i++) { } }\n")
    subprocess.run(["gcc", "-s", "-O2", "-fno-asynchronous-unwind-tables", "-o", tmp_path / "node", tmp_path / "node.c"],
                   check=True)
    process = show(stage, "--once", path=tmp_path)
    shown = process.communicate(timeout=240)[0]
    assert process.returncode == 0, shown[-3000:]
    if "of samples named" in shown:  # recordings are permitted
        assert re.search(r"^ +JavaScript +has no named function", shown, re.M), shown[-3000:]
        assert re.search(rf"{tmp_path}/node .*", shown), shown[-3000:]


@pytest.mark.parametrize("moment", ["sampling", "recording"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_everything_that_the_show_started(stage, moment, number):
    with show(stage, "--once") as process:
        for line in process.stdout:
            if moment in line:
                break
        else:
            pytest.fail(f"the show ended before {moment}")
        pause_for(0.3, "the signal comes in the middle of the step")
        os.kill(process.pid, number)
        process.stdout.read()
        assert process.wait(20) == 128 + number
    wait_for(lambda: on_stage(stage) == [])
    assert not list(stage.glob("unhex-*"))


def test_the_show_stays_until_it_is_ended(stage):
    with show(stage, "--data", str(stage / "data")) as process:
        shown = ""
        for line in process.stdout:
            shown += line
            if line.startswith("Serving on"):
                break
        os.kill(process.pid, signal.SIGINT)
        process.stdout.read()
        assert process.wait(20) == 130
    assert (stage.parent / re.search(r"the key is in (\S+)\)", shown)[1]).exists()
    assert "symbolize core" in shown and "/profiles/words" in shown
    wait_for(lambda: on_stage(stage) == [])
