# SPDX-License-Identifier: Apache-2.0
"""Profiles of the Firefox Profiler: what its published types require (src/types/profile.ts of
github.com/firefox-devtools/profiler), profiles that are put together, and stacks that are read."""
import numbers

# Columns that each table has to have, and which table their numbers are rows of; "?" allows null, "-" allows -1.
TABLES = {
    "frameTable": {"address": None, "inlineDepth": None, "category": "?", "subcategory": "?", "func": "funcTable",
                   "nativeSymbol": "?nativeSymbols", "innerWindowID": "?", "line": "?", "column": "?"},
    "funcTable": {"name": "strings", "isJS": bool, "relevantForJS": bool, "resource": "-resourceTable",
                  "lineNumber": "?", "columnNumber": "?"},
    "stackTable": {"prefix": "?stackTable", "frame": "frameTable"},
    "resourceTable": {"lib": "?libs", "name": "strings", "host": "?strings", "type": None},
    "nativeSymbols": {"libIndex": "libs", "address": None, "name": "strings", "functionSize": "?"},
    "sources": {"id": "?", "filename": "strings"},
}


def check(doc):
    """Fails where a profile is not what the types say."""
    meta, shared = doc["meta"], doc.get("shared", {})
    assert isinstance(meta["preprocessedProfileVersion"], int) and isinstance(meta["interval"], numbers.Number)
    for lib in doc["libs"]:
        assert all(isinstance(lib[key], str) for key in ("name", "path", "debugName", "debugPath", "breakpadId")), lib
        assert lib["codeId"] is None or isinstance(lib["codeId"], str)
    for thread in doc["threads"]:
        strings = thread.get("stringArray", shared.get("stringArray"))
        assert all(isinstance(s, str) for s in strings)
        tables = {name: thread.get(name, shared.get(name)) for name in TABLES}
        sizes = {name: table["length"] for name, table in tables.items() if table}
        sizes |= {"strings": len(strings), "libs": len(doc["libs"])}
        for name, table in tables.items():
            if table:
                check_table(name, table, sizes, meta["preprocessedProfileVersion"])
        prefixes = tables["stackTable"]["prefix"]
        assert all(p is None or p < i for i, p in enumerate(prefixes)), "a prefix behind its stack"
        for key in ("samples", "jsAllocations", "nativeAllocations"):
            if key in thread:
                columns = [c for c in thread[key].values() if isinstance(c, list)]
                assert {len(c) for c in columns} <= {thread[key]["length"]}, key
                assert all(s is None or 0 <= s < len(prefixes) for s in thread[key]["stack"]), key
        for data in thread.get("markers", {}).get("data", []):
            stack = ((data or {}).get("cause") or {}).get("stack")
            assert stack is None or 0 <= stack < len(prefixes)


def check_table(name, table, sizes, version):
    columns = dict(TABLES[name])
    if name == "funcTable":
        columns |= {"source": "?sources"} if version >= 58 else {"fileName": "?strings"}
    for column, target in columns.items():
        values = table[column]
        assert len(values) == table["length"], (name, column)
        if target is bool:
            assert all(isinstance(v, bool) for v in values), (name, column)
            continue
        rows = (target or "").lstrip("?-")
        for v in values:
            if v is None:
                assert (target or "").startswith("?"), (name, column)
            elif rows and not (v == -1 and target.startswith("-")):
                assert isinstance(v, int) and 0 <= v < sizes[rows], (name, column, v)


def tables_of(doc, thread):
    shared = doc.get("shared", {})
    return {**shared, **thread}


def stack_frames(doc, thread, stack):
    """(address, depth, function, file, line, index of the library) of a stack, innermost first."""
    t = tables_of(doc, thread)
    frames, funcs, strings, got = t["frameTable"], t["funcTable"], t["stringArray"], []
    while stack is not None:
        f = t["stackTable"]["frame"][stack]
        func = frames["func"][f]
        file = funcs["fileName"][func] if "fileName" in funcs else funcs["source"][func]
        if file is not None and "fileName" not in funcs:
            file = t["sources"]["filename"][file]
        resource = funcs["resource"][func]
        got.append((frames["address"][f], frames["inlineDepth"][f], strings[funcs["name"][func]],
                    None if file is None else strings[file], frames["line"][f],
                    None if resource < 0 else t["resourceTable"]["lib"][resource]))
        stack = t["stackTable"]["prefix"][stack]
    return got


