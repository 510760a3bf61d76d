#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds Debian packages of this tree in a bare system of each SUITE that has their build dependencies
# and nothing else, twice; both must be the same bytes, and lintian finds no error. Then they are
# installed in another bare system, tried, upgraded and purged. Needs root.
# The packages are in packages/SUITE/. Exit status: 0; 1: something failed; 2: a wrong call.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=tools/apt_beside.sh
. tools/apt_beside.sh
# shellcheck source=tools/debian_tree.sh
. tools/debian_tree.sh

say() {
	printf 'package: %s\n' "$*"
}

# quietly LOG COMMAND...: shows what it printed only if it fails.
quietly() {
	log=$1
	shift
	"$@" >"$log" 2>&1 || {
		tail -n 60 "$log" >&2
		say "failed; all of it is in $log" >&2
		exit 1
	}
}

# package_build TREE FOLDER SETTINGS...: leaves the packages in FOLDER of the tree. The settings are
# those that must not change the packages.
package_build() {
	tree=$1 folder=$2
	shift 2
	rm -rf "${tree:?}$folder"
	mkdir -p "$tree$folder/unhex"
	tar -x -C "$tree$folder/unhex" <"$sources"
	cp -a "$tree$folder/unhex/packaging/debian" "$tree$folder/unhex/debian"
	# shellcheck disable=SC2016 # of the shell inside
	quietly "$tree.build.log" tree_run "$tree" env "$@" sh -euc '
		cd "$1/unhex"
		apt-get update -qq
		apt-get install -qq -y --no-install-recommends dpkg-dev
		apt-get build-dep -qq -y --no-install-recommends ./
		dpkg-buildpackage -us -uc' sh "$folder"
}

# What lintian says of each package; errors end the script.
package_lint() {
	# shellcheck disable=SC2016 # of the shell inside
	tree_run "$1" sh -euc '
		apt-get install -qq -y --no-install-recommends lintian >/dev/null 2>&1
		cd /build
		lintian --allow-root --fail-on error *.changes'
}

# Installs, tries, upgrades and purges the packages of a folder in a bare system.
package_try() {
	rm -rf "$2"
	cp -a "$1" "$2"
	mkdir "$2/try"
	cp "$3"/*.deb packaging/debian/tests/smoke "$2/try/"
	cp tools/package_try.sh "$2/try/run"
	quietly "$2.log" tree_run "$2" sh /try/run
}

[ $# != 0 ] || set -- bookworm trixie
for suite in "$@"; do
	case $suite in
	*[!a-z]*)
		echo 'usage: tools/package.sh [SUITE...]' >&2
		exit 2
		;;
	esac
	bare=$PWD/.peers/debian/$suite-bare
	tree=$PWD/.peers/debian/$suite-package
	tree_bootstrap "$suite" "$bare"
	[ -d "$tree" ] || {
		cp -a "$bare" "$tree.new"
		mv "$tree.new" "$tree"
	}
	sources=$tree.sources.tar
	tools/source_archive.sh >"$sources"
	say "$suite: building"
	package_build "$tree" /build LC_ALL=C.UTF-8
	say "$suite: building once more, elsewhere"
	package_build "$tree" /again/elsewhere LC_ALL=C TZ=Pacific/Kiritimati DEB_BUILD_OPTIONS=parallel=4
	for deb in "$tree"/build/*.deb "$tree"/build/*.tar.*; do
		cmp "$deb" "$tree/again/elsewhere/${deb##*/}" || {
			say "$suite: two builds of ${deb##*/} differ" >&2
			exit 1
		}
	done
	say "$suite: both are the same bytes"
	package_lint "$tree"
	say "$suite: lintian found no error"
	mkdir -p "packages/$suite"
	rm -f "packages/$suite"/*
	cp "$tree"/build/*.* "packages/$suite/"
	package_try "$bare" "$PWD/.peers/debian/$suite-try" "packages/$suite"
	say "$suite: installed, tried, upgraded and purged"
	ls -l "packages/$suite"
done
