# SPDX-License-Identifier: Apache-2.0
"""Source files: collected by push, unpacked by the server, served to debuggers"""
import hashlib
import http.client
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from http_api import Api
from tool import build_id, compile_c, fails, lines, stripped, symbol
from waiting import wait_for


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("sources"), flags=("-O1", "-g"))


@pytest.fixture(scope="module")
def pushed(server_of_module, prog):
    result = server_of_module.unhex("push", "--json", "--sources", "--with-debuginfo", prog)
    symbols, sources = lines(result)
    assert (symbols["status"], sources["status"]) == ("uploaded", "uploaded"), result.stdout
    assert sources["kind"] == "sources" and sources["sources"] >= 1 and sources["size"] > 0
    return server_of_module


def raw(server, method, path, headers=None):
    url = Api(server).url
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read(), dict(answer.headers)


def source_url(binary, path):
    return f"/buildid/{build_id(binary).removeprefix('gnu:')}/source{path}"


def archive(files, mode="w:gz", change=None):
    """A tar file of {name: bytes}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=tarfile.PAX_FORMAT) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            if change:
                change(info)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def send(server, binary, data, **more):
    """What an upload of these bytes as sources comes to."""
    api = Api(server)
    status, doc, _ = api("POST", "/v1/uploads", {
        "ids": [build_id(binary)], "size": len(data), "kind": "sources",
        "sha256": hashlib.sha256(data).hexdigest(), **more})
    assert status == 201, doc
    assert api.put(doc["uid"], data)[0] == 200
    status, end, _ = api.finish(doc["uid"])
    if status == 202:
        def settled():
            state = api("GET", f"/v1/uploads/{doc['uid']}")[1]
            return state if state["state"] not in ("open", "pending") else None
        end = wait_for(settled, seconds=120)
    return end


# what push collects

def test_what_was_pushed_is_served_byte_by_byte(pushed, prog):
    path = prog.with_suffix(".c")
    status, body, headers = raw(pushed, "GET", source_url(prog, path))
    assert status == 200 and body == path.read_bytes()
    assert headers["X-DEBUGINFOD-FILE"] == path.name
    assert headers["X-DEBUGINFOD-ARCHIVE"] == "sources.tar.zst"
    assert int(headers["X-DEBUGINFOD-SIZE"]) == int(headers["Content-Length"]) == len(body)
    assert headers["Cache-Control"] == "private, no-cache" and headers["Last-Modified"].endswith(" GMT")
    assert str(path.parent) not in str(headers)
    assert raw(pushed, "HEAD", source_url(prog, path))[2]["Content-Length"] == str(len(body))
    same = {"If-None-Match": headers["ETag"]}
    assert raw(pushed, "GET", source_url(prog, path), same)[:2] == (304, b"")
    part = {"Range": "bytes=3-9"}
    assert raw(pushed, "GET", source_url(prog, path), part)[:2] == (206, body[3:10])


def test_a_path_is_found_however_it_is_written(pushed, prog):
    path = prog.with_suffix(".c")
    ways = [f"//{path.parent}//./{path.name}", f"{path.parent}/x/y/../../{path.name}",
            f"{path.parent}/./{path.name}", str(path).replace("s", "%73")]
    for way in ways:
        assert raw(pushed, "GET", source_url(prog, way))[:2] == (200, path.read_bytes()), way


@pytest.mark.parametrize("path", ["/etc/passwd", "/../../../../etc/passwd", "/..", "/", "//",
                                  "/proc/self/environ", "/" + "a" * 5000])
def test_nothing_comes_from_the_servers_own_files(pushed, prog, path):
    assert raw(pushed, "GET", source_url(prog, path))[0] == 404
    assert raw(pushed, "GET", f"/buildid/{'ab' * 20}/source{path}")[0] == 404


def test_the_same_files_are_not_sent_twice(pushed, prog):
    _, again = lines(pushed.unhex("push", "--json", "--sources", prog))
    assert again["status"] == "already-there" and again["size"] == 0, again


def test_sources_that_lie_elsewhere_are_found_by_their_prefix(server, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "sub").mkdir(parents=True)
    prog = compile_c(old / "sub", flags=("-O1", "-g"))
    text = prog.with_suffix(".c").read_bytes()
    os.rename(old / "sub", new)
    here = new / "prog"
    reported = lines(server.unhex("push", "--json", "--sources", here))[1]
    assert reported["missing"] >= 1
    _, reported = lines(server.unhex("push", "--json", "--sources", "--source-prefix", "/no=/where",
                                 "--source-prefix", f"{old}/sub={new}", here))
    assert reported["status"] == "uploaded", reported
    assert raw(server, "GET", source_url(here, old / "sub/prog.c"))[:2] == (200, text)


def test_a_path_through_a_folder_that_is_gone_is_resolved_by_its_text(server, tmp_path):
    (tmp_path / "tree/build").mkdir(parents=True)
    (tmp_path / "tree/src").mkdir()
    prog = compile_c(tmp_path / "tree/src")
    source, text = prog.with_suffix(".c"), prog.with_suffix(".c").read_bytes()
    subprocess.run(["gcc", "-g", "-Wl,--build-id", "../src/prog.c", "-o", "../prog"],
                   cwd=tmp_path / "tree/build", check=True)
    (tmp_path / "tree/build").rmdir()
    _, reported = lines(server.unhex("push", "--json", "--sources", tmp_path / "tree/prog"))
    assert reported["status"] == "uploaded" and reported["sources"] >= 1, reported
    assert raw(server, "GET", source_url(tmp_path / "tree/prog", source))[:2] == (200, text)
    # The same for a tree that lies elsewhere now.
    os.rename(tmp_path / "tree", tmp_path / "moved")
    for number, (old, new) in enumerate([("tree", "moved"), ("tree/src", "moved/src"),
                                         ("tree/build", "moved/build")]):
        again = compile_c(tmp_path, f"again{number}")
        subprocess.run(["gcc", "-g", f"-O{number}", "-Wl,--build-id", "prog.c", "-o", again,
                        f"-fdebug-prefix-map={tmp_path}/moved/src={tmp_path}/tree/build/../src"],
                       cwd=tmp_path / "moved/src", check=True)
        reported = lines(server.unhex("push", "--json", "--sources", "--source-prefix",
                                  f"{tmp_path / old}={tmp_path / new}", again))[-1]
        assert reported["status"] == "uploaded" and reported["missing"] == 0, (old, reported)


def test_what_is_no_source_by_its_name_stays_here(server, tmp_path):
    secret = tmp_path / "shadow"
    secret.write_text("int secret(int x) { return x + 1; }\n")
    prog = compile_c(tmp_path, source=f'#include "{secret}"\nint main(int c, char **v)\n'
                     '{ (void)v; return secret(c); }\n', flags=("-O0", "-g"))
    _, reported = lines(server.unhex("push", "--json", "--sources", prog))
    assert reported["status"] == "uploaded" and reported["missing"] == 1, reported
    assert raw(server, "GET", source_url(prog, secret))[0] == 404


def test_no_link_and_no_path_leads_out_of_the_pushed_tree(server, tmp_path):
    """Debug information and trees of other people may name any file of whoever pushes them."""
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    for folder in (outside, tree / "src", tree / "inner"):
        folder.mkdir(parents=True)
    for name in ("linked.h", "named.h"):
        (outside / name).write_text(f"static int {name[0]}(int x) {{ return x + {len(name)}; }}\n")
    (tree / "inner/kept.h").write_text("static int k(int x) { return x + 3; }\n")
    (tree / "src/linked.h").symlink_to(outside / "linked.h")
    (tree / "src/kept.h").symlink_to("../inner/kept.h")
    prog = compile_c(tree / "src", source=f'#include "linked.h"\n#include "{outside}/named.h"\n#include "kept.h"\n'
                     'int main(int c, char **v) { (void)v; return l(c) + n(c) + k(c); }\n', flags=("-O0", "-g"))
    home = {"HOME": str(tmp_path)}
    _, reported = lines(server.unhex("push", "--json", "--sources", tree, env=home))
    assert (reported["status"], reported["sources"], reported["outside"]) == ("uploaded", 2, 2), reported
    for path in (tree / "src/linked.h", outside / "linked.h", outside / "named.h"):
        assert raw(server, "GET", source_url(prog, path))[0] == 404
    for path in (tree / "src/kept.h", tree / "src/prog.c"):
        assert raw(server, "GET", source_url(prog, path))[:2] == (200, path.read_bytes())
    text = server.unhex("push", "--sources", "--force", tree, env=home).stdout
    assert "2 outside of the pushed trees" in text
    # whoever wants them says so
    _, reported = lines(server.unhex("push", "--json", "--force", "--sources", "--source-prefix",
                                     f"{outside}={outside}", tree, env=home))
    assert (reported["sources"], reported["outside"]) == (4, 0), reported


def test_a_program_without_sources_here_is_skipped_and_says_so(server, tmp_path):
    prog = compile_c(tmp_path, flags=("-O1", "-g1", "-nostdinc", "-w"),
                     source="int main(void) { return 0; }\n")
    prog.with_suffix(".c").unlink()
    result = server.unhex("push", "--json", "--sources", prog)
    symbols, reported = lines(result)
    assert result.returncode == 0 and symbols["status"] == "uploaded"
    assert reported["status"] == "skipped" and "source files was found" in reported["reason"]


def test_a_dry_run_counts_and_sends_nothing(server, prog):
    _, reported = lines(server.unhex("push", "--json", "--sources", "--dry-run", prog))
    assert reported["status"] == "skipped" and reported["sources"] >= 1
    assert server.get("/v1/modules")[1]["modules"] == []


def test_a_prefix_that_is_none_is_refused(server, prog):
    for wrong in ("nonsense", "=x", "x="):
        result = server.unhex("push", "--sources", "--source-prefix", wrong, prog)
        assert result.returncode == 2 and "FROM=TO" in result.stderr
    assert server.unhex("push", "--source-prefix", "a=b", prog).returncode == 2


# what strangers send

def test_archives_of_every_kind_are_taken(server, prog):
    files = {"/src/a.c": b"int a;\n", "src/deep/../b.c": b"", "src/\u00fc.c": b"u" * 100000}
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(name, data)
    zstd = subprocess.run(["zstd", "-q"], input=archive(files, "w:"), check=True,
                          stdout=subprocess.PIPE).stdout
    for data in (archive(files, "w:"), archive(files, "w:gz"), archive(files, "w:xz"), zstd,
                 zipped.getvalue()):
        end = send(server, prog, data)
        assert end.get("state", end.get("status")) in ("done", "uploaded"), end
        for path, want in (("/src/a.c", b"int a;\n"), ("/src/b.c", b""),
                           ("/src/%C3%BC.c", b"u" * 100000)):
            assert raw(server, "GET", source_url(prog, path))[:2] == (200, want), path
        assert Api(server)("DELETE", f"/v1/modules/{build_id(prog)}")[0] in (200, 204)
        assert raw(server, "GET", source_url(prog, "/src/a.c"))[0] == 404


def test_the_newest_bundle_that_has_a_file_answers(server, prog):
    send(server, prog, archive({"a.c": b"old", "b.c": b"only here"}))
    send(server, prog, archive({"a.c": b"new", "a.c ": b""}))
    assert raw(server, "GET", source_url(prog, "/a.c"))[1] == b"new"
    assert raw(server, "GET", source_url(prog, "/b.c"))[1] == b"only here"


def links(info):
    info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc/passwd", 0


@pytest.mark.parametrize("data, words", [
    (lambda: archive({"../../etc/passwd.c": b"x"}), "above its root"),
    (lambda: archive({"a.c": b"x"}, change=links), "has no files"),
    (lambda: archive({}), "has no files"),
    (lambda: archive({"a.c": b"x" * 100000}, "w:")[:20000], "damaged"),
    (lambda: archive({"a.c": random.Random(1).randbytes(100000)})[:50000], "damaged"),
    (lambda: archive({"a.c": bytes(65 << 20)}), "64"),
    (lambda: archive({"a" * 5000: b"x"}), "path"),
    (lambda: b"int main(void);\n", "not a source archive"),
])
def test_bundles_that_are_none_fail_in_words(server, prog, data, words):
    end = send(server, prog, data())
    reported = end.get("reason") or end["error"]["message"]
    assert end.get("state", "failed") == "failed"
    assert words in reported or words in str(64 << 20) and "source file" in reported, end
    # Symbols are another matter: the module is no failed one.
    assert server.get(f"/v1/explain/{build_id(prog)}")[1]["status"] == "missing"


def test_damaged_archives_cost_the_server_nothing(server, prog):
    some, good = random.Random(7), [archive({f"src/{i}.c": b"x" * i for i in range(50)}, mode)
                                    for mode in ("w:", "w:gz")]
    pid, ends = server.process.pid, []
    for i in range(40):
        bad = bytearray(good[i % 2])
        for _ in range(1 + i % 5):
            bad[some.randrange(len(bad))] = some.randrange(256)
        end = send(server, prog, bytes(bad), force=True)
        ends.append(end.get("state") or end.get("status") or end["error"]["code"])
    assert server.process.poll() is None and server.process.pid == pid
    # "corrupt": it was read, and had failed, before the request to finish it was answered.
    assert set(ends) <= {"done", "failed", "corrupt", "uploaded", "already-there", "unsupported"}, ends
    assert {"failed", "corrupt"} & set(ends)


def test_sources_without_symbols_are_no_symbols(server, prog):
    send(server, prog, archive({"a.c": b"x"}))
    start, _ = symbol(prog, "outer")
    status, doc = server.get(f"/v1/symbolize/{build_id(prog)}?addr={start:#x}")
    assert doc.get("status") == "missing" or status == 404
    (reported,) = lines(server.unhex("push", "--json", prog))
    assert reported["status"] == "uploaded"
    kinds = {c["kind"] for c in server.get(f"/v1/modules/{build_id(prog)}")[1]["candidates"]}
    assert kinds == {"gsym", "sources"}
