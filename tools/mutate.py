#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small defects in a folder, one at a time, and reports which test notices each.

    tools/mutate.py store                    60 defects in store/
    tools/mutate.py --seed 7 --count 100 net server/upstream
    tools/mutate.py --list --count 20 store  print them, run nothing
    tools/mutate.py --e2e push               what unit tests miss goes to the end-to-end tests too
    tools/mutate.py --again push             run the survivors of earlier runs again
    tools/mutate.py --report                 the table of what ran so far, and the survivors

The tree is copied to build-mutants/tree and built there without optimization. A defect is compiled first with
optimization: one that does not compile, or that gives the same object code, is left out and the next one is drawn.
Then the unit tests that link the file run, those named like it first, until one fails, crashes or takes too long.
Results are kept in build-mutants/results.jsonl: an interrupted run goes on where it stopped. A survivor whose ID stands
in docs/mutants.md is one that was looked at and explained there.

Tests run in a PID namespace of their own, since a planted defect may send a signal to every process.
docs/hacking.md has more.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

COUNT = 60
# Limits on one run of a test: so many times what it took without a defect, and at least so long.
TIME_FACTOR = 5
TIME_MIN = 15
# The first process of the namespace, which gets all orphans, is a shell and not the test.
INIT = ["sh", "-c", '"$@"; exit $?', "sh"]
# For each defect, of end-to-end tests together.
E2E_SECONDS = 20
# How often the output of a test is searched for a failure, and how much of it.
POLL_SECONDS = 0.2
OUTPUT_MAX = 4 << 20
MEMORY_MAX = 8 << 30
FILE_MAX = 2 << 30

PYTEST = ["/usr/bin/python3", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]

# The end-to-end tests of a folder; the longest path that a file begins with counts.
E2E = {
    "store/": "test_cli_store test_backup test_cli_key test_access test_server test_disk",
    "push/": "test_push test_push_again test_push_kernel_modules test_dwz_uploads test_macho test_cuda test_sources "
    "test_split_uploads",
    "cli/fetch/": "test_debuginfod",
    "lib/extract/extract_cache.c": "test_extract_cache",
    "sandbox/": "test_elf_uploads test_malformed_uploads test_sources",
    "net/": "test_server test_slow_clients test_hot_files test_web",
    "server/": "test_server test_metrics test_access",
    "server/gate/": "test_access test_server test_web",
    "server/modules/": "test_explain_server test_server test_web",
    "server/pages/": "test_web test_explain_server",
    "server/protocols/": "test_protocols test_debuginfod_server test_web",
    "server/run/": "test_server test_configuration test_operation test_metrics",
    "server/symbolize/": "test_server test_protocols test_web",
    "server/upload/": "test_push test_elf_uploads test_dwz_uploads test_sources test_split_uploads test_malformed_uploads",
    "server/upstream/": "test_upstreams test_dwz_uploads",
}

# --- C text ------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/|\\\n)"
    r'|(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")'
    r"|(?P<char>[uUL]?'(?:[^'\\\n]|\\.)*')"
    r"|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<punct>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||.)",
    re.S,
)
DIRECTIVE = re.compile(r"[ \t]*#(?:[^\n\\]|\\.)*", re.S)

Token = collections.namedtuple("Token", "kind text start end braces parens function")


def scan(text):
    """The words, numbers and marks of C text, without comments and directives."""
    at = 0
    line_begins = True
    while at < len(text):
        if line_begins:
            directive = DIRECTIVE.match(text, at)
            if directive:
                at = directive.end()
        match = TOKEN.match(text, at)
        if not match:
            return
        line_begins = match["space"] is not None and "\n" in match["space"]
        at = match.end()
        if match["space"] is None:
            yield match.lastgroup, match[0], match.start(), match.end()


def function_before(tokens):
    """The name of the function whose body begins behind these tokens; None: it is no body."""
    if not tokens or tokens[-1].text != ")":
        return None
    depth = 0
    for i in range(len(tokens) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(tokens[i].text, 0)
        if depth == 0:
            return tokens[i - 1].text if tokens[i - 1].kind == "word" else None
    return None


def tokenize(text):
    tokens = []
    braces = parens = 0
    function = None
    for kind, word, start, end in scan(text):
        if word == "{":
            if braces == 0:
                function = function_before(tokens)
            braces += 1
        elif word == "}":
            braces -= 1
        elif word == ")":
            parens -= 1
        tokens.append(Token(kind, word, start, end, braces, parens, function))
        if word == "(":
            parens += 1
        if word == "}" and braces == 0:
            function = None
    return tokens


# --- the kinds of defects -------------------------------------------------------------------------

BOUND = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
COMPARISON = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
JUNCTION = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "+=": "-=", "-=": "+=", "|=": "&=", "<<": ">>", ">>": "<<"}
ASSIGNING = {"=", "+=", "-=", "|=", "&=", "^=", "<<=", ">>=", "*=", "/="}
SYNCS = {"fsync", "fdatasync", "syncfs"}
NO_CALL = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "assert", "static_assert"}
RELEASES = re.compile(r"(^|_)(free|close|deinit|destroy|release|unmap|va_end|clear)(_|$)|cleanup")

