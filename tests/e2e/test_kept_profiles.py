# SPDX-License-Identifier: Apache-2.0
"""Profiles that the server keeps: uploads, spans of time, differences, tables, pages, retention."""
import gzip
import html
import http.client
import re
import subprocess
import threading
import time
import urllib.parse

import pytest
from google.protobuf import json_format

import otlp_message
import pprof_message
from browser import LOOKS, Browser, checked, narrow
from unhex_server import Server
from http_api import Api
from tool import ROOT, build_id, compile_c, lines, symbol, unhex
from waiting import pause_for, wait_for

KEEP = ("--keep-profiles", "7d")
SPEEDSCOPE = ROOT / ".peers/speedscope/node_modules/speedscope/dist/release"


def fetch(server, path, method="GET", body=None, accept=None, token=None):
    """Status, headers and bytes of an answer."""
    api = Api(server)
    headers = {"Accept": accept} if accept else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    api.connection.request(method, path, body, headers)
    answer = api.connection.getresponse()
    return answer.status, answer.headers, answer.read()


def keep(server, data, service="api", **more):
    """Sends a profile, and returns what the answer says of it."""
    query = urllib.parse.urlencode({"service": service, **more})
    status, doc, _ = Api(server)("POST", f"/v1/profiles?{query}", data)
    assert status == 201, doc
    assert len(doc["profiles"]) == 1
    return doc["profiles"][0]


def folded(server, **query):
    """The sum of a span as {stack: value}."""
    status, _, data = fetch(server, "/v1/profiles/merged?format=folded&" + urllib.parse.urlencode(query))
    assert status == 200, data
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in data.decode().splitlines()}


@pytest.fixture(scope="module")
def keeper(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("kept") / "server", options=KEEP).start()
    yield s
    assert s.stop() in (0, None)


def test_a_profile_is_kept_and_added_up_with_others(keeper):
    one = keep(keeper, b"main;work 5\nmain;idle 3\n", service="sum", host="a", build="v1", time=1_700_000_000)
    two = keep(keeper, b"main;work 7\nother 1\n", service="sum", host="b", build="v2", time=1_700_000_060)
    assert (one["host"], one["build"], one["samples"], two["samples"]) == ("a", "v1", 8, 8)
    assert one["ended"] == "2023-11-14T22:13:20Z"
    assert folded(keeper, service="sum") == {"main;work": 12, "main;idle": 3, "other": 1}
    assert folded(keeper, service="sum", host="a") == {"main;work": 5, "main;idle": 3}
    assert folded(keeper, service="sum", build="v2") == {"main;work": 7, "other": 1}
    assert folded(keeper, service="sum", until=1_700_000_030) == {"main;work": 5, "main;idle": 3}
    assert folded(keeper, id=two["id"]) == {"main;work": 7, "other": 1}


def test_addresses_get_the_names_that_the_server_has(keeper, tmp_path):
    program = compile_c(tmp_path)
    b = pprof_message.Builder()
    mapping = b.mapping(str(program), build_id(program).removeprefix("gnu:"))
    address = symbol(program, "main")[0]
    b.sample([b.location(address + 4, mapping), b.named("start")], 10)
    kept = keep(keeper, gzip.compress(b.profile.SerializeToString()), service="named")
    assert list(folded(keeper, id=kept["id"])) == [f"start;[prog+{address + 4:#x}]"]
    assert keeper.unhex("push", "--with-debuginfo", program).returncode == 0
    again = keep(keeper, b.profile.SerializeToString(), service="named")
    assert list(folded(keeper, id=again["id"])) == ["start;main"]


def test_positions_in_files_get_the_names_of_symbols_alone(keeper, tmp_path):
    """The code is not at the address that is its position, and the server has no executable."""
    program = compile_c(tmp_path, name="fixed", flags=("-O2", "-g", "-no-pie"))
    address = symbol(program, "main")[0]
    assert address > 0x400000
    b = pprof_message.Builder()
    mapping = b.mapping(str(program), build_id(program).removeprefix("gnu:"), start=0x10000, limit=0x20000)
    b.sample([b.location(0x10000 + address - 0x400000 + 4, mapping), b.named("start")], 10)
    assert keeper.unhex("push", program).returncode == 0
    kept = keep(keeper, b.profile.SerializeToString(), service="fixed")
    assert list(folded(keeper, id=kept["id"])) == ["start;main"]


