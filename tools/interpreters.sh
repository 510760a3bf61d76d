#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks interpreters of other Debian suites into .peers/interpreters, beside the system and never into
# it, so that tests meet layouts that the system's own do not have. Prints the folder, in which
# SUITE/bin/NAME runs each with the libraries it came with. Needs no root.
# Status 1, with the reason, where the mirror has none; 2 for a wrong call.
set -eu
cd "$(dirname "$0")/.."

usage() {
	cat <<'END'
usage: tools/interpreters.sh [--refresh | --installed] [SUITE...]

  (nothing)     unpack what is not there yet, of bookworm, trixie and sid
  --refresh     unpack anew
  --installed   only print the folder, if all of it is there
END
}

root=.peers/interpreters

# What tests want of a suite; a name behind which a ? stands is left out where the suite has none.
packages_of() {
	case $1 in
	bookworm) echo 'ruby3.1 python3.11' ;;
	trixie) echo 'python3.13 php8.4-cli ruby3.3' ;;
	sid) echo 'python3.14 python3.15?' ;;
	*) fail "knows no packages for the suite $1" ;;
	esac
}

fail() {
	printf '%s\n' "interpreters: $*" >&2
	exit 1
}

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh

there_is() {
	[ -n "$(apt apt-cache madison "$1" 2>/dev/null)" ]
}

# The wanted ones of a suite, without those that may lack and do.
wanted_of() {
	for entry in $(packages_of "$1"); do
		case $entry in
		*'?') ! there_is "${entry%'?'}" || printf '%s ' "${entry%'?'}" ;;
		*) printf '%s ' "$entry" ;;
		esac
	done
}

# Whether a suite is there with what is wanted of it now.
is_there() {
	[ -d "$root/$1/bin" ] && [ "$(cat "$root/$1/wanted" 2>/dev/null)" = "$(packages_of "$1")" ]
}

wrap() {
	loader=$(find "$work/root" -path '*/ld-linux*.so.*' | head -n 1)
	[ -n "$loader" ] || fail 'no loader among the packages'
	libraries=$(dirname "$(find "$work/root" -name 'libc.so.6' | head -n 1)")
	others=$work/root/usr/lib/$(basename "$libraries") # libc's are not below /usr in bookworm
	mkdir -p "$work/bin"
	for program in "$work"/root/usr/bin/*; do
		name=$(basename "$program")
		echo "$name" | grep -Eq '^(python3\.[0-9]+t?|php[0-9.]+|ruby[0-9.]+)$' || continue
		cat >"$work/bin/$name" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")/.." && pwd)
export PYTHONHOME="\$here/root/usr" PYTHONDONTWRITEBYTECODE=1
exec "\$here${loader#"$work"}" \\
	--library-path "\$here${libraries#"$work"}:\$here${others#"$work"}" \\
	"\$here/root/usr/bin/$name" "\$@"
END
		chmod +x "$work/bin/$name"
	done
}

unpack() {
	suite=$1
	uri=$(mirror)
	[ -n "$uri" ] || fail "apt knows no mirror of Debian (apt-get update?)"
	work=$(pwd)/$root/$suite.new
	rm -rf "$work"
	mkdir -p "$work/root"
	apt_prepare "$uri" "$suite"
	apt apt-get update >"$work/log" 2>&1 || fail "the mirror gives no list of $suite: $(tail -n 1 "$work/log")"
	wanted=$(wanted_of "$suite")
	# shellcheck disable=SC2086 # a list of words
	apt apt-get install -y --download-only $wanted </dev/null >"$work/log" 2>&1 ||
		fail "$wanted of $suite does not come: $(tail -n 1 "$work/log")"
	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$work/root"
	done
	wrap
	packages_of "$suite" >"$work/wanted"
	rm -rf "$work/cache" "$work/state" "$work/root/usr/share" "${root:?}/$suite"
	mv "$work" "$root/$suite"
}

how=
case ${1-} in
--refresh | --installed)
	how=$1
	shift
	;;
-*)
	usage >&2
	exit 2
	;;
esac
[ $# -gt 0 ] || set -- bookworm trixie sid
for suite in "$@"; do
	if [ "$how" = --installed ]; then
		is_there "$suite" || exit 1
	elif [ "$how" = --refresh ] || ! is_there "$suite"; then
		unpack "$suite"
	fi
done
echo "$(pwd)/$root"
