#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the schema's numbered files as C text: embed_sql.py OUT.c ux 0001-*.sql 0002-*.sql ..."""
import os
import sys

out, prefix, files = sys.argv[1], sys.argv[2], sys.argv[3:]
lines = ['#include "db.h"', ""]
names = []
for number, path in enumerate(files, 1):
    name = os.path.basename(path)
    if not name.startswith(f"{number:04d}-"):
        sys.exit(f"embed_sql.py: {name}: expected a name that begins with {number:04d}-")
    with open(path, encoding="utf-8") as f:
        text = "".join(line for line in f if line.strip() and not line.startswith("--"))
    # Numbers, since compilers need not take long strings.
    numbers = [str(b) for b in text.encode() + b"\0"]
    lines.append(f"static const char step{number}[] = {{")
    lines += [f'\t{", ".join(numbers[i:i + 20])},' for i in range(0, len(numbers), 20)]
    lines.append("};")
    names.append(name)
lines.append(f"const struct ux_schema_step {prefix}_schema_steps[] = {{")
lines += [f'\t{{"{name}", step{number}}},' for number, name in enumerate(names, 1)]
lines += ["};", f"const int {prefix}_schema_count = {len(files)};", ""]
with open(out, "w", encoding="utf-8") as f:
    f.write("\n".join(lines))
