# SPDX-License-Identifier: Apache-2.0
"""The tables of a comparison, as Markdown that is also readable as text."""
from score import ASPECTS, ORACLES, REFEREE


def _percent(part, whole):
    return f"{100 * part / whole:.3f}" if whole else "-"


def _cells(score):
    yield score.name
    yield f"{score.addresses}"
    for count in (score.both, score.one, score.referee):
        yield _percent(count, score.addresses)
    yield f"{score.none}"
    yield _percent(score.at_least_one, score.addresses)
    for oracle in ORACLES:
        yield " ".join(_percent(score.agreed[oracle, aspect], score.queried[oracle]).rjust(7)
                       for aspect in ASPECTS)


def _rows(header, rows):
    rows = [list(header)] + [list(r) for r in rows]
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("| " + " | ".join(
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths)))
            + " |")
        if number == 0:
            print("|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":")
                                 for i, w in enumerate(widths)) + "|")


def agreement(judge):
    """One row a file and one of all."""
    header = ["input", "addresses", "both", "one", REFEREE, "none", "at least one %"]
    header += [f"{o}: {' '.join(ASPECTS)}" for o in ORACLES]
    _rows(header, (_cells(s) for s in (*judge.scores.values(), judge.total)))
    spelled = judge.total.spelled
    print("\nNames that count as one: "
          + ", ".join(f"{spelled[k]} {k}" for k in ("clone", "variant", "qualified", "alias")))


def differences(judge):
    """Every class of difference of every oracle, and of all of them at once."""
    for table in (*ORACLES, "none"):
        queried = judge.total.queried[table] if table != "none" else judge.total.addresses
        title = f"{table} differs" if table != "none" else "no tool agrees"
        print(f"\n### {title}\n")
        rows = []
        for known in judge.classes.get(table, ()):
            count = judge.counts[table, known.name]
            if count:
                rows.append((known.name, f"{count}", _percent(count, queried),
                             judge.examples[table, known.name]))
        rest = len(judge.unexplained[table])
        rows.append(("in no class", f"{rest}", _percent(rest, queried), ""))
        _rows(("class", "addresses", "%", "example"), rows)
        for known in judge.classes.get(table, ()):
            if judge.counts[table, known.name]:
                print(f"\n* {known.name}: {known.reason}", end="")
        print()


def unexplained(judge, shown=4):
    """Some of what no class explains, for whoever has to find out."""
    for table, cases in judge.unexplained.items():
        if table == REFEREE:
            continue
        step = max(1, len(cases) // shown)
        for case in cases[::step][:shown]:
            print(f"{table}: {case.target.name} 0x{case.address:x}")
            for side, frames in (("ours", case.ours), *case.answers.items()):
                print(f"    {side:8} {[(f.function[:60], f.file[-50:], f.line) for f in frames]}")
