# SPDX-License-Identifier: Apache-2.0
"""unhex crawl: repositories of Alpine, Arch and rpm, which the tests build and sign"""
import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile

import pytest

from http_api import Api
from repositories import Key, mirror_server
from test_memory import MB, peak_of
from tool import UNHEX, build_id, compile_c, lines, unhex

ID = "0123456789abcdef0123456789abcdef01234567"


def crawl(distribution, mirror, *args, **more):
    return unhex("crawl", distribution, "--mirror", mirror, "--arch", "x86_64", "--dry-run", "--json", *args, **more)


def plan(*args, **more):
    result = crawl(*args, **more)
    assert result.returncode == 0, (result.stdout, result.stderr)
    return lines(result)[0]


def refused(cause, *args, status=1, words=()):
    result = crawl(*args)
    assert result.returncode == status, (result.stdout, result.stderr)
    [got] = lines(result)
    assert got["cause"] == cause and all(w in got["error"] for w in words), got


def tar(files, end=True):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    data = out.getvalue()
    if end:
        return data
    # as abuild-tar --cut does: without the zeros at the end
    size = sum(512 + (len(d) + 511) // 512 * 512 for d in files.values())
    return data[:size]


# --- Alpine -----------------------------------------------------------------------------------------------------------


def apk(name, origin="busybox", depends="so:libc.musl-x86_64.so.1", time=1700000000, arch="x86_64", version="1.36.1-r5"):
    digest = hashlib.sha1(name.encode()).digest()
    return (f"C:Q1{base64.b64encode(digest).decode()}\nP:{name}\nV:{version}\nA:{arch}\nS:1000\nI:4000\nT:text\n"
            f"o:{origin}\nt:{time}\nD:{depends}\n")


APKS = [apk("busybox"), apk("busybox-dbg", depends=""), apk("busybox-doc", depends="", arch="noarch"), apk("script", depends="bash"),
        apk("linux-lts", origin="linux-lts", depends="mkinitfs", time=1800000000)]


class AlpineMirror:
    def __init__(self, folder, name="test@example.com-1234.rsa"):
        self.root, self.name = pathlib.Path(folder) / "alpine", name
        self.keys = pathlib.Path(folder) / "keys"
        self.keys.mkdir()
        self.secret = pathlib.Path(folder) / "secret.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.secret, "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", self.secret, "-pubout", "-out", self.keys / f"{name}.pub"], check=True,
                       capture_output=True)
        self.index = self.root / "v3.22/main/x86_64/APKINDEX.tar.gz"
        self.index.parent.mkdir(parents=True)

    def write(self, records, kind="RSA", digest="-sha1"):
        data = gzip.compress(tar({"DESCRIPTION": b"v3.22", "APKINDEX": "\n".join(records).encode() + b"\n"}), mtime=0)
        signature = subprocess.run(["openssl", "dgst", digest, "-sign", self.secret], input=data, check=True,
                                   capture_output=True).stdout
        first = gzip.compress(tar({f".SIGN.{kind}.{self.name}.pub": signature}, end=False), mtime=0)
        self.index.write_bytes(first + data)
        return self

    def args(self, *more):
        return ("alpine", self.root, "--suite", "v3.22", "--component", "main", "--keyring", self.keys, *more)


@pytest.fixture
def alpine(tmp_path):
    return AlpineMirror(tmp_path).write(APKS)


@pytest.mark.parametrize("kind,digest", [("RSA", "-sha1"), ("RSA256", "-sha256"), ("RSA512", "-sha512")])
def test_alpines_index_is_verified_and_counted(alpine, kind, digest):
    alpine.write(APKS, kind, digest)
    got = plan(*alpine.args())
    assert got["repository"] == "alpine v3.22 main x86_64" and got["in_index"] == 5
    assert (got["debug"]["packages"], got["stripped"]["packages"]) == (1, 2)
    assert got["stripped"]["bytes"] == 2000 and got["stripped"]["installed"] == 8000
    assert plan(*alpine.args("--since", "2026-01-01"))["stripped"]["packages"] == 1


