#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# source_archive.sh [PREFIX]: writes a tar archive of the sources as they are here, changed files too, to standard
# output, below PREFIX/. The same sources give the same bytes: names are sorted, times are SOURCE_DATE_EPOCH or that of
# the commit. The file REVISION says which commit it is, since the archive has no .git.
set -eu
cd "$(dirname "$0")/.."
prefix=${1-}
epoch=${SOURCE_DATE_EPOCH-$(git log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/revision.sh >"$work/REVISION"
chmod 644 "$work/REVISION"
git ls-files -z --cached --others --exclude-standard | sort -z >"$work/names"
tar -c --ignore-failed-read --warning=no-failed-read --format=gnu --mtime="@$epoch" --owner=0 --group=0 \
	--numeric-owner --mode=u+rw,go=rX ${prefix:+--transform "flags=rh;s,^,$prefix/,"} \
	-C "$work" REVISION -C "$PWD" --null --no-recursion -T "$work/names"
