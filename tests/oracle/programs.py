# SPDX-License-Identifier: Apache-2.0
"""The programs that the oracle test compiles: a matrix of what compilers write."""
import concurrent.futures
import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "src"
C_UNITS = ["ring_main.c", "ring_machine.c", "ring_mix.c"]
CXX_UNITS = ["shapes_main.cc", "shapes_kinds.cc", "shapes_risk.cc"]


@dataclass(frozen=True)
class Program:
    compiler: str  # gcc or clang
    language: str  # c or c++
    level: str     # -O0, ...
    dwarf: int
    shape: str     # pie, static-pc (no PIE), gc, lto

    @property
    def name(self):
        language = self.language.replace("+", "x")
        return f"{self.compiler}-{language}{self.level}-dwarf{self.dwarf}-{self.shape}"

    def driver(self):
        if self.compiler == "gcc":
            return "gcc" if self.language == "c" else "g++"
        name = "clang" if self.language == "c" else "clang++"
        return shutil.which(f"{name}-14") or name

    def arguments(self):
        units = C_UNITS if self.language == "c" else CXX_UNITS
        args = [self.level, "-g", f"-gdwarf-{self.dwarf}", "-Wl,--build-id"]
        args += {
            "pie": ["-fPIE", "-pie"],
            "static-pc": ["-fno-pie", "-no-pie"],
            "gc": ["-fPIE", "-pie", "-ffunction-sections", "-Wl,--gc-sections"],
            "lto": ["-fPIE", "-pie", "-flto"],
        }[self.shape]
        if self.compiler == "clang" and self.shape == "lto":
            args.append("-fuse-ld=lld")
        return args + units + ["bare.S"]


def matrix():
    """Every compiler, language, level and DWARF version, in each shape that makes sense."""
    for compiler in ("gcc", "clang"):
        for language in ("c", "c++"):
            for dwarf in (4, 5):
                for level in ("-O0", "-Og", "-O2"):
                    for shape in ("pie", "gc"):
                        yield Program(compiler, language, level, dwarf, shape)
                yield Program(compiler, language, "-O2", dwarf, "lto")
                yield Program(compiler, language, "-O2", dwarf, "static-pc")


def _stamp():
    """Changes when the sources, the matrix or the compilers do."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(SOURCE.iterdir()):
        digest.update(path.read_bytes())
    for compiler in {p.driver() for p in matrix()}:
        digest.update(subprocess.run([compiler, "--version"], capture_output=True,
                                     check=True).stdout)
    return digest.hexdigest()


def _compile(program, folder):
    output = folder / program.name
    run = subprocess.run([program.driver(), *program.arguments(), "-o", str(output)],
                         cwd=SOURCE, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{program.name} does not compile:\n{run.stderr}")
    return output


def compile_all(folder):
    """Paths of all programs, compiled anew only when something changed."""
    folder = Path(folder)
    stamp = folder / "stamp"
    current = _stamp()
    if stamp.exists() and stamp.read_text() == current:
        return [folder / p.name for p in matrix()]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = list(pool.map(lambda p: _compile(p, folder), matrix()))
    stamp.write_text(current)
    return paths