def test_a_changed_index_of_alpine_has_a_bad_signature(alpine):
    data = bytearray(alpine.index.read_bytes())
    data[-1] ^= 1
    alpine.index.write_bytes(data)
    refused("signature", *alpine.args(), words=("does not match its signature",))


def test_alpines_key_must_be_in_the_folder(alpine):
    (alpine.keys / "test@example.com-1234.rsa.pub").rename(alpine.keys / "other.rsa.pub")
    refused("signature", *alpine.args(), words=("key test@example.com-1234.rsa.pub is not in the keyrings",))


def test_another_key_of_the_same_name_is_not_trusted(alpine, tmp_path):
    (tmp_path / "other").mkdir()
    other = AlpineMirror(tmp_path / "other")
    refused("signature", "alpine", alpine.root, "--suite", "v3.22", "--component", "main", "--keyring", other.keys)


def test_an_unsigned_index_of_alpine_is_refused(alpine):
    alpine.index.write_bytes(gzip.compress(tar({"APKINDEX": "\n".join(APKS).encode()})))
    refused("signature", *alpine.args(), words=("bad signature",))


def test_a_name_of_a_key_leads_to_no_other_folder(tmp_path):
    mirror = AlpineMirror(tmp_path)
    mirror.name = "../keys/test@example.com-1234.rsa"
    mirror.write(APKS)
    refused("signature", *mirror.args(), words=("missing",))


@pytest.mark.parametrize("record", ["P:x\nV:1\nS:1\nA:x86_64\nD:so:libc.musl\nC:Q1bad\n", "P:x\nA:x86_64\n", "nonsense\n"])
def test_a_malformed_index_of_alpine_is_refused(alpine, record):
    alpine.write([*APKS, record])
    refused("corrupt", *alpine.args(), words=("APKINDEX",))


# --- Arch -------------------------------------------------------------------------------------------------------------


def arch_desc(name, depends="glibc", arch="x86_64", **more):
    fields = {"FILENAME": f"{name}-1:5.2-1-{arch}.pkg.tar.zst", "NAME": name, "BASE": "bash", "VERSION": "1:5.2-1", "CSIZE": "300",
              "ISIZE": "900", "SHA256SUM": hashlib.sha256(name.encode()).hexdigest(), "ARCH": arch, "BUILDDATE": "1700000000",
              "DEPENDS": depends, **more}
    return "".join(f"%{k}%\n{v}\n\n" for k, v in fields.items() if v is not None).encode()


def arch_mirror(folder, name="core-debug", pack=gzip.compress, **more):
    """A mirror with one database."""
    db = folder / f"arch/{name}/os/x86_64/{name}.db"
    db.parent.mkdir(parents=True, exist_ok=True)
    files = {f"{n}-1:5.2-1/desc": arch_desc(n, **more) for n in ("bash", "bash-debug")}
    files["noarch-1/desc"] = arch_desc("noarch", arch="any")
    files["bash-1:5.2-1/files"] = b"%FILES%\n"
    db.write_bytes(pack(tar(files)))
    return db


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, check=True, capture_output=True).stdout


@pytest.mark.parametrize("pack", [gzip.compress, zstd, bytes])
def test_a_database_of_arch_is_counted(tmp_path, pack):
    arch_mirror(tmp_path, pack=pack)
    got = plan("arch", tmp_path / "arch", "--component", "core-debug")
    assert got["repository"] == "arch rolling core-debug x86_64" and got["in_index"] == 3
    assert (got["debug"]["packages"], got["stripped"]["packages"]) == (1, 1)
    assert got["debug"]["bytes"] == 300 and got["debug"]["installed"] == 900


def test_an_unsigned_database_needs_https_or_permission(tmp_path):
    arch_mirror(tmp_path)
    with mirror_server(tmp_path / "arch") as (url, _):
        refused("signature", "arch", url, "--component", "core-debug", words=("--allow-unsigned",))
        assert plan("arch", url, "--component", "core-debug", "--allow-unsigned")["in_index"] == 3


