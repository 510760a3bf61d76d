# SPDX-License-Identifier: Apache-2.0
"""unhex crawl alpine: packages and indexes of apk-tools 3"""
import hashlib
import json
import pathlib

import pytest

from apk_tools3 import Package, Signer, block, index
from http_api import Api
from test_crawl_alpine import frames, programs, segments  # noqa: F401 (a fixture)
from test_crawl_indexes import refused
from test_crawl_work import work_on
from tool import build_id, compile_c, lines, unhex

LIBC = ("so:libc.musl-x86_64.so.1",)


class Mirror:
    """A mirror whose index is APKINDEX.adb."""

    def __init__(self, folder, kind="rsa"):
        self.root = pathlib.Path(folder) / "alpine3"
        self.folder = self.root / "v3.99/main/x86_64"
        self.folder.mkdir(parents=True)
        self.signer = Signer(folder, kind=kind)

    def publish(self, packages, name="APKINDEX.adb", files=None, **more):
        """packages: Package; files: {name: bytes} that are there in their place."""
        rows = []
        for p in packages:
            content = (files or {}).get(p.name, p.bytes)
            (self.folder / f"{p.name}-1.0-r0.apk").write_bytes(content)
            rows.append((p.name, p.identity, len(content), p.depends, {}))
        (self.folder / name).write_bytes(index(rows, [self.signer], **more))
        return self

    def args(self, *more):
        return ("alpine", self.root, "--suite", "v3.99", "--component", "main", "--keyring", self.signer.keys, *more)

    def crawl(self, *args, **more):
        return unhex("crawl", "alpine", "--mirror", self.root, "--suite", "v3.99", "--component", "main", "--arch", "x86_64",
                     "--keyring", self.signer.keys, "--jobs", 1, "--json", *args, **more)


@pytest.fixture
def mirror(tmp_path):
    return Mirror(tmp_path)


def split(programs, **more):
    """A package with programs, and that with their debug files."""
    stripped, debug = {}, {}
    for program, path in zip(programs, ("usr/bin/one", "usr/lib/libtwo.so.1")):
        a, b = program.files(path)
        stripped.update(a)
        debug.update(b)
    stripped |= {"usr/bin/link": "one", "etc/empty": b"", "etc/text": b"text\n" * 100}
    return [Package("tool", stripped, depends=LIBC, **more), Package("tool-dbg", debug, **more)]


@pytest.mark.parametrize("by", [None, "deflate", "zstd"])
@pytest.mark.parametrize("name", ["APKINDEX.adb", "packages.adb"])
def test_an_index_of_apk_tools_3_is_verified_and_counted(mirror, by, name):
    packages = [Package("tool", {}, depends=LIBC), Package("tool-dbg", {}), Package("script", {}, depends=("bash",)),
                Package("linux-lts", {}, origin="linux-lts")]
    rows = [(p.name, p.identity, 1000, p.depends, {"origin": "linux-lts"} if p.name == "linux-lts" else {}) for p in packages]
    rows.append(("tool-doc", hashlib.sha256(b"").digest(), 10, (), {"arch": "noarch"}))
    (mirror.folder / name).write_bytes(index(rows, [mirror.signer], by=by))
    result = mirror.crawl("--dry-run")
    assert result.returncode == 0, result.stdout
    got = lines(result)[0]
    assert got["repository"] == "alpine v3.99 main x86_64" and got["in_index"] == 5
    assert (got["debug"]["packages"], got["stripped"]["packages"]) == (1, 2)
    assert got["stripped"]["bytes"] == 2000 and got["stripped"]["installed"] == 8000


def test_an_index_may_be_signed_by_several_keys_also_of_elliptic_curves(tmp_path):
    mirror = Mirror(tmp_path, kind="ec")
    other = Signer(tmp_path, "other.pub")
    (mirror.folder / "APKINDEX.adb").write_bytes(index([], [other, mirror.signer]))
    assert mirror.crawl("--dry-run").returncode == 0


