# SPDX-License-Identifier: Apache-2.0
"""unhex crawl debian --sources: a frame of a Debian package opens to the lines that were compiled, patches applied"""
import os
import pathlib
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.parse
import urllib.request

import pytest

from repositories import DebianMirror, Key, deb_stanza, mirror_server, sha256
from test_crawl_debian import crawl, deb_of
from test_debuginfod_server import client, hex_id, raw
from test_upstreams import own, servers  # noqa: F401 (a fixture)
from tool import build_id, lines
from waiting import wait_for

assert servers
MAIN = '#include "part.h"\nint main(int argc, char **argv) { (void)argv; return part(argc); }\n'
PART = '#include "part.h"\n\n__attribute__((noinline)) int part(int x)\n{\n\treturn x * OLD_FACTOR + 1;\n}\n'
HEADER = "#define OLD_FACTOR 3\n#define FACTOR 4\nint part(int x);\n"
FIX = """Description: the factor
--- a/src/part.c
+++ b/src/part.c
@@ -1,6 +1,7 @@
 #include "part.h"
+/* patched */

 __attribute__((noinline)) int part(int x)
 {
-\treturn x * OLD_FACTOR + 1;
+\treturn x * FACTOR + 1;
 }
"""
LATER = """--- demo.orig/src/part.c
+++ demo/src/part.c
@@ -4,4 +4,5 @@
 __attribute__((noinline)) int part(int x)
 {
 \treturn x * FACTOR + 1;
+\t/* the end */
 }
--- /dev/null
+++ demo/src/made.c
@@ -0,0 +1 @@
+int made;
--- demo.orig/gone.c
+++ /dev/null
@@ -1 +0,0 @@
-int gone;
"""


def run(*args, cwd=None):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True, cwd=cwd)


class SourcePackage:
    """A source package that dpkg-source made, and what it unpacks to."""

    def __init__(self, folder, form):
        self.folder, tree = folder, folder / "demo-1.0"
        files = {"src/main.c": MAIN, "src/part.c": PART, "src/part.h": HEADER, "gone.c": "int gone;\n",
                 "cli/main.c": "int other;\n", "doc/page.html": "<p>"}
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
        version = "1.0" if "native" in form else "1.0-1"
        with tarfile.open(folder / "demo_1.0.orig.tar.gz", "w:gz") as orig:
            orig.add(tree, arcname="upstream-name")
        debian = {"control": "Source: demo\nMaintainer: a <a@example.com>\nStandards-Version: 4.6.2\n\nPackage: demo\n"
                             "Architecture: any\nDescription: a package\n",
                  "changelog": f"demo ({version}) unstable; urgency=low\n\n  * x\n\n"
                               " -- a <a@example.com>  Fri, 01 Jan 2021 00:00:00 +0000\n",
                  "source/format": form + "\n", "rules": "#!/usr/bin/make -f\n"}
        if "quilt" in form:
            debian |= {"patches/series": "fix.patch\n# not this one\nlater.patch -p1\n", "patches/fix.patch": FIX,
                       "patches/later.patch": LATER, "patches/unused.patch": FIX}
        for name, text in debian.items():
            (tree / "debian" / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / "debian" / name).write_text(text)
        if form == "1.0":  # the diff has all changes
            (folder / "fix").write_text(FIX)
            run("patch", "-p1", "-i", folder / "fix", cwd=tree)
        run("dpkg-source", "-b", tree, cwd=folder)
        [self.dsc] = folder.glob("*.dsc")
        run("dpkg-source", "--no-check", "-x", self.dsc, folder / "unpacked")
        self.tree, self.version = folder / "unpacked", version
        self.root = f"/usr/src/demo-{version}"
        shutil.rmtree(tree)

    def files(self):
        listed = [line.split() for line in self.dsc.read_text().splitlines() if line.startswith(" ") and len(line.split()) == 3]
        return [self.dsc] + sorted({self.folder / name for digest, _, name in listed if len(digest) == 64})

    def stanza(self):
        sums = "".join(f"\n {sha256(f.read_bytes())} {f.stat().st_size} {f.name}" for f in self.files())
        return (f"Package: demo\nBinary: demo\nVersion: {self.version}\nFormat: x\nDirectory: pool/main/d/demo\n"
                f"Checksums-Sha256:{sums}\n")

    def compiled(self):
        """Path and text of each file that a compiler could have read."""
        return {path.relative_to(self.tree): path.read_bytes() for path in sorted(self.tree.rglob("*"))
                if path.is_file() and ".pc" not in path.parts and path.suffix != ".html"}


