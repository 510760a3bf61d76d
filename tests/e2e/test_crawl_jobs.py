# SPDX-License-Identifier: Apache-2.0
"""What a server keeps of a crawl: packages are announced, leased to workers, and end."""
import hashlib
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys

import pytest

from unhex_server import Server
from http_api import Api
from index_rows import opened
from tool import ROOT, lines, unhex
from waiting import pause_for, wait_for


@pytest.fixture
def crawled(tmp_path):
    s = Server(tmp_path / "server").start()
    yield s
    assert s.stop() in (0, None)


def package(number, host="mirror.example", **more):
    key = hashlib.sha256(str(number).encode()).hexdigest()
    return {"key": key, "name": f"lib{number}-dbg", "version": "1.0-1", "arch": "amd64", "source": f"lib{number}",
            "distribution": "debian", "suite": "bookworm", "component": "main",
            "url": f"http://{host}/pool/lib{number}-dbg_1.0-1_amd64.deb", "size": 1000 + number, "installed": 5000,
            "kind": "deb", "role": "debug", "build_ids": [f"{number:040x}"], **more}


def announce(api, packages, repository="debian bookworm main amd64", **more):
    status, doc, _ = api("POST", "/v1/crawl/packages", {"repository": repository, "packages": packages, **more})
    assert status == 200, doc
    return doc


def take(api, most=1, worker="w", **more):
    status, doc, _ = api("POST", "/v1/crawl/jobs/take", {"worker": worker, "most": most, **more})
    assert status == 200, doc
    return doc


def end(api, job, outcome="done", **more):
    return api("POST", f"/v1/crawl/jobs/{job['id']}/end", {"lease": job["lease"], "outcome": outcome, **more})


def crawl_status(api):
    status, doc, _ = api("GET", "/v1/crawl/status")
    assert status == 200, doc
    return doc


def test_a_worker_takes_and_ends_what_was_announced(crawled):
    api = Api(crawled)
    doc = announce(api, [package(n) for n in range(3)], state={"etag": "\"x\""}, complete=True)
    assert doc == {"new": 3, "known": 0, "again": 0}
    assert announce(api, [package(n) for n in range(4)]) == {"new": 1, "known": 3, "again": 0}
    repositories = api("GET", "/v1/crawl/repositories")[1]["repositories"]
    assert [(r["repository"], r["state"], r["packages"]) for r in repositories] == \
        [("debian bookworm main amd64", {"etag": "\"x\""}, {"waiting": 4})]
    jobs = take(api, 2)["jobs"]
    want = package(0)
    del want["build_ids"]
    assert jobs[0]["package"] == {**want, "sha256": want["key"], "repository": "debian bookworm main amd64"}
    for _ in range(2):
        assert end(api, jobs[0], modules=2, bytes_fetched=1000, bytes_stored=90, extractor=1)[:2] == \
            (200, {"state": "done"})
    assert end(api, jobs[1], "failed", cause="hash", reason="its SHA-256 is another")[1] == {"state": "failed"}
    assert api("POST", f"/v1/crawl/jobs/{jobs[1]['id']}/renew", {"lease": jobs[1]["lease"]})[0] == 409
    doc = crawl_status(api)
    assert {name: s["packages"] for name, s in doc["states"].items()} == \
        {"waiting": 2, "leased": 0, "done": 1, "failed": 1, "quarantined": 0, "known": 0}
    assert doc["states"]["done"]["bytes_stored"] == 90 and doc["recent"]["modules"] == 2
    assert doc["causes"] == [{"cause": "hash", "packages": 1}] and doc["left"]["packages"] == 3
    assert [(f["name"], f["reason"]) for f in doc["failures"]] == [("lib1-dbg", "its SHA-256 is another")]
    rest = take(api, 9)["jobs"]
    assert [j["package"]["name"] for j in rest] == ["lib2-dbg", "lib3-dbg"]
    assert api("POST", f"/v1/crawl/jobs/{rest[0]['id']}/renew", {"lease": rest[0]["lease"], "lease_s": 60})[0] == 204
    empty = take(api)
    assert empty["jobs"] == [] and empty["left"] and 1 <= empty["retry_after"] <= 60
    assert [end(api, job, "quarantined", cause="bomb")[1]["state"] for job in rest] == ["quarantined"] * 2


def test_a_host_has_no_more_leases_than_configured(tmp_path):
    server = Server(tmp_path / "server", options=("--set", "crawl-host-jobs=2")).start()
    api = Api(server)
    announce(api, [package(n) for n in range(5)])
    announce(api, [package(n, host="other.example:8080") for n in range(5, 8)], repository="other")
    hosts = [job["package"]["url"].split("/")[2] for job in take(api, 50)["jobs"]]
    assert sorted(hosts) == ["mirror.example"] * 2 + ["other.example:8080"] * 2
    assert take(api, 50, worker="another")["jobs"] == []
    server.stop()


