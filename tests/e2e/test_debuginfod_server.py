# SPDX-License-Identifier: Apache-2.0
"""unhex serve as a debuginfod server, with the clients that people have"""
import http.client
import os
import shutil
import subprocess

import pytest

from http_api import Api
from tool import build_id, compile_c, stripped, symbol, unhex


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("debuginfod"), flags=("-O1", "-g"))


@pytest.fixture(scope="module")
def halves(prog):
    return stripped(prog, "prog.bin")


@pytest.fixture(scope="module")
def pushed(server_of_module, halves):
    exe, debug = halves
    result = server_of_module.unhex("push", "--with-debuginfo", "-e", exe, "-d", debug)
    assert result.returncode == 0, result.stdout
    return server_of_module


def client(pushed, tmp_path, *args, **more):
    """A program that speaks to this server alone, with a cache of its own."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8",
           "DEBUGINFOD_URLS": pushed.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
           "DEBUGINFOD_TIMEOUT": "20"}
    return subprocess.run([str(a) for a in args], env=env, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)


def raw(pushed, method, path, headers=None):
    connection = http.client.HTTPConnection(Api(pushed).url.hostname, Api(pushed).url.port)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read(), dict(answer.headers)


def hex_id(path):
    return build_id(path).removeprefix("gnu:")


# real clients

def test_debuginfod_find_gets_both_files_and_a_section(pushed, prog, halves, tmp_path):
    for kind, path in zip(("executable", "debuginfo"), halves):
        got = client(pushed, tmp_path, "debuginfod-find", kind, hex_id(prog))
        assert got.returncode == 0, got.stdout
        with open(got.stdout.strip(), "rb") as f:
            assert f.read() == path.read_bytes()
    got = client(pushed, tmp_path, "debuginfod-find", "section", hex_id(prog), ".debug_line")
    assert got.returncode == 0, got.stdout
    want = tmp_path / "want"
    subprocess.run(["objcopy", "--dump-section", f".debug_line={want}", halves[1], os.devnull],
                   check=True)
    with open(got.stdout.strip(), "rb") as f:
        assert f.read() == want.read_bytes()
    # Code is in no debug file: it comes from the executable.
    got = client(pushed, tmp_path, "debuginfod-find", "section", hex_id(prog), ".text")
    assert got.returncode == 0, got.stdout
    assert client(pushed, tmp_path, "debuginfod-find", "debuginfo", "ab" * 20).returncode != 0


def test_gdb_sees_lines_of_a_stripped_program(pushed, prog, halves, tmp_path):
    alone = tmp_path / "stripped"
    shutil.copy(halves[0], alone)
    reported = client(pushed, tmp_path, "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on",
                  "-ex", "break outer", "-ex", "run", "-ex", "backtrace", alone)
    assert "outer (x=1)" in reported.stdout and f"{prog.name}.c" in reported.stdout, reported.stdout
    assert "main" in reported.stdout


def test_eu_addr2line_names_a_stripped_program(pushed, prog, halves, tmp_path):
    alone = tmp_path / "stripped"
    shutil.copy(halves[0], alone)
    start, _ = symbol(prog, "outer")
    reported = client(pushed, tmp_path, "eu-addr2line", "-f", "-e", alone, hex(start))
    assert reported.stdout.splitlines()[0] == "outer", reported.stdout
    assert f"{prog.name}.c:" in reported.stdout


# what a client may ask besides

def test_headers_are_those_that_clients_read(pushed, prog, halves):
    status, body, headers = raw(pushed, "GET", f"/buildid/{hex_id(prog)}/debuginfo")
    assert status == 200 and body == halves[1].read_bytes()
    assert headers["Content-Type"] == "application/octet-stream"
    assert int(headers["X-DEBUGINFOD-SIZE"]) == int(headers["Content-Length"]) == len(body)
    assert headers["X-DEBUGINFOD-FILE"] == halves[1].name
    assert headers["Cache-Control"] == "private, no-cache" and headers["Last-Modified"].endswith(" GMT")
    assert str(halves[1].parent) not in str(headers)
    assert raw(pushed, "HEAD", f"/buildid/{hex_id(prog)}/debuginfo")[2]["Content-Length"] == \
        headers["Content-Length"]
    again = {"If-None-Match": headers["ETag"]}
    assert raw(pushed, "GET", f"/buildid/{hex_id(prog)}/debuginfo", again)[:2] == (304, b"")
    part = {"Range": "bytes=4-19"}
    for kind, whole in (("debuginfo", body), ("section/.debug_line", None)):
        path = f"/buildid/{hex_id(prog)}/{kind}"
        whole = whole or raw(pushed, "GET", path)[1]
        assert raw(pushed, "GET", path, part)[:2] == (206, whole[4:20])
    assert raw(pushed, "GET", f"/buildid/{hex_id(prog).upper()}/executable")[0] == 200
    less = {"X-DEBUGINFOD-MAXSIZE": "100"}
    assert raw(pushed, "GET", f"/buildid/{hex_id(prog)}/executable", less)[0] == 406


@pytest.mark.parametrize("path", [
    "/buildid/{}/section/.nothing", "/buildid/{}/section/.bss", "/buildid/{}/nonsense",
    "/buildid/gnu:{}/debuginfo", "/buildid/abc/debuginfo", "/buildid/zz/executable",
    "/buildid/go:text/debuginfo", "/buildid//debuginfo",
])
def test_what_is_not_there_is_never_the_servers_end(pushed, prog, path):
    assert raw(pushed, "GET", path.format(hex_id(prog)))[0] == 404


def test_files_are_found_by_name(pushed, prog, halves):
    status, doc, _ = Api(pushed)("GET", f"/metadata?key=file&value={halves[0]}")
    assert status == 200 and doc["complete"] is True
    assert {"type": "executable", "buildid": hex_id(prog), "file": str(halves[0])} in doc["results"]
    status, doc, _ = Api(pushed)("GET", "/metadata?key=glob&value=*/prog.bin*")
    assert {r["type"] for r in doc["results"]} == {"executable", "debuginfo"}
    assert Api(pushed)("GET", "/metadata?key=glob&value=*/no.such")[1]["results"] == []
    Api(pushed).refused(400, "invalid", "GET", "/metadata?key=colour&value=x")


def test_files_are_found_by_build_id(pushed, prog, halves):
    status, doc, _ = Api(pushed)("GET", f"/metadata?key=buildid&value={hex_id(prog)}")
    assert status == 200 and doc["complete"] is True
    assert doc["results"] == [{"type": kind, "buildid": hex_id(prog), "file": str(path)}
                              for kind, path in zip(("executable", "debuginfo"), halves, strict=True)]
    for value in ("00" * 20, hex_id(prog)[:8], "zz", "../x"):
        assert Api(pushed)("GET", f"/metadata?key=buildid&value={value}")[1] == {"results": [], "complete": True}


def test_files_that_were_pushed_by_relative_paths_are_found_by_absolute_ones(server, prog, halves):
    folder = halves[0].parent
    (folder / "sub").mkdir(exist_ok=True)
    result = server.unhex("push", "--json", "--with-debuginfo", f"./sub/../{halves[0].name}",
                          f"../{folder.name}/{halves[1].name}", cwd=folder)
    assert result.returncode == 0 and f'"./sub/../{halves[0].name}"' in result.stdout
    status, doc, _ = Api(server)("GET", f"/metadata?key=glob&value={folder}/*")
    assert status == 200
    assert sorted(r["file"] for r in doc["results"]) == sorted(map(str, halves))


def test_a_server_that_has_the_symbols_alone_says_so(server, tmp_path):
    """debuginfod's protocol has no symbols, so the client of unhex reads that from the 404."""
    prog = compile_c(tmp_path)
    program, debug = stripped(prog)
    debug.unlink()
    assert server.unhex("push", prog).returncode == 0
    start, _ = symbol(prog, "outer")
    folder = {"DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    for _ in range(2):  # the absence is not remembered
        result = unhex("lookup", program, hex(start), env=folder)
        assert "<no name>" in result.stdout
        assert "the debuginfod server has the symbols of this module, but not this file; --url or UNHEX_URL reads them" in result.stderr
    result = unhex("lookup", program, hex(start), env={**folder, "UNHEX_URL": server.url})
    assert "outer at " in result.stdout
