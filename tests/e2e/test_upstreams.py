# SPDX-License-Identifier: Apache-2.0
"""unhex serve that asks others: servers of ours, debuginfod's, buckets and folders"""
import concurrent.futures
import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from unhex_server import Server
from http_api import Api
from tool import SOURCE, build_id, compile_c, lines, stripped, symbol, unhex
from upstream_stub import Stub, drip, endless, endless_gzip, endless_text, forward, hang, send
from waiting import wait_for

PATIENCE = 60  # seconds: for a machine that is busy


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("upstreams"), flags=("-O1", "-g"))


@pytest.fixture(scope="module")
def halves(prog):
    return stripped(prog, "prog.bin")


@pytest.fixture(scope="module")
def other(tmp_path_factory, prog, halves):
    """A server of ours that has the program, its files too."""
    s = Server(tmp_path_factory.mktemp("other") / "server").start()
    pushed = s.unhex("push", "--with-debuginfo", "-e", halves[0], "-d", halves[1])
    assert pushed.returncode == 0, pushed.stdout
    yield s
    assert s.stop() in (0, None)


@pytest.fixture
def servers(tmp_path):
    """Makes servers with these upstreams, and stops them."""
    made = []

    def make(*upstreams, more=(), start=True):
        s = Server(tmp_path / f"server{len(made)}")
        s.options = tuple(a for u in upstreams for a in ("--upstream", u)) + tuple(more)
        made.append(s)
        return s.start() if start else s

    yield make
    for s in made:
        assert s.stop() in (0, None)


@pytest.fixture
def stub():
    with Stub() as s:
        yield s


def hex_id(path):
    return build_id(path).removeprefix("gnu:")


def own(url, name, kind="unhex"):
    return f"{kind}+{url},name={name},private"


def get(server, path, headers=None):
    status, body, _ = raw(server, path, headers)
    return status, body


