# SPDX-License-Identifier: Apache-2.0
"""What bash, zsh and fish complete of a command line: typed on a terminal, as a person does."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from test_cli_options import commands
from tool import UNHEX, unhex
from waiting import pause_for

FOLDER = pathlib.Path(UNHEX).resolve().parents[1] / "packaging"
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"],
             f"source {FOLDER}/unhex; unhex() {{ printf 'word<%s>\\n' \"$@\"; }}"),
    "zsh": (["zsh", "-f", "-i"],
            f"fpath=({FOLDER} $fpath); autoload -U compinit; compinit -u -D; "
            "unhex() { printf 'word<%s>\\n' \"$@\"; }"),
    "fish": (["fish", "--no-config", "-i"],
             f"source {FOLDER}/unhex.fish; function unhex; printf 'word<%s>\\n' $argv; end"),
}
TYPED = [
    ("unhex loo\t", ["lookup"]),
    ("unhex help exp\t", ["help", "explain"]),
    ("unhex lookup --demangle sh\t", ["lookup", "--demangle", "short"]),
    ("unhex serve --reading ke\t", ["serve", "--reading", "keyed"]),
    ("unhex key cre\t", ["key", "create"]),
    ("unhex store back\t", ["store", "backup"]),
    ("unhex modules sh\t", ["modules", "show"]),
    ("unhex crawl fed\t", ["crawl", "fedora"]),
    ("unhex crawl stat\t", ["crawl", "status"]),
    ("unhex crawl debian --suite bookw\t", ["crawl", "debian", "--suite", "bookworm"]),
    ("unhex clone --distribution alp\t", ["clone", "--distribution", "alpine"]),
    ("unhex key create --scopes symb\t", ["key", "create", "--scopes", "symbolize"]),
    ("unhex store check --rep\t", ["store", "check", "--repair"]),
    ("unhex store delete --rep\t", ["store", "delete", "--rep"]),
    ("unhex store limit --quo\t", ["store", "limit", "--quota"]),
    ("unhex gsym ver\t", ["gsym", "verify"]),
    ("unhex lookup samp\t", ["lookup", "sample.bin"]),
    ("unhex gsym verify samp\t", ["gsym", "verify", "sample.bin"]),
    ("unhex serve --data fol\t", ["serve", "--data", "folder"]),
    ("unhex extract --alter\t", ["extract", "--alternatives"]),
    ("unhex addr2line --base\t", ["addr2line", "--basenames"]),
    ("unhex llvm-symbolizer --output-s\t", ["llvm-symbolizer", "--output-style"]),
]


@pytest.fixture(scope="module", name="folder")
def folder_with_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("complete")
    (folder / "sample.bin").touch()
    (folder / "folio").touch()  # a file, where a folder is due
    (folder / "folder").mkdir()
    return folder


class Shell:
    """An interactive shell on a terminal, in which `unhex` prints its words."""

    def __init__(self, name, folder):
        words, setup = SHELLS[name]
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", PS1="$ ", HOME=str(folder), LC_ALL="C.UTF-8")
            os.execvp(words[0], words)
        self.type(setup + "\n")
        self.type("echo read'y'\n", "ready")

    def type(self, text, until=None):
        """What the shell writes after `text` was typed, up to a match of `until`."""
        os.write(self.terminal, text.encode())
        seen = ""
        end = time.monotonic() + 60
        while until and not re.search(until, seen) and time.monotonic() < end:
            if select.select([self.terminal], [], [], 1)[0]:
                seen += os.read(self.terminal, 1 << 16).decode(errors="replace")
        return seen

    def words(self, typed):
        # the end is one word more, which completion leaves alone
        self.type(typed)
        pause_for(0.5, "the shell shows nothing when it has completed a word")
        text = self.type(" end\n", r"word<end>")
        return [word.rstrip("=/") for word in re.findall(r"word<(.*?)>", text)][:-1]

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


@pytest.fixture(scope="module", params=SHELLS, name="shell")
def interactive_shell(request, folder):
    assert shutil.which(request.param), f"{request.param} is not installed"
    shell = Shell(request.param, folder)
    yield shell
    shell.close()


@pytest.mark.parametrize("typed,words", TYPED)
def test_what_is_typed_is_completed(shell, typed, words):
    assert shell.words(typed) == words


def test_bash_completes_the_words_of_a_list_with_commas():
    script = (f"source {FOLDER}/unhex; COMP_WORDS=(unhex key --scopes read,me); COMP_CWORD=3; _unhex; "
              "printf '%s\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("read,metrics\n", "")


def test_every_distribution_is_offered():
    """Those that an unknown one is told."""
    told = re.search(r"not a distribution; expected ([a-z -]+) \(", unhex("crawl", "nosuch", "--dry-run").stderr)[1].split()
    assert "debian" in told
    script = (f"source {FOLDER}/unhex; COMP_WORDS=(unhex crawl ''); COMP_CWORD=2; _unhex; "
              "printf '%s\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {*told, "oci", "work", "status"}


def options_of_help(command):
    text = unhex(command, "--help").stdout
    if command in ("addr2line", "llvm-symbolizer"):
        return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))
    return set(re.findall(r"^  (?:-\w, |    )(--\S+)", text, re.M))


@pytest.mark.parametrize("command", commands())
def test_bash_offers_every_option(command):
    script = (f"source {FOLDER}/unhex; COMP_WORDS=(unhex {command} --); COMP_CWORD=2; _unhex; "
              "printf '%s\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == options_of_help(command)


@pytest.mark.parametrize("command", commands())
def test_fish_offers_every_option_with_what_it_does(command):
    done = subprocess.run(["fish", "--no-config", "-c",
                           f"source {FOLDER}/unhex.fish; complete -C 'unhex {command} --'"],
                          capture_output=True, text=True, check=True)
    rows = dict((line.split("\t") + [""])[:2] for line in done.stdout.splitlines())
    assert {name.removesuffix("=") for name in rows} == options_of_help(command)
    if command not in ("addr2line", "llvm-symbolizer"):
        assert all(rows.values())


@pytest.mark.parametrize("command", commands())
def test_zsh_knows_every_option(command):
    """Its own listing is drawn for the width of a terminal: the table of the command instead."""
    text = (FOLDER / "_unhex").read_text()
    table = text.split(f"\t{command})\n\t\t")[1].split("\t\t;;")[0]
    assert set(re.findall(r"options\+=\('(?:\*|\*'\{[^,]+,)(--[a-z0-9-]+)", table)) == options_of_help(command)
