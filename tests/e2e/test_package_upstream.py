# SPDX-License-Identifier: Apache-2.0
"""A distribution as an upstream: the package that has a missing build ID is fetched, and nothing else."""
import hashlib
import shutil
import subprocess
import threading

import pytest

from http_api import Api
from test_dwz_uploads import debug_of, fetched, hex_id, tree  # noqa: F401 (a fixture)
from test_supplementary import code_addresses
from test_upstreams import ask, explain, own, servers, stub, symbolize  # noqa: F401 (fixtures)
from tool import build_id, unhex
from upstream_stub import send
from waiting import pause_for, wait_for

assert tree and servers and stub
POOL = "/debian/pool/main/d/demo"


def make_deb(folder, root, compression="xz"):
    """A package of this folder."""
    content = folder / "content"
    shutil.copytree(root, content / "usr/lib/debug")
    (content / "DEBIAN").mkdir()
    (content / "DEBIAN/control").write_text("Package: demo-dbgsym\nVersion: 1.0-1\nArchitecture: amd64\n"
                                            "Maintainer: nobody <nobody@example.org>\nDescription: test\n")
    path = folder / "demo-dbgsym_1.0-1_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", f"-Z{compression}", "--build", content, path], check=True,
                   capture_output=True)
    return path.read_bytes()


@pytest.fixture(scope="module")
def deb(tree, tmp_path_factory):  # noqa: F811
    return make_deb(tmp_path_factory.mktemp("deb"), tree / "debug")


def announced(server, deb, url, ids, **more):
    """Makes the package known, without a crawl of it."""
    sha256 = hashlib.sha256(deb).hexdigest()
    status, doc, _ = Api(server)("POST", "/v1/crawl/packages", {
        "repository": "debian bookworm main amd64", "complete": True, "packages": [
            {"key": more.pop("key", sha256), "sha256": sha256, "name": "demo-dbgsym", "version": "1.0-1",
             "arch": "amd64", "url": url, "size": len(deb), "kind": "deb", "role": "debug", "crawl": False,
             "build_ids": ids, **more}]})
    assert status == 200, doc
    return doc


def mirror(url):
    return own(f"{url}/debian", "debian", kind="packages")


