# SPDX-License-Identifier: Apache-2.0
"""Fills the folder of a stopped server with many modules: copies of one that it has.

Each is the same as after an upload: rows with their own IDs and, if requested, a GSYM with that UUID. Only the
syncs of the uploads are left out."""
import hashlib
import os
import random
import struct
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests/e2e/helpers"))
from index_rows import opened  # noqa: E402

MAGIC, UUID_AT, UUID_SIZE = 0x4753594D, 28, 20


def with_uuid(gsym, uuid):
    """The same GSYM for another module."""
    magic, _, _, size = struct.unpack_from("<IHBB", gsym)
    if magic != MAGIC or size != UUID_SIZE:
        raise ValueError("no GSYM of version 1 with a UUID of 20 bytes")
    return gsym[:UUID_AT] + uuid + gsym[UUID_AT + UUID_SIZE:]


def blob_path(data, digest):
    """Where the bytes with that hash are."""
    name = digest.hex()
    return Path(data) / "blobs" / name[:2] / name[2:4] / name


class Table:
    """Rows of one table, copied with some columns changed."""

    def __init__(self, db, name):
        self.db, self.name = db, name
        self.columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})")]

    def row(self, where, *values):
        """Reads the only row, by column."""
        (row,) = self.db.execute(f"SELECT * FROM {self.name} WHERE {where}", values)
        return dict(zip(self.columns, row))

    def add(self, row):
        """The number of the new row."""
        names = ", ".join(row)
        return self.db.execute(f"INSERT INTO {self.name} ({names}) VALUES "
                               f"({', '.join('?' * len(row))})", list(row.values())).lastrowid


def without_number(row, **changes):
    """The columns to add: the index numbers them itself."""
    return {**{k: v for k, v in row.items() if k != "number"}, **changes}


def add_modules(data, like, count, blobs, seed=1):
    """The IDs of `count` copies of the module `like` ("gnu:..."), which has one GSYM."""
    dice, ids = random.Random(seed), []
    with opened(Path(data) / "index.sqlite") as db:
        db.execute("PRAGMA foreign_keys = ON")
        tables = {n: Table(db, n) for n in ("modules", "ids", "blobs", "candidates")}
        one = tables["ids"].row("id = ?", like)
        module = tables["modules"].row("number = ?", one["module"])
        candidate = tables["candidates"].row("module = ?", one["module"])
        gsym = blob_path(data, candidate["blob"]).read_bytes()
        for _ in range(count):
            uuid = dice.randbytes(UUID_SIZE)
            mine = with_uuid(gsym, uuid)
            digest = hashlib.sha256(mine).digest()
            if blobs:
                path = blob_path(data, digest)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(mine)
                os.chmod(path, 0o440)
            number = tables["modules"].add(without_number(module))
            ids.append("gnu:" + uuid.hex())
            tables["ids"].add({**one, "id": ids[-1], "module": number})
            tables["blobs"].add({"hash": digest, "size": len(mine)})
            tables["candidates"].add(without_number(candidate, module=number, blob=digest))
    db.close()
    return ids
