# SPDX-License-Identifier: Apache-2.0
"""Debug files of which dwz moved a part into a supplementary file: pushed, served, extracted"""
import http.client
import os
import shutil
import subprocess

import pytest

from unhex_server import Server
from http_api import Api
from test_supplementary import HEADER, MAIN, code_addresses
from tool import build_id, lines, stripped, unhex
from waiting import wait_for


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """one, two, their debug files, and common.debug, each as a package installs them."""
    folder = tmp_path_factory.mktemp("dwz")
    (folder / "common.h").write_text(HEADER)
    for name in ("one", "two"):
        (folder / f"{name}.cc").write_text(MAIN % {"name": name})
        subprocess.run(["g++", "-g", "-O2", "-gdwarf-4", "-Wl,--build-id", f"{name}.cc", "-o",
                        name], cwd=folder, check=True)
    subprocess.run(["dwz", "-m", "common.debug", "-M", "/usr/lib/debug/.dwz/common.debug", "one",
                    "two"], cwd=folder, check=True)
    root = folder / "debug"
    for name in ("one", "two"):
        exe, debug = stripped(folder / name, f"{name}.bin")
        place(root, debug, build_id(exe))
    (root / ".dwz").mkdir()
    shutil.copy(folder / "common.debug", root / ".dwz/common.debug")
    return folder


def place(root, path, name):
    digits = name.removeprefix("gnu:")
    target = root / ".build-id" / digits[:2] / f"{digits[2:]}.debug"
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    return target


def debug_of(tree, name):
    digits = build_id(tree / name).removeprefix("gnu:")
    return tree / "debug/.build-id" / digits[:2] / f"{digits[2:]}.debug"


def fetched(server, path):
    api = Api(server)
    connection = http.client.HTTPConnection(api.url.hostname, api.url.port, timeout=60)
    connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def hex_id(path):
    return build_id(path).removeprefix("gnu:")


def extracted(tree, name, folder):
    """What a local extraction with all three files gives."""
    out = folder / f"{name}.gsym"
    result = unhex("extract", tree / f"{name}.bin", "--debug-dir", tree / "debug", "-o", out)
    assert result.returncode == 0 and "supplementary" not in result.stderr
    return out.read_bytes()


def gsym(server, tree, name):
    return fetched(server, f"/v1/gsym/{build_id(tree / name)}")[1]


def push(server, *args):
    result = server.unhex("push", "--json", "--with-debuginfo", *args)
    assert result.returncode == 0, result.stdout
    return lines(result)


def test_the_supplementary_file_goes_along_and_the_server_reads_it(server, tree, tmp_path):
    reported = push(server, "--debug-dir", tree / "debug", tree / "one.bin", tree / "two.bin")
    assert [t["status"] for t in reported] == ["uploaded"] * 3
    assert reported[0]["id"] == build_id(tree / "common.debug") and reported[0]["reason"] == ""
    for name in ("one", "two"):
        assert gsym(server, tree, name) == extracted(tree, name, tmp_path)
    assert fetched(server, f"/buildid/{hex_id(tree / 'common.debug')}/debuginfo") == \
        (200, (tree / "common.debug").read_bytes())
    again = push(server, "--debug-dir", tree / "debug", tree / "one.bin", tree / "two.bin")
    assert [t["status"] for t in again] == ["already-there"] * 3


def test_gdb_finds_lines_and_locals(server, tree, tmp_path):
    push(server, "--debug-dir", tree / "debug", tree / "one.bin")
    shutil.copy(tree / "one.bin", tmp_path / "one")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C",
                   "DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    out = subprocess.run(
        ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on", "-ex", "info line work_one",
         "-ex", "info scope work_one", "-ex", "ptype struct common::Box<int>", tmp_path / "one"],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert "could not find supplementary" not in out.stderr, out.stderr
    assert 'of "one.cc"' in out.stdout and "Symbol box" in out.stdout, out.stdout + out.stderr
    assert "T twice(void) const" in out.stdout or "twice" in out.stdout, out.stdout


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_extracted_without_it_is_extracted_again_when_it_comes(server, tree, tmp_path,
                                                                        whole):
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(tree / ("one" if whole else "one.bin"), alone / "one")
    files = ["-e", alone / "one"]
    if not whole:
        shutil.copy(debug_of(tree, "one"), alone / "one.debug")
        files += ["-d", alone / "one.debug"]
    (reported,) = push(server, "--debug-dir", "", *files)
    assert reported["status"] == "uploaded" and "supplementary file" in reported["reason"]
    assert "common.debug is missing" in reported["reason"]
    advice = Api(server)("GET", f"/v1/explain/{build_id(tree / 'one')}")[1]["advice"]
    assert any(build_id(tree / "common.debug") in a for a in advice), advice
    poor = gsym(server, tree, "one")
    assert poor != extracted(tree, "one", tmp_path)
    (reported,) = push(server, tree / "common.debug")
    assert (reported["status"], reported["id"]) == ("uploaded", build_id(tree / "common.debug"))
    if not whole:
        wait_for(lambda: gsym(server, tree, "one") == extracted(tree, "one", tmp_path))
    else:
        local = tmp_path / "whole.gsym"
        assert unhex("extract", tree / "one", "--debug-dir", tree / "debug", "-o",
                     local).returncode == 0
        wait_for(lambda: gsym(server, tree, "one") == local.read_bytes())
    status, doc, _ = Api(server)("GET", f"/v1/modules/{build_id(tree / 'one')}")
    assert [(c["kind"], c["quality"]) for c in doc["candidates"]].count(("gsym", "inlines")) == 1
    start = min(code_addresses(tree / "one"))
    named = server.unhex("lookup", build_id(tree / "one"), hex(start)).stdout
    assert "??" not in named


