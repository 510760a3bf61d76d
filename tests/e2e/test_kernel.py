# SPDX-License-Identifier: Apache-2.0
"""Code where a kernel has it: in the highest 2 GiB."""
import subprocess

import pytest

from tool import lines, symbol, unhex

SOURCE = """
extern int sink;
static inline __attribute__((always_inline)) int inner(int x)
{
	sink = x;
	return x * 3;
}
__attribute__((noinline)) int outer(int x)
{
	return inner(x) + 1;
}
int sink;
void _start(void)
{
	for (;;)
		outer(sink);
}
"""


@pytest.mark.parametrize("dwarf", [4, 5])
def test_code_at_a_kernels_address_keeps_lines_and_inlined_calls(tmp_path, dwarf):
    source, path = tmp_path / "k.c", tmp_path / "k"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-O2", "-g", f"-gdwarf-{dwarf}", "-mcmodel=kernel", "-fno-pie",
                    "-no-pie", "-static", "-nostdlib", "-Wl,-Ttext=0xffffffff81000000",
                    "-Wl,-Tdata=0xffffffff82000000", "-o", path, source], check=True)
    start, size = symbol(path, "outer")
    assert start >= 0xffffffff81000000
    out = lines(unhex("lookup", path, "--json", *[hex(start + i) for i in range(size)]))
    frames = [[(f["function"], f["line"]) for f in o["frames"]] for o in out]
    assert [("inner", 5), ("outer", 10)] in frames
    assert all(f[-1][0] == "outer" and f[-1][1] >= 9 for f in frames)
