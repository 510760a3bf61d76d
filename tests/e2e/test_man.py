# SPDX-License-Identifier: Apache-2.0
"""Manual pages: each command has one, and it is what the manual's readers take."""
import pathlib
import re
import subprocess

import pytest

from test_cli_options import commands
from tool import UNHEX, unhex

FOLDER = pathlib.Path(UNHEX).resolve().parent


def page(path):
    """As a terminal shows it, without its bold."""
    done = subprocess.run(["mandoc", "-T", "ascii", path], capture_output=True, text=True,
                          check=True)
    return re.sub(".\b", "", done.stdout)


def test_there_is_a_page_for_each_command_and_no_other():
    names = {p.name for p in FOLDER.glob("unhex*.[15]")}
    assert names == {"unhex.1", "unhex-serve.conf.5"} | {f"unhex-{c}.1" for c in commands()}


@pytest.mark.parametrize("name", ["unhex.1", "unhex-serve.conf.5",
                                  *(f"unhex-{c}.1" for c in commands())])
def test_a_page_has_no_slip(name):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", FOLDER / name],
                          capture_output=True, text=True, check=False)
    # a date of the build would make each build another
    slips = [line for line in done.stdout.splitlines() if "missing date" not in line]
    assert not slips
    assert page(FOLDER / name).startswith(name.rsplit(".", 1)[0].upper())


@pytest.mark.parametrize("command", commands())
def test_a_page_has_every_option_of_the_help(command):
    text = page(FOLDER / f"unhex-{command}.1")
    options = re.findall(r"--[a-z][a-z-]+", unhex(command, "--help").stdout)
    assert options and all(option in text for option in options)


@pytest.mark.parametrize("command", commands())
def test_a_page_has_examples(command):
    assert re.search(rf"^EXAMPLES\n(.*\n)* +.*unhex {command} ", page(FOLDER / f"unhex-{command}.1"), re.M)


def test_the_settings_page_has_every_key():
    text = page(FOLDER / "unhex-serve.conf.5")
    keys = re.findall(r"^(?:# )?([a-z0-9-]+) =", unhex("serve", "--print-config").stdout, re.M)
    assert len(keys) > 20 and all(re.search(rf"^ +{key} = ", text, re.M) for key in keys)
