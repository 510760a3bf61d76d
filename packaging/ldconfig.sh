#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ldconfig.sh LIBDIR: after `meson install` of a library to the system itself. Updates the loader's cache, and says what
# programs need that are built with a library in a folder where nothing looks. Not for DESTDIR: a package does this
# when it is installed.
set -eu
libdir=$1
[ -z "${DESTDIR:-}" ] || exit 0
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" != 0 ] || ! command -v ldconfig >/dev/null || ldconfig
[ -e /etc/ld.so.cache ] && ! ldconfig -p | grep -qF " => $libdir/libunhex.so" &&
	echo "The loader does not look into $libdir: set LD_LIBRARY_PATH, or put the folder into /etc/ld.so.conf.d/ and run ldconfig."
path=$(pkg-config --variable pc_path pkg-config 2>/dev/null) || exit 0
case :$path:${PKG_CONFIG_PATH:-}: in
*:"$libdir/pkgconfig":*) ;;
*) echo "pkg-config does not look into $libdir/pkgconfig: add it to PKG_CONFIG_PATH." ;;
esac
