# SPDX-License-Identifier: Apache-2.0
"""Which addresses of a file to ask about: the same every time, of every kind that may go wrong."""
import random
import re
import subprocess

from elfread import X86_64

CALL = 0xE8  # call rel32 of x86-64

_SPAN = re.compile(r"0x([0-9a-f]+)-0x([0-9a-f]+)")
_ROW = re.compile(r"^ *row 0x([0-9a-f]+) ", re.M)
_INLINED = re.compile(r"^ *inlined .*$", re.M)
_FUNCTION = re.compile(r"^function 0x([0-9a-f]+)-0x([0-9a-f]+) ", re.M)


def _dump(unhex, gsym):
    """The text of a GSYM in pieces of whole lines, some megabytes each."""
    with subprocess.Popen([unhex, "gsym", "dump", str(gsym)], stdout=subprocess.PIPE) as run:
        rest = b""
        while piece := run.stdout.read(1 << 22):
            whole, _, rest = (rest + piece).rpartition(b"\n")
            yield whole.decode("utf-8", "replace")
        yield rest.decode("utf-8", "replace")
        if run.wait() != 0:
            raise RuntimeError(f"unhex gsym dump {gsym}: status {run.returncode}")


def _of_gsym(unhex, gsym):
    """Starts and last bytes of records, starts of rows, edges of inlined calls."""
    ends, rows, edges = set(), set(), set()
    for text in _dump(unhex, gsym):
        for low, high in _FUNCTION.findall(text):
            ends.update((int(low, 16), int(high, 16) - 1))
        rows.update(int(a, 16) for a in _ROW.findall(text))
        for line in _INLINED.findall(text):
            for low, high in _SPAN.findall(line):
                edges.update((int(low, 16), int(high, 16) - 1))
    return ends, rows, edges


def _calls(elf):
    """Addresses of call instructions, where the file holds its code: a 0xe8 whose target is the
    start of a function can hardly be anything else."""
    found = set()
    if elf.machine != X86_64:
        return found
    starts = {s.value for s in elf.functions()}
    for low, code in elf.code_bytes():
        at = code.find(CALL)
        while 0 <= at <= len(code) - 5:
            target = low + at + 5 + int.from_bytes(code[at + 1:at + 5], "little", signed=True)
            if target in starts:
                found.add(low + at)
            at = code.find(CALL, at + 1)
    return found


def choose(unhex, gsym, elf, code, count, bias=0):
    """At most `count` addresses of elf, ascending: a third of them random ones in code, the others
    from edges: records, symbols, rows, inlined calls, calls (where the file `code` has bytes).
    `bias` is what elf's addresses are above those of the GSYM."""
    dice = random.Random(count)
    ends, rows, edges = ({a + bias for a in kind} for kind in _of_gsym(unhex, gsym))
    ends.update(s.value for s in elf.functions())
    ends.update(s.value + s.size - 1 for s in elf.functions() if s.size)
    wanted = set()
    for kind in (ends, rows, edges, _calls(code)):
        inside = sorted(a for a in kind if elf.is_code(a))
        wanted.update(dice.sample(inside, min(len(inside), count // 6)))
    sizes = [high - low for low, high in elf.code]
    most = min(count, sum(sizes) // 2)
    while len(wanted) < most:
        low, high = dice.choices(elf.code, sizes)[0]
        wanted.add(dice.randrange(low, high))
    return sorted(wanted)
