# SPDX-License-Identifier: Apache-2.0
"""Kernel modules and other files as distributions ship them: compressed, with a signature behind."""
import gzip
import lzma
import os
import subprocess

import pytest

from tool import compile_c, fails, lines, unhex

MODULE = r"""
static int helper(int x) { return x * 3 + 1; }
__attribute__((noinline)) int module_function(int x) { return helper(x) + helper(x + 1); }
__attribute__((section(".init.text"))) int init_module(void) { return module_function(2); }
"""
SIGNATURE = b"\x30\x82" + bytes(500) + b"\0\0\0\0\0\0\0\0\0\0\x01\xf6~Module signature appended~\n"


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, check=True,
                          capture_output=True).stdout


PACKERS = {
    "xz": lambda data: lzma.compress(data, check=lzma.CHECK_CRC32),
    "xz -9": lambda data: lzma.compress(data, preset=9),
    "zst": zstd,
    "zst --ultra -22": lambda data: zstd(data, "--ultra", "-22", "--long=27"),
    "gz": gzip.compress,
    "gz of two": lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:]),
}


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """A relocatable file with a signature behind it."""
    path = compile_c(tmp_path_factory.mktemp("packed"), "module", MODULE, ["-c", "-O1", "-g"])
    out = path.with_suffix(".ko")
    out.write_bytes(path.read_bytes() + SIGNATURE)
    return out


@pytest.mark.parametrize("kind", PACKERS)
def test_a_packed_module_is_what_is_in_it(module, tmp_path, kind):
    packed = tmp_path / f"module.ko.{kind.split()[0]}"
    packed.write_bytes(PACKERS[kind](module.read_bytes()))
    addresses = [hex(a) for a in range(0, 64, 3)]
    expected = unhex("lookup", "--json", module, *addresses)
    assert "module_function" in expected.stdout and '"line":3' in expected.stdout
    assert unhex("lookup", "--json", packed, *addresses).stdout == expected.stdout
    assert unhex("extract", module, "-o", tmp_path / "plain.gsym").returncode == 0
    result = unhex("extract", packed, "-o", tmp_path / "packed.gsym")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "plain.gsym").read_bytes() == (tmp_path / "packed.gsym").read_bytes()
    ids = [lines(unhex("id", "--json", p))[0]["ids"][0] for p in (module, packed)]
    assert ids[0] == ids[1]


def test_a_packed_debug_file_gives_its_lines(tmp_path):
    program = compile_c(tmp_path)
    debug = tmp_path / "prog.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    (tmp_path / "prog.debug.xz").write_bytes(lzma.compress(debug.read_bytes()))
    for name in ("prog.debug", "prog.debug.xz"):
        result = unhex("extract", program, "-d", tmp_path / name, "-o", tmp_path / f"{name}.gsym")
        assert result.returncode == 0, result.stderr
    assert (tmp_path / "prog.debug.gsym").read_bytes() == \
        (tmp_path / "prog.debug.xz.gsym").read_bytes()


@pytest.mark.parametrize("kind", ["xz", "zst", "gz"])
def test_damage_and_bombs_are_reported(module, tmp_path, kind):
    cut = tmp_path / f"cut.ko.{kind}"
    data = PACKERS[kind](module.read_bytes())
    cut.write_bytes(data[:-20])
    fails(unhex("lookup", cut, "0x0"), 1, kind[:2] if kind != "zst" else "zstd")
    bomb = tmp_path / f"bomb.ko.{kind}"
    bomb.write_bytes(PACKERS[kind](bytes(400 << 20)))
    assert os.stat(bomb).st_size < 2 << 20
    fails(unhex("lookup", bomb, "0x0"), 1, "32 times its size")
    text = tmp_path / f"text.{kind}"
    text.write_bytes(PACKERS[kind](b"no binary at all"))
    fails(unhex("lookup", text, "0x0"), 1, "expected an ELF")
