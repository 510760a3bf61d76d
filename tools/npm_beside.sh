#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# To be sourced, in the root of the tree: packages of npm beside the system, for tests alone.

# npm_beside NAME FILE: fetches what tests/e2e/NAME/package-lock.json pins, with its hashes, into .peers/NAME and
# prints FILE, which is in there. Nothing that a package brings is run.
npm_beside() {
	root=.peers/$1
	script=$root/$2
	if [ -f "$script" ] && cmp -s "tests/e2e/$1/package-lock.json" "$root/package-lock.json"; then
		echo "$script"
		return
	fi
	command -v npm >/dev/null || {
		echo "$1: there is no npm (./dev test installs it)" >&2
		return 1
	}
	work=$root.new.$$
	trap 'rm -rf "$work"' EXIT
	for try in 1 2 3; do
		rm -rf "$work"
		mkdir -p "$work"
		cp "tests/e2e/$1/package.json" "tests/e2e/$1/package-lock.json" "$work"
		if (cd "$work" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1); then
			rm -rf "$root"
			mv "$work" "$root"
			echo "$script"
			return
		fi
		sleep $((try * 5))
	done
	cat "$work/npm.log" >&2
	return 1
}
