# SPDX-License-Identifier: Apache-2.0
"""Running the command, and making binaries for it to work on."""
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
UNHEX = os.environ.get("UNHEX_BIN") or os.environ.get("UNHEX") or str(ROOT / "build/cli/unhex")

SOURCE = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) int inner(int x)
{
	return x * atoi("7");
}
static inline __attribute__((always_inline)) int middle(int x)
{
	return inner(x) + 1;
}
__attribute__((noinline)) int outer(int x)
{
	return middle(x) + atoi("1");
}
int main(int argc, char **argv)
{
	(void)argv;
	return outer(argc);
}
"""


def unhex(*args, stdin=None, env=None, cwd=None, timeout=120):
    """Runs the command; environment variables of a server are the test's alone."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX_") or k == "UNHEX_CACHE"}
    clean.update(env or {})
    return subprocess.run([UNHEX, *map(str, args)], input=stdin, env=clean, cwd=cwd, text=True,
                          stdin=None if stdin is not None else subprocess.DEVNULL,
                          capture_output=True, timeout=timeout)


def cuda_toolkit():
    """Where a CUDA toolkit is that compiles and has CUPTI; None without one."""
    for place in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        path = pathlib.Path(place) if place else None
        if path and (path / "bin/nvcc").exists() and any(path.glob("**/libcupti.so.1*")):
            return path
    return None


def lines(result):
    """The objects of --json."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def fails(result, status, *words):
    """One line on stderr with all the words in it, and the exit status."""
    assert result.returncode == status, (result.returncode, result.stderr)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("unhex: ")
    for word in words:
        assert str(word) in result.stderr, result.stderr


def compile_c(directory, name="prog", source=SOURCE, flags=("-O2", "-g")):
    """A program with inlined calls; its source is DIRECTORY/NAME.c."""
    path = pathlib.Path(directory) / name
    path.with_suffix(".c").write_text(source)
    subprocess.run(["gcc", *flags, "-Wl,--build-id", "-o", path, path.with_suffix(".c")],
                   check=True)
    return path


def stripped(path, name=None):
    """A copy without debug information and symbol table, and the debug file beside it."""
    out = path.with_name(name or path.name + ".stripped")
    debug = path.with_name(out.name + ".debug")
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["strip", "-o", out, path], check=True)
    return out, debug


def build_id(path):
    return lines(unhex("id", "--quick", "--json", path))[0]["ids"][0]


def instructions(path, function):
    """Addresses of the instructions of a function, as objdump says."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True,
                          check=True).stdout
    body = text.split(f"<{function}>:\n")[1].split("\n\n")[0]
    return [int(line.split(":")[0], 16) for line in body.splitlines()]


def symbol(path, name):
    """Address and size of a function, as nm says."""
    for line in subprocess.run(["nm", "-S", path], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[3] == name:
            return int(words[0], 16), int(words[1], 16)
    raise KeyError(name)


def perfs():
    """The system's perf and, once tools/peers.sh has unpacked it, that of Debian's unstable."""
    found = ["perf"]
    r = subprocess.run([ROOT / "tools/peers.sh", "perf", "--installed"], capture_output=True, text=True)
    return found + [r.stdout.strip() + "/perf"] if r.returncode == 0 else found
