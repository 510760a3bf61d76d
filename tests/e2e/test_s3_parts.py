# SPDX-License-Identifier: Apache-2.0
"""A large GSYM in a bucket of Ceph's: a node that does not have it fetches what the requested addresses need."""
import hashlib
import html
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

import big_gsym
import otlp_message
import pprof_message
from unhex_server import Server
from http_api import Api
from radosgw_server import Radosgw
from s3_faults import DELAY, FAULTS, FaultProxy
from tool import unhex
from waiting import wait_for

ID = "gnu:" + "ab" * 20
FUNCTIONS = 185000  # 60 MB
PARTS = 4 << 20  # the default of blob-parts


@pytest.fixture(scope="module")
def store():
    with Radosgw() as r:
        yield r


@pytest.fixture(scope="module")
def gsym(tmp_path_factory):
    """The file, and the starts and sizes of its functions."""
    path = tmp_path_factory.mktemp("gsym") / "big.gsym"
    functions = big_gsym.write(path, FUNCTIONS)
    assert path.stat().st_size > 60_000_000
    return path, functions


def node(store, tmp_path, name, bucket, url, *settings):
    config = tmp_path / f"{name}.conf"
    config.write_text("".join(f"{line}\n" for line in settings))
    return Server(tmp_path / name, environment=store.environment,
                  options=("--config", config, "--blobs", bucket, "--s3-endpoint", url))


def send(server, path):
    data = path.read_bytes()
    Api(server).upload([ID], data)
    digest = hashlib.sha256(data).hexdigest()
    return f"blobs/{digest[:2]}/{digest}"


def expected(path, addresses):
    """What the command says about the file."""
    said = unhex("lookup", path, "--json", "--demangle", "none", *[hex(a) for a in addresses]).stdout
    return simple([json.loads(line)["frames"] for line in said.splitlines()])


def answered(server, addresses, module=ID):
    code, document, _ = Api(server)("POST", "/v1/symbolize", {
        "modules": [{"id": module, "addresses": [hex(a) for a in addresses]}], "demangle": "none"})
    assert code == 200 and document["modules"][0]["status"] == "found", document
    return simple(document["modules"][0]["frames"])


def status_of(server, addresses):
    _, document, _ = Api(server)("POST", "/v1/symbolize", {"modules": [{"id": ID, "addresses": [hex(a) for a in addresses]}]})
    return document["modules"][0]["status"]


def simple(answers):
    """Of each frame what the command and the server both say, in one form."""
    return [[(f["function"], f.get("file", ""), f.get("line", 0), f.get("inlined", False)) for f in frames]
            for frames in answers]


def draw(functions, n, seed):
    rng = random.Random(seed)
    return [start + rng.randrange(size) for start, size in rng.sample(functions, n)]


def cold(server):
    """A node that has just been added to the fleet: the same index, and no copies."""
    server.stop()  # also after a test that failed
    shutil.rmtree(server.data / "cache", ignore_errors=True)
    return server.start()


def moved(proxy, server):
    """How many requests for the object were answered, and by how many bytes."""
    return proxy.sent_of.get(f"/parts/{server.key}", (0, 0))


def copies(server):
    """The copy of the GSYM, if there is one."""
    return [p for p in (server.data / "cache/blobs").rglob(server.key.rsplit("/", 1)[1]) if p.is_file()]


@pytest.fixture(scope="module")
def sent(store, gsym, tmp_path_factory):
    """A stopped server whose GSYM is in the bucket, behind a proxy."""
    folder = tmp_path_factory.mktemp("parts")
    with FaultProxy(store.port) as proxy:
        server = node(store, folder, "server", store.bucket("parts"), proxy.url, "keep-profiles = 7d").start()
        server.key = send(server, gsym[0])
        server.stop()
        yield server, proxy


def test_a_gsym_is_stored_in_frames_that_zstd_reads(store, gsym, sent, tmp_path):
    server, _ = sent
    size = store.keys("parts")[server.key]
    assert size < gsym[0].stat().st_size * 3 // 4
    (tmp_path / "object.zst").write_bytes(store.read("parts", server.key))
    whole = subprocess.run(["zstd", "-dc", tmp_path / "object.zst"], capture_output=True, check=True).stdout
    assert whole == gsym[0].read_bytes()
    print(f"GSYM {len(whole)} bytes, in the bucket {size}")


