# SPDX-License-Identifier: Apache-2.0
"""unhex push against a real server"""
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest

from unhex_server import Server
from tool import UNHEX, build_id, compile_c, fails, lines, stripped, symbol, unhex
from waiting import pause_for

SLACK = 15  # seconds beyond a timeout, for a machine that has much else to do


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("push-other"), "other", flags=("-O1", "-g"))


def push(server, *args, **more):
    """Exit status and the objects of --json."""
    result = server.unhex("push", "--json", *args, **more)
    return result.returncode, lines(result)


def frames(server, name, pc):
    (answer,) = lines(server.unhex("lookup", "--json", name, hex(pc)))
    return [f["function"] for f in answer["frames"]]


def test_the_same_file_twice_is_already_there(server, prog):
    status, (reported,) = push(server, prog)
    assert (status, reported["status"]) == (0, "uploaded")
    assert reported["file"] == str(prog) and reported["id"] == build_id(prog)
    assert reported["quality"] == "inlines" and reported["functions"] > 0 and reported["size"] > 0
    status, (reported,) = push(server, prog)
    assert (status, reported["status"]) == (0, "already-there")
    assert reported["reason"]


def test_text_has_a_line_a_file_and_a_summary(server, prog, other):
    text = server.unhex("push", prog, other).stdout.splitlines()
    assert [line.split()[0] for line in text] == ["uploaded", "uploaded", "2"]
    assert build_id(prog) in text[0] and str(other) in text[1]
    assert text[2] == "2 uploaded, 0 already there, 0 better there, 0 skipped, 0 failed"


def test_skipped_files_of_a_folder_are_counted_by_reason(server, prog, tmp_path):
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "prog").write_bytes(prog.read_bytes())
    (folder / "notes.txt").write_text("hello\n")
    text = server.unhex("push", folder).stdout.splitlines()
    assert text[-2:] == ["skipped        1 file in folders: 1 not an ELF file; -v prints them",
                         "1 uploaded, 0 already there, 0 better there, 1 skipped, 0 failed"]
    (folder / "more.txt").write_text("hello\n")
    (folder / "empty").write_bytes(b"")
    subprocess.run(["gcc", "-c", "-x", "c", "-o", folder / "a.o", "-"], input="int a;", text=True, check=True)
    text = server.unhex("push", folder).stdout.splitlines()
    assert text[-2] == ("skipped        4 files in folders: 1 ELF file of type 1 (object file without a build ID), "
                        "3 not an ELF file; -v prints them")
    assert text[-1].endswith(", 4 skipped, 0 failed")
    listed = server.unhex("push", "-v", folder).stdout
    assert "in folders" not in listed and listed.count("skipped  ") == 4
    assert len(server.unhex("push", "--json", folder).stdout.splitlines()) == 1


def test_a_dry_run_counts_what_would_be_uploaded(server, prog, other):
    assert push(server, other)[0] == 0
    text = server.unhex("push", "--dry-run", prog, other).stdout.splitlines()
    assert text[-1] == "1 would be uploaded, 1 already there, 0 better there, 0 skipped, 0 failed"
    assert server.unhex("push", prog).stdout.splitlines()[-1].startswith("1 uploaded")


