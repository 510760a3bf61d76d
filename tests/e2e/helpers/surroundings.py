# SPDX-License-Identifier: Apache-2.0
"""Keeps the tests and the user's folders apart; importing it is enough."""
import os
import pathlib
import signal
import tempfile

# A shell has what it starts in the background ignore it, and so would the programs that are tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

# perf copies each program that it records into a cache, which would grow in the user's home by gigabytes.
PERF_FOLDER = tempfile.TemporaryDirectory(prefix="unhex-perf.")
os.environ["PERF_CONFIG"] = f"{PERF_FOLDER.name}/config"
pathlib.Path(os.environ["PERF_CONFIG"]).write_text(f"[buildid]\n\tdir = {PERF_FOLDER.name}/cache\n", encoding="ascii")

# Nothing that a test extracts stays in the user's cache, and no test sees what an earlier run left there.
os.environ["UNHEX_CACHE"] = "off"
