#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD [TARGET] [SECONDS]: runs one fuzzer, or each in turn; finds lie in .cache/fuzz.
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
target=
case ${1-} in
'' | [0-9]*) ;;
*)
	target=$1
	shift
	;;
esac
seconds=${1-60}

if [ -n "$target" ]; then
	[ -x "$build/fuzz/fuzz_$target" ] || {
		printf 'fuzz: no target is named %s; there are:' "$target" >&2
		for program in "$build"/fuzz/fuzz_*; do
			[ ! -x "$program" ] || [ -d "$program" ] || printf ' %s' "${program##*/fuzz_}" >&2
		done
		echo >&2
		exit 2
	}
	programs=$build/fuzz/fuzz_$target
else
	programs=$(find "$build/fuzz" -maxdepth 1 -type f -name 'fuzz_*' -perm -u+x | sort)
fi

failed=0
for program in $programs; do
	name=${program##*/fuzz_}
	found=.cache/fuzz/$name
	mkdir -p "$found/corpus"
	printf '== fuzz %s, %s s\n' "$name" "$seconds"
	"$program" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$found/" "$found/corpus" "fuzz/corpus/$name" || {
		failed=1
		printf 'fuzz: %s failed; again: %s %s/...\n' "$name" "$program" "$found"
	}
done
exit "$failed"
