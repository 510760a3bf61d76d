# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For scripts that unpack packages of other releases beside the system: apt with lists, state and
# archives of its own. Sourced; $work is a folder of the caller's, by its whole path.

# The mirror of the system's own release. Its key is the one that signs all releases.
mirror() {
	# shellcheck disable=SC2016 # apt's own names
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian|Debian|//p' | head -n 1
}

# apt_prepare URI SUITE...: empty lists, of these suites and nothing else.
apt_prepare() {
	uri=$1
	shift
	mkdir -p "${work:?}/sources" "$work/state/lists/partial" "$work/cache/archives/partial"
	: >"$work/status"
	printf '%s\n' 'Types: deb' "URIs: $uri" "Suites: $*" 'Components: main' \
		'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >"$work/sources/other.sources"
}

# apt TOOL ARGUMENT...: it trusts and knows nothing of what is installed. A mirror that stands still since
# weeks has lists that are too old to believe for updates, and what we want.
apt() {
	tool=$1
	shift
	"$tool" -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State=$work/state" \
		-o "Dir::State::status=$work/status" -o "Dir::Cache=$work/cache" \
		-o "APT::Sandbox::User=$(id -un)" -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false \
		-o Debug::NoLocking=true -o APT::Install-Recommends=false "$@"
}