def test_the_first_answer_from_a_cold_gsym_takes_less_than_two_megabytes(gsym, sent):
    server, proxy = sent
    path, functions = gsym
    cold(server)
    before = moved(proxy, server)
    first = draw(functions, 1, 1)
    assert answered(server, first) == expected(path, first)
    after = moved(proxy, server)
    print(f"first answer: {after[1] - before[1]} bytes in {after[0] - before[0]} requests")
    assert after[1] - before[1] < 2_000_000
    assert answered(server, first) == expected(path, first) and moved(proxy, server) == after
    stack = draw(functions, 20, 2)
    assert answered(server, stack) == expected(path, stack)
    more = moved(proxy, server)
    print(f"20 addresses more: {more[1] - after[1]} bytes in {more[0] - after[0]} requests")
    assert more[1] - before[1] < PARTS and not copies(server)
    assert server.stop() in (0, None)


def test_a_hot_gsym_is_fetched_as_a_whole_once(store, gsym, sent):
    server, proxy = sent
    path, functions = gsym
    cold(server)
    before, size = moved(proxy, server)[1], store.keys("parts")[server.key]
    addresses = [draw(functions, 300, 10 + i) for i in range(6)]
    results = [None] * len(addresses)

    def request(i):
        results[i] = answered(server, addresses[i])

    threads = [threading.Thread(target=request, args=(i,)) for i in range(len(addresses))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for got, some in zip(results, addresses):
        assert got == expected(path, some)
    sent_now = moved(proxy, server)
    print(f"6 requests of 300 addresses at once: {sent_now[1] - before} bytes; the whole has {size}")
    assert size <= sent_now[1] - before < size + PARTS + (1 << 20)
    assert [p.stat().st_size for p in copies(server)] == [path.stat().st_size]
    more = draw(functions, 200, 99)
    assert answered(server, more) == expected(path, more) and moved(proxy, server) == sent_now
    assert server.stop() in (0, None)


# What other routes say of addresses: a list of names for each, outermost first, or some of them.

def fetched(server, path, body=None, kind="application/octet-stream"):
    request = urllib.request.Request(server.url + path, body, {"Content-Type": kind, "Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def by_list(server, addresses):
    said = json.loads(fetched(server, f"/v1/symbolize/{ID}?demangle=full&addr=" + ",".join(map(hex, addresses))))
    return [[f["function"] for f in reversed(frames)] for frames in said["frames"]]


def by_explanation(server, addresses):
    said = [json.loads(fetched(server, f"/v1/explain/{ID}?addr={a:#x}"))["candidates"] for a in addresses]
    return [[f["function"] for f in reversed(candidates[0]["frames"])] for candidates in said]


def by_pprof(server, addresses):
    said = fetched(server, f"/pprof/{ID}/symbol", "+".join(map(hex, addresses)).encode()).decode()
    names = dict(line.split("\t") for line in said.splitlines())
    return [[names[hex(a)]] for a in addresses]


def by_profiler(server, addresses):
    guid = bytes.fromhex(ID.removeprefix("gnu:"))[:16]
    name = (guid[3::-1] + guid[5:3:-1] + guid[7:5:-1] + guid[8:]).hex().upper() + "0"
    (job,) = json.loads(fetched(server, "/symbolicate/v5", json.dumps({
        "memoryMap": [["big", name]], "stacks": [[[0, a - big_gsym.BASE] for a in addresses]]}).encode()))["results"]
    assert job["found_modules"] == {f"big/{name}": True}
    return [[f["function"], *(i["function"] for i in reversed(f.get("inlines", [])))] for f in job["stacks"][0]]


def by_opentelemetry(server, addresses):
    b = otlp_message.Builder()
    mapping = b.mapping("big", {"gnu": ID.removeprefix("gnu:")})
    b.sample([b.location(a, mapping) for a in addresses], values=[1])
    got = otlp_message.Request.FromString(fetched(server, "/v1/symbolize/otlp", b.data(), "application/x-protobuf"))
    return [[name for name, _, _ in reversed(otlp_message.frames(got, i + 1))] for i in range(len(addresses))]


def by_kept_profile(server, addresses, start=0, limit=0, offset=0):
    b = pprof_message.Builder()
    mapping = b.mapping("/bin/big", ID.removeprefix("gnu:"), start, limit, offset)
    b.sample([b.location(a, mapping) for a in addresses], 1)
    code, document, _ = Api(server)("POST", "/v1/profiles?service=parts", b.profile.SerializeToString())
    assert code == 201, document
    number = document["profiles"][0]["id"]
    ((stack, _),) = [line.rsplit(" ", 1) for line in
                     fetched(server, f"/v1/profiles/merged?format=folded&id={number}").decode().splitlines()]
    return [stack.split(";")]


def by_position(server, addresses):
    """The profile has where the file was mapped; which address of the file that is its segments say."""
    start, limit = 0x7f0000000000, 1 << 30
    return by_kept_profile(server, [a - big_gsym.BASE - big_gsym.FIRST + start for a in addresses],
                           start, start + limit, big_gsym.FIRST)


def by_paste(server, addresses):
    form = urllib.parse.urlencode({"id": ID, "text": "".join(f"{a:#x}\n" for a in addresses)}).encode()
    return [[text_of(fetched(server, "/symbolize", form, "application/x-www-form-urlencoded"))]]


def by_page(server, addresses):
    return [[text_of(fetched(server, f"/frame?id={ID}&addr={a:#x}"))] for a in addresses]


def text_of(page):
    return html.unescape(re.sub(r"<[^>]*>", "", page.decode()))


ROUTES = {"list": by_list, "explanation": by_explanation, "pprof": by_pprof, "profiler": by_profiler, "opentelemetry": by_opentelemetry,
          "kept profile": by_kept_profile, "positions": by_position, "paste": by_paste, "page": by_page}


def names_of(path, addresses, style="full"):
    said = unhex("lookup", path, "--json", "--demangle", style, *map(hex, addresses)).stdout
    return [[f["function"] for f in reversed(json.loads(line)["frames"])] for line in said.splitlines()]


def agrees(route, said, path, addresses):
    full = names_of(path, addresses)
    if route in ("list", "explanation", "profiler", "opentelemetry"):
        return said == full
    if route == "pprof":
        return said == [names[-1:] for names in full]
    if route in ("kept profile", "positions"):  # one stack, whose root is the last address
        short = names_of(path, addresses, "short")
        return said == [[name for names in reversed(short) for name in names]]
    return all(name in text for text, names in zip([t for (t,) in said] * len(full), full) for name in names)


@pytest.mark.parametrize("route", ROUTES)
def test_each_route_reads_a_cold_gsym_in_parts(gsym, sent, route):
    server, proxy = sent
    path, functions = gsym
    cold(server)
    before = moved(proxy, server)
    addresses = draw(functions, 3, 30)
    assert agrees(route, ROUTES[route](server, addresses), path, addresses)
    after = moved(proxy, server)
    print(f"{route}: {after[1] - before[1]} bytes in {after[0] - before[0]} requests")
    assert 0 < after[1] - before[1] < 2_000_000 and not copies(server)
    assert server.stop() in (0, None)


@pytest.mark.parametrize("route", ("pprof", "profiler", "opentelemetry", "kept profile"))
def test_each_route_that_needs_much_of_a_gsym_gets_the_whole(store, gsym, sent, route):
    server, proxy = sent
    path, functions = gsym
    cold(server)
    before, size = moved(proxy, server)[1], store.keys("parts")[server.key]
    addresses = draw(functions, 1200, 31)
    assert agrees(route, ROUTES[route](server, addresses), path, addresses)
    after = moved(proxy, server)[1]
    print(f"{route}: {after - before} bytes; the whole has {size}")
    assert size <= after - before < size + (2 << 20)
    assert [p.stat().st_size for p in copies(server)] == [path.stat().st_size]
    assert server.stop() in (0, None)


def test_all_that_needs_the_whole_file_gets_it(gsym, sent):
    server, _ = sent
    path, functions = gsym
    cold(server)
    first = draw(functions, 2, 1)
    want = expected(path, first)
    assert answered(server, first) == want and not copies(server)
    # Functions are found by name in the whole file; /v1/gsym sends the file itself.
    assert by_list(server, first) == names_of(path, first) and not copies(server)
    with urllib.request.urlopen(f"{server.url}/v1/gsym/{ID}", timeout=60) as answer:
        assert answer.read() == path.read_bytes()
    assert copies(server) and answered(server, first) == want
    assert server.stop() in (0, None)


@pytest.mark.parametrize("fault", FAULTS)
def test_requests_for_parts_that_fail_are_repeated(gsym, sent, fault):
    server, proxy = sent
    path, functions = gsym
    cold(server)
    try:
        proxy.plan = lambda n, method, path: fault if n % 3 == 0 else None
        some = draw(functions, 5, 7)
        assert answered(server, some) == expected(path, some)
    finally:
        proxy.plan = lambda n, method, path: None
    assert server.stop() in (0, None)


def test_without_the_bucket_what_is_here_is_answered(store, gsym, sent):
    server, _ = sent
    path, functions = gsym
    cold(server)
    here, other = draw(functions, 1, 1), draw(functions, 10, 20)
    assert answered(server, here) == expected(path, here)
    store.stop_gateway()
    try:
        assert answered(server, here) == expected(path, here)
        assert status_of(server, other) == "pending"
    finally:
        store.start_gateway()
    wait_for(lambda: status_of(server, other) == "found")
    assert answered(server, other) == expected(path, other)
    assert server.stop() in (0, None)


def on_disk(server):
    """Bytes that the copies and the files of parts, which have no names, have on the disk."""
    folder = server.data / "cache"
    files = [p for p in folder.rglob("*") if p.is_file()]
    for fd in pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            if os.readlink(fd).startswith(f"{folder}/"):
                files.append(fd)
        except FileNotFoundError:
            pass
    return sum({(s.st_dev, s.st_ino): s.st_blocks * 512 for s in map(os.stat, files)}.values())


def test_many_cold_gsyms_stay_within_the_limit_of_the_disk(store, tmp_path):
    """20 of 5 MB, of which each request reads some; the limit has room for four."""
    limit, path = 20 << 20, tmp_path / "some.gsym"
    functions = big_gsym.write(path, 16000)
    size = path.stat().st_size
    assert size > 4 << 20
    ids = [f"gnu:{i:02x}" + "cd" * 19 for i in range(20)]
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, "server", store.bucket("many"), proxy.url, f"blob-cache = {limit}").start()
        data, keys = path.read_bytes(), {}
        for i, one in enumerate(ids):
            other = data.replace(b"\0/src/", b"\0/s%02d/" % i)
            (tmp_path / one).write_bytes(other)
            code, document, _ = Api(server).upload([one], other)
            assert code in (200, 202), document
            digest = hashlib.sha256(other).hexdigest()
            keys[one] = f"/many/blobs/{digest[:2]}/{digest}"
        for one in ids:
            wait_for(lambda: Api(server)("GET", f"/v1/modules/{one}")[0] == 200)
        cold(server)
        highest = 0
        for turn in range(3):
            for i, one in enumerate(ids):
                addresses = draw(functions, 1 if turn < 2 else 1 + i * 10, 100 * turn + i)
                before = proxy.sent_of.get(keys[one], (0, 0))[1]
                assert answered(server, addresses, one) == expected(tmp_path / one, addresses)
                fetched = proxy.sent_of[keys[one]][1] - before
                highest = max(highest, on_disk(server))
                assert highest <= limit, (turn, i)
                assert turn > 0 or 0 < fetched < size // 4, (i, fetched)
        print(f"20 GSYMs of {size} bytes: at most {highest} on the disk, of {limit}")
        assert highest > limit // 4
        assert server.stop() in (0, None)


def refusal(server, path, body=None, kind="application/octet-stream"):
    with pytest.raises(urllib.error.HTTPError) as answer:
        fetched(server, path, body, kind)
    return answer.value.code, answer.value.headers["Retry-After"]


def test_without_the_bucket_no_route_says_that_there_is_no_function(store, gsym, sent):
    server, _ = sent
    path, functions = gsym
    cold(server)
    here, other = draw(functions, 1, 1), draw(functions, 3, 40)
    assert answered(server, here) == expected(path, here)
    store.stop_gateway()
    try:
        assert refusal(server, f"/pprof/{ID}/symbol", hex(other[0]).encode())[0] == 503
        assert refusal(server, f"/frame?id={ID}&addr={other[0]:#x}")[0] == 503
        with pytest.raises(urllib.error.HTTPError, match="503"):  # its answers have found and missing alone
            by_profiler(server, other)
        assert by_opentelemetry(server, other) == [[], [], []]
        (((text,),),) = (by_paste(server, other),)
        assert "being extracted" in text and "no function at this address" not in text
        for route in ("list", "pprof", "profiler", "opentelemetry", "page"):
            assert agrees(route, ROUTES[route](server, here), path, here) or route == "page"
    finally:
        store.start_gateway()
    wait_for(lambda: status_of(server, other) == "found")
    for route in ROUTES:
        assert agrees(route, ROUTES[route](server, other), path, other), route
    assert server.stop() in (0, None)


@pytest.mark.parametrize("n,most_requests,most_seconds", [(20, 45, 15), (100, 12, 15)])
def test_many_cold_addresses_are_fetched_at_the_same_time(gsym, sent, n, most_requests, most_seconds):
    """Of a bucket that takes half a second for each answer. One after the other, 100 addresses took 102 requests."""
    server, proxy = sent
    path, functions = gsym
    cold(server)
    before, counted = moved(proxy, server), gets(server)
    addresses = draw(functions, n, 77)
    proxy.most, proxy.plan = 0, lambda number, method, path: DELAY
    begun = time.monotonic()
    try:
        got = answered(server, addresses)
    finally:
        proxy.plan = lambda number, method, path: None
    seconds = time.monotonic() - begun
    requests, size = (b - a for a, b in zip(before, moved(proxy, server)))
    print(f"{n} addresses: {requests} requests, {size} bytes, {proxy.most} at the same time, {seconds:.1f} s, "
          f"{'whole' if copies(server) else 'in parts'}")
    assert got == expected(path, addresses)
    assert requests <= gets(server) - counted and requests <= most_requests and seconds < most_seconds
    assert bool(copies(server)) == (n == 100)  # more than blob-parts: whole, and nothing else in vain
    assert copies(server) or proxy.most > 4


def gets(server):
    """How many GETs of the bucket the server counts."""
    with urllib.request.urlopen(server.url + "/metrics", timeout=60) as answer:
        found = re.search(r'unhex_bucket_requests_total{method="GET",result="ok"} (\d+)', answer.read().decode())
    return int(found[1])


def test_a_damaged_object_gives_no_wrong_answer(store, gsym, sent):
    """Bits that were flipped in the bucket: an answer is right or there is none."""
    server, _ = sent
    path, functions = gsym
    whole = store.read("parts", server.key)
    damaged = bytearray(whole)
    rng = random.Random(3)
    for _ in range(300):  # among the records, which are last
        damaged[rng.randrange(len(damaged) // 2, len(damaged) - 20000)] ^= 1 << rng.randrange(8)
    store.write("parts", server.key, bytes(damaged))
    try:
        cold(server)
        right = failed = 0
        for i in range(20):
            some = draw(functions, 1, 50 + i)
            code, document, _ = Api(server)("POST", "/v1/symbolize", {
                "modules": [{"id": ID, "addresses": [hex(a) for a in some]}], "demangle": "none"})
            assert code == 200, document
            if document["modules"][0]["status"] == "found":
                assert simple(document["modules"][0]["frames"]) == expected(path, some), some
                right += 1
            else:
                failed += 1
        print(f"{right} right, {failed} without an answer")
        assert right > 0 and failed > 0
    finally:
        store.write("parts", server.key, whole)
    some = draw(functions, 3, 50)
    assert answered(server, some) == expected(path, some)
    server.stop()
