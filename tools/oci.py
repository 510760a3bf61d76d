#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oci.py ROOT ARCHIVE --version TEXT --revision TEXT --architecture NAME: an OCI image archive of the folder ROOT.

`podman load -i`, `docker load -i` (from version 25) and `skopeo copy oci-archive:` read it. The command, the user and
the volume are as packaging/Containerfile sets them; a test compares. The bytes depend on ROOT's names, contents, modes
and owners alone: every time is SOURCE_DATE_EPOCH.
"""
import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import tarfile

CONFIG = {
    "User": "65532:65532",
    "Env": ["PATH=/usr/bin", "XDG_DATA_HOME=/var/lib", "HOME=/var/lib/unhex"],
    "Volumes": {"/var/lib/unhex": {}},
    "ExposedPorts": {"8420/tcp": {}},
    "Entrypoint": ["/usr/bin/unhex"],
    "Cmd": ["serve", "--listen", "0.0.0.0:8420"],
}


def dump(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def entry(name, epoch, size=0, mode=0o644):
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, epoch, mode
    return info


def layer(root, epoch):
    """An uncompressed archive of the folder, sorted by name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(root.rglob("*")):
            info = archive.gettarinfo(str(path), arcname=str(path.relative_to(root)))
            info.mtime, info.uname, info.gname = epoch, "", ""
            if info.islnk():  # which name of a file comes first is an accident of the disk
                info.type, info.size = tarfile.REGTYPE, path.stat().st_size
            if info.isreg():
                with path.open("rb") as content:
                    archive.addfile(info, content)
            elif info.isdir() or info.issym():
                archive.addfile(info)
            else:
                raise SystemExit(f"oci.py: {path}: neither a file, a folder nor a link")
    return out.getvalue()


class Image:
    def __init__(self):
        self.blobs = {}

    def add(self, media_type, content):
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": "sha256:" + digest, "size": len(content)}

    def write(self, path, index, epoch):
        files = {"oci-layout": dump({"imageLayoutVersion": "1.0.0"}), "index.json": dump(index), **self.blobs}
        with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
            for folder in ("blobs", "blobs/sha256"):
                info = entry(folder, epoch, mode=0o755)
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            for name, content in sorted(files.items()):
                archive.addfile(entry(name, epoch, len(content)), io.BytesIO(content))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("archive", type=pathlib.Path)
    for name in ("--version", "--revision", "--architecture"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"org.opencontainers.image.version": options.version, "org.opencontainers.image.revision": options.revision,
              "org.opencontainers.image.licenses": "Apache-2.0"}

    image = Image()
    plain = layer(options.root, epoch)
    packed = image.add("application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(plain, 9, mtime=0))
    config = image.add("application/vnd.oci.image.config.v1+json", dump({
        "created": created, "architecture": options.architecture, "os": "linux",
        "config": {**CONFIG, "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]},
        "history": [{"created": created, "created_by": "packaging/container_root.sh"}]}))
    manifest = image.add("application/vnd.oci.image.manifest.v1+json", dump({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
        "layers": [packed], "annotations": labels}))
    manifest["annotations"] = {"org.opencontainers.image.ref.name": options.version,
                               "io.containerd.image.name": f"localhost/unhex:{options.version}"}
    image.write(options.archive, {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                  "manifests": [manifest]}, epoch)


if __name__ == "__main__":
    main()
