# SPDX-License-Identifier: Apache-2.0
"""Outputs of commands: opened before the work, whole or not at all, and nothing left after a signal."""
import http.server
import os
import pathlib
import signal
import ssl
import subprocess
import threading

import pytest

from unhex_server import Server
from live import may_record
from tool import UNHEX, compile_c, fails, unhex
from waiting import pause_for, wait_for

FOLDED = "main;work 10\n"


def commands(folder):
    """Each command with an output, without that output's name."""
    (folder / "in.folded").write_text(FOLDED)
    (folder / "crash.txt").write_text("./prog(+0x1139) [0x555555555139]\n")
    prog = folder / "prog"
    if not prog.exists():
        compile_c(folder)
    return {
        "extract": ["extract", prog, "-o"],
        "symbolize": ["symbolize", folder / "in.folded", "-o"],
        "crash": ["symbolize", folder / "crash.txt", "-o"],
        "flame": ["flame", folder / "in.folded", "--to", "html", "-o"],
        "record": ["record", "-o"],
        "record perf.data": ["record", "--to", "perf.data", "-o"],
        "flame --": ["flame", "--to", "html", "-o"],
    }


NAMES = ["extract", "symbolize", "crash", "flame", "record", "record perf.data", "flame --"]


def arguments(name, folder, output):
    """The command line; one that records would leave a mark."""
    args = [*commands(folder)[name], output]
    return args if name not in NAMES[4:] else [*args, "--", "touch", folder / "mark"]


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_cannot_be_written_to_is_said_before_the_work(name, tmp_path):
    for output in ("/dev/null/out", tmp_path / "missing/out"):
        fails(unhex(*arguments(name, tmp_path, output)), 1, output)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", ["ro", "size=64k"])
