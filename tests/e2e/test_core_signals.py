# SPDX-License-Identifier: Apache-2.0
"""unhex symbolize: core dumps whose handlers of signals run on a stack of their own, which elfutils and gdb unwind as well"""
import re
import signal
import struct
import subprocess
import threading

import pytest

from test_crash_reports import stacks_of
from tool import unhex
from waiting import pause_for, wait_for

THREAD = r"Stack trace of thread (\d+)"

ON_A_STACK_OF_ITS_OWN = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
static char *volatile nowhere;
static void handler(int n) { (void)n; abort(); }
__attribute__((noinline)) static int load(int n) { return *nowhere + n; }
__attribute__((noinline)) static int middle(int n) { return load(n) * 3; }
int main(void)
{
	stack_t s = {.ss_size = 1 << 16};
	s.ss_sp = mmap(0, s.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaltstack(&s, 0);
	sigaction(SIGSEGV, &a, 0);
	return middle(1);
}
"""

FAULT_OF_GO = r"""
package main
import "os"
//go:noinline
func bad(p *int) int { return *p }
//go:noinline
func middle(p *int) int { return bad(p) + 1 }
func main() { os.Exit(middle(nil)) }
"""

# Each thread is in its handler of a signal when the core is written.
BUSY_GO = r"""
package main
//go:noinline
func spin(n int) int { for n != 1 { n = n*2 | 2 }; return n }
//go:noinline
func outer(n int) int { return spin(n) + 1 }
func main() { println(outer(2)) }
"""


def gdb(program, core, *commands, env=None):
    options = [w for c in ("set debuginfod enabled off", "handle SIGURG nostop noprint pass", *commands,
                           f"generate-core-file {core}") for w in ("-ex", c)]
    subprocess.run(["gdb", "-q", "-batch", "-nx", *options, program], check=True, capture_output=True, timeout=120,
                   cwd=core.parent, env=env)


@pytest.fixture(scope="module")
def alternate(tmp_path_factory):
    """A program in a handler that has a stack of its own, and its core dump."""
    folder = tmp_path_factory.mktemp("alternate")
    (folder / "a.c").write_text(ON_A_STACK_OF_ITS_OWN)
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-o", folder / "a", folder / "a.c"], check=True)
    gdb(folder / "a", folder / "core", "handle SIGSEGV nostop pass", "run")
    return folder / "core"


def test_a_stack_goes_on_in_the_one_that_was_interrupted(alternate):
    result = unhex("symbolize", alternate)
    judge = subprocess.run(["eu-stack", "--core", alternate], capture_output=True, text=True, check=False).stdout
    assert stacks_of(result.stdout, THREAD) == stacks_of(judge, r"TID (\d+):")
    for name in ("abort", "handler", "load", "middle", "main", "_start"):
        assert re.search(rf"^    {name}\b", result.stdout, re.M), result.stdout
    assert "more callers" not in result.stdout


def test_callers_that_the_dump_lacks_are_said_to_be_missing(alternate, tmp_path):
    """The dump without the stack of main(), whose handler runs on the other one."""
    data = bytearray(alternate.read_bytes())
    table, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    top = 0  # the stack is the highest memory below the kernel's
    for at in range(table, table + 56 * count, 56):
        kind, _, _, address = struct.unpack_from("<2I2Q", data, at)
        if kind == 1 and address < 1 << 47:
            top = max(top, address)
    for at in range(table, table + 56 * count, 56):
        if struct.unpack_from("<I", data, at)[0] == 1 and struct.unpack_from("<Q", data, at + 16)[0] == top:
            struct.pack_into("<Q", data, at + 32, 0)
    (tmp_path / "core").write_bytes(data)
    text = unhex("symbolize", tmp_path / "core").stdout
    assert "    handler at " in text and "main at" not in text
    assert text.rstrip().endswith("(more callers: the memory with its callers is not in the dump)"), text


ALL_THREADS = {"PATH": "/usr/bin:/bin", "GOTRACEBACK": "crash", "GODEBUG": "asyncpreemptoff=1"}


@pytest.fixture
def core(tmp_path):
    """A place for a core dump of Go, which has 700 MB of memory that was never used."""
    yield tmp_path / "core"
    (tmp_path / "core").unlink(missing_ok=True)


def go_program(folder, source):
    (folder / "p.go").write_text(source)
    subprocess.run(["go", "build", "-o", "p", "p.go"], check=True, cwd=folder, capture_output=True)
    return folder / "p"


def test_a_fault_of_go_leads_to_main_at_the_first_instruction_of_a_function_too(tmp_path, core):
    gdb(go_program(tmp_path, FAULT_OF_GO), core, "handle SIGSEGV nostop pass", "run", env=ALL_THREADS)
    text = unhex("symbolize", core).stdout
    first = text[text.index("Stack trace of thread"):].split("\n\n")[0]
    names = re.findall(r"^    (\S+) at ", first, re.M)
    assert names[names.index("runtime.sigpanic"):] == ["runtime.sigpanic", "main.bad", "main.middle", "main.main", "runtime.main",
                                                       "runtime.goexit"], text
    assert f"    main.bad at {tmp_path}/p.go:5" in first


def test_a_signal_of_go_leads_to_what_it_interrupted(tmp_path, core):
    program = go_program(tmp_path, BUSY_GO)

    def kill():
        found = wait_for(lambda: subprocess.run(["pgrep", "-f", f"^{program}$"], capture_output=True, text=True,
                                                check=False).stdout.split())
        pause_for(1, "its threads are at work")
        subprocess.run(["kill", f"-{signal.SIGQUIT.value}", found[0]], check=False)
    thread = threading.Thread(target=kill)
    thread.start()
    # The handler of SIGQUIT prints a stack, has each other thread do so, and the last one ends with SIGABRT.
    gdb(program, core, "handle SIGQUIT nostop pass", "handle SIGABRT stop pass", "run", env=ALL_THREADS)
    thread.join()
    text = unhex("symbolize", core).stdout
    stacks = [re.findall(r"^    (\S+) at ", s, re.M) for s in text.split("Stack trace of thread")[1:]]
    (through,) = [names for names in stacks if "main.main" in names] or [text]
    assert "runtime.sigtramp" in through and "runtime.sigreturn" in through, text
    at = through.index("runtime.sigreturn")
    assert "main.outer" in through[at:] and through[-2:] == ["runtime.main", "runtime.goexit"], text
