#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# arm64.sh [static]: cross builds this tree for arm64 in a bare Debian 12 beside the system, where qemu runs the programs:
# the static one, built twice (packages/static/unhex-arm64), then, unless "static" is given, all of it: the unit
# programs, an extract of arm64's libc that must be the bytes of the static program of this machine, a lookup, and a
# push to a server. tools/arm64.exceptions lists the unit programs that may fail. Needs root.
# Exit status: 0; 1: something failed; 2: a wrong call.
set -eu
cd "$(dirname "$0")/.."
case $* in
'' | static) ;;
*)
	echo 'usage: tools/arm64.sh [static]' >&2
	exit 2
	;;
esac

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh
# shellcheck source=tools/debian_tree.sh
. tools/debian_tree.sh

say() {
	printf 'arm64: %s\n' "$*"
}

# quietly LOG COMMAND...: shows what it printed only if it fails.
quietly() {
	log=$1
	shift
	"$@" >"$log" 2>&1 || {
		tail -n 60 "$log" >&2
		say "failed; all of it is in $log" >&2
		exit 1
	}
}

tree=$PWD/.peers/debian/bookworm-arm64

# The libraries of ./dev's list, as arm64's packages: "a|b" is the first, "a?" is there.
arm64_libraries() {
	sh -c "$(sed -n '/^packages_for() {/,/^}/p' dev); packages_for build" | tr ' ' '\n' | sed -n 's/[|?].*//; /^lib.*-dev$\|^zlib1g-dev$\|^nettle-dev$/p' |
		sed 's/$/:arm64/'
}

# shellcheck disable=SC2016 # of the shell inside
arm64_prepare() {
	tree_bootstrap bookworm "$PWD/.peers/debian/bookworm-bare"
	[ -d "$tree" ] || {
		cp -a .peers/debian/bookworm-bare "$tree.new"
		mv "$tree.new" "$tree"
	}
	# shellcheck disable=SC2046 # words
	tree_run "$tree" sh -euc '
		dpkg --add-architecture arm64
		apt-get update -qq
		apt-get install -qq -y --no-install-recommends crossbuild-essential-arm64 qemu-user gcc libc6-dev meson ninja-build \
			pkgconf git python3 make dpkg-dev openssl ca-certificates libc-ares-dev:arm64 libssl-dev:arm64 \
			libc6:arm64 libc6-dbg:arm64 "$@"' sh $(arm64_libraries)
}

# The sources anew; the sources of curl are kept.
arm64_sources() {
	mkdir -p "$tree/src"
	find "$tree/src" -mindepth 1 -maxdepth 1 ! -name .peers -exec rm -rf {} +
	tools/source_archive.sh | tar -x --touch -C "$tree/src"
	mkdir -p "$tree/src/packages/static"
}

quietly "$tree.packages.log" arm64_prepare
arm64_sources
quietly "$tree.static.log" tree_run "$tree" /src/tools/static.sh --arm64
mkdir -p packages/static
cp "$tree/src/packages/static/unhex-arm64" packages/static/
say 'the static program: two builds, the same bytes'
[ $# = 0 ] || exit 0
[ -x packages/static/unhex ] || {
	echo 'arm64.sh: packages/static/unhex is missing, whose bytes are compared: run tools/static.sh first' >&2
	exit 1
}
cp packages/static/unhex "$tree/src/packages/static/"
say 'building all of it'
quietly "$tree.build.log" tree_run "$tree" sh -euc 'cd /src
	[ -f build/build.ninja ] || meson setup --cross-file tools/arm64.cross build -Dwerror=true
	ninja -C build --quiet'
tree_run "$tree" /usr/bin/python3 -B /src/tools/arm64_try.py
