# SPDX-License-Identifier: Apache-2.0
"""The table of differences: each class with its reason.

A class is as narrow as it can be said. It sees the case (ours, everybody's answers, the symbol
table) and the frames of the oracle that differs; of "no tool agrees" there is no single oracle.
"""
from score import Class


def _symbols_named(case, name):
    elf = case.target.elf
    return [s for s in elf.symbols if name in (s.name, s.name.split("@")[0])]


def _covers(case, symbol):
    return symbol.value <= case.address < symbol.value + symbol.size


def _outer_name_alone(case, theirs):
    return bool(case.ours) and case.verdict_of(theirs) == {"function"} and all(
        case.names.compare(o.function, t.function) for o, t in zip(case.ours[:-1], theirs[:-1]))


def _past_symbol(case, theirs):
    """Every symbol of that name ends before the address, or is of another section."""
    if case.ours or len(theirs) != 1:
        return False
    elf = case.target.elf
    section = elf.section_of(case.address)
    named = _symbols_named(case, theirs[0].function)
    return bool(named) and not any(
        _covers(case, s) or s.size == 0 and elf.section_of(s.value) == section for s in named)


def _symbol_alone(case, theirs):
    """One frame of another name, and where ours has no file the one that the symbol is of."""
    return (len(case.ours) == len(theirs) == 1 and not case.ours[0].file and theirs[0].line == 0
            and _names_a_unit(case, theirs[0].file))


def _label(case, theirs):
    """Theirs has no size and lies inside of ours, which has one and covers the address."""
    return ((_outer_name_alone(case, theirs) or _symbol_alone(case, theirs))
            and any(_covers(case, s) for s in _symbols_named(case, case.ours[-1].function))
            and any(s.size == 0 and s.value <= case.address
                    for s in _symbols_named(case, theirs[-1].function)))


def _dwarf_name(case, theirs):
    """gimli, which reads DWARF alone, has our name."""
    return ((_outer_name_alone(case, theirs) or _symbol_alone(case, theirs))
            and case.verdict_of(case.answers["gimli"]) == set())


def _in_supplementary(case, theirs):
    """As many frames, the same places; only names are missing."""
    if not case.target.supplementary or len(theirs) != len(case.ours):
        return False
    return all((t.function == "" or case.names.compare(o.function, t.function))
               and o.line == t.line for o, t in zip(case.ours, theirs))


def _only_supplementary(case, theirs):
    """llvm-symbolizer's answer is ours but for such names, whatever elfutils (theirs) says."""
    del theirs
    return _in_supplementary(case, case.answers["llvm"])


def _names_a_unit(case, name):
    """A file symbol's: mostly a bare name; NASM writes the last characters of a path."""
    return "/" not in name or name in case.target.elf.file_symbols


def _file_symbol(case, theirs):
    """A file symbol's name without a line, where no row covers the address."""
    return (case.verdict_of(theirs) == {"file"} and not case.ours[-1].file
            and theirs[-1].line == 0 and _names_a_unit(case, theirs[-1].file))


def _outside_units(case, theirs):
    """The same, though a row of a line table does cover it."""
    return (case.verdict_of(theirs) <= {"file", "line"} and len(case.ours) == 1
            and theirs[0].line == 0 and "/" not in theirs[0].file
            and case.answers["gimli"] == [])


def _only_symbols(case, theirs):
    return not theirs and len(case.ours) == 1 and any(
        _covers(case, s) or s.size == 0 and s.value <= case.address
        for s in _symbols_named(case, case.ours[0].function))


def _no_code_symbol(case, theirs):
    """The name is of a symbol that is neither a function nor untyped."""
    return not case.ours and len(theirs) == 1 and theirs[0].line == 0 and not _symbols_named(
        case, theirs[0].function)


def _call_file_0(case, theirs):
    """Only a caller's file is missing."""
    return case.verdict_of(theirs) == {"file"} and all(
        t.file == "" or o.file == t.file or number == 0
        for number, (o, t) in enumerate(zip(case.ours, theirs)))


def _bare_name(case, theirs):
    """Only names differ, and llvm-symbolizer has ours."""
    return case.verdict_of(theirs) == {"function"} and (
        "function" not in case.verdict_of(case.answers["llvm"]))


def _llvm_has_ours(case):
    """But for names that dwz moved."""
    llvm = case.answers["llvm"]
    return case.verdict_of(llvm) == set() or _in_supplementary(case, llvm)


def _overlap(case, theirs):
    """One function, and the same innermost place, but a different stack between: DWARF has several
    functions, or several units' copies of one, on this range."""
    return bool(theirs and case.ours) and _llvm_has_ours(case)


def _no_function(case, theirs):
    """Nothing, or the place of a row alone; llvm-symbolizer has ours, but for names that dwz moved."""
    return not theirs and _llvm_has_ours(case)


def _no_row(case, _):
    """llvm's is a file symbol's, elfutils' the last row before the gap."""
    return (len(case.ours) == 1 and case.ours[0].line == 0 and not case.ours[0].file
            and _file_symbol(case, case.answers["llvm"]))


def _scopes(case, _):
    """No DWARF function is there; llvm's is a file symbol's; elfutils has frames more than the
    place of the row, which is ours."""
    referee = case.answers.get("elfutils", [])
    return (_only_symbols(case, case.answers["gimli"]) and len(referee) > 1
            and not case.verdict_of(referee[:1])
            and _outside_units(case, case.answers["llvm"]))


