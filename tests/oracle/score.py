# SPDX-License-Identifier: Apache-2.0
"""What answers have in common: depth, function, file and line apart; and the table of it."""
import posixpath
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Callable, NamedTuple

from names import NO, Names

ASPECTS = ("depth", "function", "file", "line")
ORACLES = ("llvm", "gimli")  # queried about every address
REFEREE = "elfutils"         # queried where neither agrees, and about a few more


class Class(NamedTuple):
    """One way in which an oracle's answer differs from ours, and why that is not our fault."""
    name: str
    reason: str
    explains: Callable  # (Case, frames of the oracle) -> bool


@dataclass(frozen=True)
class Case:
    """One address, ours and everybody's answer."""
    address: int
    ours: list
    answers: dict  # oracle: frames
    target: object
    names: Names

    def verdict(self, oracle):
        """The aspects on which the oracle differs."""
        return self.verdict_of(self.answers[oracle])

    def verdict_of(self, theirs):
        """The aspects on which these frames differ from ours."""
        return differences(self.ours, theirs, self)


def plain(path):
    """A path without "." and "..", since neither side promises a spelling."""
    return posixpath.normpath(path) if path else ""


def same_file(ours, theirs):
    """Equal, or theirs lacks the directory of compilation that ours has."""
    a, b = plain(ours), plain(theirs)
    return a == b or bool(b) and not b.startswith("/") and a.endswith("/" + b.lstrip("./"))


def nameless(frames):
    """One frame of ours in a function that only what unwinds it knows."""
    return len(frames) == 1 and frames[0].function == "<no name>"


def known(frames):
    """A place without any function counts as no answer: a GSYM holds functions, and what is between
    them (padding, which rows of line tables reach over) belongs to none."""
    return frames if any(f.function for f in frames) else []


def same_function(case, ours, theirs, outermost):
    """By name; or both are symbols that start at one address (aliases)."""
    kind = case.names.compare(ours, theirs)
    if kind == NO and outermost:
        starts = case.target.starts
        shared = starts.get(ours, set()) & starts.get(theirs, set())
        if any(start <= case.address for start in shared):
            return "alias"
    return kind


def differences(ours, theirs, case):
    """Which of ASPECTS differ; where the depths do, the innermost frames speak for the rest."""
    found = set()
    pairs = list(zip(ours, theirs))
    if len(ours) != len(theirs):
        found.add("depth")
        pairs = pairs[:1]
        if not pairs:
            return {"depth", "function", "file", "line"}
    for number, (mine, other) in enumerate(pairs):
        if mine == other:
            continue
        if same_function(case, mine.function, other.function, number == len(ours) - 1) == NO:
            found.add("function")
        if not same_file(mine.file, other.file):
            found.add("file")
        if mine.line != other.line:
            found.add("line")
    return found


