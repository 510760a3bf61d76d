# SPDX-License-Identifier: Apache-2.0
"""Repositories of packages for tests: keys, indexes, signatures, and a mirror that counts its requests."""
import contextlib
import email.utils
import gzip
import hashlib
import http.server
import lzma
import os
import pathlib
import subprocess
import threading


class Key:
    """An OpenPGP key in a home of its own."""

    def __init__(self, folder, name="archive"):
        self.home = pathlib.Path(folder) / f"gnupg-{name}"
        self.home.mkdir(mode=0o700)
        self.gpg("--passphrase", "", "--quick-generate-key", f"{name}@example.com", "rsa2048", "sign", "0")
        self.keyring = self.home / "public.gpg"
        self.keyring.write_bytes(self.gpg("--export"))
        self.armoured = self.home / "public.asc"
        self.armoured.write_bytes(self.gpg("--armor", "--export"))

    def gpg(self, *args, stdin=None):
        return subprocess.run(["gpg", "--homedir", self.home, "--batch", "--quiet", "--yes", *args], input=stdin,
                              check=True, capture_output=True).stdout

    def clear_sign(self, text, digest="SHA256"):
        return self.gpg("--digest-algo", digest, "--clearsign", stdin=text.encode())

    def detached(self, data, armour=True):
        return self.gpg(*(["--armor"] if armour else []), "--detach-sign", stdin=data)

    def close(self):
        subprocess.run(["gpgconf", "--homedir", self.home, "--kill", "all"], check=False, capture_output=True)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def deb_stanza(name, data=None, **fields):
    """A stanza of Packages; data: the package."""
    data = data if data is not None else name.encode() * 10
    known = {"Package": name, "Version": "1.0-1", "Architecture": "amd64", "Depends": "libc6 (>= 2.36)",
             "Section": "libs", "Filename": f"pool/main/{name}_1.0-1_amd64.deb", "Size": len(data),
             "Installed-Size": 12, "SHA256": sha256(data), "Description": "a package\n with lines"}
    known.update({key.replace("_", "-"): value for key, value in fields.items()})
    return "".join(f"{key}: {value}\n" for key, value in known.items() if value is not None)


DATE = 1783764997  # of releases


class DebianMirror:
    """dists/SUITE of a mirror in a folder."""

    def __init__(self, folder, key, suite="testing", codename="forky"):
        self.root, self.key, self.suite, self.codename = pathlib.Path(folder), key, suite, codename
        self.dists = self.root / "dists" / suite

    def write(self, stanzas, component="main", arch="amd64", forms=(".xz", ".gz", ""), by_hash=True, signed="InRelease",
              valid_until=None, release="", digest="SHA256", sources=None, date=DATE):
        listed = []
        indexes = {f"{component}/binary-{arch}/Packages": stanzas}
        if sources is not None:
            indexes[f"{component}/source/Sources"] = sources
        for name, form in ((name, form) for name in indexes for form in forms):
            text = "\n".join(indexes[name]).encode()
            data = {"": text, ".gz": gzip.compress(text, mtime=0), ".xz": lzma.compress(text)}[form]
            path = name + form
            (self.dists / path).parent.mkdir(parents=True, exist_ok=True)
            (self.dists / path).write_bytes(data)
            if by_hash:
                self.place(path, sha256(data)).parent.mkdir(parents=True, exist_ok=True)
                self.place(path, sha256(data)).write_bytes(data)
            listed.append(f" {sha256(data)} {len(data)} {path}\n")
        head = {"Suite": self.suite, "Codename": self.codename, "Date": email.utils.formatdate(date, usegmt=True),
                "Architectures": arch, "Components": component, "Acquire-By-Hash": "yes" if by_hash else "no"}
        if valid_until is not None:
            head["Valid-Until"] = email.utils.formatdate(valid_until, usegmt=True)
        self.release = "".join(f"{k}: {v}\n" for k, v in head.items()) + release + "SHA256:\n" + "".join(listed)
        if signed == "InRelease":
            (self.dists / "InRelease").write_bytes(self.key.clear_sign(self.release, digest))
        else:
            (self.dists / "InRelease").unlink(missing_ok=True)
            (self.dists / "Release").write_text(self.release)
            (self.dists / "Release.gpg").write_bytes(self.key.detached(self.release.encode()))
        return self

    def place(self, path, digest):
        return (self.dists / path).parent / "by-hash/SHA256" / digest

    def index_files(self):
        return [p for p in self.dists.rglob("*") if p.is_file() and "binary-" in str(p)]


@contextlib.contextmanager
def mirror_server(folder, answer=None):
    """Serves a folder; answer(handler) may answer a request instead, and then returns True. Yields (url, requests)."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args):
            pass

        def reply(self, status, body=b"", **headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            path = pathlib.Path(folder) / self.path.lstrip("/")
            requests.append({"path": self.path, "headers": dict(self.headers), "status": 0})
            if answer and answer(self):
                return
            if not path.is_file():
                requests[-1]["status"] = 404
                self.reply(404)
                return
            tag = f'"{path.stat().st_mtime_ns:x}"'
            if self.headers.get("If-None-Match") == tag:
                requests[-1]["status"] = 304
                self.reply(304, ETag=tag)
                return
            requests[-1]["status"] = 200
            self.reply(200, path.read_bytes(), ETag=tag)

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_address[1]}", requests
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
