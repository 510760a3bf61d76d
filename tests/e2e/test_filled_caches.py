# SPDX-License-Identifier: Apache-2.0
"""Frame caches that the server fills in the background: answers, metrics, other protocols."""
import json
import random
import re
import subprocess

import pytest

from http_api import Api
from test_metrics import scrape
from test_protocols import debug_id
from tool import UNHEX, build_id
from waiting import wait_for

MANY = 12_000  # more than one for 4 KiB of the command's GSYM
FILLED, NOT_FILLED = ("unhex_frame_caches_filled_total", None), ("unhex_frame_caches_not_filled_total", None)


@pytest.fixture(scope="module")
def symbols(tmp_path_factory):
    """The GSYM of the command itself, and addresses in its code."""
    gsym = tmp_path_factory.mktemp("symbols") / "command.gsym"
    subprocess.run([UNHEX, "extract", UNHEX, "-o", gsym], check=True, capture_output=True)
    text = subprocess.run(["readelf", "-SW", UNHEX], check=True, capture_output=True, text=True).stdout
    start, size = (int(x, 16) for x in re.search(r" \.text +PROGBITS +(\w+) \w+ (\w+)", text).groups())
    return gsym, random.Random(1).sample(range(start, start + size), 2 * MANY)


def looked_up(gsym, addresses):
    """What the command says of them."""
    out = subprocess.run([UNHEX, "lookup", "--json", "--demangle=full", gsym], check=False, capture_output=True, text=True,
                         input="".join(f"0x{a:x}\n" for a in addresses)).stdout
    return [json.loads(line)["frames"] for line in out.splitlines()]


def answered(api, module, addresses, **more):
    status, doc, _ = api("POST", "/v1/symbolize", {"modules": [{"id": module, "addresses": addresses}], **more})
    assert status == 200 and doc["modules"][0]["status"] == "found"
    return doc["modules"][0]["frames"]


def upload(server, gsym):
    api, module = Api(server), build_id(UNHEX)
    api.upload([module], gsym.read_bytes())
    return api, module


def test_answers_from_a_filled_cache_are_those_of_lookups(server, symbols):
    gsym, addresses = symbols
    api, module = upload(server, gsym)
    before = answered(api, module, addresses[:MANY])
    wait_for(lambda: scrape(server)[FILLED] == 1)
    values = scrape(server)
    assert values[NOT_FILLED] == 0
    assert values["unhex_frame_cache_bytes", None] > gsym.stat().st_size / 2
    assert answered(api, module, addresses[:MANY]) == before
    assert before == looked_up(gsym, addresses[:MANY])
    assert answered(api, module, addresses[MANY:]) == looked_up(gsym, addresses[MANY:])
    behind = answered(api, module, [a + 1 for a in addresses[:MANY]], return_addresses=True)
    assert behind == before
    assert scrape(server)[FILLED] == 1


def test_other_protocols_answer_alike_from_a_filled_cache(server, symbols):
    gsym, addresses = symbols
    api, module = upload(server, gsym)
    breakpad = debug_id(build_id(UNHEX))
    some = addresses[MANY:MANY + 200]

    def mozilla():
        status, doc, _ = api("POST", "/symbolicate/v5", {"jobs": [{"memoryMap": [["unhex", breakpad]],
                                                                  "stacks": [[[0, a] for a in some]]}]})
        assert status == 200
        return doc
    first = mozilla()
    answered(api, module, addresses[:MANY])
    wait_for(lambda: scrape(server)[FILLED] >= 1)
    assert mozilla() == first
