# SPDX-License-Identifier: Apache-2.0
"""Where a push comes from: the git revision of its files and the CI run, on the module's page and in the search"""
import subprocess
import urllib.parse
import urllib.request

import pytest

from tool import build_id, compile_c, lines

CI = {name: "" for name in ("GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CIRCLECI", "JENKINS_URL")}


@pytest.fixture
def repository(tmp_path):
    """A program in a folder of a git repository"""
    top = tmp_path / "repository"
    top.mkdir()

    def git(*args):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=trunk", *args],
                              cwd=top, check=True, capture_output=True, text=True).stdout.strip()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("remote", "add", "origin", "https://user:secret@git.example.com/team/app.git")
    (top / "build").mkdir()
    return compile_c(top / "build"), git


def described(server, prog, *args, env=None):
    """The description that the server has of the newest candidate."""
    result = server.unhex("push", "--json", *args, prog, env={**CI, **(env or {})})
    assert result.returncode == 0, result.stdout
    return server.get(f"/v1/modules/{build_id(prog)}")[1]["candidates"][0]["description"]


def test_the_revision_of_the_files_is_kept(server, repository):
    prog, git = repository
    want = f"git {git('rev-parse', 'HEAD')} (trunk) of https://git.example.com/team/app.git"
    assert described(server, prog) == want
    page = urllib.request.urlopen(f"{server.url}/modules/{build_id(prog)}").read().decode()
    assert want in page and "secret" not in page
    for text in (git("rev-parse", "HEAD"), git("rev-parse", "HEAD")[:12], "TEAM/app"):
        found = urllib.request.urlopen(f"{server.url}/search?" + urllib.parse.urlencode({"q": text})).read().decode()
        assert build_id(prog).removeprefix("gnu:") in found, text


@pytest.mark.parametrize("form", ["packed", "detached", "worktree", "branch"])
def test_every_form_of_a_repository_is_read(server, repository, tmp_path, form):
    prog, git = repository
    revision = git("rev-parse", "HEAD")
    if form == "packed":
        git("pack-refs", "--all")
    elif form == "detached":
        git("checkout", "-q", "--detach")
    elif form == "branch":
        git("checkout", "-q", "-b", "feature/x")
    else:
        git("worktree", "add", "-q", "-b", "other", tmp_path / "tree")
        prog = compile_c(tmp_path / "tree")
    branch = {"packed": " (trunk)", "detached": "", "worktree": " (other)", "branch": " (feature/x)"}[form]
    assert described(server, prog).startswith(f"git {revision}{branch} of ")


def test_a_description_stands_in_front_and_no_git_leaves_the_rest_out(server, repository):
    prog, git = repository
    assert described(server, prog, "--description", "release 1.4").startswith("release 1.4; git ")
    assert described(server, prog, "--description", "plain", "--no-git") == "plain"


def test_what_is_there_is_not_described_again_for_its_revision(server, repository):
    prog, git = repository
    first = described(server, prog)
    git("commit", "-q", "--allow-empty", "-m", "second")
    assert lines(server.unhex("push", "--json", prog, env=CI))[0]["status"] == "already-there"
    assert described(server, prog) == first


@pytest.mark.parametrize("env,want", [
    ({"GITHUB_ACTIONS": "true", "GITHUB_SHA": "1" * 40, "GITHUB_SERVER_URL": "https://github.com",
      "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7"}, f"git {'1' * 40}; CI https://github.com/o/r/actions/runs/7"),
    ({"GITLAB_CI": "true", "CI_COMMIT_SHA": "2" * 40, "CI_JOB_URL": "https://gitlab.example.com/o/r/-/jobs/9"},
     f"git {'2' * 40}; CI https://gitlab.example.com/o/r/-/jobs/9"),
    ({"JENKINS_URL": "x", "GIT_COMMIT": "not a revision", "BUILD_URL": "https://u:p@ci.example.com/job/1/"},
     "CI https://ci.example.com/job/1/"),
    ({}, ""),
], ids=["github", "gitlab", "jenkins", "none"])
def test_a_ci_run_is_kept(server, tmp_path, env, want):
    assert described(server, compile_c(tmp_path), env=env) == want


@pytest.mark.parametrize("head", ["ref: refs/../../../etc/hostname\n", "", "ref: refs/heads/none\n", "x" * 5000, "g" * 40 + "\n"])
def test_a_head_that_makes_no_sense_is_no_revision(server, repository, head):
    prog, _ = repository
    (prog.parent.parent / ".git/HEAD").write_text(head)
    assert described(server, prog) == ""
