# SPDX-License-Identifier: Apache-2.0
"""unhex push of container images: OCI folders, docker save, registries"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import pathlib
import re
import socket
import subprocess
import tarfile
import threading
import urllib.request

import pytest

from tool import build_id, compile_c, fails, lines, unhex
from waiting import wait_for

TYPES = {"index": "application/vnd.oci.image.index.v1+json",
         "manifest": "application/vnd.oci.image.manifest.v1+json",
         "config": "application/vnd.oci.image.config.v1+json",
         "layer": "application/vnd.oci.image.layer.v1.tar+gzip"}


@pytest.fixture(scope="module")
def progs(tmp_path_factory):
    """Six programs, each with an own build ID."""
    folder = tmp_path_factory.mktemp("images")
    return {name: compile_c(folder, name, f"int {name}(int n) {{ return n * 3; }} int main(void) {{ return {name}(1); }}",
                            flags=("-O1", "-g")) for name in "abcdef"}


def push(server, *args, **more):
    result = server.unhex("push", "--json", *args, **more)
    return result.returncode, lines(result)


def layer(files):
    """A layer: names with contents; None: a folder; ("link", target): a hard link."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            if content is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(content, tuple):
                info.type, info.linkname = {"link": tarfile.LNKTYPE, "soft": tarfile.SYMTYPE}[content[0]], content[1]
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content if isinstance(content, bytes) else b""))
    return out.getvalue()


class Blobs(dict):
    def add(self, data):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self[digest] = data
        return digest

    def descriptor(self, kind, data, **more):
        return {"mediaType": TYPES[kind], "digest": self.add(data), "size": len(data), **more}

    def image(self, layers, **more):
        config = self.descriptor("config", b"{}")
        manifest = {"schemaVersion": 2, "mediaType": TYPES["manifest"], "config": config,
                    "layers": [self.descriptor("layer", gzip.compress(one, mtime=0)) for one in layers]}
        return self.descriptor("manifest", json.dumps(manifest).encode(), **more)

    def write(self, folder, descriptors):
        (folder / "blobs/sha256").mkdir(parents=True)
        for digest, data in self.items():
            (folder / "blobs/sha256" / digest.removeprefix("sha256:")).write_bytes(data)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": descriptors}))
        return folder


def oci(folder, *layers):
    blobs = Blobs()
    return blobs.write(folder, [blobs.image(layers)])


def saved(path, *layers):
    """What docker save writes (Docker 20)"""
    names = [f"{hashlib.sha256(one).hexdigest()}/layer.tar" for one in layers]
    with tarfile.open(path, "w") as tar:
        for name, data in [*zip(names, layers), ("manifest.json", json.dumps(
                [{"Config": "c.json", "RepoTags": ["app:1"], "Layers": names}]).encode())]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def packed(path, *layers):
    """An OCI layout as `tar -C FOLDER -c .` packs it: with "./" before each name."""
    folder = oci(path.with_suffix(".folder"), *layers)
    subprocess.run(["tar", "-C", folder, "-c", "-f", path, "."], check=True)
    return path


def found(reported, progs, image):
    """The programs that were uploaded, and where they are in the image."""
    names = {build_id(path): name for name, path in progs.items()}
    return {names[r["id"]]: r["file"].removeprefix(str(image)) for r in reported if r["status"] == "uploaded"}


def stacked(progs):
    """Layers that hide much of each other, and what is visible in the end"""
    p = {name: path.read_bytes() for name, path in progs.items()}
    layers = [
        layer({"bin": None, "bin/a": p["a"], "bin/b": p["b"], "opt/x/c": p["c"], "lib/d": p["d"], "lib/hard": ("link", "lib/d"),
               "srv/e": p["e"], "text": b"text"}),
        layer({"bin/.wh.b": b"", "opt/x/.wh..wh..opq": b"", "opt/x/new": b"text", "lib/.wh.d": b"", "srv": ("soft", "bin")}),
        layer({"bin/f": p["f"], "bin/.wh.none": b""}),
    ]
    return layers, {"a": "/bin/a", "d": "/lib/hard", "f": "/bin/f"}


@pytest.mark.parametrize("form", [oci, saved, packed])
def test_only_what_is_visible_in_the_image_is_pushed(server, progs, tmp_path, form):
    layers, want = stacked(progs)
    image = form(tmp_path / "image", *layers)
    status, reported = push(server, "--image", image)
    assert status == 0 and found(reported, progs, image) == want


def test_what_a_layer_hides_and_another_brings_again_is_there(progs, tmp_path):
    p = progs["a"].read_bytes()
    image = oci(tmp_path / "image", layer({"./": None, "a": p}), layer({".wh.a": b""}), layer({"a": p, "b/.wh..wh..opq": b"", "b/c": b"x"}))
    result = unhex("push", "--json", "--dry-run", "--no-retries", "--url", "http://127.0.0.1:9", "--image", image)
    assert [r["file"] for r in lines(result)] == [f"{image}/a"]