def test_go_tool_pprof_reads_a_kept_profile_and_a_span(keeper, tmp_path):
    kept = keep(keeper, b"main;work 5\nmain;idle 3\n", service="pprof")
    for path in (f"/p/{kept['id']}/pprof/profile", "/p/span/pprof/profile?service=pprof"):
        result = subprocess.run(["go", "tool", "pprof", "-top", keeper.url + path], capture_output=True, text=True,
                                env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PPROF_TMPDIR": str(tmp_path)},
                                check=True, timeout=120)
        assert "62.50%" in result.stdout and "work" in result.stdout, result.stdout


def cpu_profile(*stacks):
    """A pprof profile in nanoseconds: (names from the outermost on, value)."""
    b = pprof_message.Builder()
    known = {}
    for names, value in stacks:
        for name in names:
            if name not in known:
                known[name] = b.named(name)
        b.sample([known[name] for name in reversed(names)], value)
    return b.profile.SerializeToString()


@pytest.fixture(scope="module")
def shop(keeper):
    """A service with two builds on two hosts, half an hour apart."""
    for i, (host, build, slow) in enumerate([("web-1", "v1", 10), ("web-2", "v1", 10), ("web-1", "v2", 30),
                                             ("web-2", "v2", 30)]):
        keep(keeper, cpu_profile((["main", "serve", "parse<int>"], 50_000_000),
                                 (["main", "serve", "slow & <b>odd</b>"], slow * 1_000_000)),
             service="shop/cart", host=host, build=build, time=1_795_000_000 + i * 1800)
    return keeper


SPAN = "from=1794990000&until=1795010000"
SHOP = f"/profiles/shop%2Fcart?{SPAN}"


def test_a_difference_of_builds_has_the_largest_change_first(shop):
    status, _, page = fetch(shop, f"{SHOP}&build=v2&before_build=v1", accept="text/html")
    text = page.decode()
    assert status == 200 and text.index("+20.8") < text.index("-20.8") < text.index("+0.0"), text
    assert "slow &amp; &lt;b&gt;odd&lt;/b&gt;" in text and "<b>odd" not in text
    assert "This span: 2 profiles" in text and "Compared with: 2 profiles" in text


def test_a_difference_of_spans_is_with_the_time_before(shop):
    status, _, page = fetch(shop, "/profiles/shop%2Fcart?from=1795002000&until=1795005400&compare=before",
                            accept="text/html")
    assert status == 200
    assert b"This span: 2 profiles" in page and b"Compared with: 2 profiles" in page and b"+20.8" in page


def test_the_table_goes_down_to_lines(shop):
    _, _, page = fetch(shop, f"{SHOP}&level=lines", accept="text/html")
    assert b"200.00 ms" in page and b"<h2 id=\"table\">Lines</h2>" in page


def test_requests_that_make_no_sense_are_refused(shop):
    api = Api(shop)
    assert "missing service" in api.refused(400, "invalid", "POST", "/v1/profiles", b"main 1\n")
    assert "not a profile" in api.refused(422, "unsupported", "POST", "/v1/profiles?service=x", b"\x00\x01\x02")
    assert "pprof" in api.refused(422, "corrupt", "POST", "/v1/profiles?service=x",
                                  cpu_profile((["main"], 1))[:-3])
    api.refused(404, "not_found", "GET", "/v1/profiles/merged?service=nosuch")
    api.refused(404, "not_found", "GET", "/v1/profiles/77777")
    api.refused(404, "not_found", "GET", "/p/x/pprof/profile")
    assert "expected 2026" in api.refused(400, "invalid", "GET", "/v1/profiles/merged?service=shop/cart&from=noon")
    assert "later" in api.refused(400, "invalid", "GET", "/v1/profiles/merged?service=shop/cart&from=9&until=3")
    assert "alloc" in api.refused(404, "not_found", "GET", "/v1/profiles/merged?service=shop/cart&value=alloc&format=folded")
    assert "expected pprof" in api.refused(400, "invalid", "GET", "/v1/profiles/merged?service=shop/cart&format=gif")