@dataclass
class Score:
    """Counts for one file, or for all."""
    name: str
    addresses: int = 0
    both: int = 0
    one: int = 0
    referee: int = 0
    none: int = 0
    queried: Counter = field(default_factory=Counter)   # oracle: addresses
    agreed: Counter = field(default_factory=Counter)  # (oracle, aspect or "all"): addresses
    spelled: Counter = field(default_factory=Counter)  # why names count as one

    def add(self, other):
        """Adds the counts of another."""
        for name in ("addresses", "both", "one", "referee", "none"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("queried", "agreed", "spelled"):
            getattr(self, name).update(getattr(other, name))

    def share(self, count):
        return count / self.addresses if self.addresses else 0.0

    @property
    def at_least_one(self):
        """Addresses on which one of the three says what we say."""
        return self.both + self.one + self.referee


class Judge:
    """Adds files up and explains what is left."""

    SHOWN = 4

    def __init__(self, classes):
        self.classes = classes  # oracle, or "none": [Class]
        self.total = Score("all")
        self.scores = {}  # by group
        self.counts = Counter()  # (oracle or "none", class name)
        self.examples = {}
        self.unexplained = defaultdict(list)  # oracle or "none": [(target name, Case)]

    def add(self, target, ours, answers, ask_referee):
        """answers: {oracle: {address: frames}}; ask_referee(addresses) gives such an answer."""
        names = Names()
        self._learn(names, ours, answers)
        score = Score(target.name, addresses=len(ours))
        open_cases = []
        for address, mine in ours.items():
            theirs = {o: answers[o][address] for o in ORACLES}
            case = self._case(address, mine, theirs, target, names)
            agreeing = self._count(score, case, ORACLES)
            if agreeing == len(ORACLES):
                score.both += 1
            elif agreeing:
                score.one += 1
            else:
                open_cases.append(case)
        self._refer(score, open_cases, ours, target, names, ask_referee)
        self.scores.setdefault(target.group, Score(target.group)).add(score)
        self.total.add(score)

    @staticmethod
    def _case(address, mine, theirs, target, names):
        """Where we know of a function without a name others have the place of a row alone: that is
        an answer there, and has to be the same place."""
        if nameless(mine):
            return Case(address, [mine[0]._replace(function="")], theirs, target, names)
        return Case(address, known(mine), {o: known(f) for o, f in theirs.items()}, target, names)

    def _learn(self, names, ours, answers):
        """Demangles what is not the same text on both sides."""
        for oracle in ORACLES:
            given = answers[oracle]
            names.learn({n for address, mine in ours.items() if mine != given[address]
                         for pair in zip(mine, given[address]) if pair[0] != pair[1]
                         for n in (pair[0].function, pair[1].function)})

    def _count(self, score, case, oracles):
        """Number of oracles that agree; differences are classified."""
        agreeing = 0
        for oracle in oracles:
            score.queried[oracle] += 1
            if case.ours == case.answers[oracle]:
                wrong = ()
            else:
                wrong = case.verdict(oracle)
                self._spelling(score, case, oracle)
            for aspect in ASPECTS:
                score.agreed[oracle, aspect] += aspect not in wrong
            if not wrong:
                agreeing += 1
                score.agreed[oracle, "all"] += 1
            else:
                if oracle != REFEREE:
                    self._classify(oracle, case, oracle)
        return agreeing

    def _spelling(self, score, case, oracle):
        theirs = case.answers[oracle]
        if len(theirs) != len(case.ours):
            return
        for number, (mine, other) in enumerate(zip(case.ours, theirs)):
            if mine.function != other.function:
                kind = same_function(case, mine.function, other.function,
                                     number == len(theirs) - 1)
                if kind:
                    score.spelled[kind] += 1

    def _refer(self, score, cases, ours, target, names, ask_referee):
        every = list(ours)
        # It reads the supplementary file anew for each address: 20 ms.
        most, some = (300, 25) if target.supplementary else (3000, 100)
        few = set(every[::max(1, len(every) // some)][:some])
        wanted = {c.address for c in cases[:most]} | few
        answers = ask_referee(sorted(wanted))
        names.learn({f.function for frames in answers.values() for f in frames}
                    | {f.function for c in cases for f in c.ours})
        for address in sorted(few):
            case = self._case(address, ours[address], {REFEREE: answers[address]}, target, names)
            self._count(score, case, [REFEREE])
        for case in cases:
            if case.address in answers:
                case.answers[REFEREE] = self._case(
                    case.address, ours[case.address], {REFEREE: answers[case.address]}, target,
                    names).answers[REFEREE]
                if not case.verdict(REFEREE):
                    score.referee += 1
                    continue
            score.none += 1
            self._classify("none", case, None)

    def _classify(self, table, case, oracle):
        theirs = case.answers.get(oracle)
        for known_class in self.classes.get(table, ()):
            if known_class.explains(case, theirs):
                self.counts[table, known_class.name] += 1
                self.examples.setdefault((table, known_class.name),
                                         f"{case.target.name} 0x{case.address:x}")
                return
        self.unexplained[table].append(case)