@pytest.mark.parametrize("by", [None, "zstd"])
def test_an_index_that_is_not_what_was_signed_is_refused(mirror, tmp_path, by):
    place = mirror.folder / "APKINDEX.adb"
    row = ("tool", bytes(32), 1000, LIBC, {})

    def flip(parts):
        return [parts[0], parts[1].replace(b"tool", b"fool"), *parts[2:]]

    for data in (index([row], [], by=by), index([row], [Signer(tmp_path, "other.pub")], by=by),
                 index([row], [mirror.signer], by=by, change=flip)):
        place.write_bytes(data)
        refused("signature", *mirror.args(), words=("bad signature",))
    place.write_bytes(index([row], [mirror.signer], by=by, change=lambda parts: [b"ADB.pckg", *parts[1:]]))
    refused("corrupt", *mirror.args(), words=("not an index",))
    place.write_bytes(index([row], [mirror.signer], by=by)[:-3])
    refused("corrupt", *mirror.args(), words=("ends in a block" if by is None else "cut off",))


def test_an_index_whose_files_have_names_of_their_own_is_refused(mirror):
    place = mirror.folder / "APKINDEX.adb"
    place.write_bytes(index([], [mirror.signer], names="${name}-${version}.apk"))
    assert mirror.crawl("--dry-run").returncode == 0
    place.write_bytes(index([], [mirror.signer], names="${arch}/${name}-${version}.apk"))
    refused("other", *mirror.args(), words=("unsupported naming rule",))


@pytest.mark.parametrize("by", [None, "deflate", "zstd"])
def test_debug_files_in_packages_of_version_3_end_in_answers(mirror, programs, server, by):
    mirror.publish(split(programs, by=by, signer=mirror.signer), by=by)
    result = mirror.crawl("--debug-only", env=server.env)
    assert result.returncode == 0, (result.stdout, result.stderr)
    [row] = [r for r in lines(result) if "outcome" in r]
    assert (row["outcome"], row["uploaded"], row["bad"]) == ("done", 2, 0), row
    for program in programs:
        got = frames(server, program)
        assert got and got[0]["function"] == "main" and got[0]["line"] > 0, got
        module = Api(server)("GET", f"/v1/modules/{program.file_id}")[1]
        assert module["candidates"][0]["package"] == "tool-dbg"


@pytest.mark.parametrize("more", [{"digest": hashlib.sha512}, {"extended": True}])
@pytest.mark.parametrize("hash_size", [32, 20])
def test_other_hashes_and_heads_of_blocks_are_read_too(mirror, programs, server, more, hash_size):
    mirror.publish(split(programs, **more), hash_size=hash_size)
    result = mirror.crawl("--debug-only", env=server.env)
    [row] = [r for r in lines(result) if "outcome" in r]
    assert (row["outcome"], row["uploaded"]) == ("done", 2), row


def test_a_package_of_version_2_may_be_in_an_index_of_apk_tools_3(mirror, programs, server):
    one, one_debug = programs[0].files("usr/bin/one")
    rows = []
    for name, files, depends in (("tool", one, LIBC), ("tool-dbg", one_debug, ())):
        parts = segments(files, name)
        (mirror.folder / f"{name}-1.0-r0.apk").write_bytes(b"".join(parts))
        rows.append((name, hashlib.sha256(parts[1]).digest(), sum(map(len, parts)), depends, {}))
    (mirror.folder / "APKINDEX.adb").write_bytes(index(rows, [mirror.signer]))
    [row] = [r for r in lines(mirror.crawl("--debug-only", env=server.env)) if "outcome" in r]
    assert (row["outcome"], row["uploaded"]) == ("done", 1), row
    assert frames(server, programs[0])