def test_files_of_other_programs_have_their_forms(shop):
    for form, start in (("speedscope", b'{"$schema"'), ("firefox", b'{"meta"'), ("svg", b"<?xml"), ("html", b"<!DOCTYPE"),
                        ("pprof", b"\x1f\x8b"), ("folded", b"main;serve")):
        status, headers, data = fetch(shop, f"/v1/profiles/merged?service=shop/cart&{SPAN}&format={form}&download=1")
        assert status == 200 and data.startswith(start), (form, data[:80])
        assert headers["Content-Disposition"].startswith("attachment"), form


def test_pages_are_usable_by_everyone(shop, tmp_path):
    browser = Browser(tmp_path)
    try:
        light, dark = browser.page(), browser.page(dark=True)
        for path in ("/profiles", SHOP, f"{SHOP}&build=v2&before_build=v1&level=lines"):
            light.goto(shop.url + path)
            checked(light, path)
            dark.goto(shop.url + path)
            checked(dark, path, LOOKS)
        phone = browser.page(width=390, height=800, phone=True)
        for path in ("/profiles", SHOP, f"{SHOP}&build=v2&before_build=v1", f"{SHOP}&compare=before&level=lines",
                     SHOP.replace("?", "/flame?")):
            phone.goto(shop.url + path)
            narrow(phone, path)
            checked(phone, path, LOOKS)
            hidden = phone.eval("[...document.querySelectorAll('table .fn')].filter(e => "
                                "e.getBoundingClientRect().right > innerWidth).map(e => e.innerText)")
            assert not hidden, (path, hidden)
    finally:
        browser.close()


def test_the_graph_of_a_span_is_one_click_away(shop, tmp_path):
    browser = Browser(tmp_path)
    try:
        page = browser.page()
        page.goto(shop.url + SHOP)
        assert page.eval("document.querySelector('.flame img').naturalWidth") == 1200
        page.goto(shop.url + page.eval("document.querySelector('.flame a').getAttribute('href')"))
        page.wait("document.querySelectorAll('#functions tr').length >= 4")
        page.fill("#query", "slow")
        page.eval("document.getElementById('query').dispatchEvent(new Event('input'))")
        page.wait("document.querySelector('#found').textContent.includes('28.6')")
        page.goto(page.eval("document.querySelector('main a').href"))
        assert page.text("h1") == "shop/cart"
    finally:
        browser.close()


@pytest.fixture(scope="module")
def measured(keeper, tmp_path_factory):
    """A service with samples of a program in a call that is inlined; its symbols, sources and code are here."""
    program = compile_c(tmp_path_factory.mktemp("measured"))
    assert keeper.unhex("push", "--with-debuginfo", "--sources", program).returncode == 0
    found = lines(unhex("lookup", program, "--json", *map(hex, range(*[symbol(program, "outer")[0] + n for n in (
        0, symbol(program, "outer")[1])]))))
    inside = next(int(f["address"], 16) for f in found if len(f["frames"]) == 3)
    b = pprof_message.Builder()
    mapping = b.mapping(str(program), build_id(program).removeprefix("gnu:"))
    elsewhere = b.mapping("/lib/libelse.so", "ab" * 20)
    outer = b.location(symbol(program, "main")[0] + 4, mapping)
    b.sample([b.location(inside, mapping), outer], 7_000_000)
    b.sample([b.location(0x1234, elsewhere), outer], 1_000_000)
    data = b.profile.SerializeToString()
    keep(keeper, data, service="measured", time=1_795_000_000)
    program.with_suffix(".pb").write_bytes(data)
    return program, inside


