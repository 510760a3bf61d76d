#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the schema's files as C text: embed_sql.py OUT.c NAME 0021-base.sql 0022-*.sql ...
The first file has any number, and makes all tables; each further file has the next one."""
import os
import re
import sys

out, variable, files = sys.argv[1], sys.argv[2], sys.argv[3:]
lines = ['#include "db.h"', ""]
names = [os.path.basename(path) for path in files]
first = re.match(r"(\d{4})-", names[0])
if not first or int(first[1]) == 0:
    sys.exit(f"embed_sql.py: {names[0]}: expected a name that begins with four digits, which count from 0001, and -")
base = int(first[1])
for number, (path, name) in enumerate(zip(files, names), base):
    if not name.startswith(f"{number:04d}-"):
        sys.exit(f"embed_sql.py: {name}: expected a name that begins with {number:04d}-")
    with open(path, encoding="utf-8") as f:
        text = "".join(line for line in f if line.strip() and not line.lstrip().startswith("--"))
    # Numbers, since compilers need not take long strings.
    numbers = [str(b) for b in text.encode() + b"\0"]
    lines.append(f"static const char step{number}[] = {{")
    lines += [f'\t{", ".join(numbers[i:i + 20])},' for i in range(0, len(numbers), 20)]
    lines.append("};")
lines.append("static const struct ux_schema_step steps[] = {")
lines += [f'\t{{"{name}", step{number}}},' for number, name in enumerate(names, base)]
lines += ["\t{0},", "};", f"const struct ux_schema {variable} = {{steps, {base}, {base + len(files) - 1}}};", ""]
with open(out, "w", encoding="utf-8") as f:
    f.write("\n".join(lines))