KINDS = {
    "bound": "a bound that is off by one: < for <=",
    "comparison": "the opposite comparison: != for ==",
    "negated": "the opposite of a condition",
    "junction": "|| for &&",
    "operand": "a part of a condition that is left out",
    "constant": "a number that is one more or less",
    "arithmetic": "- for +, >> for <<",
    "call": "a call that is left out",
    "check": "an `if` that returns, breaks or continues, and is left out",
    "error": "a failure that is ignored: UX_TRY() that goes on",
    "assignment": "an assignment that is left out",
    "field": "another field of the same structure",
    "result": "`return true` for `return false`",
    "lock": "a lock that is kept",
    "sync": "an fsync() that is left out",
    "release": "memory or a descriptor that is not released",
}
# A leak does no harm that a plain test sees; it takes `--sanitize`.
NOT_DRAWN = {"release"}

Mutant = collections.namedtuple("Mutant", "id path kind function line start end old new")


class Body:
    """The tokens of one file, and what statements they form."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokenize(text)
        self.closing = {}
        stack = []
        for i, token in enumerate(self.tokens):
            if token.text in "([{" and token.kind == "punct":
                stack.append(i)
            elif token.text in ")]}" and token.kind == "punct" and stack:
                self.closing[stack.pop()] = i
        self.opening = {close: at for at, close in self.closing.items()}

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def begins_statement(self, i):
        if self.tokens[i].parens != 0 or self.tokens[i].function is None:
            return False
        before = self.word(i - 1)
        if before in (";", "{", "}", "else", "do"):
            return True
        if before == ")" and i - 1 in self.opening:
            return self.word(self.opening[i - 1] - 1) in ("if", "for", "while", "switch")
        return before == ":" and (self.word(i - 3) == "case" or self.word(i - 2) == "default")

    def statement_end(self, i):
        """The index of the last token of the statement at i; None where that is unclear."""
        word = self.word(i)
        if word == "{":
            return self.closing.get(i)
        if word in ("if", "for", "while", "switch"):
            close = self.closing.get(i + 1)
            if close is None:
                return None
            end = self.statement_end(close + 1)
            if word == "if" and end is not None and self.word(end + 1) == "else":
                return self.statement_end(end + 2)
            return end
        own = self.tokens[i]
        for at in range(i, len(self.tokens)):
            token = self.tokens[at]
            if token.braces < own.braces:
                return None
            if token.text == ";" and token.parens == own.parens and token.braces == own.braces:
                return at
        return None

    def block_of(self, i):
        """The index of the brace around token i."""
        depth = 0
        for at in range(i - 1, -1, -1):
            token = self.tokens[at]
            if token.kind == "punct" and token.text in "{}":
                depth += 1 if token.text == "}" else -1
                if depth < 0:
                    return at
        return None

    def is_block(self, brace):
        """Whether statements stand in the braces, and not values or constants."""
        before = self.word(brace - 1)
        if self.tokens[brace].braces == 1:
            return self.tokens[brace].function is not None
        if before == ")":
            return self.word(self.opening.get(brace - 1, 0) - 1) in ("if", "for", "while", "switch")
        if before == "{":
            return self.is_block(brace - 1)
        return before in (";", "}", "else", "do", ":")

    def is_binary(self, i):
        before = self.tokens[i - 1] if i else None
        if before is None or before.text in ("return", "case", "sizeof"):
            return False
        return before.kind in ("word", "number", "char", "string") or before.text in (")", "]")


def number_changed(text, up):
    """The number one more, or one less where that stays positive; None for what is no integer."""
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)", text)
    if not match:
        return None
    digits = match[1]
    octal = len(digits) > 1 and digits.startswith("0") and digits.isdigit()
    value = int(digits, 8) if octal else int(digits, 0)
    value += 1 if up or value == 0 else -1
    made = f"{value:#o}".replace("0o", "0") if octal else (hex(value) if digits[:2].lower() == "0x" else str(value))
    return made + match[2]


def blank(text):
    """A statement that does nothing, on as many lines as the text has."""
    return ";" + "\n" * text.count("\n")


def operand_mutants(body, i):
    """What stands behind && or ||, without effect; it stays in the text, so that it is still compiled."""
    own = body.tokens[i]
    last = i
    for at in range(i + 1, len(body.tokens)):
        token = body.tokens[at]
        if token.parens < own.parens or token.braces < own.braces:
            break
        same = token.parens == own.parens and token.braces == own.braces
        if same and token.text in ("&&", "||", ";", ",", "?", ":"):
            break
        last = at
    if last > i:
        operand = body.text[body.tokens[i + 1].start : body.tokens[last].end]
        yield "operand", i + 1, last, f"(1 || ({operand}))" if own.text == "&&" else f"(0 && ({operand}))"


def token_mutants(body, i):
    """(kind, first token, last token, new text) of the defects that change one token."""
    token = body.tokens[i]
    word = token.text
    inside = token.function is not None
    if token.kind == "number" and token.braces > 0:
        if not (word == "0" and body.word(i - 1) in ("{", "=")):
            up = int(hashlib.sha1(f"{token.function}{i}".encode()).hexdigest(), 16) % 2 == 0
            changed = number_changed(word, up)
            if changed:
                yield "constant", i, i, changed
    if not inside:
        return
    if token.kind == "punct":
        if word in BOUND:
            yield "bound", i, i, BOUND[word]
        if word in COMPARISON:
            yield "comparison", i, i, COMPARISON[word]
        if word in JUNCTION:
            yield "junction", i, i, JUNCTION[word]
            yield from operand_mutants(body, i)
        if word in ARITHMETIC and body.is_binary(i):
            yield "arithmetic", i, i, ARITHMETIC[word]
    if word in SYNCS and body.word(i + 1) == "(":
        yield "sync", i, i, "0 *"
    if word in ("if", "while") and body.word(i + 1) == "(" and i + 1 in body.closing:
        close = body.closing[i + 1]
        condition = body.text[body.tokens[i + 1].end : body.tokens[close].start]
        yield "negated", i + 1, close, f"(!({condition}))"
    if word == "return" and body.word(i + 1) in ("true", "false") and body.word(i + 2) == ";":
        yield "result", i + 1, i + 1, "false" if body.word(i + 1) == "true" else "true"


def call_kind(name):
    if "unlock" in name:
        return "lock"
    return "release" if RELEASES.search(name) else "call"


def statement_mutants(body, i):
    """The same for defects that change a statement, which begins at token i."""
    if not body.begins_statement(i):
        return
    end = body.statement_end(i)
    if end is None:
        return
    text = body.text[body.tokens[i].start : body.tokens[end].end]
    word = body.word(i)
    first = i
    if word == "(" and body.word(i + 1) == "void" and body.word(i + 2) == ")":
        first = i + 3
    name = body.word(first)
    called = body.tokens[first].kind == "word" and name not in NO_CALL and body.word(first + 1) == "("
    if word == "UX_TRY":
        inner = body.text[body.tokens[i + 1].start : body.tokens[end - 1].end]
        yield "error", i, end, f"if ({inner} != 0) {{}}"
    elif called and body.closing.get(first + 1) == end - 1:
        yield call_kind(name), i, end, blank(text)
    elif word == "if":
        close = body.closing.get(i + 1, end)
        then = body.tokens[close + 1 : end + 1]
        leaves = any(t.text in ("return", "break", "continue", "goto") for t in then)
        if leaves and not any(t.text == "else" for t in then):
            yield "check", i, end, blank(text)
    elif body.word(i + 1) in ("->", ".", "[", *ASSIGNING) or word == "*":
        outer = [t for t in body.tokens[i : end + 1] if t.parens == body.tokens[i].parens]
        if any(t.text in ASSIGNING for t in outer):
            yield "assignment", i, end, blank(text)


def field_mutants(body):
    """Each x->a of a function becomes x->b, where the function has that elsewhere."""
    uses = collections.defaultdict(list)
    for i, token in enumerate(body.tokens):
        if token.function and token.kind == "word" and body.word(i - 1) in ("->", ".") and body.word(i + 1) != "(":
            base = body.tokens[i - 2]
            if base.kind == "word" and body.word(i - 3) not in ("->", "."):
                uses[token.function, base.text].append(i)
    for places in uses.values():
        names = sorted({body.word(i) for i in places})
        for i in places:
            if len(names) > 1:
                yield "field", i, i, names[(names.index(body.word(i)) + 1) % len(names)]


def mutants_of(path, text):
    """Every defect that can be planted in a file, in the order of the text."""
    body = Body(text)
    found = []
    for i in range(len(body.tokens)):
        found += token_mutants(body, i)
        found += statement_mutants(body, i)
    found += field_mutants(body)
    seen = collections.Counter()
    mutants = []
    for kind, first, last, new in sorted(found, key=lambda f: (f[1], f[0])):
        start, end = body.tokens[first].start, body.tokens[last].end
        function = body.tokens[first].function or ""
        line_start = text.rfind("\n", 0, start) + 1
        line = text[line_start : text.find("\n", start)].strip()
        # The name of a defect outlives changes elsewhere in the file.
        name = (path, kind, function, line, text[start:end], new)
        seen[name] += 1
        digest = hashlib.sha1(repr((name, seen[name])).encode()).hexdigest()[:10]
        number = text.count("\n", 0, start) + 1
        mutants.append(Mutant(digest, path, kind, function, number, start, end, text[start:end], new))
    return mutants


# Marks the statements that were run in a file that all processes of a test share. It is mapped before a process
# confines itself, and needs nothing at exit.
PROBE = """#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char mutate_none[{count}], *mutate_seen = mutate_none;
__attribute__((constructor)) static void mutate_begin(void)
{{
	int fd = open("{path}", O_RDWR);
	void *p = fd < 0 ? MAP_FAILED : mmap(0, {count}, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		mutate_seen = p;
	if (fd >= 0)
		close(fd);
}}
"""


# A plugin of pytest: writes down which statements each end-to-end test ran, and how long it took.
PLUGIN = """import json
import os
import time

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    item.mutate_passed = getattr(item, "mutate_passed", True) and outcome.get_result().passed


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    begin = time.monotonic()
    yield
    ran = {}
    for entry in os.scandir(os.environ["MUTATE_MARKS"]):
        with open(entry.path, "r+b") as marks:
            seen = marks.read()
            marks.seek(0)
            marks.write(bytes(len(seen)))
        ran[entry.name] = [i for i, byte in enumerate(seen) if byte]
    if getattr(item, "mutate_passed", False):
        seconds = time.monotonic() - begin
        with open(os.environ["MUTATE_TESTS"], "a", encoding="utf-8") as out:
            out.write(json.dumps([f"{item.fspath}::{item.name}", seconds, ran]) + "\\n")
"""


def probe_places(text):
    """Where a block's statements begin: (place, the end of the block), in the order of the text."""
    body = Body(text)
    places = []
    for i, token in enumerate(body.tokens):
        if token.function is None or token.parens != 0 or token.text in (";", ",", "}", "else", "while", "case", ")"):
            continue
        # What follows the brace of a type or of values belongs to a declaration.
        ends_block = body.word(i - 1) == "}" and body.is_block(body.opening.get(i - 1, 0))
        if body.word(i - 1) in (";", "{") or ends_block:
            brace = body.block_of(i)
            if brace is not None and brace in body.closing and body.is_block(brace) and body.word(i + 1) != ":":
                places.append((token.start, body.tokens[body.closing[brace]].start))
    return places


def mark_of(folder, path):
    return os.path.join(folder, path.replace("/", "+"))


def clear_marks(path, n):
    with open(path, "wb") as marks:
        marks.write(bytes(max(n, 1)))


def probed(text, places, path):
    """The text with a mark at each place."""
    made = [PROBE.format(count=max(len(places), 1), path=path)]
    at = 0
    for number, (place, _) in enumerate(places):
        made += [text[at:place], f"mutate_seen[{number}] = 1; "]
        at = place
    return "".join(made) + text[at:]


def probe_of(places, start):
    """The number of the statement that a place in a function belongs to; None: it is in no function."""
    for number in range(len(places) - 1, -1, -1):
        place, end = places[number]
        if place <= start < end:
            return number
    return None


def describe(mutant):
    def short(text):
        words = " ".join(text.split())
        return words if len(words) <= 60 else words[:57] + "..."

    new = short(mutant.new)
    change = f"without `{short(mutant.old)}`" if new == ";" else f"`{short(mutant.old)}` -> `{new}`"
    return f"{mutant.path}:{mutant.line} {mutant.function or '(data)'}: {mutant.kind}: {change}"


def draw(mutants, seed):
    """All of them in the order in which they are tried: the kinds take turns, so that rare ones occur."""
    by_kind = collections.defaultdict(list)
    for mutant in mutants:
        by_kind[mutant.kind].append(mutant)
    for kind, list_ in by_kind.items():
        random.Random(f"{seed}:{kind}").shuffle(list_)
    order = []
    while any(by_kind.values()):
        for kind in KINDS:
            if by_kind[kind]:
                order.append(by_kind[kind].pop())
    return order


# --- the copy of the tree ---------------------------------------------------------------------------


def say(text):
    print(text, flush=True)


def run_quietly(command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def git_files(root):
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [f for f in listing.split("\0") if f and os.path.isfile(os.path.join(root, f))]


def same_content(one, two):
    if not os.path.isfile(two) or os.path.getsize(one) != os.path.getsize(two):
        return False
    with open(one, "rb") as a, open(two, "rb") as b:
        return a.read() == b.read()


def copy_tree(root, tree):
    """Makes the copy equal to the tree; files that are equal keep their time, so that little is built."""
    kept = set(git_files(root))
    for path in kept:
        source, target = os.path.join(root, path), os.path.join(tree, path)
        if not same_content(source, target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(source, target)
    for folder, folders, names in os.walk(tree):
        if folder == tree:
            folders[:] = [f for f in folders if f not in ("build", ".git")]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, tree) not in kept and not path.endswith(".pyc"):
                os.unlink(path)


class Build:
    """The copy, its build, and the tests that it has."""

    def __init__(self, root, work, sanitize, only_tests=()):
        self.tree = os.path.join(work, "tree")
        self.dir = os.path.join(self.tree, "build")
        self.objects = {}
        self.times = {}
        self.covered = {}
        self.places = {}
        os.makedirs(self.tree, exist_ok=True)
        copy_tree(root, self.tree)
        if not os.path.exists(os.path.join(self.dir, "build.ninja")):
            options = ["-Doptimization=0", "-Dwerror=false"]
            options += ["-Db_sanitize=address", "-Db_lundef=false"] if sanitize else []
            status, output = run_quietly(["meson", "setup", "build", *options], self.tree)
            if status != 0:
                sys.exit(f"mutate: no build: {output}")
        # Tests that were added since the last build are known only after this.
        run_quietly(["ninja", "--quiet", "build.ninja"], self.dir)
        self.tests = self.unit_tests()
        self.only_e2e = [t.removeprefix("e2e/") for t in only_tests if t.startswith("e2e/")]
        if only_tests:
            units = [t for t in only_tests if not t.startswith("e2e/")]
            unknown = [t for t in units if t not in self.tests]
            unknown += [t for t in self.only_e2e if not os.path.exists(self.e2e_file(t))]
            if unknown:
                sys.exit(f"mutate: no such test: {' '.join(unknown)}")
            self.tests = {t: self.tests[t] for t in units}
        say(f"building {len(self.tests)} unit tests in {self.dir}")
        status, output = self.ninja(*{command[0] for command in self.tests.values()})
        if status != 0:
            sys.exit(f"mutate: the tree does not build: {output[-3000:]}")
        of_program = {path: self.files_in(path) for path in {command[0] for command in self.tests.values()}}
        self.linked = {name: of_program[command[0]] for name, command in self.tests.items()}
        with open(os.path.join(self.dir, "compile_commands.json"), encoding="utf-8") as file:
            self.commands = {os.path.normpath(os.path.join(c["directory"], c["file"])): c for c in json.load(file)}
        self.unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if run_quietly([*self.unshare, "true"], self.tree)[0] != 0:
            self.unshare.insert(1, "--map-root-user")
        if run_quietly([*self.unshare, "true"], self.tree)[0] != 0:
            sys.exit("mutate: no PID namespace can be made here, and without one a defect could end other processes")

    def ninja(self, *targets):
        relative = [os.path.relpath(t, self.dir) for t in targets]
        return run_quietly(["ninja", "-j1", "--quiet", *relative], self.dir)

    def unit_tests(self):
        listing = subprocess.run(
            ["meson", "introspect", "--tests", "build"], cwd=self.tree, capture_output=True, text=True, check=True
        ).stdout
        tests = json.loads(listing)
        return {f"test_{t['name']}": t["cmd"] for t in tests if any("unit" in s for s in t["suite"])}

    def files_in(self, program):
        """Names of the source files that the program has code of."""
        listing = subprocess.run(["readelf", "-sW", program], capture_output=True, text=True, check=True).stdout
        return {line.split()[-1] for line in listing.splitlines() if " FILE " in line}

    def cover(self, paths, e2e):
        """For each file, {test: numbers of its statements that the test runs}, those named like the file first.

        One build with a mark at each statement of all these files tells it, and how long the tests take.
        """
        texts = {}
        marks = os.path.join(self.dir, "mutate-marks")
        shutil.rmtree(marks, ignore_errors=True)
        os.makedirs(marks)
        found = {path: {} for path in paths}
        try:
            for path in paths:
                file = os.path.join(self.tree, path)
                with open(file, encoding="utf-8") as source:
                    texts[path] = source.read()
                places = self.places[path] = probe_places(texts[path])
                mark = mark_of(marks, path)
                clear_marks(mark, len(places))
                with open(file, "w", encoding="utf-8") as target:
                    target.write(probed(texts[path], places, mark))
            for test, command in self.tests.items():
                if not any(os.path.basename(path) in self.linked[test] for path in paths):
                    continue
                self.build_marked(command[0])
                for path in paths:
                    clear_marks(mark_of(marks, path), len(self.places[path]))
                self.times[test] = self.time_of(test, command)
                for path in paths if self.times[test] is not None else ():
                    with open(mark_of(marks, path), "rb") as file:
                        found[path][test] = {n for n, byte in enumerate(file.read()) if byte}
            if e2e and any(self.e2e_of(path) for path in paths):
                self.build_marked(os.path.join(self.dir, "cli/unhex"))
                self.run_marked_e2e(paths, marks, found)
        finally:
            for path, text in texts.items():
                with open(os.path.join(self.tree, path), "w", encoding="utf-8") as target:
                    target.write(text)

        def rank(path, test):
            stem = os.path.splitext(os.path.basename(path))[0]
            name = test.removeprefix("test_")
            likeness = len(os.path.commonprefix([name, stem])) if name[:3] == stem[:3] else 0
            return (test not in self.tests, -likeness, self.times[test])

        for path in paths:
            tests = sorted(found[path], key=lambda test, path=path: rank(path, test))
            self.covered[path] = {test: found[path][test] for test in tests if found[path][test]}

    def build_marked(self, program):
        status, output = self.ninja(program)
        if status != 0:
            sys.exit(f"mutate: a file does not build with marks, which is a defect of this tool: {output}")

    def run_marked_e2e(self, paths, marks, found):
        """Adds the end-to-end tests to found; their times go to self.times."""
        reported = os.path.join(self.dir, "mutate-tests")
        with open(os.path.join(self.dir, "mutate_plugin.py"), "w", encoding="utf-8") as plugin:
            plugin.write(PLUGIN)
        if os.path.exists(reported):
            os.unlink(reported)
        for path in paths:
            clear_marks(mark_of(marks, path), len(self.places[path]))
        env = {"MUTATE_MARKS": marks, "MUTATE_TESTS": reported, "PYTHONPATH": self.dir}
        names = sorted({name for path in paths for name in self.e2e_of(path)})
        files = [self.e2e_file(name) for name in names]
        self.run_test([*PYTEST, "-p", "mutate_plugin", *files], 1800, env)
        with open(reported, encoding="utf-8") as lines:
            for line in lines:
                test, seconds, ran = json.loads(line)
                self.times[test] = seconds
                for path in paths:
                    found[path][test] = set(ran.get(mark_of("", path), ()))

    def time_of(self, name, command):
        begin = time.monotonic()
        outcome = self.run_test(command, 900)
        if outcome:
            say(f"{name} is left out: without a defect it ends with {outcome}")
            return None
        return time.monotonic() - begin

    def run_test(self, command, limit, more_env=()):
        """None when it passed; otherwise what shows that it did not."""

        def restrict():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_MAX, FILE_MAX))

        scratch = os.path.join(self.tree, "build", "scratch")
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        env = dict(os.environ, TMPDIR=scratch, UNHEX=os.path.join(self.dir, "cli/unhex"), **dict(more_env))
        with open(os.path.join(self.dir, "test-output"), "w+b") as output:
            with subprocess.Popen(
                [*self.unshare, "--", *INIT, *command],
                cwd=scratch,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=restrict,
            ) as process:
                try:
                    status = self.wait_for(process, output, limit)
                except subprocess.TimeoutExpired:
                    process.kill()
                    return "time"
                if status is None:
                    process.kill()
            if status == 0:
                return None
            output.seek(0)
            text = output.read().decode(errors="replace")
        status = 1 if status is None else status
        failed = re.search(r"^\[  FAILED  \] (?!\w+: )(\w+)", text, re.M) or re.search(r"^FAILED \S*::(\w+)", text, re.M)
        return failed[1] if failed else f"signal {status - 128}" if status > 128 else f"status {status}"

    def wait_for(self, process, output, limit):
        """The exit status of a test; None: one of its cases has failed, and the rest need not run."""
        end = time.monotonic() + limit
        while True:
            left = end - time.monotonic()
            try:
                return process.wait(min(max(left, 0), POLL_SECONDS))
            except subprocess.TimeoutExpired:
                if b"[  FAILED  ]" in os.pread(output.fileno(), OUTPUT_MAX, 0):
                    return None
                if left <= POLL_SECONDS:
                    raise

    def compile(self, path):
        """The object code of a file with optimization; None when it does not compile."""
        command = self.commands[os.path.join(self.tree, path)]
        words = shlex.split(command["command"])
        target = os.path.join(self.dir, "mutant.o")
        made = []
        skip = False
        for word in words:
            if skip:
                skip = False
            elif word in ("-o", "-MF", "-MQ", "-MT"):
                skip = True
            elif word not in ("-MD", "-g", "-O0", "-Werror", "ccache") and not word.endswith("/ccache"):
                made.append(word)
        made += ["-O2", "-w", "-Werror=int-conversion", "-Werror=incompatible-pointer-types", "-o", target]
        made += ["-Werror=implicit-function-declaration", "-Werror=div-by-zero"]
        if run_quietly(made, command["directory"])[0] != 0:
            return None
        with open(target, "rb") as file:
            return file.read()

    def original_object(self, path):
        if path not in self.objects:
            self.objects[path] = self.compile(path)
        return self.objects[path]

    def e2e_file(self, name):
        return os.path.join(self.tree, "tests/e2e", name + ".py")

    def e2e_of(self, path):
        if self.only_e2e:
            return self.only_e2e
        folder = max((f for f in E2E if path.startswith(f)), key=len, default=None)
        return E2E[folder].split() if folder else []

    def noticed_by(self, mutant, covering):
        """(the test that notices what is planted now, how); (None, why) when no test does."""
        probe = probe_of(self.places[mutant.path], mutant.start) if mutant.function else None
        tests = [t for t, seen in covering.items() if probe is None or probe in seen]
        for test in tests:
            if test not in self.tests:
                break
            if self.ninja(self.tests[test][0])[0] != 0:
                return None, "build"
            outcome = self.run_test(self.tests[test], max(TIME_MIN, TIME_FACTOR * self.times[test]))
            if outcome:
                return test, outcome
        e2e = [t for t in tests if t not in self.tests]
        if e2e:
            if self.ninja(os.path.join(self.dir, "cli/unhex"))[0] != 0:
                return None, "build"
            # The quickest ones, in one run; the rest adds little.
            spent = 0
            chosen = []
            for test in e2e:
                spent += self.times[test]
                if chosen and spent > E2E_SECONDS:
                    break
                chosen.append(test)
            outcome = self.run_test([*PYTEST, "-x", *chosen], max(60, TIME_FACTOR * spent))
            if outcome:
                return "end-to-end", outcome
        return None, None if tests else "no test runs it"

    def planted(self, mutant):
        """Makes the copy have one defect, until the guard ends."""
        return Planted(os.path.join(self.tree, mutant.path), mutant)

    def differs(self, mutant):
        """None when the defect can be planted; otherwise "invalid" or "same"."""
        before = self.original_object(mutant.path)
        if before is None:
            sys.exit(f"mutate: {mutant.path} does not compile")
        with self.planted(mutant):
            made = self.compile(mutant.path)
        return "invalid" if made is None else "same" if made == before else None

    def try_mutant(self, mutant):
        """Plants one defect, and returns (outcome, test, how)."""
        with self.planted(mutant):
            test, how = self.noticed_by(mutant, self.covered[mutant.path])
        if how == "build":
            return "invalid", None, None
        return ("noticed" if test else "survived"), test, how


