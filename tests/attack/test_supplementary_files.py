# SPDX-License-Identifier: Apache-2.0
"""Debug files whose links to supplementary files lead to themselves, to each other, or to many"""
import subprocess
import time

import pytest

from http_api import Api
from tool import build_id
from waiting import pause_for, wait_for

SOURCE = "int v%(n)s; int f%(n)s(int x) { return x + v%(n)s; } int main(void) { return f%(n)s(1); }\n"
QUIET_SECONDS = 3  # without another extraction: the work has ended


@pytest.fixture
def programs(tmp_path):
    """Three programs with DWARF."""
    made = []
    for n in range(3):
        (tmp_path / f"p{n}.c").write_text(SOURCE % {"n": n})
        subprocess.run(["gcc", "-g", "-Wl,--build-id", f"p{n}.c", "-o", f"p{n}"], cwd=tmp_path, check=True)
        made.append(tmp_path / f"p{n}")
    return made


def refer(path, target):
    """Gives the program a link to the file of another build ID."""
    link = path.with_suffix(".link")
    link.write_bytes(b"sup.debug\0" + bytes.fromhex(target.removeprefix("gnu:")))
    subprocess.run(["objcopy", f"--add-section=.gnu_debugaltlink={link}", path], check=True)


def upload(api, path):
    data = path.read_bytes()
    uid = api.announce([build_id(path)], data, kind="executable")
    assert api.put(uid, data)[0] == 200
    assert api.finish(uid)[0] in (200, 202)
    wait_for(lambda: api("GET", f"/v1/uploads/{uid}")[1]["state"] != "pending", seconds=120)


def extractions(server):
    """How many there were when no more came."""
    log = server.data.with_suffix(".log")
    count, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        now = log.read_text().count("event=extract ")
        if now != count:
            count, since = now, time.monotonic()
        assert count < 50, "extractions without end"
        pause_for(0.1, "the rate of reading the log")
    return count


@pytest.mark.parametrize("links", [{0: 0}, {0: 1, 1: 0}, {0: 1, 1: 2, 2: 0}],
                         ids=["itself", "each-other", "in-a-circle"])
def test_files_that_refer_in_a_circle_are_extracted_a_few_times(server, watched, programs, links):
    names = [build_id(p) for p in programs]
    for at, to in links.items():
        refer(programs[at], names[to])
    api = Api(server)
    for at in links:
        upload(api, programs[at])
    assert extractions(server) <= 3 * len(links)
    for at in links:  # what they have without the link is there
        status, doc, _ = api("GET", f"/v1/modules/{names[at]}")
        assert status == 200 and doc["quality"] == "lines", doc
    watched.close()
    assert not watched.lost


def test_many_files_that_lack_one_cost_one_extraction_more_each(server, programs, tmp_path):
    missing = build_id(programs[2])
    api = Api(server)
    files = []
    for n in range(12):
        path = tmp_path / f"many{n}"
        (tmp_path / f"many{n}.c").write_text(SOURCE % {"n": 100 + n})
        subprocess.run(["gcc", "-g", "-Wl,--build-id", f"{path}.c", "-o", path], check=True)
        refer(path, missing)
        files.append(path)
        upload(api, path)
    assert extractions(server) == len(files)
    upload(api, programs[2])
    assert extractions(server) == 2 * len(files) + 1
    again = programs[2].with_name("again")  # other bytes of the same build ID
    subprocess.run(["objcopy", "--remove-section=.comment", programs[2], again], check=True)
    upload(api, again)
    assert extractions(server) == 2 * len(files) + 2
