# SPDX-License-Identifier: Apache-2.0
"""unhex modules, and abbreviated IDs of modules on a server"""
import json
import subprocess

import pytest

from http_api import Api
from tool import build_id, fails, symbol, unhex

TWINS = [f"gnu:feed{digit}" + 35 * "0" for digit in "12"]


def program(folder, name):
    """The path of a program with that build ID."""
    path = folder / f"id-{name[-8:]}-{name[4:9]}"
    done = subprocess.run(["gcc", "-g", "-x", "c", "-o", path, f"-Wl,--build-id=0x{name[4:]}", "-"], text=True,
                          input="int main(void) { return 0; }", check=True, capture_output=True)
    assert done.stderr == ""
    return path


@pytest.fixture(name="filled")
def server_with_modules(server, prog, tmp_path):
    """The program, and two modules whose IDs begin alike."""
    assert server.unhex("push", prog, *(program(tmp_path, name) for name in TWINS)).returncode == 0
    return server


def fails_with_a_list(result, status, *words):
    """Several lines on stderr with all the words in them, and the exit status."""
    assert result.returncode == status, (result.returncode, result.stderr)
    assert len(result.stderr.splitlines()) == 3
    for word in words:
        assert word in result.stderr


def lines(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_modules_are_listed(filled, prog):
    name = build_id(prog)
    done = filled.unhex("modules", "list")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split("  ") for line in done.stdout.splitlines()]
    assert {row[0] for row in rows} == {name, *TWINS}
    (row,) = [row for row in rows if row[0] == name]
    assert row[1] == "inlines" and row[3].endswith(prog.name)
    modules = lines(filled.unhex("modules", "list", "--json"))
    assert {m["id"] for m in modules} == {name, *TWINS}
    assert all(m["candidates"] for m in modules)


def test_lists_are_filtered(filled, prog):
    name = build_id(prog)

    def listed(*args):
        return {m["id"] for m in lines(filled.unhex("modules", "list", "--json", *args))}

    assert listed("--id", name[:12]) == {name}
    assert listed("--id", "FEED") == set(TWINS)
    assert listed("--id", "gnu:feed") == set(TWINS)
    assert listed("--file", prog.name) == {name}
    assert listed("--file", "nosuch") == set()
    assert listed("--package", "nosuch") == set() and listed("--ci-run", "https://ci.example.com/1") == set()
    assert len(listed("--limit", "2")) == 2
    fails(filled.unhex("modules", "list", "--file", "x", "--id", "feed"), 2, "more than one of --id")
    fails(filled.unhex("modules", "list", "--id", "main"), 2, "hexadecimal")
    fails(filled.unhex("modules", "list", "--id", "93a"), 2, "4 characters")


def test_a_few_digits_are_no_id(server, tmp_path):
    fails(unhex("modules", "show", "4c", env={"UNHEX_URL": "http://127.0.0.1:1"}), 1,
          'unhex: 4c: "4c" is too short for an ID; expected at least 4 characters')
    for short in ("4c", "4C1", "4"):
        for command in (["lookup", short, "0x1"], ["explain", short]):
            fails(unhex(*command, cwd=tmp_path), 1,
                  f"{short}: no such file, and too short for an ID, which has at least 4 digits")
    # With its type, it is an ID of one byte.
    fails(server.unhex("modules", "show", "gnu:4c"), 1, "gnu:4c")
    Api(server).refused(400, "invalid", "GET", "/v1/modules?id=4c")


def test_lists_have_pages(server, tmp_path):
    api = Api(server)
    names = [f"gnu:{i:040x}" for i in range(1, 6)]
    for name in names:
        assert server.unhex("push", program(tmp_path, name)).returncode == 0
    for path in ("/v1/modules?limit=2", "/v1/modules?limit=2&id=gnu:00000000"):
        seen, next_page = [], ""
        while next_page is not None:
            status, doc, _ = api("GET", path + next_page)
            assert status == 200 and len(doc["modules"]) <= 2
            seen += [m["id"] for m in doc["modules"]]
            next_page = "&after=" + doc["next"] if "next" in doc else None
        assert seen == names