@pytest.mark.parametrize("from_file", [False, True], ids=["server", "file"])
def test_a_frame_of_the_graph_opens_its_source_and_its_code(keeper, measured, tmp_path, from_file):
    """Open, search, zoom, read a known function and its inlined callee, click through to the source."""
    program, inside = measured
    url = f"{keeper.url}/profiles/measured/flame?from=1794990000&until=1795010000"
    if from_file:
        out = tmp_path / "cpu.html"
        done = unhex("flame", program.with_suffix(".pb"), "--url", keeper.url, "-o", out)
        assert done.returncode == 0 and "87.5 % of samples named" in done.stderr, done.stderr
        url = out.as_uri()
    browser = Browser(tmp_path)
    try:
        page = browser.page(width=390, height=800, phone=True) if from_file else browser.page()
        page.goto(url)
        page.wait("document.documentElement.dataset.ready")
        page.fill("#query", "inner")
        page.eval("document.getElementById('query').dispatchEvent(new Event('input'))")
        page.wait("document.querySelector('#found').textContent.includes('87.5')")
        page.eval("document.getElementById('graph').focus()")
        keys = ["ArrowDown"] * 4 + ["Enter"]  # main, outer, middle, inner
        for name in keys:
            page("Input.dispatchKeyEvent", type="keyDown", key=name)
        assert page.text("#name") == "inner" and f"{program}.c:" in page.text("#facts")
        assert page.text("#about a") == "Source and machine code"
        narrow(page, "graph")
        page.during(lambda: page.click("#source"))
        assert page.eval("location.pathname + location.search") == \
            f"/frame?id={urllib.parse.quote(build_id(program), safe='')}&addr={inside:#x}"
        marks = page.eval("[...document.querySelectorAll('.lines mark')].map(e => e.innerText)")
        assert len(marks) == 4 and marks[-1].startswith(f"{inside:#x} "), marks
        assert page.eval("[...document.querySelectorAll('.fn')].map(e => e.innerText)")[:3] == \
            ["inner", "middle", "outer"]
        assert not page.problems
    finally:
        browser.close()


def test_functions_of_modules_that_are_here_lead_to_their_code(keeper, measured):
    program, inside = measured
    _, _, page = fetch(keeper, "/profiles/measured?from=1794990000&until=1795010000", accept="text/html")
    links = re.findall(r'<td><a href="([^"]*)"><code class="fn" title="[^"]*">([^<]*)</code></a>', page.decode())
    there = {name: html.unescape(url) for url, name in links}
    assert set(there) == {"inner", "middle", "outer", "main"}
    assert urllib.parse.unquote(there["inner"]) == f"/frame?id={build_id(program)}&addr={inside:#x}"
    assert "<td><code class=\"fn\" title=\"libelse.so+0x1234\">libelse.so+0x1234</code>" in page.decode()
    assert all(fetch(keeper, url, accept="text/html")[0] == 200 for url in there.values())


def numbers(server, path="/v1/profiles?limit=1000"):
    status, doc, _ = Api(server)("GET", path)
    assert status == 200, doc
    return [p["id"] for p in doc["profiles"]]


@pytest.fixture
def own(tmp_path):
    """Starts a server with options, in the folder of the test; the next one goes on from there."""
    servers = []

    def start(*options):
        token = servers[-1].token if servers else ""
        if servers:
            servers[-1].stop()
        servers.append(Server(tmp_path / "own", token, options=options).start())
        return servers[-1]
    yield start
    assert servers[-1].stop() in (0, None)


def test_nothing_is_kept_unless_it_is_configured(own):
    server = own()
    message = Api(server).refused(503, "unavailable", "POST", "/v1/profiles?service=x", b"main 1\n")
    assert "keep-profiles" in message
    _, _, page = fetch(server, "/profiles", accept="text/html")
    assert b"--keep-profiles 7d" in page


def blobs(server):
    return [f for f in (server.data / "blobs").rglob("*") if f.is_file()]


def test_old_profiles_go_and_what_is_kept_has_a_size(own):
    server = own("--keep-profiles", "3s")
    keep(server, b"main 1\n")
    assert len(numbers(server)) == 1
    wait_for(lambda: not numbers(server), 30)
    assert Api(server)("GET", "/v1/profiles/services")[1] == {"services": [], "more": False}
    server = own("--keep-profiles", "7d", "--set", "profile-bytes=1000")
    sent = [keep(server, f"main;f{i} {i}\n".encode(), service=f"s{i}")["id"] for i in range(20)]
    wait_for(lambda: len(numbers(server)) < 20, 30)
    left = numbers(server)
    assert left == sorted(left, reverse=True) == sent[:-len(left) - 1:-1]  # the newest ones are left
    assert blobs(server)
    wait_for(lambda: len(blobs(server)) <= len(left), 40)


def test_what_was_acknowledged_survives_a_kill(own):
    server = own(*KEEP)
    sent = []
    for i in range(30):
        sent.append((keep(server, f"main;f{i} {i + 1}\n".encode())["id"], i + 1))
        if i % 10 == 9:
            server.process.kill()
            server.process.wait()
            server.process.stdout.close()
            server = own(*KEEP)
    assert numbers(server) == [n for n, _ in reversed(sent)]
    for number, value in sent:
        assert list(folded(server, id=number).values()) == [value]


