# SPDX-License-Identifier: Apache-2.0
"""Functions without a linkage name are named with their scopes."""
import json
import os
import re
import shutil
import subprocess

import pytest

from tool import lines, unhex

CXX = r"""
#include <cstdlib>
namespace outer { namespace {
struct Hidden {
	int v;
	static inline __attribute__((always_inline)) int folded(int x) { return x * atoi("2"); }
	__attribute__((noinline)) int method(int x) { return v + x + atoi("1"); }
};
} extern "C" __attribute__((noinline)) int c_name(int x) { return x + atoi("5"); } }
static inline __attribute__((always_inline)) int plain(int x) { return x + atoi("3"); }
int main(int argc, char **)
{
	struct Local {
		int a;
		inline __attribute__((always_inline)) int run(int x) { return a + x + atoi("9"); }
	};
	Local local{argc};
	outer::Hidden hidden{argc};
	auto lambda = [&](int x) __attribute__((always_inline)) { return x + argc + atoi("4"); };
	return local.run(1) + hidden.method(2) + outer::Hidden::folded(argc) +
	       outer::c_name(4) + plain(argc) + lambda(2);
}
"""

FORTRAN = """
module shapes
  implicit none
  private
  public :: area
contains
  function area(x) result(r)
    real, intent(in) :: x
    real :: r
    r = hidden(x) + inner(x)
  contains
    function inner(y) result(q)
      real, intent(in) :: y
      real :: q
      q = y + sin(y)
    end function
  end function
  function hidden(x) result(r)
    real, intent(in) :: x
    real :: r
    r = x * cos(x)
  end function
end module
program p
  use shapes
  real :: v
  read *, v
  print *, area(v)
end program
"""


def build(folder, source, name, *command):
    (folder / name).write_text(source)
    subprocess.run([*command, name, "-o", "p"], cwd=folder, check=True)
    return folder / "p"


def functions_at(path, addresses):
    out = unhex("lookup", path, "--json", "--demangle", "none",
                stdin="".join(f"{a:#x}\n" for a in addresses))
    return {f["function"] for o in lines(out) for f in o["frames"]}


def code(path):
    row = re.search(r"\.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)",
                    subprocess.run(["readelf", "-SW", path], check=True, capture_output=True,
                                   text=True).stdout)
    return range(int(row[1], 16), int(row[1], 16) + int(row[2], 16))


@pytest.mark.parametrize("flags", [("-gdwarf-4",), ("-gdwarf-5",), ("-flto",),
                                   ("-fdebug-types-section",),
                                   ("-gdwarf-4", "-fdebug-types-section"), ("-gsplit-dwarf",)])
def test_inlined_functions_of_gcc_are_qualified(tmp_path, flags):
    path = build(tmp_path, CXX, "p.cc", "g++", "-std=c++20", "-O2", "-g", *flags)
    found = functions_at(path, code(path))
    assert {"outer::(anonymous namespace)::Hidden::folded", "main::Local::run", "plain",
            "main"} <= found
    assert {"c_name", "c_name.constprop.0"} & found and "outer::c_name" not in found
    assert any(re.fullmatch(r"main::\S.*::operator\(\)", name) for name in found)


