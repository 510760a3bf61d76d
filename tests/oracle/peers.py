# SPDX-License-Identifier: Apache-2.0
"""Asking unhex, llvm-symbolizer, gimli's addr2line, elfutils' and llvm-gsymutil about addresses."""
import concurrent.futures
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from elfread import SHT_NOBITS


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


def unknown_to_others(frame):
    """Stubs and bounds of functions without a name are ours alone (docs/formats/plt.md)."""
    return "file" not in frame and (frame["function"].endswith("@plt")
                                    or frame["function"] == "<no name>")


def unhex(binary, path, addresses):
    """{address: frames} by `unhex lookup`; each address must be answered, in order."""
    run = _run([binary, "lookup", "--no-cache", "--json", "--demangle", "none", str(path)],
               [f"0x{a:x}\n" for a in addresses])
    if run.returncode not in (0, 1) or run.stderr:
        raise RuntimeError(f"unhex lookup {path}: status {run.returncode}: {run.stderr[:500]}")
    answers = {}
    for line in run.stdout.splitlines():
        answer = json.loads(line)
        frames = answer["frames"]
        if frames and unknown_to_others(frames[-1]):
            frames = []
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
    return {a: [] if frames and unknown_to_others({"function": frames[-1].function}) else frames
            for a, frames in answers.items()}


def gsym_dump(path):
    """What llvm-gsymutil complains about while it decodes the whole file; "" is good."""
    run = subprocess.run([tool("llvm-gsymutil"), str(path)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    complaints = [l for l in run.stdout.splitlines() if re.match(r"\s*(error|warning)\b", l, re.I)]
    if run.returncode != 0:
        complaints.append(f"exit status {run.returncode}")
    return "\n".join(complaints + run.stderr.splitlines())


def _halves(addresses):
    """Two runs of neighbours: each process then reads its own units."""
    middle = (len(addresses) + 1) // 2
    return [part for part in (addresses[:middle], addresses[middle:]) if part]


def in_halves(ask, addresses, threads=2):
    """ask(addresses) by two processes at once; what it cost is waiting, not Python's time."""
    if len(addresses) < 2000:
        return ask(addresses)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        answers = {}
        for part in pool.map(ask, _halves(addresses)):
            answers.update(part)
    return answers


def gimli_build(folder):
    """Path of gimli_lookup, built from Debian's librust-*-dev without any network."""
    folder = Path(folder)
    source = Path(__file__).resolve().parent / "gimli"
    texts = {name: (source / name).read_text() for name in ("Cargo.toml", "main.rs")}
    for name, text in texts.items():
        if not (folder / name).exists() or (folder / name).read_text() != text:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    registry = "/usr/share/cargo/registry"
    run = subprocess.run(
        ["/usr/bin/cargo", "build", "--release", "--quiet", "--offline",
         "--config", 'source.crates-io.replace-with="system"',
         "--config", f'source.system.directory="{registry}"'],
        cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "CARGO_HOME": str(folder / "home")})
    if run.returncode != 0:
        raise RuntimeError(f"gimli_lookup does not build:\n{run.stderr}")
    return folder / "target/release/gimli_lookup"


def _debug_sections(elf):
    return [f"{s.name}={s.offset},{s.size}" for s in elf.sections
            if s.name.startswith(".debug_") and s.type != SHT_NOBITS and s.size]


def gimli(binary, elf, addresses, supplementary=None):
    """{address: frames} by gimli's addr2line; neither file may have compressed sections."""
    args = [str(binary), "little", str(elf.path), *_debug_sections(elf)]
    if supplementary:
        args += ["--sup", str(supplementary.path), *_debug_sections(supplementary)]
    run = _run(args, [f"{a:x}\n" for a in addresses])
    if run.returncode != 0:
        raise RuntimeError(f"gimli_lookup {elf.path}: {run.stderr[:500]}")
    answers = {}
    for line in run.stdout.split("\n")[:-1]:
        address, *rest = line.split("\t")
        frames = []
        for text in rest:
            if text.startswith("!"):
                frames.append(Frame(text, "", 0))
                continue
            function, file, number = text.split("\x1f")
            frames.append(Frame(function, file, int(number)))
        answers[int(address, 16)] = frames
    return answers


def elfutils(path, addresses):
    """{address: frames} by eu-addr2line with inlines and linkage names."""
    run = _run(["eu-addr2line", "-e", str(path), "-a", "-f", "-i"],
               [f"0x{a:x}\n" for a in addresses])
    answers = {}  # its status is 1 when it knows nothing of some address
    frames = []
    pending = None
    for line in run.stdout.splitlines():
        if re.fullmatch(r"0x(?:[0-9a-f]{8}){1,2}", line):
            frames = answers[int(line, 16)] = []
        elif pending is None:
            pending = line.split(" inlined at ")[0]
        else:
            place = re.fullmatch(r"(.*?):(\d+)(?::\d+)?", line)
            if not place:
                raise RuntimeError(f"eu-addr2line {path}: cannot read its line {line!r}")
            file, number = place.groups()
            frames.append(Frame("" if pending == "??" else pending,
                                "" if file == "??" else file, int(number)))
            pending = None
    if len(answers) != len(addresses):
        raise RuntimeError(f"eu-addr2line {path}: status {run.returncode}: {run.stderr[:500]}")
    return answers