def test_with_keys_a_database_has_to_be_signed(tmp_path):
    db = arch_mirror(tmp_path)
    key = Key(tmp_path)
    args = ("arch", tmp_path / "arch", "--component", "core-debug", "--keyring", key.keyring)
    try:
        refused("signature", *args, words=("missing",))
        db.with_name(db.name + ".sig").write_bytes(key.detached(db.read_bytes(), armour=False))
        assert plan(*args)["in_index"] == 3
        db.write_bytes(db.read_bytes() + b"\0")
        refused("signature", *args, words=("does not match its signature",))
    finally:
        key.close()


def test_a_description_without_a_hash_is_refused(tmp_path):
    arch_mirror(tmp_path, SHA256SUM=None)
    refused("corrupt", "arch", tmp_path / "arch", "--component", "core-debug", words=("SHA-256",))


# --- rpm --------------------------------------------------------------------------------------------------------------


SPEC = """Name: one
Version: 1.0
Release: 2
Epoch: 3
Summary: one
License: none
%global debug_package %{{nil}}
%description
one
%package debuginfo
Summary: debug files
Provides: debuginfo(build-id) = {id}
Provides: debuginfo(build-id) = {other}
%description debuginfo
one
%package debugsource
Summary: sources
%description debugsource
one
%package data
Summary: data
BuildArch: noarch
%description data
one
%package tool
Summary: a program
Requires: libc.so.6()(64bit)
%description tool
one
%install
%files
%files debuginfo
%files debugsource
%files data
%files tool
"""


@pytest.fixture(scope="module")
def rpms(tmp_path_factory):
    """A folder of packages that rpmbuild has made."""
    folder = tmp_path_factory.mktemp("rpms")
    spec = folder / "one.spec"
    spec.write_text(SPEC.format(id=ID, other=ID[::-1]))
    subprocess.run(["rpmbuild", "-bb", "--target", "x86_64", "--define", f"_topdir {folder}/top", spec], check=True,
                   capture_output=True)
    return folder / "top/RPMS"


@pytest.fixture
def rpm_mirror(rpms, tmp_path):
    root = tmp_path / "rpm"
    subprocess.run(["cp", "-r", rpms, root], check=True)
    return root


def createrepo(root, *args):
    subprocess.run(["createrepo_c", "-q", "--no-database", *args, root], check=True, capture_output=True)
    return root


# The compressions that createrepo_c of Debian 12 has; zstd, which newer ones use, is packed here.
@pytest.mark.parametrize("pack", ["gz", "xz"])
def test_a_repository_of_rpm_is_counted(rpm_mirror, pack):
    createrepo(rpm_mirror, f"--general-compress-type={pack}")
    got = plan("rpm", rpm_mirror)
    assert got["repository"] == "rpm rpm packages x86_64" and got["in_index"] == 5
    assert got["debug"]["packages"] == 1 and got["debug"]["build_ids"] == 2
    assert got["stripped"]["packages"] == 1 and got["source"]["packages"] == 0
    sizes = {p.name: p.stat().st_size for p in rpm_mirror.rglob("*.rpm")}
    assert got["debug"]["bytes"] == sizes["one-debuginfo-1.0-2.x86_64.rpm"]
    assert got["stripped"]["bytes"] == sizes["one-tool-1.0-2.x86_64.rpm"]


