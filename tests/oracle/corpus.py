# SPDX-License-Identifier: Apache-2.0
"""What `./dev corpus` unpacked, as files to compare on."""
import subprocess
from pathlib import Path

from elfread import Elf
from targets import Target, build_id

ROOT = Path(__file__).resolve().parent.parent.parent / "corpus"
MIN_DEBUG = 150_000  # bytes: smaller debug files have a handful of functions
MODULES = 40           # kernel modules, the largest


def _debug_files(package):
    """Debug files of a package with their sizes, the largest first."""
    found = [(p.stat().st_size, p) for p in package.glob("usr/lib/debug/.build-id/*/*.debug")
             if p.is_file() and not p.is_symlink()]
    return sorted(found, key=lambda f: (-f[0], f[1].name))


def _executables(package):
    """{build ID: path} of the ELF files of a package."""
    result = {}
    for path in sorted(package.rglob("*.so*")):
        if path.is_file() and not path.is_symlink():
            try:
                result[build_id(path)] = path
            except (IndexError, OSError, subprocess.SubprocessError):
                continue
    return result


def _short(package):
    return package.name.removesuffix("-dbg").removesuffix("-debug")


def _of_package(package, executables):
    """Targets of one debug package; with their executables, where those were fetched too."""
    for size, path in _debug_files(package):
        identity = path.parent.name + path.stem
        if size < MIN_DEBUG or not Elf(path).has_lines:
            continue
        name = f"{_short(package)} {identity[:6]}"
        if identity in executables:
            exe = executables[identity]
            yield Target(f"{_short(package)} {exe.name}", exe, path, group=_short(package))
        else:
            yield Target(name, path, group=_short(package))
    for path in sorted(package.glob("usr/bin/*")):
        if path.is_file() and not path.is_symlink():
            try:
                elf = Elf(path)
            except ValueError:
                continue
            if elf.has_lines:
                yield Target(f"{_short(package)} {path.name}", path, group=_short(package))


def _of_kernel(package, most):
    for path in sorted(package.glob("usr/lib/debug/boot/vmlinux-*")):
        yield Target("vmlinux", path)
    modules = sorted(package.glob("usr/lib/debug/lib/modules/*/kernel/**/*.ko*"),
                     key=lambda p: (-p.stat().st_size, p.name))
    for path in modules[:most]:
        yield Target(path.name.removesuffix(".debug"), path, group="kernel modules")


def everything():
    """Targets of all packages in corpus/."""
    packages = sorted(p for p in (ROOT / "packages").glob("*") if p.is_dir())
    executables = {}
    for package in packages:
        if package.name.startswith(("openjdk", "libc6")) and not package.name.endswith("-dbg"):
            executables.update(_executables(package))
    for package in packages:
        if package.name.startswith("linux-image"):
            if package.name.endswith("-dbg"):
                yield from _of_kernel(package, MODULES)
        elif package.name.endswith(("-dbg", "-debug")):
            yield from _of_package(package, executables)


def sample():
    """The few that `./dev test` looks at."""
    packages = ROOT / "packages"
    for target in everything():
        if target.name in ("btrfs.ko",) or target.name.startswith("libkrb5"):
            yield target
    for target in _of_kernel(packages / "kernel-sample", 2):
        yield target