def test_layers_that_images_share_are_read_once(server, progs, tmp_path):
    blobs = Blobs()
    base = layer({"bin/a": progs["a"].read_bytes()})
    folder = blobs.write(tmp_path / "two", [blobs.image([base, layer({"bin/b": progs["b"].read_bytes()})]),
                                            blobs.image([base, layer({"bin/c": progs["c"].read_bytes()})])])
    status, reported = push(server, "--image", folder)
    assert status == 0 and found(reported, progs, folder) == {"a": "/bin/a", "b": "/bin/b", "c": "/bin/c"}
    assert len(reported) == 3  # the shared one is not reported as a second file


def test_the_platform_is_chosen(server, progs, tmp_path):
    blobs = Blobs()
    folder = blobs.write(tmp_path / "multi", [
        blobs.image([layer({"a": progs["a"].read_bytes()})], platform={"os": "linux", "architecture": "amd64"}),
        blobs.image([layer({"b": progs["b"].read_bytes()})], platform={"os": "linux", "architecture": "arm64", "variant": "v8"}),
        blobs.image([layer({"c": progs["c"].read_bytes()})], platform={"os": "unknown", "architecture": "unknown"})])
    assert set(found(push(server, "--image", folder, "--platform", "linux/amd64")[1], progs, folder)) == {"a"}
    assert set(found(push(server, "--image", folder, "--platform", "linux/arm64/v8")[1], progs, folder)) == {"b"}
    assert {r["status"] for r in push(server, "--image", folder, "--platform", "all")[1]} == {"already-there"}
    assert "linux/s390x" in push(server, "--image", folder, "--platform", "linux/s390x")[1][0]["reason"]


# --- hostile images -----------------------------------------------------------------------------------

def failed(server, image):
    status, reported = push(server, "--image", image)
    (bad,) = [r for r in reported if r["status"] == "failed"]
    assert status == 1
    return bad["reason"]


def test_a_blob_that_was_changed_is_refused(server, progs, tmp_path):
    image = oci(tmp_path / "image", layer({"a": progs["a"].read_bytes()}))
    for blob in (image / "blobs/sha256").iterdir():
        if blob.read_bytes()[:2] == b"\x1f\x8b":
            blob.write_bytes(gzip.compress(layer({"a": progs["b"].read_bytes()})))
    assert "digest" in failed(server, image)


@pytest.mark.parametrize("digest", ["sha256:../../../../etc/passwd", "sha512:" + "0" * 128, "", "sha256:" + "A" * 64])
def test_a_digest_that_is_none_is_refused(server, tmp_path, digest):
    (tmp_path / "image").mkdir()
    (tmp_path / "image/index.json").write_text(json.dumps({"manifests": [{"digest": digest, "size": 2}]}))
    assert "digest" in failed(server, tmp_path / "image")


@pytest.mark.parametrize("text", ["", "[" * 100000, '{"layers": 3}', '{"layers": [{"digest": 1, "size": -1}]}', "null"])
def test_an_index_that_makes_no_sense(server, tmp_path, text):
    (tmp_path / "image").mkdir()
    (tmp_path / "image/index.json").write_text(text)
    failed(server, tmp_path / "image")


def test_indexes_that_lead_in_a_chain_end(server, tmp_path):
    blobs = Blobs()
    inner = {"manifests": []}
    for _ in range(10):
        inner = {"manifests": [blobs.descriptor("index", json.dumps(inner).encode())]}
    assert "nested more than" in failed(server, blobs.write(tmp_path / "image", inner["manifests"]))


