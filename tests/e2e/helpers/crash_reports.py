# SPDX-License-Identifier: Apache-2.0
"""Reports of real crashes: one stripped program that crashes in an inlined call, below qsort() of the C library"""
import os
import pathlib
import re
import shutil
import signal
import subprocess

from tool import build_id, compile_c
from waiting import wait_for

SOURCE = r"""
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int how;
static void maps(void)
{
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f))
		fputs(line, stdout);
	fflush(stdout);
}
static void report(int sig)
{
	void *frames[64];
	int n = backtrace(frames, 64);
	(void)sig;
	if (how == 'b')
		backtrace_symbols_fd(frames, n, 1);
	for (int i = 0; how == 'r' && i < n; i++)
		printf("%4d: %18p - <unknown>\n", i, frames[i]);
	if (how == 'r')
		maps();
	_exit(3);
}
__attribute__((always_inline)) static inline int inner(volatile int *p)
{
	return *p + 1;
}
__attribute__((noinline)) int middle(volatile int *p)
{
	return inner(p) * 2;
}
__attribute__((noinline)) static int outer(long n)
{
	return middle((volatile int *)n) + 1;
}
static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	return outer(0) + 1;
}
int main(int argc, char **argv)
{
	int values[3] = {3, 2, 1};
	how = argc > 1 ? argv[1][0] : 0;
	if (how == 'b' || how == 'r')
		signal(SIGSEGV, report);
	qsort(values, 3, sizeof(int), compare);
	printf("%d\n", values[0]);
	return 0;
}
"""

PANIC = """package main
import "os"
//go:noinline
func outer(v []int, n int) int { return v[n] }
func helper(v []int) int { return outer(v, len(os.Args)+9) }
func main() { println(helper([]int{1, 2})) }
"""

def line_of(text):
    return SOURCE[:SOURCE.index(text)].count("\n") + 1


# The functions of a stack, innermost first, from the crash on; whether each is inlined.
CHAIN = [("inner", line_of("return *p"), True), ("middle", line_of("return inner"), False),
         ("outer", line_of("return middle"), False), ("compare", line_of("return outer"), False)]


class Crash:
    """The program in its forms: whole below FOLDER/full, stripped at its place, its debug file by build ID."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.debug = self.folder / "debug"
        (self.folder / "full").mkdir()
        self.prog = self.make("prog")
        self.fixed = self.make("fixed", "-no-pie")
        self.asan = self.make("asan", "-fsanitize=address")

    def make(self, name, *flags):
        path = compile_c(self.folder, name, SOURCE, ("-O1", "-g", "-fno-optimize-sibling-calls", *flags))
        shutil.copy(path, self.folder / "full" / name)
        digits = build_id(path).split(":")[1]
        place = self.debug / ".build-id" / digits[:2] / f"{digits[2:]}.debug"
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["objcopy", "--only-keep-debug", path, place], check=True)
        subprocess.run(["strip", path], check=True)
        return path

    def run(self, path, *args, **environment):
        done = subprocess.run([path, *args], capture_output=True, check=False, timeout=60,
                              env={**os.environ, **environment}, cwd=self.folder, errors="replace", text=True)
        return done.stdout + done.stderr

    def backtrace(self):
        return self.run(self.prog, "b")

    def backtrace_fixed(self):
        """Of a program that is not position-independent: its lines have addresses alone."""
        return self.run(self.fixed, "b")

    def sanitizer(self):
        return self.run(self.asan, ASAN_OPTIONS="symbolize=0")

    def rust(self):
        """The form of Rust's standard library, with the mappings of the process below."""
        return self.run(self.prog, "r")

    def gdb(self, *commands):
        """A stack without symbols of the program, and what the commands print."""
        options = [word for command in ("run", "bt", *commands) for word in ("-ex", command)]
        return self.run("gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", *options, self.prog)

    def core(self):
        """The stack of a core dump, and where each module is in it."""
        path = self.folder / "core"
        self.gdb(f"generate-core-file {path}")
        return self.run("eu-stack", "-b", "-v", "--core", path)

    def coredump(self):
        """What systemd-coredump writes to the journal: the same stack by libdw, in its form."""
        lines, text = [], self.core()
        known = re.findall(r"#(\d+)\s+(0x\w+)( - 1)?[^\n]* - (\S+)\n\s+\[(\w+)\]@0x\w+\+(0x\w+)", text)
        modules = {module: digits for _, _, _, module, digits, _ in known if "/" not in module}
        lines += [f"                Module {name} with build-id {digits}" for name, digits in modules.items()]
        lines += ["                Stack trace of thread 1:"]
        seen = None
        for _, address, call, module, _, offset in known:
            if (address, offset) != seen:
                lines.append(f"                #{len(lines):<2} {address} n/a "
                             f"({module} + {int(offset, 16) + bool(call):#x})")
            seen = (address, offset)
        text = "\n".join(lines) + "\n"
        first = len(modules) + 1
        return re.sub(r"#(\d+)", lambda m: f"#{int(m.group(1)) - first}", text)

    def go(self, traceback="single"):
        source = self.folder / "panic.go"
        source.write_text(PANIC)
        program = self.folder / "panic"
        if not program.exists():
            subprocess.run(["go", "build", "-o", program, source], check=True, cwd=self.folder,
                           env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
        return self.run(program, GOTRACEBACK=traceback)

    def java(self):
        """hs_err of a JVM that got SIGSEGV while it slept."""
        (self.folder / "Sleep.java").write_text(
            "public class Sleep { public static void main(String[] a) throws Exception {"
            "System.out.println(1); Thread.sleep(600000); } }")
        log = self.folder / "hs_err.log"
        vm = subprocess.Popen(["java", f"-XX:ErrorFile={log}", self.folder / "Sleep.java"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert vm.stdout.readline()
        vm.send_signal(signal.SIGSEGV)
        vm.communicate(timeout=120)
        wait_for(lambda: "END." in log.read_text(errors="replace"))
        return log.read_text(errors="replace")


KERNEL = r"""
__attribute__((noinline)) int helper(int x) { return x * 7; }
__attribute__((noinline)) int vfs_read(int x) { return helper(x) + 1; }
__attribute__((noinline)) int do_syscall_64(int x) { return vfs_read(x) + 2; }
int main(void) { return do_syscall_64(1); }
"""
SAME = r"""
int other(int x);
__attribute__((noinline)) static int init(int x) { %s return x; }
int NAME(int x) { return init(x) + 1; }
"""


def kernel(folder):
    """A file with the functions of an oops, of which two have one name and different sizes."""
    folder = pathlib.Path(folder)
    path = folder / "vmlinux"
    files = []
    for name, body in (("one", "x += 1;"), ("two", "for (int i = 0; i < x; i++) x ^= other(x + i) * 3;")):
        source = folder / f"{name}.c"
        source.write_text((SAME % body).replace("NAME", name))
        files.append(source)
    (folder / "kernel.c").write_text(KERNEL + "int other(int x) { return x; }\nint one(int); int two(int);\n"
                                     "int (*keep[])(int) = {one, two};\n")
    subprocess.run(["gcc", "-O1", "-g", "-no-pie", "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-fno-ipa-pure-const",
                    "-o", path, folder / "kernel.c", *files], check=True)
    symbols = {}
    for line in subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4:
            symbols.setdefault(words[3], []).append((int(words[0], 16), int(words[1], 16)))
    return path, symbols