def other_data(parts):
    """The data of the last file with another byte in their middle."""
    data = bytearray(parts[-1])
    data[len(data) // 2] ^= 1
    return [*parts[:-1], bytes(data)]


def other_order(parts):
    return [*parts[:-2], parts[-1], parts[-2]]


CHANGES = [
    (other_data, "hash", "does not match the hash in the package"),
    (lambda p: [p[0], p[1].replace(b"1.0-r0", b"1.0-r1"), *p[2:]], "hash", "metadata does not match"),
    (lambda p: p[:-1], "damaged", "before the data of its last file"),
    (lambda p: [*p[:-1], p[-1][:-9]], "damaged", "the package ends after"),
    (lambda p: [*p, block(2, bytes(8) + b"more")], "damaged", "belongs to no file"),
    (lambda p: [*p, block(1, b"late")], "damaged", "out of order"),
    (lambda p: [*p, b"abc"], "damaged", "ends in a block header"),
    (other_order, "damaged", ""),
    (lambda p: [p[0], *p[2:]], "damaged", "block of values"),
    (lambda p: [b"ADB.idb\0", *p[1:]], "damaged", "not a package"),
]


def test_changed_packages_of_version_3_leave_nothing_and_say_why(mirror, programs, server):
    _, debug = programs[0].files("usr/bin/one")
    _, other = programs[1].files("usr/bin/two")
    packages, files = [], {}
    for i, (change, _, _) in enumerate(CHANGES):
        packages.append(Package(f"tool{i}-dbg", {**debug, **other}, origin=f"tool{i}"))
        files[f"tool{i}-dbg"] = Package(f"tool{i}-dbg", {**debug, **other}, origin=f"tool{i}", change=change).bytes
    mirror.publish(packages, files=files)
    assert mirror.crawl("--no-work", "--debug-only", env=server.env).returncode == 0
    rows = {pathlib.Path(r["package"]).name.split("-")[0]: r for r in map(json.loads, work_on(server, mirror.root, len(CHANGES)))}
    for i, (_, cause, words) in enumerate(CHANGES):
        row = rows[f"tool{i}"]
        assert row["cause"] == cause and words in row["reason"], row
    assert Api(server)("GET", "/v1/modules")[1]["modules"] == []


def test_a_stripped_package_of_version_3_that_was_changed_leaves_nothing(mirror, programs, server):
    packages = split(programs)
    mirror.publish(packages, files={"tool": split(programs, change=other_data)[0].bytes})
    assert mirror.crawl("--no-work", "--debug-only", env=server.env).returncode == 0
    assert json.loads(work_on(server, mirror.root, 1)[0])["cause"] == "hash"
    assert not any(frames(server, program) for program in programs)


def test_a_cut_package_of_version_3_has_another_size(mirror, programs, server):
    packages = split(programs)
    mirror.publish(packages)
    place = mirror.folder / "tool-dbg-1.0-r0.apk"
    place.write_bytes(place.read_bytes()[:-7])
    assert mirror.crawl("--no-work", "--debug-only", env=server.env).returncode == 0
    assert json.loads(work_on(server, mirror.root, 1)[0])["cause"] == "size"


def test_a_bomb_of_version_3_is_over_a_limit(mirror, server):
    bomb = Package("tool-dbg", {"usr/lib/debug/x.debug": bytes(300 << 20)}, by="zstd")
    assert len(bomb.bytes) < 1 << 20
    mirror.publish([bomb])
    assert mirror.crawl("--no-work", "--debug-only", env=server.env).returncode == 0
    row = json.loads(work_on(server, mirror.root, 1)[0])
    assert row["cause"] == "limit" and "unpacked from" in row["reason"], row


def test_a_package_of_version_3_is_pushed_as_any_archive(server, tmp_path):
    program = compile_c(tmp_path, "pushed")
    whole = Package("tool", {"usr/bin/pushed": program.read_bytes(), "etc/text": b"text"}, by="zstd")
    (tmp_path / "tool.apk").write_bytes(whole.bytes)
    [row] = lines(server.unhex("push", tmp_path / "tool.apk", "--json"))
    assert row["status"] == "uploaded" and row["id"] == build_id(program), row
    (tmp_path / "other.apk").write_bytes(Package("tool", {"usr/bin/pushed": program.read_bytes()}, change=other_data).bytes)
    result = server.unhex("push", tmp_path / "other.apk", "--force", "--json")
    assert result.returncode == 1 and "does not match the hash" in lines(result)[-1]["reason"], result.stdout
    # a file that only begins so is none
    (tmp_path / "notes").write_bytes(b"ADBd is not an archive\n")
    assert server.unhex("push", tmp_path / "notes").returncode != 3
