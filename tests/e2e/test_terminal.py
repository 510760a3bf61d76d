# SPDX-License-Identifier: Apache-2.0
"""What the commands write on a terminal, and only there: colours, short names, lines as wide as it is."""
import contextlib
import fcntl
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import threading
import urllib.parse

import pytest

from tool import UNHEX
from waiting import pause_for

CSI = re.compile(r"\x1b\[[0-9;]*[mK]")


@contextlib.contextmanager
def in_slices(process):
    """Lets a process run for 20 ms in each 130 ms, so that little work takes long on any machine."""
    def stop_and_go():
        with contextlib.suppress(ProcessLookupError):
            while not ended.wait(0.02):
                process.send_signal(signal.SIGSTOP)
                pause_for(0.11, "the process is stopped for most of the time")
                process.send_signal(signal.SIGCONT)

    ended = threading.Event()
    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def on_terminal(*args, columns=80, environment=(), stdin=subprocess.DEVNULL, around=(), pace=contextlib.nullcontext):
    """Runs unhex (under the command `around`) on a terminal; returns its status and what it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", **dict(environment)}
    process = subprocess.Popen([*around, str(UNHEX), *map(str, args)], stdin=stdin, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    text = b""
    with pace(process):
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # EIO: the other side is closed
                break
            if not piece:
                break
            text += piece
    os.close(ours)
    return process.wait(60), text.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program with a function whose name has template arguments."""
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "a.cc").write_text("template <typename T> struct box { T value; };\n"
                                 "template <typename T> __attribute__((noinline)) int weigh(box<T> b)\n"
                                 "{ return (int)b.value; }\n"
                                 "template int weigh<long>(box<long>);\n"
                                 "int main() { return weigh(box<long>{0}); }\n")
    subprocess.run(["g++", "-g", "-o", folder / "a.out", folder / "a.cc"], check=True)
    return folder / "a.out"


WEIGH = "_Z5weighIlEi3boxIT_E+0"


def test_names_are_short_and_coloured_on_a_terminal(program):
    status, text = on_terminal("lookup", program, WEIGH)
    assert status == 0
    assert "\x1b[" in text
    assert "weigh<...> at " in CSI.sub("", text)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_refused(program, environment):
    status, text = on_terminal("lookup", program, WEIGH, environment=environment.items())
    assert status == 0 and "weigh<...> at " in text
    assert "\x1b" not in text


def test_whole_names_are_printed_where_they_are_requested(program):
    _, text = on_terminal("lookup", program, WEIGH, "--demangle", "full")
    assert "int weigh<long>(box<long>) at " in CSI.sub("", text)


