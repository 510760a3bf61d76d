# SPDX-License-Identifier: Apache-2.0
"""Who vouches for symbols (docs/trust.md): whoever is trusted less never changes the names of whoever is trusted more.

The attack: a user links a program with the build ID of a library of root, and the agent sends both.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

import pytest

from http_api import Api, with_uuid
from test_clone import served
from tool import build_id, lines, symbol
from unhex_server import Server

NOBODY = 65534
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int EVIL_everything(int x) { return x * 3; }
int main(int argc, char **argv)
{
	if (write(1, "ready\\n", 6) != 6)
		return 1;
	usleep(atoi(argv[1]) * 1000);
	return EVIL_everything(argc);
}
"""
LIBRARY = "__attribute__((noinline)) int true_name(int x) { return x + 1; }\nint other(int x) { return true_name(x) * 2; }\n"
HOST = """
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc < 2 || !dlopen(argv[1], RTLD_NOW) || write(1, "ready\\n", 6) != 6)
		return 1;
	pause();
}
"""


@pytest.fixture
def place():
    """A folder that every user can read."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="unhex-trust-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def compiled(place, name, source, *flags, identity=None, owner=0):
    path = place / name
    path.with_suffix(".c").write_text(source)
    identity = identity or os.urandom(20).hex()
    subprocess.run(["gcc", "-O1", "-g", f"-Wl,--build-id=0x{identity}", *flags, "-o", path, path.with_suffix(".c"), "-ldl"],
                   check=True)
    path.chmod(0o755)
    os.chown(path, owner, owner)
    return path


def started(*command, user=0):
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True, user=user, cwd="/")
    assert process.stdout.readline() == "ready\n"
    return process


def ended(process):
    process.kill()
    process.wait()
    process.stdout.close()


def agent(server, place, *options, token=None, **more):
    state = place / f"state-{time.monotonic_ns()}"
    env = {"UNHEX_TOKEN": token} if token else {}
    return server.unhex("agent", "--once", "--json", "-v", "--state", state, *options, env=env, timeout=600, **more)


@pytest.fixture
def attack(place):
    """A library of root that a process of root has mapped, and a program of nobody with the library's build ID."""
    library = compiled(place, "libtrue.so", LIBRARY, "-shared", "-fPIC")
    program = compiled(place, "evil", PROGRAM, identity=build_id(library).removeprefix("gnu:"), owner=NOBODY)
    return library, program, compiled(place, "host", HOST)


def names_of(server, identity, path, function):
    address, _ = symbol(path, function)
    status, document = server.get(f"/v1/symbolize/{identity}?addr={hex(address)}")
    assert status == 200, document
    return [frame["function"] for frame in document["frames"][0]], document


def module(server, identity):
    status, document, _ = Api(server)("GET", f"/v1/modules/{identity}")
    assert status == 200, document
    return document


def text_of(server, path, token=None, **headers):
    token = server.token if token is None else token
    if token:
        headers["Authorization"] = f"Bearer {token}"
    with urllib.request.urlopen(urllib.request.Request(server.url + path, headers=headers), timeout=60) as answer:
        return answer.read().decode()


@root
@pytest.mark.parametrize("first", ["evil", "true"])
def test_a_program_of_a_user_never_names_a_library_of_root(server, place, attack, first):
    library, program, host = attack
    identity = build_id(library)
    assert identity == build_id(program)
    steps = [(lambda: started(program, 600000, user=NOBODY)), (lambda: started(host, library))]
    processes = []
    try:
        for step in steps if first == "evil" else reversed(steps):
            processes.append(step())
            agent(server, place, "--dwarf")  # other files of this host may fail
    finally:
        for process in processes:
            ended(process)
    names, document = names_of(server, identity, library, "true_name")
    assert names == ["true_name"] and document["trust"] == "host"
    evil, _ = symbol(program, "EVIL_everything")
    status, document = server.get(f"/v1/symbolize/{identity}?addr={hex(evil)}")
    assert "EVIL" not in str(document), document
    candidates = module(server, identity)["candidates"]
    assert {c["trust"] for c in candidates} == {"host"}
    assert candidates[0]["owner"].startswith("0") and candidates[0]["host"] == os.uname().nodename


