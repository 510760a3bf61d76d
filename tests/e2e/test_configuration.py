# SPDX-License-Identifier: Apache-2.0
"""The configuration file, --print-config and the page about both. UNHEX_GOLDEN=write rewrites the
page's tables."""
import os
import re

import pytest

from unhex_server import Server
from tool import ROOT, fails, unhex

PAGE = ROOT / "docs/configuration.md"
BEGIN, END = "<!-- keys -->\n", "<!-- end of keys -->\n"


def blocks(text):
    """(section, key, what it is, facts, value or None when it is not set) of what is printed."""
    section, out = None, []
    for block in text.split("\n\n")[1:]:
        notes = []
        for line in block.splitlines():
            if found := re.fullmatch(r"(?:# )?\[(\S+) \S+\]", line):
                section, notes = found[1], []
            elif found := re.fullmatch(r"(# )?([a-z0-9-]+) =(?: (.*))?", line):
                out.append((section, found[2], " ".join(notes[:-1]), notes[-1],
                            None if found[1] else found[3]))
            else:
                assert line.startswith("# "), line
                notes.append(line[2:])
    return out


def tables(text):
    """The same as Markdown."""
    rows, last = [], ""
    for section, key, what, facts, _ in blocks(text):
        if section != last:
            title = f"### [{section} NAME]" if section else "### Before all sections"
            rows += ["", title, "", "| key | meaning | value |", "|---|---|---|"]
            last = section
        rows.append(f"| `{key}` | {what} | {facts} |".replace("<", "\\<"))
    return "\n".join(rows[1:]) + "\n"


def printed(*options, **more):
    result = unhex("serve", "--print-config", *options, **more)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_the_page_has_every_key_as_the_program_says_it():
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    wanted = head + BEGIN + tables(printed()) + END + tail
    if os.environ.get("UNHEX_GOLDEN") == "write":
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted
    assert len(blocks(printed())) > 20


def test_what_is_printed_is_a_file_that_says_the_same(tmp_path):
    config = tmp_path / "unhex.conf"
    config.write_text("listen = 127.0.0.1:1\nmemory = 20M\nidle = 90s\ndata = /some/where\n")
    text = printed("--config", config, "--set", "log-level=debug", "--keep-days", "3")
    again = tmp_path / "again.conf"
    again.write_text(text)
    assert printed("--config", again) == text
    values = {key: value for section, key, _, _, value in blocks(text) if not section}
    assert values["listen"] == "127.0.0.1:1" and values["memory"] == "20M"
    assert values["idle"] == "90s" and values["log-level"] == "debug"
    assert values["keep-days"] == "3" and values["data"] == "/some/where"
    assert values["reading"] == "auto" and values["tls-key"] is None
    # the environment names a file, the option is stronger than it, and options than the file
    assert printed(env={"UNHEX_CONFIG": str(again)}) == text
    assert "/some/where" not in printed("--config", "/dev/null", env={"UNHEX_CONFIG": str(again)})
    assert "listen = 127.0.0.1:2\n" in printed("--config", again, "--listen", "127.0.0.1:2")


@pytest.mark.parametrize("text,words", [
    ("listen = x\nnope = 1\n", [":2:", 'unknown key "nope"']),
    ("listen = a:1\n\nlisten = b:1\n", [":3:", "duplicate key"]),
    ("threads = many\n", [":1:", "threads", '"many"', "up to 1024"]),
    ("log-format = xml\n", [":1:", "text or json"]),
    ("[nope x]\n", [":1:", 'unknown section "nope"']),
    ("tls-key = /x\n", ["tls-certificate"]),
    ("listen = nonsense\n", ["nonsense", "HOST:PORT"]),
    ("tls-certificate = /nonexistent/c.pem\ntls-key = /nonexistent/k.pem\nlisten = 127.0.0.1:0\n",
     ["/nonexistent/c.pem"]),
])
def test_a_mistake_is_reported_and_nothing_is_begun(tmp_path, text, words):
    config = tmp_path / "unhex.conf"
    config.write_text(text)
    result = unhex("serve", "--config", config, "--data", tmp_path / "data")
    fails(result, 2 if "nonexistent" not in text else result.returncode, *words)
    assert result.returncode != 0 and not (tmp_path / "data").exists()


@pytest.mark.parametrize("verb", [("serve",), ("key", "list"), ("store", "check"), ("store", "usage")], ids=" ".join)
def test_a_file_that_is_not_there_is_a_mistake_of_the_command_line(tmp_path, verb):
    gone = tmp_path / "gone.conf"
    fails(unhex(*verb, "--config", gone), 2, gone, "No such file")
    fails(unhex(*verb, env={"UNHEX_CONFIG": str(gone)}), 2, gone, "No such file")
    assert list(tmp_path.iterdir()) == []


def test_options_that_make_no_sense_are_named():
    fails(unhex("serve", "--set", "listen"), 2, "--set", "KEY=VALUE")
    fails(unhex("serve", "--set", "nope=1"), 2, 'unknown key "nope"')
    fails(unhex("serve", "--keep-days", "x"), 2, "--keep-days", '"x"')


def test_a_server_takes_its_limits_from_the_file(tmp_path):
    config = tmp_path / "unhex.conf"
    config.write_text("reading = keyed\nbody-bytes = 1K\n")
    server = Server(tmp_path / "server", options=("--config", config)).start()
    try:
        assert server.get("/v1/modules")[0] == 401
        assert server.get("/v1/modules", token=server.token)[0] == 200
        from http_api import Api
        assert "1024" in Api(server).refused(413, "too_large", "POST", "/v1/query",
                                             body=b" " * 1025)
    finally:
        assert server.stop() == 0
