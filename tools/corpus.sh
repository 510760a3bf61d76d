#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks large real binaries and their debug files from Debian's packages into corpus/.
#
#   tools/corpus.sh           all of them: 1.5 GB to download, 5 GB unpacked
#   tools/corpus.sh --sample  the few that `./dev test` looks at
#   tools/corpus.sh --go      programs in Go, and toolchains of other releases (tools/go.sh)
#
# Each package has its folder corpus/packages/NAME, which appears whole or not at all: a run that was
# cut off is repeated, and goes on where it was. The system's own apt says what exists.
set -eu
cd "$(dirname "$0")/.."
mkdir -p corpus/packages
cd corpus
rm -rf packages/.part.*
architecture=$(dpkg --print-architecture)
lacking=0

say() {
	printf 'corpus: %s\n' "$*"
}

die() {
	printf 'corpus: %s\n' "$*" >&2
	exit 1
}

available() {
	[ -n "$(apt-cache madison "$1" 2>/dev/null)" ]
}

# newest PATTERN: the last, in the order of versions, of the packages whose whole name matches.
newest() {
	apt-cache pkgnames | grep -Ex "$1" | sort -V | while read -r name; do
		! available "$name" || echo "$name"
	done | tail -n 1
}

# fetch NAME [PATTERN...]: unpacks the package, or only those of its files that match.
fetch() {
	name=$1
	shift
	[ ! -d "packages/$name" ] || return 0
	available "$name" || {
		say "$name: this release has no such package; left out"
		lacking=$((lacking + 1))
		return 0
	}
	say "$name"
	part=packages/.part.$name
	mkdir -p "$part/tree"
	(cd "$part" && apt-get download -q -q "$name") >apt.log 2>&1 || {
		cat apt.log >&2
		die "$name: apt-get download failed"
	}
	if [ $# = 0 ]; then
		dpkg-deb -x "$part"/*.deb "$part/tree"
	else
		dpkg-deb --fsys-tarfile "$part"/*.deb | tar -x -C "$part/tree" --wildcards "$@"
	fi
	mv "$part/tree" "packages/$name"
	rm -rf "$part" apt.log
}

# named NAME PATTERN: fetches the newest package that matches, or says that there is none.
named() {
	found=$(newest "$2")
	if [ -n "$found" ]; then
		fetch "$found"
	else
		say "$1: this release has no such package; left out"
		lacking=$((lacking + 1))
	fi
}

# What the kernel's metapackage stands for: linux-image-6.1.0-56-cloud-amd64-dbg.
kernel() {
	apt-cache depends "linux-image-cloud-$architecture-dbg" 2>/dev/null |
		sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1
}

# alias NAME FILE: a name that other tools know, for a file whose own name changes.
alias_of() {
	[ -e "$2" ] || die "$1: there is no ${2:-such file}"
	ln -sfn "$2" "$1"
}

# debug_of FILE: the debug file with the build ID of FILE.
debug_of() {
	id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
	find packages -path "*/.build-id/${id%"${id#??}"}/${id#??}.debug" | head -n 1
}

if [ "${1-}" = --go ]; then
	fetch runc
	fetch docker-registry
	exec ../tools/go.sh
fi

image=$(kernel)
if [ "${1-}" = --sample ]; then
	fetch libkrb5-dbg
	if [ -d "packages/$image" ] || [ -z "$image" ]; then
		:
	elif [ ! -d packages/kernel-sample ]; then
		fetch "$image" '*/fs/btrfs/btrfs.ko*' '*/lib/crypto/*.ko*'
		[ ! -d "packages/$image" ] || mv "packages/$image" packages/kernel-sample
	fi
	exit 0
fi

fetch libc6-dbg
fetch libc6
fetch valgrind-dbg
fetch libkrb5-dbg
fetch perl-debug
fetch ceph-common-dbg
named 'pythonX.Y-dbg' 'python3\.[0-9]+-dbg'
fetch binutils-aarch64-linux-gnu-dbg
fetch binutils-s390x-linux-gnu-dbg
if [ -n "$image" ]; then
	fetch "$image"
	fetch "${image%-dbg}"
	vmlinux=$(find "packages/$image" -name 'vmlinux-*' -type f | head -n 1)
	alias_of vmlinux "$vmlinux"
	rm -rf packages/kernel-sample
else
	say "linux-image-cloud-$architecture-dbg: this release has no such package; left out"
	lacking=$((lacking + 1))
fi

# Files of one binary must come from one build: both packages are the newest of one source.
jdk=$(newest 'openjdk-(17|21|25)-dbg')
if [ -n "$jdk" ]; then
	fetch "$jdk"
	fetch "${jdk%-dbg}-jre-headless"
	alias_of libjvm.so "$(find "packages/${jdk%-dbg}-jre-headless" -name libjvm.so -path '*/server/*' |
		head -n 1)"
	alias_of libjvm.debug "$(debug_of libjvm.so)"
	[ -e libjvm-plain.debug ] || {
		objcopy --decompress-debug-sections libjvm.debug .part.libjvm
		mv .part.libjvm libjvm-plain.debug
	}
else
	say 'openjdk-N-dbg: this release has no such package; left out'
	lacking=$((lacking + 1))
fi

if [ -d packages/ceph-common-dbg ]; then
	alias_of ceph.debug "$(find packages/ceph-common-dbg -name '*.debug' -type f -printf '%s %p\n' |
		sort -n | tail -n 1 | cut -d ' ' -f 2)"
fi
du -sh packages/* | sort -k 2
[ "$lacking" = 0 ] || say "$lacking package(s) left out"