@root
def test_two_users_with_one_build_id_are_kept_apart_and_reported(server, place, attack):
    """Neither is root's: the first one keeps the build ID, the other one has its File ID, and both are said."""
    library, program, host = attack
    os.chown(library, 1, 1)
    processes = [started(program, 600000, user=NOBODY)]
    try:
        agent(server, place)
        processes.append(started(host, library))
        r = agent(server, place)
    finally:
        for process in processes:
            ended(process)
    said = next(line for line in lines(r) if line["file"] == str(library))
    assert said["status"] == "uploaded" and "kept apart" in said["reason"], said
    identity = build_id(library)
    api = Api(server)
    explained = api("GET", f"/v1/explain/{identity}")[1]
    assert len(explained["kept_apart"]) == 1
    other = explained["kept_apart"][0]
    assert other.startswith("file:")
    assert names_of(server, other, library, "true_name")[0] == ["true_name"]
    assert api("GET", f"/v1/explain/{other}")[1]["kept_apart"] == [identity]
    assert module(server, other)["candidates"][0]["apart_from"] == identity
    text = text_of(server, "/metrics")
    assert re.search(r"^unhex_build_id_conflicts_total [1-9]", text, re.M)  # other files of this host may be some, too
    page = text_of(server, f"/modules/{other}", Accept="text/html")
    assert "Kept apart" in page and identity in page
    assert f">{other}</a></li>" in text_of(server, f"/explain?id={identity}", Accept="text/html")
    said = server.unhex("explain", identity, "0x1000")
    assert f"kept apart, with the same build ID:\n  {other}\n" in said.stdout, said


@root
def test_only_what_root_owns_is_sent_if_that_is_wanted(server, place, attack):
    library, program, host = attack
    processes = [started(program, 600000, user=NOBODY), started(host, library)]
    try:
        r = agent(server, place, "--root-only")
    finally:
        for process in processes:
            ended(process)
    files = {line["file"] for line in lines(r)}
    assert str(library) in files and str(program) not in files


@root
def test_a_file_that_a_group_can_change_is_not_roots(server, place):
    program = compiled(place, "loose", PROGRAM)
    program.chmod(0o775)
    process = started(program, 600000)
    try:
        agent(server, place)
    finally:
        ended(process)
    assert module(server, build_id(program))["candidates"][0]["trust"] == "user"


@root
@pytest.mark.parametrize("options, expected", [("nosuid", "user"), ("suid", "host")])
def test_a_file_on_a_mount_of_a_user_is_not_roots(server, place, options, expected):
    mounted = place / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", mounted], check=True)
    try:
        program = compiled(mounted, "program", PROGRAM)
        identity = build_id(program)
        process = started(program, 600000)
        try:
            agent(server, place)
        finally:
            ended(process)
    finally:
        subprocess.run(["umount", "-l", mounted], check=True)
    assert module(server, identity)["candidates"][0]["trust"] == expected


@pytest.fixture
def keyed(server):
    """Makes a key with these scopes."""
    def make(scopes):
        status, document, _ = Api(server)("POST", "/v1/keys", {"scopes": scopes.split(","), "description": scopes})
        assert status == 201, document
        return document["token"]
    return make


@pytest.mark.parametrize("scopes, claim, expected", [
    ("upload", None, "ci"), ("upload", "package", "ci"), ("upload", "host", "host"), ("upload", "user", "user"),
    ("upload,crawl", "package", "package"), ("upload,crawl", None, "ci"), ("agent", None, "host"), ("agent", "ci", "host"), ("agent", "package", "host"), ("agent", "container", "container"),
])
def test_a_claim_lowers_what_a_key_gives_and_never_raises_it(server, keyed, gsym, scopes, claim, expected):
    api = Api(server, keyed(scopes))
    uuid = os.urandom(20)
    identity = f"gnu:{uuid.hex()}"
    more = {"trust": claim} if claim else {}
    status, document, _ = api.upload([identity], with_uuid(gsym, uuid), **more)
    assert status == 200, document
    assert module(server, identity)["candidates"][0]["trust"] == expected


