# SPDX-License-Identifier: Apache-2.0
"""What the README tells a newcomer to type works in a fresh clone."""
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", name="clone")
def fresh_clone(tmp_path_factory):
    """What is committed and what a commit would take along now, nothing that was built."""
    clone = tmp_path_factory.mktemp("clone") / "unhex"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes((ROOT / name).read_bytes())
            (clone / name).chmod((ROOT / name).stat().st_mode)
    return clone


def in_clone(clone, *args, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX")}
    return subprocess.run(args, cwd=clone, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, **more)


def test_the_readme_names_the_two_commands():
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks[0].strip() == "./dev run"
    assert blocks[1].strip() == "./dev test"


def test_dev_run_names_inlined_frames_of_real_processes(clone):
    run = in_clone(clone, "./dev", "run", "--once", timeout=600)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "__libc_start_call_main" in run.stdout
    assert re.search(r"words\.cc:\d+", run.stdout)
    assert re.search(r"words\.go:\d+", run.stdout)
    for program in ("words-cxx", "words-go", r"libc\.so\.6"):
        assert re.search(rf"^{program}: [1-9]\d* inlined frames", run.stdout, re.M)


def test_dev_run_leaves_nothing_but_ignored_files(clone):
    status = in_clone(clone, "git", "status", "--porcelain", "--ignored=no")
    before = in_clone(ROOT, "git", "status", "--porcelain", "--ignored=no")
    assert status.stdout == before.stdout


def test_dev_test_runs_a_check_and_ends_with_its_count(clone):
    run = in_clone(clone, "./dev", "test", "layers", "shell", timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1] == "2 passed, 0 failed"


def test_dev_test_ends_with_a_failure_when_a_check_fails(clone):
    bad = clone / "lib" / "base" / "upward.c"
    bad.write_text('#include "elf_file.h"\n')
    try:
        run = in_clone(clone, "./dev", "test", "layers", timeout=600)
    finally:
        bad.unlink()
    assert run.returncode == 1
    assert run.stdout.splitlines()[-1] == "0 passed, 1 failed"


def test_dev_test_refuses_a_check_that_there_is_not(clone):
    run = in_clone(clone, "./dev", "test", "nonsense", timeout=600)
    assert run.returncode == 2
    assert "no check is named nonsense" in run.stderr
