# SPDX-License-Identifier: Apache-2.0
"""packaging/ci: each recipe builds a program and pushes its symbols"""
import os
import pathlib
import shutil
import subprocess

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


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_the_command_of_a_hosted_ci(server, run, name):
    document = yaml.safe_load((RECIPES / name).read_text())
    command = (document["jobs"]["build"]["steps"][-1]["run"] if "jobs" in document else document["symbols"]["script"][0])
    (run.folder / "build").mkdir()
    prog = compile_c(run.folder / "build")
    run("sh", "-c", command)
    assert is_there(server, build_id(prog))
