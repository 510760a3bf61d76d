#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# container_root.sh PROGRAM FOLDER: makes FOLDER the root of a system that has PROGRAM, stripped, with
# the libraries that it links or loads, and nothing else. Needs root, as the program's libraries and
# the root's owner are those of the system. Prints its size in KiB.
set -eu
if [ $# != 2 ] || [ -e "$2" ]; then
	echo 'usage: container_root.sh PROGRAM FOLDER (that is not there yet)' >&2
	exit 2
fi
program=$1
root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# copy FILE: to where it is here, the file itself where that is a link.
copy() {
	[ -e "$root$1" ] || install -D -m "$(stat -L -c %a "$1")" "$1" "$root$1"
}

# libraries FILE: the paths of all shared libraries that it needs, the loader too.
libraries() {
	ldd "$1" | sed -n 's,^[^/]*\(/[^ ]*\) (0x.*$,\1,p'
}

install -D -m 755 -s "$program" "$root/usr/bin/unhex"
libraries "$program" >"$work/libraries"
# Those that are loaded when something needs them, by the names that the program has.
strings -n 8 "$program" | grep -o '^lib\(archive\|capstone\|curl\(-gnutls\)\?\|gnutls\|microhttpd\|pq\)\.so\.[0-9]*$' | sort -u >"$work/loaded"
while read -r name; do
	path=$(ldconfig -p | sed -n "s,^[[:space:]]*$name .* => ,,p" | head -n 1)
	[ -n "$path" ] || {
		echo "container_root.sh: $name, which $program loads, is not here" >&2
		exit 1
	}
	echo "$path"
	libraries "$path"
done <"$work/loaded" >>"$work/libraries"

sort -u "$work/libraries" | while read -r path; do
	case $path in
	*/libicudata.so.*)
		# libarchive reads the format xar, which unhex does not, with libxml2, and that brings 30 MB of
		# tables of ICU. Its own "stubdata" is a table without entries, for such cases.
		name=${path##*/}
		version=${name##*.}
		printf '%s\n' 'const struct { unsigned short header_size; unsigned char magic[2]; struct { unsigned short size, reserved;' \
			'unsigned char big, charset, wide, reserved1, format[4], format_version[4], data_version[4]; } info;' \
			'unsigned char pad[8]; unsigned count, reserved; } table = { 32, { 0xda, 0x27 }, { 20, 0, 0, 0, 2, 0,' \
			"{ 'T', 'o', 'C', 'P' }, { 1 }, { 0 } }, { 0 }, 0, 0 };" |
			sed "s/\\btable\\b/icudt${version}_dat/" >"$work/data.c"
		gcc -shared -fPIC -Wl,-soname,"$name" -o "$work/$name" "$work/data.c"
		install -D -m 644 "$work/$name" "$root$path"
		;;
	*) copy "$path" ;;
	esac
done

copy /etc/ssl/certs/ca-certificates.crt
printf '%s\n' 'root:x:0:0::/:/sbin/nologin' 'unhex:x:65532:65532::/var/lib/unhex:/sbin/nologin' >"$root/etc/passwd"
printf '%s\n' 'root:x:0:' 'unhex:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
mkdir -p "$root/tmp" "$root/var/tmp" "$root/var/lib/unhex" "$root/proc" "$root/dev"
chmod 1777 "$root/tmp" "$root/var/tmp"
chown 65532:65532 "$root/var/lib/unhex"
chmod 700 "$root/var/lib/unhex"
du -sk --apparent-size "$root" | cut -f 1
