#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# release.sh [--sign KEY] [PART...]: makes what a release offers, in packages/release/VERSION/. Parts, all by default:
# source, static, rpm, image, and these, which need root: arm64, deb. The times in archives are those of the commit, so
# that the same commit gives the same bytes on the same release of Debian. SHA256SUMS lists all files; KEY, a secret key
# of minisign, signs it (or UNHEX_RELEASE_KEY).
# Exit status: 0; 1: something failed; 2: a wrong call.
set -eu
umask 022
cd "$(dirname "$0")/.."

say() {
	printf 'release: %s\n' "$*"
}

die() {
	printf 'release: %s\n' "$*" >&2
	exit 1
}

usage() {
	echo 'usage: tools/release.sh [--sign KEY] [source|static|arm64|rpm|image|deb...]' >&2
	exit 2
}

key=${UNHEX_RELEASE_KEY-}
if [ "${1-}" = --sign ]; then
	[ $# -ge 2 ] || usage
	key=$2
	shift 2
fi
for part in "$@"; do
	case $part in
	source | static | arm64 | rpm | image | deb) ;;
	*) usage ;;
	esac
done
[ $# != 0 ] || set -- source static arm64 rpm image deb
parts=$*
[ -z "$key" ] || [ -r "$key" ] || die "$key, the key that signs, cannot be read"

version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
revision=$(tools/revision.sh)
[ -n "$revision" ] || die 'the revision is unknown: a release is made from a clone of the repository'
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
place=$PWD/packages/release/$version
out=$place.new # the release of before stays until this one is whole
work=$PWD/.peers/release
left_out=

# quietly NAME COMMAND...: shows what it printed only if it fails.
quietly() {
	log=$work/$1.log
	shift
	set +e # of this shell: what it runs ends at its first failure only outside of a condition
	(set -e && "$@") >"$log" 2>&1
	status=$?
	set -e
	[ "$status" = 0 ] || {
		tail -n 60 "$log" >&2
		die "failed; all of it is in $log"
	}
}

# pack FOLDER NAME: FOLDER's content as NAME.tar.gz of the release, below NAME/.
pack() {
	tar -c --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		--transform "flags=rh;s,^\.,$2," -C "$1" . | gzip -9n >"$out/$2.tar.gz"
}

# The whole command with its manual pages, as release_static and release_image need it; built once.
server_build() {
	[ ! -x "$work/root/usr/bin/unhex" ] || return 0
	meson setup "$work/build" --buildtype=release --prefix=/usr -Dtests=disabled
	ninja -C "$work/build"
	DESTDIR=$work/root meson install -C "$work/build" --no-rebuild
}

release_source() {
	tools/source_archive.sh "unhex-$version" | gzip -9n >"$out/unhex-$version.tar.gz"
}

# static_archive PROGRAM MACHINE: the program, and the pages of the verbs that it has.
static_archive() {
	name=unhex-$version-linux-$2
	folder=$work/$name
	rm -rf "$folder"
	mkdir -p "$folder/bin" "$folder/share/man/man1"
	install -m 755 "$1" "$folder/bin/unhex"
	install -m 644 LICENSE README.md CHANGELOG.md "$folder/"
	for shell in bash-completion fish zsh; do
		cp -R "$work/root/usr/share/$shell" "$folder/share/"
	done
	for page in "$work/root/usr/share/man/man1"/*; do
		verb=$(basename "$page" .1)
		[ "$verb" = unhex ] || packages/static/unhex "${verb#unhex-}" --help >/dev/null 2>&1 || continue
		install -m 644 "$page" "$folder/share/man/man1/"
	done
	gzip -9n "$folder"/share/man/man1/*
	pack "$folder" "$name"
}

release_static() {
	quietly server server_build
	quietly static tools/static.sh
	static_archive packages/static/unhex "$(uname -m)"
}

release_arm64() {
	[ "$(id -u)" = 0 ] || {
		left_out="$left_out arm64"
		return 0
	}
	quietly server server_build
	case " $parts " in
	*' static '*) ;; # made just now, of this commit
	*) quietly static tools/static.sh ;;
	esac
	quietly arm64 tools/arm64.sh static
	static_archive packages/static/unhex-arm64 aarch64
}

rpm_build() {
	target=$1
	rm -rf "$work/rpm"
	mkdir -p "$work/rpm/SOURCES"
	cp "$out/unhex-$version-linux-$target.tar.gz" "$work/rpm/SOURCES/"
	rpmbuild --nodeps --target "$target" --define "_topdir $work/rpm" --define "unhex_version $version" \
		--define 'debug_package %{nil}' --define '_buildhost localhost' --define '__strip /bin/true' \
		--define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
		--define '__os_install_post %{nil}' --define '_build_id_links none' --define '_binary_payload w9.gzdio' \
		--define '_docdir /usr/share/doc' --define '_defaultlicensedir /usr/share/licenses' \
		-bb packaging/rpm/unhex-static.spec
	cp "$work/rpm/RPMS/$target"/*.rpm "$out/"
}

# The package of a static program needs it packed: the parts static and arm64 come first.
release_rpm() {
	command -v rpmbuild >/dev/null || die 'rpmbuild is not here (package rpm)'
	packed=
	for target in x86_64 aarch64; do
		[ -f "$out/unhex-$version-linux-$target.tar.gz" ] || continue
		quietly "rpm-$target" rpm_build "$target"
		packed=1
	done
	[ -n "$packed" ] || die 'the part rpm needs the part static or arm64'
}

release_image() {
	[ "$(id -u)" = 0 ] || {
		left_out="$left_out image"
		return 0
	}
	quietly server server_build
	rm -rf "$work/image"
	quietly image packaging/container_root.sh "$work/root/usr/bin/unhex" "$work/image"
	tools/oci.py "$work/image" "$out/unhex-$version-image-amd64.oci.tar" --version "$version" \
		--revision "$revision" --architecture amd64
}

# Both releases of Debian have packages of the same names.
release_deb() {
	[ "$(id -u)" = 0 ] || {
		left_out="$left_out deb"
		return 0
	}
	quietly deb tools/package.sh bookworm trixie
	for suite in bookworm trixie; do
		for deb in packages/"$suite"/*.deb; do
			name=$(basename "$deb" .deb)
			cp "$deb" "$out/${name%_*}_${suite}_${name##*_}.deb"
		done
	done
}

sign() {
	(cd "$out" && rm -f SHA256SUMS SHA256SUMS.minisig && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
	if [ -z "$key" ]; then
		say "not signed: name minisign's secret key with --sign KEY or UNHEX_RELEASE_KEY (minisign -G makes one)"
		return 0
	fi
	command -v minisign >/dev/null || die 'minisign is not here (package minisign)'
	minisign -S -s "$key" -m "$out/SHA256SUMS" -t "unhex $version $revision" ||
		die "minisign did not sign $out/SHA256SUMS"
}

rm -rf "$work" "$out"
mkdir -p "$work" "$out"
say "unhex $version ($revision)"
for part in source static arm64 rpm image deb; do
	case " $* " in
	*" $part "*)
		say "$part"
		"release_$part"
		;;
	esac
done
sign
[ -z "$left_out" ] || say "left out, since they need root:$left_out"
rm -rf "$place"
mv "$out" "$place"
ls -l "$place"
