#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command on a copy of this tree in another release of Debian: a bare system in
# .peers/debian/SUITE, made by debootstrap from the mirror of the system's own release. Needs root.
# Exit status: the command's; 2 for a wrong call.
set -eu
cd "$(dirname "$0")/.."

[ $# -ge 2 ] || {
	echo 'usage: tools/debian.sh SUITE COMMAND [ARGUMENT...]' >&2
	exit 2
}
suite=$1
shift
tree=$PWD/.peers/debian/$suite

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh

[ "$(id -u)" = 0 ] || {
	echo 'debian.sh: debootstrap and chroot need root' >&2
	exit 2
}

bootstrap() {
	uri=$(mirror)
	[ -n "$uri" ] || {
		echo 'debian.sh: apt knows no mirror of Debian (apt-get update?)' >&2
		exit 1
	}
	rm -rf "$tree.new"
	mkdir -p "$(dirname "$tree")"
	debootstrap --variant=minbase "$suite" "$tree.new" "$uri" >"$tree.log" 2>&1 || {
		tail -n 20 "$tree.log" >&2
		exit 1
	}
	rm -rf "$tree"
	mv "$tree.new" "$tree"
}

[ -d "$tree/usr/bin" ] || bootstrap

# The tree sees the network as the system does, and nothing else of it.
cp /etc/resolv.conf "$tree/etc/resolv.conf"
rm -f "$tree/etc/apt/apt.conf.d/99system-proxy"
apt-config dump | grep -i '^Acquire::[a-z]*::proxy ' >"$tree/etc/apt/apt.conf.d/99system-proxy" || :

# The sources as they are here, changed files too. Nothing of an earlier run is kept: the files have the
# times of this tree, by which a build could take an older object for a newer one.
rm -rf "$tree/src"
mkdir -p "$tree/src"
git ls-files -z --cached --others --exclude-standard |
	tar -c --null --ignore-failed-read --warning=no-failed-read -T - | tar -x -C "$tree/src"
git -C "$tree/src" init -q # some checks list what git knows
git -C "$tree/src" add -A

mounted=
unmount() {
	for place in $mounted; do
		umount -l "$tree/$place" || :
	done
}
trap unmount EXIT
for place in proc dev; do
	mountpoint -q "$tree/$place" || {
		mount --bind "/$place" "$tree/$place"
		mounted="$place $mounted"
	}
done
chroot "$tree" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 \
	sh -c 'cd /src && exec "$@"' sh "$@"
