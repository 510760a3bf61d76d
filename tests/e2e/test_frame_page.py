# SPDX-License-Identifier: Apache-2.0
"""The page of a frame: its source, and instructions beside their source lines with inlined calls marked"""
import html
import re
import urllib.parse
import urllib.request

import pytest

from tool import build_id, compile_c, instructions, lines, unhex

ROW = re.compile(r"^(?:<mark>)?<i>(0x[0-9a-f]+)</i> ((?:\| )*)([^|].*?)(?:</mark>)?$")
CALL = re.compile(r'^<i></i> <span class="where">((?:\| )*)<b>(.*)</b>, inlined at (.*):(\d+)</span>$')
LINE = re.compile(r'^<i></i> <span class="where">((?:\| )*)([^<|]*):(\d+)</span> (?: <b class="source">(.*)</b>)?$')


@pytest.fixture
def prog(tmp_path):
    return compile_c(tmp_path, flags=("-O2", "-g"))


def code(server, prog, address):
    """The rows of the page's code, without the markup around them."""
    query = urllib.parse.urlencode({"id": build_id(prog), "addr": hex(address)})
    text = urllib.request.urlopen(f"{server.url}/frame?{query}").read().decode()
    return text, re.search(r'<pre class="lines code"[^>]*>(.*?)</pre>', text, re.S)[1].splitlines()


@pytest.mark.parametrize("sources", [True, False])
def test_instructions_stand_below_their_source_with_inlined_calls_marked(server, prog, sources):
    out = server.unhex("push", "--with-debuginfo", *["--sources"] * sources, prog)
    assert out.returncode == 0, out.stderr
    addresses = instructions(prog, "outer")
    _, rows = code(server, prog, addresses[0])
    expected = lines(unhex("disas", "--json", prog, "outer"))
    shown = [m for m in map(ROW.match, rows) if m]
    assert [int(m[1], 16) for m in shown] == [int(one["address"], 16) for one in expected] == addresses
    inlined = 0
    place = calls = None
    known = {int(one["address"], 16): one for one in expected}
    text_of = {(f["file"].split("/")[-1], f["line"]): f.get("source", "").strip()
               for one in expected for f in one["frames"]}
    for row in rows:
        if m := CALL.match(row):
            calls = (calls or []) + [(m[1].count("|"), html.unescape(m[2]), m[3], int(m[4]))]
        elif m := LINE.match(row):
            place = (m[2], int(m[3]), m[1].count("|"))
            assert html.unescape(m[4] or "") == (text_of[place[:2]] if sources else "")
        else:
            m = ROW.match(row)
            one = known[int(m[1], 16)]
            frames, depth = one["frames"], len(one["frames"]) - 1
            assert html.unescape(m[3]) == one["instruction"] and m[2].count("|") == depth
            assert place == (frames[0]["file"].split("/")[-1], frames[0]["line"], depth)
            for level, function, file, line in calls or []:
                callee, caller = frames[-1 - level], frames[-level]
                assert (function, file, line) == (callee["function"], caller["file"].split("/")[-1], caller["line"])
                inlined += 1
            calls = None
    assert inlined > 0


def test_the_line_of_the_address_is_marked(server, prog):
    assert server.unhex("push", "--with-debuginfo", "--sources", prog).returncode == 0
    address = instructions(prog, "outer")[3]
    text, rows = code(server, prog, address)
    (marked,) = [row for row in rows if row.startswith("<mark>")]
    assert f"<i>{address:#x}</i>" in marked and text.count("<pre") >= 2


def test_source_that_is_markup_stays_text(server, tmp_path):
    source = 'int rand(void);\nint main(void) { return rand() /* <b>"&amp;</b> */; }\n'
    prog = compile_c(tmp_path, source=source)
    assert server.unhex("push", "--with-debuginfo", "--sources", prog).returncode == 0
    _, rows = code(server, prog, instructions(prog, "main")[0])
    assert any("&lt;b&gt;&quot;&amp;amp;&lt;/b&gt;" in row or "&lt;b&gt;&#34;&amp;amp;" in row for row in rows), rows