class Demo:
    """A mirror with a source package and the debug file of a program that was built from it under this folder."""

    def __init__(self, folder, key, form="3.0 (quilt)", built="."):
        self.source = SourcePackage(folder / "source", form)
        tree, self.program = self.source.tree, folder / "demo"
        run("gcc", "-g", "-O1", f"-fdebug-prefix-map={tree}={built}", "-Wl,--build-id=sha1", "-o", self.program,
            "src/main.c", "src/part.c", cwd=tree)
        digits = hex_id(self.program)
        debug = folder / "demo.debug"
        run("objcopy", "--only-keep-debug", self.program, debug)
        package = deb_of(folder, "demo-dbg", {f"usr/lib/debug/.build-id/{digits[:2]}/{digits[2:]}.debug": debug})
        self.mirror = DebianMirror(folder / "mirror", key).write(
            [deb_stanza("demo-dbg", package, Section="debug", Build_Ids=digits, Version="2:7-1+b1",
                        Source=f"demo ({self.source.version})")], sources=[self.source.stanza()])
        (self.mirror.root / "pool/main/d/demo").mkdir(parents=True)
        (self.mirror.root / "pool/main/demo-dbg_1.0-1_amd64.deb").write_bytes(package)
        for file in self.source.files():
            shutil.copy(file, self.mirror.root / "pool/main/d/demo")

    def address(self, name):
        return [int(line.split()[0], 16) for line in run("nm", self.program).stdout.splitlines()
                if line.endswith(f" {name}")][0]


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    one = Key(tmp_path_factory.mktemp("key"))
    yield one
    one.close()


def announce(server, demo, url, *args):
    result = crawl(demo.mirror, "--json", *args, root=url, env=server.env, timeout=300)
    assert result.returncode == 0, (result.stdout, result.stderr)
    return lines(result)


def source(server, demo, path):
    return raw(server, "GET", f"/buildid/{hex_id(demo.program)}/source{urllib.parse.quote(path)}")[:2]


def fetched(requests, ending):
    return len([r for r in requests if r["path"].endswith(ending)])


@pytest.mark.parametrize("form", ["3.0 (quilt)", "3.0 (native)", "1.0"])
def test_what_is_served_is_what_dpkg_source_unpacks(servers, tmp_path, key, form):  # noqa: F811
    (tmp_path / "source").mkdir()
    demo = Demo(tmp_path, key, form)
    with mirror_server(demo.mirror.root) as (url, requests):
        server = servers(own(url, "debian", kind="packages"))
        [plan, announced, *rest] = announce(server, demo, url, "--sources")
        assert plan["source"]["packages"] == 1 and announced["new"] == 2
        assert plan["source"]["bytes"] == sum(f.stat().st_size for f in demo.source.files())
        assert [r["outcome"] for r in rest if "outcome" in r] == ["done"]
        assert fetched(requests, ".dsc") == 0  # sources are no work
        # a page of the server and debuginfod's route find it by the relative name
        assert source(server, demo, "/src/part.c") == (200, (demo.source.tree / "src/part.c").read_bytes())
        for path, text in demo.source.compiled().items():
            assert source(server, demo, f"{demo.source.root}/{path}") == (200, text), path
        assert fetched(requests, ".dsc") == 1
        for path in ("/gone.c", "/doc/page.html", "/etc/passwd", f"{demo.source.root}/src/none.c"):
            if path != "/gone.c" or "quilt" in form:
                assert source(server, demo, path)[0] == 404, path
        assert fetched(requests, ".dsc") == 1


