# SPDX-License-Identifier: Apache-2.0
"""Real programs, damaged: `./dev malformed` does more of it."""
import subprocess

import pytest

from tool import ROOT, SOURCE, UNHEX


@pytest.mark.parametrize("options", [["-g", "-O2"], ["-gdwarf-4", "-O1", "-gz"],
                                     ["-g", "-c", "-ffunction-sections"]])
def test_damage_ends_in_a_clear_line_or_in_a_good_file(tmp_path, options):
    program = tmp_path / "program"
    subprocess.run(["gcc", *options, "-x", "c", "-", "-o", program], input=SOURCE, text=True,
                   check=True)
    result = subprocess.run(["/usr/bin/python3", "-B", ROOT / "tests/malformed/run.py", "--unhex",
                             UNHEX, "--mutate", "4", "--seed", "7", program],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 problems" in result.stdout
