#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks the debuginfod clients of Debian's unstable into .peers/clients, beside the system and never into
# it, so that the server meets newer ones than the system's. Prints the folder, in which bin/NAME runs each
# with the libraries it came with. Needs no root.
# Status 1, with the reason, where the mirror has none; 2 for a wrong call.
set -eu
cd "$(dirname "$0")/.."

usage() {
	cat <<'END'
usage: tools/clients.sh [--refresh | --installed]

  (nothing)     unpack what is not there yet
  --refresh     unpack anew: unstable may have newer ones
  --installed   only print the folder, if it is there
END
}

root=.peers/clients
suite=sid
wanted='gdb debuginfod elfutils valgrind'
programs='gdb debuginfod-find eu-addr2line eu-readelf valgrind'

fail() {
	printf '%s\n' "clients: $*" >&2
	exit 1
}

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh

works() {
	[ "$(cat "$root/wanted" 2>/dev/null)" = "$wanted" ] && "$root/bin/debuginfod-find" --version >/dev/null 2>&1
}

# A program asks for others by name: PATH has these first.
wrap() {
	loader=$(find "$work/root" -path '*/ld-linux*.so.*' | head -n 1)
	[ -n "$loader" ] || fail 'no loader among the packages'
	libraries=$(dirname "$(find "$work/root" -name 'libc.so.6' | head -n 1)")
	mkdir -p "$work/bin"
	for name in $programs; do
		[ -e "$work/root/usr/bin/$name" ] || fail "$suite has no $name in its packages"
		case $name in
		gdb) more="--data-directory=\"\$here/root/usr/share/gdb\"" ;;
		*) more= ;;
		esac
		file=$name
		[ ! -e "$work/root/usr/bin/$name.bin" ] || file=$name.bin # behind a script of the package's
		cat >"$work/bin/$name" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")/.." && pwd)
export PATH="\$here/bin:\$PATH" PYTHONHOME="\$here/root/usr" PYTHONDONTWRITEBYTECODE=1
export VALGRIND_LIB="\$here/root/usr/libexec/valgrind"
exec "\$here${loader#"$work"}" --library-path "\$here${libraries#"$work"}" \\
	"\$here/root/usr/bin/$file" $more "\$@"
END
		chmod +x "$work/bin/$name"
	done
}

unpack() {
	uri=$(mirror)
	[ -n "$uri" ] || fail "apt knows no mirror of Debian (apt-get update?)"
	work=$(pwd)/$root.new
	rm -rf "$work"
	mkdir -p "$work/root"
	apt_prepare "$uri" "$suite"
	apt apt-get update >"$work/log" 2>&1 || fail "the mirror gives no list of $suite: $(tail -n 1 "$work/log")"
	# shellcheck disable=SC2086 # a list of words
	apt apt-get install -y --download-only $wanted </dev/null >"$work/log" 2>&1 ||
		fail "$wanted of $suite does not come: $(tail -n 1 "$work/log")"
	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	wrap
	echo "$wanted" >"$work/wanted"
	mv "$work/root/usr/share/gdb" "$work/gdb"
	rm -rf "$work/cache" "$work/state" "$work/root/usr/share" "$root"
	mkdir "$work/root/usr/share"
	mv "$work/gdb" "$work/root/usr/share/gdb"
	mv "$work" "$root"
	works || fail "the clients of $suite do not run here"
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
echo "$(pwd)/$root"
