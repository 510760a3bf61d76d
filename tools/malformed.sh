#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# malformed.sh: unpacks the test files of elfutils and binutils into corpus/malformed, out of
# Debian's source packages; where from, apt's own configuration says. Needs no root.
set -eu
cd "$(dirname "$0")/.."
mkdir -p corpus/sources/lists/partial corpus/sources/parts corpus/malformed
top=$PWD/corpus/sources

# The same archives with deb-src, in a configuration of our own beside the system's.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ -f "$file" ] || continue
	sed -n 's/^deb[[:space:]]/deb-src /p' "$file" >"$top/parts/$(basename "$file" .list).list"
done
for file in /etc/apt/sources.list.d/*.sources; do
	[ -f "$file" ] || continue
	sed 's/^Types:.*/Types: deb-src/' "$file" >"$top/parts/$(basename "$file")"
done
apt_here() {
	apt-get -q -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$top/parts" \
		-o Dir::State::lists="$top/lists" -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= \
		-o APT::Sandbox::User= "$@"
}

# unpack NAME: the ELF files of a source package.
unpack() {
	name=$1
	to=$PWD/corpus/malformed/$name
	[ ! -e "$to.done" ] || return 0
	[ -n "$(find "$top/lists" -maxdepth 1 -name '*Sources*' 2>/dev/null)" ] || apt_here update
	printf 'malformed: %s\n' "$name"
	rm -rf "$to" "${top:?}/$name"
	mkdir -p "$top/$name"
	(cd "$top/$name" && apt_here source --download-only "$name")
	number=$(/usr/bin/python3 -B tests/malformed/unpack.py "$top/$name" "$to")
	rm -rf "${top:?}/$name"
	printf 'malformed: %s has %s ELF files\n' "$name" "$number"
	: >"$to.done"
}

unpack elfutils
unpack binutils
