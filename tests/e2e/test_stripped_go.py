# SPDX-License-Identifier: Apache-2.0
"""Static Go programs without symbols (CGO_ENABLED=0, -ldflags "-s -w"), as services are shipped: every way in takes them.
And programs of which nothing but the bounds of functions is known: every way in passes over them, with the same words."""
import shutil
import subprocess
import tarfile
import urllib.parse

import pytest

from packages import deb
from test_push_images import layer, oci
from tool import build_id, compile_c, lines, unhex

SERVICE = """package main

import (
	"fmt"
	"os"
	"time"
)

//go:noinline
func StrippedService(n int) int { return n*3 + 1 }

func main() {
	fmt.Println("ready")
	wait, _ := time.ParseDuration(os.Args[1])
	time.Sleep(wait)
	os.Exit(StrippedService(0) - 1)
}
"""
BARE = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	printf("ready\\n");
	fflush(stdout);
	return argc > 1 ? (int)sleep((unsigned)atoi(argv[1])) : 0;
}
"""
NOTHING = "has no symbols; expected DWARF, a symbol table or Go's tables"


@pytest.fixture(scope="module", name="service")
def build_service(tmp_path_factory):
    """The program without symbols, and where its function starts by the symbols of the same build with them."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "go.mod").write_text("module service\n\ngo 1.19\n")
    (folder / "main.go").write_text(SERVICE)
    for name, flags in (("full", ""), ("service", "-s -w")):
        subprocess.run(["env", "CGO_ENABLED=0", "go", "build", "-trimpath", f"-ldflags={flags}", "-o", name, "."], cwd=folder, check=True)
    assert b".symtab" not in (folder / "service").read_bytes()
    table = subprocess.run(["nm", folder / "full"], capture_output=True, text=True, check=True).stdout
    return folder / "service", next(line.split()[0] for line in table.splitlines() if line.endswith(" main.StrippedService"))


@pytest.fixture(scope="module", name="bare")
def build_bare(tmp_path_factory):
    """A static program that strip has left nothing but unwind tables."""
    path = compile_c(tmp_path_factory.mktemp("bare"), "bare", BARE, ("-O2", "-static", "-s"))
    assert lines(unhex("id", "--json", path))[0]["quality"] == "none"
    return path


def by_file(server, path, _):
    return server.unhex("push", "--json", path)


def by_folder(server, path, folder):
    (folder / "bin").mkdir()
    shutil.copy(path, folder / "bin")
    return server.unhex("push", "--json", "-v", folder / "bin")


def by_archive(server, path, folder):
    with tarfile.open(folder / "service.tar.gz", "w:gz") as tar:
        tar.add(path, "usr/bin/" + path.name)
    return server.unhex("push", "--json", "-v", folder / "service.tar.gz")


def by_image(server, path, folder):
    return server.unhex("push", "--json", "-v", "--image", oci(folder / "image", layer({"bin/" + path.name: path.read_bytes()})))


def by_list(server, path, _):
    return server.unhex("push", "--json", "-v", "--files-from", "-", stdin=f"{path}\n")


def running(path):
    process = subprocess.Popen([path, "60s"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def by_pid(server, path, _):
    with running(path) as process:
        try:
            return server.unhex("push", "--json", "-v", "--pid", process.pid)
        finally:
            process.kill()


def by_agent(server, path, folder):
    with running(path) as process:
        try:
            return server.unhex("agent", "--json", "-v", "--once", "--state", folder / "state")
        finally:
            process.kill()


def by_crawl(server, path, folder):
    package = deb(folder / "service.deb", {"usr/bin/" + path.name: path.read_bytes()})
    return server.unhex("crawl", "work", "--json", package)


WAYS = [by_file, by_folder, by_list, by_archive, by_image, by_pid, by_agent, by_crawl]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_stripped_go_service_is_taken(server, service, tmp_path, way):
    path, address = service
    done = way(server, path, tmp_path)
    assert done.returncode == 0 or way == by_agent, done.stderr  # which sees the programs of other tests too
    status, document = server.get(f"/v1/symbolize/{urllib.parse.quote(build_id(path), safe='')}?addr=0x{address}")
    assert status == 200, done.stdout
    innermost = document["frames"][0][0]
    assert (innermost["function"], innermost["file"], innermost["line"]) == ("main.StrippedService", "service/main.go", 10)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_bounds_alone_are_no_symbols_in_any_way(server, bare, tmp_path, way):
    done = way(server, bare, tmp_path)
    if way != by_agent:
        assert done.returncode == (way in (by_file, by_list)), done.stdout  # what was named has to have symbols
    assert server.get(f"/v1/symbolize/{build_id(bare)}?addr=0x401000")[0] == 404
    if way == by_crawl:
        assert [row["uploaded"] for row in lines(done)] == [0]
    else:
        assert [row["reason"] for row in lines(done) if row["file"].endswith("/bare")] == [NOTHING], done.stdout


def test_id_says_what_was_expected(bare):
    done = unhex("id", bare)
    assert f"symbols: none; {NOTHING.partition('; ')[2]}\n" in done.stdout and "bounds (" in done.stdout
