# SPDX-License-Identifier: Apache-2.0
"""The table of differences: each class with its reason and the share it may explain.

A class is as narrow as it can be said: it names what each side answered, and for names it asks a
second oracle, llvm-symbolizer on a copy of the file without a symbol table.
"""
from compare import Class, plain


def _same_but_outer_name(case):
    if not case.ours or len(case.ours) != len(case.theirs or []):
        return False
    pairs = list(zip(case.ours, case.theirs))
    return (all(o.function == t.function for o, t in pairs[:-1])
            and all(o.line == t.line and plain(o.file) == plain(t.file) for o, t in pairs))


def _symbol_name(case):
    """Theirs is a symbol's name that the address lies in, ours the one that DWARF gives."""
    if not _same_but_outer_name(case):
        return False
    by_dwarf = case.about.dwarf_only(case.address)
    return bool(by_dwarf) and case.ours[-1].function == by_dwarf[-1].function


def _alias(case):
    """Both names are symbols of one start, and DWARF says nothing."""
    if not _same_but_outer_name(case) or case.about.dwarf_only(case.address):
        return False
    starts = case.about.starts
    mine = starts.get(case.ours[-1].function, set())
    return bool(mine & starts.get(case.theirs[-1].function, set()))


def _dropped(case):
    """The linker threw the function away; its DWARF now names addresses without code."""
    return case.ours == [] and not case.about.elf.is_code(case.address)


SYMBOLIZER = [
    Class("symbol table's name",
          "llvm-symbolizer names the outermost frame by the symbol table (.cold, .constprop, "
          "aliases of libc, C1 for C4); ours is DWARF's linkage name", 0.35, _symbol_name),
    Class("alias",
          "several symbols start there and no DWARF names the function; each side has its rule",
          0.02, _alias),
    Class("dropped by the linker",
          "no section holds code at the address; DWARF of discarded functions begins at 0",
          0.02, _dropped),
]

GSYMUTIL = [
]
