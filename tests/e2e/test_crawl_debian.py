# SPDX-License-Identifier: Apache-2.0
"""unhex crawl debian: repositories that the tests build and sign, and those that apt has fetched here"""
import json
import pathlib
import re
import subprocess
import time

import pytest

from repositories import DATE, DebianMirror, Key, deb_stanza, mirror_server
from tool import build_id, compile_c, fails, lines, stripped, unhex

ID = "0123456789abcdef0123456789abcdef01234567"
STANZAS = [
    deb_stanza("libone", Source="one (0.9)"),
    deb_stanza("libone-dbg", Section="debug", Build_Ids=f"{ID} {ID[::-1]} nohex", Installed_Size=100),
    deb_stanza("libone-dbgsym", Auto_Built_Package="debug-symbols", Section="non-free/debug", Depends=None),
    deb_stanza("one-doc", Architecture="all"),
    deb_stanza("one-data", Depends="one-common"),
    deb_stanza("linux-image-6.1", Section="kernel", Depends="kmod", Size=80 << 20),
    deb_stanza("gotool", Depends=None, Static_Built_Using="golang-1.19 (= 1.19.8-2)", Pre_Depends="dpkg"),
]


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    k = Key(tmp_path_factory.mktemp("keys"))
    yield k
    k.close()


@pytest.fixture
def mirror(tmp_path, key):
    return DebianMirror(tmp_path / "mirror", key).write(STANZAS)


def crawl(mirror, *args, root=None, keyring=None, **more):
    return unhex("crawl", "debian", "--mirror", root or mirror.root, "--suite", mirror.suite, "--arch", "amd64",
                 "--keyring", keyring or mirror.key.keyring, *args, **more)


def plan(mirror, *args, **more):
    result = crawl(mirror, "--dry-run", "--json", *args, **more)
    assert result.returncode == 0, (result.stdout, result.stderr)
    return lines(result)[0]


def refused(mirror, cause, *words, status=1, args=(), **more):
    """The cause in JSON, and the same failure in words."""
    result = crawl(mirror, "--dry-run", "--json", *args, **more)
    assert result.returncode == status, (result.stdout, result.stderr)
    assert lines(result)[0]["cause"] == cause, result.stdout
    fails(crawl(mirror, "--dry-run", *args, **more), status, "debian testing main amd64: ", *words)


def test_packages_are_counted_by_what_they_are_good_for(mirror):
    got = plan(mirror)
    assert got["in_index"] == len(STANZAS)
    assert (got["debug"]["packages"], got["debug"]["build_ids"]) == (2, 2)
    assert got["stripped"]["packages"] == 3  # libone, the kernel, and what is linked statically
    assert got["debug"]["installed"] == 112 * 1024
    assert got["stripped"]["bytes"] == 60 + (80 << 20) + 60
    text = crawl(mirror, "--dry-run").stdout
    assert "debian testing main amd64: 7 packages" in text and "80.0 MiB to fetch" in text


@pytest.mark.parametrize("args,debug,stripped", [
    (("--package", "libone*"), 2, 1), (("--package", "*-dbg", "--package", "gotool"), 1, 1), (("--package", "nothing"), 0, 0),
    (("--debug-only",), 2, 0), (("--max-size", "1M"), 2, 2), (("--since", "2026-01-01"), 2, 3)])
def test_options_choose(mirror, args, debug, stripped):
    got = plan(mirror, *args)
    assert (got["debug"]["packages"], got["stripped"]["packages"]) == (debug, stripped)


@pytest.mark.parametrize("how", [{"forms": (".gz",)}, {"forms": ("",)}, {"by_hash": False}, {"signed": "Release.gpg"}])
def test_each_form_of_index_and_signature_is_read(mirror, how):
    mirror.write(STANZAS, **how)
    assert plan(mirror)["in_index"] == len(STANZAS)


def test_a_mirror_that_lacks_the_best_form_has_the_next_one(mirror):
    for path in mirror.dists.rglob("*"):
        if path.suffix == ".xz" or (path.is_file() and path.read_bytes()[:5] == b"\xfd7zXZ"):
            path.unlink()
    assert plan(mirror)["in_index"] == len(STANZAS)


def test_a_key_in_ascii_armour_is_a_keyring(mirror, key):
    assert plan(mirror, keyring=key.armoured)["in_index"] == len(STANZAS)


