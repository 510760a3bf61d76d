# SPDX-License-Identifier: Apache-2.0
"""The pages for people, in a real Chromium: what they show, what they refuse, and that they load nothing from elsewhere"""
import html.parser
import json
import os
import pathlib
import re
import shlex
import subprocess
import types
import urllib.parse

import pytest
import yaml

from browser import LOOKS, PATIENCE, Wire, checked, narrow
from unhex_server import Server
from http_api import Api, with_uuid
from pictures import picture
from tool import ROOT, build_id, compile_c, symbol, unhex
from waiting import wait_for

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PHONE = {"width": 360, "height": 740, "phone": True}
HOSTILE = "/x/<img src=x onerror=alert(1)>\"'&amp;\u202ecod.so"
HOSTILE_ID = "gnu:" + "ba" * 20
MANY = 53  # modules of one name: more than a page

VOID = {"meta", "link", "input", "img", "br", "hr"}


class Fixture:
    """A server with something of everything."""

    def __init__(self, directory):
        self.prog = compile_c(directory)
        self.bare = directory / "bare.bare"  # nothing leads from it to a debug file
        subprocess.run(["strip", "-o", self.bare, compile_c(directory, "bare")], check=True)
        self.server = Server(directory / "server").start()
        self.id = build_id(self.prog)
        assert self.server.unhex("push", "--with-debuginfo", self.prog).returncode == 0
        assert self.server.unhex("push", self.prog, self.bare, "--description",
                                 "of the <b>night</b>").returncode == 0
        self.shown = compile_c(directory, "shown")  # with its source
        assert self.server.unhex("push", "--with-debuginfo", "--sources", self.shown).returncode == 0
        gsym = directory / "prog.gsym"
        assert unhex("extract", self.prog, "-o", gsym).returncode == 0
        self.gsym = gsym.read_bytes()
        self.put(bytes.fromhex("ba" * 20), file=HOSTILE, description="<script>alert(2)</script>")
        for i in range(MANY):
            self.put(bytes([i]) * 20, file="/opt/many.so")
        status, doc, _ = self.api.upload([self.id, "file:" + "cd" * 16, "uuid:" + "ef" * 16],
                                         self.gsym, file=str(self.prog))
        assert status in (200, 409), doc
        self.crawl()

    def crawl(self):
        """A crawl with a package in each state that a worker can bring it to."""
        packages = [{"key": str(n), "name": HOSTILE if n == 0 else f"lib{n}-dbg", "version": "1", "kind": "deb",
                     "role": "debug", "url": f"/pool/{n}", "size": 1000, "crawl": n < 6} for n in range(7)]
        api = self.api
        assert api("POST", "/v1/crawl/packages", {"repository": "debian <bookworm> main", "packages": packages,
                                                  "complete": True})[0] == 200
        jobs = api("POST", "/v1/crawl/jobs/take", {"worker": "w", "most": 5})[1]["jobs"]
        for job, outcome in zip(jobs, ("quarantined", "failed", "done", "done")):
            assert api("POST", f"/v1/crawl/jobs/{job['id']}/end",
                       {"lease": job["lease"], "outcome": outcome, "cause": "hash", "reason": HOSTILE, "modules": 3,
                        "bytes_fetched": 1000, "bytes_stored": 90})[0] == 200

    def put(self, uuid, **more):
        status, doc, _ = self.api.upload([f"gnu:{uuid.hex()}"], with_uuid(self.gsym, uuid), **more)
        assert status == 200, doc

    @property
    def api(self):
        """A fresh connection: the server closes one that is idle while a browser works."""
        return Api(self.server)

    @property
    def url(self):
        return self.server.url


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    f = Fixture(tmp_path_factory.mktemp("web"))
    yield f
    assert f.server.stop() in (0, None)


@pytest.fixture
def open_page(browser):
    """Makes pages, and checks that they have no errors, and load nothing from elsewhere."""
    made = []

    def make(origin, **more):
        page = browser.page(**more)
        made.append((page, origin))
        return page

    yield make
    for page, origin in made:
        requested = [u for u in page.requests if not u.startswith((origin + "/", "about:", "data:"))]
        problems = [p for p in page.problems if not (p.get("source") == "network")]
        page.close()
        assert not requested, f"requests to other hosts: {requested}"
        assert not problems, problems


def paths(site):
    """Each kind of page, with something on it."""
    address = hex(symbol(site.prog, "outer")[0])
    return ["/", "/modules", "/search?q=prog", "/search?q=no-such-file", f"/modules/{site.id}",
            "/search?q=outer&what=functions", f"/modules/{site.id}/functions?q=outer", f"/modules/{site.id}/sources",
            f"/modules/{HOSTILE_ID}", "/symbolize", f"/explain?id={site.id}&addr={address}",
            f"/explain?id={build_id(site.bare)}", "/explain?id=gnu:00", "/uploads", "/status",
            "/crawl", "/sign-in", "/explain", "/profiles", f"/frame?id={site.id}&addr={address}",
            f"/frame?id={build_id(site.shown)}&addr={address}",
            f"/modules/{build_id(site.shown)}/sources?dir={site.shown.parent}",
            f"/modules/{build_id(site.shown)}/source{site.shown}.c"]


# With profiles: tests/e2e/test_kept_profiles.py. The token of /keys is made in the same tests.
ELSEWHERE = {"/profiles/{service}", "/profiles/{service}/flame", "/profiles/{service}/speedscope", "/keys"}


