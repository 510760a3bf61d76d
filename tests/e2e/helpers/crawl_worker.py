# SPDX-License-Identifier: Apache-2.0
"""A worker of a crawl that reads no package: crawl_worker.py NAME LEDGER URL TOKEN. It appends a line to the ledger
for each package that it begins, and one for each that the server has taken as done."""
import http.client
import json
import os
import sys
import urllib.parse

from waiting import pause_for

LEASE_S = 5


def send(url, token, method, path, body):
    """Status and document; tried again while the server is away."""
    while True:
        try:
            connection = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
            connection.request(method, path, json.dumps(body), {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status < 500:
                return answer.status, json.loads(text) if text else None
        except (OSError, http.client.HTTPException, ValueError):
            pass
        pause_for(0.02, "a worker tries again later")


def main():
    name, ledger, url, token = sys.argv[1:]
    url = urllib.parse.urlsplit(url)
    log = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        status, doc = send(url, token, "POST", "/v1/crawl/jobs/take", {"worker": name, "most": 3, "lease_s": LEASE_S})
        assert status == 200, doc
        if not doc["left"]:
            return
        if not doc["jobs"]:
            pause_for(0.2, "no package is free")
        for job in doc["jobs"]:
            path = f"/v1/crawl/jobs/{job['id']}"
            os.write(log, f"began {job['id']} {job['lease']}\n".encode())
            pause_for(0.01, "the work on a package")
            status, doc = send(url, token, "POST", f"{path}/renew", {"lease": job["lease"], "lease_s": LEASE_S})
            assert status in (204, 409), doc
            if status == 409:  # another one has it, or had it
                continue
            status, doc = send(url, token, "POST", f"{path}/end",
                               {"lease": job["lease"], "outcome": "done", "modules": 1, "extractor": 1})
            assert status in (200, 409), doc
            if status == 200:
                os.write(log, f"done {job['id']} {job['lease']}\n".encode())


if __name__ == "__main__":
    main()
