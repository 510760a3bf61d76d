#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches axe-core, the checker of accessibility, by npm into .peers/axe, as tests/e2e/axe/package-lock.json
# pins it, and prints the script's path. It is MPL-2.0, for tests alone, and no part of unhex.
set -eu
cd "$(dirname "$0")/.."

root=.peers/axe
script=$root/node_modules/axe-core/axe.min.js

if [ -f "$script" ] && cmp -s tests/e2e/axe/package-lock.json "$root/package-lock.json"; then
	echo "$script"
	exit 0
fi
command -v npm >/dev/null || {
	echo 'axe: there is no npm (./dev test installs it)' >&2
	exit 1
}
work=$root.new.$$
trap 'rm -rf "$work"' EXIT
for try in 1 2 3; do
	rm -rf "$work"
	mkdir -p "$work"
	cp tests/e2e/axe/package.json tests/e2e/axe/package-lock.json "$work"
	if (cd "$work" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1); then
		rm -rf "$root"
		mv "$work" "$root"
		echo "$script"
		exit 0
	fi
	sleep $((try * 5))
done
cat "$work/npm.log" >&2
exit 1
