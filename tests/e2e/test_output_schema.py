# SPDX-License-Identifier: Apache-2.0
"""docs/api/command-output.schema.json against what each command prints with --json: nothing may be there that it lacks."""
import json
import subprocess

import jsonschema
import pytest

from test_cli_options import commands
from tool import ROOT, UNHEX, build_id, stripped, symbol, unhex

DOCUMENT = json.loads((ROOT / "docs/api/command-output.schema.json").read_text(encoding="utf-8"))


def strict(node):
    """The schema without members that it does not name: it allows these, for later versions."""
    if isinstance(node, list):
        return [strict(n) for n in node]
    if not isinstance(node, dict):
        return node
    made = {k: strict(v) for k, v in node.items()}
    if node.get("type") == "object" and isinstance(node.get("properties"), dict):
        made.setdefault("additionalProperties", False)
    return made


def validator(command):
    return jsonschema.Draft202012Validator({**strict(DOCUMENT["commands"][command]), "$defs": strict(DOCUMENT["$defs"])})


def valid(command, done, least=1):
    """The objects that the command printed, which must be valid."""
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(objects) >= least, done.stderr
    for one in objects:
        validator(command).validate(one)
    return objects


def test_the_schema_is_one_and_has_every_command_with_json():
    for command in DOCUMENT["commands"]:
        jsonschema.Draft202012Validator.check_schema(validator(command).schema)
    assert set(DOCUMENT["commands"]) == {c for c in commands() if "--json" in unhex(c, "--help").stdout and
                                         c not in ("addr2line", "llvm-symbolizer")}


def test_what_is_not_in_the_schema_is_refused():
    good = {"id": "gnu:00", "status": "deleted"}
    validator("modules").validate(good)
    for bad in ({**good, "more": 1}, {"id": "gnu:00"}, {**good, "status": "gone"}, {**good, "id": "00"}):
        with pytest.raises(jsonschema.ValidationError):
            validator("modules").validate(bad)


def test_files(prog, tmp_path):
    bare, debug = stripped(prog)
    gsym, pc = tmp_path / "a.gsym", hex(symbol(prog, "outer")[0])
    valid("id", unhex("id", "-j", prog, bare, debug, "/nosuch"), 4)
    valid("id", unhex("id", "-j", ROOT / "fuzz/corpus/fatbin/cubin"))
    valid("extract", unhex("extract", "-j", prog, "-o", gsym))
    valid("lookup", unhex("lookup", "-j", prog, pc, "main", "0x1", "nosuch"), 4)
    valid("lookup", unhex("lookup", "-j", gsym, "--alternatives", pc, stdin="x\n"), 1)
    valid("lookup", unhex("lookup", "-j", prog, "--columns", stdin=f"{pc}\n?\n"), 2)
    valid("lookup", unhex("lookup", "-j", "/nosuch", "0x1"))
    valid("explain", unhex("explain", "-j", prog, pc, "0x1"), 3)
    valid("explain", unhex("explain", "-j", bare))
    valid("explain", unhex("explain", "-j", "/nosuch"))
    valid("gsym", unhex("gsym", "verify", "-j", gsym, "/nosuch"), 2)
    valid("gsym", unhex("gsym", "stat", "-j", gsym))
    valid("gsym", unhex("gsym", "dump", "-j", gsym), 3)
    valid("disas", unhex("disas", "-j", prog, "outer"), 3)
    valid("split", unhex("split", "-j", "-n", prog))


def test_profiles_and_processes(prog):
    profile = f"p 1 1.0: 1 cycles:\n\t{symbol(prog, 'outer')[0]:x} [unknown] ({prog})\n\t1 [unknown] (/nowhere)\n\n"
    valid("top", unhex("top", "-j", "-", stdin=profile), 2)
    valid("top", unhex("top", "-j", "--lines", "-", stdin=profile), 2)
    with subprocess.Popen([UNHEX, "lookup", prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdin.write(b"0x1\n")
        child.stdin.flush()
        assert child.stdout.readline()  # it runs
        where = next(line.split("-")[0] for line in open(f"/proc/{child.pid}/maps", encoding="ascii") if " r-xp " in line)
        valid("proc", unhex("proc", "-j", child.pid, "0x" + where, "0x1"), 2)
        child.stdin.close()
        child.wait(30)


def test_servers(server, prog, tmp_path):
    name = build_id(prog)
    sent = valid("push", server.unhex("push", "-j", prog, "/nosuch"), 2)
    assert {o["status"] for o in sent} == {"uploaded", "failed"}
    valid("push", server.unhex("push", "-j", "--dry-run", prog))
    valid("lookup", server.unhex("lookup", "-j", name, "outer", "0x1"), 2)
    valid("explain", server.unhex("explain", "-j", name))
    valid("explain", server.unhex("explain", "-j", name, "0x1"))
    valid("agent", server.unhex("agent", "--once", "-j", "--dry-run"))
    valid("modules", server.unhex("modules", "list", "-j"))
    valid("modules", server.unhex("modules", "show", "-j", name, "gnu:abcdef"), 2)
    valid("crawl", server.unhex("crawl", "status", "-j"))
    (tmp_path / "x.deb").write_text("no package")
    (worked,) = valid("crawl", server.unhex("crawl", "work", "-j", tmp_path / "x.deb"))
    assert worked["outcome"]
    copied = valid("clone", server.unhex("clone", "-j", server.url, tmp_path / "copy"), 2)
    assert copied[0]["status"] == "copied"
    valid("modules", server.unhex("modules", "delete", "-j", name))


def test_stores(server, prog, tmp_path):
    assert server.unhex("push", prog).returncode == 0
    data = ("--data", server.data)
    (made,) = valid("key", unhex("key", "create", "-j", *data))
    valid("key", unhex("key", "rotate", "-j", made["id"], *data))
    valid("key", unhex("key", "list", "-j", *data), 2)
    for words in (["check"], ["usage"], ["sweep", "--dry-run"], ["backup", tmp_path / "b"],
                  ["migrate", tmp_path / "m"]):
        valid("store", unhex("store", *words, "-j", *data))
    valid("store", unhex("store", "restore", tmp_path / "b", "-j", "--data", tmp_path / "r"))


def test_crawls(tmp_path):
    """A repository that is not there."""
    (found,) = valid("crawl", unhex("crawl", "debian", "--suite", "bookworm", "--component", "main", "-j", "--dry-run",
                                    "--mirror", tmp_path))
    assert found["error"]
