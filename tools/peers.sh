#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers.sh NAME [--refresh | --installed]: unpacks programs of Debian's unstable, which are newer than the system's, into
# .peers/NAME, beside the system and never into it, and prints the folder of wrappers that run them with the libraries
# they came with. Needs no root.
# Exit status: 0; 1, with the reason, where the mirror has none; 2 for a wrong call.
set -eu
cd "$(dirname "$0")/.."

usage() {
	cat <<'END'
usage: tools/peers.sh NAME [--refresh | --installed]

  llvm      llvm-gsymutil, llvm-symbolizer, llvm-dwarfdump of the newest LLVM
  perf      Linux's perf, for its recordings
  samply    its local server symbolizes for the Firefox Profiler
  clients   the clients of debuginfod: gdb, elfutils, valgrind

  (nothing)     unpack what is not there yet
  --refresh     unpack anew: unstable may have a newer one
  --installed   only print the folder, if it is there
END
}

name=${1-}
packages=$name
case $name in
llvm)
	packages= # the newest, by apt
	programs='llvm-gsymutil llvm-symbolizer llvm-dwarfdump'
	probe='llvm-gsymutil --version'
	;;
perf)
	packages=linux-perf
	programs=perf
	probe='perf version'
	;;
samply)
	programs=samply
	probe='samply --version'
	;;
clients)
	packages='gdb debuginfod elfutils valgrind'
	programs='gdb debuginfod-find eu-addr2line eu-readelf valgrind'
	probe='debuginfod-find --version'
	;;
*)
	usage >&2
	exit 2
	;;
esac
root=.peers/$name
suite=sid

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh

fail() {
	printf '%s\n' "peers: $name: $*" >&2
	exit 1
}

# works FOLDER: the programs that are wanted today were unpacked there, and run.
works() {
	# shellcheck disable=SC2086 # a program and its argument
	[ "$(cat "$1/wanted" 2>/dev/null)" = "$programs" ] && "$1/bin/"$probe >/dev/null 2>&1
}

newest_llvm() {
	apt apt-cache search --names-only '^llvm-[0-9]+$' | sed -n 's/ .*//p' | sort -t - -k 2 -n | tail -n 1
}

# Prints where the program is below the folder of packages: a package may have a script of that name beside it.
program_file() {
	for file in "usr/lib/$packages/bin/$1" "usr/bin/$1.bin" "usr/bin/$1"; do
		[ ! -e "$work/root/$file" ] || {
			echo "$file"
			return
		}
	done
	fail "$suite has no $1 in its packages"
}

# A program asks for others by name: PATH has these first.
wrap() {
	loader=$(find "$work/root" -path '*/ld-linux*.so.*' | head -n 1)
	[ -n "$loader" ] || fail 'no loader among the packages'
	libraries=$(dirname "$(find "$work/root" -name 'libc.so.6' | head -n 1)")
	mkdir -p "$work/bin"
	for program in $programs; do
		file=$(program_file "$program")
		more=
		[ "$program" != gdb ] || more="--data-directory=\"\$here/root/usr/share/gdb\""
		cat >"$work/bin/$program" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")/.." && pwd)
export PATH="\$here/bin:\$PATH"
END
		# gdb has a Python of its own, valgrind its tools.
		[ "$name" != clients ] || cat >>"$work/bin/$program" <<'END'
export PYTHONHOME="$here/root/usr" PYTHONDONTWRITEBYTECODE=1 VALGRIND_LIB="$here/root/usr/libexec/valgrind"
END
		cat >>"$work/bin/$program" <<END
exec "\$here${loader#"$work"}" \\
	--library-path "\$here${libraries#"$work"}:\$here/root/usr/lib/$packages/lib" "\$here/root/$file" $more "\$@"
END
		chmod +x "$work/bin/$program"
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
	packages=${packages:-$(newest_llvm)}
	[ -n "$packages" ] || fail "the mirror has none in $suite"
	# shellcheck disable=SC2086 # a list of words
	apt apt-get install -y --download-only $packages </dev/null >"$work/log" 2>&1 ||
		fail "$packages of $suite cannot be had: $(tail -n 1 "$work/log")"
	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	wrap
	echo "$programs" >"$work/wanted"
	works "$work" || fail "$packages of $suite does not run here"
	rm -rf "$work/cache" "$work/state" "$work/root/usr/share/doc" "$work/root/usr/share/locale" "$root"
	mv "$work" "$root"
}

case ${2-} in
'') works "$root" || unpack ;;
--refresh) unpack ;;
--installed) works "$root" || exit 1 ;;
*)
	usage >&2
	exit 2
	;;
esac
echo "$(pwd)/$root/bin"
