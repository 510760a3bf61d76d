# SPDX-License-Identifier: Apache-2.0
"""Files of split units, uploaded: the server reads them with the program that names them."""
import hashlib
import os
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from http_api import Api
from test_elf_uploads import candidates, send, settled
from test_split_dwarf import CLANG, UNITS, build, code_addresses, ours, package
from tool import build_id, lines
from waiting import wait_for


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("split") / "tree", "g++", 5, "-O2")


def reported(api, path, addresses):
    """The server's frames, as ours() has them."""
    status, doc, _ = api("POST", "/v1/symbolize", {
        "modules": [{"id": build_id(path), "addresses": addresses}], "demangle": "none"})
    assert status == 200, doc
    return [[(f["function"], os.path.basename(f.get("file") or ""), f["line"]) for f in frames]
            for frames in doc["modules"][0]["frames"]]


def upload(api, linked, file, kind):
    uid = send(api, file, kind, [build_id(linked)], file=file.name)
    status, doc, _ = api.finish(uid)
    # A damaged file may have been read before the request was answered.
    assert status in (200, 202) or (status == 422 and doc["error"]["code"] == "corrupt"), doc
    return uid


def moved(program, where):
    """A copy that no file of split units is beside, and these files."""
    shutil.copytree(program.parent.parent, where / "tree")
    alone = where / "alone"
    shutil.copy(program, alone)
    return alone, [where / f"tree/obj/{name}.dwo" for name in UNITS]


@pytest.mark.parametrize("first", ["program", "parts"])
def test_dwo_files_are_read_with_the_program_whichever_came_first(server, program, tmp_path, first):
    linked, parts = moved(program, tmp_path)
    addresses = code_addresses(linked)
    files = [(linked, "executable")]
    files[len(files) if first == "program" else 0:0] = [(part, "dwo") for part in parts]
    api = Api(server)
    for uid in [upload(api, linked, *file) for file in files]:
        assert settled(api, uid)["state"] == "done"
    answers = reported(api, linked, addresses)
    assert answers == ours(program, addresses)
    assert sum(len(frames) > 1 for frames in answers) > 20
    kinds = [c["kind"] for c in candidates(api, build_id(linked))]
    assert kinds.count("dwo") == 4 and kinds.count("executable") == 1


@pytest.mark.parametrize("first", ["program", "parts"])
def test_a_package_is_read_with_the_program(server, tmp_path, first):
    program = build(tmp_path / "tree", CLANG, 5, "-O2")
    addresses = code_addresses(program)
    expected = ours(program, addresses)
    package(program, "llvm-dwp-19")
    api = Api(server)
    files = [(program, "executable"), (program.with_name("prog.dwp"), "dwp")]
    for file, kind in files if first == "program" else files[::-1]:
        assert settled(api, upload(api, program, file, kind))["state"] == "done"
    assert reported(api, program, addresses) == expected


def test_parts_of_another_build_cost_only_their_units(server, program, tmp_path):
    linked, parts = moved(program, tmp_path)
    other = build(tmp_path / "other", "g++", 5, "-O1")
    wrong = other.parent.parent / "obj/three.dwo"
    api = Api(server)
    for file, kind in [(linked, "executable"), (wrong, "dwo"), *zip(parts[:2], ["dwo"] * 2)]:
        assert settled(api, upload(api, linked, file, kind))["state"] == "done"
    addresses = code_addresses(linked)
    known = 0
    for mine, whole in zip(reported(api, linked, addresses), ours(program, addresses)):
        assert bool(mine) == bool(whole)
        if whole and whole[-1][1] in ("one.cc", "two.cc"):
            known += 1
            assert mine == whole
    assert known > 100


def test_a_damaged_part_costs_nothing_but_itself(server, program, tmp_path):
    linked, parts = moved(program, tmp_path)
    addresses = code_addresses(linked)
    damaged = tmp_path / "damaged.dwo"
    damaged.write_bytes(parts[0].read_bytes()[:80])
    api = Api(server)
    uids = [upload(api, linked, *file) for file in [
        (linked, "executable"), *((part, "dwo") for part in parts), (damaged, "dwo")]]
    states = [settled(api, uid)["state"] for uid in uids]
    assert states == ["done"] * 5 + ["failed"]
    wait_for(lambda: reported(api, linked, addresses) == ours(program, addresses))


def test_what_is_no_elf_file_is_no_part(server, program, tmp_path):
    linked, _ = moved(program, tmp_path)
    api = Api(server)
    status, doc, _ = api("POST", "/v1/uploads", {
        "ids": [build_id(linked)], "size": 4, "kind": "dwo",
        "sha256": hashlib.sha256(b"\x7fELG").hexdigest()})
    assert status == 201, doc
    assert api.put(doc["uid"], b"\x7fELG")[0] == 200
    status, doc, _ = api.finish(doc["uid"])
    assert status == 422 and "7f 45 4c 47" in doc["error"]["message"], doc


