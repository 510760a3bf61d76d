# SPDX-License-Identifier: Apache-2.0
"""unhex crawl alpine: debug files without build IDs get the identity of the stripped files that they belong to"""
import base64
import gzip
import hashlib
import json
import pathlib
import shutil
import subprocess

import pytest

from http_api import Api
from test_crawl_indexes import AlpineMirror, tar
from test_crawl_work import work_once
from tool import compile_c, lines, unhex


def segments(files, name="p", change=None):
    """An .apk of version 2: signature, control and data."""
    data = gzip.compress(tar(files), mtime=0)
    info = f"pkgname = {name}\npkgver = 1.0-r0\narch = x86_64\n# comment\ndatahash = {hashlib.sha256(data).hexdigest()}\n"
    control = gzip.compress(tar({".PKGINFO": (change or str)(info).encode(), ".post-install": b"#!/bin/sh\n"}, end=False), mtime=0)
    return [gzip.compress(tar({".SIGN.RSA.a.rsa.pub": b"s" * 512}, end=False), mtime=0), control, data]


def record(name, parts, origin="tool", arch="x86_64", depends="so:libc.musl-x86_64.so.1"):
    checksum = base64.b64encode(hashlib.sha1(parts[1]).digest()).decode()
    return (f"C:Q1{checksum}\nP:{name}\nV:1.0-r0\nA:{arch}\nS:{sum(map(len, parts))}\nI:4000\nT:text\no:{origin}\n"
            f"t:1700000000\nD:{depends}\n")


class Alpine(AlpineMirror):
    """A mirror whose packages are there."""

    def publish(self, packages, change=()):
        """packages: {name: files}; change: (name, function of the parts)."""
        records = []
        for name, files in packages.items():
            parts = segments(files, name)
            depends = "" if name.endswith("-dbg") else "so:libc.musl-x86_64.so.1"
            records.append(record(name, parts, depends=depends))
            for which, function in change:
                parts = function(parts) if which == name else parts
            (self.index.parent / f"{name}-1.0-r0.apk").write_bytes(b"".join(parts))
        self.write(records)
        return self

    def crawl(self, *args, **more):
        return unhex("crawl", "alpine", "--mirror", self.root, "--suite", "v3.22", "--component", "main", "--arch", "x86_64",
                     "--keyring", self.keys, "--jobs", 1, "--json", *args, **more)


class Program:
    """A program as abuild leaves it: no build ID, stripped, with a debug link; and its debug file."""

    def __init__(self, folder, name):
        self.name = name
        whole = compile_c(folder, name, flags=("-O2", "-g"))
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", whole], check=True)
        self.debug, self.stripped = folder / f"{name}.debug", folder / f"{name}.stripped"
        subprocess.run(["objcopy", "--only-keep-debug", whole, self.debug], check=True)
        shutil.copy(whole, self.stripped)
        subprocess.run(["strip", "--strip-unneeded", self.stripped], check=True)
        subprocess.run(["objcopy", "--add-gnu-debuglink", self.debug.name, self.stripped.name], check=True, cwd=folder)
        [self.file_id] = [i for i in lines(unhex("id", self.stripped, "--json"))[0]["ids"] if i.startswith("file:")]
        self.address = [int(line.split()[0], 16) for line in subprocess.run(
            ["nm", whole], capture_output=True, text=True, check=True).stdout.splitlines() if line.endswith(" main")][0]

    def files(self, path):
        """What the stripped and the debug package have."""
        return {path: self.stripped.read_bytes()}, {f"usr/lib/debug/{path}.debug": self.debug.read_bytes()}


@pytest.fixture
def alpine(tmp_path):
    return Alpine(tmp_path)


@pytest.fixture
def programs(tmp_path):
    return Program(tmp_path, "one"), Program(tmp_path, "two")


def split(programs):
    one, one_debug = programs[0].files("usr/bin/one")
    two, two_debug = programs[1].files("usr/lib/libtwo.so.1")
    return {"tool": one, "tool-libs": two, "tool-dbg": {**one_debug, **two_debug}, "other": {"usr/bin/x": b"#!"}}


def frames(server, program):
    got = lines(server.unhex("lookup", program.file_id, hex(program.address), "--json"))
    return got[0]["frames"] if got else []