def otlp(service, host, stacks, ended_ns):
    """A message with one resource, as bytes."""
    b = otlp_message.Builder()
    b.profile.time_unix_nano = ended_ns
    for names, value in stacks:
        b.sample([b.named(name) for name in reversed(names)], [value])
    resource = b.request.resource_profiles[0].resource
    for key, text in (("service.name", service), ("host.name", host), ("service.version", "v7")):
        if text:
            resource.attributes.add(key=key).value.string_value = text
    return b


def test_messages_that_pass_are_kept_by_resource(own):
    server = own(*KEEP)
    now = int(time.time())
    for i in range(6):
        b = otlp("cart", "h1", [(["main", "work"], 5)], (now - 60 + i) * 10**9)
        other = b.request.resource_profiles.add()
        other.CopyFrom(b.request.resource_profiles[0])
        other.resource.attributes[0].value.string_value = "bill\ning"
        status, doc, _ = Api(server)("POST", "/v1/profiles", gzip.compress(b.data()))
        assert status == 201 and len(doc["profiles"]) == 2, doc
    assert folded(server, service="cart") == {"main;work": 30}
    assert folded(server, service="bill?ing", host="h1", build="v7") == {"main;work": 30}
    status, doc, _ = Api(server)("GET", "/v1/profiles?service=cart")
    assert {(p["host"], p["build"], p["samples"]) for p in doc["profiles"]} == {("h1", "v7", 5)}


def many_resources(count, value, ended):
    """A message with this number of services, with other values for each of them."""
    b = otlp("s0", "h1", [(["main", "work"], value)], ended * 10**9)
    for i in range(1, count):
        one = b.request.resource_profiles.add()
        one.CopyFrom(b.request.resource_profiles[0])
        one.resource.attributes[0].value.string_value = f"s{i}"
        one.scope_profiles[0].profiles[0].samples[0].values[:] = [value + i]
    return b.data()


def test_profiles_of_a_message_are_ranges_of_a_blob(own, tmp_path):
    """Each is read, copied, checked and removed by itself, and the blob stays until the last one is gone."""
    server = own(*KEEP)
    status, doc, _ = Api(server)("POST", "/v1/profiles", gzip.compress(many_resources(20, 100, int(time.time()))))
    assert status == 201 and len(doc["profiles"]) == 20, doc
    ids = {p["service"]: p["id"] for p in doc["profiles"]}
    blob, = blobs(server)
    assert sum(p["bytes"] for p in doc["profiles"]) == blob.stat().st_size
    assert f"unhex_profile_bytes {blob.stat().st_size}\n".encode() in fetch(server, "/metrics")[2]
    assert all(folded(server, id=ids[f"s{i}"]) == {"main;work": 100 + i} for i in range(20))
    for i in range(19):
        assert Api(server)("DELETE", f"/v1/profiles/{ids[f's{i}']}")[0] == 204
    assert f"unhex_profile_bytes {blob.stat().st_size}\n".encode() in fetch(server, "/metrics")[2]
    assert folded(server, id=ids["s19"]) == {"main;work": 119}
    for how in ("backup", "migrate"):
        done = unhex("store", how, tmp_path / how, "--data", server.data)
        assert done.returncode == 0, done.stderr
        assert unhex("store", "check", "--data", tmp_path / how).returncode == 0
        copy = Server(tmp_path / how, server.token, options=KEEP).start()
        assert folded(copy, id=ids["s19"]) == {"main;work": 119}
        assert copy.stop() == 0
    assert Api(server)("DELETE", f"/v1/profiles/{ids['s19']}")[0] == 204
    assert b"unhex_profile_bytes 0\n" in fetch(server, "/metrics")[2]
    wait_for(lambda: not blobs(server), 40)


