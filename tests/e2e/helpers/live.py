# SPDX-License-Identifier: Apache-2.0
"""Live programs to ask about, and plain readers of what the system says of them."""
import bisect
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile

from tool import UNHEX, lines, unhex

# Says where its functions are, then follows commands: a letter a line on standard input.
TARGET = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
static inline __attribute__((always_inline)) int inlined_one(int x)
{
	return x * atoi("7");
}
__attribute__((noinline)) int named_function(int x)
{
	return inlined_one(x) + 1;
}
static void say(const char *what, uintptr_t where)
{
	printf("%s %#lx\n", what, (unsigned long)where);
	fflush(stdout);
}
int main(int argc, char **argv)
{
	char line[4096];
	void *code = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *data = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("pid", (uintptr_t)getpid());
	say("named_function", (uintptr_t)named_function);
	say("main", (uintptr_t)main);
	say("code", (uintptr_t)code);
	say("data", (uintptr_t)data);
	say("vdso", getauxval(AT_SYSINFO_EHDR));
	say("ready", 1);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] == 'l') { /* load a library */
			void *lib = dlopen(line + 2, RTLD_NOW);
			say("lib_function", (uintptr_t)(lib ? dlsym(lib, "lib_function") : NULL));
		} else if (line[0] == 'f') { /* a child that goes on alone */
			if (fork() == 0)
				for (;;)
					pause();
		} else if (line[0] == 'x') { /* become another program */
			execl(line + 2, line + 2, (char *)NULL);
		} else if (line[0] == 'd') { /* map a jitdump, as a run-time compiler does */
			FILE *f = fopen(line + 2, "r");
			say("mapped", (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
						      MAP_PRIVATE, fileno(f), 0));
		}
	}
	return argc > 1 ? named_function(argc) + (int)strlen(argv[1]) : 0;
}
"""


def compile_target(directory, name="target", flags=("-O1", "-g"), source=TARGET):
    path = pathlib.Path(directory) / name
    path.with_suffix(".c").write_text(source)
    subprocess.run(["gcc", *flags, "-Wl,--build-id", "-o", path, path.with_suffix(".c"), "-ldl"],
                   check=True)
    return path


class Live:
    """A running target: .where has what it said; .pid is its number here."""

    def __init__(self, process):
        self.process = process
        self.where = {}
        self.read_until("ready")
        self.pid = self.find_pid()

    def find_pid(self):
        """Under unshare and its like the target is a grandchild."""
        pid = self.process.pid
        while not self.is_target(pid):
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            pid = int(children[0])
        return pid

    @staticmethod
    def is_target(pid):
        return "target" in pathlib.Path(f"/proc/{pid}/comm").read_text() or \
            os.readlink(f"/proc/{pid}/exe").startswith("/memfd")

    def read_until(self, word):
        while True:
            line = self.process.stdout.readline()
            assert line, "the target has ended"
            key, value = line.split()
            self.where[key] = int(value, 16)
            if key == word:
                return self.where[key]

    def tell(self, text, answer=None):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.read_until(answer) if answer else None

    def ask(self, *addresses, options=(), env=None):
        return ask(self.pid, addresses, options, env)

    def __getitem__(self, key):
        return self.where[key]


@contextlib.contextmanager
def running(*command, **how):
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, **how)
    try:
        yield Live(process)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def ask(pid, addresses, options=(), env=None):
    """The answers for many addresses, through standard input."""
    text = "".join(f"{a:#x}\n" for a in addresses)
    result = unhex("proc", pid, "--json", *options, stdin=text, env=env)
    assert result.returncode in (0, 1), result.stderr
    answers = lines(result)
    assert [int(a["address"], 16) for a in answers] == list(addresses)
    return answers


def function(answer):
    """The name of the function that was not inlined, or None."""
    return answer["frames"][-1]["function"] if answer["frames"] else None


MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ (\d+) *(.*)")


def maps(pid):
    """(start, end, permissions, offset, path) of each mapping."""
    out = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        start, end, perm, off, _, path = MAP.fullmatch(line).groups()
        out.append((int(start, 16), int(end, 16), perm, int(off, 16), path))
    return out


def mapping_of(all_maps, address):
    at = bisect.bisect_right([m[0] for m in all_maps], address) - 1
    return all_maps[at] if at >= 0 and address < all_maps[at][1] else None


__all__ = ["UNHEX", "ask", "compile_target", "function", "mapping_of", "maps", "running"]


def may_record():
    """Whether this machine's kernel lets us record."""
    with tempfile.TemporaryDirectory() as folder:
        return "perf_event" not in unhex("record", "--duration", "200ms", "-o", f"{folder}/a.data", "--", "sleep", "1").stderr
