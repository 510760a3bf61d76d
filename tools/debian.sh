#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command on a copy of this tree in another release of Debian: a bare system in
# .peers/debian/SUITE, made by debootstrap from the mirror of the system's own release. Needs root.
# Exit status: the command's; 2 for a wrong call.
set -eu
cd "$(dirname "$0")/.."

[ $# -ge 2 ] || {
	echo 'usage: tools/debian.sh SUITE COMMAND [ARGUMENT...]' >&2
	exit 2
}
suite=$1
shift
tree=$PWD/.peers/debian/$suite

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh
# shellcheck source=tools/debian_tree.sh
. tools/debian_tree.sh

tree_bootstrap "$suite" "$tree"

# The sources as they are here, changed files too. Of an earlier run only what was downloaded is kept: the
# files have the times of this tree, by which a build could take an older object for a newer one.
mkdir -p "$tree/src"
find "$tree/src" -mindepth 1 -maxdepth 1 ! -name corpus ! -name .peers -exec rm -rf {} +
tree_sources | tar -x -C "$tree/src"
# npm's packages are the same in each release.
for package in axe openapi speedscope; do
	[ ! -d ".peers/$package" ] || [ -d "$tree/src/.peers/$package" ] || {
		mkdir -p "$tree/src/.peers"
		cp -a ".peers/$package" "$tree/src/.peers/"
	}
done

# Some checks list what git knows, and some tests clone the tree.
rm -rf "$tree/src/.git"
git -C "$tree/src" init -q
git -C "$tree/src" add -A
git -C "$tree/src" -c user.name=unhex -c user.email=unhex@localhost -c commit.gpgsign=false commit -q -m 'as it is here'

tree_run "$tree" sh -c 'cd /src && exec "$@"' sh "$@"
