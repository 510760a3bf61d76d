#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unpack.py SOURCES FOLDER: writes the ELF files in the tar archives of a folder, unpacked by bzip2 where
they are packed so, into another; prints how many."""

import bz2
import glob
import os
import sys
import tarfile

LARGEST = 16 << 20


def content(archive, member):
    data = archive.extractfile(member).read()
    if member.name.endswith(".bz2"):
        try:
            data = bz2.decompress(data)
        except (OSError, ValueError, EOFError):
            return b""
    return data


def main():
    sources, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    number = 0
    for path in sorted(glob.glob(os.path.join(sources, "*.orig.tar.*"))):
        if path.endswith(".asc"):
            continue
        with tarfile.open(path) as archive:
            for member in archive:
                if not member.isfile() or member.size > LARGEST:
                    continue
                data = content(archive, member)
                if data.startswith(b"\x7fELF"):
                    number += 1
                    name = os.path.basename(member.name).removesuffix(".bz2")
                    with open(os.path.join(folder, f"{name}-{number}"), "wb") as out:
                        out.write(data)
    print(number)


main()
