#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# newcomer.sh SUITE [root|user [untested]]: does in a bare system of Debian what README.md tells a newcomer to type: git and
# ca-certificates are there, what is committed here is cloned, and nothing else. As root, or as a user with sudo.
# The report of the end-to-end tests is left in .peers/debian/SUITE-newcomer.xml if all of ./dev test passes.
# It prints seconds, packages and bytes of each step, and fails if a command fails, if a service was enabled, or if
# anything is left outside of the clone. "untested": without ./dev test, which takes most of the time. Needs root. The bare system is kept in .peers/debian for the next time.
# Exit status: 0; 1: something failed; 2: a wrong call.
set -eu
cd "$(dirname "$0")/.."
suite=${1-}
who=${2-root}
how=${3-tested}
case $suite:$who:$how in
*[!a-z:]* | :*) suite= ;;
*:root:tested | *:user:tested | *:root:untested | *:user:untested) ;;
*) suite= ;;
esac
[ -n "$suite" ] || {
	echo 'usage: tools/newcomer.sh SUITE [root|user [untested]]' >&2
	exit 2
}

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh
# shellcheck source=tools/debian_tree.sh
. tools/debian_tree.sh

bare=$PWD/.peers/debian/$suite-bare
tree=$PWD/.peers/debian/$suite-newcomer
home=/root
[ "$who" = root ] || home=/home/you

say() {
	printf 'newcomer: %s %s: %s\n' "$suite" "$who" "$*"
}

packages() {
	find "$tree/var/lib/dpkg/info" -name '*.list' | wc -l
}

megabytes() {
	du -smx "$tree" | cut -f 1
}

# What starts by itself, and what lies outside of the clone where programs may leave something. The packages of Python
# make folders in /usr/local.
enabled() {
	find "$tree/etc/systemd" "$tree/etc/rc2.d" "$tree/etc/rc3.d" -name 'S*' -o -path '*.wants/*' 2>/dev/null | sort
}

leftovers() {
	(cd "$tree" && find root home tmp var/tmp usr/local srv opt -path "${home#/}/unhex" -prune -o \
		-path 'usr/local/lib/python3*' -prune -o -print | sort)
}

# in_clone COMMAND: a line of shell, as the newcomer, in the clone.
in_clone() {
	if [ "$who" = root ]; then
		tree_run "$tree" bash -c "cd ~/unhex && $1"
	else
		tree_run "$tree" runuser -u you -- env HOME=$home USER=you bash -c "cd ~/unhex && $1"
	fi
}

# act NAME COMMAND
act() {
	before_packages=$(packages)
	before_bytes=$(megabytes)
	begun=$(date +%s)
	say "$1"
	status=0
	in_clone "$2" || status=$?
	say "$1: status $status, $(($(date +%s) - begun)) s, $(($(packages) - before_packages)) packages, $(($(megabytes) - before_bytes)) MB"
	[ "$status" = 0 ] || exit 1
}

# The blocks of the tutorial, each as it stands, as one script; both commands at its beginning have been run before.
tutorial() {
	# shellcheck disable=SC2016 # of markdown
	awk '/^ *```sh$/ { inside = 1; next } /^ *```$/ { inside = 0 } inside' README.md |
		sed -e '/^\.\/dev run$/d' -e '/^\.\/dev test$/d'
}

tree_bootstrap "$suite" "$bare"
rm -rf "$tree"
cp -a --reflink=auto "$bare" "$tree"
trap 'rm -rf "$tree"' EXIT
tree_run "$tree" sh -ec 'apt-get update -qq && apt-get install -y -qq --no-install-recommends git ca-certificates' \
	>"$tree.log" 2>&1 || {
	cat "$tree.log" >&2
	exit 1
}
if [ "$who" = user ]; then
	tree_run "$tree" sh -ec 'apt-get install -y -qq --no-install-recommends sudo
		useradd --create-home --shell /bin/bash you
		echo "you ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/you' >"$tree.log" 2>&1 || {
		cat "$tree.log" >&2
		exit 1
	}
fi
# A clone by the newcomer's own git, of a repository that is only there for that.
git clone -q --bare . "$tree/srv/unhex.git"
in_home='git clone -q /srv/unhex.git ~/unhex'
if [ "$who" = root ]; then
	tree_run "$tree" chown -R root:root /srv/unhex.git
	tree_run "$tree" bash -c "$in_home"
else # git reads no repository of another user
	tree_run "$tree" chown -R you:you /srv/unhex.git
	tree_run "$tree" runuser -u you -- env HOME=$home bash -c "$in_home"
fi
tutorial >"$tree$home/unhex.tutorial"

enabled >"$tree.enabled"
leftovers >"$tree.leftovers"
act './dev run --once' './dev run --once'
rm -f "$tree.xml"
[ "$how" = untested ] || {
	act './dev test' './dev test'
	cp "$tree$home/unhex/build/e2e.xml" "$tree.xml"
}
enabled | diff "$tree.enabled" - || {
	say 'a service is enabled that was not before' >&2
	exit 1
}
leftovers | diff "$tree.leftovers" - || {
	say 'something is left outside of the clone' >&2
	exit 1
}
act 'the tutorial' 'timeout 600 bash -ex ~/unhex.tutorial'
act 'git status' 'git status --porcelain | { ! grep .; }'
