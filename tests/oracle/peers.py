# SPDX-License-Identifier: Apache-2.0
"""Asking unhex, llvm-symbolizer and llvm-gsymutil what addresses are."""
import json
import re
import shutil
import subprocess
import tempfile
from typing import NamedTuple


class Frame(NamedTuple):
    """One frame; "" and 0 are unknown."""
    function: str
    file: str
    line: int


def _run(args, lines):
    """Standard output of args, fed with lines; standard error kept apart."""
    with tempfile.TemporaryFile("w+") as given:
        given.writelines(lines)
        given.seek(0)
        run = subprocess.run(args, stdin=given, capture_output=True, text=True,
                             errors="replace", check=False)
    return run


def tool(name):
    """LLVM 19's: the version that the tables of differences were written for."""
    path = shutil.which(f"{name}-19")
    if not path:
        raise FileNotFoundError(f"{name}-19 is not installed (package llvm-19)")
    return path


def unhex(binary, path, addresses):
    """{address: frames} by `unhex lookup`; each address must be answered, in order."""
    run = _run([binary, "lookup", "--json", "--demangle", "none", str(path)],
               [f"0x{a:x}\n" for a in addresses])
    if run.returncode not in (0, 1) or run.stderr:
        raise RuntimeError(f"unhex lookup {path}: status {run.returncode}: {run.stderr[:500]}")
    answers = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        frames = answer["frames"]
        inlined = [f.get("inlined", False) for f in frames]
        if frames and (inlined[-1] or not all(inlined[:-1])):
            raise RuntimeError(f"{path} {answer['address']}: 'inlined' is wrong: {inlined}")
        answers[int(answer["address"], 16)] = [
            Frame(f.get("function", ""), f.get("file", ""), f.get("line", 0)) for f in frames]
    if list(answers) != list(addresses):
        raise RuntimeError(f"unhex lookup {path}: {len(answers)} answers for "
                           f"{len(addresses)} addresses, or in another order")
    return answers


def symbolizer(path, addresses):
    """{address: frames} by llvm-symbolizer with inlines and linkage names."""
    run = _run([tool("llvm-symbolizer"), f"--obj={path}", "--inlines", "--no-demangle",
                "--output-style=JSON"], [f"0x{a:x}\n" for a in addresses])
    if run.returncode != 0:
        raise RuntimeError(f"llvm-symbolizer {path}: {run.stderr[:500]}")
    answers = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        frames = [Frame(s["FunctionName"], s["FileName"], s["Line"])
                  for s in answer.get("Symbol", [])]
        if all(f == Frame("", "", 0) for f in frames):
            frames = []
        answers[int(answer["Address"], 16)] = frames
    return answers


_LOOKUP = re.compile(r"^(?:0x([0-9a-f]{16}): |\s+)(.*?)(?: \+ \d+)?"
                     r"(?: @ (.*):(\d+))?(?: \[inlined\])?$")


def gsymutil(path, addresses):
    """{address: frames} by llvm-gsymutil from a GSYM; empty where it says that it knows nothing."""
    run = _run([tool("llvm-gsymutil"), "--addresses-from-stdin"],
               [f"0x{a:x} {path}\n" for a in addresses])
    if run.returncode != 0 or run.stderr:
        raise RuntimeError(f"llvm-gsymutil {path}: status {run.returncode}: {run.stderr[:500]}")
    answers = {}
    for line in run.stdout.splitlines():
        if not line:
            continue
        match = _LOOKUP.match(line)
        if not match:
            raise RuntimeError(f"llvm-gsymutil {path}: cannot read its line {line!r}")
        if match[1]:
            frames = []
            current = int(match[1], 16)
            answers[current] = frames
            if match[2] == f"error: address 0x{current:x} is not in GSYM":
                continue
        frames.append(Frame(match[2], match[3] or "", int(match[4] or 0)))
    return answers


def gsym_dump(path):
    """What llvm-gsymutil complains about while it decodes the whole file; "" is good."""
    run = subprocess.run([tool("llvm-gsymutil"), str(path)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    complaints = [l for l in run.stdout.splitlines() if re.match(r"\s*(error|warning)\b", l, re.I)]
    if run.returncode != 0:
        complaints.append(f"exit status {run.returncode}")
    return "\n".join(complaints + run.stderr.splitlines())


_ROW = re.compile(r"^0x([0-9a-f]{16}) +(\d+) .*$", re.M)


def line_rows(path):
    """Sorted addresses of all line table rows but the ends of sequences."""
    run = subprocess.run([tool("llvm-dwarfdump"), "--debug-line", str(path)],
                         capture_output=True, text=True, errors="replace", check=True)
    return sorted({int(m[1], 16) for m in _ROW.finditer(run.stdout)
                   if not m[0].endswith("end_sequence")})
