#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""static_try.py PROGRAM SERVER: tries the static PROGRAM in roots that have nothing else.

Run by tools/static.sh, as root, in a network of its own (unshare -n): files that other systems have are
laid out in a root each, a server (SERVER serve) listens with and without TLS, and a DNS server knows its
name. The exit status is 0 when all is as expected.
"""

import ctypes
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

NAME = "symbols.test"
# Where a system has its trusted roots, and what else of it concerns names.
SYSTEMS = {
    "debian": {"etc/ssl/certs/ca-certificates.crt": "CA",
               "etc/nsswitch.conf": "hosts: files mdns4_minimal [NOTFOUND=return] dns\n"},
    "fedora": {"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": "CA",
               "etc/nsswitch.conf": "hosts: files myhostname resolve [!UNAVAIL=return] dns\n"},
    "rhel": {"etc/pki/tls/certs/ca-bundle.crt": "CA",
             "etc/nsswitch.conf": "hosts: files sss dns\n"},
    "opensuse": {"etc/ssl/ca-bundle.pem": "CA"},
    "alpine": {"etc/ssl/cert.pem": "CA"},
}
SOURCE = """int twice(int n) { return n * 2; }
int main(int argc, char **argv) { (void)argv; return twice(argc) - 2; }
"""


def loopback_up():
    """What `ip link set lo up` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        libc = ctypes.CDLL(None, use_errno=True)
        request = struct.pack("16sH14x", b"lo", 0x1 | 0x40)  # IFF_UP, IFF_RUNNING
        if libc.ioctl(s.fileno(), 0x8914, request) != 0:  # SIOCSIFFLAGS
            sys.exit("static_try: loopback does not come up: run this by unshare -n, as root")


class Names(threading.Thread):
    """A DNS server on 127.0.0.1 that knows NAME alone."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.queries = 0
        self.start()

    def run(self):
        while True:
            query, peer = self.socket.recvfrom(512)
            end = query.index(0, 12) + 5
            labels = b"".join(bytes([len(part)]) + part.encode() for part in NAME.split("."))
            known = query[12:end - 4].lower() == labels + b"\0"
            is_a = query[end - 4:end - 2] == b"\0\1"
            self.queries += known
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1" if known and is_a else b""
            self.socket.sendto(query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1,
                                                       1 if answer else 0, 0, 0)
                               + query[12:end] + answer, peer)


def certificates(folder):
    """A CA of its own and a certificate for NAME, as files."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=try CA", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + NAME,
            "-keyout", "key.pem", "-out", "request.pem")
    (folder / "extensions").write_text("subjectAltName=DNS:%s\n" % NAME)
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2",
            "-extfile", "extensions", "-out", "cert.pem")


def serve(server, folder, *settings):
    """A running server, its URL's port and its admin key."""
    data = folder / ("data%d" % len(list(folder.iterdir())))
    log = folder / (data.name + ".log")
    with log.open("wb") as out:
        process = subprocess.Popen([server, "serve", "--listen", "127.0.0.1:0", "--data", data, *settings],
                                   stdout=out, stderr=out)
    for _ in range(300):
        found = re.search(r"^unhex: serving on \S+:(\d+)", log.read_text(), re.M)
        if found:
            return process, int(found.group(1)), (data / "admin-key").read_text().strip()
        time.sleep(0.1)
    sys.exit("static_try: the server does not start:\n" + log.read_text())