def test_a_changed_release_has_a_bad_signature(mirror):
    path = mirror.dists / "InRelease"
    path.write_bytes(path.read_bytes().replace(b"Components: main", b"Components: mein"))
    refused(mirror, "signature", "bad signature: the text does not match its signature")


def test_a_release_that_is_not_signed_is_refused(mirror):
    (mirror.dists / "InRelease").write_text(mirror.release)
    refused(mirror, "signature", "BEGIN PGP SIGNED MESSAGE")


def test_text_around_what_is_signed_is_not_read(mirror):
    path = mirror.dists / "InRelease"
    path.write_bytes(path.read_bytes() + b"\nSuite: other\n")
    got = plan(mirror)
    assert got["in_index"] == len(STANZAS)
    other = mirror.write([]).dists / "InRelease"  # signed too, but behind what is
    second = other.read_bytes()
    mirror.write(STANZAS)
    path.write_bytes(path.read_bytes() + second)
    assert plan(mirror)["in_index"] == len(STANZAS)


def test_another_key_is_not_trusted(mirror, tmp_path):
    other = Key(tmp_path, "other")
    try:
        refused(mirror, "signature", "key is not in the keyrings", keyring=other.keyring)
    finally:
        other.close()


def test_a_signature_by_sha1_is_too_weak(mirror):
    mirror.write(STANZAS, digest="SHA1")
    refused(mirror, "signature", "bad signature")


def test_a_keyring_that_is_not_there_is_an_error(mirror, tmp_path):
    refused(mirror, "signature", "cannot read the keyring", keyring=tmp_path / "none.gpg")


def test_an_expired_release_is_refused_unless_it_is_allowed(mirror):
    mirror.write(STANZAS, valid_until=time.time() - 3 * 86400)
    refused(mirror, "expired", "Release expired 3 days ago")
    assert plan(mirror, "--allow-expired")["in_index"] == len(STANZAS)
    mirror.write(STANZAS, valid_until=time.time() + 86400)
    assert plan(mirror)["in_index"] == len(STANZAS)


def test_the_release_of_another_suite_is_refused(mirror):
    (mirror.root / "dists/stable").symlink_to("testing")
    result = unhex("crawl", "debian", "--mirror", mirror.root, "--suite", "stable", "--keyring", mirror.key.keyring,
                   "--arch", "amd64", "--dry-run", "--json")
    assert (result.returncode, lines(result)[0]["cause"]) == (1, "suite")


def test_a_truncated_index_says_so(mirror):
    for path in mirror.index_files():
        path.write_bytes(path.read_bytes()[:-9])
    refused(mirror, "truncated", "truncated: ", "expected")


def test_an_index_with_another_hash_says_so(mirror):
    for path in mirror.index_files():
        path.write_bytes(path.read_bytes()[:-1] + b"#")
    refused(mirror, "hash", "wrong hash: SHA-256 ")


def test_an_index_that_is_too_long_says_so(mirror):
    for path in mirror.index_files():
        path.write_bytes(path.read_bytes() + b"#" * 1000)
    refused(mirror, "limit", "exceeds")


@pytest.mark.parametrize("stanza,words", [
    ("Package: x\n", "lacks Package, Version, Filename"), ("no field\n", "a line is not a field"),
    (deb_stanza("x", Filename="../../etc/passwd"), "not a path inside the repository"),
    (deb_stanza("x", Version="1\x1b[31m"), "control character")])
def test_a_malformed_index_is_refused_as_a_whole(mirror, stanza, words):
    mirror.write([*STANZAS, stanza])
    refused(mirror, "corrupt", words)


def test_what_the_mirror_lacks_is_absent(mirror):
    result = unhex("crawl", "debian", "--mirror", mirror.root, "--suite", "testing", "--component", "contrib",
                   "--keyring", mirror.key.keyring, "--arch", "amd64", "--dry-run", "--json")
    assert (result.returncode, lines(result)[0]["cause"]) == (1, "absent")


def test_a_mirror_that_does_not_answer_is_unreachable(mirror):
    with mirror_server(mirror.root, lambda handler: handler.reply(503, Retry_After="1000") or True) as (url, requests):
        result = crawl(mirror, "--dry-run", "--json", root=url)
    assert (result.returncode, lines(result)[0]["cause"]) == (3, "unreachable")
    assert len(requests) == 1  # to come again after 1000 s is longer than it waits


