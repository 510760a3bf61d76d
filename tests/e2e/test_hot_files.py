# SPDX-License-Identifier: Apache-2.0
"""Files that are requested again and again: answered from memory, and never from yesterday's."""
import http.client
import threading

from http_api import Api
from tool import build_id, compile_c, stripped


def get(api, path, headers=None):
    """Status, bytes and header lines, on a connection that stays open."""
    api.connection.request("GET", path, headers=headers or {})
    answer = api.connection.getresponse()
    return answer.status, answer.read(), dict(answer.headers)


def push(server, exe, debug=None):
    reported = server.unhex("push", "--with-debuginfo", "-e", exe, *(["-d", debug] if debug else []))
    assert reported.returncode == 0, reported.stdout + reported.stderr


def test_a_small_file_is_the_same_each_time_and_in_parts(server, tmp_path):
    prog = compile_c(tmp_path)
    push(server, prog)
    api, whole = Api(server), prog.read_bytes()
    path = f"/buildid/{build_id(prog).removeprefix('gnu:')}/debuginfo"
    first = get(api, path)
    assert first[:2] == (200, whole)
    for _ in range(5):
        again = get(api, path)
        assert again[:2] == first[:2]
        for name in ("ETag", "Content-Type", "Content-Length", "Last-Modified", "Cache-Control",
                     "X-DEBUGINFOD-SIZE", "X-DEBUGINFOD-FILE"):
            assert again[2][name] == first[2][name]
    assert get(api, path, {"Range": "bytes=100-199"})[:2] == (206, whole[100:200])
    assert get(api, path, {"Range": f"bytes={len(whole)}-"})[0] == 416
    assert get(api, path, {"If-None-Match": first[2]["ETag"]})[:2] == (304, b"")
    api.connection.request("HEAD", path)
    answer = api.connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    assert int(answer.headers["Content-Length"]) == len(whole)


def test_deletions_and_uploads_are_seen_at_once(server, tmp_path):
    prog = compile_c(tmp_path)
    exe, debug = stripped(prog)
    api = Api(server)
    name = build_id(prog).removeprefix("gnu:")
    for _ in range(3):
        push(server, exe)
        assert get(api, f"/buildid/{name}/executable")[:2] == (200, exe.read_bytes())
        assert get(api, f"/buildid/{name}/debuginfo")[0] == 404
        push(server, exe, debug)
        assert get(api, f"/buildid/{name}/debuginfo")[:2] == (200, debug.read_bytes())
        assert Api(server)("DELETE", f"/v1/modules/gnu:{name}")[0] == 204
        assert get(api, f"/buildid/{name}/executable")[0] == 404
        assert get(api, f"/buildid/{name}/debuginfo")[0] == 404


def test_clients_that_vanish_take_nothing_along(server, tmp_path):
    prog = compile_c(tmp_path)
    push(server, prog)
    path = f"/buildid/{build_id(prog).removeprefix('gnu:')}/debuginfo"
    whole = prog.read_bytes()

    def ask(times):
        for i in range(times):
            api = Api(server)
            if i % 2:
                assert get(api, path)[:2] == (200, whole)
            else:
                api.connection.request("GET", path)
            api.connection.close()

    threads = [threading.Thread(target=ask, args=(50,)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    connection = http.client.HTTPConnection(Api(server).url.netloc, timeout=60)
    connection.request("GET", path)
    assert connection.getresponse().read() == whole
