#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks the interpreter of Python with its debug file beside the system, into .peers/python: Debian's is stripped, and
# its debug file is part of a package with a second interpreter, of another version than the installed one where
# that has been updated since. Needs no root, as apt-get download does. Prints the path of the interpreter; its debug
# file is below usr/lib/debug beside it.
set -eu
cd "$(dirname "$0")/.."
root=.peers/python
name=$(basename "$(readlink -f /usr/bin/python3)") # python3.11
python=$root/usr/bin/$name
if [ -x "$python" ]; then
	echo "$python"
	exit
fi
# The newest version that has all of them.
packages="$name-minimal lib$name-minimal lib$name-stdlib $name-dbg"
version=$(apt-cache policy "$name-dbg" | sed -n 's/^ *Candidate: *//p')
case $version in
'' | '(none)')
	echo "python: there is no package $name-dbg" >&2
	exit 1
	;;
esac
work=$(pwd)/$root.new.$$
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/packages" "$work/all"
set --
for package in $packages; do
	set -- "$@" "$package=$version"
done
(cd "$work/packages" && timeout 300 apt-get download -qq "$@" >../apt.log 2>&1) || {
	cat "$work/apt.log" >&2
	exit 1
}
for package in "$work"/packages/*.deb; do
	dpkg-deb -x "$package" "$work/all"
done
id=$(readelf -n "$work/all/usr/bin/$name" | sed -n 's/^ *Build ID: *//p')
rest=${id#??}
file=usr/lib/debug/.build-id/${id%"$rest"}/$rest.debug
mkdir -p "$work/kept/usr/bin" "$(dirname "$work/kept/$file")"
mv "$work/all/usr/bin/$name" "$work/kept/usr/bin"
mv "$work/all/usr/lib/$name" "$work/kept/usr/lib"
mv "$work/all/$file" "$work/kept/$file"
rm -rf "$root"
mv "$work/kept" "$root"
echo "$python"
