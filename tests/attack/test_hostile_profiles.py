# SPDX-License-Identifier: Apache-2.0
"""Profiles that are made to cost the server more than their bytes: each is refused, or every view of it is bounded."""
import gzip

import pytest

from http_api import Api
from pprof_message import Builder

ANSWER_MAX = 64 << 20  # bytes of one answer


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def deep_stacks():
    """A thousand stacks of 60,000 locations, all of them different at their outermost location."""
    b = Builder()
    first = b.named("f")
    others = [b.named(f"g{i}") for i in range(200)]
    data = b.profile.SerializeToString()
    stack = varint(first) * 60000
    return data + b"".join(field(2, field(1, stack + varint(o)) + field(2, varint(1))) for o in others)


def wide_location():
    """A location with a hundred thousand inlined calls, in ten thousand stacks."""
    b = Builder()
    wide = b.named("f")
    line = b.profile.location[-1].line[0]
    b.profile.location[-1].line.extend([line] * 100000)
    others = [b.named(f"g{i}") for i in range(10000)]
    for o in others:
        b.sample([wide, o], 1)
    return b.profile.SerializeToString()


def long_module():
    """Fifty thousand addresses without a name in a file whose name has a megabyte."""
    b = Builder()
    mapping = b.mapping("/" + "x" * (1 << 20), "")
    for i in range(50000):
        b.profile.location.add(id=i + 1, address=i + 1, mapping_id=mapping)
        b.profile.sample.add(location_id=[i + 1], value=[1])
    return b.profile.SerializeToString()


def many_small_things():
    """Empty strings, functions, mappings and locations, of which each costs two bytes."""
    return field(1, b"\x08\x00") + field(6, b"") + (b"\x32\x00" + b"\x2a\x00" + b"\x22\x00") * 2_000_000


def costly_names():
    """A hundred thousand linkage names that take long to read."""
    b = Builder()
    strings = [f"_ZN{'1a' * 200}I{'S_' * 100}{i}x" for i in range(20000)]
    data = b.profile.SerializeToString()
    base = len(b.profile.string_table)
    data += b"".join(field(6, s.encode()) for s in strings)
    for i in range(len(strings)):
        data += field(5, field_int(1, i + 1) + field_int(3, base + i))
        data += field(4, field_int(1, i + 1) + field(4, field_int(1, i + 1)))
        data += field(2, field(1, varint(i + 1)) + field(2, varint(1)))
    return data


def field_int(number, value):
    return varint(number << 3) + varint(value)


def bomb():
    return gzip.compress(b"\x32\x00" * (100 << 20), 1)


def folded_line():
    """One line of ten megabytes, with a million frames."""
    return b"a;" * 5_000_000 + b"b 1\n"


KINDS = {f.__name__: f for f in (deep_stacks, wide_location, long_module, many_small_things, costly_names, bomb,
                                 folded_line)}
VIEWS = ["/profiles/x", "/profiles/x?level=lines", "/profiles/x/flame", "/profiles/x/picture",
         "/p/span/pprof/profile?service=x", "/p/1/pprof/symbol", "/profiles"] + \
    [f"/v1/profiles/merged?service=x&format={form}" for form in ("pprof", "folded", "speedscope", "firefox", "html")]


@pytest.fixture
def settings():
    return "keep-profiles = 7d\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_profile_costs_no_route_more_than_its_bounds(server, watched, kind):
    data = KINDS[kind]()
    data = data if data[:2] == b"\x1f\x8b" else gzip.compress(data, 1)
    api = Api(server)
    with watched.request(f"upload of {kind}"):
        status, doc, _ = api("POST", "/v1/profiles?service=x", data)
    print(f"    {status}: {doc}")
    assert status in (201, 413, 422), doc
    if status != 201:
        return
    for path in VIEWS:
        with watched.request(f"{kind} {path}"):
            api.connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
            answer = api.connection.getresponse()
            size = sum(map(len, iter(lambda: answer.read(1 << 20), b"")))
        print(f"    {answer.status}, {size} bytes of {path}")
        assert answer.status in (200, 413, 503), (path, answer.status)
        assert size <= ANSWER_MAX, (path, size)
