#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the parts of a release that need no bare system, twice: both must have the same checksums, and minisign must verify
# their signature. Then rpm installs the package of the static program into an empty root, and the program of the
# archive runs. Exit status: 0; 1: something failed.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
out=packages/release/$version
parts='source static rpm'
[ "$(id -u)" != 0 ] || parts="$parts image"

minisign -G -W -p "$work/key.pub" -s "$work/key" >/dev/null
for run in one other; do
	# shellcheck disable=SC2086 # words
	tools/release.sh --sign "$work/key" $parts
	cp "$out/SHA256SUMS" "$work/$run"
done
cmp "$work/one" "$work/other" || {
	echo 'release_try.sh: two releases of the same commit differ' >&2
	exit 1
}
minisign -V -p "$work/key.pub" -m "$out/SHA256SUMS"
(cd "$out" && sha256sum --quiet --check SHA256SUMS)

rpm --root "$work/root" --initdb
rpm --root "$work/root" -i "$out/unhex-$version-1.$(uname -m).rpm"
rpm --root "$work/root" -V unhex
name=unhex-$version-linux-$(uname -m)
tar -x -z -C "$work" -f "$out/$name.tar.gz"
for program in "$work/root/usr/bin/unhex" "$work/$name/bin/unhex"; do
	"$program" -V | grep -F "unhex $version ($(tools/revision.sh))"
done
ls "$work/root/usr/share/man/man1/unhex-push.1.gz" "$work/$name/LICENSE"
[ ! -e "$work/root/usr/share/man/man1/unhex-serve.1.gz" ] # the static program has no server
