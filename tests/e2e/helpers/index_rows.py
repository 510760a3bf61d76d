# SPDX-License-Identifier: Apache-2.0
"""Rows of a stopped server's index, written from outside: with their sums, or damaged, as by a disk."""
import contextlib
import hashlib
import sqlite3


def row_sum(*values):
    """As row_sum() of store/db/sqlite_row_sum.c."""
    def text(value):
        if value is None:
            return b"-"
        if isinstance(value, bytes):
            return value.hex().encode()
        return str(value).encode()
    return int.from_bytes(hashlib.sha256(b"|".join(map(text, values))).digest()[:4], "big", signed=True)


def opened(path, **options):
    """A connection whose writes also write the sums."""
    db = sqlite3.connect(path, **options)
    db.create_function("row_sum", -1, row_sum, deterministic=True)
    return db


def damage(path, statement, *values):
    """Changes cells and leaves the sums, as a flipped bit does: the triggers do not see it."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        assert db.execute(statement, values).rowcount > 0
        for _, sql in triggers:
            db.execute(sql)


def flip_text(path, text, bit=0):
    """Flips a bit of the last byte of a text wherever it stands in the closed file; how often."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data, wanted = bytearray(path.read_bytes()), text.encode()
    at, times = data.find(wanted), 0
    while at >= 0:
        data[at + len(wanted) - 1] ^= 1 << bit
        times, at = times + 1, data.find(wanted, at + 1)
    path.write_bytes(data)
    return times