def test_a_namespace_has_no_more_packages_and_repositories_than_configured(tmp_path):
    server = Server(tmp_path / "server", options=("--set", "crawl-packages=5", "--set", "crawl-repositories=2")).start()
    try:
        api = Api(server)
        announce(api, [package(i) for i in range(3)])
        announce(api, [package(i) for i in range(3, 5)], repository="other")
        for repository, numbers, words in (("other", [5], "has 5 packages; the limit is 5"), ("third", [], "has 2 repositories")):
            status, doc, _ = api("POST", "/v1/crawl/packages", {"repository": repository, "packages": [package(n) for n in numbers]})
            assert status == 413 and words in doc["error"]["message"], (status, doc)
        assert crawl_status(api)["states"]["waiting"]["packages"] == 5
    finally:
        assert server.stop() == 0


def test_what_is_wrong_in_a_request_is_said(crawled):
    api = Api(crawled)
    path = "/v1/crawl/packages"

    def refused(**more):
        return api.refused(400, "invalid", "POST", path, {"repository": "r", "packages": [package(1), package(2, **more)]})
    assert refused(url="ftp://a/b").startswith("package 1: \"url\"")
    assert "\"url\"" in refused(url="https://user:password@host/b")
    assert "build_ids" in refused(build_ids=["xyz"])
    assert "build_ids" in refused(build_ids=[7])
    assert "sha256" in refused(sha256="12")
    assert "key" in refused(key="")
    assert "kind" in refused(kind="zip") and "role" in refused(role="")
    assert "name" in refused(name="a\nb")
    assert "size" in refused(size=1 << 62)
    assert "repository" in api.refused(400, "invalid", "POST", path, {"packages": []})
    assert "state" in api.refused(400, "invalid", "POST", path,
                                  {"repository": "r", "packages": [], "complete": True, "state": 7})
    assert "state" in api.refused(413, "too_large", "POST", path,
                                  {"repository": "r", "packages": [], "complete": True, "state": {"a": "b" * 5000}})
    assert "packages" in api.refused(413, "too_large", "POST", path,
                                     {"repository": "r", "packages": [package(1)] * 5001})
    assert crawl_status(api)["states"]["waiting"]["packages"] == 0
    assert "worker" in api.refused(400, "invalid", "POST", "/v1/crawl/jobs/take", {})
    assert "lease_s" in api.refused(400, "invalid", "POST", "/v1/crawl/jobs/take", {"worker": "w", "lease_s": 1})
    announce(api, [package(1)])
    job = take(api)["jobs"][0]
    for wrong in ({"outcome": "fine"}, {"cause": "Two Words"}, {"modules": 1 << 62}, {"lease": ""}):
        body = {"lease": job["lease"], "outcome": "failed", **wrong}
        assert next(iter(wrong)) in api.refused(400, "invalid", "POST", f"/v1/crawl/jobs/{job['id']}/end", body)
    api.refused(409, "conflict", "POST", f"/v1/crawl/jobs/{job['id']}/end", {"lease": "0" * 32, "outcome": "done"})
    api.refused(404, "not_found", "POST", "/v1/crawl/jobs/77/end", {"lease": "0" * 32, "outcome": "done"})
    assert end(api, job)[1] == {"state": "done"}


def test_the_command_says_how_far_crawls_are(crawled):
    api = Api(crawled)
    announce(api, [package(n) for n in range(4)])
    jobs = take(api, 3)["jobs"]
    end(api, jobs[0], modules=2, bytes_fetched=3 << 20, bytes_stored=1 << 20)
    end(api, jobs[1], "quarantined", cause="bomb", reason="over \x1b[31m limits")
    result = crawled.unhex("crawl", "status")
    assert result.returncode == 0, result.stderr
    assert "done         1 packages" in result.stdout and "2 modules, 3.0 MiB fetched, 1.0 MiB stored" in result.stdout
    assert "failures by cause: bomb 1" in result.stdout and "lib1-dbg 1.0-1, quarantined, bomb: over" in result.stdout
    assert "\x1b" not in result.stdout and "workers      1" in result.stdout
    (doc,) = lines(crawled.unhex("crawl", "status", "--json"))
    assert doc == crawl_status(api)
    refused = unhex("crawl", "status", "--url", "http://127.0.0.1:1")
    assert refused.returncode == 3 and "127.0.0.1:1" in refused.stderr
    assert crawled.unhex("crawl", "status", "more").returncode == 2


