#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the schema's numbered files as C text: embed_sql.py OUT.c 0001-*.sql 0002-*.sql ..."""
import os
import sys

out, files = sys.argv[1], sys.argv[2:]
lines = ['#include "sqlite_db.h"', "", "const struct ux_schema_step ux_schema_steps[] = {"]
for number, path in enumerate(files, 1):
    name = os.path.basename(path)
    if not name.startswith(f"{number:04d}-"):
        sys.exit(f"embed_sql.py: {name}: expected a name that begins with {number:04d}-")
    with open(path, encoding="utf-8") as f:
        text = f.read().splitlines()
    lines.append(f'\t{{"{name}",')
    for line in text:
        if line and not line.startswith("--"):
            escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", " ")
            lines.append(f'\t "{escaped}\\n"')
    lines.append("\t},")
lines += ["};", f"const int ux_schema_count = {len(files)};", ""]
with open(out, "w", encoding="utf-8") as f:
    f.write("\n".join(lines))
