# SPDX-License-Identifier: Apache-2.0
"""unhex crawl: all that can be wrong with a distribution, in one run: each has a state of its own, and the rest is done"""
import json
import os
import signal
import subprocess
import time
import urllib.request

from http_api import Api
from packages import deb, read
from repositories import DebianMirror, Key, deb_stanza, mirror_server
from test_crawl_work import states
from tool import UNHEX, build_id, compile_c, lines, stripped
from waiting import wait_for

DAY = 86400
# what is wrong with a package: its cause
CAUSES = {"wrong-dbg": "hash", "short-dbg": "size", "bomb-dbg": "limit", "broken-dbg": "damaged", "gone-dbg": "gone"}
SUITES = [word for suite in ("expired", "forged", "cut", "good") for word in ("--suite", suite)] + [
    "--component", "main", "--arch", "amd64"]


def debug_package(folder, name, more=()):
    """A package with the debug file of a program of its own: (its path, the build ID)."""
    program = compile_c(folder, name)
    _, debug = stripped(program)
    ident = build_id(program).removeprefix("gnu:")
    place = f"usr/lib/debug/.build-id/{ident[:2]}/{ident[2:]}.debug"
    return deb(folder / f"{name}.deb", {place: read(debug), **dict(more)}, "zst"), ident


def publish(folder, key):
    """A mirror with four suites; returns the build IDs that must never answer, and the good one."""
    root, work = folder / "mirror", folder / "packages"
    work.mkdir()
    stanzas, idents = [], {}
    for name in ("good-dbg", *CAUSES):
        path, idents[name] = debug_package(work, name, [("usr/zeros", bytes(300 << 20))] if name == "bomb-dbg" else ())
        if name == "broken-dbg":  # as the repository has it
            path.write_bytes(read(path)[:-400])
        stanzas.append(deb_stanza(name, read(path), Section="debug", Build_Ids=idents[name]))
        place = root / f"pool/main/{name}_1.0-1_amd64.deb"
        place.parent.mkdir(parents=True, exist_ok=True)
        data = {"wrong-dbg": lambda d: d[:-9] + bytes([d[-9] ^ 1]) + d[-8:], "short-dbg": lambda d: d[:len(d) // 2]}.get(name, bytes)
        if name != "gone-dbg":
            place.write_bytes(data(read(path)))
    now = time.time()
    DebianMirror(root, key, "good", "good").write(stanzas, valid_until=now + 7 * DAY)
    DebianMirror(root, key, "expired", "expired").write(stanzas, valid_until=now - 3 * DAY)
    forged = DebianMirror(root, key, "forged", "forged").write(stanzas)
    release = forged.dists / "InRelease"
    release.write_bytes(release.read_bytes().replace(b"Components: main", b"Components: evil"))
    cut = DebianMirror(root, key, "cut", "cut").write(stanzas, forms=(".xz",), by_hash=False)
    [index] = cut.index_files()
    index.write_bytes(index.read_bytes()[:-20])
    return root, idents


def fetch(server, path):
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}", "Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def run_until_all_have_ended(server, url, key):
    """One crawl. What has failed would be tried again for hours, so that it is ended as soon as each package has ended once."""
    process = subprocess.Popen(
        [UNHEX, "crawl", "debian", "--mirror", url, *SUITES, "--keyring", key.keyring, "--jobs", "2", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **server.env})
    rows = []
    try:
        while len([r for r in rows if "outcome" in r]) < 1 + len(CAUSES):
            line = process.stdout.readline()
            assert line, process.communicate()
            rows.append(json.loads(line))
        wait_for(lambda: "leased" not in states(server)[0])
    finally:
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGINT and said == "", said
    return rows + [json.loads(line) for line in rest.splitlines()]


def test_each_thing_that_is_wrong_has_a_state_of_its_own_and_the_rest_is_done(tmp_path, server):
    key = Key(tmp_path)
    try:
        root, idents = publish(tmp_path, key)
        with mirror_server(root) as (url, _):
            rows = run_until_all_have_ended(server, url, key)
            # a run that ends by itself has the status of the worst
            again = server.unhex("crawl", "debian", "--mirror", url, *SUITES, "--keyring", key.keyring, "--no-work")
            assert again.returncode == 1 and again.stderr.count("debian ") == 3, again.stderr
            for name, want in (("good-dbg", 0), *((name, 1) for name in ("short-dbg", "bomb-dbg", "broken-dbg", "gone-dbg"))):
                alone = server.unhex("crawl", "work", f"{url}/pool/main/{name}_1.0-1_amd64.deb")
                assert alone.returncode == want, (name, alone.stdout, alone.stderr)
    finally:
        key.close()
    # repositories: those that are refused are named with their cause, and cost themselves
    causes = {r["repository"].split()[1]: r.get("cause") for r in rows if "repository" in r}
    assert causes == {"expired": "expired", "forged": "signature", "cut": "truncated", "good": None}, rows
    # packages: in the output...
    ended = {r["package"].rsplit("/")[-1].split("_")[0]: (r["outcome"], r.get("cause", "")) for r in rows if "outcome" in r}
    assert ended == {"good-dbg": ("done", ""), **{name: ("failed", cause) for name, cause in CAUSES.items()}}, rows
    # ...in the status, of the command, of the API...
    assert states(server)[0] == {"done": 1, "failed": len(CAUSES)} and set(states(server)[1]) == set(CAUSES.values())
    table = server.unhex("crawl", "status").stdout
    for name, cause in CAUSES.items():
        assert f"{name} 1.0-1, failed, {cause}: " in table, table
    # ...and on the page
    page = fetch(server, "/crawl")
    assert f"1 of {1 + len(CAUSES)} packages are done." in page
    assert all(name in page and cause in page for name, cause in CAUSES.items()), page
    # nothing of what is wrong is visible, and what is good answers
    for name, ident in idents.items():
        found = Api(server)("GET", f"/v1/modules/gnu:{ident}")[0]
        assert found == (200 if name == "good-dbg" else 404), name
    assert lines(server.unhex("lookup", f"gnu:{idents['good-dbg']}", "0x0", "--json"))


def test_what_was_wrong_is_right_after_the_mirror_was_mended(tmp_path, server):
    """The suites that were refused cost nothing later: the next crawl reads them as if they were new."""
    key = Key(tmp_path)
    args = ("--suite", "good", "--suite", "cut", "--component", "main", "--arch", "amd64", "--keyring", key.keyring, "--no-work", "--json")
    try:
        root = tmp_path / "mirror"
        stanzas = [deb_stanza("one-dbg", Section="debug")]
        DebianMirror(root, key, "good", "good").write([deb_stanza("two-dbg", Section="debug")])
        cut = DebianMirror(root, key, "cut", "cut").write(stanzas, forms=(".xz",), by_hash=False)
        [index] = cut.index_files()
        whole = index.read_bytes()
        index.write_bytes(whole[:-20])
        first = server.unhex("crawl", "debian", "--mirror", root, *args)
        assert first.returncode == 1 and lines(first)[-1]["new"] == 1, first.stdout
        index.write_bytes(whole)
        again = server.unhex("crawl", "debian", "--mirror", root, *args)
        assert again.returncode == 0 and lines(again)[-1]["new"] == 1, again.stdout
    finally:
        key.close()
