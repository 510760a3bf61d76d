#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches speedscope, a viewer of profiles, by npm into .peers/speedscope, as
# tests/e2e/speedscope/package-lock.json pins it, and prints the path of its page. It is MIT; tests and servers
# that serve it need it (docs/decisions/0012-viewers.md).
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=tools/npm_beside.sh
. tools/npm_beside.sh

npm_beside speedscope node_modules/speedscope/dist/release/index.html
