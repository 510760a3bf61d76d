# SPDX-License-Identifier: Apache-2.0
"""Where a push comes from: the git revision of its files and the CI run, on the module's page and in the search"""
import subprocess
import urllib.parse
import urllib.request

import pytest

from http_api import Api
from test_push_again import announcement, send
from tool import build_id, compile_c, lines, unhex

FACTS = ("git_revision", "git_branch", "git_repository", "ci_run")
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


def push_json(server, prog, *args, env=None):
    result = server.unhex("push", "--json", *args, prog, env={**CI, **(env or {})})
    assert result.returncode == 0, result.stdout
    return lines(result)


def origin(server, prog, *args, env=None):
    """What the server has of where the newest candidate comes from, and its description."""
    push_json(server, prog, *args, env=env)
    newest = server.get(f"/v1/modules/{build_id(prog)}")[1]["candidates"][0]
    return {name: newest.get(name, "") for name in FACTS}, newest["description"]


def page(server, path, **query):
    return urllib.request.urlopen(f"{server.url}{path}?{urllib.parse.urlencode(query)}").read().decode()


def test_the_revision_of_the_files_is_kept(server, repository):
    prog, git = repository
    revision = git("rev-parse", "HEAD")
    assert origin(server, prog) == ({
        "git_revision": revision, "git_branch": "trunk", "git_repository": "https://git.example.com/team/app.git",
        "ci_run": ""}, "")
    module = page(server, f"/modules/{build_id(prog)}")
    assert f'<a href="/search?q=git%3A{revision}"><code>{revision}</code></a> (trunk)' in module
    assert 'href="https://git.example.com/team/app.git"' in module and "secret" not in module
    digits = build_id(prog).removeprefix("gnu:")
    for text in (revision, revision[:12], "TEAM/app", "trunk", f"git:{revision}", f"git:{revision[:4]}"):
        assert digits in page(server, "/search", q=text), text
    for text in (f"git:{revision[1:]}", "git:0000", "git:", "git:xyz", f"ci:{revision}"):
        assert digits not in page(server, "/search", q=text), text


def test_modules_are_listed_by_revision_and_run(server, repository, tmp_path):
    prog, git = repository
    other = compile_c(tmp_path, "other", flags=("-O1", "-g", "-DOTHER"))
    run = "https://ci.example.com/job/1/?a=b&c"
    for one in (prog, other):
        push_json(server, one, env={"JENKINS_URL": "x", "BUILD_URL": run})
    revision = git("rev-parse", "HEAD")

    def listed(**query):
        status, doc = server.get("/v1/modules?" + urllib.parse.urlencode(query))
        return status, {m["id"] for m in doc.get("modules", [])}
    assert listed(git=revision) == listed(git=revision[:7]) == (200, {build_id(prog)})
    assert listed(ci_run=run) == (200, {build_id(prog), build_id(other)})
    assert len(listed(ci_run=run, limit=1)[1]) == 1
    assert listed(git="0" * 40) == listed(ci_run=run[:-1]) == (200, set())
    for text in ("abc", "g" * 40, "A" * 40, "0" * 65):
        assert listed(git=text)[0] == 400
    found = page(server, "/search", q="ci:" + run)
    assert all(build_id(one).removeprefix("gnu:") in found for one in (prog, other))


def test_what_a_client_sends_becomes_no_markup_and_no_other_link(server, tmp_path):
    prog = compile_c(tmp_path)
    assert unhex("extract", prog, "-o", tmp_path / "x.gsym").returncode == 0
    data = (tmp_path / "x.gsym").read_bytes()
    api = Api(server)
    for run in ("javascript:alert(1)", "https://x/\"><b>"):
        uid = send(api, prog, data, kind="gsym", ci_run=run, git_revision="0" * 40, git_branch="<i>")
        assert api.finish(uid)[0] == 200
        text = page(server, f"/modules/{build_id(prog)}")
        assert "<i>" not in text and '"><b>' not in text and 'href="javascript' not in text and "&lt;i&gt;" in text
    status, doc, _ = api("POST", "/v1/uploads", announcement(prog, data, git_revision="HEAD"))
    assert status == 400 and "git_revision" in doc["error"]["message"]


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
    branch = {"packed": "trunk", "detached": "", "worktree": "other", "branch": "feature/x"}[form]
    known, _ = origin(server, prog)
    assert (known["git_revision"], known["git_branch"]) == (revision, branch)


def test_a_description_stands_by_itself_and_no_git_leaves_the_rest_out(server, repository):
    prog, git = repository
    known, text = origin(server, prog, "--description", "release 1.4")
    assert text == "release 1.4" and known["git_revision"] == git("rev-parse", "HEAD")
    known, text = origin(server, compile_c(prog.parent, "two", flags=("-g", "-DTWO")), "--no-git", "--description", "plain")
    assert text == "plain" and not any(known.values())


def test_what_is_there_is_not_described_again_for_its_revision(server, repository):
    prog, git = repository
    first = origin(server, prog)
    git("commit", "-q", "--allow-empty", "-m", "second")
    assert push_json(server, prog)[0]["status"] == "already-there"
    assert origin(server, prog) == first
    known, _ = origin(server, prog, "--description", "again")
    assert known["git_revision"] == git("rev-parse", "HEAD")


def test_what_the_server_extracts_comes_from_the_same_build(server, repository):
    prog, git = repository
    push_json(server, prog, "--with-debuginfo")
    kept = server.get(f"/v1/modules/{build_id(prog)}")[1]["candidates"]
    assert {c["kind"] for c in kept} == {"gsym", "executable"}
    assert {c["git_revision"] for c in kept} == {git("rev-parse", "HEAD")}


@pytest.mark.parametrize("env,revision,run", [
    ({"GITHUB_ACTIONS": "true", "GITHUB_SHA": "1" * 40, "GITHUB_SERVER_URL": "https://github.com",
      "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7"}, "1" * 40, "https://github.com/o/r/actions/runs/7"),
    ({"GITLAB_CI": "true", "CI_COMMIT_SHA": "2" * 40, "CI_JOB_URL": "https://gitlab.example.com/o/r/-/jobs/9"},
     "2" * 40, "https://gitlab.example.com/o/r/-/jobs/9"),
    ({"JENKINS_URL": "x", "GIT_COMMIT": "not a revision", "BUILD_URL": "https://u:p@ci.example.com/job/1/"},
     "", "https://ci.example.com/job/1/"),
    ({}, "", ""),
], ids=["github", "gitlab", "jenkins", "none"])
def test_a_ci_run_is_kept(server, tmp_path, env, revision, run):
    known, text = origin(server, compile_c(tmp_path), env=env)
    assert (known["git_revision"], known["ci_run"], text) == (revision, run, "")


@pytest.mark.parametrize("head", ["ref: refs/../../../etc/hostname\n", "", "ref: refs/heads/none\n", "x" * 5000, "g" * 40 + "\n"])
def test_a_head_that_makes_no_sense_is_no_revision(server, repository, head):
    prog, _ = repository
    (prog.parent.parent / ".git/HEAD").write_text(head)
    known, text = origin(server, prog)
    assert not any(known.values()) and text == ""