def raw(server, path, headers=None):
    request = urllib.request.Request(server.url + path, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read(), dict(answer.headers)


def ask(server, name, address="0x1"):
    status, doc, _ = Api(server)("POST", "/v1/symbolize",
                                 {"modules": [{"id": name, "addresses": [address]}]})
    assert status == 200, doc
    return doc["modules"][0]


def symbolize(server, name, address):
    """The answer when it is pending no more."""
    def settled():
        doc = ask(server, name, address)
        assert doc["status"] != "pending" or doc["retry_after"] >= 1
        return doc if doc["status"] != "pending" else None
    return wait_for(settled, PATIENCE, 0.1)


def explain(server, name):
    status, doc, _ = Api(server)("GET", f"/v1/explain/{name}")
    assert status == 200
    return doc


def fetched(server, path):
    """A file that some upstream has: a busy machine may need more than one question."""
    def there():
        status, body = get(server, path)
        return (status, body) if status == 200 else None
    return wait_for(there, PATIENCE, 0.2)


def names(doc):
    return [f["function"] for f in doc["frames"][0]]


def test_what_another_server_has_is_fetched_once_and_kept(servers, other, prog):
    s = servers(own(other.url, "central"))
    start, _ = symbol(prog, "outer")
    assert ask(s, build_id(prog), hex(start))["status"] in ("pending", "found")
    assert names(symbolize(s, build_id(prog), hex(start))) == ["outer"]
    status, doc, _ = Api(s)("GET", f"/v1/modules/{build_id(prog)}")
    (candidate,) = doc["candidates"]
    assert (candidate["origin"], candidate["quality"]) == ("upstream", "inlines")


def test_a_stripped_file_alone_is_named_better_once_an_upstream_has_sent_its_debug_file(servers, tmp_path, prog, halves):
    """An agent sends what a host has. The stripped file answers meanwhile, and no executable is requested."""
    digits, root = hex_id(prog), tmp_path / "root"
    place = root / ".build-id" / digits[:2]
    place.mkdir(parents=True)
    shutil.copy(halves[1], place / f"{digits[2:]}.debug")
    shutil.copy(prog, place / digits[2:])  # would be the executable
    s = servers(f"dir:{root},name=root")
    assert s.unhex("push", "-e", halves[0]).returncode == 0
    start, _ = symbol(prog, "outer")
    first = ask(s, build_id(prog), hex(start))
    assert first["status"] == "found" and "outer" not in names(first)
    wait_for(lambda: names(ask(s, build_id(prog), hex(start))) == ["outer"], PATIENCE, 0.2)
    status, doc, _ = Api(s)("GET", f"/v1/modules/{build_id(prog)}")
    assert status == 200 and {c["quality"] for c in doc["candidates"]} >= {"inlines"}
    assert "executable" not in {c["kind"] for c in doc["candidates"]}
    # The table of segments is in what came of the stripped file alone.
    of = {c["origin"]: c["sha256"] for c in doc["candidates"] if c["kind"] == "gsym"}
    for query, origin in (("", "upstream"), ("?segments=true", "upload"), ("?segments=false", "upstream")):
        status, _, headers = raw(s, f"/v1/gsym/{build_id(prog)}{query}", {"Authorization": f"Bearer {s.token}"})
        assert status == 200 and headers["ETag"] == f'"{of[origin]}"', query


def test_a_module_that_has_names_is_not_looked_for(servers, stub, tmp_path):
    program = compile_c(tmp_path, flags=("-O1",))
    s = servers(own(stub.url, "stub", "debuginfod"))
    assert s.unhex("push", program).returncode == 0
    start, _ = symbol(program, "outer")
    assert names(ask(s, build_id(program), hex(start))) == ["outer"]
    poor = stripped(program)[0].with_name("poor")
    subprocess.run(["gcc", "-O1", "-s", f"-Wl,--build-id=0x{os.urandom(16).hex()}", "-o", poor, program.with_suffix(".c")], check=True)
    assert s.unhex("push", poor).returncode == 0
    for _ in range(20):  # one fetch, however many requests there are
        assert ask(s, build_id(poor), hex(start))["status"] == "found"
    wait_for(lambda: stub.requested, PATIENCE)
    assert [path for path, _ in stub.requested] == [f"/buildid/{hex_id(poor)}/debuginfo"]


def test_debuginfods_clients_get_files_of_an_upstream_and_symbols_come_of_them(
        servers, other, prog, halves):
    s = servers(own(other.url, "central", "debuginfod") + f",token-file={token(other)}")
    start, _ = symbol(prog, "outer")
    for kind, path in zip(("executable", "debuginfo"), halves):
        assert fetched(s, f"/buildid/{hex_id(prog)}/{kind}") == (200, path.read_bytes())
    assert get(s, f"/buildid/{hex_id(prog)}/section/.debug_line")[0] == 200
    # What the stripped executable tells is replaced by what the debug file does.
    wait_for(lambda: names(symbolize(s, build_id(prog), hex(start))) == ["outer"], PATIENCE, 0.1)


def token(server):
    path = server.data.with_suffix(".token")
    path.write_text(server.token + "\n")
    return path


@pytest.mark.parametrize("layout", ["{0}/.build-id/{1}/{2}.debug", "{0}/{1}/{2}/debuginfo"])
def test_a_folder_in_build_id_layout_is_an_upstream(servers, tmp_path, prog, halves, layout):
    path = layout.format(tmp_path / "files", hex_id(prog)[:2], hex_id(prog)[2:])
    os.makedirs(os.path.dirname(path))
    shutil.copy(halves[1], path)
    s = servers(f"dir:{tmp_path}/files")
    start, _ = symbol(prog, "outer")
    assert names(symbolize(s, build_id(prog), hex(start))) == ["outer"]
    assert get(s, f"/buildid/{hex_id(prog)}/debuginfo") == (200, halves[1].read_bytes())
    (reported,) = explain(s, build_id(prog))["upstreams"]
    assert (reported["name"], reported["kind"], reported["state"]) == ("files", "dir", "in use")


def test_debians_debuginfod_is_an_upstream(servers, tmp_path, prog, halves):
    files = tmp_path / "served"
    files.mkdir()
    shutil.copy(halves[1], files)
    with debuginfod(tmp_path, files) as url:
        s = servers(own(url, "elfutils", "debuginfod"))
        assert fetched(s, f"/buildid/{hex_id(prog)}/debuginfo") == (200, halves[1].read_bytes())
        source = f"/buildid/{hex_id(prog)}/source{prog.with_suffix('.c')}"
        want = prog.with_suffix(".c").read_bytes()
        assert fetched(s, source) == (200, want)
    # From here now; and nobody knows any more what else there was.
    assert get(s, source) == (200, want)
    assert get(s, f"/buildid/{hex_id(prog)}/executable")[0] == 503


@contextlib.contextmanager
def debuginfod(tmp_path, files):
    """elfutils' server, when it has read the files."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for _ in range(20):  # a port may be taken by somebody else meanwhile
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen(["debuginfod", "-d", tmp_path / "index", "-p", str(port), "-F",
                                    files], env=env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(lambda: process.poll() is not None or is_ready(url), PATIENCE, 0.1, "debuginfod is ready")
            if process.poll() is None:
                yield url
                return
        finally:
            process.kill()
            process.wait()
    raise RuntimeError("debuginfod did not start")


def is_ready(url):
    try:
        with urllib.request.urlopen(url + "/metrics", timeout=PATIENCE) as answer:
            text = answer.read().decode()
    except OSError:
        return False
    return 'thread_work_total{role="traverse"} 1' in text and \
        'thread_work_pending{role="scan"} 0' in text and 'role="scan"' in text


def test_concurrent_requests_for_a_file_are_one_query(servers, stub, prog):
    gate = threading.Event()

    def slow(handler, s):
        gate.wait(PATIENCE)
        send(404)(handler, s)

    stub.otherwise = slow
    s = servers(own(stub.url, "stub", "debuginfod"))
    path = f"/buildid/{hex_id(prog)}/debuginfo"
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        requested = [pool.submit(get, s, path) for _ in range(20)]
        wait_for(lambda: stub.count(path) > 0)
        # They hold no threads: others are answered meanwhile.
        assert get(s, "/healthz")[0] == 200
        gate.set()
        assert {a.result()[0] for a in requested} == {404}
    assert stub.count(path) == 1


def test_a_missing_module_is_remembered_over_a_restart_until_it_expires(servers, stub):
    s = servers(own(stub.url, "stub", "debuginfod"), start=False,
                more=("--set", "upstream-absent=1h"))
    s.start()
    name = "ab" * 20
    assert symbolize(s, f"gnu:{name}", "0x1")["status"] == "missing"
    assert get(s, f"/buildid/{name}/debuginfo")[0] == 404
    first = stub.count(name)
    assert first == 2  # debuginfo, and executable for the symbols
    s.stop()
    s.start()
    assert symbolize(s, f"gnu:{name}", "0x1")["status"] == "missing"
    assert get(s, f"/buildid/{name}/debuginfo")[0] == 404
    assert stub.count(name) == first
    (reported,) = explain(s, f"gnu:{name}")["upstreams"]
    assert [(a["artifact"], a["outcome"], a["status"]) for a in reported["answers"]] == \
        [("debuginfo", "absent", 404), ("executable", "absent", 404)]
    assert all("not_again_before" in a for a in reported["answers"])
    s.stop()
    s.options = tuple(o.replace("=1h", "=1s") for o in s.options)
    s.start()

    def asked_again():
        assert symbolize(s, f"gnu:{name}", "0x1")["status"] == "missing"
        return stub.count(name) > first
    wait_for(asked_again, PATIENCE, 0.2)


def test_only_gnu_ids_go_to_debuginfod(servers, stub):
    s = servers(own(stub.url, "stub", "debuginfod"))
    assert symbolize(s, "file:" + "ab" * 16, "0x1")["status"] == "missing"
    assert symbolize(s, "go:some/text", "0x1")["status"] == "missing"
    assert stub.requested == []
    assert any("GNU" in line for line in explain(s, "go:some%2Ftext")["advice"])


def test_a_dead_upstream_is_skipped_for_the_next_one(servers, stub, other, prog, halves):
    stub.otherwise = hang
    s = servers(own(stub.url, "dead", "debuginfod"),
                own(other.url, "central", "debuginfod") + f",token-file={token(other)}")
    assert fetched(s, f"/buildid/{hex_id(prog)}/debuginfo") == (200, halves[1].read_bytes())


@pytest.mark.parametrize("how,status", [
    (hang, 503), (drip, 404), (endless, 404), (send(500), 503), (send(200, b"no ELF file"), 404), (send(200), 503),
    (send(302, Location="http://169.254.169.254/latest/"), 404), (send(302, Location="file:///etc/passwd"), 503),
    (send(302, Location="http://[::1]:1/"), 404)],
    ids=["hangs", "drips", "endless", "500", "wrong", "empty", "metadata", "file", "loopback"])
def test_a_bad_upstream_costs_a_moment_and_is_reported(servers, stub, how, status):
    """A 404 if it would send the same again, a 503 if it may have the file."""
    stub.otherwise = how
    s = servers(own(stub.url, "bad", "debuginfod"), more=("--set", "upstream-bytes=1M"))
    name = "cd" * 20
    assert get(s, f"/buildid/{name}/debuginfo")[0] == status
    assert get(s, "/readyz")[0] == 200
    (said,) = wait_for(lambda: explain(s, f"gnu:{name}")["upstreams"][0]["answers"], PATIENCE, 0.1)
    assert said["outcome"] == "failed" and said["says"]
    if how is hang:
        assert "deadline exceeded" in said["says"]


@pytest.mark.parametrize("how,says", [(endless_gzip, "Content-Encoding"), (endless_text, "begins with 6e 6f 20 45")])
def test_an_answer_without_end_that_is_no_file_holds_a_request_for_a_moment(servers, stub, how, says):
    stub.otherwise = how
    s = servers(own(stub.url, "bad", "debuginfod"))
    name, begun = "ce" * 20, time.monotonic()
    assert get(s, f"/buildid/{name}/debuginfo")[0] == 404
    assert time.monotonic() - begun < 20
    (reported,) = explain(s, f"gnu:{name}")["upstreams"]
    assert {a["outcome"] for a in reported["answers"]} == {"failed"} and says in reported["answers"][0]["says"], reported


@pytest.mark.parametrize("garbage,says", [
    (b"\n <!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>", "error page"),
    (b"\xef\xbb\xbf<html><title>Sign in</title></html>", "error page"),
    (b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', "error page"),
    (b"\x7fELF\x02\x01\x01\0\0\0", "not text"),
    (b"\x1f\x8b\x08\0\0\0", "not text"),
    (b"x" * ((64 << 20) + 1), ""),
], ids=["page", "sign-in", "bucket", "binary", "packed", "large"])
def test_a_source_that_cannot_be_one_is_not_kept(servers, stub, garbage, says):
    name, path = "ab" * 20, f"/buildid/{'ab' * 20}/source/src/prog.c"
    stub.answers[path] = send(200, garbage)
    s = servers(own(stub.url, "stub", "debuginfod"))
    assert get(s, path)[0] == 404
    (reported,) = explain(s, f"gnu:{name}")["upstreams"]
    (said,) = reported["answers"]
    assert said["outcome"] == "failed" and says in said["says"], said
    assert get(s, path)[0] == 404
    assert stub.count(path) == 1


@pytest.mark.parametrize("ending,text", [
    ("c", b"int main(void) { return 0; }\n"),
    ("c", "int größe;\n".encode("utf-16")),
    ("c", "int größe;\n".encode("latin-1")),
    ("html", b"<!DOCTYPE html><html></html>"),
    ("c", b"/* <html> */\n"),
])
def test_a_source_that_can_be_one_is_kept(servers, stub, ending, text):
    path = f"/buildid/{'ab' * 20}/source/src/prog.{ending}"
    stub.answers[path] = send(200, text)
    s = servers(own(stub.url, "stub", "debuginfod"))
    assert fetched(s, path) == (200, text)
    stub.otherwise = stub.answers[path] = send(404)
    assert get(s, path) == (200, text)


@pytest.mark.parametrize("packed", [False, True])
def test_a_source_of_another_version_is_known_by_its_hash(servers, stub, tmp_path, packed):
    """clang writes the MD5 of each source file into line tables of DWARF 5."""
    source = tmp_path / "prog.c"
    source.write_text(SOURCE)
    program = tmp_path / "prog"
    subprocess.run([shutil.which("clang-14") or "clang", "-gdwarf-5", "-Wl,--build-id", *(["-gz"] if packed else []),
                    source.name, "-o", program], cwd=tmp_path, check=True)
    path = f"/buildid/{hex_id(program)}/source{source}"
    stub.answers[path] = send(200, source.read_bytes() + b"// edited\n")
    s = servers(own(stub.url, "stub", "debuginfod"))
    assert s.unhex("push", "--with-debuginfo", program).returncode == 0
    assert get(s, path)[0] == 404
    (reported,) = explain(s, build_id(program))["upstreams"]
    said = [a for a in reported["answers"] if a["artifact"].startswith("source")]
    assert [a["outcome"] for a in said] == ["failed"]
    assert "another version" in said[0]["says"]
    # A file of which the tables say nothing is taken, and so is the right one.
    other = path.replace("prog.c", "other.c")
    stub.answers[other] = send(200, b"int other;\n")
    assert fetched(s, other) == (200, b"int other;\n")
    right = servers(own(stub.url, "stub", "debuginfod"))
    stub.answers[path] = send(200, source.read_bytes())
    assert right.unhex("push", "--with-debuginfo", program).returncode == 0
    assert fetched(right, path) == (200, source.read_bytes())


def test_an_upstream_that_fails_again_and_again_is_suspended_and_tried_again(servers, stub):
    stub.otherwise = send(500)
    s = servers(own(stub.url, "stub", "debuginfod"))
    for i in range(3):
        assert get(s, f"/buildid/{i:040x}/debuginfo")[0] == 503
    requested = len(stub.requested)
    (reported,) = explain(s, "gnu:" + "00" * 20)["upstreams"]
    assert "suspended" in reported["state"] and reported["suspended_for_s"] <= 5
    text = get(s, "/metrics")[1].decode()
    assert list(text_string_to_metric_families(text))
    assert 'unhex_upstream_suspended{upstream="stub"} 1' in text
    assert 'unhex_upstream_answers_total{upstream="stub",outcome="failed"} 3' in text
    assert get(s, f"/buildid/{99:040x}/debuginfo")[0] == 503
    assert len(stub.requested) in (requested, requested + 1)  # one, if 5 s have passed
    stub.otherwise = send(404)
    unknown = itertools.count(100)

    def in_use():
        assert get(s, f"/buildid/{next(unknown):040x}/debuginfo")[0] in (404, 503)
        (reported,) = explain(s, "gnu:" + "00" * 20)["upstreams"]
        return reported["state"] == "in use"
    wait_for(in_use, PATIENCE, 0.2)


@pytest.mark.parametrize("status", [429, 503])
def test_an_upstream_is_suspended_until_its_retry_after(servers, stub, status):
    """At the first answer, and for longer than after failures that say nothing."""
    stub.otherwise = send(status, Retry_After="120")
    s = servers(own(stub.url, "stub", "debuginfod"))
    assert get(s, f"/buildid/{'aa' * 20}/debuginfo")[0] == 503
    requested = len(stub.requested)
    assert requested == 1
    (reported,) = explain(s, "gnu:" + "00" * 20)["upstreams"]
    assert "suspended" in reported["state"] and 60 < reported["suspended_for_s"] <= 120
    for i in range(5):
        assert get(s, f"/buildid/{i:040x}/debuginfo")[0] == 503
    assert len(stub.requested) == requested


def test_an_absence_is_valid_for_as_long_as_the_upstream_says(servers, stub):
    """As unhex servers say of a 404 that may only be temporary."""
    stub.otherwise = send(404, Retry_After="2")
    s = servers(own(stub.url, "stub", "debuginfod"), more=("--set", "upstream-absent=1h"))
    path = f"/buildid/{'ab' * 20}/debuginfo"
    began = time.monotonic()
    assert get(s, path)[0] == 404
    assert stub.count(path) == 1

    def asked_again():
        assert get(s, path)[0] == 404
        return stub.count(path) != 1
    wait_for(asked_again, PATIENCE, 0.1)
    assert stub.count(path) == 2 and time.monotonic() - began >= 1


def test_another_unhex_server_is_queried_again_after_retry_after(servers, stub, prog, other):
    """It is fetching the file itself: 503 with Retry-After, a few times."""
    times = []
    path = f"/v1/gsym/{build_id(prog)}"

    def later(handler, s):
        times.append(time.monotonic())
        if len(times) < 3:
            return send(503, Retry_After="2")(handler, s)
        return forward(other)(handler, s)
    stub.answers[path] = later
    s = servers(own(stub.url, "stub"))
    wait_for(lambda: symbolize(s, build_id(prog), "0x1") and len(times) >= 3, PATIENCE, 0.1)
    waits = [b - a for a, b in zip(times, times[1:])]
    assert len(waits) == 2 and all(wait > 1.9 for wait in waits), waits
    (reported,) = explain(s, build_id(prog))["upstreams"]
    assert reported["state"] == "in use"


def test_an_address_of_this_machine_must_be_allowed(servers, stub, prog):
    s = servers(f"debuginfod+{stub.url},name=inside")
    assert get(s, f"/buildid/{hex_id(prog)}/debuginfo")[0] == 404
    assert stub.requested == []
    (reported,) = explain(s, build_id(prog))["upstreams"]
    assert "not public" in reported["answers"][0]["says"]


def log_of(server):
    return server.data.with_suffix(".log").read_text()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "10.1.2.3", "localhost"])
def test_a_private_address_without_its_option_is_said_at_the_start(servers, host):
    """A name is resolved meanwhile."""
    s = servers(f"debuginfod+http://{host}:1,name=inside", f"debuginfod+http://{host}:2,name=allowed,private")
    wait_for(lambda: "event=upstream " in log_of(s), PATIENCE)
    (line,) = [line for line in log_of(s).splitlines() if "event=upstream " in line]
    assert "level=warning" in line and "upstream=inside" in line and "add ,private" in line, line


def test_a_private_address_without_its_option_is_said_at_its_use(servers, stub, prog):
    s = servers(f"debuginfod+{stub.url},name=inside")
    assert get(s, f"/buildid/{hex_id(prog)}/debuginfo")[0] == 404
    (line, *_) = [line for line in log_of(s).splitlines() if "event=fetch " in line]
    assert "level=warning" in line and "not public; add ,private to the upstream" in line, line
    explained = explain(s, build_id(prog))
    assert "add ,private to the upstream" in explained["upstreams"][0]["answers"][0]["says"]
    assert any("upstream inside has an address that is not public: add ,private" in a for a in explained["advice"]), explained


def test_two_servers_that_name_each_other_do_not_loop(servers, stub):
    """Whichever is queried first, and both at once."""
    second = servers(own(stub.url, "first"))
    first = servers(own(second.url, "second"))
    stub.otherwise = forward(first)
    for i, s in enumerate((first, second)):
        assert symbolize(s, f"gnu:{i:040x}", "0x1")["status"] == "missing"
        assert get(s, f"/v1/gsym/{i + 10:040x}")[0] == 404
        assert get(s, f"/buildid/{i + 20:040x}/debuginfo")[0] == 404
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = [pool.submit(symbolize, s, "gnu:" + "ee" * 20, "0x1") for s in (first, second)]
        assert {b.result()["status"] for b in both} == {"missing"}
    assert len(stub.requested) < 60


def test_explain_of_an_id_tells_of_candidates_and_upstreams(servers, stub, prog):
    s = servers(own(stub.url, "stub", "debuginfod"))
    name = build_id(prog)
    assert symbolize(s, name, "0x1")["status"] == "missing"
    reported = s.unhex("explain", name)
    assert reported.returncode == 1, reported
    for words in (f"{name}: missing", "stub (debuginfod): in use", "debuginfo: absent (status 404)",
                  "not again before", "unhex push FILE"):
        assert words in reported.stdout, reported.stdout
    assert s.unhex("push", prog).returncode == 0
    start, _ = symbol(prog, "outer")
    reported = s.unhex("explain", name, hex(start))
    assert reported.returncode == 0 and "outer" in reported.stdout and "inlines" in reported.stdout, reported
    (doc,) = lines(s.unhex("explain", "--json", name))
    assert doc["status"] == "found" and doc["upstreams"][0]["answers"]
    assert s.unhex("explain", name, "0x1").returncode == 1
    reported = unhex("explain", name, "--url", "http://127.0.0.1:1")
    assert reported.returncode == 3 and "cannot reach" in reported.stderr


def test_a_token_goes_to_its_own_host_alone(servers, stub, tmp_path):
    with Stub() as elsewhere:
        stub.otherwise = send(302, Location=elsewhere.url + "/there")
        (tmp_path / "token").write_text("very-secret\n")
        s = servers(own(stub.url, "stub", "debuginfod") + f",token-file={tmp_path}/token")
        assert get(s, f"/buildid/{'ab' * 20}/debuginfo")[0] == 404
        assert stub.requested[0][1]["Authorization"] == "Bearer very-secret"
        assert elsewhere.requested == []  # its address is not this upstream's own
    s.stop()
    assert "very-secret" not in s.data.with_suffix(".log").read_text()


def test_a_namespace_chooses_its_upstreams(servers, stub):
    with Stub() as second:
        s = servers(own(stub.url, "one", "debuginfod"), own(second.url, "two", "debuginfod"))
        for names_, requested in (("two", 0), ("none", 0), ("all", 2)):
            name = f"gnu:{names_.encode().hex():0>40}"
            limit = unhex("store", "limit", "default", "--data", s.data, "--upstreams", names_)
            assert limit.returncode == 0, limit.stderr
            assert symbolize(s, name, "0x1")["status"] == "missing"
            assert stub.count(name[4:]) == requested
            assert second.count(name[4:]) == (0 if names_ == "none" else 2)
            reported = {u["name"]: u["state"] for u in explain(s, name)["upstreams"]}
            assert ("not used" in reported["one"]) == (requested == 0)


@pytest.mark.parametrize("text,words", [
    ("https://example.com", "expected unhex+URL"), ("unhex+ftp://x", "expected unhex+URL"),
    ("dir:relative", "expected"), ("unhex+http://a:b@x", "user name"),
    ("unhex+http://x,colour=red", "unknown upstream option"), ("unhex+http://x,name=UP", "name"),
    ("unhex+http://x,token-file=/no/such", "token file"),
])
def test_an_upstream_that_makes_no_sense_is_refused(tmp_path, text, words):
    result = unhex("serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "d", "--upstream", text)
    assert result.returncode != 0 and words in result.stderr, result.stderr
    assert not (tmp_path / "d").exists()


def test_the_debuginfod_servers_of_the_system_are_upstreams(servers, tmp_path, prog, halves):
    """DEBUGINFOD_URLS, in which Fedora has other words as well; the list in the configuration replaces them."""
    program, debug = halves
    with Stub() as stub:  # noqa: F811
        stub.answers[f"/buildid/{hex_id(prog)}/debuginfo"] = send(200, debug.read_bytes())
        environment = {"DEBUGINFOD_URLS": f"ima:enforcing {stub.url} {stub.url}/again ftp://nothing ima:ignore"}
        named, off, other = (servers(start=False) for _ in range(3))
        off.options, other.options = ("--set", "upstreams="), ("--upstream", f"dir:{tmp_path}")
        for server in (named, off, other):
            server.environment = environment
            server.start()
            assert server.unhex("push", "-e", program).returncode == 0
        start, _ = symbol(prog, "outer")
        wait_for(lambda: names(ask(named, build_id(prog), hex(start))) == ["outer"], PATIENCE, 0.2)
        log = named.data.with_suffix(".log").read_text()
        assert log.count("from=DEBUGINFOD_URLS") == 1 and f"url={stub.url} " in log
        before = len(stub.requested)
        for server in (off, other):
            symbolize(server, "gnu:" + "12" * 20, "0x1")
            assert "DEBUGINFOD_URLS" not in server.data.with_suffix(".log").read_text()
        assert len(stub.requested) == before