class Planted:
    def __init__(self, file, mutant):
        self.file = file
        self.mutant = mutant

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as target:
            target.write(text)

    def __enter__(self):
        with open(self.file, encoding="utf-8") as source:
            self.text = source.read()
        self.write(self.text[: self.mutant.start] + self.mutant.new + self.text[self.mutant.end :])

    def __exit__(self, *_):
        self.write(self.text)


# --- runs and reports ---------------------------------------------------------------------------


class Results:
    """One line of JSON for each defect that was tried; the last one of an ID counts."""

    def __init__(self, path):
        self.path = path
        self.by_id = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    record = json.loads(line)
                    self.by_id[record["id"]] = record

    def add(self, record):
        self.by_id[record["id"]] = record
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def outcome(self, mutant):
        return self.by_id.get(mutant.id, {}).get("outcome")


def folder_of(path, folders):
    return next((f for f in folders if path.startswith(f)), os.path.dirname(path) + "/")


def source_files(root, folder):
    wanted = folder if folder.endswith(".c") else folder.rstrip("/") + "/"
    return sorted(f for f in git_files(root) if f.endswith(".c") and f.startswith(wanted))


def folder_mutants(root, folder, kinds):
    mutants = []
    for path in source_files(root, folder):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            mutants += [m for m in mutants_of(path, file.read()) if m.kind in kinds]
    if not mutants:
        sys.exit(f"mutate: {folder}: no C file in which a defect can be planted")
    return mutants


