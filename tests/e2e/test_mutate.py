# SPDX-License-Identifier: Apache-2.0
"""tools/mutate.py plants what it says, and knows which defects a test notices."""
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/mutate.py"

SOURCE = """\
#include "sum.h"
/* if (a < b) in a comment */
#define LEAST(a, b) ((a) < (b) ? (a) : (b))

enum {
	MOST = 100 /* values */
};

bool sum_room(unsigned n)
{
	if (n < MOST)
		return true;
	return false;
}

int sum(const struct pair *p, const char *text)
{
	int total = 0;
	if (!p || text[0] == ';')
		return -1;
	pthread_mutex_lock(&lock);
	total = p->a + p->b;
	pthread_mutex_unlock(&lock);
	note(total);
	return total;
}
"""
HEADER = """\
#include <pthread.h>
#include <stdbool.h>
struct pair {
	int a, b;
};
extern pthread_mutex_t lock;
void note(int n);
bool sum_room(unsigned n);
int sum(const struct pair *p, const char *text);
"""
TEST = """\
#include "sum.h"
#include <errno.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void note(int n)
{
	(void)n;
}
int main(void)
{
	struct pair p = {3, 0};
	if (sum(&p, "x") != 3 || sum(NULL, "x") != -1 || sum(&p, ";") != -1)
		return 1;
	if (pthread_mutex_trylock(&lock) == EBUSY)
		return 1;
	return sum_room(100) || !sum_room(99);
}
"""
MESON = """\
project('sums', 'c', default_options: ['c_std=gnu17'])
lib = static_library('sums', 'sums/sum.c', dependencies: dependency('threads'))
test('sum', executable('test_sum', 'test_sum.c', link_with: lib, include_directories: 'sums',
  dependencies: dependency('threads')), suite: 'unit')
"""


@pytest.fixture(scope="module")
def mutate():
    spec = importlib.util.spec_from_file_location("mutate", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("sums")
    (root / "sums").mkdir()
    for path, text in {"sums/sum.c": SOURCE, "sums/sum.h": HEADER, "test_sum.c": TEST,
                       "meson.build": MESON, ".gitignore": "/build*/\n"}.items():
        (root / path).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def run(tree, *args):
    command = [sys.executable, "-B", TOOL, "--root", tree, *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def changed(mutate, kind):
    """The text with each defect of the kind: what stood there, and what stands there now."""
    return [(m.old, m.new) for m in mutate.mutants_of("sums/sum.c", SOURCE) if m.kind == kind]


def test_each_kind_is_found_where_it_stands_and_nowhere_else(mutate):
    assert changed(mutate, "bound") == [("<", "<=")]
    assert changed(mutate, "comparison") == [("<", ">="), ("==", "!=")]
    assert changed(mutate, "junction") == [("||", "&&")]
    assert changed(mutate, "operand") == [("text[0] == ';'", "(0 && (text[0] == ';'))")]
    assert changed(mutate, "arithmetic") == [("+", "-")]
    assert changed(mutate, "result") == [("true", "false"), ("false", "true")]
    assert changed(mutate, "lock") == [("pthread_mutex_unlock(&lock);", ";")]
    assert changed(mutate, "call") == [("pthread_mutex_lock(&lock);", ";"), ("note(total);", ";")]
    assert changed(mutate, "assignment") == [("total = p->a + p->b;", ";")]
    assert changed(mutate, "field") == [("a", "b"), ("b", "a")]
    assert ("100", "101") in changed(mutate, "constant") or ("100", "99") in changed(mutate, "constant")
    checks = changed(mutate, "check")
    assert [old.split("\n")[0] for old, _ in checks] == ["if (n < MOST)", "if (!p || text[0] == ';')"]
    assert all(new.count("\n") == old.count("\n") for old, new in checks)


def test_marks_stand_in_front_of_statements_of_blocks(mutate):
    places = mutate.probe_places(SOURCE)
    begins = [SOURCE[place:].split("\n")[0] for place, _ in places]
    assert begins == ["if (n < MOST)", "return false;", "int total = 0;",
                      "if (!p || text[0] == ';')", "pthread_mutex_lock(&lock);",
                      "total = p->a + p->b;", "pthread_mutex_unlock(&lock);", "note(total);",
                      "return total;"]
    at = SOURCE.index("return true")
    assert places[mutate.probe_of(places, at)][0] == SOURCE.index("if (n < MOST)")


def test_the_same_seed_draws_the_same(tree):
    one = run(tree, "--list", "--seed", "3", "--count", "9", "sums")
    assert one == run(tree, "--list", "--seed", "3", "--count", "9", "sums")
    assert len(one.splitlines()) == 9
    assert one != run(tree, "--list", "--seed", "4", "--count", "9", "sums")


def test_defects_that_a_test_notices_are_no_survivors(tree):
    reported = run(tree, "--count", "100", "sums")
    outcome = {}
    for line in reported.splitlines():
        found = re.match(r"(noticed|survived) +([0-9a-f]{10}) sums/sum.c:\d+ \S+(?: \S+)?: (\w+): (.*)", line)
        if found and found[2] not in outcome:
            outcome[found[2]] = found
    by_text = {(f[3], re.sub(r" (by .*|\d+\.\d s)$", "", f[4])): f[1] for f in outcome.values()}
    assert by_text["bound", "`<` -> `<=`"] == "noticed"
    assert by_text["lock", "without `pthread_mutex_unlock(&lock);`"] == "noticed"
    # The second value of the only pair is 0, and note() does nothing.
    assert by_text["arithmetic", "`+` -> `-`"] == "survived"
    assert by_text["call", "without `note(total);`"] == "survived"
    assert (tree / "sums/sum.c").read_text() == SOURCE
    assert (tree / "build-mutants/tree/sums/sum.c").read_text() == SOURCE
    # What was tried is not tried again, and the table says the same.
    again = run(tree, "--count", "100", "sums")
    assert not re.search(r"^noticed ", again, re.M)
    table = [line for line in reported.splitlines() if line.startswith("sums")]
    assert table and table == [line for line in again.splitlines() if line.startswith("sums")]


def test_an_explained_survivor_is_listed_as_such(tree):
    run(tree, "--count", "100", "sums")  # what an earlier test has tried is not tried again
    survivor = re.search(r"^survived  ([0-9a-f]{10}) .*note\(total\)", run(tree, "--report", "sums"), re.M)
    (tree / "docs").mkdir()
    (tree / "docs/mutants.md").write_text(f"| `{survivor[1]}` | note() does nothing |\n")
    assert re.search(f"^explained {survivor[1]} ", run(tree, "--report", "sums"), re.M)
