# SPDX-License-Identifier: Apache-2.0
"""ELF files whose section table is the whole file: no route reads it into the server's memory."""
import concurrent.futures
import struct

from http_api import Api
from waiting import wait_for

SECTIONS = 1 << 20  # 64 bytes each in the file; a reader takes more for each in memory
GROWTH_MAX = 48 << 20  # bytes of memory for all requests together
AT_ONCE = 4


def many_sections(build_id, count=SECTIONS):
    """A program of one loadable segment with a build ID, code, and `count` empty sections."""
    note = struct.pack("<III4s", 4, len(build_id), 3, b"GNU\0") + build_id
    names = b"\0.note.gnu.build-id\0.shstrtab\0.text\0"
    code = b"\x90" * 64
    note_at = 64 + 2 * 56
    names_at = note_at + len(note)
    code_at = names_at + len(names)
    table_at = (code_at + len(code) + 7) & ~7
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, 0x400000 + code_at, 64, table_at,
                         0, 64, 56, 2, 64, 0, 2)
    size = table_at + 64 * count
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, table_at, table_at, 4096)
    segments += struct.pack("<IIQQQQQQ", 4, 4, note_at, 0x400000 + note_at, 0x400000 + note_at, len(note), len(note), 4)

    def section(name, kind, flags, at, length):
        return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0x400000 + at if flags else 0, at, length, 0, 0, 1, 0)

    table = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count, 0, 0, 0, 0)  # the count is in section 0
    table += section(names.index(b".note"), 7, 2, note_at, len(note))
    table += section(names.index(b".shstrtab"), 3, 0, names_at, len(names))
    table += section(names.index(b".text"), 1, 6, code_at, len(code))
    table += section(0, 1, 0, code_at, 0) * (count - 4)
    body = header + segments + note + names + code
    body += bytes(table_at - len(body)) + table
    assert len(body) == size
    return body


def test_a_table_of_sections_takes_no_memory_of_the_server(server, watched):
    build_id = bytes(range(20))
    name = "gnu:" + build_id.hex()
    api = Api(server)
    data = many_sections(build_id)
    uid = api.announce([name], data, kind="executable")
    with watched.request("upload of many sections"):
        for at in range(0, len(data), 8 << 20):
            assert api.put(uid, data[at:at + (8 << 20)], at)[0] == 200
        assert api.finish(uid)[0] in (200, 202)
    wait_for(lambda: api("GET", f"/v1/uploads/{uid}")[1]["state"] != "pending", seconds=120)

    def section(_):
        return Api(server)("GET", f"/buildid/{build_id.hex()}/section/.nothing")[0]

    before = watched.anonymous()
    with watched.request("sections of many sections"), \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = list(pool.map(section, range(2 * AT_ONCE)))
    assert set(statuses) == {404}
    grown = watched.peak - before
    with watched.request("code of many sections"):
        status, doc, _ = api("POST", "/asm/v1", {"name": "x", "codeId": build_id.hex(), "debugName": "x",
                                                 "startAddress": "0x0", "size": "0x10"})
    assert status < 500, doc
    assert max(grown, watched.peak - before) <= GROWTH_MAX