def test_a_damaged_one_costs_its_names_and_is_replaced_by_force(server, tree, tmp_path):
    good = (tree / "common.debug").read_bytes()
    sections = subprocess.run(["readelf", "-SW", tree / "common.debug"], check=True,
                              capture_output=True, text=True).stdout
    (info,) = [line.split("]")[1].split() for line in sections.splitlines()
               if " .debug_info " in line]
    start, size = int(info[3], 16), int(info[4], 16)
    bad = tmp_path / "bad.debug"
    bad.write_bytes(good[:start] + bytes(size) + good[start + size:])
    shutil.copy(debug_of(tree, "one"), tmp_path / "one.debug")
    assert push(server, bad)[0]["status"] == "uploaded"
    (reported,) = push(server, "--debug-dir", "", "-e", tree / "one.bin", "-d", tmp_path / "one.debug")
    assert reported["status"] == "uploaded", reported
    addresses = [hex(a) for a in code_addresses(tree / "one")]
    poor = server.unhex("lookup", build_id(tree / "one"), *addresses).stdout
    assert "one.cc" in poor
    push(server, "--force", tree / "common.debug")
    wait_for(lambda: gsym(server, tree, "one") == extracted(tree, "one", tmp_path))


def test_a_file_of_another_namespace_is_not_used(server, tree, tmp_path):
    def key(namespace):
        out = unhex("key", "create", "--data", server.data, "--namespace", namespace, "--scopes",
                    "read,symbolize,upload", "--json")
        assert out.returncode == 0, out.stderr
        return {"UNHEX_TOKEN": lines(out)[0]["token"]}
    ours, theirs = key("ours"), key("theirs")
    result = server.unhex("push", "--with-debuginfo", tree / "common.debug", env=theirs)
    assert result.returncode == 0, result.stdout + result.stderr
    shutil.copy(debug_of(tree, "one"), tmp_path / "one.debug")
    result = server.unhex("push", "--with-debuginfo", "--debug-dir", "", "-e", tree / "one.bin",
                          "-d", tmp_path / "one.debug", env=ours)
    assert result.returncode == 0, result.stdout + result.stderr
    advice = Api(server, ours["UNHEX_TOKEN"])("GET", f"/v1/explain/{build_id(tree / 'one')}")[1]
    assert any(build_id(tree / "common.debug") in a for a in advice["advice"]), advice


def test_without_whole_files_there_is_nothing_of_it_to_send(server, tree):
    result = server.unhex("push", tree / "common.debug")
    assert result.returncode == 1 and "upload it with --with-debuginfo" in result.stdout
    reported = lines(server.unhex("push", "--json", "--dry-run", "--with-debuginfo", "--debug-dir",
                              tree / "debug", tree / "one.bin"))
    assert [t["status"] for t in reported] == ["skipped"] * 2


@pytest.mark.parametrize("kind", ["unhex", "debuginfod", "dir"])
def test_an_upstream_is_queried_for_it(tree, tmp_path, kind):
    upstream = Server(tmp_path / "upstream", options=("--reading", "open")).start()
    word = f"debuginfod+{upstream.url},private"
    if kind == "dir":
        word = f"dir:{tree / 'debug'}"
        place(tree / "debug", shutil.copy(tree / "common.debug", tmp_path / "sup") and
              tmp_path / "sup", build_id(tree / "common.debug"))
    else:
        push(upstream, "--debug-dir", tree / "debug", tree / "one.bin")
    if kind == "unhex":
        word = f"unhex+{upstream.url},private"
    server = Server(tmp_path / "server", options=("--upstream", word)).start()
    try:
        if kind == "unhex":  # it would send the GSYM
            alone = tmp_path / "alone"
            alone.mkdir()
            shutil.copy(debug_of(tree, "one"), alone / "one.debug")
            shutil.copy(tree / "one.bin", alone / "one")
            push(server, "--debug-dir", "", "-e", alone / "one", "-d", alone / "one.debug")
        else:
            fetched(server, f"/buildid/{hex_id(tree / 'one')}/executable")
            fetched(server, f"/buildid/{hex_id(tree / 'one')}/debuginfo")
        expected = unhex("lookup", "--json", "--debug-dir", tree / "debug", tree / "one.bin",
                         *map(hex, code_addresses(tree / "one"))).stdout

        def complete():
            return server.unhex("lookup", "--json", build_id(tree / "one"),
                                *map(hex, code_addresses(tree / "one"))).stdout == expected
        wait_for(complete)
    finally:
        assert server.stop() == 0
        assert upstream.stop() == 0
