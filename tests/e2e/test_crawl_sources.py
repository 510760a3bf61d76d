# SPDX-License-Identifier: Apache-2.0
"""unhex crawl --sources: source packages are announced, and the source route fetches one when a file is missing"""
import pathlib
import subprocess

import pytest

from repositories import mirror_server
from test_debuginfod_server import client, hex_id, raw
from test_upstreams import own, servers  # noqa: F401 (a fixture)
from tool import build_id, lines, unhex

assert servers
TREE = "usr/src/debug/demo-1.0-1.x86_64"
MAIN = """#include "inner/part.h"
int part(int x);
int main(int argc, char **argv) { (void)argv; return part(argc); }
"""
PART = '#include "part.h"\n__attribute__((noinline)) int part(int x)\n{\n\treturn x * FACTOR + 1;\n}\n'
SPEC = """Name: demo
Version: 1.0
Release: 1
Summary: demo
License: none
%define __os_install_post %{{nil}}
%global debug_package %{{nil}}
%global _build_id_links none
%description
demo
%package debuginfo
Summary: debug files
Provides: debuginfo(build-id) = {id}
%description debuginfo
demo
%package debugsource
Summary: sources
%description debugsource
demo
%install
cp -a {root}/. %{{buildroot}}/
%files debuginfo
/usr/lib/debug
%files debugsource
/usr/src/debug
"""


class Demo:
    """A program whose DWARF has the paths that rpm's debugsource packages have, and its two packages."""

    def __init__(self, folder):
        self.folder, root = folder, folder / "root"
        self.sources = {"main.c": MAIN, "inner/part.c": PART, "inner/part.h": "#define FACTOR 3\n"}
        for name, text in self.sources.items():
            path = root / TREE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.program = folder / "demo"
        subprocess.run(["gcc", "-g", "-O1", f"-fdebug-prefix-map={root}=", "-Wl,--build-id=sha1", "-o", self.program,
                        root / TREE / "main.c", root / TREE / "inner/part.c"], check=True, cwd=root / TREE)
        digits = hex_id(self.program)
        debug = root / f"usr/lib/debug/.build-id/{digits[:2]}/{digits[2:]}.debug"
        debug.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", self.program, debug], check=True)
        self.stripped = folder / "demo.stripped"
        subprocess.run(["strip", "-o", self.stripped, self.program], check=True)
        (folder / "demo.spec").write_text(SPEC.format(id=digits, root=root))
        subprocess.run(["rpmbuild", "-bb", "--quiet", "--target", "x86_64", "--define", f"_topdir {folder}/top",
                        folder / "demo.spec"], check=True, capture_output=True)
        self.mirror = folder / "mirror"
        (folder / "top/RPMS").rename(self.mirror)
        subprocess.run(["createrepo_c", "-q", "--no-database", self.mirror], check=True, capture_output=True)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return Demo(tmp_path_factory.mktemp("demo"))


def crawl(server, url, *args):
    result = unhex("crawl", "rpm", "--mirror", url, "--arch", "x86_64", "--allow-unsigned", "--jobs", 1, "--json", *args,
                   env=server.env, timeout=300)
    assert result.returncode == 0, (result.stdout, result.stderr)
    return lines(result)


def source(server, demo, path):
    return raw(server, "GET", f"/buildid/{hex_id(demo.program)}/source/{path}")[:2]


def fetches(requests, what):
    return len([r for r in requests if what in r["path"] and r["path"].endswith(".rpm")])


def test_sources_of_a_crawled_module_come_from_its_source_package(servers, demo, tmp_path):  # noqa: F811
    with mirror_server(demo.mirror) as (url, requests):
        server = servers(own(url, "rpms", kind="packages"))
        [plan, announced, *rest] = crawl(server, url, "--sources")
        assert plan["source"]["packages"] == 1 and announced["new"] == 2, (plan, announced)
        assert [r["outcome"] for r in rest if "outcome" in r] == ["done"]  # sources are no work
        assert fetches(requests, "debugsource") == 0
        for name in ("inner/part.c", "main.c", "inner/part.h"):
            got = client(server, tmp_path, "debuginfod-find", "source", hex_id(demo.program), f"/{TREE}/{name}")
            assert got.returncode == 0, got.stdout
            assert pathlib.Path(got.stdout.strip()).read_text() == demo.sources[name]
        assert fetches(requests, "debugsource") == 1
        assert source(server, demo, f"{TREE}/none.c")[0] == 404 and source(server, demo, "etc/passwd")[0] == 404
        assert fetches(requests, "debugsource") == 1
        # the symbols of the crawl are still those of the module
        got = lines(server.unhex("lookup", build_id(demo.program), "--json", hex(address_of(demo, "part"))))
        assert got[0]["frames"][0]["file"] == f"/{TREE}/inner/part.c"


def address_of(demo, name):
    return [int(line.split()[0], 16) for line in subprocess.run(
        ["nm", demo.program], capture_output=True, text=True, check=True).stdout.splitlines() if line.endswith(f" {name}")][0]


def test_gdb_lists_a_stripped_program(servers, demo, tmp_path):  # noqa: F811
    """Debug file and sources come on demand: nothing is crawled but the names."""
    with mirror_server(demo.mirror) as (url, requests):
        server = servers(own(url, "rpms", kind="packages"))
        [plan, announced] = crawl(server, url, "--sources", "--on-demand")
        assert plan["debug"]["build_ids"] > 0 and announced["new"] == 2
        got = client(server, tmp_path, "gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled on",
                     "-ex", "list part", "-ex", "info line part", demo.stripped)
        assert "return x * FACTOR + 1;" in got.stdout, got.stdout
        assert fetches(requests, "debuginfo-") == 1 and fetches(requests, "debugsource") == 1, [r["path"] for r in requests]


def test_without_the_option_no_source_package_is_known(servers, demo):  # noqa: F811
    with mirror_server(demo.mirror) as (url, requests):
        server = servers(own(url, "rpms", kind="packages"))
        assert crawl(server, url)[1]["new"] == 1
        assert source(server, demo, f"{TREE}/inner/part.h")[0] == 404 and fetches(requests, "debugsource") == 0
        assert crawl(server, url, "--sources")[1] == {"new": 1, "known": 1, "again": 0}
        assert source(server, demo, f"{TREE}/main.c") == (200, MAIN.encode())


def damaged(data):
    return data[:len(data) // 2] + b"?" + data[len(data) // 2 + 1:]


def test_a_damaged_source_package_is_not_used(servers, demo, tmp_path):  # noqa: F811
    with mirror_server(demo.mirror) as (url, _):
        server = servers(own(url, "rpms", kind="packages"))
        crawl(server, url, "--sources")
        [path] = demo.mirror.rglob("*debugsource*.rpm")
        whole = path.read_bytes()
        try:
            path.write_bytes(damaged(whole))
            assert source(server, demo, f"{TREE}/main.c")[0] == 404
        finally:
            path.write_bytes(whole)