def test_names_versions_and_sources_of_rpm_reach_the_server(rpm_mirror, server):
    createrepo(rpm_mirror)
    result = unhex("crawl", "rpm", "--mirror", rpm_mirror, "--arch", "x86_64", "--no-work", "--json", env=server.env)
    assert result.returncode == 0, result.stderr
    assert lines(result)[-1] == {"new": 2, "known": 0, "again": 0}
    status, taken, _ = Api(server)("POST", "/v1/crawl/jobs/take", {"worker": "test", "most": 5})
    assert status == 200, taken
    packages = {job["package"]["name"]: job["package"] for job in taken["jobs"]}
    debug = packages["one-debuginfo"]
    assert (debug["version"], debug["source"], debug["kind"], debug["role"]) == ("3:1.0-2", "one", "rpm", "debug")
    file = rpm_mirror / "x86_64/one-debuginfo-1.0-2.x86_64.rpm"
    assert debug["url"] == str(file)
    assert debug["key"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_signature_of_repomd_is_checked(rpm_mirror, tmp_path):
    createrepo(rpm_mirror)
    repomd = rpm_mirror / "repodata/repomd.xml"
    key = Key(tmp_path)
    try:
        refused("signature", "rpm", rpm_mirror, "--keyring", key.keyring, words=("missing",))
        (repomd.parent / "repomd.xml.asc").write_bytes(key.detached(repomd.read_bytes()))
        assert plan("rpm", rpm_mirror, "--keyring", key.armoured)["in_index"] == 5
        repomd.write_bytes(repomd.read_bytes() + b"\n")
        refused("signature", "rpm", rpm_mirror, "--keyring", key.keyring, words=("does not match its signature",))
    finally:
        key.close()


@pytest.mark.parametrize("change,cause,words", [
    (lambda d: d[:-5], "truncated", "truncated: "), (lambda d: d[:-1] + b"#", "hash", "wrong hash: "),
    (lambda d: d + b"#" * 9, "limit", "exceeds")])
def test_a_changed_primary_is_refused(rpm_mirror, change, cause, words):
    createrepo(rpm_mirror, "--general-compress-type=gz")  # newer ones use zstd by default
    [primary] = (rpm_mirror / "repodata").glob("*primary.xml.gz")
    primary.write_bytes(change(primary.read_bytes()))
    refused(cause, "rpm", rpm_mirror, words=(words,))


@pytest.mark.parametrize("repomd,words", [
    ("<repomd/>", "names no primary"), ("<repomd>", "no element found"),
    ('<!DOCTYPE x [<!ENTITY a "b">]><repomd>&a;</repomd>', "document type"),
    ("<a>" * 100, "nested too deeply"),
    ('<repomd><data type="primary"><location href="../../x"/><checksum type="sha256">' + "0" * 64
     + "</checksum></data></repomd>", "not a path inside")])
def test_a_malformed_repomd_is_refused(rpm_mirror, repomd, words):
    createrepo(rpm_mirror)
    (rpm_mirror / "repodata/repomd.xml").write_text(repomd)
    refused("corrupt", "rpm", rpm_mirror, words=(words,))


FEDORAS = 70_000  # packages of a large repository


def large_entry(i):
    """An element <package> of the size that Fedora's have: 2.8 kB; each second one is of debug files."""
    digest = hashlib.sha256(b"%d" % i).hexdigest()
    name = f"package{i}-debuginfo" if i % 2 else f"package{i}"
    ids = "".join(f'<rpm:entry name="debuginfo(build-id)" flags="EQ" ver="{hashlib.sha1(b"%d.%d" % (i, k)).hexdigest()}"/>'
                  for k in range(5 * (i % 2)))
    return (f'<package type="rpm"><name>{name}</name><arch>x86_64</arch><version epoch="0" ver="1.0" rel="1"/>'
            f'<checksum type="sha256" pkgid="YES">{digest}</checksum><description>{digest * 32}</description>'
            f'<time file="1" build="1700000000"/><size package="1000" installed="4000"/><location href="p/{name}.rpm"/><format>'
            f"<rpm:sourcerpm>package{i}-1.0-1.src.rpm</rpm:sourcerpm><rpm:provides>{ids}</rpm:provides><rpm:requires>"
            '<rpm:entry name="libc.so.6()(64bit)"/></rpm:requires></format></package>\n')


@pytest.mark.parametrize("pack,ending", [(zstd, "zst"), (lambda d: gzip.compress(d, 1), "gz")])
def test_a_primary_of_the_size_of_fedoras_is_never_unpacked_as_a_whole(tmp_path, pack, ending):
    text = "".join(['<metadata xmlns:rpm="http://linux.duke.edu/metadata/rpm">\n', *map(large_entry, range(FEDORAS)), "</metadata>\n"])
    assert len(text) > 190 * MB
    primary = pack(text.encode())
    folder = tmp_path / "repodata"
    folder.mkdir()
    (folder / f"primary.xml.{ending}").write_bytes(primary)
    (folder / "repomd.xml").write_text(
        f'<repomd><data type="primary"><checksum type="sha256">{hashlib.sha256(primary).hexdigest()}</checksum>'
        f'<location href="repodata/primary.xml.{ending}"/><size>{len(primary)}</size></data></repomd>')
    result, peak = peak_of(UNHEX, "crawl", "rpm", "--mirror", str(tmp_path), "--arch", "x86_64", "--dry-run", "--json")
    [got] = lines(result)
    assert got["in_index"] == FEDORAS and got["debug"]["build_ids"] == FEDORAS // 2 * 5
    assert peak < 100 * MB, f"{peak / MB:.1f} MB"


@pytest.mark.parametrize("text,cause,words", [
    (lambda: b"<metadata>" + b"x" * (80 << 20), "limit", "unpacks to more than"),
    (lambda: b"<metadata a=\"" + b"x" * (30 << 20), "limit", "a tag exceeds")])
def test_a_primary_that_is_a_bomb_is_refused(tmp_path, text, cause, words):
    primary = zstd(text())
    folder = tmp_path / "repodata"
    folder.mkdir()
    (folder / "primary.xml.zst").write_bytes(primary)
    (folder / "repomd.xml").write_text(
        f'<repomd><data type="primary"><checksum type="sha256">{hashlib.sha256(primary).hexdigest()}</checksum>'
        '<location href="repodata/primary.xml.zst"/></data></repomd>')
    refused(cause, "rpm", tmp_path, words=(words,))


# --- images -----------------------------------------------------------------------------------------------------------


class Image:
    """An image of two layers for two architectures, in an index."""

    def __init__(self, layers):
        self.blobs, self.layers = {}, [gzip.compress(tar(files), mtime=0) for files in layers]
        manifests = []
        for arch, chosen in (("amd64", self.layers), ("arm64", self.layers[:1])):
            config = self.add({"os": "linux", "architecture": arch}, "config.v1+json")
            manifest = {"schemaVersion": 2, "config": config, "layers": [
                *({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": self.blob(d), "size": len(d)} for d in chosen),
                {"mediaType": "application/vnd.oci.image.layer.nondistributable.v1.tar", "digest": self.blob(b"x"), "size": 1}]}
            manifests.append({**self.add(manifest, "manifest.v1+json"), "platform": {"os": "linux", "architecture": arch}})
        attestation = {**self.add({"layers": []}, "manifest.v1+json"), "platform": {"os": "unknown", "architecture": "unknown"}}
        self.index = json.dumps({"schemaVersion": 2, "manifests": [*manifests, attestation]}).encode()

    def blob(self, data):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest

    def add(self, document, kind):
        data = json.dumps(document).encode()
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": self.blob(data), "size": len(data)}

    def write(self, folder):
        (folder / "blobs/sha256").mkdir(parents=True)
        for digest, data in self.blobs.items():
            (folder / "blobs/sha256" / digest[7:]).write_bytes(data)
        (folder / "index.json").write_bytes(self.index)
        return folder

    def archive(self, path, prefix=""):
        """A tar of the folder."""
        files = {f"blobs/sha256/{digest[7:]}": data for digest, data in self.blobs.items()}
        path.write_bytes(tar({prefix + name: data for name, data in
                              {"oci-layout": b"{}", **files, "index.json": self.index}.items()}))
        return path

    def saved(self, path, change=None):
        """What docker save wrote before it wrote the OCI's layout as well: the second layer twice, once as a link."""
        plain = [gzip.decompress(d) for d in self.layers]
        plain.append(plain[1])
        diffs = ["sha256:" + hashlib.sha256(d).hexdigest() for d in plain]
        config = {"os": "linux", "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": diffs}}
        manifest = {"Config": "c.json", "RepoTags": ["app:1"], "Layers": ["a/layer.tar", "b/layer.tar", "c/layer.tar"]}
        if change:
            change(config, manifest)
        with tarfile.open(path, "w") as out:
            for name, data in [("a/layer.tar", plain[0]), ("b/layer.tar", plain[1]), ("c.json", json.dumps(config).encode()),
                               ("manifest.json", json.dumps([manifest]).encode())]:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))
            link = tarfile.TarInfo("c/layer.tar")
            link.type, link.linkname = tarfile.SYMTYPE, "../b/layer.tar"
            out.addfile(link)
        return path

    def registry(self, token=None):
        """What mirror_server() answers for /v2/team/app; with a token, only who has it."""
        def answer(handler):
            url, wants = f"http://{handler.headers['Host']}", f"Bearer {token}"
            if handler.path.startswith("/token"):
                assert "scope=repository%3Ateam%2Fapp%3Apull" in handler.path or "scope=repository:team%2Fapp:pull" in handler.path
                handler.reply(200, json.dumps({"token": token}).encode())
            elif token and handler.headers.get("Authorization") != wants:
                handler.reply(401, **{"WWW-Authenticate": f'Bearer realm="{url}/token",service="here"'})
            else:
                name = handler.path.rsplit("/", 1)[1]
                data = self.index if name == "1.0" else self.blobs.get(name)
                handler.reply(200 if data else 404, data or b"")
            return True
        return answer