def test_a_frame_opens_to_its_lines(servers, tmp_path, key):  # noqa: F811
    (tmp_path / "source").mkdir()
    demo = Demo(tmp_path, key)
    query = urllib.parse.urlencode({"id": build_id(demo.program), "addr": hex(demo.address("part"))})

    def page():
        return urllib.request.urlopen(f"{server.url}/frame?{query}").read().decode()

    with mirror_server(demo.mirror.root) as (url, _):
        server = servers(own(url, "debian", kind="packages"))
        announce(server, demo, url, "--sources")
        got = lines(server.unhex("lookup", build_id(demo.program), "--json", hex(demo.address("part"))))
        assert got[0]["frames"][0]["file"] == "./src/part.c"
        first = page()
        assert "being fetched" in first and "demo" in first or "FACTOR" in first

        def opened():
            """None while the package is on its way, which each page says."""
            text = page()
            return None if "is being fetched" in text or "is being unpacked" in text else text

        text = wait_for(opened)
        assert "return x * FACTOR + 1;" in text and "OLD_FACTOR + 1" not in text and "/* patched */" in text
        tree = urllib.request.urlopen(f"{server.url}/modules/{build_id(demo.program)}/sources").read().decode()
        assert "with text" in tree


@pytest.mark.parametrize("built", ["/build/demo-2ueRjK/demo-1.0", "/build/reproducible-path/demo-1.0", "/usr/src/demo-1.0-1"])
def test_debuggers_get_files_of_a_folder_that_is_gone(servers, tmp_path, key, built):  # noqa: F811
    (tmp_path / "source").mkdir()
    demo = Demo(tmp_path, key, built=built)
    with mirror_server(demo.mirror.root) as (url, requests):
        server = servers(own(url, "debian", kind="packages"))
        announce(server, demo, url, "--sources", "--on-demand")
        plain = tmp_path / "stripped"
        run("strip", "-o", plain, demo.program)
        got = client(server, tmp_path, "gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled on",
                     "-ex", "list part", plain)
        assert "return x * FACTOR + 1;" in got.stdout, got.stdout
        for name in ("src/main.c", "src/part.h"):
            got = client(server, tmp_path, "debuginfod-find", "source", hex_id(demo.program), f"{built}/{name}")
            assert got.returncode == 0, got.stdout
            assert pathlib.Path(got.stdout.strip()).read_bytes() == (demo.source.tree / name).read_bytes()
        assert fetched(requests, ".dsc") == 1


def test_names_of_packages_choose_their_sources(servers, tmp_path, key):  # noqa: F811
    (tmp_path / "source").mkdir()
    demo = Demo(tmp_path, key)
    with mirror_server(demo.mirror.root) as (url, _):
        server = servers(own(url, "debian", kind="packages"))
        assert announce(server, demo, url, "--package", "other*", "--sources")[0]["source"]["packages"] == 0
        assert announce(server, demo, url, "--package", "demo-dbg", "--sources")[0]["source"]["packages"] == 1
        assert announce(server, demo, url, "--package", "demo-dbg")[0]["source"]["packages"] == 0


@pytest.mark.parametrize("which", [".dsc", ".orig.tar.gz", ".debian.tar.xz"])
@pytest.mark.parametrize("how", ["damaged", "shorter", "longer", "gone"])
def test_a_file_that_is_not_as_announced_is_not_used(servers, tmp_path, key, which, how):  # noqa: F811
    (tmp_path / "source").mkdir()
    demo = Demo(tmp_path, key)
    [path] = (demo.mirror.root / "pool/main/d/demo").glob(f"*{which}")
    whole = path.read_bytes()
    path.write_bytes({"damaged": whole[:99] + bytes([whole[99] ^ 1]) + whole[100:], "shorter": whole[:-1],
                      "longer": whole + b"x", "gone": b""}[how])
    if how == "gone":
        os.unlink(path)
    with mirror_server(demo.mirror.root) as (url, _):
        server = servers(own(url, "debian", kind="packages"))
        announce(server, demo, url, "--sources")
        assert source(server, demo, "/src/part.c")[0] == 404
        assert source(server, demo, f"{demo.source.root}/src/part.c")[0] == 404
