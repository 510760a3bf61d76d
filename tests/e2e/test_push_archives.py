# SPDX-License-Identifier: Apache-2.0
"""unhex push of archives: packages, wheels, archives inside of archives, and hostile ones"""
import gzip
import io
import lzma
import pathlib
import shutil
import subprocess
import tarfile
import zipfile

import pytest

import apple
from tool import build_id, compile_c, lines, stripped, symbol, unhex


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("archive-other"), "other", flags=("-O1", "-g"))


def push(server, *args):
    """Exit status, and the objects of --json that are about modules or failures."""
    result = server.unhex("push", "--json", *args)
    return result.returncode, lines(result)


def tar(path, members, mode="w"):
    with tarfile.open(path, mode) as out:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
    return path


def make_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return path


def make_deb(tmp_path, prog):
    root = tmp_path / "root"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text("Package: p\nVersion: 1\nArchitecture: all\nMaintainer: m <m@example.com>\n"
                                         "Description: d\n")
    (root / "usr/bin").mkdir(parents=True)
    shutil.copy(prog, root / "usr/bin/prog")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, tmp_path / "p.deb"], check=True,
                   stdout=subprocess.DEVNULL)
    return tmp_path / "p.deb", "data.tar.xz/usr/bin/prog"


def make_rpm(tmp_path, prog):
    spec = tmp_path / "p.spec"
    spec.write_text(f"""Name: p
Version: 1
Release: 1
Summary: s
License: none
%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%global _build_id_links none
%description
d
%install
mkdir -p %{{buildroot}}/usr/bin
cp {prog} %{{buildroot}}/usr/bin/prog
%files
/usr/bin/prog
""")
    subprocess.run(["rpmbuild", "-bb", "--quiet", "--define", f"_topdir {tmp_path}/rpm", spec], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    (rpm,) = (tmp_path / "rpm/RPMS").rglob("*.rpm")
    return rpm, "usr/bin/prog"


def make_apk(tmp_path, prog):
    """Alpine's: gzip streams joined, each a part of one tar"""
    data = tmp_path / "data.tar"
    tar(data, {"usr/bin/prog": prog.read_bytes()})
    control = tmp_path / "control.tar"
    tar(control, {".PKGINFO": b"pkgname = p\n"})
    apk = tmp_path / "p.apk"
    cut = control.read_bytes()[:1024]  # without the end of the archive, as abuild cuts it
    apk.write_bytes(gzip.compress(cut) + gzip.compress(data.read_bytes()))
    return apk, "usr/bin/prog"


def make_whl(tmp_path, prog):
    return make_zip(tmp_path / "p-1-cp311-cp311-linux_x86_64.whl",
                    {"p/_native.so": prog.read_bytes(), "p/__init__.py": b"", "p-1.dist-info/RECORD": b""}), "p/_native.so"


def make_jar(tmp_path, prog):
    return make_zip(tmp_path / "p.jar", {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\n",
                                         "C.class": b"\xca\xfe\xba\xbe\0\0\0\x3d" + bytes(100),
                                         "linux/libp.so": prog.read_bytes()}), "linux/libp.so"


def make_aar(tmp_path, prog):
    return make_zip(tmp_path / "p.aar", {"jni/x86_64/libp.so": prog.read_bytes()}), "jni/x86_64/libp.so"


def make_tar(ending, mode):
    def make(tmp_path, prog):
        return tar(tmp_path / f"p.{ending}", {"bin/prog": prog.read_bytes()}, mode), "bin/prog"
    make.__name__ = f"make_{ending}"
    return make


def make_tar_zst(tmp_path, prog):
    plain = tar(tmp_path / "p.tar", {"bin/prog": prog.read_bytes()})
    subprocess.run(["zstd", "-q", "--rm", plain], check=True)
    return tmp_path / "p.tar.zst", "bin/prog"


def make_stored_zip(tmp_path, prog):
    return make_zip(tmp_path / "p.zip", {"bin/prog": prog.read_bytes()}, zipfile.ZIP_STORED), "bin/prog"


@pytest.mark.parametrize("make", [make_deb, make_rpm, make_apk, make_whl, make_jar, make_aar, make_stored_zip,
                                  make_tar("tar", "w"), make_tar("tar.gz", "w:gz"), make_tar("tar.xz", "w:xz"),
                                  make_tar("tar.bz2", "w:bz2"), make_tar("tgz", "w:gz"), make_tar_zst],
                         ids=lambda f: f.__name__.removeprefix("make_"))
def test_a_program_in_an_archive_is_pushed_as_it_is_on_its_own(server, prog, tmp_path, make):
    archive, inside = make(tmp_path, prog)
    status, reported = push(server, archive)
    (reported,) = [r for r in reported if r["status"] != "skipped"]
    assert (status, reported["status"], reported["id"]) == (0, "uploaded", build_id(prog))
    assert reported["file"] == f"{archive}/{inside}" and reported["quality"] == "inlines"
    start, _ = symbol(prog, "outer")
    assert server.unhex("lookup", reported["id"], hex(start)).stdout == unhex("lookup", prog, hex(start)).stdout
    assert push(server, prog)[1][0]["status"] == "already-there"


def test_the_symbols_are_the_bytes_of_an_extraction_from_the_file(server, prog, tmp_path):
    archive, _ = make_whl(tmp_path, prog)
    push(server, archive)
    unhex("extract", prog, "-o", tmp_path / "own.gsym")
    got = subprocess.run(["curl", "-sf", "--compressed", f"{server.url}/v1/gsym/{build_id(prog)}"], capture_output=True, check=True).stdout
    assert got == (tmp_path / "own.gsym").read_bytes()


def test_archives_inside_of_archives(server, prog, other, tmp_path):
    inner = make_zip(tmp_path / "inner.whl", {"a.so": prog.read_bytes()}).read_bytes()
    middle = tar(tmp_path / "middle.tar.gz", {"dist/inner.whl": inner, "other": other.read_bytes()}, "w:gz").read_bytes()
    outer = make_zip(tmp_path / "outer.zip", {"build/middle.tar.gz": middle})
    status, reported = push(server, outer)
    assert status == 0
    assert {r["file"].removeprefix(str(outer)) for r in reported if r["status"] == "uploaded"} == {
        "/build/middle.tar.gz/dist/inner.whl/a.so", "/build/middle.tar.gz/other"}


def test_a_package_and_its_debug_package_become_one_module(server, prog, tmp_path):
    bare, debug = stripped(prog)
    a = tar(tmp_path / "prog.tar.xz", {"usr/bin/prog": bare.read_bytes()}, "w:xz")
    b = tar(tmp_path / "dbg.tar.xz", {"usr/lib/debug/.build-id/x.debug": debug.read_bytes()}, "w:xz")
    status, reported = push(server, a, b)
    (uploaded,) = [r for r in reported if r["status"] == "uploaded"]
    assert (status, uploaded["quality"], uploaded["debug"]) == (0, "inlines", f"{b}/usr/lib/debug/.build-id/x.debug")


def test_a_program_and_a_debug_file_in_an_archive(server, prog, tmp_path):
    bare, debug = stripped(prog, "alone")
    archive = tar(tmp_path / "dbg.tar", {"x.debug": debug.read_bytes()})
    status, reported = push(server, "--debug-dir", tmp_path, bare, archive)
    (uploaded,) = [r for r in reported if r["status"] == "uploaded"]
    assert (status, uploaded["file"], uploaded["quality"]) == (0, str(bare), "inlines")


def test_a_macos_library_and_its_bundle_in_an_archive(server, tmp_path):
    path = apple.linked(tmp_path / "m", "x86_64")
    inner = apple.inside(path)
    whole = make_zip(tmp_path / "whole.zip", {
        "m/p": path.read_bytes(), "m/p.dSYM/Contents/Info.plist": b"<plist/>",
        "m/p.dSYM/Contents/Resources/DWARF/p": inner.read_bytes()})
    alone = make_zip(tmp_path / "dSYMs.zip", {"p.dSYM/Contents/Resources/DWARF/p": inner.read_bytes()})
    for archive in (alone, whole):
        reported = lines(server.unhex("push", "--json", "--force", archive))
        (one,) = [r for r in reported if r["status"] == "uploaded"]
        assert one["id"].startswith("uuid:") and one["quality"] == "inlines"
        assert [r["status"] for r in reported if r is not one] == ["skipped"] * (archive == whole)


def test_with_debuginfo_sends_the_members_themselves(server, prog, tmp_path):
    archive, _ = make_deb(tmp_path, prog)
    assert push(server, "--with-debuginfo", archive)[0] == 0
    got = subprocess.run(["curl", "-sf", f"{server.url}/buildid/{build_id(prog).removeprefix('gnu:')}/executable"],
                         capture_output=True, check=True).stdout
    assert got == prog.read_bytes()


def test_a_compressed_member_is_read_as_a_compressed_file_is(server, prog, tmp_path):
    archive = tar(tmp_path / "m.tar", {"lib/modules/m.debug.xz": lzma.compress(prog.read_bytes())})
    status, reported = push(server, archive)
    assert (status, reported[-1]["status"], reported[-1]["id"]) == (0, "uploaded", build_id(prog))


def test_folders_have_archives_too_unless_they_are_left_out(server, prog, tmp_path):
    make_whl(tmp_path, prog)
    assert [r["status"] for r in push(server, "--no-archives", tmp_path)[1] if r["status"] != "skipped"] == []
    assert [r["status"] for r in push(server, tmp_path)[1] if r["status"] != "skipped"] == ["uploaded"]


def test_an_archive_without_a_program(server, tmp_path):
    archive = make_zip(tmp_path / "text.zip", {"a.txt": b"text"})
    result = server.unhex("push", archive)
    assert result.returncode == 1 and "no executable" in result.stderr


# --- hostile archives --------------------------------------------------------------------------------

def failed(server, archive):
    status, reported = push(server, archive)
    (bad,) = [r for r in reported if r["status"] == "failed"]
    assert status == 1
    return bad["reason"]


@pytest.mark.parametrize("name", ["../../etc/prog", "a/../../prog", "/../prog"])
def test_a_name_that_leads_out_of_the_archive_is_refused(server, prog, tmp_path, name):
    before = set(tmp_path.parent.iterdir())
    assert "above" in failed(server, tar(tmp_path / "a.tar", {name: prog.read_bytes()}))
    assert set(tmp_path.parent.iterdir()) == before


def test_links_lead_nowhere(server, prog, tmp_path):
    """A link to a file of this machine is not followed, and what is behind it does not leave it."""
    with tarfile.open(tmp_path / "l.tar", "w") as out:
        for name, kind, target in (("passwd", tarfile.SYMTYPE, "/etc/passwd"), ("bin", tarfile.SYMTYPE, "/usr/bin"),
                                   ("hard", tarfile.LNKTYPE, "/usr/bin/true")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            out.addfile(info)
        out.add(prog, "bin/prog")
    status, reported = push(server, tmp_path / "l.tar")
    assert status == 0 and [r["file"].rsplit("/", 2)[-2:] for r in reported] == [["bin", "prog"]]


def test_a_bomb_ends_at_its_ratio(server, tmp_path):
    zeros = b"\x7fELF" + bytes(1 << 20)
    with lzma.open(tmp_path / "bomb.tar.xz", "w") as packed:
        with tarfile.open(fileobj=packed, mode="w") as out:
            info = tarfile.TarInfo("bomb")
            info.size = 1 << 30
            class Zeros(io.RawIOBase):
                at = 0
                def read(self, n=-1):
                    self.at += n
                    return (zeros if self.at == n else bytes(n))[:n]
            out.addfile(info, Zeros())
    assert "exceeds" in failed(server, tmp_path / "bomb.tar.xz")


def test_archives_inside_each_other_have_a_limit(server, prog, tmp_path):
    content, name = prog.read_bytes(), "prog"
    for depth in range(12):
        path = make_zip(tmp_path / f"{depth}.zip", {name: content}, zipfile.ZIP_STORED)
        content, name = path.read_bytes(), path.name
    assert "nested more than" in failed(server, path)


def test_what_was_cut_off_is_an_error(server, prog, tmp_path):
    whole = tar(tmp_path / "w.tar.gz", {"bin/prog": prog.read_bytes()}, "w:gz").read_bytes()
    for size in (20, 300, len(whole) // 2, len(whole) - 20):
        (tmp_path / "c.tar.gz").write_bytes(whole[:size])
        assert "damaged" in failed(server, tmp_path / "c.tar.gz")


def test_a_damaged_member_costs_only_itself(server, prog, other, tmp_path):
    bad = bytearray(prog.read_bytes())
    bad[40:48] = b"\xff" * 8  # where its section table is
    archive = tar(tmp_path / "m.tar", {"bad": bytes(bad), "good": other.read_bytes()})
    _, reported = push(server, archive)
    assert {pathlib.Path(r["file"]).name: r["status"] for r in reported}["good"] == "uploaded"


def test_absurd_sizes_in_a_zip_are_an_error(server, prog, tmp_path):
    path = make_zip(tmp_path / "z.zip", {"a": prog.read_bytes()})
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 24:at + 28] = b"\xfe\xff\xff\xff"  # uncompressed size
    data[at + 42:at + 46] = b"\xf0\xff\xff\x7f"  # offset of the member
    path.write_bytes(data)
    failed(server, path)


def test_nothing_stays_in_the_folder_for_temporary_files(server, prog, tmp_path):
    archive, _ = make_deb(tmp_path, prog)
    (tmp_path / "scratch").mkdir()
    env = {"TMPDIR": str(tmp_path / "scratch")}
    assert server.unhex("push", archive, env=env).stdout.startswith("uploaded")
    assert list((tmp_path / "scratch").iterdir()) == []
    env = {"TMPDIR": str(tmp_path / "none")}
    result = server.unhex("push", "--force", archive, env=env)
    assert result.returncode == 1 and "none/unhex." in result.stdout
