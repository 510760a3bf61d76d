# SPDX-License-Identifier: Apache-2.0
"""An object store that speaks S3: Ceph's radosgw over one monitor and one store in memory, in a temporary folder
and on loopback. It takes about 15 s to start, so a run of tests shares one, and each test has a bucket of its own."""
import datetime
import hashlib
import hmac
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
import uuid

from waiting import wait_for

ACCESS = "unhexaccess"
SECRET = "unhex/Secret+Key=1"  # with characters that a wrong encoding would change
REGION = "us-east-1"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Radosgw:
    def __init__(self, memory=2 << 30, address=None, around=(), port=None):
        for program in ("ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "monmaptool"):
            if not shutil.which(program):
                raise RuntimeError(f"no {program} (Debian: apt install radosgw ceph-mon ceph-osd ceph-common)")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="unhex-radosgw-", dir="/var/tmp"))
        self.conf = self.folder / "ceph.conf"
        self.port = port or free_port()
        self.mon = free_port(), free_port()
        self.memory = memory
        self.address = address  # besides loopback
        self.around = around  # a command that becomes another one, on the machine of that address
        self.processes = {}

    def __enter__(self):
        try:
            self.configure()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes.values()):
            process.send_signal(signal.SIGCONT)
            process.kill()
        for process in self.processes.values():
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self):
        return f"http://{self.address or '127.0.0.1'}:{self.port}"

    @property
    def environment(self):
        """The keys, as every client of S3 takes them."""
        return {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}

    def configure(self):
        f = self.folder
        for name in ("mon", "osd", "rgw", "run"):
            (f / name).mkdir()
        (f / "keyring").touch()
        v2, v1 = self.mon
        # Debian 13's default is relative to the working folder; without classes the gateway ends at once.
        classes = next(pathlib.Path("/usr/lib").glob("*/rados-classes"))
        self.conf.write_text(f"""
[global]
fsid = {uuid.uuid4()}
mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]
mon initial members = a
public network = 127.0.0.0/8
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
keyring = {f}/keyring
run dir = {f}/run
admin socket = {f}/run/$cluster-$name.sock
pid file = {f}/run/$name.pid
log file = {f}/$name.log
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 2000
mon data avail warn = 1
mon data avail crit = 1
osd class load list = *
osd class dir = {classes}
[mon.a]
mon data = {f}/mon/a
[osd.0]
osd data = {f}/osd/0
osd objectstore = memstore
memstore device bytes = {self.memory}
[client.rgw.a]
rgw data = {f}/rgw
rgw frontends = beast endpoint=127.0.0.1:{self.port}{f" endpoint={self.address}:{self.port}" if self.address else ""}
rgw thread pool size = 64
# its own default, "secure" alone, cannot work without cephx
ms mon client mode = crc secure
""")

    def tool(self, *command, **how):
        return subprocess.run([*self.around, command[0], "-c", self.conf, *command[1:]], check=True, capture_output=True, text=True,
                              timeout=60, **how).stdout

    def daemon(self, name, *command):
        with open(self.folder / f"{name}.out", "ab") as out:
            self.processes[name] = subprocess.Popen([*self.around, command[0], "-c", self.conf, "-f", *command[1:]], stdout=out, stderr=out)

    def start(self):
        f, (v2, v1) = self.folder, self.mon
        fsid = next(line.split()[2] for line in self.conf.read_text().splitlines() if line.startswith("fsid"))
        self.tool("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]", f / "monmap")
        self.tool("ceph-mon", "--mkfs", "-i", "a", "--monmap", f / "monmap")
        self.daemon("mon", "ceph-mon", "-i", "a")
        osd = str(uuid.uuid4())
        self.tool("ceph", "osd", "new", osd)
        (f / "osd/0").mkdir()
        self.tool("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.daemon("osd", "ceph-osd", "-i", "0")
        self.wait(lambda: "1 up" in self.tool("ceph", "osd", "stat"), "the store to be up")
        self.start_gateway()
        self.tool("radosgw-admin", "-n", "client.rgw.a", "user", "create", "--uid=unhex", "--display-name=unhex",
                  f"--access-key={ACCESS}", f"--secret-key={SECRET}")

    def start_gateway(self):
        self.daemon("gateway", "radosgw", "-n", "client.rgw.a")
        self.wait(self.answers, "the gateway to answer")

    def stop_gateway(self):
        self.processes["gateway"].kill()
        self.processes["gateway"].wait()

    def pause(self):
        self.processes["gateway"].send_signal(signal.SIGSTOP)

    def resume(self):
        self.processes["gateway"].send_signal(signal.SIGCONT)

    def answers(self):
        try:
            urllib.request.urlopen(self.url, timeout=2).close()
            return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    def wait(self, condition, what, seconds=90):
        def is_met():
            dead = [name for name, p in self.processes.items() if p.poll() is not None]
            assert not dead, f"waited for {what}; ended: {dead}; see {self.folder}"
            return condition()
        wait_for(is_met, seconds, 0.1, f"{what} ({self.folder})")

    # --- what a test does and sees in the bucket, by signatures that are not those of the code under test

    def request(self, method, path, query="", body=b""):
        """The status and the body of a signed request."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        payload = hashlib.sha256(body).hexdigest()
        host = self.url.split("//")[1]
        names = "host;x-amz-content-sha256;x-amz-date"
        canonical = "\n".join([method, path, query, f"host:{host}", f"x-amz-content-sha256:{payload}", f"x-amz-date:{now}", "",
                               names, payload])
        scope = f"{now[:8]}/{REGION}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = ("AWS4" + SECRET).encode()
        for step in (now[:8], REGION, "s3", "aws4_request"):
            key = hmac.digest(key, step.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        r = urllib.request.Request(self.url + path + ("?" + query if query else ""), data=body or None, method=method, headers={
            "x-amz-date": now, "x-amz-content-sha256": payload,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={ACCESS}/{scope}, SignedHeaders={names}, Signature={signature}"})
        try:
            with urllib.request.urlopen(r, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def bucket(self, name):
        """The address of a new bucket."""
        status, body = self.request("PUT", f"/{name}")
        assert status == 200, body
        return f"s3://{name}"

    def read(self, bucket, key):
        status, body = self.request("GET", f"/{bucket}/{key}")
        assert status == 200, body
        return body

    def write(self, bucket, key, body):
        status, said = self.request("PUT", f"/{bucket}/{key}", body=body)
        assert status == 200, said

    def keys(self, bucket, prefix=""):
        """The sizes of the objects of a bucket by key (up to 1,000)."""
        import re
        status, body = self.request("GET", f"/{bucket}", f"list-type=2&prefix={prefix.replace('/', '%2F')}")
        assert status == 200, body
        return {key: int(size) for key, size in
                re.findall(r"<Key>([^<]*)</Key>.*?<Size>(\d+)</Size>", body.decode(), re.S)}