def test_symbols_are_used_where_there_are_some(tmp_path):
    path = build(tmp_path, CXX, "p.cc", "g++", "-O1", "-g", "-fno-ipa-sra", "-fno-ipa-cp")
    assert "_ZN5outer12_GLOBAL__N_16Hidden6methodEi" in functions_at(path, code(path))
    subprocess.run(["strip", "-s", "-o", path.with_suffix(".bare"), path], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", path, path.with_suffix(".debug")], check=True)
    subprocess.run(["llvm-objcopy-19", "--remove-section=.symtab", "--remove-section=.strtab",
                    path.with_suffix(".debug")], check=True)
    out = path.with_suffix(".gsym")
    done = unhex("extract", path.with_suffix(".bare"), "-d", path.with_suffix(".debug"), "-o", out)
    assert done.returncode == 0, done.stderr
    found = functions_at(out, code(path))
    assert {"outer::(anonymous namespace)::Hidden::method", "outer::c_name", "main"} <= found


def test_names_do_not_depend_on_the_number_of_threads(tmp_path):
    path = build(tmp_path, CXX, "p.cc", "g++", "-O2", "-g", "-flto")
    made = []
    for threads in (1, 2, 8):
        out = tmp_path / f"{threads}.gsym"
        assert unhex("extract", path, "--threads", threads, "-o", out).returncode == 0
        made.append(out.read_bytes())
    assert made[0] == made[1] == made[2]


TEMPLATES = r"""
#include <algorithm>
#include <cstdio>
#include <vector>
volatile int sink;
int global;
namespace ns {
enum E { e0, e1 };
template <typename T> struct Box {
	T v;
	Box(T x) : v(x) { sink = (int)x; }
	template <int N> T add(T y) { sink += N; return v + y + N; }
	static T zero() { sink++; return T(); }
	T operator()(T q) const { sink = 3; return v * q; }
};
template <typename A, typename... B> int count(A a, B...) { return (sink = sizeof...(B)) + (int)a; }
template <template <typename> class, bool F, char K> int odd() { sink = F + K; return sink; }
template <E e, int *p> int value() { *p = e; return *p + sink; }
}
template <typename F> int call(F f) { return f(3) + sink; }
template <typename T> __attribute__((noinline)) int out(T t)
{
	ns::Box<T> box(t);
	return box.template add<7>(t) + (int)ns::Box<T>::zero();
}
extern "C" int plain(int x) { return ns::Box<int>(x).add<3>(4); }
int main()
{
	std::vector<int> v{3, 2, 1};
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	int r = plain(2) + out(1.5) + out<unsigned short>(3) + ns::count(1, 2.0, 'x') +
		ns::odd<ns::Box, true, 'k'>() + ns::value<ns::e1, &global>();
	r += call([&](int x) { sink = x; return x + v[0]; }) + call(ns::Box<int>(3));
	printf("%d\n", r);
}
"""

CLANGS = list({os.path.realpath(shutil.which(c)): c
               for c in ("clang++", "clang++-19", "clang++-14") if shutil.which(c)}.values())


def stacks(path, addresses):
    out = unhex("lookup", path, "--json", "--demangle", "none",
                stdin="".join(f"{a:#x}\n" for a in addresses))
    return [[(f["function"], f["line"]) for f in o["frames"] if "line" in f] for o in lines(out)]


def llvms(path, addresses):
    run = subprocess.run(["llvm-symbolizer-19", "--no-demangle", f"--obj={path}",
                          "--output-style=JSON"], check=True, capture_output=True, text=True,
                         input="".join(f"{a:#x}\n" for a in addresses))
    return [[(s["FunctionName"], s["Line"]) for s in json.loads(line)["Symbol"]]
            for line in run.stdout.splitlines()]


@pytest.mark.parametrize("compiler", CLANGS)
@pytest.mark.parametrize("flags", [("-O0", "-gdwarf-4"), ("-O2", "-gdwarf-4"),
                                   ("-O0", "-gdwarf-5"), ("-O2", "-gdwarf-5"),
                                   ("-O2", "-gdwarf-5", "-gsce"),
                                   ("-O2", "-gdwarf-5", "-gline-tables-only")])
def test_simple_template_names_lose_no_arguments(tmp_path, compiler, flags):
    """Functions with template arguments have linkage names, which are written in full; with
    -gline-tables-only, which leaves those out, arguments are no entries either."""
    path = build(tmp_path, TEMPLATES, "p.cc", compiler, "-std=c++17", "-g", *flags,
                 "-gsimple-template-names")
    inside = [a for a in code(path) if a % 3 == 0]
    mine, theirs = stacks(path, inside), llvms(path, inside)
    known = [(a, m, t) for a, m, t in zip(inside, mine, theirs) if m]
    assert len(known) > 300
    assert [hex(a) for a, m, t in known if m != t] == []
    names = {name for frames in mine for name, _ in frames}
    assert "_Z3outIdEiT_" in names and "main" in names
    entries = subprocess.run(["llvm-dwarfdump-19", "--debug-info", path], check=True,
                             capture_output=True, text=True).stdout
    if "-gline-tables-only" in flags:
        assert "DW_TAG_template_" not in entries
        return
    assert "DW_TAG_template_" in entries
    short = {n for n in names if not n.startswith("_Z")}
    assert short <= {"main", "plain", "_start", "_init", "_fini"}, short


def test_fortran_procedures_are_called_by_their_modules(tmp_path):
    path = build(tmp_path, FORTRAN, "p.f90", "gfortran", "-O2", "-g")
    assert {"shapes::hidden", "shapes::area::inner"} <= functions_at(path, code(path))
    path = build(tmp_path, FORTRAN, "p.f90", "gfortran", "-O0", "-g")
    assert {"__shapes_MOD_hidden", "__shapes_MOD_area"} <= functions_at(path, code(path))


def test_names_of_any_bytes_come_out_as_they_are(tmp_path):
    (tmp_path / "p.s").write_bytes(b'.text\n.type "a b\\nc", @function\n"a b\\nc": nop\nnop\n'
                                   b'.size "a b\\nc", 2\n.type "caf\xe9", @function\n'
                                   b'"caf\xe9": nop\n.size "caf\xe9", 1\n')
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,-e,0", "p.s", "-o", "p"], cwd=tmp_path,
                   check=True, capture_output=True)
    out = unhex("lookup", tmp_path / "p", "--json", *map(hex, code(tmp_path / "p")))
    names = [o["frames"][0]["function"] for o in lines(out)]
    assert len(names) == 3 and names[0] == names[1]
    assert names[0].startswith("a b") and names[0].endswith("c")
    assert names[2].startswith("caf")


def test_lines_of_the_debug_file_and_symbols_of_the_program_are_put_together(tmp_path):
    """Symbols in a third file: the debug file has DWARF and no symbol table."""
    path = build(tmp_path, "static __attribute__((noinline)) int f(int x) { return x + 1; }\n"
                 "int main(int c, char **v) { return f(c) + !v; }\n", "p.cc", "g++", "-O1", "-g",
                 "-fno-ipa-cp", "-fno-ipa-sra")
    debug, plain = path.with_suffix(".debug"), path.with_suffix(".plain")
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["llvm-objcopy-19", "--remove-section=.symtab", "--remove-section=.strtab",
                    debug], check=True)
    subprocess.run(["strip", "-g", "-o", plain, path], check=True)
    out = path.with_suffix(".gsym")
    done = unhex("extract", plain, "-d", debug, "-o", out)
    assert done.returncode == 0, done.stderr
    found = lines(unhex("lookup", out, "--json", "--demangle", "none", *map(hex, code(path))))
    frames = {(f["function"], f.get("line", 0)) for o in found for f in o["frames"]}
    assert ("_ZL1fi", 1) in frames and ("main", 2) in frames and ("_start", 0) in frames


def test_a_second_entry_of_fortran_is_named_as_by_llvm_symbolizer(tmp_path):
    path = build(tmp_path, """
subroutine sub(a)
  integer :: a
  a = a + 1
  return
entry also(a)
  a = a + 2
end subroutine
program p
  integer :: v
  v = 1
  call sub(v)
  call also(v)
  print *, v
end program
""", "p.f90", "gfortran", "-O0", "-g")
    assert {"sub_", "also_", "main"} <= functions_at(path, code(path))
