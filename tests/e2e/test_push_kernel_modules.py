# SPDX-License-Identifier: Apache-2.0
"""Kernel modules are pushed as they are shipped: relocatable, with a build ID, often compressed"""
import gzip
import http.client
import lzma
import subprocess

import pytest

from http_api import Api
from tool import build_id, lines, unhex

SOURCE = r"""
int counter = 3;
static int helper(int x) { return x * 3 + counter; }
__attribute__((noinline)) int module_function(int x) { return helper(x) + helper(x + 1); }
__attribute__((noinline, cold)) int module_rare(int x) { return x - counter; }
__attribute__((section(".init.text"))) int init_module(void) { return module_function(2); }
"""


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, check=True, capture_output=True).stdout


PACKERS = {"": bytes, ".xz": lzma.compress, ".zst": zstd, ".gz": gzip.compress}


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """x.ko, linked as the kernel's build does it."""
    folder = tmp_path_factory.mktemp("ko")
    (folder / "x.c").write_text(SOURCE)
    subprocess.run(["gcc", "-c", "-O0", "-g", "x.c", "-o", "x.o"], cwd=folder, check=True)
    subprocess.run(["ld", "-r", "--build-id", "-o", "x.ko", "x.o"], cwd=folder, check=True)
    return folder / "x.ko"


@pytest.mark.parametrize("mode", ["symbols", "whole"])
@pytest.mark.parametrize("ending", PACKERS)
def test_the_server_answers_as_a_lookup_in_the_file(server, module, tmp_path, ending, mode):
    (tmp_path / "tree").mkdir()
    packed = tmp_path / f"tree/x.ko{ending}"
    packed.write_bytes(PACKERS[ending](module.read_bytes()))
    options = ["--with-debuginfo"] if mode == "whole" else []
    result = server.unhex("push", "--json", *options, tmp_path / "tree")
    (reported,) = lines(result)
    assert (result.returncode, reported["status"]) == (0, "uploaded"), reported
    assert reported["id"] == build_id(module) and reported["quality"] == "lines"
    addresses = [hex(a) for a in range(0, 0x90, 5)]
    local = unhex("lookup", "--json", module, *addresses).stdout
    assert "module_function" in local and "module_rare" in local and "init_module" in local
    assert server.unhex("lookup", "--json", build_id(module), *addresses).stdout == local
    (again,) = lines(server.unhex("push", "--json", *options, packed))
    assert again["status"] == "already-there", again
    # What its sections promise is what was measured: nothing is extracted to find that out.
    (again,) = lines(server.unhex("push", "--json", "--dry-run", packed))
    assert again["status"] == "already-there", again
    if mode == "whole":
        api = Api(server)
        connection = http.client.HTTPConnection(api.url.hostname, api.url.port)
        connection.request("GET", f"/buildid/{build_id(module).removeprefix('gnu:')}/executable")
        assert connection.getresponse().read() == module.read_bytes()


def test_a_stripped_module_is_pushed_with_its_debug_file(server, module, tmp_path):
    debug = tmp_path / "debug/lib/modules/6.1.0/kernel/fs/x.ko"
    stripped = tmp_path / "root/lib/modules/6.1.0/kernel/fs/x.ko.xz"
    for path in (debug, stripped):
        path.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", module, debug], check=True)
    subprocess.run(["strip", "-g", "-o", tmp_path / "x.ko", module], check=True)
    stripped.write_bytes(lzma.compress((tmp_path / "x.ko").read_bytes()))
    (reported,) = lines(server.unhex("push", "--json", "--debug-dir", tmp_path / "debug", stripped))
    assert (reported["status"], reported["quality"], reported["debug"]) == ("uploaded", "lines", str(debug))
    local = unhex("lookup", "--json", module, "0x30")
    found = unhex("lookup", "--json", "--debug-dir", tmp_path / "debug", stripped, "0x30")
    assert found.stdout == local.stdout and '"line"' in found.stdout
    # A debug file of another build is not taken.
    other = tmp_path / "y.c"
    other.write_text(SOURCE.replace("3;", "4;"))
    subprocess.run(["gcc", "-c", "-O0", "-g", other, "-o", tmp_path / "y.o"], check=True)
    subprocess.run(["ld", "-r", "--build-id", "-o", debug, tmp_path / "y.o"], check=True)
    found = unhex("lookup", "--json", "--debug-dir", tmp_path / "debug", stripped, "0x30")
    assert '"line"' not in found.stdout


def test_object_files_of_a_build_are_still_left_out(server, module, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/x.o").write_bytes(module.with_suffix(".o").read_bytes())
    result = server.unhex("push", "--json", "-v", tmp_path / "tree")
    (reported,) = lines(result)
    assert reported["status"] == "skipped" and "without a build ID" in reported["reason"]
