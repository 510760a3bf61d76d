# SPDX-License-Identifier: Apache-2.0
"""When two spellings of a function's name mean one function."""
import re
import subprocess

import peers

# What compilers append to the name of a part or a copy of a function.
_CLONE = re.compile(r"(\.(cold|part|isra|constprop|lto_priv|localalias|llvm|abi0)|\.\d+)+$")

EQUAL, CLONE, VARIANT, QUALIFIED, NO = "equal", "clone", "variant", "qualified", ""


def clone_of(name):
    """Without version, and without what marks a part or a copy."""
    return _CLONE.sub("", name.split("@")[0])


def _strip_brackets(text):
    """Without (...), <...> and [...] that are balanced; an operator's name keeps its own."""
    out, depth = [], 0
    for char in text:
        if char in "(<[{":
            depth += 1
        elif char in ")>]}":
            depth = max(depth - 1, 0)
        elif depth == 0:
            out.append(char)
    return "".join(out)


def base(name):
    """The last part of a name that people read: what DW_AT_name has."""
    at = re.search(r"\boperator\b\s*(new|delete|[^\w\s(<]+|\(\)|<=?>?|<<)?", name)
    if at:
        return at[0].replace(" ", "")
    plain = re.sub(r"(\s+(const|volatile)|\s*&+)+$", "", _strip_brackets(name).strip())
    return re.split(r"::|\.|\s", plain)[-1] if plain else name


def _bare(name, text):
    """DW_AT_name alone: not mangled, without what it stands in ("operator delete" has a space)."""
    if name != text:
        return False
    if re.match(r"operator\b", text):
        return True
    return not re.search(r"::|\.|\s", _strip_brackets(text).strip())


def _ends_in(longer, shorter):
    """True for a::<lambda> and <lambda>: what the shorter one stands in is all that differs."""
    return any(longer.endswith(joint + shorter) for joint in ("::", "."))


class Names:
    """Compares names; remembers what they demangle to."""

    def __init__(self):
        self._text = {}

    def learn(self, names):
        """Demangles many at once."""
        new = sorted({clone_of(n) for n in names} - self._text.keys())
        new = [n for n in new if n and "\n" not in n]
        if not new:
            return
        run = subprocess.run([peers.tool("llvm-cxxfilt")], input="\n".join(new) + "\n",
                             capture_output=True, text=True, errors="replace", check=True)
        self._text.update(zip(new, run.stdout.split("\n")))

    def compare(self, ours, theirs):
        """EQUAL; CLONE: they differ in .cold, .isra.0, ...; VARIANT: both demangle to one text
        (constructors C1, C2, C4); QUALIFIED: one of them is the bare name of the other; NO."""
        if ours == theirs:
            return EQUAL
        if not ours or not theirs:
            return NO
        a, b = clone_of(ours), clone_of(theirs)
        if a == b:
            return CLONE
        text_a, text_b = self._text.get(a, a), self._text.get(b, b)
        if text_a == text_b:
            return VARIANT
        if _ends_in(text_a, text_b) or _ends_in(text_b, text_a):
            return QUALIFIED
        bare = _bare(a, text_a) or _bare(b, text_b)
        return QUALIFIED if bare and base(text_a) == base(text_b) else NO
