# SPDX-License-Identifier: Apache-2.0
"""libunhex-client against a real server, and the compact form by hand."""
import http.client
import json
import os
import pathlib
import subprocess
import threading

import pytest

from http_api import Api
from tool import ROOT, UNHEX, build_id, fails, lines, symbol, unhex

BUILD = pathlib.Path(UNHEX).resolve().parent.parent
EXAMPLE = ROOT / "docs/examples/client.c"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
TYPE = "application/x-unhex-symbolize"


def run(*args, **more):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module", params=[("gcc", "-std=c11", "-xc"), ("g++", "-std=c++20", "-xc++")],
                ids=["c", "c++"])
def client(request, tmp_path_factory):
    """The example, linked as pkg-config says."""
    out = tmp_path_factory.mktemp("client") / "client"
    env = {**os.environ, "PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled")}
    flags = run("pkg-config", "--cflags", "--libs", "unhex-client", env=env).split()
    run(*request.param, *WARNINGS, EXAMPLE, "-o", out, *flags,
        "-Wl,--disable-new-dtags", f"-Wl,-rpath,{BUILD}/net/client:{BUILD}/lib/public")
    return out


@pytest.fixture(scope="module")
def served(server_of_module, prog):
    """A server that knows the program."""
    gsym = prog.with_suffix(".gsym")
    assert unhex("extract", prog, "-o", gsym).returncode == 0
    status, doc, _ = Api(server_of_module).upload([build_id(prog)], gsym.read_bytes())
    assert status == 200, doc
    return server_of_module


def ask(client, server, *args):
    return subprocess.run([str(client), server.url, *args], capture_output=True, text=True,
                          env={**os.environ, "UNHEX_TOKEN": server.token}, timeout=120)


def test_the_example_prints_what_the_command_knows(client, served, prog):
    start, size = symbol(prog, "outer")
    addresses = [hex(a) for a in range(start, start + size)][:60]
    want = "".join(f"{line['address']} {f['function']} {f['file']}:{f['line']}"
                   f"{' inlined' if f.get('inlined') else ''}\n"
                   for line in lines(unhex("lookup", prog, *addresses, "--json", "--demangle=short"))
                   for f in line["frames"])
    assert " inlined\n" in want
    assert ask(client, served, build_id(prog), *addresses).stdout == want


def test_what_is_unknown_is_said(client, served, prog):
    assert ask(client, served, build_id(prog), "1").stdout == "1 nothing known\n"
    assert ask(client, served, "gnu:00ff", "1").stdout == "gnu:00ff missing \n"
    refused = ask(client, served, "nonsense", "1")
    assert refused.returncode == 1 and "is not an ID" in refused.stderr


def test_a_server_that_is_not_there_or_not_ours_is_an_error(client, served, prog):
    class Gone:
        url, token = "http://127.0.0.1:1", ""
    gone = ask(client, Gone, build_id(prog), "1")
    assert gone.returncode == 1 and "127.0.0.1:1" in gone.stderr

    class Elsewhere:
        url, token = served.url + "/nowhere", ""
    other = ask(client, Elsewhere, build_id(prog), "1")
    assert other.returncode == 1 and "HTTP 404" in other.stderr


def raw(server, body, kind=TYPE):
    """Status, type and bytes of an answer."""
    api = Api(server)
    connection = http.client.HTTPConnection(api.url.hostname, api.url.port, timeout=60)
    connection.request("POST", "/v1/symbolize", body=body, headers={"Content-Type": kind})
    answer = connection.getresponse()
    return answer.status, answer.headers["Content-Type"], answer.read()


def leb(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def question(module, pcs, flags=0, names=2, timeout=0):
    """A question as the page says, fixed addresses."""
    text = bytes.fromhex(module.removeprefix("gnu:"))
    return (b"UXQ\1" + leb(flags) + leb(names) + leb(timeout) + b"\1" + leb(len(text)) + text
            + b"\0" + leb(len(pcs)) + leb(8 * len(pcs))
            + b"".join(p.to_bytes(8, "little") for p in pcs) + b"\0")


def reply(data):
    """What a reply says, read as the page says: a list of (status, addresses' frames)."""
    at = 4

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    assert data[:4] == b"UXR\1"
    count, size = number(), number()
    strings = [""] + [s.decode() for s in data[at:at + size].split(b"\0")[:-1]]
    at += size
    assert len(strings) == count + 1
    files = [None] + [(strings[number()], strings[number()]) for _ in range(number())]
    frames = [[]]
    for i in range(1, number() + 1):
        function, file, line, up = strings[number()], files[number()], number(), number()
        frame = {"function": function}
        if file:
            frame |= {"file": f"{file[0]}/{file[1]}" if file[0] else file[1], "line": line}
        if up:
            frame["inlined"] = True
        frames.append([frame] + (frames[i - up] if up else []))
    modules = [[number() for _ in range(5)] for _ in range(number())]
    answers = [(m[0], [frames[number()] for _ in range(m[4])]) for m in modules]
    assert at == len(data)
    return answers


@pytest.mark.parametrize("demangle", ["none", "short", "full", "templates-elided"])
@pytest.mark.parametrize("back", [False, True], ids=["pcs", "return addresses"])
def test_both_forms_say_the_same(served, prog, back, demangle):
    start, size = symbol(prog, "outer")
    pcs = [*range(start, start + size), 0, 2 ** 64 - 1, start]
    body = {"modules": [{"id": build_id(prog), "addresses": [hex(p) for p in pcs]}],
            "return_addresses": back, "demangle": demangle}
    _, _, text = raw(served, json.dumps(body), "application/json")
    (module,) = json.loads(text)["modules"]
    modes = ["none", "short", "full", "templates-elided"]
    status, kind, data = raw(served, question(build_id(prog), pcs, int(back), modes.index(demangle)))
    assert (status, kind) == (200, TYPE)
    assert reply(data) == [(0, module["frames"])]


def test_what_is_no_question_is_refused_as_json_is(served):
    for body, want, word in [(b"", 422, "corrupt"), (b"UXQ\2\0\0\0\0", 422, "unsupported"),
                             (b"UXQ\1\0\0\0\0more", 422, "corrupt"), (b"{}", 422, "corrupt"),
                             (b"UXQ\1\0\0\0\1\0", 400, "invalid")]:
        status, kind, data = raw(served, body)
        assert (status, kind) == (want, "application/json"), data
        assert json.loads(data)["error"]["code"] == word


def test_many_clients_at_once_get_the_same(served, prog):
    start, size = symbol(prog, "outer")
    body = question(build_id(prog), [start + i % size for i in range(5000)])
    first, wrong = raw(served, body), []

    def again():
        wrong.extend(got for got in (raw(served, body) for _ in range(5)) if got != first)
    threads = [threading.Thread(target=again) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert first[0] == 200 and not wrong


def test_lookup_asks_in_the_compact_form_and_places_by_name(served, prog):
    start, _ = symbol(prog, "outer")
    local = lines(unhex("lookup", prog, hex(start), "--json"))
    remote = lines(unhex("lookup", build_id(prog), hex(start), "--json", "--url", served.url))
    assert remote == local
    named = lines(unhex("lookup", build_id(prog), "outer+0", "--json", "--url", served.url))
    assert named[0]["frames"] == local[0]["frames"]
    fails(unhex("lookup", "gnu:00ff", "1", "--url", served.url), 1)
