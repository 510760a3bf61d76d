#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks large real binaries and their debug files from Debian's packages into corpus/.
set -eu
cd "$(dirname "$0")/.."
mkdir -p corpus/packages
cd corpus

fetch() {
	[ ! -e "packages/$1.done" ] || return 0
	printf 'corpus: %s\n' "$1"
	(
		cd packages
		apt-get download -q -q "$1" 2>../apt.log || {
			cat ../apt.log >&2
			exit 1
		}
	)
	for package in "packages/$1"_*.deb; do
		dpkg-deb -x "$package" .
		rm "$package"
	done
	: >"packages/$1.done"
}

# The two files of one binary must come from one build: the newest that both are in.
jdk=openjdk-17
[ -n "$(apt-cache madison "$jdk-dbg")" ] || jdk=openjdk-21
fetch "$jdk-dbg"
fetch "$jdk-jre-headless"
fetch valgrind
fetch valgrind-dbg

jvm=$(find usr/lib/jvm -name libjvm.so -path '*/server/*' | head -n 1)
[ -n "$jvm" ] || {
	echo 'corpus: the Java runtime has no libjvm.so' >&2
	exit 1
}
id=$(readelf -n "$jvm" | sed -n 's/.*Build ID: //p')
rest=${id#??}
debug=usr/lib/debug/.build-id/${id%"$rest"}/$rest.debug
[ -e "$debug" ] || {
	printf 'corpus: there is no %s for %s\n' "$debug" "$jvm" >&2
	exit 1
}
ln -sf "$jvm" libjvm.so
ln -sf "$debug" libjvm.debug
[ -e libjvm-plain.debug ] || objcopy --decompress-debug-sections libjvm.debug libjvm-plain.debug
du -chL libjvm.so libjvm.debug libjvm-plain.debug
