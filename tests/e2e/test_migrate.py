# SPDX-License-Identifier: Apache-2.0
"""The steps of docs/migrate-from-debuginfod.md, with elfutils' server and client."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from unhex_server import Server
from test_upstreams import debuginfod, hex_id
from tool import ROOT, build_id, compile_c, stripped, symbol, unhex

PAGE = (ROOT / "docs/migrate-from-debuginfod.md").read_text()


@pytest.fixture(scope="module", name="prog")
def program(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("migrate"))


def client(tmp_path, urls, *words):
    """debuginfod-find with an empty cache: the bytes of the file; None where it got none."""
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DEBUGINFOD_URLS": urls,
           "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_TIMEOUT": "60"}
    run = subprocess.run(["debuginfod-find", *map(str, words)], env=env, capture_output=True,
                         text=True, timeout=300, stdin=subprocess.DEVNULL)
    return pathlib.Path(run.stdout.strip()).read_bytes() if run.returncode == 0 else None


def test_the_old_server_becomes_an_upstream_and_can_end(tmp_path, prog):
    exe, debug = stripped(prog, "old")
    files = tmp_path / "files"
    files.mkdir()
    shutil.copy(debug, files)
    server = Server(tmp_path / "new")
    # The options of the page; the old server has a loopback address here, as ",private" is for.
    (options,) = re.findall(r"^unhex serve --listen \S+ (.*)$", PAGE, re.M)
    assert "--upstream debuginfod+http://debuginfod.example.com:8002" in options
    assert ",private" in PAGE
    try:
        with debuginfod(tmp_path, files) as old:
            server.options = tuple(options.replace("http://debuginfod.example.com:8002",
                                                   f"{old},private").split())
            server.start()
            assert client(tmp_path, server.url, "debuginfo", hex_id(prog)) == debug.read_bytes()
            source = prog.with_suffix(".c")
            assert client(tmp_path, server.url, "source", hex_id(prog), source) == source.read_bytes()
        # The old server has ended. What was fetched stays, and answers addresses too.
        assert client(tmp_path, server.url, "debuginfo", hex_id(prog)) == debug.read_bytes()
        found = unhex("lookup", build_id(prog), symbol(prog, "outer")[0], "--url", server.url)
        assert "outer" in found.stdout, found
        # Files that are pushed take its place.
        assert server.unhex("push", "--with-debuginfo", exe).returncode == 0
        assert client(tmp_path, server.url, "executable", hex_id(prog)) == exe.read_bytes()
    finally:
        server.stop()


def test_a_key_goes_into_the_url(tmp_path, prog):
    server = Server(tmp_path / "data", options=("--reading", "keyed")).start()
    try:
        assert server.unhex("push", "--with-debuginfo", prog).returncode == 0
        key = unhex("key", "create", "--scopes", "read", "--data", server.data).stdout.strip()
        assert client(tmp_path, server.url, "debuginfo", hex_id(prog)) is None
        assert "/k/TOKEN" in PAGE
        assert client(tmp_path, f"{server.url}/k/{key}", "debuginfo", hex_id(prog)) == prog.read_bytes()
    finally:
        server.stop()


def test_a_folder_in_build_id_layout_needs_no_push(tmp_path, prog):
    _, debug = stripped(prog, "laid")
    laid = tmp_path / "debug/.build-id" / hex_id(prog)[:2]
    laid.mkdir(parents=True)
    shutil.copy(debug, laid / f"{hex_id(prog)[2:]}.debug")
    server = Server(tmp_path / "data", options=("--upstream", f"dir:{tmp_path}/debug")).start()
    try:
        assert client(tmp_path, server.url, "debuginfo", hex_id(prog)) == debug.read_bytes()
    finally:
        server.stop()