class Slow(http.server.BaseHTTPRequestHandler):
    """Takes the query, and lets each upload wait."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        doc = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/query":
            self.server.reached.set()
            self.server.ended.wait(60)
        body = json.dumps({"answers": [{"status": "wanted", "reason": ""}
                                       for _ in doc.get("modules", [])]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def slow():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.reached, server.ended = threading.Event(), threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.ended.set()
    server.shutdown()


def test_the_timeout_of_a_push_names_itself(slow, prog):
    result = unhex("push", "--url", f"http://127.0.0.1:{slow.server_port}", "--timeout", "2", prog)
    assert result.returncode == 3
    assert "--timeout" in result.stderr and "2 s" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_push_prints_what_was_done(slow, prog, tmp_path, number):
    (tmp_path / "text").write_text("no binary")
    process = subprocess.Popen([UNHEX, "push", "--url", f"http://127.0.0.1:{slow.server_port}", tmp_path / "text",
                                prog], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert slow.reached.wait(30)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == -number
    assert out.splitlines()[-1].startswith("interrupted: 0 uploaded") and out.strip().endswith("1 failed")
    assert "interrupted" in err


def test_what_was_pushed_is_answered_by_every_id(server, prog):
    assert push(server, prog)[0] == 0
    start, _ = symbol(prog, "outer")
    (ids,) = lines(unhex("id", "-qj", prog))
    assert len(ids["ids"]) == 2
    for name in (*ids["ids"], ids["ids"][0].removeprefix("gnu:")):
        assert frames(server, name, start)[-1] == "outer"
    local = unhex("lookup", prog, hex(start)).stdout
    assert server.unhex("lookup", ids["ids"][0], hex(start)).stdout == local


def test_force_sends_what_is_there_already(server, prog):
    assert push(server, prog)[0] == 0
    worse = prog.with_name("worse")
    subprocess.run(["strip", "-g", "-o", worse, prog], check=True)
    status, (reported,) = push(server, worse, "--debug-dir", "")
    assert (status, reported["status"]) == (0, "better-there")
    status, (reported,) = push(server, worse, "--debug-dir", "", "--force")
    assert (status, reported["status"], reported["quality"]) == (0, "uploaded", "symtab")


def test_better_symbols_replace_poorer_ones(server, prog):
    worse = prog.with_name("worse")
    subprocess.run(["strip", "-g", "-o", worse, prog], check=True)
    assert push(server, worse, "--debug-dir", "")[1][0]["status"] == "uploaded"
    assert push(server, prog)[1][0]["status"] == "uploaded"
    status, module = server.get("/v1/modules/" + build_id(prog))
    assert status == 200 and module["quality"] == "inlines"
    assert len(module["candidates"]) == 2


def test_a_wrong_token_is_refused_with_status_3_and_not_printed(server, prog):
    result = server.unhex("push", prog, env={"UNHEX_TOKEN": "ux_" + "a" * 52})
    fails(result, 3, server.url, "401")
    assert "aaaa" not in result.stderr + result.stdout
    # A person is told of the option, not of the header that the command sends.
    result = server.unhex("push", prog, env={"UNHEX_TOKEN": ""})
    fails(result, 3, server.url, "needs a key of scope upload", "401", "--token-file FILE or UNHEX_TOKEN")
    assert "Authorization" not in result.stderr


def test_a_server_that_is_down_is_status_3_within_the_timeout(prog):
    started = time.monotonic()
    result = unhex("push", prog, "--url", "http://127.0.0.1:1", "--timeout", "5")
    assert time.monotonic() - started < 5 + SLACK
    assert result.returncode == 3
    said, error = result.stderr.splitlines()
    assert said.endswith("cannot reach http://127.0.0.1:1: Connection refused; retrying")
    assert "cannot reach http://127.0.0.1:1: Connection refused" in error


def test_a_server_that_is_down_fails_each_file(prog, tmp_path):
    """With --json by an object each; else by one message, and how many there are."""
    shutil.copy(prog, tmp_path / "one")
    compile_c(tmp_path, "two")
    down = ("--url", "http://127.0.0.1:1")
    result = unhex("push", tmp_path, *down, "--json", "--no-retries")
    fails(result, 3, "127.0.0.1:1")
    assert [(pathlib.Path(line["file"]).name, line["status"]) for line in lines(result)] == [
        ("one", "failed"), ("two", "failed")]
    assert all("cannot reach http://127.0.0.1:1" in line["reason"] for line in lines(result))
    result = unhex("push", tmp_path, *down, "--no-retries")
    assert (result.returncode, result.stdout) == (3, "")
    message, rest = result.stderr.splitlines()
    assert "127.0.0.1:1" in message and "2 files were not pushed" in rest


def test_a_server_that_does_not_answer_is_status_3_within_the_timeout(prog):
    import socket
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % silent.getsockname()[1],
                       "--timeout", "2")
        assert time.monotonic() - started < 2 + SLACK
        fails(result, 3)


def test_a_url_that_is_none(prog):
    fails(unhex("push", prog, "--url", "nonsense"), 2, "nonsense")
    fails(unhex("push", prog, "--url", "ftp://host/"), 2, "ftp://host/")


def test_a_url_with_a_password_is_refused_and_not_printed(prog):
    url = "http://me:secret@127.0.0.1:1/"
    for args in (["push", prog], ["lookup", "gnu:00", "1"]):
        result = unhex(*args, "--url", url)
        assert result.returncode != 0 and "--token-file" in result.stderr
        assert "secret" not in result.stderr + result.stdout


def test_a_dry_run_sends_nothing(server, prog):
    status, (reported,) = push(server, "--dry-run", prog)
    assert (status, reported["status"]) == (0, "skipped")
    assert "would be uploaded" in reported["reason"]
    assert server.get("/v1/modules")[1]["modules"] == []
    push(server, prog)
    assert push(server, "-n", prog)[1][0]["status"] == "already-there"


def test_e_and_d_as_elastics_users_know_it(server, prog):
    bare, debug = stripped(prog)
    result = unhex("push", "-e", bare, "-d", debug, "-u", server.url, "-t", server.token, "--json")
    assert result.returncode == 0, result.stderr
    (reported,) = lines(result)
    assert reported["status"] == "uploaded" and reported["debug"] == str(debug)
    assert reported["quality"] == "inlines"
    start, _ = symbol(prog, "outer")
    for name in lines(unhex("id", "-qj", bare))[0]["ids"]:
        assert frames(server, name, start)[-1] == "outer"


def test_a_pair_of_two_builds_is_refused_by_default(server, prog, other):
    status, (reported,) = push(server, "-e", prog, "-d", other)
    assert (status, reported["status"]) == (1, "failed")
    assert "build ID" in reported["reason"]
    assert reported["file"] == str(prog) and reported["id"].startswith("gnu:")
    status, (reported,) = push(server, "-e", prog, "-d", other, "--allow-mismatch")
    assert (status, reported["status"]) == (0, "uploaded")
    status, (reported,) = push(server, "-e", prog, "-d", other)
    assert (status, reported["status"]) == (1, "failed"), "whatever the server has"


def test_a_pair_of_two_builds_is_refused_before_anything_is_extracted(server, prog, other):
    exe, _ = stripped(prog, "first")
    _, debug = stripped(other, "second")
    status, (reported,) = push(server, "--dry-run", "-e", exe, "-d", debug)
    assert (status, reported["status"]) == (1, "failed") and "build IDs differ" in reported["reason"]


def test_a_token_from_a_file(server, prog, tmp_path):
    path = tmp_path / "token"
    path.write_text(f"  {server.token} \r\n")
    result = unhex("push", prog, "--url", server.url, "--token-file", path)
    assert result.returncode == 0, result.stderr
    path.write_text("\n")
    fails(unhex("push", prog, "--url", server.url, "--token-file", path), 2, path, "first line")
    fails(unhex("push", prog, "--token-file", tmp_path / "gone"), 2, "gone")
    fails(unhex("push", prog, "--token", "a", "--token-file", path), 2, "--token-file", "both")


def test_a_token_of_the_command_line_does_not_stay_in_the_process_list(prog):
    import socket
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = "http://127.0.0.1:%d" % silent.getsockname()[1]
        child = subprocess.Popen([UNHEX, "push", prog, "--url", url, "--token=ux_secret",
                                  "--timeout", "60"], stderr=subprocess.DEVNULL)
        connection, _ = silent.accept()
        shown = open(f"/proc/{child.pid}/cmdline", "rb").read()
        child.kill()
        child.wait()
        connection.close()
    assert b"ux_secret" not in shown and b"--token=*" in shown


def test_folders_are_walked_and_only_what_can_be_is_pushed(server, prog, other, tmp_path):
    tree = tmp_path / "tree"
    (tree / "sub/deeper").mkdir(parents=True)
    shutil.copy(prog, tree / "sub/prog")
    shutil.copy(other, tree / "sub/deeper/other")
    shutil.copy(other, tree / "copy")
    (tree / "link").symlink_to("sub/prog")
    (tree / "sub/loop").symlink_to(tree)
    (tree / "dangling").symlink_to("nowhere")
    (tree / "text").write_text("no binary")
    os.mkfifo(tree / "fifo")
    status, reported = push(server, tree)
    assert status == 0
    assert sorted((t["status"], os.path.relpath(t["file"], tree)) for t in reported) == [
        ("skipped", "sub/deeper/other"), ("uploaded", "copy"), ("uploaded", "link")]
    status, reported = push(server, "-v", tree)
    reasons = {os.path.relpath(t["file"], tree): t["reason"] for t in reported}
    assert "FIFO" in reasons["fifo"] and "ELF" in reasons["text"]
    assert "broken symbolic link" in reasons["dangling"] and "link to a folder" in reasons["sub/loop"]


def test_a_stripped_file_and_its_debug_file_in_one_folder_become_one_module(server, prog, tmp_path):
    bare, debug = stripped(prog)
    tree = tmp_path / "tree"
    tree.mkdir()
    shutil.copy(bare, tree / "prog")
    shutil.copy(debug, tree / "a-debug-file")
    status, reported = push(server, tree)
    assert status == 0
    skipped, done = sorted(reported, key=lambda t: t["status"])
    assert done["status"] == "uploaded" and done["quality"] == "inlines"
    assert (done["file"], done["debug"]) == (str(tree / "prog"), str(tree / "a-debug-file"))
    assert skipped["file"] == str(tree / "a-debug-file") and "joined" in skipped["reason"]
    start, _ = symbol(prog, "outer")
    for name in lines(unhex("id", "-qj", bare))[0]["ids"]:
        assert frames(server, name, start)[-1] == "outer"


def test_the_debug_file_is_found_by_its_build_id(server, prog, tmp_path):
    bare, debug = stripped(prog)
    reported = build_id(bare).removeprefix("gnu:")
    place = tmp_path / ".build-id" / reported[:2]
    place.mkdir(parents=True)
    found = place / f"{reported[2:]}.debug"
    shutil.copy(debug, found)
    status, (reported,) = push(server, bare, "--debug-dir", tmp_path)
    assert (status, reported["status"], reported["quality"]) == (0, "uploaded", "inlines")
    assert reported["debug"] == str(found)


def test_a_damaged_debug_file_that_was_found_is_ignored(server, prog, tmp_path):
    half = prog.with_name("half")
    subprocess.run(["strip", "-g", "-o", half, prog], check=True)
    reported = build_id(half).removeprefix("gnu:")
    place = tmp_path / ".build-id" / reported[:2]
    place.mkdir(parents=True)
    (place / f"{reported[2:]}.debug").write_text("rubbish")
    status, (reported,) = push(server, half, "--debug-dir", tmp_path)
    assert (status, reported["status"], reported["quality"]) == (0, "uploaded", "symtab")


def test_bad_files_among_good_ones_are_reported_and_the_run_goes_on(server, prog, other, tmp_path):
    text = tmp_path / "text"
    text.write_text("no binary")
    gone = tmp_path / "gone"
    status, reported = push(server, prog, text, gone, other)
    assert status == 1
    assert {t["file"]: t["status"] for t in reported} == {
        str(prog): "uploaded", str(text): "failed", str(gone): "failed", str(other): "uploaded"}
    text_of = {t["file"]: t["reason"] for t in reported}
    assert "ELF" in text_of[str(text)] and "No such file" in text_of[str(gone)]


def test_nothing_to_push_is_said(server, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/text").write_text("no binary")
    result = server.unhex("push", tmp_path / "tree")
    fails(result, 1, "no executable")


def test_an_object_file_is_not_pushed(server, prog, tmp_path):
    obj = tmp_path / "prog.o"
    subprocess.run(["gcc", "-c", "-g", "-o", obj, f"{prog}.c"], check=True)
    status, (reported,) = push(server, obj)
    assert (status, reported["status"]) == (1, "failed")
    assert "object file" in reported["reason"]


def test_a_description_is_kept(server, prog):
    push(server, prog, "--description", "release 7 ✓")
    _, module = server.get("/v1/modules/" + build_id(prog))
    assert module["candidates"][0]["description"] == "release 7 ✓"
    assert module["candidates"][0]["file"] == str(prog)


class Breaker(http.server.BaseHTTPRequestHandler):
    """An unhex server as far as push can tell, which loses connections in the middle."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, document, status=200):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def state(self):
        s = self.server
        return {"uid": "0" * 32, "state": "open", "offset": len(s.got), "size": s.size,
                "chunk_size": 65536}

    def do_GET(self):
        self.server.requested += 1
        self.answer(self.state())

    def do_POST(self):
        s = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/v1/query":
            n = len(json.loads(body)["modules"])
            self.answer({"answers": [{"id": "x", "status": "wanted", "reason": ""}] * n})
        elif self.path == "/v1/uploads":
            s.announced = json.loads(body)
            s.size = s.announced["size"]
            self.answer(self.state(), 201)
        else:
            self.answer({"uid": "0" * 32, "id": "x", "status": "uploaded", "reason": ""})

    def do_PUT(self):
        s = self.server
        size = int(self.headers["Content-Length"])
        offset = int(self.path.split("offset=")[1])
        assert offset == len(s.got)
        s.puts += 1
        if s.puts % 2 == 1 and s.puts < s.breaks * 2:
            s.got += self.rfile.read(size // 2)
            self.connection.close()
            self.close_connection = True
            return
        s.got += self.rfile.read(size)
        self.answer(self.state())


@pytest.fixture
def breaker():
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Breaker)
    s.got, s.size, s.puts, s.requested, s.breaks = b"", 0, 0, 0, 3
    threading.Thread(target=s.serve_forever, daemon=True).start()
    yield s
    s.shutdown()
    s.server_close()


