# SPDX-License-Identifier: Apache-2.0
"""Programs of other languages than C and C++, compiled where there is a compiler."""
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "src"


@dataclass(frozen=True)
class Language:
    """How one program is made; {out} is the program, {work} a folder for what else appears."""
    name: str
    compiler: str  # Debian's, by its full name: another toolchain may come first in PATH
    source: str
    arguments: tuple

    def path(self):
        return shutil.which(self.compiler, path="/usr/bin:/bin")


LANGUAGES = [
    Language("go", "go", "words.go", ("build", "-o", "{out}")),
    Language("rust-O", "rustc", "words.rs", ("--edition", "2021", "-g", "-O", "-o", "{out}")),
    Language("rust-O0", "rustc", "words.rs", ("--edition", "2021", "-g", "-o", "{out}")),
    Language("haskell", "ghc", "Words.hs",
             ("-v0", "-g3", "-O", "-outputdir", "{work}", "-o", "{out}")),
    Language("d-gdc", "gdc", "words.d", ("-g", "-O2", "-o", "{out}")),
    Language("d-ldc", "ldc2", "words.d", ("-g", "-O2", "-od={work}", "-of={out}")),
    Language("fortran", "gfortran", "heat.f90", ("-g", "-O2", "-J", "{work}", "-o", "{out}")),
    Language("ada", "gnatmake", "bank.adb", ("-q", "-g", "-O2", "-D", "{work}", "-o", "{out}")),
]


def _stamp(language):
    digest = hashlib.sha256((SOURCE / language.source).read_bytes())
    digest.update(repr(language).encode())
    info = os.stat(os.path.realpath(language.path()))
    digest.update(f"{info.st_size} {info.st_mtime_ns}".encode())
    return digest.hexdigest()


def compiled(language, folder):
    """The program, made anew only when source, command or compiler changed."""
    output = folder / language.name
    stamp = folder / f"{language.name}.stamp"
    current = _stamp(language)
    if output.exists() and stamp.exists() and stamp.read_text() == current:
        return output
    work = folder / f"{language.name}.work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    arguments = [a.format(out=output, work=work) for a in language.arguments]
    run = subprocess.run(
        [language.path(), *arguments, str(SOURCE / language.source)], cwd=work,
        capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(work), "GO111MODULE": "off",
             "GOCACHE": str(work / "cache"), "GOFLAGS": ""})
    if run.returncode != 0:
        raise RuntimeError(f"{language.name} does not compile:\n{run.stdout}{run.stderr}")
    stamp.write_text(current)
    return output


def compile_all(folder):
    """(paths of programs, names of languages without a compiler here)."""
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    there = [l for l in LANGUAGES if l.path()]
    return ([compiled(l, folder) for l in there],
            [l.name for l in LANGUAGES if not l.path()])


if __name__ == "__main__":
    compiled, lacking = compile_all(sys.argv[1])
    print("compiled: " + ", ".join(p.name for p in compiled))
    for language in lacking:
        print(f"{language}: no compiler here; left out")