def test_a_tar_file_without_an_image(server, tmp_path):
    with tarfile.open(tmp_path / "t.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("x"))
    assert "not an image" in failed(server, tmp_path / "t.tar")


# --- registries ---------------------------------------------------------------------------------------

def put(url, blobs, name, tag, descriptor):
    """Pushes an image to a registry (OCI Distribution Specification)."""
    def call(method, address, data=b"", **headers):
        request = urllib.request.Request(address, data=data, method=method,
                                         headers={"Content-Type": "application/octet-stream", **headers})
        return urllib.request.urlopen(request)
    manifest = blobs[descriptor["digest"]]
    for digest, data in blobs.items():
        if data is manifest:
            continue
        location = call("POST", f"{url}/v2/{name}/blobs/uploads/").headers["Location"]
        call("PUT", location + ("&" if "?" in location else "?") + f"digest={digest}", data)
    call("PUT", f"{url}/v2/{name}/manifests/{tag}", manifest, **{"Content-Type": TYPES["manifest"]})


@pytest.fixture
def registry(tmp_path):
    """Debian's docker-registry"""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    config = tmp_path / "registry.yml"
    config.write_text(f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {tmp_path}/registry\n"
                      f"http:\n  addr: 127.0.0.1:{port}\nlog:\n  level: error\n")
    process = subprocess.Popen(["docker-registry", "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ready():
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/").status == 200
        except OSError:
            return False
    wait_for(ready)
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait()


def test_an_image_of_a_registry(server, progs, tmp_path, registry):
    layers, want = stacked(progs)
    blobs = Blobs()
    descriptor = blobs.image(layers)
    put(f"http://{registry}", blobs, "team/app", "1.0", descriptor)
    name = f"{registry}/team/app:1.0"
    status, reported = push(server, "--image", name)
    assert status == 0 and found(reported, progs, name) == want
    status, reported = push(server, "--image", f"{registry}/team/app@{descriptor['digest']}")
    assert status == 0 and {r["status"] for r in reported} == {"already-there"}
    assert "404" in failed(server, f"{registry}/team/app:none")


class TokenRegistry(http.server.BaseHTTPRequestHandler):
    """A registry that gives nothing without a token, and counts what was fetched."""
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        s = self.server
        s.log.append((self.path, self.headers.get("Authorization")))
        own = f"http://127.0.0.1:{s.server_port}"
        if self.path.startswith("/token"):
            if s.login and self.headers.get("Authorization") != "Basic " + s.login:
                return self.answer(401)
            return self.answer(200, json.dumps({"token": s.token}).encode())
        if self.path.startswith("/cdn/"):
            return self.answer(200, s.blobs[self.path.removeprefix("/cdn/")])
        if self.headers.get("Authorization") != "Bearer " + s.token:
            return self.answer(401, WWW_Authenticate=s.challenge.replace("OWN", own))
        if s.busy:
            s.busy -= 1
            return self.answer(503, Retry_After="1")
        if found := re.match(r"/v2/team/app/manifests/(.+)", self.path):
            return self.answer(200, s.blobs[s.tags.get(found[1], found[1])], Content_Type=TYPES["manifest"])
        if found := re.match(r"/v2/team/app/blobs/(.+)", self.path):
            return self.answer(307, Location=f"http://localhost:{s.server_port}/cdn/{found[1]}")
        return self.answer(404)

    def log_message(self, *args):
        pass


@pytest.fixture
def tokens(progs):
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), TokenRegistry)
    s.blobs, s.log, s.token, s.login, s.busy = Blobs(), [], "T0ken.of-a~test", None, 0
    s.challenge = 'Bearer realm="OWN/token",service="a, b",scope="repository:team/app:pull"'
    s.tags = {"1": s.blobs.image([layer({"a": progs["a"].read_bytes()}), layer({"b": progs["b"].read_bytes()})])["digest"]}
    threading.Thread(target=s.serve_forever, daemon=True).start()
    yield s
    s.shutdown()
    s.server_close()


def test_a_registry_that_wants_a_token_gets_it(server, progs, tokens):
    name = f"127.0.0.1:{tokens.server_port}/team/app:1"
    tokens.busy = 1
    status, reported = push(server, "--image", name)
    assert status == 0 and found(reported, progs, name) == {"a": "/a", "b": "/b"}
    assert [path for path, _ in tokens.log if path.startswith("/token")] == [
        "/token?service=a%2C%20b&scope=repository:team%2Fapp:pull"]
    # to the other host of the redirect the token is not sent
    assert {key for path, key in tokens.log if path.startswith("/cdn/")} == {None}
    assert len([path for path, _ in tokens.log if path.startswith("/cdn/")]) == 2


def test_the_key_of_docker_login_is_used_for_the_token(server, progs, tokens, tmp_path):
    name = f"127.0.0.1:{tokens.server_port}/team/app:1"
    tokens.login = base64.b64encode(b"user:secret").decode()
    status, reported = push(server, "--image", name)
    assert status == 1 and "401" in reported[0]["reason"]
    (tmp_path / "config.json").write_text(json.dumps({"auths": {f"127.0.0.1:{tokens.server_port}": {"auth": tokens.login}}}))
    result = server.unhex("push", "--json", "-v", "--image", name, env={"DOCKER_CONFIG": str(tmp_path)})
    assert result.returncode == 0 and found(lines(result), progs, name) == {"a": "/a", "b": "/b"}
    assert tokens.login not in result.stdout + result.stderr and tokens.token not in result.stdout + result.stderr


def test_a_key_is_not_sent_to_another_place_without_encryption(server, tokens):
    tokens.challenge = 'Bearer realm="http://registry.example.com/token",service="x"'
    assert "unencrypted" in failed(server, f"127.0.0.1:{tokens.server_port}/team/app:1")


def test_a_registry_that_sends_other_bytes_is_refused(server, progs, tokens):
    for digest, data in tokens.blobs.items():
        if data[:2] == b"\x1f\x8b":
            tokens.blobs[digest] = gzip.compress(layer({"a": progs["c"].read_bytes()}), mtime=0)[:len(data)].ljust(len(data), b"\0")
    assert "digest" in failed(server, f"127.0.0.1:{tokens.server_port}/team/app:1")


@pytest.mark.parametrize("name", ["UPPER/app", "host:1/", "a b", "x@sha256:12", "../etc", "a/../b", ""])
def test_what_is_no_reference(server, name):
    assert "reference" in failed(server, name)
