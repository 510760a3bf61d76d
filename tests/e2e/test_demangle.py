# SPDX-License-Identifier: Apache-2.0
"""Names of real libraries against c++filt and llvm-cxxfilt; what is left of differences is listed."""
import pathlib
import re
import subprocess

import pytest

from tool import UNHEX

TOOL = pathlib.Path(UNHEX).resolve().parents[1] / "bench/demangle"
LIBRARIES = ["libLLVM*.so*", "libclang-cpp.so*", "libstdc++.so.6", "libboost_*.so*", "libicu*.so*",
             "libgtest*.so*", "libgmpxx.so*", "libapt-pkg.so*"]
NAMES_MAX = 60_000

# Patterns of names whose text is another than that of binutils 2.40, and why ours is meant.
NOT_AS_GNU = [
    (r"IJ.*E", "an empty pack leaves no comma behind"),
    (r"Ut", "an unnamed type is no substitution by itself"),
    (r"C[45]I", "T_ of a constructor template is its own argument"),
    (r"K.*K", "const is written once"),
    (r"S[0-9A-Z]*_", "T_ behind a substitution is the argument of the template around it"),
    (r"_ZGR", "the reference temporary of a name without a number"),
    (r"D[0-5]", "the destructor of a lambda is named after the lambda"),
]
# The same for LLVM 19.
NOT_AS_LLVM = [
    (r"K.*K", "const is written once"),
    (r"S[0-9A-Z]*_", "T_ behind a substitution is the argument of the template around it"),
    (r"cl|ix|sr|oo|aa|nt|de", "expressions have binutils' parentheses"),
    (r"D[0-5]", "the destructor of a lambda is named after the lambda"),
    (r"U[lt]|Dv|L_Z", "an entity inside of a function is written without its return type"),
]


def names_of(patterns):
    names = set()
    for pattern in patterns:
        for folder in "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/llvm-19/lib":
            for path in sorted(pathlib.Path(folder).glob(pattern))[:6]:
                text = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True,
                                      text=True).stdout
                names.update(re.findall(r"^\S+ \S (_Z[^@\s]+)", text, re.M))
    every = sorted(names)
    return every[::max(1, len(every) // NAMES_MAX)]


@pytest.fixture(scope="module")
def names():
    found = names_of(LIBRARIES)
    assert len(found) > 5_000
    return found


def filtered(command, names):
    text = subprocess.run(command, input="\n".join(names) + "\n", text=True, capture_output=True,
                          check=True, timeout=300).stdout
    lines = text.splitlines()
    assert len(lines) == len(names)
    return lines


def plain(text):
    """binutils leave the space of "> >" out where a pack was empty; c++filt spells streams out."""
    while "> >" in text:
        text = text.replace("> >", ">>")
    text = text.replace("std::basic_string<char, std::char_traits<char>, std::allocator<char>>",
                        "std::string")
    return re.sub(r"std::basic_(io|o|i)stream<char, std::char_traits<char>>", r"std::\1stream", text)


def unexplained(names, theirs, ours, patterns, most):
    """Names that only we know are no differences; those that only they know are."""
    differ = [(n, t, o) for n, t, o in zip(names, theirs, ours) if plain(t) != plain(o) and t != n]
    assert len(differ) <= len(names) * most
    return [d for d in differ if not any(re.search(p, d[0]) for p, _ in patterns)]


def test_names_read_as_binutils_write_them(names):
    ours = filtered([TOOL], names)
    assert unexplained(names, filtered(["c++filt"], names), ours, NOT_AS_GNU,
                       most=0.001) == []  # 69 of 310,000


def test_names_read_as_llvm_writes_them_on_request(names):
    ours = filtered([TOOL, "--llvm"], names)
    theirs = filtered(["/usr/lib/llvm-19/bin/llvm-cxxfilt"], names)
    assert unexplained(names, theirs, ours, NOT_AS_LLVM, most=0.005) == []  # 503 of 310,000


def library_names(patterns, mark):
    """Names of any mangling in libraries that may not be there."""
    names = set()
    for pattern in patterns:
        for path in sorted(pathlib.Path("/").glob(pattern))[:4]:
            text = subprocess.run(["nm", "-D", path], capture_output=True, text=True).stdout
            names.update(re.findall(rf"^\S* +\S ({mark}[^@\s]+)", text, re.M))
    every = sorted(names)
    return every[::max(1, len(every) // NAMES_MAX)]


def test_no_name_that_another_tool_reads_is_left(names):
    ours = filtered([TOOL], names)
    for tool in ["c++filt"], ["/usr/lib/llvm-19/bin/llvm-cxxfilt"]:
        theirs = filtered(tool, names)
        assert [n for n, t, o in zip(names, theirs, ours) if t != n and o == n] == []


# Texts of D that are others than those of binutils 2.40.
NOT_AS_GNU_D = [(r"NkM", "return scope, as compilers write it today")]


def test_d_names_read_as_binutils_write_them():
    names = library_names(["usr/lib/x86_64-linux-gnu/libg*phobos.so*", "usr/lib/*/libgdruntime.so*",
                           "usr/lib/*/libphobos2-ldc-shared.so*"], "_D")
    if not names:
        pytest.skip("no library of D is installed")
    ours, theirs = filtered([TOOL], names), filtered(["c++filt", "-s", "dlang"], names)
    assert unexplained(names, theirs, ours, NOT_AS_GNU_D, most=0.001) == []
    left = [n for n, o in zip(names, ours) if n == o and re.match(r"_D\d", n)]
    assert left == ["_D4core6memory10initialize"][:len(left)]  # druntime's own, extern (C)


def test_rust_names_read_as_llvm_writes_them():
    """c++filt has the same text with hashes."""
    names = library_names(["usr/lib/*/librustc_driver-*.so",
                           "root/.rustup/toolchains/*/lib/librustc_driver-*.so"], "_R")
    if not names:
        pytest.skip("no library of Rust is installed")
    names = [n for n in names if re.match(r"_R[A-Z]", n) and "." not in n]
    theirs = filtered(["/usr/lib/llvm-19/bin/llvm-cxxfilt"], names)
    differ = zip(names, filtered([TOOL], names), theirs)
    assert [(n, o, t) for n, o, t in differ if t not in (o, n)] == []


def test_short_names_have_no_parameters_and_elided_ones_no_arguments(names):
    full, short, elided = [filtered([TOOL, *how], names)
                           for how in ([], ["--short"], ["--templates-elided"])]
    for name, f, s, e in zip(names, full, short, elided):
        assert len(s) <= len(f) and len(re.sub("<...>", "<>", e)) <= len(s), name
        if not re.search(r"operator|lambda|\(|'", s):
            assert re.sub(r"<.*>", "", e) == re.sub(r"<.*>", "", s), name


def test_a_list_of_languages():
    """The tools' own texts for names of compilers that need not be installed."""
    pairs = {
        "_RNvNtCs8a2262Dv4r_3std2rt10lang_start": "std::rt::lang_start",
        "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE": "core::fmt::Formatter::write_str",
        "_D3std5stdio7writelnFiZv": "std.stdio.writeln(int)",
        "camlStdlib__List__map_269": "Stdlib.List.map",
        "base_GHCziBase_map_info": "base:GHC.Base.map",
        "__mesh_MOD_refine": "mesh::refine",
    }
    assert filtered([TOOL], list(pairs)) == list(pairs.values())
