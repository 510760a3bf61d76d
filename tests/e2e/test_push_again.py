# SPDX-License-Identifier: Apache-2.0
"""Pushing what the server has, in part or as a whole"""
import hashlib
import subprocess
import threading

import pytest

from http_api import Api
from tool import build_id, compile_c, lines, stripped, symbol, unhex
from waiting import wait_for


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("again"), flags=("-O1", "-g"))


def push(server, *args):
    result = server.unhex("push", "--json", *args)
    assert result.returncode == 0, result.stdout + result.stderr
    return lines(result)


def pieces(server, least):
    """How many times bytes of uploads were sent; a line of the log comes after the answer."""
    def count():
        return server.data.with_suffix(".log").read_text().count("method=PUT")
    wait_for(lambda: count() >= least)
    return count()


def candidates(server, binary):
    return server.get(f"/v1/modules/{build_id(binary)}")[1]["candidates"]


def announcement(binary, data, **more):
    return {"ids": [build_id(binary)], "size": len(data), "kind": "executable",
            "sha256": hashlib.sha256(data).hexdigest(), **more}


def settled(api, uid):
    def state():
        doc = api("GET", f"/v1/uploads/{uid}")[1]
        return doc if doc["state"] not in ("open", "pending") else None
    return wait_for(state)


def send(api, binary, data, **more):
    status, doc, _ = api("POST", "/v1/uploads", announcement(binary, data, **more))
    assert status == 201 and doc["state"] == "open", doc
    assert api.put(doc["uid"], data)[0] == 200
    return doc["uid"]


# what is there is not sent again

@pytest.mark.parametrize("options", [(), ("--with-debuginfo",), ("--sources",),
                                     ("--with-debuginfo", "--sources", "--description", "x")])
def test_the_same_bytes_are_sent_once(server, prog, options):
    first = push(server, *options, prog)
    assert {reported["status"] for reported in first} == {"uploaded"}
    sent = len(first)
    assert pieces(server, sent) == sent
    again = push(server, *options, prog)
    assert {reported["status"] for reported in again} == {"already-there"}, again
    assert all(reported["reason"] for reported in again)
    assert pieces(server, sent) == sent
    push(server, *options, "--force", prog)
    assert pieces(server, 2 * sent) == 2 * sent


def test_of_a_pair_only_the_half_that_is_missing_is_sent(server, prog):
    exe, debug = stripped(prog, "half")
    push(server, "--with-debuginfo", "--debug-dir", "", exe)
    assert pieces(server, 1) == 1
    (reported,) = push(server, "--with-debuginfo", "-e", exe, "-d", debug)
    assert reported["status"] == "uploaded" and reported["size"] == debug.stat().st_size
    assert pieces(server, 2) == 2


def test_a_new_description_is_kept_without_the_bytes(server, prog):
    sent = 0
    for options in ((), ("--with-debuginfo",), ("--sources",)):
        sent += len(push(server, *options, "--description", "release 7", prog))
        assert pieces(server, sent) == sent
        push(server, *options, "--description", "release 8 ✓", prog)
        assert pieces(server, sent) == sent
        push(server, *options, prog)  # who says nothing changes nothing
        assert {c["description"] for c in candidates(server, prog)} == {"release 8 ✓"}, options
        assert Api(server)("DELETE", f"/v1/modules/{build_id(prog)}")[0] in (200, 204)


def test_only_bytes_of_the_same_module_are_known(server, prog, tmp_path):
    other = compile_c(tmp_path, "other", flags=("-O2", "-g"))
    api, data = Api(server), prog.read_bytes()
    push(server, "--with-debuginfo", prog)
    status, doc, _ = api("POST", "/v1/uploads", announcement(prog, data, skip_known=True))
    assert (status, doc["state"], doc["status"]) == (201, "done", "already-there")
    assert doc["offset"] == len(data)
    assert api.finish(doc["uid"])[1]["status"] == "already-there"
    for changed in ({"ids": [build_id(other)]}, {"force": True}, {"size": len(data) + 1},
                    {"skip_known": False}):
        doc = api("POST", "/v1/uploads",
                  {**announcement(prog, data, skip_known=True), **changed})[1]
        assert (doc["state"], doc["offset"]) == ("open", 0), changed


def test_bytes_that_were_lost_are_requested_again(server, prog):
    push(server, "--with-debuginfo", prog)
    name = hashlib.sha256(prog.read_bytes()).hexdigest()
    blob = server.data / "blobs" / name[:2] / name[2:4] / name
    blob.unlink()
    assert pieces(server, 1) == 1
    push(server, "--with-debuginfo", prog)
    assert pieces(server, 2) == 2 and blob.read_bytes() == prog.read_bytes()


def test_what_failed_is_sent_again(server, prog):
    api, data = Api(server), b"\x7fELF" + bytes(1000)
    ends = []
    for _ in range(2):
        uid = send(api, prog, data, skip_known=True)
        assert api.finish(uid)[0] in (200, 202, 422)  # the last when it was read before the answer
        ends.append(settled(api, uid))
    assert [end["state"] for end in ends] == ["failed", "failed"]
    assert ends[0]["reason"] == ends[1]["reason"] != ""


# poorer ones