def test_a_module_is_described(filled, prog):
    name = build_id(prog)
    done = filled.unhex("modules", "show", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{name}\n") and "\n  quality        inlines\n" in done.stdout
    assert "\n  candidates, best first:\n    gsym inlines, ready, " in done.stdout and ", by upload, 2" in done.stdout
    (module,) = lines(filled.unhex("modules", "show", "--json", name[4:12]))
    assert module["id"] == name and module["pins"] == []
    assert Api(filled)("PUT", f"/v1/modules/{name}/pins/release-1")[0] == 204
    assert "\n  pinned         release-1, by key " in filled.unhex("modules", "show", name).stdout
    assert filled.unhex("modules", "list", "--id", name).stdout.endswith("  pinned\n")


def test_modules_are_deleted(filled, prog):
    name = build_id(prog)
    done = filled.unhex("modules", "delete", "--dry-run", name[:10])
    assert done.returncode == 0 and done.stdout.startswith(f"would delete {name}  ")
    assert filled.unhex("modules", "show", name).returncode == 0
    fails_with_a_list(filled.unhex("modules", "delete", "feed"), 1, TWINS[0], TWINS[1], "give more characters")
    assert len(lines(filled.unhex("modules", "list", "--json"))) == 3
    (gone,) = lines(filled.unhex("modules", "delete", "--json", TWINS[0][:9]))
    assert gone == {"id": TWINS[0], "status": "deleted"}
    fails(filled.unhex("modules", "delete", TWINS[0]), 1, TWINS[0], "HTTP 404")
    done = filled.unhex("modules", "delete", TWINS[0], name)
    assert done.returncode == 1 and done.stdout.startswith(f"deleted {name}  ")
    assert [m["id"] for m in lines(filled.unhex("modules", "list", "--json"))] == [TWINS[1]]


def test_statuses(filled, prog):
    name = build_id(prog)
    fails(filled.unhex("modules"), 2, "list, show or delete")
    fails(filled.unhex("modules", "lst"), 2, 'did you mean "list"')
    fails(filled.unhex("modules", "list", "x"), 2, "unexpected argument")
    fails(filled.unhex("modules", "show"), 2, "needs an ID")
    fails(filled.unhex("modules", "show", name, "--limit", "3"), 2, "for list")
    fails(filled.unhex("modules", "show", name, "--dry-run"), 2, "for delete")
    fails(filled.unhex("modules", "show", "what:ever"), 1, "does not begin an ID")
    fails(filled.unhex("modules", "show", "gnu:abcdef"), 1, "HTTP 404")
    fails(filled.unhex("modules", "show", "gnu:abcde"), 1, "no module on the server has an ID with this prefix")
    fails(filled.unhex("modules", "delete", name, "--token", "bad"), 3, "401")
    fails(unhex("modules", "list", "--url", "http://127.0.0.1:1"), 3, "127.0.0.1")
    fails(unhex("modules", "show", name, "b" * 40, "--url", "http://127.0.0.1:1"), 3, "127.0.0.1")
    fails(unhex("modules", "list", "--url", "what"), 2, "what")


def test_lookup_and_explain_take_abbreviated_ids(filled, prog):
    name, (start, _) = build_id(prog), symbol(prog, "outer")
    whole = filled.unhex("lookup", name, hex(start))
    for short in (name[:9], name[4:9].upper(), name[:13]):
        done = filled.unhex("lookup", short, hex(start))
        assert (done.returncode, done.stdout, done.stderr) == (0, whole.stdout, "")
        assert filled.unhex("explain", short).stdout.startswith(f"{name}: found")
    for verb in ("lookup", "explain"):
        fails_with_a_list(filled.unhex(verb, "gnu:feed", "0x1"), 1, TWINS[0], TWINS[1], "give more characters")
        fails(filled.unhex(verb, "gnu:fee", "0x1"), 1, "gnu:fee")
    fails(filled.unhex("lookup", "gnu:abcde", "0x1"), 1, "no module on the server has an ID with this prefix")
    done = filled.unhex("lookup", "gnu:abcdef", "0x1")
    assert done.returncode == 1 and "unhex explain gnu:abcdef says what would help" in done.stderr


def test_a_server_finds_functions_by_name(filled, prog):
    name = build_id(prog)
    done = filled.unhex("lookup", name, "outer", "outer+1", "nosuch")
    assert done.stdout.splitlines()[0].startswith("outer+0 ") and done.returncode == 0
    assert "nosuch+0 ??" in done.stdout
    assert filled.unhex("lookup", name, stdin="outer\n").stdout == filled.unhex("lookup", name, "outer").stdout


def test_a_file_of_that_name_is_no_abbreviation(filled, prog, tmp_path):
    (tmp_path / "feed").write_bytes(prog.read_bytes())
    start, _ = symbol(prog, "outer")
    done = subprocess.run([filled.command, "lookup", "feed", hex(start)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "outer" in done.stdout


def test_uploads_take_whole_ids(filled, prog):
    """The beginning of a module's ID is another module's ID there."""
    status, doc, _ = Api(filled)("POST", "/v1/query", {"ids": [build_id(prog)[:12]]})
    assert status == 200 and doc["answers"][0]["status"] == "wanted"