def test_a_busy_mirror_is_given_the_time_it_wants(mirror):
    begun = []

    def busy(handler):
        begun.append(time.monotonic())
        if len(begun) > 1:
            return False
        handler.reply(429, Retry_After="2")
        return True
    with mirror_server(mirror.root, busy) as (url, requests):
        assert plan(mirror, "--contact", "https://example.com/crawl", root=url)["in_index"] == len(STANZAS)
    assert begun[1] - begun[0] >= 2
    assert all("unhex-crawl/" in r["headers"]["User-Agent"] and "(+https://example.com/crawl)" in r["headers"]["User-Agent"]
               for r in requests)


def test_indexes_are_fetched_by_their_hash(mirror):
    with mirror_server(mirror.root) as (url, requests):
        plan(mirror, root=url)
    assert [r["status"] for r in requests] == [200, 200]
    assert requests[0]["path"] == "/dists/testing/InRelease"
    assert re.fullmatch(r"/dists/testing/main/binary-amd64/by-hash/SHA256/[0-9a-f]{64}", requests[1]["path"])


def test_packages_are_announced_and_a_second_crawl_fetches_the_release_alone(mirror, server):
    with mirror_server(mirror.root) as (url, requests):
        first = crawl(mirror, "--no-work", "--json", root=url, env=server.env)
        assert first.returncode == 0, first.stderr
        assert lines(first)[-1] == {"new": 5, "known": 0, "again": 0}
        second = crawl(mirror, "--no-work", "--json", root=url, env=server.env)
        assert lines(second)[0]["unchanged"] and lines(second)[-1] == {"new": 0, "known": 0, "again": 0}
        assert [r["status"] for r in requests] == [200, 200, 304]
        narrow = crawl(mirror, "--no-work", "--json", "--package", "libone", root=url, env=server.env)
        assert lines(narrow)[-1] == {"new": 0, "known": 1, "again": 0}
        mirror.write([*STANZAS, deb_stanza("libtwo")])
        third = crawl(mirror, "--no-work", "--json", root=url, env=server.env)
        assert lines(third)[-1] == {"new": 1, "known": 5, "again": 0}
    status, document = server.get("/v1/crawl/repositories", server.token)
    assert status == 200
    [repository] = document["repositories"]
    assert repository["repository"] == "debian testing main amd64" and repository["packages"]["waiting"] == 6
    assert repository["state"]["mirror"] == url


def test_a_release_that_is_older_than_the_last_one_is_refused(mirror, server):
    """A mirror replays a signed state from before a fix; it has no Valid-Until, as Debian's stable releases."""
    mirror.write(STANZAS, date=DATE + 86400)
    assert crawl(mirror, "--no-work", env=server.env).returncode == 0
    old = [*STANZAS, deb_stanza("libold")]
    mirror.write(old)
    for more in ([], ["--package", "lib*"], ["--on-demand"]):  # whatever is chosen
        result = crawl(mirror, "--no-work", "--json", *more, env=server.env)
        assert result.returncode == 1 and lines(result)[0]["cause"] == "older", result.stdout
    with mirror_server(mirror.root) as (url, _):  # wherever it comes from
        fails(crawl(mirror, "--no-work", root=url, env=server.env), 1, "Release is older", "2026-07-11T10:16:37Z",
              "2026-07-12T10:16:37Z", "--allow-older")
    got = lines(crawl(mirror, "--no-work", "--json", "--allow-older", env=server.env))
    assert got[-1]["new"] == 1
    mirror.write(STANZAS, date=DATE + 10)  # the newest date still counts
    assert crawl(mirror, "--no-work", env=server.env).returncode == 1
    mirror.write(STANZAS, date=DATE + 2 * 86400)
    assert crawl(mirror, "--no-work", env=server.env).returncode == 0


def test_build_ids_alone_are_announced_for_fetching_on_demand(mirror, server):
    result = crawl(mirror, "--on-demand", "--json", env=server.env)
    assert lines(result)[-1] == {"new": 1, "known": 0, "again": 0}
    document = server.get("/v1/crawl/repositories", server.token)[1]
    assert document["repositories"][0]["packages"] == {"known": 1}
    assert lines(crawl(mirror, "--no-work", "--json", env=server.env))[-1] == {"new": 4, "known": 1, "again": 1}
    assert lines(crawl(mirror, "--on-demand", "--json", env=server.env))[0]["unchanged"]


