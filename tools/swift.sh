#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares Swift's names with Debian's own Swift at large: unpacks sid's into corpus/swift/, beside the
# system and never into it, and reads every symbol of its libraries and programs. Needs no root.
set -eu
cd "$(dirname "$0")/.."

usage() {
	cat <<'END'
usage: tools/swift.sh [BUILD]

Unpacks swiftlang of sid (590 MB to download, once) and prints by how many names BUILD/bench/demangle
(BUILD: build) and swift-demangle differ, with the names. Fails when more do than are explained.
END
}

fail() {
	printf '%s\n' "swift: $*" >&2
	exit 1
}

case ${1-} in
-*)
	usage >&2
	exit 2
	;;
esac
build=${1-build}
root=$(pwd)/corpus/swift
[ -x "$build/bench/demangle" ] || fail "$build/bench/demangle is not built"

if [ ! -e "$root/.done" ]; then
	work=$root/.new
	rm -rf "$root"
	mkdir -p "$work/debs" "$root/tree"
	# shellcheck source=tools/apt_beside.sh
	. tools/apt_beside.sh
	uri=$(mirror)
	[ -n "$uri" ] || fail 'apt knows no mirror of Debian (apt-get update?)'
	apt_prepare "$uri" sid
	apt apt-get update >"$work/log" 2>&1 || fail "the mirror gives no lists: $(tail -n 1 "$work/log")"
	(cd "$work/debs" && apt apt-get download swiftlang libswiftlang libc6 libstdc++6 libgcc-s1 zlib1g libzstd1) \
		>"$work/log" 2>&1 || fail "swiftlang does not come: $(tail -n 1 "$work/log")"
	for deb in "$work"/debs/*.deb; do
		dpkg-deb -x "$deb" "$root/tree"
	done
	rm -rf "$work"
	: >"$root/.done"
fi

loader=$(find "$root/tree" -name 'ld-linux-*' -type f | head -n 1)
libs=$(dirname "$loader")
swift=$root/tree/usr/libexec/swift
theirs() {
	"$loader" --library-path "$libs:$swift/lib/swift/linux" "$swift/bin/swift-demangle" "$@"
}

names=$root/names
find "$swift" -type f \( -name '*.so' -o -path '*/bin/*' \) | sort | while read -r file; do
	nm "$file" 2>/dev/null || true
	nm -D "$file" 2>/dev/null || true
done | awk '{ print $NF }' | sed 's/@.*//' | grep -E '^(\$[sSe]|_T)' | LC_ALL=C sort -u >"$names"

# compare THEIRS [OURS]: options of the two.
compare() {
	what=$1
	shift
	"$build/bench/demangle" "$@" <"$names" >"$root/ours"
	theirs "$what" <"$names" >"$root/theirs"
	paste "$names" "$root/ours" "$root/theirs" |
		awk -F '\t' -v what="$what" -v most=20 '$2 != $3 { n++; print $1 "\n  ours   " $2 "\n  theirs " $3 }
			END { printf "%s: %d of %d names differ\n", what, n, NR; exit n > most || NR < 50000 }'
}

compare -compact
compare -simplified --short
