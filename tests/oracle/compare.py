# SPDX-License-Identifier: Apache-2.0
"""Two answers for each address; every difference belongs to a known class, or is a failure."""
import posixpath
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Class:
    """One way in which two right answers may differ."""
    name: str
    reason: str
    most: float  # share of all addresses that it may explain
    explains: Callable  # Case -> bool


@dataclass(frozen=True)
class Case:
    """One address on which the two differ."""
    address: int
    ours: list
    theirs: list
    about: object  # what the classes may ask about the file


def plain(path):
    """A path without "." and "..", since neither side promises a spelling."""
    return posixpath.normpath(path) if path else ""


def qualified(ours, theirs):
    """Their frames with our name where theirs is the end of it: of a function without a linkage
    name peers tell the short one, and we what it stands in as well."""
    if len(ours) != len(theirs):
        return theirs
    return [t._replace(function=o.function)
            if t.function and o.function.endswith(("::" + t.function, "." + t.function)) else t
            for o, t in zip(ours, theirs)]


def same(ours, theirs):
    """Number of frames, functions, files, lines."""
    if ours == theirs:
        return True
    if len(ours) != len(theirs):
        return False
    return all(o.function == t.function and o.line == t.line and plain(o.file) == plain(t.file)
               for o, t in zip(ours, theirs))


class Tally:
    """What one comparison over many files found."""

    SHOWN = 5

    def __init__(self, title, classes):
        self.title = title
        self.classes = classes
        self.addresses = 0
        self.counts = Counter()
        self.examples = {}
        self.unexplained = defaultdict(list)

    def add(self, name, ours, theirs, about):
        """Compares two {address: frames} of the same addresses."""
        if ours.keys() != theirs.keys():
            raise RuntimeError(f"{name}: {len(ours)} and {len(theirs)} addresses answered")
        self.addresses += len(ours)
        for address, mine in ours.items():
            other = qualified(mine, theirs[address])
            if not same(mine, other):
                self._difference(name, Case(address, mine, other, about))

    def _difference(self, name, case):
        for known in self.classes:
            if known.explains(case):
                self.counts[known.name] += 1
                self.examples.setdefault(known.name, f"{name} 0x{case.address:x}")
                return
        self.unexplained[name].append(case)

    def failures(self):
        """One line for each class that explains too much and each file with unexplained ones."""
        for known in self.classes:
            share = self.counts[known.name] / max(self.addresses, 1)
            if share > known.most:
                yield f"{known.name}: {share:.4%} of all addresses, at most {known.most:.4%}"
        for name, cases in self.unexplained.items():
            yield f"{name}: {len(cases)} differences that no class explains"

    def report(self):
        """The table, and the first unexplained differences of each file."""
        explained = sum(self.counts.values())
        wrong = sum(map(len, self.unexplained.values()))
        equal = self.addresses - explained - wrong
        print(f"{self.title}: {self.addresses} addresses, {equal} equal "
              f"({equal / max(self.addresses, 1):.4%}), {explained} explained, {wrong} not")
        for known in self.classes:
            count = self.counts[known.name]
            print(f"  {count:8} {count / max(self.addresses, 1):9.4%}  {known.name}: "
                  f"{known.reason} [{self.examples.get(known.name, 'none')}]")
        for name, cases in self.unexplained.items():
            for case in cases[:self.SHOWN]:
                print(f"  {name} 0x{case.address:x}")
                for side, frames in (("ours", case.ours), ("theirs", case.theirs)):
                    print(f"    {side:6} {list(map(tuple, frames))}")