HOSTILE = ["\x1b]0;title\x07", "\u202egnp.exe", "\x9b2Jclear", "two\nlines"]  # OSC, bidirectional, CSI in one byte
NAMED = [f"hostile{n}" + "A" * (len(text.encode()) - 8) for n, text in enumerate(HOSTILE)]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A library with functions and a source file whose names have control characters; and their addresses."""
    folder = tmp_path_factory.mktemp("hostile")
    functions = "\n".join(f"void {name}(void) {{ __asm__(\"nop\"); }}" for name in NAMED)
    (folder / "a.c").write_text('#line 1 "ev\\033]0;title\\007il\\nfile.c"\n' + functions + "\n")
    library = folder / "hostile.so"
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-o", library, folder / "a.c"], check=True)
    content = library.read_bytes()
    table = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    for name, text in zip(NAMED, HOSTILE):
        content = content.replace(name.encode(), text.encode())
    library.write_bytes(content)
    return library, [line.split()[0] for line in table.splitlines() if line.split()[-1] in NAMED]


def assert_harmless(text):
    """Only line breaks, tabs and colours act on a terminal."""
    rest = CSI.sub("", text).replace("\n", "").replace("\t", "")
    assert not re.search("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", rest), repr(rest)


@pytest.mark.parametrize("verb", [
    ("lookup", "{file}"), ("lookup", "--demangle=none", "{file}"),
    ("addr2line", "-f", "-i", "-e", "{file}"), ("addr2line", "-a", "-p", "-f", "-C", "-e", "{file}"),
    ("llvm-symbolizer", "-e", "{file}"), ("llvm-symbolizer", "--output-style=GNU", "--functions=short", "-e", "{file}"),
    ("llvm-symbolizer", "--verbose", "-e", "{file}"), ("llvm-symbolizer", "-p", "-a", "-e", "{file}"),
    ("llvm-symbolizer", "--output-style=JSON", "-e", "{file}"),
], ids=" ".join)
def test_no_name_of_a_file_acts_on_a_terminal(hostile, verb):
    library, addresses = hostile
    status, text = on_terminal(*(word.format(file=library) for word in verb), *(f"0x{a}" for a in addresses))
    assert status == 0 and "title" in text and "gnp.exe" in text
    assert_harmless(text)


@pytest.mark.parametrize("verb", ["id", "explain", "disas"])
def test_no_verb_lets_a_name_act_on_a_terminal(hostile, verb):
    library, addresses = hostile
    _, text = on_terminal(verb, library, *([f"0x{addresses[0]}"] if verb != "id" else []))
    assert_harmless(text)


@pytest.mark.parametrize("tool", ["addr2line", "llvm-symbolizer"])
def test_a_line_break_in_a_name_is_not_an_answer(hostile, tool):
    """A program that reads the answers as lines sees as many for a hostile name as for another one."""
    library, addresses = hostile
    options = {"addr2line": ["-f"], "llvm-symbolizer": []}[tool]
    for a in addresses:
        out = subprocess.run([UNHEX, tool, *options, "-e", library, f"0x{a}"], check=True, capture_output=True).stdout
        assert out.count(b"\n") == 2 + (tool == "llvm-symbolizer"), out


def test_a_bad_request_is_not_repeated_as_it_is(hostile):
    result = subprocess.run([UNHEX, "llvm-symbolizer"], input=b"bad\x1b]0;title\x07line\n", check=True, capture_output=True)
    assert b"\x1b" not in result.stdout + result.stderr and rb"bad\x1b]0;title\x07line" in result.stderr


def test_json_and_pipes_see_neither(program):
    _, text = on_terminal("lookup", program, WEIGH, "--json")
    assert "int weigh<long>(box<long>)" in text and "\x1b" not in text
    text = subprocess.run([UNHEX, "lookup", program, WEIGH], capture_output=True, text=True, check=True,
                          env={**os.environ, "TERM": "xterm"}).stdout
    assert "int weigh<long>(box<long>) at " in text and "\x1b" not in text


@pytest.mark.parametrize("columns", [50, 80, 300])
def test_help_is_wrapped_to_the_terminal(columns):
    status, text = on_terminal("push", "--help", columns=columns)
    prose = text.split("Options:")[0].split("\n", 3)[3]
    assert status == 0
    assert max(map(len, prose.splitlines())) <= min(columns, 120)
    assert max(map(len, prose.splitlines())) > min(columns, 120) - 20, "as wide as it may be"


@contextlib.contextmanager
def far_away(url, delay):
    """The URL of a relay that waits so many seconds before it hands on what it read."""
    def relay(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                pause_for(delay, "the server is far away")
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((to.hostname, to.port))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=relay, args=pair, daemon=True).start()

    to = urllib.parse.urlsplit(url)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def test_a_push_shows_its_progress_on_a_terminal(server, tmp_path):
    """The line is written over, and gone in the end."""
    for i in range(12):
        (tmp_path / f"{i}.c").write_text(f"int main(void) {{ return {i}; }}\n")
        subprocess.run(["gcc", "-g", "-Wl,--build-id", "-o", tmp_path / f"{i}.out", tmp_path / f"{i}.c"], check=True)
    with far_away(server.url, 0.1) as url:
        status, text = on_terminal("push", "--url", url, "--token", server.token, tmp_path)
    assert status == 0
    shown = re.findall(r"push: \[#* *\] (\d+) of 12 files, ", text)
    assert shown, "a push that takes a second shows how far it is"
    assert shown == sorted(shown, key=int)
    assert re.search(r"\d (bytes|KiB|MiB)/s", text)
    assert re.search(r"\b12 uploaded, .* 0 failed$", CSI.sub("", text).rstrip())


def test_an_extraction_shows_its_progress_on_a_terminal(tmp_path):
    """Of a program with some MiB of DWARF, slowed down so that it takes long on any machine."""
    slow = ("valgrind", "-q", "--tool=memcheck")
    status, text = on_terminal("extract", UNHEX, "-o", tmp_path / "shown.gsym", around=slow, pace=in_slices)
    assert status == 0
    shown = [float(size) * {"K": 1, "M": 1024}[unit] for size, unit in
             re.findall(r"\rextract: ([\d.]+) ([KM])iB of [\d.]+ MiB of DWARF, ", text)]
    assert shown, "an extraction that takes a second shows how far it is"
    assert shown == sorted(shown)
    assert "\rextract: merging and writing, " in text
    assert re.search(r"\r\x1b\[K[^\r]*shown.gsym: inlines, \d+ functions, [\d.]+ \wiB\n$", text), "the line is erased"
    plain = subprocess.run([UNHEX, "extract", UNHEX, "-o", tmp_path / "plain.gsym"], capture_output=True, check=True,
                           env={**os.environ, "TERM": "xterm"})
    assert plain.stderr == b"" and b"\r" not in plain.stdout
    assert (tmp_path / "shown.gsym").read_bytes() == (tmp_path / "plain.gsym").read_bytes()