def big_program(tmp_path):
    """A binary whose GSYM takes several pieces."""
    source = "\n".join(f"int function_number_{i}(int x)\n{{\n\tx += {i};\n\treturn x * {i + 3};\n}}"
                       for i in range(6000))
    return compile_c(tmp_path, "big", source + "\nint main(void) { return 0; }\n", ("-O0", "-g"))


def test_a_broken_connection_goes_on_where_it_was(breaker, tmp_path):
    big = big_program(tmp_path)
    expected = tmp_path / "big.gsym"
    assert unhex("extract", big, "-o", expected).returncode == 0
    result = unhex("push", big, "--url", "http://127.0.0.1:%d" % breaker.server_port)
    assert result.returncode == 0, result.stderr
    assert breaker.got == expected.read_bytes()
    assert breaker.requested >= 3
    assert len(breaker.got) > 65536 * 2


def test_a_connection_that_always_breaks_is_given_up(breaker, prog):
    breaker.breaks = 10 ** 6
    breaker.puts = 0

    def always(handler):
        handler.connection.close()
        handler.close_connection = True
    breaker.RequestHandlerClass = type("Always", (Breaker,), {"do_PUT": always})
    started = time.monotonic()
    result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port,
                   "--timeout", "20")
    assert time.monotonic() - started < 20 + SLACK
    assert result.returncode == 3, result.stderr


