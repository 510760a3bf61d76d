# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For scripts that run commands in a bare system of another release of Debian. Sourced, in the
# repository's root, after tools/apt_beside.sh; needs root. Mounts end with the command.

# tree_bootstrap SUITE FOLDER: a bare system, from the mirror of the system's own release.
tree_bootstrap() {
	[ "$(id -u)" = 0 ] || {
		echo "${0##*/}: debootstrap and chroot need root" >&2
		exit 2
	}
	[ ! -d "$2/usr/bin" ] || return 0
	uri=$(mirror)
	[ -n "$uri" ] || {
		echo "${0##*/}: apt knows no mirror of Debian (apt-get update?)" >&2
		exit 1
	}
	rm -rf "$2.new"
	mkdir -p "$(dirname "$2")"
	debootstrap --variant=minbase "$1" "$2.new" "$uri" >"$2.log" 2>&1 || {
		tail -n 20 "$2.log" >&2
		exit 1
	}
	rm -rf "$2"
	mv "$2.new" "$2"
}

# Writes the sources as they are here, changed files too, to standard output, as an archive.
tree_sources() {
	git ls-files -z --cached --others --exclude-standard |
		tar -c --null --ignore-failed-read --warning=no-failed-read -T -
}

# A root of its own instead of a chroot: inside of one, the kernel refuses user namespaces, which tests make.
# shellcheck disable=SC2016 # the inner shell's
tree_enter='cd "$1" && shift
mount --bind . . && cd "$PWD"
for place in proc sys dev dev/pts dev/shm; do
	mount --bind "/$place" "$place"
done
pivot_root . . && umount -l . && exec chroot . "$@"'

# tree_run FOLDER COMMAND...: it sees the network, processes and devices (terminals too) as the system does, and
# nothing else of it.
tree_run() {
	tree_folder=$1
	shift
	cp /etc/resolv.conf "$tree_folder/etc/resolv.conf"
	# The installer writes it, debootstrap does not.
	[ -e "$tree_folder/etc/hosts" ] || echo '127.0.0.1 localhost' >"$tree_folder/etc/hosts"
	apt-config dump | grep -i '^Acquire::[a-z]*::proxy ' >"$tree_folder/etc/apt/apt.conf.d/99system-proxy" || :
	unshare --mount --propagation private sh -ec "$tree_enter" sh "$tree_folder" env -i HOME=/root \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