@pytest.mark.parametrize("first,unchanged", [
    (("--debug-only", "--on-demand"), {("--debug-only", "--on-demand")}),
    (("--on-demand",), {("--debug-only", "--on-demand"), ("--on-demand",)}),
    (("--debug-only", "--no-work"), {("--debug-only", "--on-demand"), ("--debug-only", "--no-work")}),
    (("--no-work",), {("--debug-only", "--on-demand"), ("--on-demand",), ("--debug-only", "--no-work"), ("--no-work",)})])
def test_a_crawl_is_known_to_be_complete_for_what_it_has_announced(mirror, server, first, unchanged):
    choices = [("--debug-only", "--on-demand"), ("--on-demand",), ("--debug-only", "--no-work"), ("--no-work",)]
    for choice in choices:
        assert crawl(mirror, *first, "--json", env=server.env).returncode == 0
        # a crawl that reads all again leaves a state of its own, so that each choice begins from the first one's
        state = server.get("/v1/crawl/repositories", server.token)[1]["repositories"][0]
        assert state["completed"] and state["state"]["crawl"] == ("--on-demand" not in first)
        got = lines(crawl(mirror, *choice, "--json", env=server.env))[0]
        assert got["unchanged"] == (choice in unchanged), choice
        mirror.write([*STANZAS, deb_stanza(f"lib{choices.index(choice)}")])


def test_a_narrower_crawl_is_not_taken_for_a_whole_one(mirror, server):
    assert crawl(mirror, "--no-work", "--debug-only", env=server.env).returncode == 0
    got = lines(crawl(mirror, "--no-work", "--json", env=server.env))
    assert not got[0]["unchanged"] and got[-1] == {"new": 3, "known": 2, "again": 0}


def test_a_refused_repository_announces_nothing(mirror, server):
    for path in mirror.index_files():
        path.write_bytes(path.read_bytes()[:-9])
    result = crawl(mirror, "--no-work", "--json", env=server.env)
    assert result.returncode == 1 and lines(result)[-1] == {"new": 0, "known": 0, "again": 0}
    assert server.get("/v1/crawl/repositories", server.token)[1]["repositories"] == []


def test_a_server_that_refuses_or_is_away_is_named(mirror, server):
    result = crawl(mirror, "--no-work", env={"UNHEX_URL": server.url, "UNHEX_TOKEN": "wrong"})
    assert result.returncode == 3 and server.url in result.stderr
    result = crawl(mirror, "--no-work", env={"UNHEX_URL": "http://127.0.0.1:9"}, timeout=300)
    assert result.returncode == 3 and "127.0.0.1:9" in result.stderr


def test_usage_errors_name_what_is_missing(mirror):
    fails(unhex("crawl"), 2, "debian", "ubuntu")
    fails(unhex("crawl", "debain", "--dry-run"), 2, "debain is not a distribution")
    fails(unhex("crawl", "debian", "--mirror", "ftp://x", "--dry-run"), 2, "--mirror")
    fails(unhex("crawl", "debian", "--mirror", mirror.root, "--dry-run"), 2, "--suite")
    fails(crawl(mirror, "--since", "yesterday", "--dry-run"), 2, "YYYY-MM-DD")


LISTS = pathlib.Path("/var/lib/apt/lists")


def real_suite(tmp_path):
    """What apt has fetched of the largest suite here, as a mirror; and its text of Packages."""
    index = max(LISTS.glob("*_debian_dists_*_main_binary-amd64_Packages*"), key=lambda p: p.stat().st_size, default=None)
    assert index, "apt-get update has not run"
    prefix, suite = re.fullmatch(r"(.*_dists_(.*))_main_binary-amd64_Packages.*", index.name).groups()
    text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", index], check=True, capture_output=True).stdout
    folder = tmp_path / "real/dists" / suite
    (folder / "main/binary-amd64").mkdir(parents=True)
    (folder / "InRelease").write_bytes((LISTS / (prefix + "_InRelease")).read_bytes())
    (folder / "main/binary-amd64/Packages").write_bytes(text)
    return tmp_path / "real", suite, text.decode()


