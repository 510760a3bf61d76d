#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the revision of the sources, for `unhex --version`: the file REVISION of a source archive, or the commit that
# git has, with ", modified" if tracked files differ from it. Prints an empty line where neither is known.
cd "$(dirname "$0")/.." || exit 1
if [ -f REVISION ]; then
	head -n 1 REVISION | tr -cd '0-9a-z, \n'
	exit
fi
# Sources without .git may lie in a folder of another repository, whose commit says nothing about them.
revision=
if [ -e .git ]; then
	revision=$(git rev-parse --verify --quiet --short=12 HEAD 2>/dev/null)
	[ -z "$revision" ] || [ -z "$(git --no-optional-locks status --porcelain --untracked-files=no 2>/dev/null)" ] ||
		revision="$revision, modified"
fi
echo "$revision"