def test_debug_packages_are_announced_with_the_packages_they_belong_to(alpine, programs, server):
    alpine.publish(split(programs))
    result = alpine.crawl("--no-work", "--debug-only", env=server.env)
    assert lines(result)[-1] == {"new": 1, "known": 0, "again": 0}, result
    [job] = Api(server)("POST", "/v1/crawl/jobs/take", {"worker": "t", "most": 9})[1]["jobs"]
    files = job["package"]["files"]
    assert [pathlib.Path(f["url"]).name for f in files] == ["tool-1.0-r0.apk", "other-1.0-r0.apk", "tool-libs-1.0-r0.apk"]
    assert all(f["key"].startswith("apk:") and f["size"] == pathlib.Path(f["url"]).stat().st_size for f in files)


def test_debug_files_end_in_answers_under_the_file_id_of_the_stripped_ones(alpine, programs, server):
    alpine.publish(split(programs))
    result = alpine.crawl("--debug-only", env=server.env)
    assert result.returncode == 0, (result.stdout, result.stderr)
    [row] = [r for r in lines(result) if "outcome" in r]
    assert (row["outcome"], row["uploaded"], row["bad"]) == ("done", 2, 0), row
    for program in programs:
        got = frames(server, program)
        assert got and got[0]["function"] == "main" and got[0]["line"] > 0, got
        module = Api(server)("GET", f"/v1/modules/{program.file_id}")[1]
        assert [c["quality"] for c in module["candidates"]] in (["inlines"], ["lines"])
        assert module["candidates"][0]["package"] == "tool-dbg"


def test_a_debug_file_of_another_build_is_not_joined(alpine, programs, server, tmp_path):
    """Same path, another CRC; and one whose stripped file is nowhere."""
    packages = split(programs)
    packages["tool-dbg"] = {"usr/lib/debug/usr/bin/one.debug": programs[1].debug.read_bytes(),
                            "usr/lib/debug/usr/bin/none.debug": programs[0].debug.read_bytes()}
    alpine.publish(packages)
    [row] = [r for r in lines(alpine.crawl("--debug-only", env=server.env)) if "outcome" in r]
    assert (row["outcome"], row["bad"]) == ("done", 2) and row.get("uploaded", 0) == 0, row
    assert not any(frames(server, program) for program in programs)


def cut(parts):
    return [*parts[:2], parts[2][:-9]]


def other_data(parts):
    return [*parts[:2], gzip.compress(tar({"usr/bin/one": b"\x7fELF"}), mtime=0)]


def other_control(parts):
    return [parts[0], segments({})[1], parts[2]]


def same_size(parts):
    """The data with another byte in their middle."""
    data = bytearray(parts[2])
    data[len(data) // 2] ^= 1
    return [*parts[:2], bytes(data)]


@pytest.mark.parametrize("where", ["tool-dbg", "tool"])
@pytest.mark.parametrize("change,cause,words", [
    (cut, "size", "bytes"), (same_size, "hash", "datahash"), (other_data, "size", "bytes")])
def test_a_changed_package_leaves_nothing(alpine, programs, server, where, change, cause, words):
    alpine.publish(split(programs), change=[(where, change)])
    assert alpine.crawl("--no-work", "--debug-only", env=server.env).returncode == 0
    row = failed(server, alpine)
    assert row["cause"] == cause and words in row["reason"], row
    assert not any(frames(server, program) for program in programs)


def failed(server, alpine):
    """Works until the package has failed."""
    return json.loads(work_once(server, alpine.root))


@pytest.mark.parametrize("change,words", [
    (other_control, "control segment"),
    (lambda parts: [parts[0][:20], *parts[1:]], "gzip"), (lambda parts: parts[2:], "")])
def test_what_is_wrong_in_front_of_the_data_is_a_wrong_hash(alpine, programs, server, change, words):
    packages = split(programs)
    alpine.publish(packages, change=[("tool-dbg", change)])
    size = (alpine.index.parent / "tool-dbg-1.0-r0.apk").stat().st_size
    parts = segments(packages["tool-dbg"], "tool-dbg")
    alpine.write([record("tool-dbg", parts, depends="").replace(f"S:{sum(map(len, parts))}\n", f"S:{size}\n"),
                  *(record(n, segments(f, n)) for n, f in packages.items() if n != "tool-dbg")])
    assert alpine.crawl("--no-work", "--debug-only", env=server.env).returncode == 0
    row = failed(server, alpine)
    assert row["cause"] in ("hash", "damaged") and words in row["reason"], row