def refuse(handler, status, word):
    handler.answer({"error": {"code": word, "message": word}}, status)


def test_an_upload_that_is_busy_is_waited_for(breaker, prog):
    """As when a connection broke while the server was at work: its request goes on without us."""
    left = ["put", "finish"] * 5  # more than tries without a word would be

    def put(handler):
        if "put" not in left:
            return Breaker.do_PUT(handler)
        left.remove("put")
        handler.rfile.read(int(handler.headers["Content-Length"]))
        return refuse(handler, 409, "busy")

    def post(handler):
        if not handler.path.endswith("/finish") or "finish" not in left:
            return Breaker.do_POST(handler)
        left.remove("finish")
        return refuse(handler, 409, "busy")
    breaker.breaks = 0
    breaker.RequestHandlerClass = type("Busy", (Breaker,), {"do_PUT": put, "do_POST": post})
    result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port)
    assert result.returncode == 0, result.stderr + result.stdout
    assert left == []


def test_bytes_that_the_server_lost_are_sent_again(breaker, prog):
    """As after a power failure: it acknowledged bytes that had not reached the disk."""
    finishes = []

    def post(handler):
        if not handler.path.endswith("/finish"):
            return Breaker.do_POST(handler)
        finishes.append(len(breaker.got))
        if len(finishes) == 1:
            breaker.got = breaker.got[:100]
            return refuse(handler, 409, "incomplete")
        return Breaker.do_POST(handler)
    breaker.breaks = 0
    breaker.RequestHandlerClass = type("Loser", (Breaker,), {"do_POST": post})
    result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port)
    assert result.returncode == 0, result.stderr + result.stdout
    assert finishes == [breaker.size] * 2


