# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/scale.md are those that bench/scale.py computes from its inputs."""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/scale.md"


def computed(*args):
    run = subprocess.run([sys.executable, "-B", ROOT / "bench/scale.py", *args], capture_output=True, text=True, check=True)
    return {name: body.strip() for name, body in re.findall(r"<!-- (\w+) -->\n(.*?)(?=<!-- |\Z)", run.stdout, re.S)}


def test_the_page_has_the_tables_that_are_computed():
    page = PAGE.read_text(encoding="utf-8")
    tables = computed()
    assert set(tables) == {"Inputs", "Load", "Crawl"}
    for name, table in tables.items():
        assert table in page, f"docs/scale.md: {name} is not what bench/scale.py prints"


def test_a_changed_input_changes_what_follows_from_it(tmp_path):
    inputs = json.loads((ROOT / "bench/scale_inputs.json").read_text(encoding="utf-8"))
    inputs["assumed"]["hosts"]["value"] *= 10
    (tmp_path / "other.json").write_text(json.dumps(inputs), encoding="utf-8")
    before, after = computed(), computed(tmp_path / "other.json")
    assert before["Crawl"] == after["Crawl"] and before["Load"] != after["Load"]

    def number(tables):
        return float(re.search(r"frames a second, all \| ([\d,]+)", tables["Load"])[1].replace(",", ""))

    assert abs(number(after) / number(before) - 10) < 0.1


def test_each_input_says_where_it_is_from():
    inputs = json.loads((ROOT / "bench/scale_inputs.json").read_text(encoding="utf-8"))
    assert all(one["from"] and one["unit"] for one in inputs["measured"].values())
    assert all(one["why"] for one in inputs["assumed"].values())
    assert all(one["from"] for one in inputs["distributions"])
