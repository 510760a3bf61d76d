# SPDX-License-Identifier: Apache-2.0
"""packaging/ci: each recipe builds a program and pushes its symbols"""
import functools
import hashlib
import http.server
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tarfile
import threading

import pytest
import yaml

from tool import ROOT, UNHEX, build_id, compile_c

RECIPES = ROOT / "packaging/ci"
C = "int outer(int n) { return n * 3; } int main(int n, char **v) { return outer(n) > 100 && v; }\n"


@pytest.fixture
def run(server, tmp_path):
    """Runs commands in a folder of their own, with the command under test in PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/unhex").symlink_to(pathlib.Path(UNHEX).resolve())
    env = {**os.environ, **server.env, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    (tmp_path / "work").mkdir()

    def in_folder(*command, **more):
        result = subprocess.run(command, cwd=tmp_path / "work", env={**env, **more}, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout
    in_folder.folder = tmp_path / "work"
    return in_folder


def is_there(server, ident):
    return server.get(f"/v1/modules/{ident}")[0] == 200


def test_make(server, run):
    compile_c(run.folder)
    ident = build_id(run.folder / "prog")
    shutil.copy(RECIPES / "Makefile", run.folder)
    assert "uploaded" in run("make", "symbols") and is_there(server, ident)
    assert "stripped" in subprocess.run(["file", run.folder / "prog"], capture_output=True, text=True).stdout.split(", ")[-1]


@pytest.mark.parametrize("name,setup,push", [
    ("CMakeLists.txt", ("cmake", "-B", "build", "."), ("cmake", "--build", "build", "--target", "symbols")),
    ("meson.build", ("meson", "setup", "build"), ("meson", "compile", "-C", "build", "symbols")),
], ids=["cmake", "meson"])
def test_build_systems(server, run, name, setup, push):
    shutil.copy(RECIPES / name, run.folder)
    (run.folder / "prog.c").write_text(C)
    run(*setup)
    assert "uploaded" in run(*push)
    assert is_there(server, build_id(run.folder / "build/prog"))


def test_cargo(server, run):
    (run.folder / "src").mkdir()
    (run.folder / "src/main.rs").write_text("fn main() { println!(\"x\"); }\n")
    (run.folder / "Cargo.toml").write_text("[package]\nname = \"prog\"\nversion = \"1.0.0\"\nedition = \"2021\"\n")
    run(RECIPES / "cargo.sh")
    assert is_there(server, build_id(run.folder / "target/release/prog"))


def go_programs(folder):
    """Two programs of one commit."""
    (folder / "go.mod").write_text("module programs\n\ngo 1.19\n")
    for name in ("one", "two"):
        (folder / "cmd" / name).mkdir(parents=True)
        (folder / "cmd" / name / "main.go").write_text(
            f"package main\n\n//go:noinline\nfunc {name}() {{ println(\"{name}\") }}\n\nfunc main() {{ {name}() }}\n")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "x"]):
        subprocess.run(["git", "-C", folder, *command], check=True)


def test_go_programs_of_one_commit_have_different_ids(server, run):
    go_programs(run.folder)
    env = {"GOFLAGS": "-mod=mod", "GOCACHE": str(run.folder / "cache")}
    printed = run(RECIPES / "go.sh", "./cmd/one", "./cmd/two", **env)
    assert printed.count("uploaded") == 4, printed  # a line a program, and a summary each
    ids = {name: build_id(run.folder / name) for name in ("one", "two")}
    assert len(set(ids.values())) == 2
    for name, ident in ids.items():
        assert is_there(server, ident)
        assert not (run.folder / f"{name}.debug").exists()
        frames = run("unhex", "lookup", ident, f"main.{name}+0")
        assert f"main.{name}" in frames and "main.go" in frames
    run(RECIPES / "go.sh", "./cmd/two", **env)  # the same program again: the same ID
    assert build_id(run.folder / "two") == ids["two"]


def test_go_without_arguments_builds_the_program_of_the_folder(server, run):
    go_programs(run.folder)
    (run.folder / "go.sh").symlink_to(RECIPES / "go.sh")
    run("sh", "-c", "cd cmd/one && ../../go.sh", GOFLAGS="-mod=mod", GOCACHE=str(run.folder / "cache"))
    assert is_there(server, build_id(run.folder / "cmd/one/one"))


VERSION = "9.8.7"


@pytest.fixture
def release(tmp_path):
    """A server of files that has a release in the form of tools/release.sh, with the command under test in it."""
    name = f"unhex-{VERSION}-linux-{platform.machine()}"
    folder = tmp_path / "releases"
    (folder / VERSION).mkdir(parents=True)
    archive = folder / VERSION / f"{name}.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as out:
        out.add(pathlib.Path(UNHEX).resolve(), f"{name}/bin/unhex")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        yield {"url": f"http://127.0.0.1:{files.server_address[1]}/", "version": VERSION,
               "sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}
        files.shutdown()


@pytest.fixture
def job(server, tmp_path):
    """Runs the lines of a job as a hosted CI does, in a machine without unhex in PATH; returns the exit status."""
    (tmp_path / "job/build").mkdir(parents=True)
    (tmp_path / "temp").mkdir()
    paths = tmp_path / "paths"
    paths.write_text("")

    def run_line(line, **more):
        path = ":".join([*paths.read_text().split(), os.environ["PATH"]])
        return subprocess.run(["sh", "-ec", line], cwd=tmp_path / "job", capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": path, "GITHUB_PATH": str(paths),
                                   "RUNNER_TEMP": str(tmp_path / "temp"), "CI_PROJECT_DIR": str(tmp_path / "job"),
                                   "GITHUB_ACTION_PATH": str(RECIPES / "action"), **more})
    run_line.folder = tmp_path / "job"
    run_line.server = server
    return run_line


def filled(text, values):
    """Replaces the ${{ inputs.NAME }} of an action."""
    return re.sub(r"\${{ inputs\.(\w+) }}", lambda found: values[found[1]], text)


def run_action(job, given):
    """The steps of the composite action; the last result."""
    action = yaml.safe_load((RECIPES / "action/action.yml").read_text())
    values = {name: given.get(name, described.get("default")) for name, described in action["inputs"].items()}
    assert None not in values.values() and given.keys() <= action["inputs"].keys()
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]  # an input in a script's text would be a command
        result = job(step["run"], **{name: filled(text, values) for name, text in step["env"].items()})
        if result.returncode != 0:
            break
    return result


def recipe_inputs(job, release):
    """What the recipe hands to the action, with the variables of the repository filled in."""
    steps = yaml.safe_load((RECIPES / "github-actions.yml").read_text())["jobs"]["build"]["steps"]
    given = {**steps[-1]["with"], **release}
    assert {name for name, text in given.items() if "${{" in text} == {"server", "token"}
    return {**given, "server": job.server.env["UNHEX_URL"], "token": job.server.env["UNHEX_TOKEN"]}


def run_gitlab(job, release):
    shutil.copytree(RECIPES, job.folder / "ci")
    for line in yaml.safe_load((RECIPES / "gitlab-ci.yml").read_text())["symbols"]["script"]:
        result = job(line, UNHEX_RELEASES=release["url"], UNHEX_VERSION=release["version"],
                     UNHEX_SHA256=release["sha256"], **job.server.env)
        if result.returncode != 0:
            break
    return result


def run_hosted(name, job, release):
    return run_action(job, recipe_inputs(job, release)) if name == "github" else run_gitlab(job, release)


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_a_hosted_ci_installs_a_release_and_pushes(job, release, name):
    prog = compile_c(job.folder / "build")
    result = run_hosted(name, job, release)
    assert result.returncode == 0, result.stdout + result.stderr
    assert is_there(job.server, build_id(prog))


@pytest.mark.parametrize("name", ["github", "gitlab"])
@pytest.mark.parametrize("changed,words", [
    ({"sha256": "0" * 64}, "it was not installed"),
    ({"sha256": "latest"}, "not a SHA-256"),
    ({"version": "9.8.6"}, "cannot download"),
], ids=["hash", "no-hash", "version"])
def test_a_hosted_ci_refuses_another_release(job, release, name, changed, words):
    prog = compile_c(job.folder / "build")
    result = run_hosted(name, job, {**release, **changed})
    assert result.returncode != 0 and words in result.stderr
    assert not list(job.folder.parent.glob("**/unhex/unhex")) and not (job.folder / ".unhex").exists()
    assert not is_there(job.server, build_id(prog))


def test_inputs_of_the_action_are_not_commands(job, release):
    result = run_action(job, {**recipe_inputs(job, release), "paths": "$(touch broken) `touch broken`; touch broken"})
    assert result.returncode != 0 and not (job.folder / "broken").exists()