def test_push_sends_the_package_too(server, tmp_path):
    program = build(tmp_path / "tree", CLANG, 5, "-O2")
    addresses = code_addresses(program)
    expected = ours(program, addresses)
    package(program, "llvm-dwp-19")
    again = []
    for status in ("uploaded", "already-there"):
        out = server.unhex("push", "--json", "--with-debuginfo", program)
        assert [one["status"] for one in lines(out)] == [status], out.stderr
        again.append(sorted(c["kind"] for c in candidates(Api(server), build_id(program))))
    assert again == [["dwp", "executable", "gsym"]] * 2
    assert reported(Api(server), program, addresses) == expected


def test_push_sends_the_dwo_files_of_a_build(server, program, tmp_path):
    """A stripped program, its debug file and the folder of the objects, as a build leaves them."""
    linked, parts = moved(program, tmp_path)
    addresses = code_addresses(linked)
    hidden = program.parent.parent.rename(tmp_path / "hidden")
    folder = tmp_path / "alone-in-a-folder"
    folder.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", linked, folder / "prog.debug"], check=True)
    subprocess.run(["strip", "-o", folder / "prog", linked], check=True)
    for part in parts:
        shutil.copy(part, folder)
    try:
        for status in ("uploaded", "already-there"):
            out = server.unhex("push", "--json", "--with-debuginfo", folder)
            results = {one["file"]: one["status"] for one in lines(out)}
            assert results == {str(folder / "prog"): status, str(folder / "prog.debug"): "skipped"}, out.stderr
        kinds = [c["kind"] for c in candidates(Api(server), build_id(linked))]
        assert kinds.count("dwo") == 4 and {"debuginfo", "executable"} < set(kinds)
    finally:
        hidden.rename(program.parent.parent)
    assert reported(Api(server), linked, addresses) == ours(program, addresses)


def test_push_sends_no_dwo_file_of_another_build_and_says_what_is_lost(server, tmp_path):
    program = build(tmp_path / "tree", "g++", 5, "-O2")
    other = build(tmp_path / "other", "g++", 5, "-O1")
    shutil.copy(other.parent.parent / "obj/two.dwo", program.parent.parent / "obj/two.dwo")
    (program.parent.parent / "obj/three.dwo").unlink()
    (one,) = lines(server.unhex("push", "--json", program))
    assert one["status"] == "uploaded"
    assert one["reason"].startswith("2 of 4 .dwo files are missing"), one
    (one, *_) = lines(server.unhex("push", "--json", "--force", "--with-debuginfo", program))
    names = sorted(c["file"].split("/")[-1] for c in candidates(Api(server), build_id(program))
                   if c["kind"] == "dwo")
    assert one["status"] == "uploaded" and names == ["main.dwo", "one.dwo"]


@pytest.mark.parametrize("form", ["zip", "nested"])
def test_dwo_files_in_an_archive_are_read_with_the_program_in_it(server, program, tmp_path, form):
    """They are found by the IDs of their units: where they lie in the archive does not matter."""
    linked, parts = moved(program, tmp_path)
    addresses = code_addresses(linked)
    objects = tmp_path / ("objects.zip" if form == "nested" else "build.zip")
    with zipfile.ZipFile(objects, "w", zipfile.ZIP_DEFLATED) as z:
        for part in parts:
            z.write(part, f"obj/{part.name}")
        if form == "zip":
            z.write(linked, "bin/prog")
    archive = objects
    if form == "nested":
        archive = tmp_path / "build.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(linked, "bin/prog")
            tar.add(objects, "objects.zip")
    (one,) = lines(server.unhex("push", "--json", archive))
    assert one["status"] == "uploaded" and one["quality"] == "inlines" and not one.get("reason"), one
    assert reported(Api(server), linked, addresses) == ours(program, addresses)


def test_an_archive_without_some_dwo_files_says_how_many(server, program, tmp_path):
    linked, parts = moved(program, tmp_path)
    archive = tmp_path / "build.zip"
    with zipfile.ZipFile(archive, "w") as z:
        z.write(linked, "bin/prog")
        z.write(parts[0], parts[0].name)
        z.writestr("obj/hostile.dwo", b"\x7fELF" + bytes(range(256)) * 4)
    (one,) = lines(server.unhex("push", "--json", archive))
    assert one["status"] == "uploaded"
    assert one["reason"].startswith("3 of 4 .dwo files are missing"), one