def all_at_once(work, n):
    """What n threads return that begin at the same time."""
    results, start = [], threading.Barrier(n)

    def one():
        start.wait()
        results.append(work())
    threads = [threading.Thread(target=one) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def test_a_package_is_fetched_once_for_the_file_of_a_build_id(servers, stub, tree, deb, tmp_path):  # noqa: F811
    """Debian's indexes name the debug files of a package, and not the one that dwz made for them."""
    stub.answers[f"{POOL}/demo.deb"] = send(200, deb)
    server = servers(mirror(stub.url))
    announced(server, deb, f"{stub.url}{POOL}/demo.deb", [hex_id(tree / "one"), hex_id(tree / "two")])
    address = hex(min(code_addresses(tree / "one")))
    first = ask(server, build_id(tree / "one"), address)
    assert first["status"] == "pending" and first["retry_after"] >= 1
    answers = all_at_once(lambda: symbolize(server, build_id(tree / "one"), address), 100)
    assert {doc["status"] for doc in answers} == {"found"}
    assert stub.count("demo.deb") == 1 and len(stub.requested) == 1
    # As a local extraction of the debug file gives: the file that dwz made has come along.
    digits, local = hex_id(tree / "one"), tmp_path / "one.gsym"
    result = unhex("extract", debug_of(tree, "one"), "--debug-dir", tree / "debug", "-o", local)
    assert result.returncode == 0 and "supplementary" not in result.stderr
    wait_for(lambda: fetched(server, f"/v1/gsym/{build_id(tree / 'one')}")[1] == local.read_bytes(), seconds=30)
    assert fetched(server, f"/buildid/{digits}/debuginfo") == \
        (200, debug_of(tree, "one").read_bytes())
    assert fetched(server, f"/buildid/{hex_id(tree / 'common.debug')}/debuginfo")[0] == 200
    assert len(stub.requested) == 1
    doc = explain(server, build_id(tree / "one"))
    assert [u["kind"] for u in doc["upstreams"]] == ["packages"]
    assert ask(server, "gnu:" + "00" * 20)["status"] in ("missing", "pending")
    assert symbolize(server, "gnu:" + "00" * 20, "0x1")["status"] == "missing"
    assert len(stub.requested) == 1


def test_what_is_fetched_says_which_package_it_is_from(servers, stub, tree, deb):  # noqa: F811
    """As what a crawl uploads does: the debug file, and the GSYM that is made of it."""
    stub.answers[f"{POOL}/demo.deb"] = send(200, deb)
    server = servers(mirror(stub.url))
    announced(server, deb, f"{stub.url}{POOL}/demo.deb", [hex_id(tree / "one")], distribution="debian", suite="bookworm")
    assert symbolize(server, build_id(tree / "one"), "0x1000")["status"] == "found"

    def candidates():
        return Api(server)("GET", f"/v1/modules/{build_id(tree / 'one')}")[1]["candidates"]
    wait_for(lambda: len(candidates()) == 2, seconds=30)
    path = debug_of(tree, "one").relative_to(tree / "debug")
    want = {"distribution": "debian", "suite": "bookworm", "package": "demo-dbgsym", "package_version": "1.0-1",
            "package_sha256": hashlib.sha256(deb).hexdigest(), "file": f"/usr/lib/debug/{path}"}
    for candidate in candidates():
        assert {key: candidate.get(key) for key in want} == want
    found = Api(server)("GET", "/v1/modules?package=demo-dbgsym")[1]
    assert len(found["modules"]) >= 1


def test_several_files_of_a_package_are_fetched_together(servers, stub, tree, deb):  # noqa: F811
    """A process has several libraries of one package: the second file is not fetched while the first one is."""
    stub.answers[f"{POOL}/demo.deb"] = slowly(deb)
    server = servers(mirror(stub.url))
    announced(server, deb, f"{stub.url}{POOL}/demo.deb", [hex_id(tree / "one"), hex_id(tree / "two")])
    wanted = [{"id": build_id(tree / name), "addresses": [hex(min(code_addresses(tree / name)))]}
              for name in ("one", "two")]

    def statuses():
        return [m["status"] for m in Api(server)("POST", "/v1/symbolize", {"modules": wanted})[1]["modules"]]
    assert statuses() == ["pending", "pending"]
    wait_for(lambda: statuses() == ["found", "found"])
    assert stub.count("demo.deb") == 1


def slowly(body):
    """Answers after a while, so that others come meanwhile."""
    def answer(handler, stub):
        stub.over.wait(1)
        send(200, body)(handler, stub)
    return answer


def test_debuggers_wait_for_a_package(servers, stub, tree, deb):  # noqa: F811
    stub.answers[f"{POOL}/demo.deb"] = send(200, deb)
    server = servers(mirror(stub.url))
    announced(server, deb, f"{stub.url}{POOL}/demo.deb", [hex_id(tree / "two")])
    digits = hex_id(tree / "two")
    assert fetched(server, f"/buildid/{digits}/debuginfo")[0] == 200
    assert len(stub.requested) == 1


def test_a_folder_has_packages_too(servers, tmp_path, tree):  # noqa: F811
    pool = tmp_path / "mirror/pool"
    pool.mkdir(parents=True)
    data = make_deb(tmp_path, tree / "debug", compression="zstd" if zstd_is_known() else "gzip")
    (pool / "demo.deb").write_bytes(data)
    server = servers(f"packages:{tmp_path}/mirror")
    announced(server, data, f"{pool}/demo.deb", [hex_id(tree / "one")])
    address = hex(min(code_addresses(tree / "one")))
    assert symbolize(server, build_id(tree / "one"), address)["status"] == "found"


def zstd_is_known():
    return "zstd" in subprocess.run(["dpkg-deb", "--help"], capture_output=True, text=True, check=True).stdout


def test_a_package_without_the_file_is_not_fetched_again(servers, stub, tree, deb):  # noqa: F811
    missing = "ab" * 20
    stub.answers[f"{POOL}/demo.deb"] = send(200, deb)
    server = servers(mirror(stub.url), more=("--set", "upstream-absent=1s"))
    announced(server, deb, f"{stub.url}{POOL}/demo.deb", [missing])
    assert symbolize(server, f"gnu:{missing}", "0x1")["status"] == "missing"
    (answer,) = explain(server, f"gnu:{missing}")["upstreams"]
    assert "package demo-dbgsym has no such file" in str(answer), answer
    for _ in range(2):
        pause_for(1.1, "the answer is valid for a second")
        assert symbolize(server, f"gnu:{missing}", "0x1")["status"] == "missing"
    assert stub.count("demo.deb") == 1
    announced(server, deb, f"{stub.url}{POOL}/demo.deb", [missing])  # perhaps it is right now
    server.stop()  # which forgets, for how long the index was not to be read again
    server.start()
    assert symbolize(server, f"gnu:{missing}", "0x1")["status"] == "missing"
    assert stub.count("demo.deb") == 2


def broken(deb):
    """The hash is right, but the archive in it ends early."""
    return deb[:len(deb) // 2]


def bomb(folder):
    """A package whose debug file has 400 MB in as many KB."""
    root = folder / "bomb/debug/.build-id/ab"
    root.mkdir(parents=True)
    with open(root / f"{'ab' * 19}.debug", "wb") as f:
        f.write(b"\x7fELF")
        f.truncate(400 << 20)
    return make_deb(folder / "bomb", folder / "bomb/debug", compression="gzip")


def test_a_bomb_is_left(servers, stub, tmp_path):  # noqa: F811
    data = bomb(tmp_path)
    assert len(data) < 1 << 20
    stub.answers[f"{POOL}/demo.deb"] = send(200, data)
    server = servers(mirror(stub.url))
    announced(server, data, f"{stub.url}{POOL}/demo.deb", ["ab" * 20])
    assert symbolize(server, "gnu:" + "ab" * 20, "0x1")["status"] in ("missing", "failed")
    (answer,) = explain(server, "gnu:" + "ab" * 20)["upstreams"]
    assert [a["outcome"] for a in answer["answers"]] == ["failed"], answer
    assert Api(server)("GET", "/v1/modules")[1]["modules"] == []


@pytest.mark.parametrize("how,says", [("hash", "announced SHA-256"), ("truncated", "Truncated"), ("text", "archive"),
                                      ("gone", "it has none")])
def test_a_package_that_is_wrong_is_not_used(servers, stub, tree, deb, how, says):  # noqa: F811
    sent = {"hash": deb[:-1] + bytes([deb[-1] ^ 1]), "truncated": broken(deb), "text": b"no archive at all\n" * 100,
            "gone": b""}[how]
    stub.answers[f"{POOL}/demo.deb"] = send(404) if how == "gone" else send(200, sent)
    server = servers(mirror(stub.url))
    announced(server, deb if how == "hash" else sent, f"{stub.url}{POOL}/demo.deb", [hex_id(tree / "one")])
    assert symbolize(server, build_id(tree / "one"), "0x1")["status"] in ("missing", "failed")
    (answer,) = explain(server, build_id(tree / "one"))["upstreams"]
    assert says in str(answer), answer
    assert Api(server)("GET", "/v1/modules")[1]["modules"] == []


def test_only_what_the_operator_has_configured_is_fetched(servers, stub, tree, deb):  # noqa: F811
    """Whoever may upload announces URLs; the server is not sent anywhere by that."""
    stub.otherwise = send(200, deb)
    server = servers(mirror(stub.url))
    for n, path in enumerate(("/secret", "/debian-secret/x", "/debian/../secret", "/debian/a/../../secret",
                              "/debian/%2e%2e/secret", "/debian/.%2E/secret", "/debian/..%2fsecret", "/debian/..")):
        announced(server, deb, f"{stub.url}{path}", [hex_id(tree / "one")], key=f"k{n}")
    announced(server, deb, "/etc/passwd", [hex_id(tree / "one")], key="local")
    assert symbolize(server, build_id(tree / "one"), "0x1")["status"] == "missing"
    assert stub.requested == []