def test_a_poorer_file_is_refused_with_the_reason_unless_forced(server, prog):
    push(server, "--with-debuginfo", prog)
    poorer = prog.with_name("poorer")
    subprocess.run(["strip", "-g", "-o", poorer, prog], check=True)
    (reported,) = push(server, "--with-debuginfo", "--debug-dir", "", poorer)
    assert reported["status"] == "better-there"
    assert "inlines" in reported["reason"] and "symtab" in reported["reason"]
    start, _ = symbol(prog, "outer")
    assert len(candidates(server, prog)) == 2
    (reported,) = push(server, "--with-debuginfo", "--debug-dir", "", "--force", poorer)
    assert reported["status"] == "uploaded"
    kinds = sorted(c["kind"] for c in candidates(server, prog))
    assert kinds.count("executable") == 2
    # The better one answers still.
    assert server.get(f"/v1/symbolize/{build_id(prog)}?addr={start:#x}")[1]["quality"] == "inlines"


# finishing

def test_finishing_again_gives_the_same_answer(server, prog):
    api, data = Api(server), prog.read_bytes()
    uid = send(api, prog, data)
    api.finish(uid)
    settled(api, uid)
    answers = [api.finish(uid)[:2] for _ in range(3)]
    assert answers[0][0] == 200 and answers[0][1]["status"] == "uploaded"
    assert answers[1:] == answers[:1] * 2
    api.refused(409, "conflict", "PUT", f"/v1/uploads/{uid}?offset=0", data)
    bad = send(api, prog, b"no program at all, but long enough to be looked at")
    refused = [api.finish(bad)[:2] for _ in range(3)]
    assert refused[0][0] == 422 and refused == refused[:1] * 3


def test_many_who_finish_at_once_finish_once(server, prog):
    data = prog.read_bytes()
    uid = send(Api(server), prog, data)
    ends = []

    def finish():
        api = Api(server)
        ends.append(wait_for(lambda: (lambda a: a if a[0] in (200, 202) else None)
                             (api.finish(uid)[:2])))
    threads = [threading.Thread(target=finish) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(ends) == 8
    assert settled(Api(server), uid)["status"] == "uploaded"
    assert sorted(c["kind"] for c in candidates(server, prog)) == ["executable", "gsym"]


# an upload that was cut off

def test_a_later_run_goes_on_with_an_upload_that_was_cut_off(server, prog, tmp_path):
    gsym = tmp_path / "prog.gsym"
    unhex("extract", prog, "-o", gsym)
    data = gsym.read_bytes()
    ids = lines(unhex("id", "-qj", prog))[0]["ids"]
    words = {"ids": ids, "quality": "inlines", "description": "", "file": str(prog), "resume": True}
    api = Api(server)
    uid = api.announce(words.pop("ids"), data, **words)
    assert api.put(uid, data[:len(data) // 2])[0] == 200
    assert push(server, prog)[0]["status"] == "uploaded"
    # Only the other half was sent, by the same upload.
    assert api("GET", f"/v1/uploads/{uid}")[1]["state"] == "done"
    assert pieces(server, least=2) == 2


@pytest.mark.parametrize("other", [{"description": "other"}, {"file": "/elsewhere"}, {"ids": ["gnu:" + "12" * 20]},
                                   {"force": True}, {"kind": "debuginfo"}], ids=lambda o: next(iter(o)))
def test_an_upload_in_other_words_is_another_one(server, prog, other):
    api = Api(server)
    data = prog.read_bytes()
    words = {"description": "", "file": "a", "kind": "executable", "resume": True}
    uids = [api.announce(one.pop("ids"), data, **one)
            for one in ({"ids": [build_id(prog)], **words}, {"ids": [build_id(prog)], **words, **other},
                        {"ids": [build_id(prog)], **words})]
    assert uids[0] == uids[2] != uids[1]


def test_an_upload_of_another_key_is_not_continued(server, prog):
    made = Api(server)("POST", "/v1/keys", {"scopes": ["upload"], "description": "other"})[1]
    other = Api(server, token=made["token"])
    words = {"description": "", "file": "a", "resume": True}
    data = prog.read_bytes()
    assert Api(server).announce([build_id(prog)], data, **words) != other.announce([build_id(prog)], data, **words)


# parts of split builds

def test_parts_of_a_split_build_are_kept_beside_it(server, tmp_path):
    prog = compile_c(tmp_path, "split", flags=("-O1", "-g", "-gsplit-dwarf"))
    (dwo,) = tmp_path.glob("*.dwo")
    api = Api(server)
    assert push(server, prog)[0]["quality"] == "inlines"
    uid = send(api, prog, dwo.read_bytes(), kind="dwo", file=str(dwo))
    assert api.finish(uid)[0] in (200, 202)
    assert settled(api, uid)["state"] == "done"
    assert sorted(c["kind"] for c in candidates(server, prog)) == ["dwo", "gsym"]
    start, _ = symbol(prog, "outer")
    assert server.get(f"/v1/symbolize/{build_id(prog)}?addr={start:#x}")[1]["quality"] == "inlines"


def test_dwo_files_go_along_with_the_program(server, tmp_path):
    prog = compile_c(tmp_path, "split", flags=("-O1", "-g", "-gsplit-dwarf"))
    (reported,) = push(server, "--with-debuginfo", prog)
    assert (reported["status"], reported["quality"]) == ("uploaded", "inlines")
    assert sorted(c["kind"] for c in candidates(server, prog)) == ["dwo", "executable", "gsym"]
    start, size = symbol(prog, "outer")
    local = lines(unhex("lookup", "--json", prog, *[hex(start + i) for i in range(size)]))
    api = Api(server)
    for one in local:
        _, doc, _ = api("GET", f"/v1/symbolize/{build_id(prog)}?addr={one['address']}")
        assert [f["function"] for f in doc["frames"][0]] == \
            [f["function"] for f in one["frames"]]
    assert any(len(one["frames"]) > 1 for one in local)
    (reported,) = push(server, "--with-debuginfo", prog)
    assert reported["status"] == "already-there"