@pytest.fixture
def image(tmp_path):
    program = compile_c(tmp_path, "in_image", flags=("-O2",))
    return Image([{"usr/bin/in_image": program.read_bytes()}, {"etc/motd": b"text"}]), program


def crawl_image(name, *args, **more):
    return unhex("crawl", "oci", name, "--arch", "amd64", "--jobs", 1, "--json", *args, **more)


def test_layers_of_a_folder_are_counted_once_each(image, tmp_path):
    folder = image[0].write(tmp_path / "image")
    [got] = lines(crawl_image(folder, "--dry-run"))
    assert got["repository"] == f"oci {folder} amd64" and got["stripped"]["packages"] == 2
    assert got["stripped"]["bytes"] == sum(map(len, image[0].layers))
    [got] = lines(unhex("crawl", "oci", folder, "--arch", "arm64", "--dry-run", "--json"))
    assert got["stripped"]["packages"] == 1
    result = unhex("crawl", "oci", folder, "--arch", "s390x", "--dry-run", "--json")
    assert (result.returncode, lines(result)[0]["cause"]) == (1, "absent")


@pytest.mark.parametrize("form", ["oci", "dots", "docker"])
def test_layers_of_an_archive_end_in_answers(image, server, tmp_path, form):
    path = tmp_path / "image.tar"
    if form == "docker":
        image[0].saved(path)
    else:
        image[0].archive(path, "./" if form == "dots" else "")
    result = crawl_image(path, env=server.env, timeout=300)
    assert result.returncode == 0, (result.stdout, result.stderr)
    got = lines(result)
    assert got[0]["stripped"]["packages"] == 2 and [r["outcome"] for r in got[2:4]] == ["done", "done"], got
    again = crawl_image(path, env=server.env, timeout=300)
    assert again.returncode == 0 and lines(again)[0]["unchanged"]
    got = lines(server.unhex("lookup", build_id(image[1]), "0x1139", "--json"))
    assert got and got[0]["frames"]


