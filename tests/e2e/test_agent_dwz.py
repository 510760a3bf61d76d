# SPDX-License-Identifier: Apache-2.0
"""unhex agent --dwarf: debug files whose common entries dwz moved to another file. The oracle is an extraction on this
machine with all of the files."""
import ctypes
import os
import pathlib
import shutil
import subprocess

import pytest

from test_agent import end, once, start
from test_dwz_uploads import extracted, fetched, place
from test_supplementary import HEADER, MAIN
from tool import build_id, lines, stripped, unhex

SLEEP = '#include <unistd.h>\nstatic const int awake = (write(1, "ready\\n", 6), usleep(600000000));\n'
IN_OPEN = 0x20
PLACES = {
    "a folder with debug files": "/usr/lib/debug/.dwz/agent-common.debug",
    "the path of the link": "{root}/elsewhere/agent-common.debug",
    "the folder of the debug file": "../../.dwz/agent-common.debug",
}


def make_tree(folder, link):
    """Stripped programs, which sleep, their debug files, and the file that dwz made of both."""
    (folder / "common.h").write_text(HEADER)
    for name in ("one", "two"):
        (folder / f"{name}.cc").write_text(SLEEP + MAIN % {"name": name})
        subprocess.run(["g++", "-g", "-O2", "-gdwarf-4", f"-Wl,--build-id=0x{os.urandom(16).hex()}", f"{name}.cc",
                        "-o", name], cwd=folder, check=True)
    subprocess.run(["dwz", "-m", "common.debug", "-M", link, "one", "two"], cwd=folder, check=True)
    for name in ("one", "two"):
        exe, debug = stripped(folder / name, f"{name}.bin")
        place(folder / "debug", debug, build_id(exe))
    (folder / "debug/.dwz").mkdir()
    shutil.copy(folder / "common.debug", folder / "debug/.dwz/agent-common.debug")


def sent(server, folder, *options):
    """What became of the program, and the symbols of it that the server has then."""
    result = once(server, folder, "--json", "-v", "--dwarf", *options, timeout=600)
    found = [r for r in lines(result) if r["file"] == str(folder / "one.bin")]
    assert len(found) == 1, result.stderr
    return found[0], fetched(server, f"/v1/gsym/{found[0]['id']}")[1]


@pytest.mark.parametrize("place_of", PLACES)
def test_the_supplementary_file_is_found_in(server, tmp_path, place_of):
    make_tree(tmp_path, PLACES[place_of].format(root=tmp_path))
    here = extracted(tmp_path, "one", tmp_path)
    if place_of == "the path of the link":
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "debug/.dwz/agent-common.debug").rename(tmp_path / "elsewhere/agent-common.debug")
    process = start(tmp_path / "one.bin")
    try:
        result, there = sent(server, tmp_path, "--debug-dir", tmp_path / "debug")
    finally:
        end(process)
    assert result["status"] == "uploaded" and result["quality"] == "inlines" and not result.get("reason")
    assert there == here


def test_one_that_is_not_there_is_said_and_costs_its_names_alone(server, tmp_path):
    make_tree(tmp_path, PLACES["a folder with debug files"])
    here = extracted(tmp_path, "one", tmp_path)
    (tmp_path / "debug/.dwz/agent-common.debug").write_bytes((tmp_path / "two").read_bytes())  # of another build ID
    process = start(tmp_path / "one.bin")
    try:
        result, there = sent(server, tmp_path, "--debug-dir", tmp_path / "debug")
    finally:
        end(process)
    assert result["status"] == "uploaded" and "supplementary file /usr/lib/debug/.dwz/agent-common.debug" in result["reason"]
    assert there[:4] == here[:4] and there != here


def test_a_link_to_what_is_no_file_is_not_opened(server, tmp_path):
    """Opening a device can have effects, and the path is what a program says. A FIFO stands for it."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    make_tree(tmp_path, f"{fifo}")
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert watch >= 0 and libc.inotify_add_watch(watch, os.fsencode(fifo), IN_OPEN) >= 0
    process = start(tmp_path / "one.bin")
    try:
        result, _ = sent(server, tmp_path, "--debug-dir", tmp_path / "debug")
        local = unhex("extract", tmp_path / "one.bin", "--debug-dir", tmp_path / "debug", "-o", tmp_path / "one.gsym")
        with pytest.raises(BlockingIOError):
            os.read(watch, 4096)
        os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))
        assert os.read(watch, 4096)  # it would have been seen
    finally:
        end(process)
        os.close(watch)
    assert "supplementary file" in result["reason"] and "supplementary file" in local.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a mount namespace here")
def test_one_that_only_a_container_has_is_found(server, tmp_path):
    make_tree(tmp_path, PLACES["a folder with debug files"])
    here = extracted(tmp_path, "one", tmp_path)
    os.makedirs("/usr/lib/debug", exist_ok=True)
    process = start("unshare", "-m", "sh", "-c", f"mount -t tmpfs none /usr/lib/debug && cp -r {tmp_path}/debug/. /usr/lib/debug/ && "
                    f"exec {tmp_path}/one.bin")
    try:
        result, there = sent(server, tmp_path)
    finally:
        end(process)
    assert result["status"] == "uploaded" and there == here
    assert not pathlib.Path("/usr/lib/debug/.dwz/agent-common.debug").exists()