def test_a_kill_leaves_all_profiles_of_a_message_or_none(own):
    server, count, confirmed, now = own(*KEEP), 300, 0, int(time.time())  # too late to be merged
    for kill in range(6):
        over = threading.Event()

        def send(at=server, seed=kill):
            nonlocal confirmed
            for i in range(1000):
                try:
                    status, _, _ = fetch_otlp(at, many_resources(count, 1 + 1000 * seed + i, now))
                except (OSError, http.client.HTTPException):
                    break
                assert status == 200
                confirmed += 1
                over.set()

        sender = threading.Thread(target=send)
        sender.start()
        assert over.wait(60)
        pause_for(0.03 * kill, "the kill comes at another point of a message each time")
        server.process.kill()
        sender.join(60)
        server.process.wait()
        server.process.stdout.close()
        server = own(*KEEP)
        profiles = Api(server)("GET", "/v1/profiles/services?limit=1000")[1]["services"]
        kept = {p["profiles"] for p in profiles}
        assert len(profiles) == count and len(kept) == 1, kept
        # The last message of each round may be kept without an answer.
        assert confirmed <= kept.pop() <= confirmed + kill + 1
        first, last = (sum(folded(server, service=f"s{i}").values()) for i in (0, count - 1))
        assert last - first == profiles[0]["profiles"] * (count - 1)
    assert unhex("store", "check", "--data", server.data).returncode == 0


def test_each_format_that_symbolize_reads_is_kept(keeper):
    first = keep(keeper, b"main;work 5\nmain;idle 3\n", service="formats")
    stacks = folded(keeper, id=first["id"])
    for form in ("folded", "pprof", "firefox"):
        status, _, data = fetch(keeper, f"/v1/profiles/merged?id={first['id']}&format={form}")
        assert status == 200
        assert folded(keeper, id=keep(keeper, data, service=form)["id"]) == stacks, form
    message = otlp("json", "h", [(["main", "work"], 5), (["main", "idle"], 3)], time.time_ns()).request
    text = json_format.MessageToJson(message).encode()
    assert folded(keeper, id=keep(keeper, text, service="json")["id"]) == stacks


def fetch_otlp(server, data):
    api = Api(server)
    api.connection.request("POST", "/v1development/profiles", data, {
        "Authorization": f"Bearer {server.token}", "Content-Type": "application/x-protobuf"})
    answer = api.connection.getresponse()
    return answer.status, answer.headers, answer.read()