@pytest.mark.parametrize("change,cause,words", [
    (lambda c, m: c["rootfs"]["diff_ids"].pop(), "corrupt", "3 layers and 2 layer digests"),
    (lambda c, m: c["rootfs"]["diff_ids"].reverse(), "corrupt", "does not match the configuration"),
    (lambda c, m: m["Layers"].append(m["Layers"].pop(0)), "corrupt", "does not match the configuration"),
    (lambda c, m: m["Layers"].__setitem__(1, "none"), "absent", "none is not in the archive"),
    (lambda c, m: m.update(Config="none"), "absent", "none is not in the archive"),
    (lambda c, m: c.update(architecture="s390x"), "absent", "no image for amd64")])
def test_what_is_wrong_in_what_docker_saved_is_said(image, tmp_path, change, cause, words):
    result = crawl_image(image[0].saved(tmp_path / "i.tar", change), "--dry-run")
    [got] = lines(result)
    assert (result.returncode, got["cause"]) == (1, cause) and words in got["error"], got


def test_an_archive_that_is_none_is_refused(image, tmp_path):
    whole = image[0].archive(tmp_path / "i.tar").read_bytes()
    for name, data, words in (("gz", gzip.compress(whole), "compressed"), ("cut", whole[:len(whole) // 2], "0x"),
                              ("none", tar({"a": b"b"}), "manifest.json is not in the archive"), ("text", b"x" * 2000, "not a number")):
        path = tmp_path / name
        path.write_bytes(data)
        result = crawl_image(path, "--dry-run")
        assert result.returncode in (1, 2) and words in lines(result)[0]["error"], lines(result)


@pytest.mark.parametrize("token", [None, "key-of-a-minute"])
def test_layers_of_a_registry_end_in_answers_and_are_fetched_once(image, server, token):
    with mirror_server("/nonexistent", image[0].registry(token)) as (url, requests):
        name = url.removeprefix("http://") + "/team/app:1.0"
        result = crawl_image(name, env=server.env, timeout=300)
        assert result.returncode == 0, (result.stdout, result.stderr)
        again = crawl_image(name, env=server.env, timeout=300)
        assert again.returncode == 0 and lines(again)[0]["unchanged"]
        fetched = [r["path"] for r in requests if "/blobs/" in r["path"]
                   and (not token or r["headers"].get("Authorization") == f"Bearer {token}")]
        assert sorted(fetched) == sorted(f"/v2/team/app/blobs/{image[0].blob(d)}" for d in image[0].layers)
    got = lines(server.unhex("lookup", build_id(image[1]), "0x1139", "--json"))
    assert got and got[0]["frames"]


@pytest.mark.parametrize("permitted", [True, False])
def test_blobs_of_a_registry_that_are_elsewhere_need_permission_and_get_no_key(image, server, permitted):
    """As of Docker Hub: the registry redirects to a store with another host."""
    registry = image[0].registry("key-of-a-minute")
    with mirror_server("/nonexistent", lambda h: h.reply(200, image[0].blobs[h.path[7:].split("?")[0]]) or True) as (store, stored):
        def answer(handler):
            name = handler.path.rsplit("/", 1)[1]
            if "/blobs/" in handler.path and handler.headers.get("Authorization") and name in map(image[0].blob, image[0].layers):
                handler.reply(307, Location=f"{store}/store/{name}?signature=1")
                return True
            return registry(handler)
        with mirror_server("/nonexistent", answer) as (url, _):
            more = ("--from", f"{store}/store") if permitted else ()
            with subprocess.Popen([UNHEX, "crawl", "oci", url.removeprefix("http://") + "/team/app:1.0", "--arch", "amd64",
                                   "--jobs", "1", "--json", *more], text=True, stdout=subprocess.PIPE,
                                  env={**os.environ, **server.env}) as process:
                rows = [json.loads(process.stdout.readline()) for _ in range(4)][2:]
                process.terminate()  # what failed would be tried again later
    if permitted:
        assert {r["outcome"] for r in rows} == {"done"} and len(stored) == 2, rows
        assert not any("Authorization" in r["headers"] for r in stored)
    else:
        assert {(r["outcome"], r["cause"]) for r in rows} == {("failed", "mirror")} and stored == [], rows
        assert all(f"{store}/store/" in r["reason"] for r in rows)


def test_a_manifest_that_is_not_its_digest_is_refused(image, tmp_path):
    folder = image[0].write(tmp_path / "image")
    digest = json.loads(image[0].index)["manifests"][0]["digest"]
    (folder / "blobs/sha256" / digest[7:]).write_text("{}")
    result = crawl_image(folder, "--dry-run")
    assert (result.returncode, lines(result)[0]["cause"]) == (1, "corrupt")


# --- where repositories are -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite,folders", [
    ("15.6", {"oss": "distribution/leap/15.6/repo/oss", "debuginfo": "debug/distribution/leap/15.6/repo/oss"}),
    ("tumbleweed", {"oss": "tumbleweed/repo/oss", "debuginfo": "debug/tumbleweed/repo/oss"})])
