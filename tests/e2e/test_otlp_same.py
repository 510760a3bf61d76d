# SPDX-License-Identifier: Apache-2.0
"""OTLP profiles with names: the command, a server and a sidecar write the same bytes."""
import random
import subprocess

import pytest
from google.protobuf import json_format

import otlp_message
from otlp_receiver import Receiver
from test_otlp_server import NAME, PROTOBUF, json_of, send
from test_otlp_sidecar import Sidecar
from tool import UNHEX, build_id, instructions
from waiting import wait_for

HEADER = """template <class T> static inline __attribute__((always_inline)) T both(volatile T *p) { *p += 3; return *p * 7; }
template <class T> __attribute__((noinline)) T shared(volatile T *p) { return both(p) + *p; }
"""
SOURCE = """#include "both.h"
namespace %(n)s { template <class T> __attribute__((noinline)) T f(volatile T *p) { return shared(p) + both(p) + *p; } }
extern "C" __attribute__((noinline)) int work(volatile int *p, volatile long *q)
{ return both(p) + both(q) + %(n)s::f(p) + (int)%(n)s::f(q); }
int main(int c, char **) { volatile int i = c; volatile long l = c; return work(&i, &l); }
"""
FUNCTIONS = ("work", "_Z6sharedIiET_PVS0_", "_Z6sharedIlET_PVS0_")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Two programs that share inlined and other functions of a header, each with two forms of a template."""
    folder = tmp_path_factory.mktemp("same")
    (folder / "both.h").write_text(HEADER)
    for name in ("one", "two"):
        (folder / f"{name}.cc").write_text(SOURCE % {"n": name})
        subprocess.run(["g++", "-O2", "-g", "-Wl,--build-id", "-o", folder / name, folder / f"{name}.cc"], check=True)
    return folder / "one", folder / "two"


@pytest.fixture(scope="module")
def server(server_of_module, programs):
    for program in programs:
        done = server_of_module.unhex("push", program)
        assert done.returncode == 0, done.stderr
    return server_of_module


def message_of(programs, seed):
    """Locations of both programs in any order: one program in two mappings, and addresses without a name."""
    b = otlp_message.Builder()
    caller = b.named("already named")
    maps = [(b.mapping(str(p), {"gnu": build_id(p).split(":")[1]}), p) for p in (*programs, programs[0])]
    places = [(m, pc) for m, p in maps for function in FUNCTIONS for pc in (*instructions(p, function), 1)]
    places += [(b.mapping("gone", {"gnu": "77" * 20}), 0x1234), (b.mapping("none", {}), 0x1234), (0, 7)]
    random.Random(seed).shuffle(places)
    for i, (mapping, pc) in enumerate(places):
        b.sample([b.location(pc, mapping), caller], values=[i + 1])
    return b


def in_two_parts(request):
    """The dictionary in two parts, and a field of a later version."""
    first, second = otlp_message.Request(), otlp_message.Request()
    second.CopyFrom(request)
    first.dictionary.location_table.extend(request.dictionary.location_table[:9])
    del second.dictionary.location_table[:9]
    return first.SerializeToString() + second.SerializeToString() + b"\x9a\x06\x03new"


def without_functions(request):
    """No table of functions: its first element is added, too."""
    bare = otlp_message.Request()
    bare.CopyFrom(request)
    del bare.dictionary.function_table[:]
    for location in bare.dictionary.location_table:
        del location.lines[:]
    return bare


def by_command(data, *options):
    done = subprocess.run([UNHEX, "symbolize", *options, "-"], input=data, capture_output=True, check=False,
                          timeout=60, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def by_sidecar(folder, body, options, **headers):
    """The message that a sidecar passes on."""
    with Receiver() as receiver:
        sidecar = Sidecar(folder, receiver.url, *options)
        assert sidecar.send(body, **headers)[0] == 200
        wait_for(lambda: receiver.taken)
        assert sidecar.stop()[0] == 0
        return receiver.taken[0]


def by_server(server, body, kind=PROTOBUF):
    status, answered, data, _ = send(server, NAME, body, Content_Type=kind)
    assert (status, answered) == (200, kind), data
    return data


def check_names(data):
    """Most locations have a name, and both programs have the functions of the header."""
    tables = otlp_message.Request.FromString(data).dictionary
    names = [tables.string_table[x.name_strindex] for x in tables.function_table]
    assert sum(len(x.lines) > 0 for x in tables.location_table) > len(tables.location_table) * 3 / 4
    assert names.count("long shared<long>(long volatile*)") == 2
    assert len(set(tables.string_table)) == len(tables.string_table)


@pytest.mark.parametrize("form", ["whole", "parts", "bare"])
def test_protobuf_gets_the_same_bytes_from_all(server, programs, tmp_path, form):
    request = message_of(programs, form).request
    data = {"whole": request.SerializeToString, "parts": lambda: in_two_parts(request),
            "bare": lambda: without_functions(request).SerializeToString()}[form]()
    got = by_server(server, data)
    check_names(got)
    remote = ("--no-local", "--url", server.url)
    assert by_command(data, *remote) == got
    assert by_command(data) == got
    assert by_sidecar(tmp_path / "remote", data, remote) == got
    assert by_sidecar(tmp_path / "local", data, ()) == got


@pytest.mark.parametrize("form", ["whole", "bare"])
def test_json_gets_the_same_bytes_from_all(server, programs, tmp_path, form):
    request = message_of(programs, form).request
    request = without_functions(request) if form == "bare" else request
    text, kind = json_of(request).encode(), "application/json"
    got = by_server(server, text, kind)
    remote = ("--no-local", "--url", server.url)
    assert by_command(text, *remote) == got
    assert by_command(text) == got
    plain = by_server(server, request.SerializeToString())
    assert json_format.Parse(got, otlp_message.Request()) == otlp_message.Request.FromString(plain)
    assert by_sidecar(tmp_path / "queue", text, remote, **{"Content-Type": kind}) == plain
