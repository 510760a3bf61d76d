# SPDX-License-Identifier: Apache-2.0
"""unhex clone: copies between servers, folders, archives and static web servers"""
import contextlib
import functools
import hashlib
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tarfile
import threading

import pytest

from unhex_server import Server
from http_api import Api
from tool import SOURCE, UNHEX, build_id, compile_c, fails, lines, stripped, symbol, unhex
from waiting import pause_for, wait_for

MANIFEST = "manifest.jsonl"
SIGNATURE = MANIFEST + ".minisig"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Programs that differ, and one whose debug information is in a file of its own."""
    folder = tmp_path_factory.mktemp("programs")
    made = [compile_c(folder, f"prog{i}", SOURCE.replace('"7"', f'"{i}"'), ("-O1", "-g")) for i in range(3)]
    return made, stripped(compile_c(folder, "apart", SOURCE.replace('"7"', '"77"'), ("-O1", "-g")), "apart.bin")


@pytest.fixture(scope="module")
def source(tmp_path_factory, programs):
    """A server with ELF files, GSYMs, aliases and a second GSYM of one module."""
    s = Server(tmp_path_factory.mktemp("source") / "server").start()
    whole, apart = programs
    for args in (["--with-debuginfo", whole[0]], ["--with-debuginfo", "-e", apart[0], "-d", apart[1]],
                 ["--description", "release 7", "--no-git", whole[1]], ["--sources", whole[2]]):
        pushed = s.unhex("push", *args)
        assert pushed.returncode == 0, pushed.stdout + pushed.stderr
    yield s
    assert s.stop() in (0, None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, source):
    """A copy of that server, which tests do not change."""
    to = tmp_path_factory.mktemp("folder") / "f"
    clone(source.url, to, source=source)
    return to


def clone(*args, source=None, target=None, status=0, **more):
    """The last object of --json: the sums."""
    keys = []
    for option, server in (("--from-token-file", source), ("--to-token-file", target)):
        if server:
            path = server.data.with_suffix("." + option.strip("-"))
            path.write_text(server.token)
            keys += [option, path]
    done = unhex("clone", *args, *keys, "--json", **more)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return lines(done)[-1] if done.stdout else done


def entries(manifest):
    """The objects of a manifest, of a folder or of a text."""
    text = manifest if isinstance(manifest, str) else (manifest / MANIFEST).read_text()
    return [json.loads(line) for line in text.splitlines()[1:]]


def timeless(manifest):
    """Without the times, which say when the store at hand got each object."""
    return [{k: v for k, v in e.items() if k != "time"} for e in entries(manifest)]


def files(folder):
    """Every path below a folder with its bytes, without the folder's own notes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*"))
            if p.is_file() and ".clone" not in p.parts}


def answers(server, programs):
    """What a server says of all programs."""
    whole, apart = programs
    named = {}
    for path, elf in [(p, p) for p in whole] + [(apart[0], apart[0].with_name("apart"))]:
        module = build_id(path)
        for name in ("outer", "main"):
            start, size = symbol(elf, name)
            query = ",".join(hex(start + i) for i in range(size))
            status, doc = server.get(f"/v1/symbolize/{module}?addr={query}", server.token)
            assert status == 200 and doc["status"] == "found", doc
            named[module, name] = doc["frames"]
    return named


def check_folder(folder):
    """Every object is there under its path, whole."""
    for e in entries(folder):
        data = (folder / e["path"]).read_bytes()
        assert len(data) == e["size"] and hashlib.sha256(data).hexdigest() == e["sha256"], e["path"]