def explained_ids(root):
    try:
        with open(os.path.join(root, "docs/mutants.md"), encoding="utf-8") as file:
            return set(re.findall(r"`([0-9a-f]{10})`", file.read()))
    except FileNotFoundError:
        return set()


def report(root, results, mutants, folders):
    """mutants: those that exist now, so that results of code that has changed are left out."""
    explained = explained_ids(root)
    rows = collections.defaultdict(collections.Counter)
    survivors = []
    for mutant in mutants:
        outcome = results.outcome(mutant)
        if outcome not in ("noticed", "survived"):
            continue
        row = rows[folder_of(mutant.path, folders)]
        row["planted"] += 1
        row[outcome] += 1
        if outcome == "survived":
            row["explained"] += mutant.id in explained
            survivors.append(mutant)
    say(f"{'folder':<24}{'planted':>9}{'noticed':>9}{'survived':>9}{'explained':>10}{'noticed':>9}")
    for folder, row in sorted(rows.items()):
        share = 100 * row["noticed"] / row["planted"]
        say(
            f"{folder:<24}{row['planted']:>9}{row['noticed']:>9}{row['survived']:>9}{row['explained']:>10}{share:>8.1f}%"
        )
    for mutant in survivors:
        say(f"{'explained' if mutant.id in explained else 'survived '} {mutant.id} {describe(mutant)}")


