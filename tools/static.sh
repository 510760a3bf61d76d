#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# static.sh [--arm64 | SERVER]: builds the command as one static program that runs on any Linux of this machine's
# kind, twice, in folders of other names; both must be the same bytes. With SERVER, a program that has
# `unhex serve`, it is tried in empty roots (tools/static_try.py); this needs root.
# With --arm64 it is cross built; tools/arm64.sh does this in a bare system that has the libraries.
# It is packages/static/unhex, or unhex-arm64. Exit status: 0; 1: something failed; 2: a wrong call.
set -eu
cd "$(dirname "$0")/.."
host='' program=unhex cross=''
if [ "${1-}" = --arm64 ]; then
	host=aarch64-linux-gnu program=unhex-arm64 cross="--cross-file $PWD/tools/arm64.cross"
	shift
fi
if [ $# -gt 1 ] || { [ $# = 1 ] && { [ -n "$host" ] || [ ! -x "$1" ]; }; }; then
	echo 'usage: tools/static.sh [--arm64 | SERVER]' >&2
	exit 2
fi

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh
work=$PWD/.peers/static${host:+-arm64}

# quietly LOG COMMAND...: shows what it printed only if it fails.
quietly() {
	log=$1
	shift
	set +e # of this shell: what it runs ends at its first failure only outside of a condition
	(set -e && "$@") >"$log" 2>&1
	status=$?
	set -e
	[ "$status" = 0 ] || {
		tail -n 60 "$log" >&2
		echo "static.sh: failed; all of it is in $log" >&2
		exit 1
	}
}

# The sources of curl as this release of Debian has them, its patches applied; apt checks who signed them.
static_curl_sources() {
	[ ! -d "$work/curl" ] || return 0
	uri=$(mirror)
	[ -n "$uri" ] || {
		echo 'static.sh: apt knows no mirror of Debian (apt-get update?)' >&2
		exit 1
	}
	suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	apt_prepare "$uri" "$suite"
	sed -i 's/^Types: deb$/Types: deb-src/' "$work/sources/other.sources"
	apt apt-get update
	rm -rf "$work/source"
	mkdir -p "$work/source"
	(cd "$work/source" && apt apt-get source curl)
	mv "$work/source"/curl-*/ "$work/curl"
}

# Debian's libcurl.a needs libraries that have no static form. This one has what the command uses: HTTP
# and HTTPS. Names are resolved by c-ares: glibc's resolver would load the system's NSS modules, and with
# them another C library, into a static program. For the same reason OpenSSL reads no file of the system
# that can name modules.
static_curl_build() {
	prefix=$1
	mkdir -p "$prefix/build"
	cd "$prefix/build"
	# shellcheck disable=SC2086 # one word or none
	CFLAGS="-O2 -fPIE -ffunction-sections -fdata-sections -ffile-prefix-map=$prefix=. -ffile-prefix-map=$work=." \
		"$work/curl/configure" ${host:+--host=$host} --prefix="$prefix" --disable-shared --enable-static --disable-dependency-tracking \
		--with-openssl --disable-openssl-auto-load-config --enable-ares \
		--without-ca-bundle --without-ca-path \
		--without-zlib --without-zstd --without-brotli --without-nghttp2 --without-libidn2 --without-libpsl \
		--without-librtmp --without-libssh2 --without-gssapi --disable-ldap --disable-ldaps \
		--disable-ftp --disable-file --disable-dict --disable-telnet --disable-tftp --disable-pop3 --disable-imap \
		--disable-smtp --disable-gopher --disable-mqtt --disable-rtsp --disable-smb --disable-ntlm \
		--disable-tls-srp --disable-unix-sockets --disable-cookies --disable-netrc --disable-alt-svc \
		--disable-hsts --disable-doh --disable-mime --disable-dateparse --disable-manual --disable-libcurl-option
	make -C lib install
	make -C include install
	cp libcurl.pc "$prefix/"
}

# static_build FOLDER: leaves FOLDER/unhex.
static_build() {
	folder=$work/$1
	rm -rf "$folder"
	mkdir -p "$folder"
	(static_curl_build "$folder/curl")
	mkdir "$folder/build"
	up=$(realpath --relative-to="$folder/build" .) # as meson names the sources, and assert() names them
	# shellcheck disable=SC2086 # two words or none
	CFLAGS="-ffunction-sections -fdata-sections -ffile-prefix-map=$up/= -ffile-prefix-map=$folder=." \
		LDFLAGS='-Wl,--gc-sections' \
		meson setup $cross "$folder/build" --buildtype=release -Dstatic=enabled -Dpkg_config_path="$folder/curl"
	ninja -C "$folder/build" cli/unhex
	"${host:+$host-}strip" -o "$folder/unhex" "$folder/build/cli/unhex"
}

mkdir -p "$work"
quietly "$work/curl.log" static_curl_sources
quietly "$work/one.log" static_build one
quietly "$work/other.log" static_build other/folder
cmp "$work/one/unhex" "$work/other/folder/unhex" || {
	echo 'static.sh: two builds differ' >&2
	exit 1
}
! readelf -lW "$work/one/unhex" | grep -q INTERP || {
	echo 'static.sh: the program needs a loader of shared libraries' >&2
	exit 1
}
mkdir -p packages/static
cp "$work/one/unhex" "packages/static/$program"
[ $# = 0 ] || unshare -n /usr/bin/python3 -B tools/static_try.py packages/static/unhex "$1"
ls -l packages/static