def test_an_unknown_level_is_refused(server, keyed, gsym):
    message = Api(server, keyed("upload")).refused(
        400, "invalid", "POST", "/v1/uploads",
        {"ids": ["gnu:00"], "size": len(gsym), "sha256": "0" * 64, "kind": "gsym", "trust": "root"})
    assert "user, container, host, ci or package" in message


def test_less_trusted_symbols_are_not_wanted_and_more_trusted_ones_are(server, keyed, gsym):
    ci, host = Api(server, keyed("upload")), Api(server, keyed("agent"))
    uuid = os.urandom(20)
    identity = f"gnu:{uuid.hex()}"

    def asked(api, **more):
        status, document, _ = api("POST", "/v1/query", {"modules": [{"ids": [identity], **more}]})
        assert status == 200, document
        return document["answers"][0]

    assert asked(host, quality="symtab")["status"] == "wanted"
    assert host.upload([identity], with_uuid(gsym, uuid), trust="user")[0] == 200
    assert asked(host, quality="dynsym", trust="user")["status"] == "better-there"
    assert asked(host, quality="dynsym", trust="host")["status"] == "wanted"
    assert asked(ci, quality="dynsym")["status"] == "wanted"
    assert ci.upload([identity], with_uuid(gsym, uuid))[0] == 200
    assert module(server, identity)["candidates"][0]["trust"] == "ci"
    answer = asked(host, quality="inlines")
    assert answer["status"] == "better-there" and "more trusted symbols (ci)" in answer["reason"]
    r = host.upload([identity], with_uuid(gsym, uuid), force=True)
    assert module(server, identity)["candidates"][0]["trust"] == "ci", r


@root
def test_an_open_namespace_does_not_show_hosts_to_strangers(place, tmp_path):
    server = Server(tmp_path / "open", options=("--set", "reading=open", "--set", "trusted-proxies=127.0.0.1")).start()
    program = compiled(place, "program", PROGRAM)
    process = started(program, 600000)
    try:
        agent(server, place, "--host", "secret-host")
    finally:
        ended(process)
    identity = build_id(program)
    mine = module(server, identity)["candidates"][0]
    assert mine["host"] == "secret-host" and mine["mount_namespace"].startswith("mnt:[")
    for path in (f"/v1/modules/{identity}", f"/v1/explain/{identity}", f"/modules/{identity}", "/v1/export"):
        text = text_of(server, path, token="", **{"X-Forwarded-For": "192.0.2.1"})
        assert identity in text and "secret-host" not in text, path
    server.stop()


def test_a_copy_keeps_the_levels(server, keyed, gsym, tmp_path):
    ids = {}
    for scopes in ("upload", "agent"):
        uuid = os.urandom(20)
        ids[f"gnu:{uuid.hex()}"] = {"upload": "ci", "agent": "host"}[scopes]
        Api(server, keyed(scopes)).upload([f"gnu:{uuid.hex()}"], with_uuid(gsym, uuid))
    assert server.unhex("clone", server.url, tmp_path / "copy").returncode == 0
    second = Server(tmp_path / "second").start()
    assert second.unhex("clone", tmp_path / "copy", second.url).returncode == 0
    for identity, level in ids.items():
        assert module(second, identity)["candidates"][0]["trust"] == level
    assert second.stop() == 0
    third = served(tmp_path / "copy", tmp_path)
    for identity, level in ids.items():
        status, document = third.get(f"/v1/modules/{identity}")
        assert status == 200 and document["candidates"][0]["trust"] == level
    assert third.stop() == 0
