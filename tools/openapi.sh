#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lints docs/api/openapi.yaml with Redocly's rules. The linter is fetched by npm into .peers/openapi, as
# tests/openapi/package-lock.json pins it; it is MIT, for tests alone, and no part of unhex.
set -eu
cd "$(dirname "$0")/.."

root=.peers/openapi

fetch() {
	command -v npm >/dev/null || {
		echo 'openapi: there is no npm (./dev test installs it)' >&2
		return 1
	}
	work=$root.new.$$
	trap 'rm -rf "$work"' EXIT
	for try in 1 2 3; do
		rm -rf "$work"
		mkdir -p "$work"
		cp tests/openapi/package.json tests/openapi/package-lock.json "$work"
		if (cd "$work" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1); then
			rm -rf "$root"
			mv "$work" "$root"
			return 0
		fi
		sleep $((try * 5))
	done
	cat "$work/npm.log" >&2
	return 1
}

cmp -s tests/openapi/package-lock.json "$root/package-lock.json" || fetch
exec node tests/openapi/lint.js "$root/node_modules" docs/api/openapi.yaml
