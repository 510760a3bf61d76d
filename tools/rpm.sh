#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds RPM packages of this tree with the system's rpmbuild, installs them into an empty root and
# runs what they have. On Debian, whose packages rpm does not know, dependencies are not checked.
# The packages are in packages/rpm/. Exit status: 0; 1: something failed.
set -eu
cd "$(dirname "$0")/.."
command -v rpmbuild >/dev/null || {
	echo 'rpm.sh: rpmbuild is not here (package rpm)' >&2
	exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^Version: *//p' packaging/rpm/unhex.spec)
grep -q "version: '$version'" meson.build || {
	echo "rpm.sh: packaging/rpm/unhex.spec has version $version, meson.build another" >&2
	exit 1
}

mkdir -p "$work/SOURCES" "packages/rpm"
tools/source_archive.sh "unhex-$version" | gzip -9n >"$work/SOURCES/unhex-$version.tar.gz"
rpmbuild --quiet --nodeps --define "_topdir $work" --define 'debug_package %{nil}' \
	--define '_buildhost localhost' -ba packaging/rpm/unhex.spec >"$work/log" 2>&1 || {
	tail -n 60 "$work/log" >&2
	exit 1
}
rm -f packages/rpm/*
find "$work/RPMS" "$work/SRPMS" -name '*.rpm' -exec cp {} packages/rpm/ \;

# Installed with rpm, into a root that has nothing else; scripts need one that has a shell.
root=$work/root
mkdir "$root"
rpm --root "$root" --initdb
rpm --root "$root" --nodeps --noscripts -i "packages/rpm/"*".$(uname -m).rpm"
rpm --root "$root" -V --nodeps unhex unhex-server unhex-agent unhex-libs unhex-devel
library=$(dirname "$(find "$root" -name 'libunhex.so')")
"$root/usr/bin/unhex" --version | grep -qF "unhex $version ($(tools/revision.sh))"
"$root/usr/bin/unhex" id "$library/libunhex.so" >/dev/null
LD_LIBRARY_PATH=$library "$root/usr/lib/unhex/bin/addr2line" --version >/dev/null
rpm --root "$root" --nodeps --noscripts -e unhex unhex-server unhex-agent unhex-libs unhex-devel
left=$(find "$root" -name '*unhex*')
[ -z "$left" ] || {
	printf 'rpm.sh: left after removal:\n%s\n' "$left" >&2
	exit 1
}
ls -l packages/rpm