def test_repositories_of_opensuse_are_where_its_releases_have_them(rpm_mirror, tmp_path, suite, folders):
    createrepo(rpm_mirror)
    for component, folder in folders.items():
        root = tmp_path / component
        (root / folder).parent.mkdir(parents=True)
        rpm_mirror.rename(root / folder)
        got = plan("opensuse", root, "--suite", suite, "--component", component)
        assert (got["repository"], got["in_index"]) == (f"opensuse {suite} {component} x86_64", 5)
        (root / folder).rename(rpm_mirror)


def amazon(root, rpm_mirror, text, component="core"):
    """A mirror of Amazon Linux: lists name folders with a hash."""
    lists = root / {"core": "al2023/core/mirrors/latest/x86_64", "debuginfo": "al2023/core/mirrors/latest/debuginfo/x86_64",
                    "2-core": "2/core/latest/x86_64"}[component]
    lists.mkdir(parents=True)
    (lists / "mirror.list").write_text(text)
    folder = root / "al2023/core/guids/0a1b2c/x86_64"
    if not folder.exists():
        folder.parent.mkdir(parents=True)
        rpm_mirror.rename(folder)
    return root


@pytest.mark.parametrize("component", ["core", "debuginfo", "2-core"])
def test_the_list_of_mirrors_of_amazon_linux_leads_to_its_packages(rpm_mirror, tmp_path, server, component):
    createrepo(rpm_mirror)
    root = tmp_path / "amazon"
    with mirror_server(root) as (url, requests):
        amazon(root, rpm_mirror, f"# mirrors\n\n{url}/gone/\n{url}/al2023/core/guids/0a1b2c/$basearch/\n", component)
        options = ("--allow-unsigned", "--component", component)
        got = plan("amazon", url, *options)
        assert (got["repository"], got["in_index"]) == (f"amazon latest {component} x86_64", 5)
        assert [r["status"] for r in requests] == [200, 404, 200, 200]
        announce = ("crawl", "amazon", "--mirror", url, "--arch", "x86_64", "--no-work", "--json", *options)
        result = unhex(*announce, env=server.env)
        assert lines(result)[-1] == {"new": 2, "known": 0, "again": 0}
        status, taken, _ = Api(server)("POST", "/v1/crawl/jobs/take", {"worker": "test", "most": 5})
        assert status == 200
        assert all(job["package"]["url"].startswith(f"{url}/al2023/core/guids/0a1b2c/x86_64/") for job in taken["jobs"])
        del requests[:]
        result = unhex(*announce, env=server.env)
        assert lines(result)[0]["unchanged"] and [r["status"] for r in requests] == [200, 404, 304]


