#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks Linux's perf of Debian's unstable, whose recordings are newer than those of the system's perf, into
# .peers/perf, beside the system and never into it, and prints the program, a wrapper that runs it with the
# libraries it came with. Needs no root.
# Status 1, with the reason, where the mirror has none; 2 for a wrong call.
set -eu
cd "$(dirname "$0")/.."

usage() {
	cat <<'END'
usage: tools/perf_sid.sh [--refresh | --installed]

  (nothing)     unpack it if it is not there yet
  --refresh     unpack anew: unstable may have a newer one
  --installed   only print the program, if it is there
END
}

root=.peers/perf
suite=sid

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh

fail() {
	printf '%s\n' "perf: $*" >&2
	exit 1
}

works() {
	[ -x "$root/bin/perf" ] && "$root/bin/perf" version >/dev/null 2>&1
}

wrap() {
	loader=$(find "$work/root" -path '*/ld-linux*.so.*' | head -n 1)
	[ -n "$loader" ] || fail 'no loader among the packages'
	libraries=$(dirname "$(find "$work/root" -name 'libc.so.6' | head -n 1)")
	mkdir -p "$work/bin"
	cat >"$work/bin/perf" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")/.." && pwd)
exec "\$here${loader#"$work"}" --library-path "\$here${libraries#"$work"}" "\$here/root/usr/bin/perf" "\$@"
END
	chmod +x "$work/bin/perf"
}

unpack() {
	uri=$(mirror)
	[ -n "$uri" ] || fail "apt knows no mirror of Debian (apt-get update?)"
	work=$(pwd)/$root.new
	rm -rf "$work"
	mkdir -p "$work/root"
	apt_prepare "$uri" "$suite"
	apt apt-get update >"$work/log" 2>&1 || fail "the mirror gives no list of $suite: $(tail -n 1 "$work/log")"
	apt apt-get install -y --download-only linux-perf </dev/null >"$work/log" 2>&1 ||
		fail "perf of $suite does not come: $(tail -n 1 "$work/log")"
	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	wrap
	"$work/bin/perf" version >"$work/version" 2>&1 || fail "perf of $suite does not run here"
	rm -rf "$work/cache" "$work/state" "$root"
	mv "$work" "$root"
}

case ${1-} in
'') works || unpack ;;
--refresh) unpack ;;
--installed) works || exit 1 ;;
*)
	usage >&2
	exit 2
	;;
esac
echo "$(pwd)/$root/bin/perf"
