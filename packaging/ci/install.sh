#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh URL VERSION SHA256 FOLDER: downloads the static program of a release of unhex for this machine from URL/VERSION/,
# refuses it if its SHA-256 differs, and puts it into FOLDER. Needs curl, tar and gzip.
# Exit status: 0; 1: the download failed or is not what was named; 2: a wrong call.
set -eu
if [ $# != 4 ]; then
	echo 'usage: install.sh URL VERSION SHA256 FOLDER' >&2
	exit 2
fi
case $3 in
*[!0-9a-f]*) hash= ;;
*) hash=$3 ;;
esac
[ "${#hash}" = 64 ] || {
	echo "install.sh: \"$3\" is not a SHA-256 of 64 hexadecimal digits; take it from the release's SHA256SUMS" >&2
	exit 2
}
name=unhex-$2-linux-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
curl --fail --silent --show-error --location --retry 3 --max-time 300 --max-filesize 100000000 \
	--proto '=https,http' --proto-redir '=https,http' -o "$work/archive" "${1%/}/$2/$name.tar.gz" || {
	echo "install.sh: cannot download ${1%/}/$2/$name.tar.gz" >&2
	exit 1
}
found=$(sha256sum <"$work/archive")
[ "${found%% *}" = "$hash" ] || {
	echo "install.sh: $name.tar.gz has the SHA-256 ${found%% *}, not $hash: it was not installed" >&2
	exit 1
}
tar -x -z -C "$work" -f "$work/archive" "$name/bin/unhex"
mkdir -p "$4"
mv "$work/$name/bin/unhex" "$4/unhex"
"$4/unhex" --version