def test_an_upload_that_the_server_forgot_is_announced_again(breaker, prog):
    """As after a power failure: the announcement had not reached the disk."""
    announced = []

    def post(handler):
        if handler.path.endswith("/finish") and len(announced) == 1:
            return refuse(handler, 404, "not_found")
        if handler.path == "/v1/uploads":
            announced.append(len(breaker.got))
            breaker.got = b""
        return Breaker.do_POST(handler)
    breaker.breaks = 0
    breaker.RequestHandlerClass = type("Forgetful", (Breaker,), {"do_POST": post})
    result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port)
    assert result.returncode == 0, result.stderr + result.stdout
    assert announced == [0, breaker.size]


def test_a_server_of_another_kind_is_said(breaker, prog):
    breaker.RequestHandlerClass = type("Web", (Breaker,), {
        "do_POST": lambda handler: (handler.rfile.read(int(handler.headers["Content-Length"])),
                                    handler.answer([1, 2, 3]))})
    fails(unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port), 3, "server")


def test_a_server_that_refuses_the_question_is_status_3(breaker, prog):
    breaker.RequestHandlerClass = type("Web", (Breaker,), {
        "do_POST": lambda handler: (handler.rfile.read(int(handler.headers["Content-Length"])),
                                    refuse(handler, 400, "bad"))})
    fails(unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port), 3, "HTTP 400")


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("call", ["query", "announce", "put", "finish"])
def test_a_server_is_not_queried_before_its_retry_after(breaker, prog, call, status):
    """Also more often than a server that says nothing would be tried."""
    times, left = [], [2, 1, 1, 1, 1]

    def later(handler, name, otherwise):
        if name != call:
            return otherwise(handler)
        times.append(time.monotonic())
        if not left:
            return otherwise(handler)
        handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        body = json.dumps({"error": {"code": "too_many", "message": "later"}}).encode()
        handler.send_response(status)
        handler.send_header("Retry-After", str(left.pop(0)))
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def post(handler):
        name = {"/v1/query": "query", "/v1/uploads": "announce"}.get(handler.path, "finish")
        return later(handler, name, Breaker.do_POST)
    breaker.breaks = 0
    breaker.RequestHandlerClass = type("Later", (Breaker,), {
        "do_POST": post, "do_PUT": lambda handler: later(handler, "put", Breaker.do_PUT)})
    result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port)
    assert result.returncode == 0, result.stderr + result.stdout
    waits = [b - a for a, b in zip(times, times[1:])]
    assert len(waits) == 5
    assert all(wait > reported - 0.1 for wait, reported in zip(waits, [2, 1, 1, 1, 1])), waits


