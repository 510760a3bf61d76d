#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches axe-core, the checker of accessibility, by npm into .peers/axe, as tests/e2e/axe/package-lock.json
# pins it, and prints the script's path. It is MPL-2.0, for tests alone, and no part of unhex.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=tools/npm_beside.sh
. tools/npm_beside.sh

npm_beside axe node_modules/axe-core/axe.min.js