def test_neighbours_in_time_become_one_and_nothing_is_counted_twice(own):
    server = own(*KEEP)
    for i in range(8):
        b = otlp("old", "h1", [(["main", f"f{i % 2}"], i + 1)], (1_700_000_000 // 3600 * 3600 + i * 60) * 10**9)
        other = b.request.resource_profiles.add()
        other.CopyFrom(b.request.resource_profiles[0])
        other.resource.attributes[1].value.string_value = "h2"
        status, _, answer = fetch_otlp(server, b.data())
        assert status == 200, answer
    alone = keep(server, b"main;alone 3\n", service="old", host="h1", time=1_700_000_000 // 3600 * 3600 + 30)["id"]
    want = {"main;f0": 2 * (1 + 3 + 5 + 7), "main;f1": 2 * (2 + 4 + 6 + 8), "main;alone": 3}
    assert folded(server, service="old") == want
    wait_for(lambda: len(numbers(server)) == 3, 60)  # one for each host, and the one whose number is known
    assert alone in numbers(server)
    assert folded(server, service="old") == want
    assert Api(server)("GET", "/v1/profiles/services")[1]["services"][0]["profiles"] == 3
    wait_for(lambda: len(blobs(server)) == 2, 60)  # the messages are gone, and the sums of both hosts are equal


def test_pprof_fetches_names_of_addresses_from_here(keeper, tmp_path):
    program = compile_c(tmp_path, "remote")
    b = pprof_message.Builder()
    mapping = b.mapping(str(program), build_id(program).removeprefix("gnu:"))
    b.sample([b.location(symbol(program, "main")[0] + 4, mapping)], 10)
    kept = keep(keeper, b.profile.SerializeToString(), service="remote")
    assert keeper.unhex("push", "--with-debuginfo", program).returncode == 0
    address = hex(symbol(program, "main")[0] + 4)
    status, _, names = fetch(keeper, f"/p/{kept['id']}/pprof/symbol", "POST", f"{address}+0x1")
    assert (status, names.decode()) == (200, f"{address}\tmain\n")
    program.unlink()  # so that pprof reads no local file
    result = subprocess.run(["go", "tool", "pprof", "-symbolize=remote:force", "-top",
                             f"{keeper.url}/p/{kept['id']}/pprof/profile"], capture_output=True, text=True, check=True,
                            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PPROF_TMPDIR": str(tmp_path)},
                            timeout=120)
    assert "main" in result.stdout, result
    log = keeper.data.with_suffix(".log").read_text()
    assert f'method=POST path="/p/{kept["id"]}/pprof/symbol" status=200' in log


def test_speedscope_is_served_from_here_and_reaches_nothing_of_this_server(tmp_path):
    """Also where reading needs a key: the page around it has the session, and the viewer has the profile alone."""
    server = Server(tmp_path / "server", options=(*KEEP, "--set", f"speedscope={SPEEDSCOPE}", "--set",
                                                  "reading=keyed")).start()
    browser = Browser(tmp_path)
    try:
        keep(server, cpu_profile((["main", "serve", "work<int>"], 5_000_000), (["main", "idle"], 3_000_000)),
             service="shop & co", time=1_795_000_000)
        page = browser.page(width=390, height=800, phone=True)
        page.goto(f"{server.url}/sign-in")
        page.fill("input[name=token]", server.token)
        page.during(lambda: page.click("main form button"))
        page.goto(f"{server.url}/profiles/shop%20%26%20co?{SPAN}")
        assert "speedscope.app" not in page.eval("document.body.innerHTML")
        page.goto(page.eval("[...document.querySelectorAll('a')].find(a => a.innerText === 'speedscope').href"))
        narrow(page, "speedscope")
        inside = page.frame("/viewers/speedscope/frame.html")
        wait_for(lambda: "Sandwich" in inside("document.body.innerText"))
        assert "shop & co" in inside("document.body.innerText")
        inside("[...document.querySelectorAll('div')].filter(e => e.innerText.endsWith('Sandwich')).pop().click()")
        wait_for(lambda: "work<int>" in inside("document.body.innerText"))
        assert "5.00ms (63%)" in inside("document.body.innerText")
        assert page.text("#viewer-state") == "" and inside("origin") == "null"
        assert inside("fetch('/v1/whoami').then(() => 'read', () => 'refused')") == "refused"
        for secret in ("document.cookie", "parent.document.body", "localStorage.__proto__ === Storage.prototype"):
            assert inside(f"(() => {{ try {{ return Boolean({secret}) }} catch (e) {{ return e.name }} }})()") in \
                ("SecurityError", False), secret
        hosts = {urllib.parse.urlsplit(u).netloc for u in page.requests if u.startswith("http")}
        assert hosts == {urllib.parse.urlsplit(server.url).netloc}
        assert not page.problems
        checked(page, "speedscope", LOOKS)
    finally:
        browser.close()
        assert server.stop() in (0, None)


def test_a_viewer_that_is_not_here_is_a_clear_word(shop, tmp_path):
    status, _, page = fetch(shop, "/profiles/shop%2Fcart/speedscope", accept="text/html")
    assert status == 404 and b"speedscope is not installed on this server" in page
    assert fetch(shop, "/viewers/speedscope/frame.html")[0] == 404
    done = unhex("serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "data", "--set", f"speedscope={tmp_path}")
    assert done.returncode == 2 and "expected one speedscope-*.js" in done.stderr, done.stderr


def test_viewers_of_other_sites_have_links_only_where_no_key_is_needed(shop):
    api = Api(shop, "")
    api.connection.request("GET", SHOP, headers={"Accept": "text/html"})
    text = api.connection.getresponse().read().decode()
    assert "https://www.speedscope.app/#profileURL=http:%2F%2F127.0.0.1" in text
    api.connection.request("GET", f"/v1/profiles/merged?service=shop/cart&{SPAN}&format=speedscope",
                           headers={"Origin": "https://www.speedscope.app"})
    answer = api.connection.getresponse()
    assert answer.read().startswith(b'{"$schema"')
    assert answer.headers["Access-Control-Allow-Origin"] == "https://www.speedscope.app"
    api.connection.request("GET", f"/k/{shop.token}{SHOP}", headers={"Accept": "text/html"})
    text = api.connection.getresponse().read().decode()
    assert "speedscope.app" not in text and f"/k/{shop.token}/v1/profiles/merged" in text