def passes_after(breaker, n, status, body=b"<html>Bad</html>"):
    """The first n requests are answered as by a proxy before the server. Returns the times of all."""
    times = []

    def post(handler):
        times.append(time.monotonic())
        if len(times) > n:
            return Breaker.do_POST(handler)
        handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    breaker.breaks = 0
    breaker.RequestHandlerClass = type("Proxy", (Breaker,), {
        "do_POST": post, "version_string": lambda handler: "gateway/1.2"})
    return times


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_fault_of_some_seconds_does_not_fail_a_push(breaker, prog, status):
    times = passes_after(breaker, 5, status)
    result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port)
    assert result.returncode == 0, result.stderr + result.stdout
    assert times[5] - times[0] > 7
    assert result.stderr.count("retrying") == 1
    assert f"gateway/1.2 answered HTTP {status}" in result.stderr


def test_a_restart_of_the_server_does_not_fail_a_push(tmp_path, prog):
    server = Server(tmp_path / "data").start()
    server.stop()
    where = server.url.removeprefix("http://")
    process = subprocess.Popen([UNHEX, "push", prog], env={**os.environ, **server.env}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    pause_for(6, "a restart that takes several attempts of the client")
    server.start(where)
    out, err = process.communicate(timeout=60)
    assert server.stop() == 0
    assert process.returncode == 0 and "1 uploaded" in out, err
    assert f"cannot reach {server.url}: Connection refused; retrying" in err


def test_a_proxy_that_limits_requests_is_named(breaker, prog):
    passes_after(breaker, 1000, 413)
    result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port)
    assert result.returncode != 0
    assert "gateway/1.2 answered HTTP 413: a proxy limits the size of requests; in nginx, raise client_max_body_size" in (
        result.stderr), result


def test_a_server_that_says_later_than_the_deadline_is_given_up_at_once(breaker, prog):
    def post(handler):
        handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        handler.send_response(503)
        handler.send_header("Retry-After", "3600")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    breaker.RequestHandlerClass = type("Closed", (Breaker,), {"do_POST": post})
    started = time.monotonic()
    result = unhex("push", prog, "--url", "http://127.0.0.1:%d" % breaker.server_port)
    assert time.monotonic() - started < SLACK
    fails(result, 3, "503")