def cpu_s(server):
    """Processor time of the server so far."""
    fields = (pathlib.Path("/proc") / str(server.process.pid) / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(server):
    """Bytes of anonymous memory of the server."""
    text = (pathlib.Path("/proc") / str(server.process.pid) / "status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text)[1]) * 1024


def test_a_hundred_thousand_packages_take_bounded_time_and_memory(crawled):
    """The last of them take no longer than the first, and neither does a lease."""
    api = Api(crawled)
    times = []
    for part in range(20):
        rows = [package(part * 5000 + n, host=f"mirror{n % 3}.example") for n in range(5000)]
        before = cpu_s(crawled)
        assert announce(api, rows, repository=f"debian suite{part % 4} main amd64")["new"] == 5000
        times.append(cpu_s(crawled) - before)
        if part == 0:
            small = memory(crawled)
            taken = cpu_s(crawled)
            assert len(take(api, 12)["jobs"]) == 12
            for _ in range(50):
                assert take(api, 12)["jobs"] == []  # each host has its leases
            taken = cpu_s(crawled) - taken
    assert times[-1] < 4 * times[0] + 0.3, times
    assert memory(crawled) - small < 64 << 20
    before = cpu_s(crawled)
    for _ in range(50):
        assert take(api, 12)["jobs"] == []
        crawl_status(api)
    assert cpu_s(crawled) - before < 10 * taken + 0.5, taken
    with sqlite3.connect(crawled.data / "index.sqlite") as db:
        counted = db.execute("SELECT state, sum(packages), sum(size) FROM package_counts GROUP BY state").fetchall()
        assert counted == db.execute("SELECT state, count(*), sum(size) FROM packages GROUP BY state").fetchall()


def plans():
    """The plan of each statement about packages: name and lines. The statements are those of the source."""
    with opened(":memory:") as db:
        for path in sorted((ROOT / "store/schema").glob("*.sql")):
            db.executescript(path.read_text())
        texts = "".join((ROOT / "store/index" / name).read_text() for name in ("package_rows.h", "packages.c", "package_hosts.c", "package_status.c"))
        macros = {name: "".join(re.findall(r'"([^"]*)"', text))
                  for name, text in re.findall(r"#define (\w*PACKAGE_\w+)((?:.*\\\n)*.*)", texts)}
        for name, body in re.findall(r"UX_SQL\((\w+),(.*?)\);\n", texts, re.S):
            for macro, text in macros.items():
                body = re.sub(rf"\b{macro}\b", lambda _, text=text: f'"{text}"', body)
            sql = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', body))
            values = {parameter: "" for parameter in re.findall(r":(\w+)", sql)}
            yield name, [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


def test_no_statement_looks_at_all_packages():
    found = dict(plans())
    assert len(found) >= 28
    for name, lines in found.items():
        for line in lines:
            # A few rows for each repository, and those of the leases, may be looked at; packages and IDs never.
            assert not re.match(r"SCAN (p|packages|i|package_ids)\b(?! USING (COVERING )?INDEX packages_(leased|of_host))", line), \
                (name, lines)
    assert any("packages_due" in line for line in found["sql_package_due"])
    assert not any("TEMP B-TREE" in line for line in found["sql_package_due"] + found["sql_packages_holding"]
                   + found["sql_packages_failures"]), found


KILLS = 20


def test_no_package_is_lost_or_done_twice_when_server_and_workers_are_killed(tmp_path):
    rng = random.Random(int(os.environ.get("UNHEX_SEED", "0")) or 5)
    count, ledger = 400, tmp_path / "ledger"
    ledger.touch()
    server = Server(tmp_path / "server", options=("--set", "crawl-host-jobs=8")).start()
    port = server.url.rsplit(":", 1)[1]
    announce(Api(server), [package(n, host=f"mirror{n % 2}.example") for n in range(count)])
    workers = {}

    def start(name):
        workers[name] = subprocess.Popen([sys.executable, "-B", pathlib.Path(__file__).parent / "helpers/crawl_worker.py", name,
                                          ledger, server.url, server.token])
    for name in "abcd":
        start(name)
    for _ in range(KILLS):
        before = ledger.stat().st_size
        wait_for(lambda: ledger.stat().st_size > before + 300 or workers_ended(workers))
        pause_for(rng.uniform(0, 0.02), "a kill at any moment")
        if rng.random() < 0.4:
            server.stop(signal.SIGKILL)
            server.start(listen=f"127.0.0.1:{port}")
        else:
            name = rng.choice("abcd")
            workers[name].kill()
            workers[name].wait()
            start(name)
    assert ledger.read_text().count("done") < count  # all of them were killed at work
    for worker in workers.values():
        assert worker.wait(120) == 0
    doc = crawl_status(Api(server))
    assert {name: s["packages"] for name, s in doc["states"].items() if s["packages"]} == {"done": count}
    assert doc["states"]["done"]["modules"] == count  # none was counted twice
    done = [line.split()[1] for line in ledger.read_text().splitlines() if line.startswith("done")]
    began = [line.split()[1] for line in ledger.read_text().splitlines() if line.startswith("began")]
    assert len(set(done)) == len(done) and len(set(began)) == count
    # A package was begun again only if its worker, or an answer to it, was lost on the way.
    assert len(began) - count <= KILLS * 12, (len(began), count)
    server.stop()
    result = unhex("store", "check", "--data", server.data)
    assert result.returncode == 0, result.stdout


def workers_ended(workers):
    return all(worker.poll() is not None for worker in workers.values())