@contextlib.contextmanager
def web(folder):
    """The folder behind a web server that knows nothing of it."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def other_server(tmp_path, name="target"):
    return Server(tmp_path / name).start()


def test_a_folder_has_every_object_under_its_build_id(folder, programs):
    check_folder(folder)
    paths = {e["path"] for e in entries(folder)}
    whole, apart = programs
    for path, names in ((whole[0], {"gsym", "executable", "debuginfo"}), (whole[1], {"gsym"}),
                        (apart[0], {"gsym", "executable", "debuginfo"})):
        module = "buildid/" + build_id(path).removeprefix("gnu:")
        assert {p.rsplit("/", 1)[1] for p in paths if p.startswith(module)} >= names
    assert (folder / "buildid" / build_id(apart[0])[4:] / "debuginfo").read_bytes() == apart[1].read_bytes()
    head = json.loads((folder / MANIFEST).read_text().splitlines()[0])
    assert head == {"unhex_manifest": 1, "objects": len(paths), "bytes": sum(e["size"] for e in entries(folder))}
    assert any(e.get("description") == "release 7" for e in entries(folder))


def test_server_folder_archive_folder_server_is_the_same_store(tmp_path, source, folder, programs):
    archive, unpacked = tmp_path / "all.tar", tmp_path / "unpacked"
    clone(folder, archive)
    clone(archive, unpacked)
    assert files(unpacked) == files(folder)
    target = other_server(tmp_path)
    try:
        done = clone(unpacked, target.url, target=target)
        assert done["failed"] == done["gone"] == 0 and done["copied"] > 0
        assert answers(target, programs) == answers(source, programs)
        back = tmp_path / "back"
        clone(target.url, back, source=target)
        assert timeless(back) == timeless(folder)
        assert clone(unpacked, target.url, target=target)["copied"] == 0
    finally:
        assert target.stop() in (0, None)


def test_a_second_copy_transfers_only_what_is_new(tmp_path, programs):
    whole, apart = programs
    server = other_server(tmp_path, "growing")
    to = tmp_path / "copy"
    try:
        assert server.unhex("push", whole[0]).returncode == 0
        assert clone(server.url, to, source=server)["copied"] == 1
        assert clone(server.url, to, source=server) == {
            "copied": 0, "already-there": 1, "better-there": 0, "gone": 0, "failed": 0, "bytes": 0, "dry_run": False}
        before = downloads(server)
        assert server.unhex("push", "--with-debuginfo", whole[1], whole[0]).returncode == 0
        planned = clone(server.url, to, "--dry-run", source=server)
        done = clone(server.url, to, source=server)
        assert planned["copied"] == done["copied"] == 5 and done["already-there"] == 1
        assert downloads(server) - before == 3  # two ELF files, each under two paths, and one GSYM
        check_folder(to)
        assert {e["path"] for e in entries(to)} == {e["path"] for e in entries_of(server, tmp_path)}
    finally:
        assert server.stop() in (0, None)


def downloads(server):
    """How many objects a server has sent."""
    return server.data.with_suffix(".log").read_text().count("/v1/export/")


def entries_of(server, tmp_path):
    """What a copy from the beginning has."""
    fresh = tmp_path / "fresh"
    clone(server.url, fresh, source=server)
    return entries(fresh)


def test_a_better_object_takes_the_place_of_a_poorer_one(tmp_path, programs):
    server, to = other_server(tmp_path, "improving"), tmp_path / "copy"
    poor, _ = programs[1]
    try:
        assert server.unhex("push", poor).returncode == 0
        clone(server.url, to, source=server)
        module = to / "buildid" / build_id(poor)[4:]
        first = (module / "gsym").read_bytes()
        assert server.unhex("push", "-e", poor, "-d", poor.with_name("apart.bin.debug")).returncode == 0
        assert clone(server.url, to, source=server)["copied"] == 1
        digest = hashlib.sha256(first).hexdigest()[:16]
        assert (module / f"gsym.{digest}").read_bytes() == first
        assert (module / "gsym").read_bytes() != first
        check_folder(to)
    finally:
        assert server.stop() in (0, None)


def test_objects_can_be_chosen_by_time_and_namespace(tmp_path, folder):
    every = len(entries(folder))
    assert clone(folder, tmp_path / "a", "--since", "1h")["copied"] == every
    assert clone(folder, tmp_path / "b", "--older", "1h")["copied"] == 0
    assert clone(folder, tmp_path / "c", "--ns", "default")["copied"] == every
    assert clone(folder, tmp_path / "d", "--ns", "other")["copied"] == 0
    assert clone(folder, tmp_path / "e", "--distribution", "debian")["copied"] == 0
    fails(unhex("clone", folder, tmp_path / "f", "--since", "soon"), 2, "--since", "soon")


def test_a_pipe_is_an_archive(tmp_path, folder):
    to = tmp_path / "to"
    with subprocess.Popen([UNHEX, "clone", folder, "-"], stdout=subprocess.PIPE) as front:
        back = subprocess.run([UNHEX, "clone", "-", to], stdin=front.stdout, check=True, capture_output=True)
    assert front.returncode == 0 and b"copied" in back.stdout
    assert files(to) == files(folder)


def test_archives_are_those_that_tar_makes_and_reads(tmp_path, folder):
    ours, theirs = tmp_path / "ours.tar", tmp_path / "theirs.tar"
    clone(folder, ours)
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    subprocess.run(["tar", "-C", unpacked, "-xf", ours], check=True)
    assert files(unpacked) == files(folder)
    with tarfile.open(ours) as t:
        assert t.getnames()[0] == MANIFEST and len(t.getnames()) == len(files(folder))
    for form in ("gnu", "pax", "ustar"):
        subprocess.run(["tar", "-C", folder, f"--format={form}", "-cf", theirs, "."], check=True)
        clone(theirs, tmp_path / form)
        assert files(tmp_path / form) == files(folder)


def test_a_static_web_server_serves_debuginfods_clients_and_gdb(tmp_path, folder, programs):
    _, apart = programs
    module = build_id(apart[0])[4:]
    with web(folder) as url:
        env = {**os.environ, "DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
               "HOME": str(tmp_path)}
        for kind, path in (("debuginfo", apart[1]), ("executable", apart[0])):
            found = subprocess.run(["debuginfod-find", kind, module], env=env, capture_output=True, text=True,
                                   check=True, timeout=60)
            assert pathlib.Path(found.stdout.strip()).read_bytes() == path.read_bytes()
        lone = shutil.copy(apart[0], tmp_path / "lone")
        said = subprocess.run(["gdb", "-batch", "-iex", "set debuginfod enabled on", "-ex", "info line outer", lone],
                              env=env, capture_output=True, text=True, timeout=120)
        assert "apart.c" in said.stdout, said.stdout + said.stderr


def test_a_static_web_server_is_a_source_and_an_upstream(tmp_path, folder, source, programs):
    with web(folder) as url:
        to = tmp_path / "to"
        clone("bucket+" + url, to)
        assert files(to) == files(folder)
        server = Server(tmp_path / "down")
        server.options = ("--upstream", f"bucket+{url},name=static,private")
        server.start()
        try:
            whole, _ = programs
            start, _ = symbol(whole[0], "outer")
            what = {"modules": [{"id": build_id(whole[0]), "addresses": [start]}]}
            api = Api(server)
            doc = wait_for(lambda: (m := api("POST", "/v1/symbolize", what)[1]["modules"][0])["status"] != "pending" and m)
            assert doc["frames"][0][-1]["function"] == "outer", doc
        finally:
            assert server.stop() in (0, None)


class Folder(Server):
    """`unhex serve --serve-from`, which has no folder of its own."""
    def start(self, listen="127.0.0.1:0"):
        self.log = open(self.data.with_suffix(".log"), "ab")
        env = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX_")}
        self.process = subprocess.Popen([UNHEX, "serve", "--listen", listen, *map(str, self.options)],
                                        env={**env, "TMPDIR": str(self.data.parent)}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        assert "serving on " in line, self.data.with_suffix(".log").read_text()
        self.url = line.split()[3]
        return self


def served(folder, tmp_path, *options):
    place = tmp_path / "served"
    place.mkdir()
    s = Folder(place / "s")
    s.options = ("--serve-from", folder, *options)
    return s.start()


def test_a_folder_is_served_without_a_database(tmp_path, folder, source, programs):
    before = files(folder)
    server = served(folder, tmp_path)
    try:
        assert answers(server, programs) == answers(source, programs)
        whole, apart = programs
        module = build_id(apart[0])[4:]
        env = {**os.environ, "DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
        found = subprocess.run(["debuginfod-find", "debuginfo", module], env=env, capture_output=True, text=True,
                               check=True)
        assert pathlib.Path(found.stdout.strip()).read_bytes() == apart[1].read_bytes()
        api = Api(server)
        assert {o["sha256"] for o in entries(folder)} == {o["sha256"] for o in api("GET", "/v1/export")[1]["objects"]}
        assert api("GET", f"/v1/modules/{build_id(whole[1])}")[0] == 200
        api.refused(401, "unauthorized", "POST", "/v1/uploads", {"ids": ["gnu:0011"], "size": 1, "sha256": "00" * 32})
        again = tmp_path / "again"
        clone(server.url, again)
        assert timeless(again) == timeless(folder)
    finally:
        assert server.stop() in (0, None)
    assert files(folder) == before
    assert [p.name for p in (tmp_path / "served").iterdir()] == ["s.log"]


def test_what_is_damaged_in_a_served_folder_is_no_answer(tmp_path, folder, programs):
    bad = damaged(folder, tmp_path)
    module = build_id(programs[0][1])
    (path,) = [bad / e["path"] for e in entries(bad) if e["ids"][0] == module and e["path"].endswith("/gsym")]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    server = served(bad, tmp_path)
    try:
        status, doc, _ = Api(server)("POST", "/v1/symbolize", {"modules": [{"id": module, "addresses": [1]}]})
        assert status == 200 and doc["modules"][0]["status"] == "failed", doc
    finally:
        assert server.stop() in (0, None)


def test_a_served_folder_must_be_signed_by_the_given_key(tmp_path, folder):
    secret, public = key(tmp_path)
    _, other = key(tmp_path, "other")
    signed = tmp_path / "signed"
    clone(folder, signed, "--sign", secret)
    server = served(signed, tmp_path, "--set", f"serve-from-key={public}")
    assert server.stop() in (0, None)
    options = ("--listen", "127.0.0.1:0", "--serve-from")
    fails(unhex("serve", *options, signed, "--set", f"serve-from-key={other}"), 1, "with another key")
    fails(unhex("serve", *options, folder, "--set", f"serve-from-key={public}"), 1, SIGNATURE)
    fails(unhex("serve", *options, tmp_path), 1, MANIFEST)
    fails(unhex("serve", *options, folder, "--data", tmp_path / "d"), 2, "data")
    assert not (tmp_path / "d").exists()


def test_a_chain_of_three_ends_in_a_copy(tmp_path, folder, source, programs):
    """Team, company, public: the last is a folder."""
    public = served(folder, tmp_path)
    company, team = Server(tmp_path / "company"), Server(tmp_path / "team")
    try:
        company.options = ("--upstream", f"unhex+{public.url},name=public,private")
        company.start()
        team.options = ("--upstream", f"unhex+{company.url},name=company,private")
        team.start()
        whole, _ = programs
        start, _ = symbol(whole[0], "outer")
        what = {"modules": [{"id": build_id(whole[0]), "addresses": [start]}]}
        api = Api(team)
        doc = wait_for(lambda: (m := api("POST", "/v1/symbolize", what)[1]["modules"][0])["status"] == "found" and m)
        assert doc["frames"] == Api(source)("POST", "/v1/symbolize", what)[1]["modules"][0]["frames"]
    finally:
        for s in (team, company, public):
            assert s.stop() in (0, None)


def damaged(folder, tmp_path):
    copy = tmp_path / "damaged"
    shutil.copytree(folder, copy)
    return copy


def first_gsym(objects):
    """An object that has one path; an ELF file may have two."""
    return next(o for o in objects if o.get("path", "").endswith("/gsym"))


def test_a_flipped_byte_is_not_copied(tmp_path, folder):
    bad, to = damaged(folder, tmp_path), tmp_path / "to"
    victim = first_gsym(entries(bad))
    data = bytearray((bad / victim["path"]).read_bytes())
    data[len(data) // 2] ^= 1
    (bad / victim["path"]).write_bytes(data)
    done = clone(bad, to, status=1)
    assert done["failed"] == 1
    assert victim["path"] not in files(to)
    assert [e for e in entries(folder) if e["path"] != victim["path"]] == entries(to)
    check_folder(to)
    assert clone(folder, to)["copied"] == 1  # a whole source mends it
    assert files(to) == files(folder)
    archive = tmp_path / "bad.tar"
    fails(unhex("clone", bad, archive), 1, victim["path"][:60], "SHA-256")
    assert not archive.exists()


def test_check_finds_and_mends_what_the_disk_has_damaged(tmp_path, folder):
    to = tmp_path / "to"
    clone(folder, to)
    victim = first_gsym(entries(to))
    data = bytearray((to / victim["path"]).read_bytes())
    data[0] ^= 1
    (to / victim["path"]).write_bytes(data)
    assert clone(folder, to)["copied"] == 0
    assert clone(folder, to, "--check")["copied"] == 1
    check_folder(to)


@pytest.mark.parametrize("size", [0, 100, 512, 3000, -600, -1])
def test_a_cut_archive_is_an_error(tmp_path, folder, size):
    whole, cut = tmp_path / "whole.tar", tmp_path / "cut.tar"
    clone(folder, whole)
    data = whole.read_bytes()
    cut.write_bytes(data[:size] if size >= 0 else data[:len(data) - 1024 + size])
    r = unhex("clone", cut, tmp_path / "to")
    assert r.returncode == 1 and "truncated" in r.stderr, r.stderr
    assert not (tmp_path / "to" / MANIFEST).exists()
    r = subprocess.run([UNHEX, "clone", "-", tmp_path / "piped"], input=cut.read_bytes(), capture_output=True)
    check = tmp_path / "piped" / MANIFEST
    assert r.returncode == 1 or (size < 0 and check.exists())  # the objects of a pipe end before its end


def rewrite(manifest, change):
    """The manifest with one object changed, and its sums made to fit."""
    rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    change(rows)
    rows[0]["objects"], rows[0]["bytes"] = len(rows) - 1, sum(r["size"] for r in rows[1:])
    manifest.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in rows))


@pytest.mark.parametrize("path", ["../../outside", "/etc/passwd", "buildid/../../x/gsym", "buildid/00/gsym",
                                  ".clone/lock", "buildid/{}/gsym/../../../../x", "buildid/{}/other", ""])
def test_a_path_that_is_not_the_objects_own_is_refused(tmp_path, folder, path):
    bad = damaged(folder, tmp_path)
    rewrite(bad / MANIFEST, lambda rows: rows[1].update(path=path.format(rows[1]["ids"][0][4:])))
    r = unhex("clone", bad, tmp_path / "a" / "b" / "to")
    (tmp_path / "a" / "b").mkdir(parents=True)
    r = unhex("clone", bad, tmp_path / "a" / "b" / "to")
    fails(r, 1, "does not match the object")
    assert list(tmp_path.glob("**/outside")) == [] and list(tmp_path.glob("**/x")) == []


def test_a_manifest_that_lies_about_sizes_gets_nothing_through(tmp_path, folder):
    for name, size in (("less", 10), ("more", 1 << 40)):
        bad = damaged(folder, tmp_path / name)
        rewrite(bad / MANIFEST, lambda rows: first_gsym(rows).update(size=size))
        to = tmp_path / f"to-{name}"
        done = clone(bad, to, status=1)
        assert done["failed"] == 1 and first_gsym(entries(bad))["path"] not in files(to)
        with web(bad) as url:
            assert clone("bucket+" + url, tmp_path / f"web-{name}", status=1)["failed"] == 1


def test_an_answer_without_end_is_cut_at_the_size_of_the_object(tmp_path, folder):
    victim = first_gsym(entries(folder))

    class Endless(http.server.SimpleHTTPRequestHandler):
        sent = 0

        def do_GET(self):
            if not self.path.endswith(victim["path"]):
                return super().do_GET()
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while Endless.sent < 1 << 32:
                    self.wfile.write(bytes(1 << 16))
                    Endless.sent += 1 << 16
            return None

        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Endless, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = clone(f"bucket+http://127.0.0.1:{server.server_port}", tmp_path / "to", status=1)
        assert done["failed"] == 1 and Endless.sent < 64 << 20
        assert max(p.stat().st_size for p in (tmp_path / "to").rglob("*")) <= max(e["size"] for e in entries(folder))
    finally:
        server.shutdown()
        server.server_close()


def key(tmp_path, name="k"):
    made = unhex("clone", "key", tmp_path / name)
    assert made.returncode == 0, made.stderr
    return tmp_path / f"{name}.key", tmp_path / f"{name}.pub"


def test_minisign_verifies_our_signatures_and_we_verify_its(tmp_path, folder):
    secret, public = key(tmp_path)
    assert secret.stat().st_mode & 0o77 == 0
    ours = tmp_path / "ours"
    clone(folder, ours, "--sign", secret)
    subprocess.run(["minisign", "-V", "-p", public, "-m", ours / MANIFEST, "-x", ours / SIGNATURE], check=True,
                   capture_output=True)
    first = (ours / SIGNATURE).read_bytes()
    clone(ours, tmp_path / "again")  # the same manifest, so the same signature
    assert (tmp_path / "again" / SIGNATURE).read_bytes() == first
    home = {**os.environ, "HOME": str(tmp_path)}
    for options, password in ((["-W"], None), ([], "secret words\n")):
        for form in ([], ["-l"]):  # of a hash of the file, and of itself
            theirs = tmp_path / f"theirs{len(options)}{len(form)}"
            clone(folder, theirs)
            subprocess.run(["minisign", "-G", "-f", *options, "-p", theirs / "m.pub", "-s", theirs / "m.key"],
                           input=password and password * 2, text=True, check=True, capture_output=True, env=home)
            subprocess.run(["minisign", "-S", *options, *form, "-s", theirs / "m.key", "-m", theirs / MANIFEST, "-x",
                            theirs / SIGNATURE], input=password, text=True, check=True, capture_output=True, env=home)
            checked = tmp_path / f"checked{len(options)}{len(form)}"
            clone(theirs, checked, "--pubkey", theirs / "m.pub")
            assert (checked / SIGNATURE).read_bytes() == (theirs / SIGNATURE).read_bytes()
            text = (theirs / "m.pub").read_text().splitlines()[1]
            clone(theirs, tmp_path / "by-text", "--pubkey", text)
            if password:
                words = tmp_path / "words"
                words.write_text(password)
                signed = tmp_path / f"signed{len(form)}"
                clone(folder, signed, "--sign", theirs / "m.key", "--password-file", words)
                subprocess.run(["minisign", "-V", "-p", theirs / "m.pub", "-m", signed / MANIFEST], check=True,
                               capture_output=True)
                fails(unhex("clone", folder, signed, "--sign", theirs / "m.key"), 2, "password")


def test_a_wrong_signature_stops_the_copy(tmp_path, folder):
    secret, public = key(tmp_path)
    _, other = key(tmp_path, "other")
    signed = tmp_path / "signed"
    clone(folder, signed, "--sign", secret)
    to = tmp_path / "to"
    fails(unhex("clone", folder, to, "--pubkey", public), 1, SIGNATURE + " is missing")
    fails(unhex("clone", signed, to, "--pubkey", other), 1, "with another key")
    clone(signed, tmp_path / "good", "--pubkey", public)
    whole = (signed / MANIFEST).read_bytes()
    rewrite(signed / MANIFEST, lambda rows: rows[1].update(time=rows[1]["time"] + 1))
    fails(unhex("clone", signed, to, "--pubkey", public), 1, "not valid")
    text = (signed / SIGNATURE).read_text()
    (signed / MANIFEST).write_bytes(whole)
    (signed / SIGNATURE).write_text(text.replace("unhex manifest", "unhex Manifest"))
    fails(unhex("clone", signed, to, "--pubkey", public), 1, "trusted comment")
    assert not (to / MANIFEST).exists()
    fails(unhex("clone", "http://127.0.0.1:1", to, "--sign", tmp_path / "none"), 2, "none")


def head_of(folder):
    return json.loads((folder / MANIFEST).read_text().splitlines()[0])


def test_an_earlier_signed_manifest_cannot_be_replayed(tmp_path, folder):
    secret, public = key(tmp_path)
    signed, kept, to = tmp_path / "signed", tmp_path / "kept", tmp_path / "to"
    clone(folder, signed, "--sign", secret, "--sign-as", "symbols")
    shutil.copytree(signed, kept)
    clone(folder, signed, "--sign", secret)
    first, second = head_of(kept), head_of(signed)
    assert first["store"] == second["store"] == "symbols" and first["serial"] < second["serial"]
    assert first["time"] <= second["time"]
    clone(signed, to, "--pubkey", public)
    assert files(to) == files(signed)
    fails(unhex("clone", kept, to, "--pubkey", public), 1, f"serial {first['serial']} of store \"symbols\"",
          f"seen serial {second['serial']}")
    assert files(to) == files(signed)
    clone(signed, to, "--pubkey", public)  # the same one may come again
    undated = tmp_path / "undated"
    clone(folder, undated)
    sign_with_minisign(undated, secret)
    fails(unhex("clone", undated, to, "--pubkey", public), 1, "has no serial",
          f"seen serial {second['serial']} of store \"symbols\"")
    fresh = unhex("clone", undated, tmp_path / "fresh", "--pubkey", public)
    assert fresh.returncode == 0 and "an earlier one would be accepted" in fresh.stderr


def sign_with_minisign(folder, secret):
    """As any other program signs: without a serial."""
    subprocess.run(["minisign", "-S", "-W", "-s", secret, "-m", folder / MANIFEST, "-x", folder / SIGNATURE], check=True,
                   capture_output=True)


def test_a_manifest_of_another_store_is_refused(tmp_path, folder):
    secret, public = key(tmp_path)
    one, two, to = tmp_path / "one", tmp_path / "two", tmp_path / "to"
    clone(folder, one, "--sign", secret, "--sign-as", "one")
    clone(folder, two, "--sign", secret, "--sign-as", "two")
    fails(unhex("clone", one, to, "--store", "two"), 1, 'store "one"; expected "two"')
    fails(unhex("clone", folder, to, "--store", "two"), 1, "does not name its store")
    clone(one, to, "--store", "one")
    fails(unhex("clone", two, to, "--pubkey", public), 1, 'of store "two"', 'seen only "one"')
    clone(two, to, "--store", "two")  # wanted: the copy then remembers both
    seen = {s["store"]: s["serial"] for s in [head_of(to), *head_of(to).get("seen", [])] if "store" in s}
    assert seen == {"one": head_of(one)["serial"], "two": head_of(two)["serial"]}
    clone(one, to)
    default = tmp_path / "default"
    clone(folder, default, "--sign", secret)
    assert len(head_of(default)["store"]) == 16  # the ID of the key


def test_a_manifest_that_is_too_old_is_refused(tmp_path, folder, source):
    secret, public = key(tmp_path)
    signed = tmp_path / "signed"
    clone(folder, signed, "--sign", secret)
    clone(signed, tmp_path / "to", "--max-age", "1h", "--pubkey", public)
    fails(unhex("clone", folder, tmp_path / "to", "--max-age", "1h"), 1, "age is unknown", "3600")
    text = (signed / MANIFEST).read_text().splitlines(keepends=True)
    head = {**head_of(signed), "time": head_of(signed)["time"] - 7200}
    (signed / MANIFEST).write_text("".join([json.dumps(head, separators=(",", ":")) + "\n", *text[1:]]))
    sign_with_minisign(signed, secret)
    fails(unhex("clone", signed, tmp_path / "to", "--max-age", "1h", "--pubkey", public), 1, "was signed at")
    fails(unhex("clone", signed, tmp_path / "to", "--max-age", "soon"), 2, "--max-age")
    fails(unhex("clone", source.url, tmp_path / "to", "--max-age", "1h", env={"UNHEX_TOKEN": source.token}), 2,
          "a server has no signed manifest")
    options = ("--listen", "127.0.0.1:0", "--serve-from", signed, "--set")
    fails(unhex("serve", *options, "serve-from-max-age=1h"), 1, "was signed at")
    assert served(signed, tmp_path, "--set", "serve-from-max-age=3h").stop() in (0, None)


def test_a_copy_into_an_archive_goes_on_from_any_byte(tmp_path):
    """A kill may leave any number of bytes: the rest of an object, its padding, half a header; the archive is the same."""
    source = tmp_path / "source"
    rows = []
    for i in range(3):
        data = random.Random(i).randbytes(1000 + i)
        path = f"buildid/{i:040x}/gsym"
        (source / path).parent.mkdir(parents=True)
        (source / path).write_bytes(data)
        rows.append({"path": path, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data),
                     "ids": [f"gnu:{i:040x}"], "kind": "gsym", "quality": "lines", "counts": {}, "time": i})
    head = {"unhex_manifest": 1, "objects": len(rows), "bytes": sum(r["size"] for r in rows)}
    (source / MANIFEST).write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in [head] + rows))
    fresh = tmp_path / "fresh.tar"
    clone(source, fresh)
    with tarfile.open(fresh) as t:
        ends = [m.offset_data + m.size for m in t.getmembers()]
    for cut in sorted({end + more for end in ends for more in (-1, 0, 1, 511, 512, 513)} | {1, 600, fresh.stat().st_size - 1}):
        (tmp_path / "again.tar.part").write_bytes(fresh.read_bytes()[:cut])
        clone(source, tmp_path / "again.tar")
        assert (tmp_path / "again.tar").read_bytes() == fresh.read_bytes(), cut
        (tmp_path / "again.tar").unlink()


def test_a_copy_that_is_killed_goes_on_and_shows_no_half_object(tmp_path):
    """Twenty kills at random moments; after each, what is under a path is whole."""
    source = tmp_path / "source"
    source.mkdir()
    rows = []
    for i in range(60):
        data = random.Random(i).randbytes(300_000)
        name = f"{i:040x}"
        (source / "buildid" / name).mkdir(parents=True)
        (source / "buildid" / name / "gsym").write_bytes(data)
        rows.append({"path": f"buildid/{name}/gsym", "sha256": hashlib.sha256(data).hexdigest(), "size": len(data),
                     "ids": [f"gnu:{name}"], "kind": "gsym", "quality": "lines", "counts": {}, "time": i})
    head = {"unhex_manifest": 1, "objects": len(rows), "bytes": sum(r["size"] for r in rows)}
    (source / MANIFEST).write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in [head] + rows))
    known = {r["path"]: r["sha256"] for r in rows}
    for to in (tmp_path / "folder", tmp_path / "archive.tar"):
        dice = random.Random(str(to))
        for _ in range(20):
            run = subprocess.Popen([UNHEX, "clone", source, to, "--jobs", "2"], stdout=subprocess.DEVNULL)
            pause_for(dice.uniform(0.005, 0.12), "a kill at any moment")
            run.send_signal(signal.SIGKILL)
            run.wait()
            if to.is_dir():
                for path, data in files(to).items():
                    if path != MANIFEST:
                        assert hashlib.sha256(data).hexdigest() == known[path], path
            elif to.exists():
                with tarfile.open(to) as t:
                    assert len(t.getnames()) == len(rows) + 1
        done = clone(source, to)
        assert done["copied"] + done["already-there"] == len(rows)
    fresh = tmp_path / "fresh.tar"
    clone(source, fresh)
    assert fresh.read_bytes() == (tmp_path / "archive.tar").read_bytes()
    check_folder(tmp_path / "folder")
    assert [p.name for p in (tmp_path / "folder" / ".clone").iterdir() if p.name.endswith(".part")] == []


def test_a_download_that_breaks_off_goes_on_where_it_was(tmp_path, folder):
    victim = max(entries(folder), key=lambda e: e["size"])
    ranges = []

    class Breaking(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if not self.path.endswith(victim["path"]):
                return super().do_GET()
            data = (folder / victim["path"]).read_bytes()
            asked = self.headers.get("Range", "bytes=0-")
            ranges.append(asked)
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            self.end_headers()
            self.wfile.write(data[start:start + 5000])
            self.close_connection = True
            return None

        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Breaking, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        clone(f"bucket+http://127.0.0.1:{server.server_port}", tmp_path / "to")
        assert files(tmp_path / "to") == files(folder)
        assert len(ranges) > 2 and ranges[1] == "bytes=5000-"
    finally:
        server.shutdown()
        server.server_close()


def test_a_key_is_needed_and_sent_to_its_own_server_alone(tmp_path, source, folder):
    closed = Server(tmp_path / "closed")
    closed.options = ("--reading", "keyed")
    closed.start()
    try:
        assert unhex("clone", closed.url, tmp_path / "to").returncode == 3
        env = {"UNHEX_TOKEN": closed.token}
        assert unhex("clone", closed.url, tmp_path / "to", env=env).returncode == 0
        # with two servers it is unclear whose key that of the environment is
        assert unhex("clone", closed.url, source.url, env=env).returncode == 3
        assert unhex("clone", folder, closed.url).returncode == 3
    finally:
        assert closed.stop() in (0, None)


def test_places_that_cannot_be_copied_say_so(tmp_path, folder):
    fails(unhex("clone", tmp_path / "none", tmp_path / "to"), 1, "none")
    (tmp_path / "empty").mkdir()
    fails(unhex("clone", tmp_path / "empty", tmp_path / "to"), 1, MANIFEST)
    fails(unhex("clone", "ftp://bucket/x", tmp_path / "to"), 2, "ftp://bucket/x", "FILE.tar")
    fails(unhex("clone", folder, "bucket+http://127.0.0.1:1"), 2, "web server")
    fails(unhex("clone", "http://127.0.0.1:9", tmp_path / "to"), 3, "127.0.0.1")
    fails(unhex("clone", folder), 2, "FROM and TO")


def test_the_list_of_a_server_goes_on_where_it_was(server, programs):
    api = Api(server)
    whole, _ = programs
    status, doc, _ = api("GET", "/v1/export")
    assert status == 200 and doc["objects"] == [] and not doc["more"]
    for path in whole:
        assert server.unhex("push", "--with-debuginfo", path).returncode == 0
    seen, since = [], doc["next"]
    while True:
        status, doc, _ = api("GET", f"/v1/export?limit=2&since={since}")
        seen += doc["objects"]
        since = doc["next"]
        if not doc["more"]:
            break
    status, every, _ = api("GET", "/v1/export")
    assert seen == every["objects"] and len(seen) == 6
    assert api("GET", f"/v1/export?since={since}")[1]["objects"] == []
    store, place, number = since.split(".")
    assert api("GET", f"/v1/export?since=1{store}.{place}.{number}")[1] == every  # of another store
    assert api("GET", f"/v1/export?since={store}.{int(place) + 1000}.0")[1] == every  # ahead of this one
    for bad in ("x", "1", "1.2", "1.2.3.4", "1.2.-3", "99999999999999999999.1.1"):
        api.refused(400, "invalid", "GET", f"/v1/export?since={bad}")
    one = seen[0]["sha256"]
    assert api("GET", f"/v1/export/{one}")[0] == 200
    assert api("GET", f"/v1/export/{one}", headers={"Range": "bytes=4-"})[0] == 206
    api.refused(404, "not_found", "GET", "/v1/export/" + "00" * 32)
    api.refused(400, "invalid", "GET", "/v1/export/00")