def test_a_real_suite_is_verified_and_counted_as_apt_counts_it(tmp_path):
    root, suite, text = real_suite(tmp_path)
    result = unhex("crawl", "debian", "--mirror", root, "--suite", suite, "--component", "main", "--arch", "amd64",
                   "--dry-run", "--json")
    assert result.returncode == 0, result.stderr
    [got] = lines(result)
    assert got["in_index"] == text.count("\nPackage: ") + 1
    apt_pkg = subprocess.run(["/usr/bin/python3", "-c", ORACLE, root / "dists" / suite / "main/binary-amd64/Packages"],
                             check=True, capture_output=True, text=True).stdout
    want = json.loads(apt_pkg)
    assert [got["debug"][k] for k in ("packages", "bytes", "build_ids")] == want["debug"]
    assert [got["stripped"][k] for k in ("packages", "bytes")] == want["stripped"]


# The same choice by apt's own reader of stanzas.
ORACLE = r"""
import apt_pkg, json, re, sys
debug, stripped = [0, 0, 0], [0, 0]
for s in apt_pkg.TagFile(sys.argv[1]):
    if s["Architecture"] == "all":
        continue
    section = s.get("Section", "").split("/")[-1]
    if (s.get("Auto-Built-Package") == "debug-symbols" or "Build-Ids" in s or section == "debug"
            or s["Package"].endswith(("-dbg", "-dbgsym"))):
        debug[0] += 1
        debug[1] += int(s["Size"])
        debug[2] += len(s.get("Build-Ids", "").split())
    elif (re.search("libc6|libgcc-s1|libstdc\\+\\+6|libc0\\.1|musl", s.get("Depends", "") + " " + s.get("Pre-Depends", ""))
          or section == "kernel" or "Built-Using" in s or "Static-Built-Using" in s):
        stripped[0] += 1
        stripped[1] += int(s["Size"])
print(json.dumps({"debug": debug, "stripped": stripped}))
"""


def deb_of(tmp_path, name, files, section="debug", depends="libc6"):
    """A .deb with files, and its bytes."""
    root = tmp_path / "package" / name
    for path, source in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(pathlib.Path(source).read_bytes())
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: 1.0-1\nArchitecture: amd64\nMaintainer: a <a@example.com>\nSection: {section}\n"
        f"Depends: {depends}\nDescription: a package\n")
    file = tmp_path / f"{name}_1.0-1_amd64.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, file], check=True, capture_output=True)
    return file.read_bytes()


def test_a_crawl_ends_in_answers(tmp_path, key, server):
    program = compile_c(tmp_path, "crawled")
    plain, debug = stripped(program)
    ident = build_id(program).removeprefix("gnu:")
    package = deb_of(tmp_path, "crawled-dbg", {f"usr/lib/debug/.build-id/{ident[:2]}/{ident[2:]}.debug": debug})
    poor = deb_of(tmp_path, "crawled", {"usr/bin/crawled": plain}, section="utils")
    mirror = DebianMirror(tmp_path / "mirror", key).write([
        deb_stanza("crawled", poor, Section="utils"),
        deb_stanza("crawled-dbg", package, Section="debug", Build_Ids=ident)])
    for name, data in (("crawled", poor), ("crawled-dbg", package)):
        path = mirror.root / f"pool/main/{name}_1.0-1_amd64.deb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    with mirror_server(mirror.root) as (url, requests):
        result = crawl(mirror, "--json", root=url, env=server.env, timeout=300)
        assert result.returncode == 0, (result.stdout, result.stderr)
        assert sum("/pool/" in r["path"] for r in requests) == 2
        assert crawl(mirror, "--json", root=url, env=server.env, timeout=300).returncode == 0
        assert sum("/pool/" in r["path"] for r in requests) == 2 and requests[-1]["status"] == 304
    want = [frame["function"] for frame in lines(unhex("lookup", program, symbol(program, "outer"), "--json"))[0]["frames"]]
    assert want[-1] == "outer" and len(want) >= 3
    got = lines(server.unhex("lookup", f"gnu:{ident}", symbol(program, "outer"), "--json"))[0]
    assert [frame["function"] for frame in got["frames"]] == want


def symbol(program, name):
    """An address inside of a function: where a call of what is inlined there returns to."""
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", program], check=True,
                         capture_output=True, text=True).stdout
    first = re.search(r"^\s+([0-9a-f]+):\s+call", out, re.M)
    return "0x" + first[1]