def record(results, mutant, outcome, test=None, how=None, seconds=0.0):
    made = {"id": mutant.id, "path": mutant.path, "kind": mutant.kind, "outcome": outcome}
    made.update({"by": test, "how": how, "seconds": round(seconds, 1), "text": describe(mutant)})
    results.add(made)


def run_one(build, results, mutant):
    begin = time.monotonic()
    outcome, test, how = build.try_mutant(mutant)
    seconds = time.monotonic() - begin
    record(results, mutant, outcome, test, how, seconds)
    why = f" by {test} ({how})" if test else f" ({how})" if how else ""
    say(f"{outcome:<8} {mutant.id} {describe(mutant)}{why} {seconds:.1f} s")


def choose(build, results, mutants, args):
    """So many defects as were ordered, in the order drawn, without those that change nothing."""
    chosen = []
    for mutant in draw(mutants, args.seed):
        if len(chosen) == args.count:
            break
        outcome = results.outcome(mutant)
        if outcome is None:
            outcome = build.differs(mutant)
            if outcome:
                record(results, mutant, outcome)
        if outcome not in ("invalid", "same"):
            chosen.append(mutant)
    return chosen


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="a folder or a .c file of the tree")
    parser.add_argument("--seed", type=int, default=1, help="which defects are drawn (1)")
    parser.add_argument("--count", type=int, default=COUNT, help=f"defects for each FOLDER ({COUNT})")
    parser.add_argument("--kinds", help="comma-separated; default: all but release. " + "; ".join(
        f"{k}: {v}" for k, v in KINDS.items()))
    parser.add_argument("--only", nargs="+", metavar="ID", default=[], help="these defects alone")
    parser.add_argument("--again", action="store_true", help="the survivors of earlier runs alone")
    parser.add_argument("--tests", nargs="+", metavar="TEST", default=[],
                        help="these tests alone: test_store, e2e/test_disk")
    parser.add_argument("--e2e", action="store_true", help="end-to-end tests for what unit tests miss")
    parser.add_argument("--sanitize", action="store_true", help="build with AddressSanitizer, which sees leaks")
    parser.add_argument("--list", action="store_true", help="print the defects that would be planted")
    parser.add_argument("--report", action="store_true", help="print the results so far")
    parser.add_argument("--root", default=os.path.dirname(os.path.abspath(__file__)) + "/..", help="another tree")
    parser.add_argument("--work", help="another place for the copy and the results")
    return parser.parse_args()


