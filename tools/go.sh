#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks Go toolchains of other releases of Debian into corpus/go/, beside the system and never into
# it: corpus/go/go-1.N is a GOROOT. Needs no root.
set -eu
cd "$(dirname "$0")/.."

usage() {
	cat <<'END'
usage: tools/go.sh [--all]

  (nothing)   the newest of trixie and of sid, 100 MB to download
  --all       and one of each older layout of pclntab that there still is: 1.15 of bullseye, sid's
              last but one
END
}

root=corpus/go
suites='trixie sid'

fail() {
	printf '%s\n' "go: $*" >&2
	exit 1
}

# newest SUITE [N]: its last toolchain, or the N-th from the end: "1.27".
newest() {
	# shellcheck disable=SC2086 # words
	apt apt-cache madison $packages | grep -w "$1/main" | sed -n 's/^ *golang-\(1\.[0-9]*\)-go .*/\1/p' |
		sort -V | tail -n "${2-1}" | head -n 1
}

# unpack VERSION SUITE: compiler and sources in one tree, as Debian has them.
unpack() {
	[ -n "$1" ] || fail "$2 has no Go"
	[ ! -e "$root/go-$1/bin/go" ] && [ ! -e "/usr/lib/go-$1/bin/go" ] || return 0
	echo "go: $1 of $2"
	part=$work/part
	rm -rf "$part"
	mkdir -p "$part/debs" "$part/tree"
	(cd "$part/debs" && apt apt-get download "golang-$1-go/$2" "golang-$1-src/$2") >"$work/log" 2>&1 ||
		fail "golang-$1 does not come: $(tail -n 1 "$work/log")"
	for deb in "$part"/debs/*.deb; do
		dpkg-deb -x "$deb" "$part/tree"
	done
	rm -rf "${root:?}/$1" "$root/go-$1"
	mv "$part/tree" "$root/$1"
	ln -s "$1/usr/lib/go-$1" "$root/go-$1"
	GOTOOLCHAIN=local "$root/go-$1/bin/go" version || fail "$1 does not run here"
}

# There for good: what was unpacked once is not looked for again.
stamp=$root/.done${1-}
case ${1-} in
'') ;;
--all) suites="bullseye $suites" ;;
*)
	usage >&2
	exit 2
	;;
esac
[ ! -e "$stamp" ] || exit 0

mkdir -p "$root"
work=$(pwd)/$root/.new
rm -rf "$work"
# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh
uri=$(mirror)
[ -n "$uri" ] || fail 'apt knows no mirror of Debian (apt-get update?)'
# shellcheck disable=SC2086 # words
apt_prepare "$uri" $suites
apt apt-get update >"$work/log" 2>&1 || fail "the mirror gives no lists: $(tail -n 1 "$work/log")"
packages=$(apt apt-cache pkgnames | grep -Ex 'golang-1\.[0-9]+-go')
for suite in $suites; do
	unpack "$(newest "$suite")" "$suite"
done
[ "${1-}" != --all ] || unpack "$(newest sid 2)" sid
rm -rf "$work"
: >"$stamp"