@pytest.mark.parametrize("text,cause,words", [
    ("# nothing\n", "corrupt", "is empty"), ("ftp://a/\n", "other", "expected http"),
    ("http://127.0.0.1:1/\n", "denied", "does not use https"), ("http://u:p@127.0.0.1/x\n", "other", "user name")])
def test_a_list_of_mirrors_is_not_trusted_for_more_than_its_mirrors(rpm_mirror, tmp_path, text, cause, words):
    """A list on this machine names a mirror that is neither signed nor reached by https."""
    createrepo(rpm_mirror)
    root = tmp_path / "amazon"
    with mirror_server(root) as (url, _):
        amazon(root, rpm_mirror, text.replace("http://127.0.0.1:1/", f"{url}/al2023/core/guids/0a1b2c/x86_64"))
        refused(cause if cause != "denied" else "signature", "amazon", root, "--component", "core", words=(words,))


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_list_of_another_machine_names_no_folder_of_this_one(rpm_mirror, tmp_path, scheme):
    createrepo(rpm_mirror)
    root = tmp_path / "amazon"
    with mirror_server(root) as (url, _):
        amazon(root, rpm_mirror, f"{scheme}{root}/al2023/core/guids/0a1b2c/x86_64\n")
        refused("denied", "amazon", url, "--allow-unsigned", "--component", "core", words=("names a folder of this machine",))


def test_when_no_mirror_of_a_list_answers_the_first_one_is_named(rpm_mirror, tmp_path):
    createrepo(rpm_mirror)
    root = tmp_path / "amazon"
    with mirror_server(root) as (url, _):
        amazon(root, rpm_mirror, f"{url}/one/\n{url}/two/\n")
        refused("absent", "amazon", url, "--allow-unsigned", "--component", "core", words=("/one/",))
