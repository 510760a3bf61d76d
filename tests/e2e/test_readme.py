# SPDX-License-Identifier: Apache-2.0
"""What the README tells a newcomer to type works in a fresh clone."""
import os
import pathlib
import re
import shutil
import socket
import subprocess

import pytest

from fresh_clone import fresh_clone, in_clone
from tool import ROOT, UNHEX


@pytest.fixture(scope="module", name="clone")
def clone_of_the_tree(tmp_path_factory):
    return fresh_clone(tmp_path_factory.mktemp("clone") / "unhex")


def test_the_readme_names_the_two_commands():
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks[0].strip() == "./dev run"
    assert blocks[1].strip() == "./dev test"


# the tutorial

README = (ROOT / "README.md").read_text()
SKIPPED = ("./dev run", "./dev test")  # above


def sections():
    """The blocks of commands below each heading, in order."""
    for below in README.split("\n## ")[1:]:
        title = below.split("\n")[0]
        blocks = [b.strip() for b in re.findall(r"```sh\n(.*?)```", below, re.S)]
        yield title, [b for b in blocks if b not in SKIPPED]


@pytest.fixture(scope="module", name="tour")
def the_blocks_run_as_one_script(tmp_path_factory):
    """All blocks in one shell, in a checkout with nothing but the command; the output below each heading."""
    home = tmp_path_factory.mktemp("newcomer")
    checkout = home / "unhex"
    subprocess.run(["git", "clone", "-q", ROOT, checkout], check=True)
    shutil.copy(ROOT / "README.md", checkout)
    (checkout / "build/cli").mkdir(parents=True)
    (checkout / "build/cli/unhex").symlink_to(pathlib.Path(UNHEX).resolve())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    script = "".join(f"echo '## {title}'\n" + "".join(b + "\n" for b in blocks) for title, blocks in sections())
    env = {k: v for k, v in os.environ.items() if not k.startswith(("UNHEX", "DEBUGINFOD", "XDG"))}
    env |= {"HOME": str(home), "LC_ALL": "C.UTF-8", "UNHEX_CONFIG": str(home / "serve.conf")}
    (home / "serve.conf").write_text(f"listen = {address}\n")
    run = subprocess.run(["bash", "-e", "-c", script.replace("127.0.0.1:8420", address)], env=env, cwd=checkout,
                         text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=300, check=False)
    assert run.returncode == 0, run.stdout
    run.checkout = checkout
    run.below = dict(part.split("\n", 1) for part in run.stdout.split("## ")[1:])
    return run


def shown_below(title):
    """The output that README.md shows below a heading."""
    below = README.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.search(r"```sh\n.*?```\n+```\n(.*?)```", below, re.S)[1]


def test_each_kind_of_block_is_known():
    kinds = re.findall(r"^```(\w*)\n.*?^```$", README, re.M | re.S)
    assert set(kinds) == {"", "sh", "console", "yaml"}
    assert kinds.count("console") <= 3  # what the script does not run


def test_the_flame_graph_has_the_functions_of_the_program(tour):
    assert "words::count" in (tour.checkout / "out/words.html").read_text()
    assert re.search(r"unhex: recorded \d+ samples", tour.below["Where does the time go?"])


# A program and the offset in it, which depends on the compiler; newer C libraries write a space after it.
CALLED = r"^(out/\w+)\(\+\w+\) ?"


def test_the_first_stack_is_the_one_that_is_shown(tour):
    lines = [re.sub(r"0x\w{6,}", "ADDRESS", line) for line in tour.below["Where did it crash?"].splitlines()]
    for line in shown_below("Where did it crash?").splitlines():
        line = re.sub(r"0x\w{6,}", "ADDRESS", line).replace("/home/you/unhex", str(tour.checkout))
        assert re.sub(CALLED, r"\1", line) in \
            [re.sub(CALLED, r"\1", found) for found in lines], (line, lines)


def test_the_first_key_is_the_users_alone(tour):
    key = tour.checkout / "out/ci.key"
    assert key.stat().st_mode & 0o777 == 0o600 and key.read_text().startswith("ux_")


def test_the_server_names_the_stripped_program(tour):
    output = tour.below["A server for your team"]
    assert "2 uploaded," in output
    assert re.search(r"^out/shipped\(.*\n    half at \S+crash\.c:18 \(inlined\)$", output, re.M), output
    assert "event=stopped" in (tour.checkout / "out/serve.log").read_text()


def test_the_step_of_ci(server, tmp_path):
    (step,) = re.findall(r"```yaml\n(.*?)```", README, re.S)
    command = re.search(r"^- run: (.*)$", step, re.M)[1]
    assert set(re.findall(r"^    (\w+):", step, re.M)) == {"UNHEX_URL", "UNHEX_TOKEN"}
    (tmp_path / "out").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/unhex").symlink_to(pathlib.Path(UNHEX).resolve())
    subprocess.run(["gcc", "-O2", "-g", "-o", tmp_path / "out/crash", ROOT / "docs/examples/crash.c"], check=True)

    def pushed(token):
        env = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "UNHEX_URL": server.url,
               "UNHEX_TOKEN": token, "GITHUB_SHA": "0123abcd"}
        return subprocess.run(["bash", "-e", "-c", command], env=env, cwd=tmp_path, capture_output=True, text=True,
                              check=False)

    made = server.unhex("key", "create", "--data", server.data)
    assert pushed(made.stdout.strip()).returncode == 0, made
    assert pushed("ux_none").returncode == 3


def test_the_release_build_is_one_that_there_is(clone):
    below = (ROOT / "docs/install.md").read_text().split("\n## From source\n")[1].split("\n## ")[0]
    commands = [line.split("#")[0].strip() for line in "".join(re.findall(r"```sh\n(.*?)```", below, re.S)).splitlines()]
    (setup,) = [c for c in commands if c.startswith("meson setup ")]
    (build,) = [c for c in commands if c.startswith("ninja ")]
    done = in_clone(clone, *setup.replace(" build ", " rel ").split(), timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert in_clone(clone, *build.replace(" build", " rel").split(), "-n", timeout=600).returncode == 0
    # what `meson install` installs is in test_man.py and others