def test_no_kind_of_page_is_left_out(site):
    routes = {path for path, what in yaml.safe_load((ROOT / "docs/api/openapi.yaml").read_text())["paths"].items()
              if what.get("get", {}).get("responses", {}).get("200", {}).get("$ref", "").endswith("/page")}
    shown = [path.partition("?")[0] for path in paths(site)]
    left = {route for route in routes - ELSEWHERE if not any(
        re.fullmatch(re.sub(r"\\{path\\}", ".+", re.sub(r"\\{(?!path)\w+\\}", "[^/]+", re.escape(route))), path)
        for path in shown)}
    assert len(routes) >= 15 and not left, left


def sign_in(page, site, to="/", url=None):
    page.goto(f"{url or site.url}/sign-in?next={urllib.parse.quote(to, safe='')}")
    page.fill("#token", site.server.token)
    page.during(lambda: page.click("form.sign-in button"))


class Balanced(html.parser.HTMLParser):
    """Fails where tags do not nest."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        assert not any(name.startswith("on") or name == "style" for name in names), (tag, names)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.open)


def fetch(site, path, **more):
    api = Api(site.server, token="")
    headers = {**BROWSER, **more.pop("headers", {})}
    api.connection.request(more.pop("method", "GET"), path, headers=headers, **more)
    answer = api.connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


# what the server writes

def test_a_browser_gets_a_page_and_everybody_else_the_routes(site):
    anyone = Api(site.server, token="")
    for headers in ({}, {"Accept": "*/*"}, {"Accept": "text/plain"}, {"Accept": "application/json"}):
        status, doc, got = anyone("GET", "/", headers=headers)
        assert status == 200 and doc is None and got["Content-Type"].startswith("text/plain")
    status, headers, text = fetch(site, "/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert text.startswith("<!DOCTYPE html>")


def test_each_page_is_whole_and_lets_nothing_foreign_in(site):
    for path in paths(site):
        status, headers, text = fetch(site, path)
        assert status == 200, path
        parser = Balanced()
        parser.feed(text)
        assert parser.open == [], path
        assert text.count("<h1") == 1 and "<main" in text, path
        assert "style=" not in text and "<style" not in text and "javascript:" not in text, path
        policy = dict(p.split(" ", 1) for p in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["base-uri"] == "'none'" and policy["form-action"] == "'self'"
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert ("script-src" in policy) == (path == "/uploads")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
        assert text.count("<script") == (1 if path == "/uploads" else 0), path
        for url in re.findall(r'(?:href|src|action)="([^"]*)"', text):
            assert url.startswith(("/", "#")) and not url.startswith("//"), (path, url)


def test_assets_are_kept_under_the_name_of_their_content_alone(site):
    _, _, text = fetch(site, "/uploads")
    urls = re.findall(r'(?:href|src)="(/assets/[^"]*)"', text)
    assert len(urls) == 3
    for url in urls:
        status, headers, _ = fetch(site, url)
        assert status == 200 and "immutable" in headers["Cache-Control"]
        assert fetch(site, url, headers={"If-None-Match": headers["ETag"]})[0] == 304
        status, headers, _ = fetch(site, url.partition("?")[0])
        assert status == 200 and headers["Cache-Control"] == "no-cache"
    assert fetch(site, "/assets/..%2Fsecret")[0] == 404


def test_errors_are_pages_for_people_and_documents_for_programs(site):
    for path, status in (("/modules/gnu:00", 404), ("/modules/nothing!", 400), ("/nowhere", 404),
                         ("/search?q=" + "x" * 2000, 413), ("/explain?id=00&addr=zz", 400)):
        got, headers, text = fetch(site, path)
        assert got == status and headers["Content-Type"].startswith("text/html"), path
        assert "Content-Security-Policy" in headers and "<h1" in text
        got, doc, _ = Api(site.server)("GET", path)
        assert got == status and doc["error"]["message"], path
    for path in ("/v1/modules/gnu:00", "/buildid/00/debuginfo"):
        got, headers, _ = fetch(site, path)
        assert got == 404 and headers["Content-Type"] == "application/json"


def test_an_error_says_what_a_person_can_do_next(site, open_page):
    page = open_page(site.url, script=False)
    for path, words, link in (
            ("/modules/gnu:00", "no module has the ID", "/explain?id=gnu:00"),
            ("/nowhere", "no such page", "/modules"),
            ("/search?q=" + "x" * 2000, "search for less", None),
            ("/explain?id=00&addr=zz", "is not an address", "/"),
            ("/keys", "key with the scope admin", None)):
        page.goto(site.url + path)
        text = page.text("main")
        assert words.lower() in text.lower(), (path, text)
        assert "Authorization" not in text and "Bearer" not in text, (path, text)
        assert page.eval("document.querySelectorAll('main a, main form').length") > 0 or "Go back" in text, path
        if link:
            assert page.eval(f"!!document.querySelector('main a[href={json.dumps(link)}]')"), (path, text)
    # A key without the scope: another one can be given at once.
    session = open_page(site.url, script=False)
    api = Api(site.server)
    _, doc, _ = api("POST", "/v1/keys", {"scopes": ["read"], "description": "reads only"})
    session.goto(site.url + "/sign-in?next=%2Fkeys")
    session.fill("#token", doc["token"])
    session.during(lambda: session.click("form.sign-in button"))
    assert "no scope admin" in session.text("main")
    session.during(lambda: session.click("main .next a"))
    session.fill("#token", site.server.token)
    session.during(lambda: session.click("form.sign-in button"))
    assert session.eval("location.pathname") == "/keys" and "Keys" in session.text("h1")


def test_explain_says_it_in_one_sentence_and_gives_commands_that_run(site, reader):
    start, size = symbol(site.prog, "outer")
    for query, sentence in (
            (f"id={site.id}&addr={start:#x}", f"{start:#x} is in outer, line "),
            (f"id={site.id}&addr=0x1", "No function of this build is at 0x1"),
            (f"id={site.id}", "Its symbols name functions, lines and inlined calls."),
            (f"id={build_id(site.bare)}", "only exported functions have names"),
            ("id=gnu:00", "This server has no file with this ID.")):
        reader.goto(f"{site.url}/explain?{query}")
        assert sentence in reader.text(".verdict"), query
        commands = reader.eval("[...document.querySelectorAll('.command')].map(e => e.innerText)")
        assert commands and all(site.url in c for c in commands), (query, commands)
        for command in commands:
            words = shlex.split(command)
            if words[1] == "push":
                assert ("FILE" in command) == (query == "id=gnu:00" or "DEBUGFILE" in command)
                continue
            done = site.server.unhex(*words[1:]) if words[0] == "unhex" else \
                subprocess.run(words, capture_output=True, text=True)
            assert done.returncode in (0, 1) and ("outer" in done.stdout) == ("outer" in sentence), (command, done)


def test_status_shows_trends_missing_modules_and_the_disk(tmp_path, open_page):
    server = Server(tmp_path / "status", options=("--upstream", "debuginfod+http://127.0.0.1:9",)).start()
    try:
        api = Api(server)
        for name, times in (("gnu:" + "ab" * 20, 3), ("gnu:" + "cd" * 20, 1)):
            for _ in range(times):
                # Pending until the upstream has failed.
                wait_for(lambda: Api(server)("GET", f"/v1/symbolize/{name}?addr=0x1")[0] == 404)
        prog = compile_c(tmp_path)
        api("GET", f"/v1/symbolize/{build_id(prog)}?addr=0x1")
        assert server.unhex("push", "--with-debuginfo", prog).returncode == 0
        page = open_page(server.url, script=False)

        def shown():
            page.goto(server.url + "/status")
            return page.text("main")

        text = wait_for(lambda: "gnu:" + "ab" * 20 in (t := shown()) and "gnu:" + "cd" * 20 in t and t)
        ids = page.eval("[...document.querySelectorAll('.misses a')].map(a => a.innerText)")
        assert ids[0] == "gnu:" + "ab" * 20 and build_id(prog) not in ids, ids  # what came is no longer missing
        assert "uploads are accepted" in text and "free of" in text and "in use" in text or "suspended" in text

        def bars():
            shown()
            return page.eval("[...document.querySelectorAll('.trends dd > span:first-of-type')].map(e => e.innerText)")

        # The counts are taken over from time to time: the first that are shown need not hold all requests.
        wait_for(lambda: len(b := bars()) == 4 and int(b[0].replace(",", "")) >= 4)
        assert page.eval("document.querySelector('.trend path').getAttribute('d').length > 0")
        # No text covers another, and everything is on the screen, also of a phone.
        for width in (1280, 390):
            look = open_page(server.url, width=width, height=800)
            look.goto(server.url + "/status")
            narrow(look, width)
            over = look.eval("""(() => {
                const boxes = [...document.querySelectorAll("main dd, main dt, main h2, main p")].filter(
                    e => !e.closest(".wide")).map(e => { const r = document.createRange(); r.selectNodeContents(e);
                    return [e.innerText, r.getBoundingClientRect()]; });
                return boxes.flatMap(([a, r], i) => boxes.slice(i + 1).filter(([b, s]) =>
                    r.right > s.left + 1 && s.right > r.left + 1 && r.bottom > s.top + 3 && s.bottom > r.top + 3)
                    .map(([b]) => [a, b]));
            })()""")
            assert not over, over
    finally:
        assert server.stop() in (0, None)


def test_names_of_strangers_are_text_wherever_they_are(site, open_page):
    page = open_page(site.url)
    for path in ("/", "/search?q=*img*", f"/modules/{HOSTILE_ID}", f"/explain?id={HOSTILE_ID}",
                 "/uploads"):
        if path == "/":
            site.put(bytes.fromhex("bb" * 20), file=HOSTILE)  # so that it is among the newest
        page.goto(site.url + path)
        assert page.eval("document.images.length + document.querySelectorAll('main script').length"
                         ) == 0, path
        assert "<img src=x onerror=alert(1)>" in page.text().replace("\n", ""), path
    assert "\u202e" not in page.eval("document.documentElement.outerHTML")
    page.goto(f"{site.url}/search?q=" + urllib.parse.quote("<u>\"x'&"))
    assert "<u>\"x'&" in page.text("main") and page.eval("document.querySelectorAll('u').length") == 0


# finding things, without scripts

@pytest.fixture
def reader(open_page, site):
    return open_page(site.url, script=False)


def search(page, text):
    page.fill("[name=q]", text)
    page.during(lambda: page.click("form[role=search] button"))


def test_a_module_is_found_by_each_form_of_its_ids_and_by_its_name(site, reader):
    digits = site.id.partition(":")[2]
    for text in (site.id, digits, digits.upper(), f"  {digits} "):
        search(reader.goto(site.url + "/"), text)
        assert reader.eval("location.pathname") == f"/modules/{site.id}", text
    for text in (digits[:12], f"gnu:{digits[:8]}", digits[:7].upper(), "prog", "/*/prog",
                 str(site.prog)):
        search(reader.goto(site.url + "/status"), text)
        assert reader.eval("location.pathname") == "/search"
        links = reader.eval("[...document.querySelectorAll('.modules .module')].map(a => a.pathname)")
        assert f"/modules/{site.id}" in links, (text, links)
        assert reader.eval("document.querySelector('[name=q]').value") == text
    search(reader, "no such thing")
    assert "No module has" in reader.text("main")


def test_functions_are_found_by_a_part_of_their_names_in_any_case(site, reader):
    start, size = symbol(site.prog, "outer")
    search(reader.goto(site.url + "/"), "OUTer")
    text = reader.text("main")
    assert re.search(rf"Functions [0-9]+ in {MANY + 4 if MANY + 4 < 25 else 25} modules", text), text
    places = reader.eval("[...document.querySelectorAll('.functions a')].map(a => [a.innerText, a.search])")
    assert ["outer", f"?id={urllib.parse.quote(site.id, safe=':')}&addr={start:#x}"] in [
        [name, query] for name, query in places] or "Search older modules" in text
    # Filters: of one name, with lines, of today.
    reader.goto(f"{site.url}/search?q=OUTer&what=functions&in=prog&quality=lines&days=1")
    links = reader.eval("[...document.querySelectorAll('.modules .module')].map(a => a.pathname)")
    assert links == [f"/modules/{site.id}"], links
    assert "1 module was searched" in reader.text("main")
    assert reader.eval("document.querySelector('#quality').value") == "lines"
    reader.during(lambda: reader.click(".functions a"))
    assert "outer" in reader.text(".chosen")
    reader.goto(f"{site.url}/search?q=OUTer&what=functions&in=no-such-name")
    assert "filters above excluded" in reader.text("main")
    # All pages together have searched all modules.
    seen, pages = [], 0
    reader.goto(f"{site.url}/search?q=outer&what=functions")
    while True:
        seen += reader.eval("[...document.querySelectorAll('.modules .module')].map(a => a.pathname)")
        pages += 1
        if not reader.eval("!!document.querySelector('[rel=next]')"):
            break
        reader.during(lambda: reader.click("[rel=next]"))
    assert len(seen) == len(set(seen)) >= MANY + 2 and f"/modules/{site.id}" in seen and pages > 1


def test_a_module_leads_to_its_functions_and_source_files(site, reader):
    start, size = symbol(site.prog, "outer")
    reader.goto(f"{site.url}/modules/{site.id}")
    for name, size_least in (("/v1/gsym/", 100), ("/debuginfo", 100), ("/executable", 100)):
        link = reader.eval(f"[...document.querySelectorAll('.downloads a')].map(a => a.pathname)"
                           f".find(p => p.includes({json.dumps(name)}))")
        api = Api(site.server, token="")
        api.connection.request("GET", link)
        answer = api.connection.getresponse()
        assert answer.status == 200 and len(answer.read()) > size_least, link
    reader.fill("#name", "OUTER")
    reader.during(lambda: reader.click("form[action$=functions] button"))
    assert f"{start:#x}, {size:,} bytes" in reader.text(".functions")
    reader.goto(f"{site.url}/modules/{site.id}/functions")
    functions = reader.eval("document.querySelectorAll('.functions li').length")
    unnamed = reader.eval("[...document.querySelectorAll('.functions .fn')].filter(e => e.innerText === '<no name>').length")
    said = f"{functions - unnamed} functions" + (f" and {unnamed} without a name" if unnamed else "")
    assert f"{said}, by address" in reader.text("main") and functions > 3
    # The page of the module counts the same ones.
    reader.goto(f"{site.url}/modules/{site.id}")
    assert f"All {functions - unnamed} functions" in reader.text("main")
    reader.goto(f"{site.url}/modules/{site.id}/functions?q=outer")
    assert f"of {functions - unnamed} functions match" in reader.text("main")
    # The tree of what the symbols name has no text before it is uploaded.
    source = pathlib.Path(site.prog).with_suffix(".c")
    reader.goto(f"{site.url}/modules/{site.id}/sources?dir={urllib.parse.quote(str(source.parent))}")
    assert source.name in reader.text(".tree")
    assert not reader.eval("!!document.querySelector('.tree a')")
    assert site.server.unhex("push", "--sources", site.prog).returncode == 0
    reader.goto(f"{site.url}/modules/{site.id}/sources")
    while source.name not in reader.eval("[...document.querySelectorAll('.tree a')].map(a => a.innerText)"):
        names = reader.eval("[...document.querySelectorAll('.tree a')].map(a => a.innerText)")
        at = next(i for i, name in enumerate(names) if f"/{name}" in str(source.parent) + "/")
        reader.during(lambda: reader.eval(f"document.querySelectorAll('.tree a')[{at}].click()"))
    reader.during(lambda: reader.eval(f"[...document.querySelectorAll('.tree a')]"
                                      f".find(a => a.innerText === {json.dumps(source.name)}).click()"))
    lines = reader.eval("[...document.querySelectorAll('.source li')].map(e => e.textContent)")
    assert lines == source.read_text().splitlines()
    assert reader.eval("document.querySelector('#L2').textContent") == lines[1]
    for path in ("/no/such.c", "/..%2F..%2Fetc%2Fpasswd", "/../../../../etc/passwd"):
        assert fetch(site, f"/modules/{site.id}/source{path}")[0] in (400, 404), path


def test_other_builds_and_the_name_of_a_key_are_on_the_page_of_a_module(site, reader):
    reader.goto(f"{site.url}/modules/gnu:{'00' * 20}")
    assert f"Other builds of this name {MANY - 1}" in reader.text("main")
    links = reader.eval("[...document.querySelectorAll('[aria-labelledby=builds] .module')].map(a => a.pathname)")
    assert links == [f"/modules/gnu:{bytes([i]).hex() * 20}" for i in range(MANY - 1, MANY - 6, -1)]
    assert "key: created on the first start" in reader.text("main")  # on its own machine
    assert reader.eval("document.querySelectorAll('.candidates code').length") >= 1


def test_lists_are_cut_into_pages_that_together_are_all(site, reader):
    for start, least in (("/modules", MANY + 3), ("/search?q=many.so&what=files", MANY)):
        seen = []
        reader.goto(site.url + start)
        while True:
            page = reader.eval("[...document.querySelectorAll('.modules .module')].map(a => a.pathname)")
            assert 0 < len(page) <= 50 and not set(page) & set(seen)
            seen += page
            if not reader.eval("!!document.querySelector('[rel=next]')"):
                break
            reader.during(lambda: reader.click("[rel=next]"))
        assert len(seen) >= least and len(seen) == len(set(seen))


def test_a_module_is_shown_with_all_that_is_known_of_it(site, reader):
    reader.goto(f"{site.url}/modules/{site.id}")
    text = reader.text("main")
    status, doc, _ = site.api("GET", f"/v1/modules/{site.id}")
    assert status == 200
    assert reader.eval("document.querySelectorAll('.candidates > li').length") == \
        len(doc["candidates"])
    for c in doc["candidates"]:
        assert c["kind"] in text and c["sha256"] in text
        if c["kind"] != "sources":
            assert c["quality"] in text and f"{c['counts']['functions']:,} functions" in text
    for name in doc["ids"]:
        assert name in text
    assert "of the code is named" in text and "has lines" in text and "answers first" in text
    assert "History" in text and "upload" in reader.text(".history")
    assert doc["last_used"][:10] in text
    reader.fill("#addr", hex(symbol(site.prog, "outer")[0]))
    reader.during(lambda: reader.click("form.ask button"))
    assert "outer" in reader.text(".chosen")


def test_explain_shows_frames_the_decision_and_what_would_help(site, reader):
    start, _ = symbol(site.prog, "outer")
    reader.goto(f"{site.url}/explain")
    reader.fill("#id", site.id)
    reader.fill("#addr", hex(start))
    reader.during(lambda: reader.click("form.explain button"))
    status, doc, _ = site.api("GET", f"/v1/explain/{site.id}?addr={start}")
    believed = next(c for c in doc["candidates"] if c.get("chosen"))
    assert status == 200
    names = reader.eval("[...document.querySelectorAll('.chosen .fn')].map(e => e.innerText)")
    assert names == [f["function"] for f in believed["frames"]] and names[-1] == "outer"
    assert reader.eval("document.querySelectorAll('.candidates > li').length") == \
        len(doc["candidates"])
    for name in (build_id(site.bare), "gnu:00"):
        reader.goto(f"{site.url}/explain?id={name}&addr=")
        advice = site.api("GET", f"/v1/explain/{name}")[1]["advice"]
        assert advice and all(line in reader.text(".advice") for line in advice)


def test_a_pasted_stack_gets_its_names(site, reader):
    start, size = symbol(site.prog, "outer")
    digits = site.id.partition(":")[2]
    stack = f"""==1==ERROR: AddressSanitizer: <b>SEGV</b>
    #0 0x55d5d2a in ?? (/gone/prog+{start:#x}) (BuildId: {digits})
