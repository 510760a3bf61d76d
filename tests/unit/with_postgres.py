#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""with_postgres.py PROGRAM [ARGUMENT...]: runs a program with a PostgreSQL server of its own, whose database
UNHEX_TEST_POSTGRES names and UNHEX_TEST_POSTGRES_RESTART restarts."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from postgres_server import Postgres  # noqa: E402

with Postgres() as postgres:
    environment = {**os.environ, "UNHEX_TEST_POSTGRES": postgres.url(),
                   "UNHEX_TEST_POSTGRES_RESTART": postgres.restart_command}
    status = subprocess.run(sys.argv[1:], check=False, env=environment).returncode
sys.exit(status)
