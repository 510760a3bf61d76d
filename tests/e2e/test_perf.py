# SPDX-License-Identifier: Apache-2.0
"""perf, which runs whatever `addr2line` is on its PATH."""
import os
import re
import subprocess

import pytest

from tool import UNHEX

SOURCE = r"""
struct Field { unsigned cells[512]; unsigned step(unsigned k); unsigned turn(unsigned k); };
inline __attribute__((always_inline)) unsigned mix(unsigned x, unsigned k)
{
	for (int i = 0; i < 4; i++)
		x = x * k + 1;
	return x;
}
inline __attribute__((always_inline)) unsigned Field::step(unsigned k)
{
	unsigned sum = 0;
	for (auto &c : cells)
		sum += c = mix(c, k);
	return sum;
}
__attribute__((noinline)) unsigned Field::turn(unsigned k)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < 2000; i++)
		sum += step(k + i);
	return sum;
}
int main()
{
	static Field field;
	unsigned sum = 0;
	for (unsigned i = 0; i < 40; i++)
		sum += field.turn(i);
	return sum & 1;
}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("perf")
    (folder / "field.cc").write_text(SOURCE)
    subprocess.run(["g++", "-O2", "-g", "-static", "-o", "field", "field.cc"], check=True,
                   cwd=folder)
    r = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "997", "--call-graph",
                        "dwarf,1024", "-o", "perf.data", "./field"], cwd=folder, capture_output=True,
                       text=True)
    if re.search("permission|not permitted|sys_perf_event_open", r.stderr, re.I):
        pytest.skip("this machine's kernel allows no recording")
    assert r.returncode == 0, r.stderr
    (folder / "bin").mkdir()
    os.symlink(UNHEX, folder / "bin/addr2line")
    return folder


@pytest.mark.parametrize("args,words", [
    (["report", "--inline", "--stdio", "--no-children"], ["(inlined)", "Field::turn"]),
    (["report", "--inline", "--stdio", "-g", "caller"], ["(inlined)"]),
    (["script", "--inline"], ["(inlined)"]),
    (["script", "-F", "ip,sym,srcline"], ["field.cc:"]),
    (["report", "--stdio", "-g", "none", "-s", "srcline,sym"], ["field.cc:"]),
], ids=lambda x: " ".join(x))
def test_perf_says_the_same_with_our_addr2line(recorded, args, words):
    texts = []
    for path in os.environ["PATH"], f"{recorded}/bin:{os.environ['PATH']}":
        r = subprocess.run(["perf", *args, "-i", "perf.data"], cwd=recorded,
                           env={**os.environ, "PATH": path, "PERF_PAGER": "cat"}, capture_output=True,
                           text=True, timeout=120)
        texts.append(re.sub(r"^# \(Tip.*", "", r.stdout, flags=re.M))
    assert texts[1] == texts[0]
    for word in words:
        assert word in texts[1]
