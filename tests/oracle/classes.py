# SPDX-License-Identifier: Apache-2.0
"""The table of differences: each class with its reason and the share it may explain.

A class is as narrow as it can be said: it names what each side answered, and asks the symbol table
and a second oracle, llvm-symbolizer on a copy of the file that has DWARF alone.
"""
import re

from compare import Class, plain


def _only_outer_name_differs(case):
    if not case.ours or len(case.ours) != len(case.theirs or []):
        return False
    pairs = list(zip(case.ours, case.theirs))
    return (all(o.function == t.function for o, t in pairs[:-1])
            and all(o.line == t.line and plain(o.file) == plain(t.file) for o, t in pairs))


def _same_start(case, ours, theirs):
    """Both are symbols, and start at one address, before the one in question."""
    starts = case.about.starts
    shared = starts.get(ours, set()) & starts.get(theirs, set())
    return any(start <= case.address for start in shared)


def _by_dwarf(case, name):
    frames = case.about.dwarf_only(case.address)
    return bool(frames) and frames[-1].function == name


def _cold_part(case):
    return (_only_outer_name_differs(case) and re.fullmatch(
        re.escape(case.ours[-1].function) + r"\.cold(\.\d+)?", case.theirs[-1].function))


def _alias(case):
    return _only_outer_name_differs(case) and _same_start(
        case, case.ours[-1].function, case.theirs[-1].function)


def _dwarf_name(case):
    return _only_outer_name_differs(case) and _by_dwarf(case, case.ours[-1].function)


def _unit_name(case):
    """Theirs is a file symbol's bare name without a line, and DWARF has no row either."""
    if len(case.ours) != 1 or len(case.theirs) != 1:
        return False
    ours, theirs = case.ours[0], case.theirs[0]
    by_dwarf = case.about.dwarf_only(case.address)
    return (ours.line == theirs.line == 0 and "/" not in theirs.file
            and not (by_dwarf and by_dwarf[0].file)
            and (ours.function == theirs.function or _by_dwarf(case, ours.function)
                 or f"{ours.function}.cold" == theirs.function))


def _padding(case):
    return case.ours == [] and len(case.theirs) == 1 and case.theirs[0].function == ""


def _past_symbol(case):
    """Every symbol of that name ends before the address, or is of another section."""
    if case.ours != [] or len(case.theirs) != 1 or case.theirs[0].line != 0:
        return False
    elf = case.about.elf
    section = elf.section_of(case.address)
    named = [s for s in elf.symbols if s.name == case.theirs[0].function]
    return bool(named) and not any(
        s.value <= case.address < s.value + s.size
        or s.size == 0 and elf.section_of(s.value) == section for s in named)


def _dropped(case):
    return case.ours == [] and not case.about.elf.is_code(case.address)


SYMBOLIZER = [
    Class("cold part",
          "the compiler moved unlikely code of a function away, and the symbol table calls that "
          "f.cold; ours is the function's name", 0.02, _cold_part),
    Class("alias",
          "several symbols start where the function does (glob and __glob, versions behind an @, C1 "
          "and C2); llvm-symbolizer shows its choice of them, we the one that DWARF names, or the "
          "best known", 0.25, _alias),
    Class("DWARF's name",
          "llvm-symbolizer names the outermost frame by the symbol table, also where the address "
          "belongs to a function that DWARF calls otherwise; ours is DWARF's name",
          0.002, _dwarf_name),
    Class("name of the unit",
          "no row of a line table covers the address; llvm-symbolizer then gives the bare file "
          "name of a file symbol, without a line", 0.02, _unit_name),
    Class("padding",
          "no function covers the address, but rows of the line table reach over the padding; "
          "llvm-symbolizer gives a place without a function, we give nothing", 0.005, _padding),
    Class("past the symbol",
          "the address lies past the end of the symbol that llvm-symbolizer gives it to, or in "
          "another section (_init for the stubs of .plt)", 0.01, _past_symbol),
    Class("dropped by the linker",
          "no section holds code there; DWARF of discarded functions begins at 0",
          0.02, _dropped),
]

# llvm-gsymutil says "error: address is not in GSYM" where we say "frames":[]; peers.py makes both
# empty. There is no other difference.
GSYMUTIL = []
