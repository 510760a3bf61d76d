# SPDX-License-Identifier: Apache-2.0
"""Packages of distributions, made of a few files: {name in the package: content}."""
import gzip
import io
import pathlib
import subprocess
import tarfile


def tar_of(files, name=lambda n: "./" + n, links=()):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, content in files.items():
            info = tarfile.TarInfo(name(path))
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for path, target in links:
            info = tarfile.TarInfo(name(path))
            info.type, info.linkname = tarfile.LNKTYPE, name(target)
            tar.addfile(info)
    return out.getvalue()


def compress(data, how):
    """how: "gz", "xz", "zst", "bz2", or "" for as it is."""
    if how == "gz":
        return gzip.compress(data, mtime=0)
    program = {"xz": "xz", "zst": "zstd", "bz2": "bzip2", "": "cat"}[how]
    return subprocess.run([program, "-c"] if how else [program], input=data, capture_output=True, check=True).stdout


def ar_of(members):
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return out


def deb(path, files, how="xz", links=()):
    control = tar_of({"control": b"Package: p\nVersion: 1\nArchitecture: amd64\n"})
    path.write_bytes(ar_of([("debian-binary", b"2.0\n"), ("control.tar.gz", compress(control, "gz")),
                            ("data.tar" + ("." + how if how else ""), compress(tar_of(files, links=links), how))]))
    return path


def apk(path, files):
    """Version 2: three gzip members, of which the first two are tars without an end."""
    def segment(content):
        return gzip.compress(tar_of(content, name=str)[:-1024].rstrip(b"\0").ljust(1024, b"\0"), mtime=0)
    path.write_bytes(segment({".SIGN.RSA.a.rsa.pub": b"s" * 100}) + segment({".PKGINFO": b"pkgname = p\n"}) +
                     gzip.compress(tar_of(files, name=str), mtime=0))
    return path


def pacman(path, files):
    path.write_bytes(compress(tar_of({".PKGINFO": b"pkgname = p\n", **files}, name=str), "zst"))
    return path


def layer(path, files):
    path.write_bytes(compress(tar_of(files, name=str), "gz"))
    return path


SPEC = """Name: p
Version: 1
Release: 1
Summary: p
License: x
%define __os_install_post %{{nil}}
%define debug_package %{{nil}}
%global _build_id_links none
%description
p
%install
cp -a {root}/. %{{buildroot}}/
%files
{names}
"""


def rpm(path, files, how="w9.gzdio", links=()):
    """Built by rpmbuild, which writes the content of files with several names once, under the last one."""
    top = path.parent / (path.name + ".build")
    root = top / "root"
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    for name, target in links:
        (root / name).hardlink_to(root / target)
    names = "\n".join("/" + name for name in [*files, *(link for link, _ in links)])
    (top / "p.spec").write_text(SPEC.format(root=root, names=names))
    subprocess.run(["rpmbuild", "-bb", "--quiet", "--define", f"_topdir {top}", "--define", f"_binary_payload {how}",
                    "--define", "_build_name_fmt p.rpm", top / "p.spec"], check=True, capture_output=True)
    path.write_bytes((top / "RPMS/p.rpm").read_bytes())
    return path


def header_end(data, start):
    """Where the header of an rpm that begins there ends."""
    entries, size = (int.from_bytes(data[start + at:start + at + 4], "big") for at in (8, 12))
    return start + 16 + 16 * entries + size


def renumbered(path):
    """The rpm with the payload that rpm 6 writes: entries that refer to the header by number."""
    data = path.read_bytes()
    names = subprocess.run(["rpm", "-qp", "--qf", "[%{FILENAMES}\\n]", path], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    main = -(-header_end(data, 96) // 8) * 8
    payload = header_end(data, main)
    cpio, out, at = gzip.decompress(data[payload:]), b"", 0

    def pad(text):
        return text + b"\0" * (-len(text) % 4)
    while True:
        size, name = (int(cpio[at + 6 + 8 * field:at + 14 + 8 * field], 16) for field in (6, 11))
        body = -(-(at + 110 + name) // 4) * 4
        if cpio[at + 110:at + 120] == b"TRAILER!!!":
            return data[:payload] + gzip.compress(out + cpio[at:], mtime=0)
        number = names.index(cpio[at + 111:at + 109 + name].decode())
        out = pad(pad(out + b"07070X%08x" % number) + cpio[body:body + size])
        at = -(-(body + size) // 4) * 4


def read(path):
    return pathlib.Path(path).read_bytes()