def library(path, code_id, breakpad_id):
    return {"arch": "x86_64", "name": path.name, "path": str(path), "debugName": path.name, "debugPath": str(path),
            "breakpadId": breakpad_id, "codeId": code_id}


class Builder:
    """A profile whose threads have tables of their own (version 55), or share them (version 58)."""

    def __init__(self, libs, shared=False):
        self.libs, self.shared, self.threads = libs, shared, []
        self.tables = self._tables() if shared else None

    def _tables(self):
        tables = {"stringArray": [lib["name"] for lib in self.libs] + ["label"], "resourceTable": {
            "lib": list(range(len(self.libs))), "name": list(range(len(self.libs))), "host": [None] * len(self.libs),
            "type": [1] * len(self.libs)}}
        for name in ("frameTable", "funcTable", "stackTable", "nativeSymbols"):
            tables[name] = {column: [] for column in TABLES[name]}
        tables["stackTable"]["category"] = []  # of older versions
        tables["funcTable"]["source" if self.shared else "fileName"] = []
        if self.shared:
            tables["sources"] = {"id": [None], "filename": [len(self.libs)], "startLine": [1]}
        return tables

    def thread(self, stacks, **more):
        """stacks: lists of (library, address) or of a name, the outermost first; a sample each."""
        tables, rows = self.tables or self._tables(), []
        for stack in stacks:
            prefix = None
            for entry in stack:
                self._frame(tables, entry)
                self._stack(tables, prefix)
                prefix = len(tables["stackTable"]["prefix"]) - 1
            rows.append(prefix)
        n = len(rows)
        thread = {"name": f"thread {len(self.threads)}", "processName": "prog", "processType": "default",
                  "pid": "77.1", "tid": 78 + len(self.threads), "isMainThread": not self.threads, "registerTime": 0,
                  "samples": {"length": n, "stack": rows, "timeDeltas": [1.5] * n, "weight": list(range(1, n + 1)),
                              "weightType": "samples"},
                  "markers": {"length": 2, "data": [{"type": "x", "cause": {"time": 1, "stack": rows[-1]}}, None],
                              "name": [0, 0], "startTime": [0, None], "endTime": [None, 1], "phase": [0, 0],
                              "category": [0, 0]}, **more}
        self.threads.append(thread if self.shared else {**thread, **tables})
        return rows

    def _frame(self, tables, entry):
        name, address, resource = entry if isinstance(entry, str) else hex(entry[1]), -1, -1
        if not isinstance(entry, str):
            resource, address = entry
        strings = tables["stringArray"]
        if name not in strings:
            strings.append(name)
        func = {"name": strings.index(name), "isJS": False, "relevantForJS": False, "resource": resource}
        for column, values in tables["funcTable"].items():
            values.append(func.get(column))
        frame = {"address": address, "inlineDepth": 0, "category": 2, "subcategory": 0,
                 "func": len(tables["funcTable"]["name"]) - 1, "innerWindowID": 0}
        for column, values in tables["frameTable"].items():
            values.append(frame.get(column))

    @staticmethod
    def _stack(tables, prefix):
        tables["stackTable"]["prefix"].append(prefix)
        tables["stackTable"]["frame"].append(len(tables["frameTable"]["func"]) - 1)
        tables["stackTable"]["category"].append(2)

    def doc(self):
        for tables in [self.tables] if self.shared else self.threads:
            for name in TABLES:
                if name in tables:
                    table = tables[name]
                    table["length"] = len(next(v for v in table.values() if isinstance(v, list)))
        doc = {"meta": {"version": 24, "preprocessedProfileVersion": 58 if self.shared else 55, "interval": 1,
                        "startTime": 1000.5, "product": "prog", "symbolicated": False, "later": [1, {"x": None}]},
               "libs": self.libs, "threads": self.threads}
        if self.shared:
            doc["shared"] = self.tables
        return doc
