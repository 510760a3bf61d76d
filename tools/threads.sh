#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# threads.sh UNHEX [FILE...]: extracts real files with 1, 2, 4 and 8 threads and with parts on disk, which
# must write the same bytes; under ThreadSanitizer also without a race. Default: the program itself, and what else of
# libc's debug file and corpus/ is here. Then its server under clients that do everything at once.
set -eu
unhex=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# = 0 ]; then
	set -- "$unhex"
	for id in $(readelf -n /lib/*-linux-gnu/libc.so.6 2>/dev/null | sed -n 's/.*Build ID: //p'); do
		rest=${id#??}
		set -- "$@" "/usr/lib/debug/.build-id/${id%"$rest"}/$rest.debug"
	done
	set -- "$@" corpus/libjvm.debug
fi
for file in "$@"; do
	[ -e "$file" ] || continue
	for threads in 1 2 4 8; do
		"$unhex" extract --threads "$threads" "$file" -o "$work/$threads" >/dev/null
		cmp "$work/1" "$work/$threads"
	done
	"$unhex" extract --threads 4 --memory 100M "$file" -o "$work/disk" >/dev/null
	cmp "$work/1" "$work/disk"
	printf 'threads: %s: the same bytes\n' "$file"
done

UNHEX=$unhex /usr/bin/python3 -B tests/e2e/helpers/load.py 10