#1  0x00007f0d9029d90a n/a (prog + {start + 1:#x})
./many.so(+{start:#x}) [0x555555555139]
./nobody.so(+0x10) [0x555555555139]
{site.id} {start:#x} {start + 1:#x}
{start + size:#x}
"""
    reader.goto(f"{site.url}/symbolize")
    reader.fill("#text", stack)
    reader.during(lambda: reader.click("form.paste button"))
    answers = reader.eval("""[...document.querySelectorAll('.stack > li')].map(li =>
        [...li.querySelectorAll('.frames')].map(ol =>
            [...ol.querySelectorAll('.fn')].map(e => e.innerText)))""")
    one = site.api("GET", f"/v1/symbolize/{site.id}?addr={start:#x}")[1]["frames"][0]
    names = [f["function"] for f in one]
    assert answers[0] == [] and answers[1] == [names] and answers[2] == [names]
    assert answers[3] == [] and answers[4] == []
    assert answers[5][0] == names and len(answers[5]) == 2
    text = reader.text("main")
    assert "several builds have that name" in text
    assert "no module has a file of that name" in text
    assert f"{one[-1]['file']}:{one[-1]['line']}" in reader.text(".stack")
    assert reader.eval("document.querySelectorAll('.stack b').length") == \
        reader.eval("document.querySelectorAll('.where b').length")
    assert reader.eval("document.querySelector('#text').value").splitlines() == stack.splitlines()
    # The byte before the end is the function's, the end is not.
    reader.fill("#text", f"{site.id} {start + size:#x}")
    reader.during(lambda: reader.click("form.paste button"))
    before = reader.text(".stack")
    reader.eval("document.querySelector('[name=ra]').checked = true")
    reader.during(lambda: reader.click("form.paste button"))
    assert "outer" in reader.text(".stack") and "outer" not in before


# keys

def test_a_session_stands_for_a_key_and_holds_no_token(site, open_page):
    page = open_page(site.url)
    page.goto(f"{site.url}/sign-in?next=%2Fuploads")
    page.fill("#token", "ux_wrong")
    page.during(lambda: page.click("form.sign-in button"))
    assert "not a token" in page.text("main")
    assert not page.eval("!!document.querySelector('.who button')")
    page.fill("#token", site.server.token)
    page.during(lambda: page.click("form.sign-in button"))
    assert page.eval("location.pathname") == "/uploads" and "key" in page.text(".who")
    cookies = [c for c in page("Network.getCookies")["cookies"] if c["name"] == "unhex-session"]
    assert len(cookies) == 1 and cookies[0]["httpOnly"] and cookies[0]["sameSite"] == "Strict"
    assert site.server.token not in json.dumps(cookies)
    assert page.eval("document.cookie + localStorage.length + sessionStorage.length") == "00"
    page.goto(site.url + "/status")
    assert "default" in page.text("table")
    page.during(lambda: page.click(".who button"))
    assert "Sign in" in page.text(".who")
    assert not page("Network.getCookies")["cookies"]


def test_a_session_writes_only_for_pages_of_this_server(site):
    host = site.url.partition("//")[2]
    form = urllib.parse.urlencode({"token": site.server.token, "next": "//evil.example/"})
    ours = {"Origin": f"http://{host}", "Host": host}
    for theirs in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"},
                   {"Origin": f"http://{host}1"}, {**ours, "Sec-Fetch-Site": "same-site"},
                   {**ours, "Sec-Fetch-Site": "cross-site"}):
        status, headers, _ = fetch(site, "/sign-in", method="POST", body=form, headers=theirs)
        assert status == 403 and "Set-Cookie" not in headers, theirs
    status, headers, _ = fetch(site, "/sign-in", method="POST", body=form, headers=ours)
    assert status == 303 and headers["Location"] == "/"
    assert "Secure" not in headers["Set-Cookie"]
    cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
    upload = json.dumps({"ids": ["gnu:77"], "size": 1, "sha256": "0" * 64})
    for more, status in (({}, 401), ({"Origin": "http://evil.example"}, 401), (ours, 201)):
        got, _, _ = fetch(site, "/v1/uploads", method="POST", body=upload,
                          headers={**cookie, **more})
        assert got == status, more
    forged = cookie["Cookie"][:-1] + ("0" if cookie["Cookie"][-1] != "0" else "1")
    assert fetch(site, "/v1/uploads", method="POST", body=upload,
                 headers={"Cookie": forged, **ours})[0] == 401
    tls = {"Origin": f"https://{host}", "Host": host}
    status, headers, _ = fetch(site, "/sign-in", method="POST", body=form, headers=tls)
    assert status == 303 and headers["Set-Cookie"].endswith("; Secure")


def test_where_reading_needs_a_key_pages_ask_for_one(browser, tmp_path):
    server = Server(tmp_path / "keyed", options=("--reading", "keyed")).start()
    page = browser.page(script=False)
    try:
        for path in ("/modules", "/status", "/search?q=a%20b", "/modules/gnu:00"):
            page.goto(server.url + path)
            assert page.statuses[server.url + path] == 401
            assert page.eval("!!document.querySelector('#token')")
        page.goto(server.url + "/search?q=a%20b")
        page.fill("#token", server.token)
        page.during(lambda: page.click("form.sign-in button"))
        assert page.eval("location.pathname + location.search") == "/search?q=a%20b"
        page.goto(server.url + "/")
        assert "modules" in page.text(".numbers")
        # A key that is revoked takes its sessions with it.
        keys = server.unhex("key", "list", "--data", server.data, "--json").stdout
        name = json.loads(keys.splitlines()[0])["id"]
        assert server.unhex("key", "revoke", name, "--data", server.data).returncode == 0
        page.goto(server.url + "/")
        assert page.eval("location.pathname") == "/sign-in"
    finally:
        page.close()
        server.stop()


def test_who_comes_by_a_token_in_the_path_stays_in_it(site, open_page):
    made = site.server.unhex("key", "create", "--data", site.server.data, "--scopes",
                             "read,symbolize", "--json")
    assert made.returncode == 0, made.stderr
    prefix = f"/k/{json.loads(made.stdout)['token']}"
    page = open_page(site.url, script=False).goto(site.url + prefix + "/")
    assert "key" in page.text(".who") and not page.eval("!!document.querySelector('.who button')")
    links = page.eval("""[...document.querySelectorAll("[href], [src], form")].map(e =>
        new URL(e.href || e.src || e.action).pathname)""")
    assert len(links) > 8 and all(link.startswith(prefix + "/") for link in links), links
    page.during(lambda: page.click("nav a"))
    assert page.eval("location.pathname") == prefix + "/modules"
    page.fill("[name=q]", "")
    page.during(lambda: page.click("form[role=search] button"))  # is sent on to the list
    assert page.eval("location.pathname") == prefix + "/modules"
    search(page, site.id)
    assert page.eval("location.pathname") == f"{prefix}/modules/{site.id}"
    page.goto(f"{site.url}/n/default/modules/{site.id}")
    assert page.eval("document.querySelector('.mark').pathname") == "/n/default/"


# sending files

@pytest.fixture
def wire(site):
    w = Wire(urllib.parse.urlsplit(site.url).port, 4 << 20, 3 << 20)
    yield w
    w.close()


def test_a_real_file_is_sent_in_pieces_with_progress_and_survives_a_lost_network(site, wire,
                                                                                 open_page,
                                                                                 tmp_path):
    big = compile_c(tmp_path, "sent")
    with open(big, "ab") as f:
        f.truncate(12 << 20)  # ELF does not mind what is behind it
    page = open_page(wire.url)
    sign_in(page, site, "/uploads", wire.url)
    page.files("#files", big)
    page.fill("#description", "by <i>hand</i>")
    page.eval("""seen = [], new MutationObserver(list => seen.push(...list.map(m =>
        [m.target.localName, m.target.value]))).observe(document.getElementById("sending"),
        {attributes: true, subtree: true})""")
    page.click("#form button")
    wait_for(lambda: page.browser.pump(0.1) or not wire.whole, PATIENCE)
    # Meanwhile anybody sees it on its way, with how far it is.
    other = open_page(site.url, script=False)
    other.goto(site.url + "/uploads")
    assert "sent" in other.text("#running") and "uploading" in other.text("#running")
    bar = other.eval("(p => [p.value, p.max])(document.querySelector('#running progress'))")
    assert 0 <= bar[0] < bar[1] == 12 << 20
    assert "sending" in page.text("#sending")
    wire.mend()
    page.wait("!!document.querySelector('#sending .good, #sending .bad')")
    assert "done" in page.text("#sending"), page.text("#sending")
    # It went up piece by piece; reading does so in larger steps.
    steps = {value for name, value in page.eval("seen") if name == "progress"}
    assert any(0 < v < 12 << 20 and v % (4 << 20) for v in steps), steps
    link = page.eval("document.querySelector('#sending a').pathname")
    assert urllib.parse.unquote(link) == f"/modules/{build_id(big)}"
    page.wait("document.querySelector('#running').innerText.includes('sent')")
    page.goto(wire.url + link)
    assert "by <i>hand</i>" in page.text("main") and "inlines" in page.text("main")
    status, doc, _ = site.api("GET", f"/v1/modules/{build_id(big)}")
    assert status == 200 and {c["kind"] for c in doc["candidates"]} == {"executable", "gsym"}


def test_an_upload_goes_on_when_the_network_is_lost_without_a_sign(open_page, tmp_path):
    big = compile_c(tmp_path, "stalled")
    with open(big, "ab") as f:
        f.truncate(12 << 20)
    server = Server(tmp_path / "server", environment={"UNHEX_IDLE": "5s"}).start()
    wire = Wire(urllib.parse.urlsplit(server.url).port, 4 << 20, 3 << 20, silent=True)
    try:
        page = open_page(wire.url)
        sign_in(page, types.SimpleNamespace(server=server), "/uploads", wire.url)
        page.files("#files", big)
        page.click("#form button")
        wait_for(lambda: page.browser.pump(0.1) or not wire.whole, PATIENCE)
        wire.mend()  # for new connections; on those from before no byte moves any more
        page.wait("!!document.querySelector('#sending .good, #sending .bad')")
        assert "done" in page.text("#sending"), page.text("#sending")
    finally:
        wire.close()
        server.stop()


def test_files_without_an_id_and_files_that_are_none_get_their_word(site, open_page, tmp_path):
    plain = tmp_path / "plain"
    subprocess.run(["gcc", "-g", "-Wl,--build-id=none", "-o", plain,
                    compile_c(tmp_path, "with").with_suffix(".c")], check=True)
    text = tmp_path / "notes.txt"
    text.write_text("no ELF")
    gsym = tmp_path / "a.gsym"
    gsym.write_bytes(with_uuid(site.gsym, bytes([0xee]) * 20))
    page = open_page(site.url)
    sign_in(page, site, "/uploads")
    page.files("#files", plain, text, gsym)
    page.click("#form button")
    page.wait("document.querySelectorAll('#sending .good, #sending .bad').length === 3")
    words = page.eval("[...document.querySelectorAll('#sending > li')].map(li => li.innerText)")
    name = next(i for i in json.loads(unhex("id", plain, "--json").stdout)["ids"]
                if i.startswith("file:"))
    assert name in words[0] and "done" in words[0], words
    assert "failed" in words[1] and "neither an ELF file" in words[1]
    assert "gnu:" + "ee" * 20 in words[2] and "done" in words[2]


def test_files_and_folders_can_be_dropped_on_any_page(site, open_page, tmp_path):
    folder = tmp_path / "build"
    folder.mkdir()
    alone = compile_c(tmp_path, "dropped")
    inside = [compile_c(folder, "one"), compile_c(folder, "two")]
    for source in folder.glob("*.c"):
        source.unlink()
    page = open_page(site.url)
    sign_in(page, site)
    for path, what, programs in (("/", [alone], [alone]), ("/n/default/modules", [folder], inside),
                                 ("/modules/gnu:00", [alone], [alone])):
        page.goto(site.url + path)
        assert page.eval("document.querySelector('.drop').hidden")
        page.drag("dragEnter", *what)
        page.drag("dragOver", *what)
        assert not page.eval("document.querySelector('.drop').hidden"), path
        page.drag("drop", *what)
        page.wait(f"document.querySelectorAll('#sending .good, #sending .bad').length === {len(programs)}")
        assert "failed" not in page.text("#sending"), page.text("#sending")
        links = page.eval("[...document.querySelectorAll('#sending a')].map(a => decodeURIComponent(a.pathname))")
        prefix = "/n/default" if path.startswith("/n/") else ""
        assert sorted(links) == sorted(f"{prefix}/modules/{build_id(p)}" for p in programs), path
        assert page.eval("document.querySelector('.drop').hidden")
        narrow(page, path)
    # Who may not upload gets no script, and so nothing takes what is dropped.
    stranger = open_page(site.url)
    stranger.goto(site.url + "/")
    assert not stranger.eval("document.scripts.length || document.querySelector('.drop')")


# Width, whether it is dark, and what is shown in each picture of docs/web.md.
PICTURES = {"search": (900, False, "/search?q=oute&what=functions&in=prog"),
            "explain": (900, False, "/explain?id={bare}&addr={address}"),
            "status": (390, True, "/status")}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_the_documents_are_of_pages_as_they_are(site, open_page, tmp_path, name):
    width, dark, path = PICTURES[name]
    page = open_page(site.url, width=width, height=500, dark=dark, script=True)
    page("Emulation.setScrollbarsHidden", hidden=True)
    for times, digits in ((3, "93ac61ec5a8eb1396f9fbd350e3169a558528a40"), (1, "0123456789abcdef" * 2)):
        for _ in range(times):
            site.api("GET", f"/v1/symbolize/gnu:{digits}?addr=0x29d90")
    page.goto(site.url + path.format(bare=build_id(site.bare), address=hex(symbol(site.prog, "outer")[0])))
    narrow(page, path)
    picture(page, name, tmp_path, "docs/web.md")


# for everybody

@pytest.mark.parametrize("look", [{}, {"dark": True, **PHONE}], ids=["light", "dark-phone"])
def test_each_page_is_for_everybody(site, open_page, look):
    page = open_page(site.url, **look)
    sign_in(page, site)
    for path in [*paths(site), "/modules/gnu:00"]:
        page.goto(site.url + path)
        checked(page, (path, look), LOOKS if look else None)
        narrow(page, (path, look))
        assert page.eval("document.documentElement.lang") == "en"
    page.goto(site.url + "/symbolize")
    page.fill("#text", f"{site.id} {symbol(site.prog, 'outer')[0]:#x}\n" + "x" * 300)
    page.during(lambda: page.click("form.paste button"))
    checked(page, "stack", LOOKS if look else None)
    narrow(page, "stack")
    page.goto(site.url + "/keys")
    page.fill("#description", "of a browser")
    page.during(lambda: page.click("form[action='/keys'] button"))
    assert re.fullmatch(r"ux_[a-z2-7]{52}", page.eval("document.querySelector('.token .hash code').innerText"))
    page.eval("document.querySelectorAll('details').forEach(d => d.open = true)")
    checked(page, "keys", LOOKS if look else None)
    narrow(page, "keys")


def test_light_and_dark_are_what_the_system_asks_for(site, open_page):
    shades = []
    for dark in (False, True):
        page = open_page(site.url, dark=dark).goto(site.url + "/status")
        shades.append(page.eval("getComputedStyle(document.documentElement).backgroundColor"))
    light, dark = [sum(map(int, re.findall(r"\d+", s)[:3])) for s in shades]
    assert light > 600 and dark < 200


def test_keys_alone_reach_everything_and_show_where_they_are(site, open_page):
    page = open_page(site.url, script=False).goto(site.url + "/modules")
    state = """(e => [e.tagName, e.className, e.innerText || e.name || "",
        getComputedStyle(e).outlineStyle !== "none", e.getBoundingClientRect().left >= 0])(
        document.activeElement)"""
    seen = []
    for _ in range(12):
        page.press("Tab")
        seen.append(page.eval(state))
    assert seen[0][1] == "skip" and all(s[3] and s[4] for s in seen), seen
    words = [s[2] for s in seen]
    order = ["unhex", "Modules", "Symbolize", "Profiles", "Explain", "Uploads", "Status", "q", "Find", "Sign in"]
    assert words[1:11] == order, words
    page.goto(site.url + "/modules")
    page.press("Tab")
    page.press("Enter")
    page.wait("document.activeElement.id === 'main'")
    page.goto(site.url + "/status")
    page.eval("document.querySelector('[name=q]').focus()")
    page.fill("[name=q]", "many.so")
    page.during(lambda: page.press("Enter"))
    assert page.eval("location.search") == "?q=many.so"