def test_a_full_or_read_only_disk_names_the_output_and_leaves_what_was_there(name, options, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    disk = tmp_path / "disk"
    disk.mkdir()
    output = disk / "out"
    args = arguments(name, tmp_path, output)
    script = f"""
mount -t tmpfs -o size=64k none {disk} && echo before > {output} || exit 99
[ {options} != ro ] || mount -o remount,ro {disk}
[ {options} = ro ] || head -c 1M /dev/zero > {disk}/full 2>/dev/null
"$@"
status=$?
[ "$(cat {output})" = before ] && [ -z "$(ls -A {disk} | grep -v -x -e out -e full)" ] || exit 98
exit $status
"""
    r = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", UNHEX, *map(str, args)], capture_output=True, text=True)
    fails(r, 1, output)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_temporary_file(number, tmp_path):
    """The command waits for its input, with its output open."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "named.folded").write_text("before")
    with subprocess.Popen([UNHEX, "symbolize", "-", "--follow", "-o", folder / "named.folded"], stdin=subprocess.PIPE,
                          stderr=subprocess.DEVNULL,  # the signal may be ignored here, as under nohup
                          preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as process:
        process.stdin.write(b"./prog(+0x1139) [0x555555555139]\n")
        process.stdin.flush()
        wait_for(lambda: len(list(folder.iterdir())) == 2)
        process.send_signal(number)
        assert process.wait(timeout=60) == -number
    assert [p.name for p in folder.iterdir()] == ["named.folded"]
    assert (folder / "named.folded").read_text() == "before"


@pytest.mark.skipif(not may_record(), reason="this machine's kernel lets nobody record")
@pytest.mark.parametrize("verb", ["record", "flame"])
def test_a_recording_without_samples_replaces_nothing(verb, tmp_path):
    out = tmp_path / "out.html"
    out.write_text("before")
    r = unhex(verb, "-F", "1", "-o", out, "--", "false")
    assert r.returncode == 1 and f"{out}: not written, because there are no samples" in r.stderr, r.stderr
    assert out.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["out.html"]


@pytest.mark.skipif(not may_record(), reason="this machine's kernel lets nobody record")
def test_a_recording_is_kept_when_what_follows_fails(tmp_path):
    loop = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    r = unhex("flame", "-F", "997", "--value", "nosuch", "-o", tmp_path / "x.html", "--", "sh", "-c", loop,
              env={"TMPDIR": str(tmp_path)})
    assert r.returncode != 0
    (kept,) = tmp_path.glob("unhex-*.data")
    assert f"kept the recording in {kept}" in r.stderr
    assert kept.stat().st_mode & 0o077 == 0
    assert unhex("symbolize", kept).returncode == 0


@pytest.mark.skipif(not may_record(), reason="this machine's kernel lets nobody record")
def test_a_recording_with_stacks_is_for_its_user_alone(tmp_path):
    out = tmp_path / "x.perf.data"
    out.touch(0o644)
    loop = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    assert unhex("record", "-F", "997", "-o", out, "--", "sh", "-c", loop).returncode == 0
    assert out.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("verb", ["flame", "top", "record"])
def test_a_program_in_the_place_of_a_profile_leads_on(verb, tmp_path):
    prog = compile_c(tmp_path)
    fails(unhex(verb, prog), 2, f"unhex {verb} -- ")


@pytest.mark.parametrize("verb", ["push"])
def test_a_bad_url_names_its_source(verb, tmp_path):
    key = pathlib.Path(tmp_path / "key")
    key.write_text("secret\n")
    fails(unhex(verb, "--url", "not a url", "--token-file", key, "/bin/true"), 2, "--url")
    fails(unhex(verb, "--token-file", key, "/bin/true", env={"UNHEX_URL": "not a url"}), 2, "UNHEX_URL")


@pytest.mark.parametrize("args", [("push", "PROG"), ("lookup", "gnu:00112233445566778899", "0x10"),
                                  ("explain", "gnu:00112233445566778899")], ids=lambda args: args[0])
def test_a_self_signed_certificate_leads_to_cacert(args, tmp_path):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        prog = compile_c(tmp_path)
        r = unhex(*(prog if word == "PROG" else word for word in args), "--url",
                  f"https://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert r.returncode == 3 and "--cacert FILE" in r.stderr, (r.returncode, r.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("threads", [[], ["--threads", "1"]], ids=["threads", "one thread"])
def test_a_signal_in_the_middle_of_an_extraction_keeps_the_output_before(number, threads, tmp_path):
    out, hits = tmp_path / "out.gsym", 0
    for step in range(1, 100):  # until some signals have come while it works, however slow the machine is
        out.write_text("before")
        with subprocess.Popen([UNHEX, "extract", *threads, UNHEX, "-o", out], stderr=subprocess.DEVNULL,
                              preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as process:
            pause_for(0.02 * step, "a signal at any moment")
            process.send_signal(number)
            status = process.wait(timeout=60)
        assert [p.name for p in tmp_path.iterdir()] == ["out.gsym"], step
        # It may have been replaced a moment before the signal came, but then by a whole file.
        assert out.read_bytes()[:6] == b"before" or unhex("gsym", "verify", out).returncode == 0, step
        hits += status in (-number, 128 + number)
        if status == 0:
            break
    assert hits, "no signal came in time"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_split_keeps_the_program(number, tmp_path):
    whole = pathlib.Path(UNHEX).read_bytes()
    ended = set()
    for delay in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2):
        program = tmp_path / "program"
        program.write_bytes(whole)
        program.chmod(0o755)
        with subprocess.Popen([UNHEX, "split", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            pause_for(delay, "a signal at any moment")
            process.send_signal(number)
            ended.add(process.wait(timeout=60))
        names = {p.name for p in tmp_path.iterdir()}
        assert names <= {"program", "program.debug"}, delay
        assert program.read_bytes() == whole or "program.debug" in names, delay
        (tmp_path / "program.debug").unlink(missing_ok=True)
    assert ended & {-number, 128 + number}, "no signal came in time"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("verb", ["extract", "split"])
def test_a_disk_that_fills_in_the_middle_names_the_output(verb, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    out = disk / ("out" if verb == "extract" else "prog.debug")
    size = "64k" if verb == "extract" else f"{os.path.getsize(UNHEX) // 1024 + 200}k"
    args = ["extract", UNHEX, "-o", out] if verb == "extract" else ["split", disk / "prog"]
    script = f"""
mount -t tmpfs -o size={size} none {disk} || exit 99
[ {verb} = split ] && cp {UNHEX} {disk}/prog
[ {verb} = extract ] && echo before > {out}
"$@"
status=$?
ls -A {disk}
[ {verb} = split ] && cmp {UNHEX} {disk}/prog || cat {out}
exit $status
"""
    r = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", UNHEX, *map(str, args)], capture_output=True, text=True)
    fails(r, 1, out, "No space left on device")
    assert r.stdout == ("out\nbefore\n" if verb == "extract" else "prog\n"), r


@pytest.mark.parametrize("verb", ["split", "clone", "store backup"])
def test_a_folder_that_cannot_be_made_is_named(verb, tmp_path):
    prog = compile_c(tmp_path)
    server = Server(tmp_path / "store").start()
    assert server.stop() in (0, None)
    store = server.data
    for output in ("/dev/null/out", "/proc/out"):
        args = {"split": ["split", prog, "-o", output], "clone": ["clone", store, output],
                "store backup": ["store", "backup", output, "--data", store]}[verb]
        before = prog.read_bytes()
        fails(unhex(*args), 1, output)
        assert prog.read_bytes() == before
