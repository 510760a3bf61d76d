# SPDX-License-Identifier: Apache-2.0
"""The queue of extractions: no namespace waits for the files of another."""
import json
import subprocess
import time

import pytest

from http_api import Api
from tool import UNHEX, build_id, compile_c
from waiting import wait_for

WAIT_MAX = 30  # seconds for the only file of a namespace, while another one's files wait
FILES = 400     # of the busy namespace


def new_key(server, namespace):
    """A token that uploads to a namespace of its own."""
    made = subprocess.run([UNHEX, "key", "create", "--json", "--data", server.data, "--namespace", namespace,
                           "--scopes", "read,upload"], check=True, capture_output=True, text=True)
    return json.loads(made.stdout)["token"]


def send(api, data, name):
    """Sends the bytes of an ELF file; the number of the upload."""
    uid = api.announce([name], data, kind="executable")
    for at in range(0, len(data), 8 << 20):
        status, doc, _ = api.put(uid, data[at:at + (8 << 20)], at)
        assert status == 200, doc
    return uid


def finish(api, uid):
    """Has the file extracted."""
    status, doc, _ = api.finish(uid)
    assert status in (200, 202), doc


def copies(path, count):
    """The file with other build IDs, and these."""
    data, own = path.read_bytes(), bytes.fromhex(build_id(path).split(":")[1])
    assert data.count(own) == 1
    for i in range(count):
        other = (i + 1).to_bytes(4, "big") + own[4:]
        yield data.replace(own, other), f"gnu:{other.hex()}"


def pending(api, uids):
    """How many of these uploads wait for their extraction."""
    return sum(api("GET", f"/v1/uploads/{uid}")[1]["state"] == "pending" for uid in uids)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A program with much debug information: thousands of functions."""
    source = "\n".join(f"int f{i}(int x) {{ for (int k = 0; k < x; k++) x += k * {i}; return x; }}"
                       for i in range(8000)) + "\nint main(void) { return 0; }\n"
    return compile_c(tmp_path_factory.mktemp("large"), "large", source, ("-O0", "-g", "-Wl,--build-id"))


@pytest.fixture
def settings(settings):
    """One worker, so that the queue has files for longer than it takes to send one more."""
    return settings + "extract-workers = 1\n"


def test_one_namespace_does_not_wait_for_another(server, watched, large, tmp_path):
    small = compile_c(tmp_path, "small", flags=("-g", "-Wl,--build-id"))
    busy = Api(server, token=new_key(server, "busy"))
    quiet = Api(server, token=new_key(server, "quiet"))
    # Hundreds of requests, and the extractions that begin meanwhile.
    with watched.request("many uploads of one namespace", cpu_most=20):
        uids = [send(busy, data, name) for data, name in copies(large, FILES)]
        for uid in uids:  # only now, so that none is extracted while others are still sent
            finish(busy, uid)
    (data, name), = copies(small, 1)
    began = time.monotonic()
    uid = send(quiet, data, name)
    finish(quiet, uid)
    wait_for(lambda: quiet("GET", f"/v1/uploads/{uid}")[1]["state"] == "done", seconds=WAIT_MAX)
    took, left = time.monotonic() - began, pending(busy, uids)
    print(f"ready in {took:.1f} s, before {left} files of another namespace")
    assert left >= 4, "the other namespace had too little to do"
