# SPDX-License-Identifier: Apache-2.0
"""Large uploads that are costly to verify: the server's memory does not grow with them, and others are answered."""
import concurrent.futures
import struct
import time

import pytest

from hostile_gsym import BASE, Writer, line_table, uleb
from http_api import Api

SIZE = 100 << 20  # bytes of the part that is costly
GROWTH_MAX = 64 << 20  # bytes of memory for all verifications together
CHUNK = 8 << 20
LATENCY_MAX = 2.0  # seconds for another client's upload meanwhile


def flat_calls(size, name, file=1):
    """An inline tree of `size` bytes: calls side by side, all in the first byte of the function."""
    node = uleb(1) + uleb(0) + uleb(1) + b"\0" + struct.pack("<I", name) + uleb(file) + uleb(7)
    root = uleb(1) + uleb(0) + uleb(16) + b"\1" + struct.pack("<I", name) + uleb(0) + uleb(0)
    return root + node * (size // len(node)) + b"\0"


def many_ranges(size, name, file=1):
    """Calls nested in each other, each with as many ranges as a call may have."""
    ranges = min(size // 8, 1 << 20)
    body = uleb(ranges) + b"".join(uleb(2 * i) + uleb(1) for i in range(ranges))
    tail = b"\1" + struct.pack("<I", name) + uleb(file) + uleb(7)
    # Ranges of a call count from the start of its caller's first range, which is that of the function.
    depth = min(size // len(body), 200)
    return (body + tail) * depth + b"\0" * depth


def inline_tree(kind, size):
    """A file of one function with this tree."""
    w = Writer(bytes(range(20)))
    name, file = w.string("flat"), w.file("/src", "flat.c")
    w.function(BASE, 1 << 24, name, line_table(16, file=file), kind(size, name, file))
    return w.bytes()


def tiny_functions(size):
    """Many functions, each with the smallest record, in descending order in the file."""
    w = Writer(bytes(range(20)))
    name = w.string("tiny")
    count = size // 24
    head = w.bytes()[:28 + 20]
    starts = b"".join(struct.pack("<I", i) for i in range(count))
    records_at = len(head) + len(starts)
    files = struct.pack("<III", 1, 0, 0)
    strings = bytes(w.strings)
    strings_at = records_at + 4 * count + len(files)
    at = (strings_at + len(strings) + 3) & ~3
    offsets = b"".join(struct.pack("<I", at + 16 * i) for i in reversed(range(count)))
    header = struct.pack("<IHBBQIII", 0x4753594D, 1, 4, 20, BASE, count, strings_at, len(strings))
    body = header + bytes(range(20)) + starts + offsets + files + strings
    return body + bytes(at - len(body)) + struct.pack("<IIII", 1, name, 0, 0) * count


KINDS = {
    "flat_calls": lambda: inline_tree(flat_calls, SIZE),
    "many_ranges": lambda: inline_tree(many_ranges, SIZE // 2),
    "tiny_functions": lambda: tiny_functions(SIZE // 4),
}


def send(api, data, name):
    """Announces and sends; the upload's number."""
    uid = api.announce([name], data)
    for at in range(0, len(data), CHUNK):
        assert api.put(uid, data[at:at + CHUNK], at)[0] == 200
    return uid


@pytest.mark.parametrize("kind", KINDS)
def test_verification_takes_no_memory_of_the_server(server, watched, kind):
    data = KINDS[kind]()
    name = "gnu:" + bytes(range(20)).hex()
    first, second, other = Api(server), Api(server), Api(server)
    uids = [send(first, data, name), send(second, data, name)]
    small = inline_tree(flat_calls, 1000)
    before, slowest = watched.anonymous(), 0.0
    began = time.monotonic()
    with watched.watch_memory(), concurrent.futures.ThreadPoolExecutor(2) as pool:
        finishes = [pool.submit(api.finish, uid) for api, uid in zip((first, second), uids)]
        while not all(f.done() for f in finishes):
            requested = time.monotonic()
            status, doc, _ = other.upload([name], small, force=True)
            assert status == 200, doc
            slowest = max(slowest, time.monotonic() - requested)
    grown = watched.peak - before
    print(f"{kind}: {len(data) >> 20} MiB twice in {time.monotonic() - began:.1f} s, {grown >> 20} MiB of memory, "
          f"another upload within {slowest:.2f} s, /healthz within {watched.slowest:.2f} s")
    for f in finishes:
        status, doc, _ = f.result()
        assert status == 200 or doc["error"]["code"] == "better_there", doc
    assert grown <= GROWTH_MAX
    assert slowest <= LATENCY_MAX
    assert watched.slowest <= LATENCY_MAX and not watched.lost


def test_a_finish_goes_on_without_its_client(server):
    data = KINDS["flat_calls"]()
    name = "gnu:" + bytes(range(20)).hex()
    api, gone = Api(server), Api(server)
    uid = send(api, data, name)
    gone.connection.request("POST", f"/v1/uploads/{uid}/finish", headers={"Authorization": f"Bearer {server.token}"})
    gone.connection.close()
    status, doc, _ = api.finish(uid)
    assert (status, doc["status"]) == (200, "uploaded"), doc
