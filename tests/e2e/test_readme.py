# SPDX-License-Identifier: Apache-2.0
"""What the README tells a newcomer to type works in a fresh clone."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from tool import ROOT, UNHEX


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


# the tutorial

README = (ROOT / "README.md").read_text()


def section(title, language="sh"):
    """The blocks of commands below a heading."""
    below = README.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", below, re.S)


@pytest.fixture(scope="module", name="newcomer")
def somebody_with_unhex_installed(tmp_path_factory):
    """A home, a checkout and the server of the first section; runs blocks of the README there."""
    home = tmp_path_factory.mktemp("newcomer")
    (home / "bin").mkdir()
    (home / "bin/unhex").symlink_to(pathlib.Path(UNHEX).resolve())
    checkout = home / "unhex"
    shutil.copytree(ROOT / "docs/examples", checkout / "docs/examples")
    env = {"HOME": str(home), "PATH": f"{home}/bin:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    (serve,), (key,) = section("First server")[:1], section("First server")[1:]
    assert serve.strip() == "unhex serve"
    with subprocess.Popen(["unhex", "serve", "--listen", "127.0.0.1:0"], env=env, cwd=checkout, text=True,
                          executable=str(home / "bin/unhex"), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            lines = [server.stdout.readline(), server.stdout.readline()]
            assert "admin-key" in lines[0] and f"data={home}/.local/share/unhex" in lines[1]
            url = re.search(r"http://\S+", lines[1])[0]

            def run(block, **more):
                """A block, with the address that the server has here."""
                return subprocess.run(["bash", "-e", "-c",
                                       block.replace("http://127.0.0.1:8420", url)],
                                      env={**env, "UNHEX_URL": url, **more}, cwd=checkout, text=True,
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
            run.checkout, run.url = checkout, url
            made = run(key)
            assert made.returncode == 0, made
            yield run
        finally:
            server.terminate()


def test_the_first_key_is_the_users_alone(newcomer):
    key = newcomer.checkout / "ci.key"
    assert key.stat().st_mode & 0o777 == 0o600 and key.read_text().startswith("ux_")


def test_the_first_push_and_the_first_stack(newcomer):
    (push,) = section("First push, from CI")
    pushed = newcomer(push)
    assert pushed.returncode == 0 and "uploaded" in pushed.stdout, pushed
    (stack,) = section("First symbolized stack")
    found = newcomer(stack)
    assert found.returncode == 0, found
    shown = README.split("## First symbolized stack")[1].split("```\n0x")[1].split("```")[0]
    for line in ("0x" + shown).splitlines():
        where = re.search(r"(\(inlined by\) )?(\w+ at )\S+?(docs/examples/crash\.c:\d+)", line)
        want = (where[1] or "") + where[2] + str(newcomer.checkout / where[3])
        assert want in found.stdout or (where[1] or "") + where[2] + where[3] in found.stdout, \
            (line, found.stdout)
    assert '"status":"found"' in found.stdout.splitlines()[-1].replace(" ", "")


def test_the_step_of_ci(newcomer):
    (step,) = section("First push, from CI", "yaml")
    command = re.search(r"^- run: (.*)$", step, re.M)[1]
    assert set(re.findall(r"^    (\w+):", step, re.M)) == {"UNHEX_URL", "UNHEX_TOKEN"}
    token = (newcomer.checkout / "ci.key").read_text().strip()
    newcomer("mkdir -p out; gcc -O2 -g -o out/crash docs/examples/crash.c")
    pushed = newcomer(command, UNHEX_TOKEN=token, GITHUB_SHA="0123abcd")
    assert pushed.returncode == 0, pushed
    assert newcomer(command, UNHEX_TOKEN="ux_none").returncode == 3


def test_what_needs_no_server(newcomer):
    (block,) = section("Without a server")
    newcomer("gcc -O2 -g -o program docs/examples/crash.c")
    place = re.search(r"^0*(\w+) . main$", newcomer("nm program").stdout, re.M)[1]
    commands = [line.split("#")[0].strip() for line in block.strip().splitlines()]
    assert len(commands) == 5
    for command in commands:
        command = command.replace("0x1189", f"0x{place}").replace("1234", str(os.getpid()))
        run = newcomer(command)
        # An address of a process of another time is not in this one.
        assert run.returncode == (1 if "0x7f49340254c0" in command else 0), (command, run)


def test_the_release_build_is_one_that_there_is(clone):
    (block,) = section("Install")[:1]
    setup, build, install = block.strip().splitlines()
    done = in_clone(clone, *setup.split(), timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert in_clone(clone, *build.split(), "-n", timeout=600).returncode == 0
    assert install == "meson install -C rel"  # what it installs is in test_man.py and others