def _go_wrapper(case, theirs):
    """Ours ends with a method that Go's compiler made up around the one that theirs calls by its
    name, at the same place."""
    return (len(case.ours) > 1 and case.ours[-1].file == "<autogenerated>" and len(theirs) > 0
            and len(theirs) == len(case.ours) - 1
            and theirs[0].line in (0, case.ours[0].line)
            and case.names.compare(case.ours[-1].function, theirs[-1].function))


def _go_wrappers(case, _):
    return _go_wrapper(case, case.answers["llvm"]) and _go_wrapper(case, case.answers["gimli"])


def _go_line(case, theirs):
    """Only lines differ, in Go."""
    return (case.verdict_of(theirs) == {"line"}
            and all(frame.file.endswith(".go") for frame in case.ours))


def _go_lines(case, _):
    return _go_line(case, case.answers["llvm"]) and _go_line(case, case.answers["gimli"])


def _stub(case, _):
    """Every other tool has nothing, or the last symbol in front of the stubs."""
    return len(case.ours) == 1 and case.ours[0].function.endswith("@plt")


_PAST = Class("past the symbol",
              "the address lies past the end of the symbol that it is given to, or in another "
              "section (_init for the stubs of .plt); no symbol and no DWARF function covers it",
              _past_symbol)
_LABEL = Class("label inside",
               "a label without a size lies inside a function with a size that covers the address; "
               "the last label before the address is taken for the function", _label)
_ONLY_SYMBOLS = Class("only in the symbol table",
                      "no DWARF function covers the address (assembly, start files); gimli reads "
                      "no symbol table", _only_symbols)

_GO_WRAPPER = Class("method that Go made up",
                    "(*T).M around T.M, which was inlined: Go's tables (and its tracebacks) say so, "
                    "its DWARF before 1.20 has the lines of T.M and no call", _go_wrapper)
_GO_LINE = Class("line in Go",
                 "the lines of calls in files that cgo rewrote are some lines off in Go's DWARF, but "
                 "right in its tables: net.copyIP calls x.To16() in line 343 and not 346 of "
                 "cgo_unix.go; and DWARF leaves out what is no statement (math/big.nat.expNN at "
                 "0x4e6359: 924 for 926)", _go_line)
_STUB = Class("stub", "the stubs of .plt have no symbol; we name them by what they load", _stub)

CLASSES = {
    "llvm": [
        _GO_WRAPPER, _GO_LINE, _STUB,
        _PAST, _LABEL,
        Class("data in code",
              "the symbol is STT_OBJECT or the like (GHC's info tables); we take functions and "
              "untyped labels of code", _no_code_symbol),
        Class("DWARF's name",
              "llvm-symbolizer names the outermost function by the symbol table (MAIN__ for "
              "Fortran's heat, one of several merged functions' names); ours is DWARF's name, and "
              "gimli's", _dwarf_name),
        Class("supplementary file",
              "the function's name is in the file that dwz made, which llvm-symbolizer does not "
              "read", _in_supplementary),
        Class("file symbol",
              "no row of a line table covers the address; llvm-symbolizer then gives the bare name "
              "of a file symbol", _file_symbol),
        Class("outside of the units",
              "a row of a line table covers the address, but DW_AT_ranges of no unit do (what Ada "
              "generates); llvm-symbolizer gives the bare name of a file symbol", _outside_units),
    ],
    "gimli": [
        _GO_WRAPPER, _GO_LINE, _STUB,
        _ONLY_SYMBOLS,
        Class("call file 0",
              "gimli 0.27 takes DW_AT_call_file 0 for none, as it was before DWARF 5; there it is "
              "the unit's own file, which clang writes", _call_file_0),
        Class("name without a linkage name",
              "gimli gives DW_AT_name alone; ours is the symbol's name or says what the function "
              "stands in, llvm-symbolizer has ours", _bare_name),
        Class("overlapping functions",
              "GNU ld points the debug information of every dropped copy of a COMDAT function at "
              "the copy that it kept, so that several units claim the range; gimli takes the file "
              "of one and the inlined calls of another, llvm-symbolizer says what we say",
              _overlap),
        Class("function not found",
              "DWARF's function covers the address, mostly with its cold part (create_shdrs of gold "
              "at 0x4675b of s390x's, of the range [0x46750, 0x46765)); gimli gives the row's place "
              "and no function, llvm-symbolizer what we give", _no_function),
    ],
    "none": [
        Class("method that Go made up", "as above: no other tool reads Go's tables", _go_wrappers),
        Class("line in Go", "as above", _go_lines),
        _STUB,
        Class("no row",
              "no row of a line table covers the address (crtstuff.c is built without -g): "
              "llvm-symbolizer gives the bare name of a file symbol, elfutils the last row in "
              "front of the gap, of another function; we give the function alone", _no_row),
        Class("supplementary file, and scopes of elfutils",
              "llvm-symbolizer has our frames, files and lines, but not the names that are in the "
              "file that dwz made, which it does not read; elfutils, which reads it, leaves out "
              "frames there: in arm64's gold 0x7c7fc it gives get_section_contents the place of "
              "the destructor that was inlined into it", _only_supplementary),
        Class("scopes of elfutils",
              "no DWARF function covers the address; elfutils adds the call of one that was "
              "inlined elsewhere: in bank.adb 0x9070 gets bank__accounts__next__4, whose only "
              "range near it is [0x904c, 0x9066); llvm-symbolizer gives a file symbol's name",
              _scopes),
    ],
}
