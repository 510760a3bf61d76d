# SPDX-License-Identifier: Apache-2.0
"""Fills the index of a server that is stopped with millions of modules, in SQLite or in PostgreSQL.

Every module is a copy of one that was really uploaded, with its own IDs, file name and blob. Tables are loaded
in the order of their keys, without triggers and secondary indexes, which are made again from the database's own
statements. The rows are the same as after uploads; only the blobs' files are missing.
"""
import contextlib
import itertools
import sqlite3
import subprocess

from index_rows import row_sum

KINDS = ("file", "gnu", "go", "uuid")  # in the order of their text
STEP_BITS = 32
ODD = 0x9E3779B97F4A7C15  # spreads numbers over 64 bits
MASK = (1 << 64) - 1
LARGEST = 1 << STEP_BITS
PIECE = 10_000  # rows of one write
LIKE = {"ns": "default"}


class Population:
    """Which IDs, modules and blobs there are: functions of a number, so that nothing of it is kept."""

    def __init__(self, count, first):
        if not 1 <= count < LARGEST // 16:
            raise ValueError(f"{count} modules")
        self.count, self.first = count, first
        self.step = LARGEST // count
        self.stride = next(s for s in range(count * 5 // 8 | 1, 2 * count + 3, 2) if coprime(s, count))

    def digits(self, position):
        """32 hexadecimal digits that grow with the position."""
        return f"{position * self.step:08x}{position * ODD & MASK:016x}{position ^ 0x5bd1e995:08x}"

    def id(self, kind, position):
        """The ID at this position in the order of its kind."""
        digits = self.digits(position)
        if kind == "gnu":
            return f"gnu:{digits}{position * self.step:08x}"
        if kind == "go":
            return f"go:{digits}/{digits[8:]}"
        return f"{kind}:{digits}"

    def module(self, kind, position):
        """Position of an ID: neighbours in one order are strangers in the other."""
        return self.first + (position * self.stride + KINDS.index(kind) * 7919) % self.count

    def absent(self, position):
        """An ID between two existing ones."""
        return f"gnu:{position * self.step + self.step // 2:08x}{position * ODD & MASK:032x}"

    def blob(self, position):
        """Its hash."""
        return (position * self.step).to_bytes(4, "big") + (position * ODD & MASK).to_bytes(8, "big") * 3 + b"\x5a" * 4

    def blob_of(self, module):
        """The position of a module's blob."""
        return (module - self.first) * self.stride % self.count

    def file_name(self, module):
        """The path of a library."""
        return f"/usr/lib/x86_64-linux-gnu/libpart{module}.so.1"


def coprime(a, b):
    """Have they no common divisor?"""
    while b:
        a, b = b, a % b
    return a == 1


class Rows:
    """Rows of a table, which differ only in some columns."""

    def __init__(self, table, same, varying, rows):
        self.table, self.varying, self.rows = table, varying, rows
        self.same = {name: value for name, value in same.items() if name not in varying}


def rows_of(population, template):
    """Yields the rows of each table, in an order in which every table only grows at its end."""
    module, candidate, blob, rank = template["modules"], template["candidates"], template["blobs"], template["ids"]
    count, first = population.count, population.first

    def candidates():
        summed = ("number", "module", "blob", "kind", "state", "quality", "trust", "holds", "parent", "file_id")
        for number in range(first, first + count):
            name, digest = population.file_name(number), population.blob(population.blob_of(number))
            row = {**candidate, "number": number, "module": number, "blob": digest}
            yield number, number, number, digest, name, name.rpartition("/")[2], row_sum(*(row[c] for c in summed))

    def ids(kind):
        for i in range(count):
            name, owner = population.id(kind, i), population.module(kind, i)
            yield name, owner, row_sum(LIKE["ns"], name, owner)

    yield Rows("blobs", blob, ("hash",), ((population.blob(i),) for i in range(count)))
    yield Rows("modules", module, ("number",), ((number,) for number in range(first, first + count)))
    yield Rows("candidates", candidate, ("number", "module", "sequence", "blob", "file_name", "base_name", "sum"),
               candidates())
    for kind in KINDS:
        yield Rows("ids", {"ns": LIKE["ns"], "rank": rank[kind], "offer": module["offer"]}, ("id", "module", "sum"),
                   ids(kind))


def totals(population, template):
    """Statements that set the counts of the triggers, and where numbering continues."""
    last = population.first + population.count - 1
    size = template["candidates"]["size"] * population.count
    return [f"UPDATE usage SET modules = modules + {population.count}, bytes = bytes + {size} WHERE ns = 'default'",
            f"UPDATE numbers SET value = {last} WHERE name = 'sequence'"]


class Sqlite:
    """The index of a folder."""

    def __init__(self, path):
        self.path = path

    def template(self):
        """Reads the rows of the only module, by table."""
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.row_factory = sqlite3.Row
            one = {t: dict(db.execute(f"SELECT * FROM {t}").fetchone()) for t in ("modules", "candidates", "blobs")}
            ranks = {i.split(":")[0]: r for i, r in map(tuple, db.execute("SELECT id, rank FROM ids"))}
        return {**one, "ids": ranks}

    def fill(self, population, template):
        """Loads all rows."""
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as db:
            db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000;"
                             "PRAGMA foreign_keys = OFF; PRAGMA temp_store = FILE")
            kept = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND (type = 'trigger' "
                              "OR type = 'index' AND tbl_name IN ('modules', 'ids', 'blobs', 'candidates'))").fetchall()
            for kind, name, _ in kept:
                db.execute(f"DROP {kind} {name}")
            for rows in rows_of(population, template):
                names = [*rows.same, *rows.varying]
                db.execute("CREATE TEMP TABLE same AS SELECT " + (", ".join(f"? AS {n}" for n in rows.same) or "0 AS nothing"),
                           list(rows.same.values()))
                values = [*(f"same.{name}" for name in rows.same), *("?" * len(rows.varying))]
                db.execute("BEGIN")
                db.executemany(f"INSERT INTO {rows.table} ({', '.join(names)}) SELECT {', '.join(values)} FROM temp.same",
                               rows.rows)
                db.execute("COMMIT")
                db.execute("DROP TABLE temp.same")
            for statement in totals(population, template):
                db.execute(statement)
            for _, _, sql in kept:
                db.execute(sql)
            db.execute("ANALYZE")
            db.execute("PRAGMA journal_mode = WAL")


def copied(value):
    """One value in COPY's text form; the text has neither tabs nor backslashes."""
    if value is None:
        return "\\N"
    return "\\\\x" + value.hex() if isinstance(value, bytes) else str(value)


class Postgres:
    """The index in a database."""

    def __init__(self, server, name):
        self.server, self.name = server, name

    def query(self, sql):
        """Rows as lists of text."""
        return [line.split("|") for line in self.server.query(sql, self.name)]

    def template(self):
        """The same for PostgreSQL; hashes are replaced anyway."""
        one = {}
        for table in ("modules", "candidates", "blobs"):
            names = [n for (n,) in self.query("SELECT column_name FROM information_schema.columns WHERE table_schema = "
                                              f"'public' AND table_name = '{table}' ORDER BY ordinal_position")]
            (row,) = self.query(f"SELECT {', '.join(names)} FROM {table}")
            one[table] = {n: v if v != "" or n not in ("parent", ) else None for n, v in zip(names, row)}
        one["blobs"]["size"] = int(one["blobs"]["size"])
        one["candidates"]["size"] = int(one["candidates"]["size"])
        ranks = {i.split(":")[0]: int(r) for i, r in self.query("SELECT id, rank FROM ids")}
        return {**one, "ids": ranks}

    def copy(self, rows):
        """COPY in pieces of many rows, so that few calls write to the pipe."""
        names = [*rows.varying, *rows.same]
        line = "\t".join([*["%s"] * len(rows.varying), *(copied(v).replace("%", "%%") for v in rows.same.values())]) + "\n"
        command = ["psql", "-h", self.server.data, "-U", "unhex", "-qAt", "-v", "ON_ERROR_STOP=1", self.name,
                   "-c", "SET session_replication_role = replica", "-c", "SET synchronous_commit = off",
                   "-c", f"COPY {rows.table} ({', '.join(names)}) FROM STDIN"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, cwd="/") as psql:
            for piece in iter(lambda: list(itertools.islice(rows.rows, PIECE)), []):
                psql.stdin.write("".join(line % tuple(copied(v) if isinstance(v, bytes) else v for v in row) for row in piece))
            psql.stdin.close()
            if psql.wait() != 0:
                raise RuntimeError(f"psql could not load {rows.table}")

    def fill(self, population, template):
        """Loads all rows."""
        names = "'modules', 'ids', 'blobs', 'candidates'"
        kept = self.query("SELECT i.indexname, i.indexdef FROM pg_indexes i WHERE i.schemaname = 'public' AND i.tablename IN "
                          f"({names}) AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)")
        for name, _ in kept:
            self.query(f"DROP INDEX {name}")
        for rows in rows_of(population, template):
            self.copy(rows)
        for _, sql in kept:
            self.query(f"SET maintenance_work_mem = '512MB'; {sql}")
        for statement in totals(population, template):
            self.query(statement)
        for table in ("modules", "candidates"):
            self.query(f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), (SELECT max(number) FROM {table}))")
        self.query("VACUUM ANALYZE")