def main():
    args = options()
    root = os.path.abspath(args.root)
    work = os.path.abspath(args.work or os.path.join(root, "build-mutants" + ("-asan" if args.sanitize else "")))
    kinds = set(args.kinds.split(",")) if args.kinds else set(KINDS) - NOT_DRAWN
    if kinds - set(KINDS):
        sys.exit(f"mutate: no such kind: {' '.join(sorted(kinds - set(KINDS)))}")
    results = Results(os.path.join(work, "results.jsonl"))
    folders = args.folders or sorted({os.path.dirname(r["path"]) + "/" for r in results.by_id.values()})
    if not folders:
        sys.exit("mutate: name a folder")
    by_folder = {folder: folder_mutants(root, folder, kinds) for folder in folders}
    everything = [m for mutants in by_folder.values() for m in mutants]
    if args.report:
        report(root, results, everything, folders)
        return
    if args.list:
        for mutants in by_folder.values():
            for mutant in draw(mutants, args.seed)[: args.count]:
                say(f"{mutant.id} {describe(mutant)}")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    build = Build(root, work, args.sanitize, args.tests)
    chosen = [m for m in everything if m.id in args.only]
    if args.again:
        chosen += [m for m in everything if results.outcome(m) == "survived"]
    if not args.only and not args.again:
        for mutants in by_folder.values():
            chosen += [m for m in choose(build, results, mutants, args) if results.outcome(m) is None]
    # One file after the other, since going to another one builds both.
    build.cover(sorted({mutant.path for mutant in chosen}), args.e2e or build.only_e2e)
    for mutant in sorted(chosen, key=lambda m: m.path):
        run_one(build, results, mutant)
    report(root, results, everything, folders)


if __name__ == "__main__":
    main()