class Root:
    """A root that has the program, /proc, /dev/null, /dev/urandom, and nothing else but files."""

    def __init__(self, folder, program):
        self.folder = folder
        for name in ("proc", "dev", "tmp"):
            (folder / name).mkdir(parents=True)
        shutil.copy(program, folder / "unhex")
        os.mknod(folder / "dev/null", 0o20666, os.makedev(1, 3))
        os.mknod(folder / "dev/urandom", 0o20666, os.makedev(1, 9))
        subprocess.run(["mount", "-t", "proc", "proc", folder / "proc"], check=True)

    def add(self, path, content):
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)

    def run(self, *words, status=0, env=None):
        """The program's standard output and error as one text."""
        done = subprocess.run(["/usr/sbin/chroot", self.folder, "/unhex", *map(str, words)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                              env={"HOME": "/tmp", **(env or {})})
        if done.returncode != status:
            sys.exit("static_try: unhex %s: exit status %d, expected %d:\n%s" % (
                " ".join(map(str, words)), done.returncode, status, done.stdout))
        return done.stdout

    def close(self):
        subprocess.run(["umount", self.folder / "proc"], check=True)


def expect(text, pattern):
    if not re.search(pattern, text):
        sys.exit("static_try: expected %r, found:\n%s" % (pattern, text))


def try_files(root):
    """The commands that need no network."""
    expect(root.run("--version"), r"^unhex \d")
    expect(root.run("id", "/sample"), r"gnu:[0-9a-f]{40}")
    expect(root.run("lookup", "/sample", "twice+0"), r"twice.*sample\.c:1")
    expect(root.run("extract", "/sample", "-o", "/tmp/sample.gsym"), r"lines, \d+ functions")
    expect(root.run("gsym", "verify", "/tmp/sample.gsym"), "valid")
    expect(root.run("lookup", "/tmp/sample.gsym", "twice+0"), r"twice.*sample\.c:1")
    address = re.search(r"0x[0-9a-f]+", root.run("lookup", "/sample", "twice+0")).group()
    expect(root.run("addr2line", "-f", "-e", "/sample", address), r"^twice\n.*sample\.c:1")
    expect(root.run("llvm-symbolizer", "--obj=/sample", address), r"^twice\n.*sample\.c:1")
    expect(root.run("explain", "/sample", address), "twice")
    # What this build does not have says so.
    for verb in ("agent", "disas", "key", "serve", "store"):
        expect(root.run(verb, "--help", status=2), "this build has no server")


def try_push(root, url, key, sample, env=None, options=()):
    """A push, and a lookup on the server."""
    pushed = root.run("push", "/sample", "--force", "--url", url, "--token", key, *options, env=env)
    expect(pushed, "1 (uploaded|already there)")
    identity = re.search("gnu:[0-9a-f]+", root.run("id", sample)).group()
    expect(root.run("lookup", identity, "twice+0", "--url", url, "--token", key, *options, env=env),
           r"twice.*sample\.c:1")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, server = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    loopback_up()
    names = Names()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        certificates(work)
        ca = (work / "ca.pem").read_bytes()
        (work / "sample.c").write_text(SOURCE)
        subprocess.run(["gcc", "-g", "-Wl,--build-id=sha1", "sample.c", "-o", "sample"], cwd=work, check=True)
        sample = (work / "sample").read_bytes()
        plain, plain_port, plain_key = serve(server, work)
        secure, port, key = serve(server, work, "--set", "tls-certificate=%s" % (work / "cert.pem"),
                                  "--set", "tls-key=%s" % (work / "key.pem"))
        roots = []
        try:
            def root_of(system):
                root = Root(work / "roots" / system, program)
                roots.append(root)
                root.add("sample", sample)
                return root

            root = root_of("empty")
            try_files(root)
            try_push(root, "http://127.0.0.1:%d" % plain_port, plain_key, "/sample")
            lacking = root.run("push", "/sample", "--sources", "--url", "http://127.0.0.1:%d" % plain_port,
                               "--token", plain_key, status=1)
            expect(lacking, "this static build cannot load libarchive")
            print("static: an empty root: files, http")

            url = "https://%s:%d" % (NAME, port)
            root.add("etc/resolv.conf", b"nameserver 127.0.0.1\n")
            refused = root.run("push", "/sample", "--url", url, "--token", key, status=3)
            expect(refused, "no trusted roots are found")
            root.add("roots.pem", ca)
            try_push(root, url, key, "/sample", options=("--cacert", "/roots.pem"))
            for variable in ("UNHEX_CACERT", "SSL_CERT_FILE"):
                try_push(root, url, key, "/sample", env={variable: "/roots.pem"})
            root.add("roots/roots.pem", ca)
            subprocess.run(["openssl", "rehash", root.folder / "roots"], check=True)
            try_push(root, url, key, "/sample", env={"SSL_CERT_DIR": "/roots"})
            before = names.queries
            root.add("etc/hosts", b"127.0.0.1 %s\n" % NAME.encode())
            try_push(root, url, key, "/sample", options=("--cacert", "/roots.pem"))
            if before == 0 or names.queries != before:
                sys.exit("static_try: a name of /etc/hosts was looked up elsewhere")
            print("static: an empty root: https by --cacert, by variables; names of /etc/hosts, of DNS")

            for system, files in SYSTEMS.items():
                root = root_of(system)
                root.add("etc/resolv.conf", b"nameserver 127.0.0.1\n")
                for path, content in files.items():
                    root.add(path, ca if content == "CA" else content.encode())
                try_push(root, url, key, "/sample")
                print("static: files as of %s: https" % system)
        finally:
            for root in roots:
                root.close()
            for process in (plain, secure):
                process.terminate()
                process.wait()
    print("static: good")


if __name__ == "__main__":
    main()
