# SPDX-License-Identifier: Apache-2.0
"""Packages and indexes as apk-tools 3 writes them, from apk-v3(5): apk-tools is not in Debian, so that nothing else here writes or
reads this format."""
import hashlib
import pathlib
import struct
import subprocess
import zlib

VALUES, SIGNATURE, DATA = range(3)
SHA512_ALGORITHM = 4


class Values:
    """A block of values."""

    def __init__(self):
        self.block = bytearray(8)

    def place(self, data, align):
        self.block += bytes(-len(self.block) % align)
        self.block += data
        return len(self.block) - len(data)

    def text(self, data):
        if data is None:
            return 0
        data = data.encode() if isinstance(data, str) else bytes(data)
        kind, form = (8, "<B") if len(data) < 256 else (9, "<H") if len(data) < 65536 else (10, "<I")
        return kind << 28 | self.place(struct.pack(form, len(data)) + data, struct.calcsize(form))

    def number(self, n):
        if n < 1 << 28:
            return 1 << 28 | n
        return 2 << 28 | self.place(struct.pack("<I", n), 4) if n < 1 << 32 else 3 << 28 | self.place(struct.pack("<Q", n), 4)

    def slots(self, kind, values):
        while values and values[-1] == 0:
            values = values[:-1]
        return kind << 28 | self.place(struct.pack(f"<{len(values) + 1}I", len(values) + 1, *values), 4)

    def array(self, values):
        return self.slots(0xd, list(values)) if values else 0

    def object(self, fields):
        return self.slots(0xe, [fields.get(i, 0) for i in range(1, max(fields) + 1)])

    def done(self, root):
        struct.pack_into("<I", self.block, 4, root)
        return bytes(self.block)


def block(kind, content, extended=False):
    if extended:
        head = struct.pack("<IIQ", 3 << 30 | kind, 0, 16 + len(content))
    else:
        head = struct.pack("<I", kind << 30 | 4 + len(content))
    return head + content + bytes(-(len(head) + len(content)) % 8)


def compress(data, by):
    if by == "deflate":
        stream = zlib.compressobj(wbits=-15)
        return b"ADBd" + stream.compress(data) + stream.flush()
    if by == "zstd":
        return b"ADBc\x02\x03" + subprocess.run(["zstd", "-q", "-c"], input=data, check=True, capture_output=True).stdout
    return data


class Signer:
    """A key, "rsa" or "ec", whose public half is a file in a folder."""

    def __init__(self, folder, name="build.rsa.pub", kind="rsa"):
        self.secret = pathlib.Path(folder) / f"{name}.secret"
        self.keys = pathlib.Path(folder) / f"keys-{name}"
        self.keys.mkdir()
        command = (["openssl", "genrsa", "-out", self.secret, "2048"] if kind == "rsa"
                   else ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.secret])
        subprocess.run(command, check=True, capture_output=True)
        public = subprocess.run(["openssl", "pkey", "-in", self.secret, "-pubout"], check=True, capture_output=True).stdout
        (self.keys / name).write_bytes(public)
        self.name = hashlib.sha512(public).digest()[:16]

    def block(self, schema, values):
        head = bytes([0, SHA512_ALGORITHM]) + self.name
        signed = schema + head + hashlib.sha512(values).digest()
        signature = subprocess.run(["openssl", "dgst", "-sha512", "-sign", self.secret], input=signed, check=True,
                                   capture_output=True).stdout
        return block(SIGNATURE, head + signature)


def info(values, name, origin="tool", arch="x86_64", depends=(), version="1.0-r0", **more):
    """The metadata of a package. more: hash, size."""
    fields = {1: values.text(name), 2: values.text(version), 4: values.text("text"), 5: values.text(arch), 7: values.text(origin),
              11: values.number(1700000000), 12: values.number(more.get("installed", 4000)),
              15: values.array([values.object({1: values.text(d)}) for d in depends])}
    if "hash" in more:
        fields[3] = values.text(more["hash"])
    if "size" in more:
        fields[13] = values.number(more["size"])
    return values.object(fields)


class Package:
    """An .apk of version 3. files: {path: content}; a content that is a str is a symbolic link."""

    def __init__(self, name, files, by="deflate", signer=None, digest=hashlib.sha256, extended=False, change=None, **more):
        self.name, self.depends = name, more.get("depends", ())
        values, data, paths = Values(), [], []
        folders = {}
        for path, content in files.items():
            folder, _, file = path.rpartition("/")
            folders.setdefault(folder, {})[file] = content
        for i, folder in enumerate(sorted(folders), 1):
            entries = []
            for k, file in enumerate(sorted(folders[folder]), 1):
                content = folders[folder][file]
                fields = {1: values.text(file), 3: values.number(len(content))}
                if isinstance(content, str):
                    fields[6] = values.text(struct.pack("<H", 0o120000) + content.encode())
                else:
                    fields[5] = values.text(digest(content).digest())
                    if content:
                        data.append(block(DATA, struct.pack("<II", i, k) + content, extended))
                entries.append(values.object(fields))
            paths.append(values.object({1: values.text(folder), 3: values.array(entries)}))
        root = values.object({1: info(values, name, **more), 2: values.array(paths)})
        self.values = values.done(root)
        self.identity = hashlib.sha256(self.values).digest()
        parts = [b"ADB.pckg", block(VALUES, self.values), *([signer.block(b"pckg", self.values)] if signer else []), *data]
        parts = change(parts) if change else parts
        self.bytes = compress(b"".join(parts), by)


def index(packages, signers, by="deflate", hash_size=32, names=None, change=None):
    """packages: (name, identity, size, depends, more)."""
    values = Values()
    rows = [info(values, name, hash=identity[:hash_size], size=size, depends=depends, **more)
            for name, identity, size, depends, more in packages]
    root = values.object({1: values.text("v3.22"), 2: values.array(rows), **({3: values.text(names)} if names else {})})
    done = values.done(root)
    parts = [b"ADB.indx", block(VALUES, done), *[signer.block(b"indx", done) for signer in signers]]
    return compress(b"".join(change(parts) if change else parts), by)
