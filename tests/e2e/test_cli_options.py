# SPDX-License-Identifier: Apache-2.0
"""Help, version and usage errors. UNHEX_GOLDEN=write rewrites the golden files."""
import os
import re
import shutil
import subprocess

import pytest

from tool import ROOT, fails, unhex

GOLDEN = ROOT / "tests/e2e/golden"


def commands():
    text = unhex("help").stdout
    return re.findall(r"^  (\S+)  ", text.split("Commands:")[1], re.M)


def same_as_golden(name, text):
    path = GOLDEN / name
    if os.environ.get("UNHEX_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


def test_overview_is_as_recorded():
    result = unhex("help")
    assert result.returncode == 0
    same_as_golden("help.txt", result.stdout)
    assert unhex("--help").stdout == result.stdout


@pytest.mark.parametrize("command", commands())
def test_help_of_each_command_is_as_recorded(command):
    result = unhex(command, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    same_as_golden(f"help-{command}.txt", result.stdout)
    assert unhex("help", command).stdout == result.stdout
    assert all(len(line) <= 100 for line in result.stdout.splitlines())


def test_every_golden_help_has_its_command():
    assert {p.name for p in GOLDEN.glob("help-*.txt")} == {f"help-{c}.txt" for c in commands()}


def test_version():
    result = unhex("--version")
    assert result.returncode == 0
    # Without git and the file REVISION no revision is known, and none is printed.
    assert re.fullmatch(r"unhex \d+\.\d+\.\d+( \([0-9a-f]{12}(, modified)?\))?\n", result.stdout)
    assert unhex("-V").stdout == result.stdout


def revision(folder, **more):
    return subprocess.run([folder / "tools/revision.sh"], env={**os.environ, **more}, check=True,
                          capture_output=True, text=True).stdout


def test_the_revision_of_sources(tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=t", "-c", "user.email=t@localhost",
                        "-c", "commit.gpgsign=false", *words], check=True, capture_output=True)

    tree = tmp_path / "unhex"
    (tree / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools/revision.sh", tree / "tools")
    # An archive unpacked in a folder of another repository does not take that one's commit.
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "other")
    assert revision(tree) == "\n"
    (tree / "REVISION").write_text("0123456789ab\n")
    assert revision(tree) == "0123456789ab\n"
    (tree / "REVISION").write_text('"; \\ 0123\nmore\n')
    assert revision(tree) == "  0123\n"
    (tree / "REVISION").unlink()
    (tmp_path / ".git").rename(tree / ".git")
    tmp_path = tree
    git("add", "-A")
    git("commit", "-q", "-m", "own")
    assert re.fullmatch("[0-9a-f]{12}\n", revision(tree))
    with (tree / "tools/revision.sh").open("a") as script:
        script.write("# more\n")
    assert re.fullmatch("[0-9a-f]{12}, modified\n", revision(tree))
    # A machine without git builds too.
    (tmp_path / "bin").mkdir()
    for name in ("sh", "dirname", "head", "tr"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    assert revision(tree, PATH=str(tmp_path / "bin")) == "\n"


def test_no_command_prints_the_overview_as_an_error():
    result = unhex()
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == unhex("help").stdout


@pytest.mark.parametrize("args,words", [
    (["lokup"], ['unknown command "lokup"; did you mean "lookup"?']),
    (["zzz"], ['unknown command "zzz"; see unhex help']),
    (["id", "--jsno", "x"], ["unknown option --jsno; did you mean --json?"]),
    (["push", "--dryrun", "x"], ["unknown option --dryrun; did you mean --dry-run?"]),
    (["nope"], ['unknown command "nope"']),
    (["help", "nope"], ['unknown command "nope"']),
    (["id"], ["id:", "no file"]),
    (["id", "--nope", "x"], ["unknown option --nope"]),
    (["id", "-Z", "x"], ["unknown option -Z"]),
    (["id", "--json=1", "x"], ["--json", "no argument"]),
    (["extract"], ["no file"]),
    (["extract", "a", "b"], ["more than one"]),
    (["extract", "a", "--threads", "0"], ["--threads", '"0"', "number"]),
    (["extract", "a", "--memory", "lots"], ["--memory", '"lots"', "100M"]),
    (["extract", "a", "-o"], ["-o", "needs an argument"]),
    (["lookup"], ["no file or ID"]),
    (["lookup", "/bin/sh", "--demangle", "some", "0x1"], ["--demangle", '"some"', "short"]),
    (["lookup", "/bin/sh", "0x10", "x y"], ['"x y"', "not an address"]),
    (["lookup", "/bin/sh", "12ff"], ['"12ff"', "--hex"]),
    (["lookup", "/bin/sh", "0x10000000000000000"], ["not an address"]),
    (["push"], ["no file or folder"]),
    (["push", "-d", "x"], ["-d needs -e"]),
    (["push", "x", "--timeout", "soon"], ["--timeout", '"soon"']),
    (["key", "creat"], ['unknown verb "creat"; did you mean "create"?']),
    (["gsym", "stats", "x"], ['did you mean "stat"?']),
    (["store", "chekc"], ['did you mean "check"?']),
    (["store", "zzzzzz"], ["check, sweep, pin, unpin, usage, limit, backup, restore or migrate"]),
    (["push", "-"], ["cannot push standard input", "path"]),
    (["push", "x", "--timeout", "0x10"], ["--timeout", '"0x10"']),
    (["extract", "a", "--memory", "0x100M"], ["--memory", '"0x100M"', "100M"]),
    (["proc", "0x1", "0x1"], ['"0x1"', "not a process ID"]),
    (["key"], ["create, list, rotate or revoke"]),
    (["key", "revoke"], ["ID"]),
    (["key", "list", "more"], ['"more"']),
    (["store"], ["check, sweep, pin, unpin, usage, limit, backup, restore or migrate"]),
    (["store", "pin", "gnu:00"], ["label"]),
    (["store", "limit"], ["namespace"]),
    (["store", "check", "more"], ['"more"']),
])
def test_usage_errors_are_one_line_and_status_2(args, words):
    result = unhex(*args)
    fails(result, 2, *words)
    assert result.stdout == ""


@pytest.mark.parametrize("url", ["nonsense", "ftp://x", "http://", "http://:80", "http://h:99999", "http://h:0x50",
                                 "http://[::1", "http://h/?q", "http://me:secret@h"])
@pytest.mark.parametrize("verb", ["lookup", "explain", "push"])
def test_a_url_that_names_no_server_is_a_usage_error(verb, url):
    operands = {"push": ["/bin/sh"], "lookup": ["gnu:00112233", "0x1"], "explain": ["gnu:00112233"]}[verb]
    for result in (unhex(verb, *operands, "--url", url), unhex(verb, *operands, env={"UNHEX_URL": url})):
        fails(result, 2, "URL")
        assert "secret" not in result.stderr


def test_control_characters_of_arguments_do_not_reach_the_terminal():
    result = unhex("id", "/nope\x1b[31m\n")
    fails(result, 1, r"/nope\x1b[31m\x0a")


def test_libraries_of_the_network_are_loaded_by_what_sends_or_listens_alone():
    traced = {"LD_DEBUG": "files"}
    reads = unhex("id", "/bin/true", env=traced)
    assert reads.returncode == 0 and "calling init: " in reads.stderr
    assert not re.search("libcurl|libgnutls|libmicrohttpd", reads.stderr)
    sends = unhex("lookup", "gnu:00112233", "0x1", "--url", "http://127.0.0.1:1", env=traced).stderr
    assert re.search(r"calling init: .*libcurl", sends)
    fails(unhex("lookup", "gnu:00112233", "0x1", "--url", "http://127.0.0.1:1"), 3, "127.0.0.1")
