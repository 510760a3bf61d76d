#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes files of web pages as C data: embed_assets.py OUT.c HEADER style.css upload.js icon.svg"""
import base64
import hashlib
import os
import sys

TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}

out, header, files = sys.argv[1], sys.argv[2], sys.argv[3:]
lines = [f'#include "{header}"', ""]
for path in files:
    with open(path, "rb") as f:
        data = f.read()
    name, (stem, suffix) = os.path.basename(path), os.path.splitext(os.path.basename(path))
    lines.append(f"static const uint8_t {stem}[] = {{")
    lines += [f'\t{", ".join(map(str, data[i:i + 20]))},' for i in range(0, len(data), 20)]
    lines.append("};")
    lines.append(f"const struct ux_asset ux_asset_{stem} = {{")
    digest = hashlib.sha256(data)
    lines.append(f'\t"{name}", "{TYPES[suffix]}", "{digest.hexdigest()[:12]}", '
                 f'"sha256-{base64.b64encode(digest.digest()).decode()}", {stem}, sizeof({stem})}};')
with open(out, "w", encoding="utf-8") as f:
    f.write("\n".join(lines) + "\n")
