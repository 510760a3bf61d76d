#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks LLVM's tools of Debian's unstable into .peers/llvm, beside the system and never into it, and
# prints the folder of wrappers that run them with the libraries they came with. Needs no root.
# Status 1, with the reason, where the mirror has none; 2 for a wrong call.
set -eu
cd "$(dirname "$0")/.."

usage() {
	cat <<'END'
usage: tools/peers.sh [--refresh | --installed]

  (nothing)     unpack what is not there yet
  --refresh     unpack anew: unstable may have a newer one
  --installed   only print the folder, if it is there
END
}

root=.peers/llvm
tools='llvm-gsymutil llvm-symbolizer llvm-dwarfdump'
suite=sid

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh

fail() {
	printf '%s\n' "peers: $*" >&2
	exit 1
}

works() {
	[ -x "$root/bin/llvm-gsymutil" ] && "$root/bin/llvm-gsymutil" --version >/dev/null 2>&1
}

# The newest that has a number for a name.
newest() {
	apt apt-cache search --names-only '^llvm-[0-9]+$' | sed -n 's/^llvm-\([0-9]*\) .*/\1/p' |
		sort -n | tail -n 1
}

wrap() {
	loader=$(find "$work/root" -path '*/ld-linux*.so.*' | head -n 1)
	[ -n "$loader" ] || fail 'no loader among the packages'
	libraries=$(dirname "$(find "$work/root" -name 'libc.so.6' | head -n 1)")
	mkdir -p "$work/bin"
	for name in $tools; do
		cat >"$work/bin/$name" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")/.." && pwd)
exec "\$here${loader#"$work"}" \\
	--library-path "\$here${libraries#"$work"}:\$here/root/usr/lib/llvm-$1/lib" \\
	"\$here/root/usr/lib/llvm-$1/bin/$name" "\$@"
END
		chmod +x "$work/bin/$name"
	done
}

unpack() {
	uri=$(mirror)
	[ -n "$uri" ] || fail "apt knows no mirror of Debian (apt-get update?)"
	work=$root.new
	rm -rf "$work"
	mkdir -p "$work/root"
	work=$(pwd)/$work
	apt_prepare "$uri" "$suite"
	apt apt-get update >"$work/log" 2>&1 || fail "the mirror gives no list of $suite: $(tail -n 1 "$work/log")"
	version=$(newest)
	[ -n "$version" ] || fail "the mirror has no LLVM in $suite"
	apt apt-get install -y --download-only "llvm-$version" </dev/null >"$work/log" 2>&1 ||
		fail "llvm-$version does not come: $(tail -n 1 "$work/log")"
	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	wrap "$version"
	"$work/bin/llvm-gsymutil" --version >"$work/version" 2>&1 || fail "llvm-$version does not run here"
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
echo "$(pwd)/$root/bin"
