# SPDX-License-Identifier: Apache-2.0
"""`meson install`: the files are where their readers look, and what they name is there."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from test_cli_options import commands
from tool import ROOT, UNHEX

BUILD = pathlib.Path(UNHEX).resolve().parents[1]


@pytest.fixture(scope="module", name="installed")
def install_into_folder(tmp_path_factory):
    """The prefix, as a packager installs it: into a folder that stands for the root."""
    root = tmp_path_factory.mktemp("install")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root],
                   check=True)
    prefix = root / "usr/local"
    assert [p.name for p in root.iterdir()] == ["usr"]
    return prefix


def test_programs_run_from_where_they_are_installed(installed):
    assert [p.name for p in (installed / "bin").iterdir()] == ["unhex"]
    done = subprocess.run([installed / "bin/unhex", "--version"], capture_output=True, text=True,
                          check=True)
    assert done.stdout.startswith("unhex ")


@pytest.mark.parametrize("name,words", [("addr2line", "GNU addr2line"),
                                        ("llvm-addr2line", "llvm-addr2line"),
                                        ("llvm-symbolizer", "llvm-symbolizer")])
def test_links_for_who_wants_them_in_path_are_the_command(installed, name, words):
    link = installed / "lib/unhex/bin" / name
    assert not os.path.isabs(os.readlink(link)) and link.resolve() == (installed / "bin/unhex").resolve()
    done = subprocess.run([link, "--version"], capture_output=True, text=True, check=True)
    assert words.split("-")[-1] in done.stdout or "unhex" in done.stdout


def test_each_command_has_its_page(installed):
    pages = {p.name for p in (installed / "share/man").rglob("*.[15]")}
    assert pages == {"unhex.1", "unhex-serve.conf.5", *(f"unhex-{c}.1" for c in commands())}


@pytest.mark.parametrize("place", ["bash-completion/completions/unhex",
                                   "fish/vendor_completions.d/unhex.fish", "zsh/site-functions/_unhex",
                                   "doc/unhex/LICENSE", "doc/unhex/README.md",
                                   "doc/unhex/docs/operation.md", "unhex/unhex.rules.yml",
                                   "unhex/unhex.json"])
def test_what_others_read_is_there(installed, place):
    assert (installed / "share" / place).stat().st_size > 0


def test_the_unit_starts_the_installed_program(installed):
    unit = (installed / "lib/systemd/system/unhex.service").read_text()
    assert re.search(r"^ExecStart=/usr/local/bin/unhex serve$", unit, re.M)
    assert "DynamicUser=yes" in unit and not re.search(r"@\w+@", unit)
    assert (installed / "lib/systemd/system/unhex.socket").exists()


def test_a_program_links_with_what_pkg_config_says(installed, tmp_path):
    (tmp_path / "a.c").write_text("#include <unhex/unhex.h>\n#include <stdio.h>\n"
                                  "int main(void) { return puts(ux_version()) < 0; }\n")
    folder = next(installed.rglob("unhex.pc")).parent
    root = installed.parents[1]
    env = {**os.environ, "PKG_CONFIG_PATH": str(folder), "PKG_CONFIG_SYSROOT_DIR": str(root)}
    for package in ("unhex", "unhex-client"):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", package], env=env,
                               capture_output=True, text=True, check=True).stdout.split()
        subprocess.run(["cc", "-o", tmp_path / package, tmp_path / "a.c", *flags,
                        f"-Wl,-rpath-link,{folder.parent}"], check=True)
        done = subprocess.run([tmp_path / package], env={"LD_LIBRARY_PATH": str(folder.parent)},
                              capture_output=True, text=True, check=True)
        assert re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout)


def defaults_of_meson(folder):
    """{option: value} of a build that is set up on a system without dpkg-dev."""
    for name in {p.name for place in os.environ["PATH"].split(":") for p in pathlib.Path(place).glob("*")}:
        if name != "dpkg-architecture" and not (folder / name).is_symlink():
            (folder / name).symlink_to(shutil.which(name) or "/nowhere")
    done = subprocess.run(["meson", "introspect", "--buildoptions", ROOT / "meson.build"], capture_output=True, text=True,
                          env={**os.environ, "PATH": str(folder)}, check=True)
    return {o["name"]: o["value"] for o in json.loads(done.stdout)}


def test_the_library_goes_where_loader_linker_and_pkg_config_look(tmp_path):
    options = defaults_of_meson(tmp_path)
    folder = f"{options['prefix']}/{options['libdir']}"

    def output(*command):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert folder in re.findall(r"^(/[^:]*):", output("/sbin/ldconfig", "-v", "-N"), re.M)
    assert folder in re.findall(r'SEARCH_DIR\("=?([^"]*)"\)', output("ld", "--verbose"))
    assert f"{folder}/pkgconfig" in output("pkg-config", "--variable", "pc_path", "pkg-config").strip().split(":")


@pytest.mark.parametrize("destdir", ["", "/somewhere"])
def test_an_install_updates_the_cache_of_the_loader_and_says_what_is_missing(tmp_path, destdir):
    calls = tmp_path / "calls"
    (tmp_path / "ldconfig").write_text(f'#!/bin/sh\necho "ldconfig $*" >>{calls}\n')
    (tmp_path / "id").write_text("#!/bin/sh\necho 0\n")
    for name in ("ldconfig", "id"):
        (tmp_path / name).chmod(0o755)
    done = subprocess.run([ROOT / "packaging/ldconfig.sh", "/opt/unhex/lib"], capture_output=True, text=True, check=True,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "DESTDIR": destdir})
    if destdir:
        assert not calls.exists() and done.stdout == ""
        return
    assert calls.read_text().splitlines()[0] == "ldconfig "
    assert "The loader does not look into /opt/unhex/lib" in done.stdout
    assert "pkg-config does not look into /opt/unhex/lib/pkgconfig" in done.stdout


def test_every_header_is_installed_and_compiles_alone(installed, tmp_path):
    include = installed / "include"
    names = sorted(p.name for p in (include / "unhex").iterdir())
    assert names == sorted(p.name for p in (ROOT / "include/unhex").iterdir())
    for name in names:
        (tmp_path / "a.c").write_text(f"#include <unhex/{name}>\n")
        subprocess.run(["cc", "-fsyntax-only", "-I", include, tmp_path / "a.c"], check=True)
