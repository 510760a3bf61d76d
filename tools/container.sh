#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# container.sh PROGRAM: makes the root of packaging/Containerfile's image from PROGRAM, and starts it
# there as the image does, without a container runtime: a push with sources, a lookup, and its size,
# which must be under 45 MB. Needs root.
set -eu
cd "$(dirname "$0")/.."
if [ $# != 1 ] || [ ! -x "$1" ] || [ "$(id -u)" != 0 ]; then
	echo 'usage, as root: tools/container.sh PROGRAM' >&2
	exit 2
fi
program=$(realpath "$1")
work=$(mktemp -d)
root=$work/root
server=
finish() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	wait
	! mountpoint -q "$root/proc" || umount "$root/proc"
	rm -rf "$work"
}
trap finish EXIT

size=$(packaging/container_root.sh "$program" "$root")
[ "$size" -lt $((45 * 1000 * 1000 / 1024)) ] || {
	echo "container.sh: the image has $size KiB; expected under 45 MB" >&2
	exit 1
}
# What every runtime has there.
mount -t proc proc "$root/proc"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9
chroot --userspec=65532:65532 "$root" /usr/bin/unhex --version
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
env -i PATH="$PATH" XDG_DATA_HOME=/var/lib HOME=/var/lib/unhex chroot --userspec=65532:65532 "$root" \
	/usr/bin/unhex serve --listen "0.0.0.0:$port" >"$work/log" 2>&1 &
server=$!
for _ in $(seq 200); do
	! grep -q '^unhex: serving' "$work/log" || break
	sleep 0.1
done
grep -q '^unhex: serving' "$work/log" || {
	cat "$work/log" >&2
	exit 1
}

token=$(cat "$root/var/lib/unhex/admin-key")
printf '%s\n' 'int main(void) { return 0; }' >"$work/sample.c"
gcc -g "$work/sample.c" -o "$work/sample"
export UNHEX_URL="http://127.0.0.1:$port" UNHEX_TOKEN="$token"
"$program" push --with-debuginfo --sources "$work/sample"
id=$("$program" id "$work/sample" | grep -o 'gnu:[0-9a-f]*')
for _ in $(seq 100); do
	! "$program" lookup "$id" main+0 >"$work/answer" 2>&1 || break
	sleep 0.1
done
cat "$work/answer"
grep -q 'main .*sample.c:1' "$work/answer"
# The sources come out of the archive, which libarchive writes and reads.
path=$(printf %s "$work/sample.c" | sed 's,/,%2F,g')
curl -sf -H "Authorization: Bearer $token" "$UNHEX_URL/buildid/${id#gnu:}/source/$path" | cmp - "$work/sample.c" ||
	curl -sf -H "Authorization: Bearer $token" "$UNHEX_URL/buildid/${id#gnu:}/source$work/sample.c" | cmp - "$work/sample.c"
kill "$server"
wait "$server"
server=
printf 'container: good, %s KiB in %s files\n' "$size" "$(find "$root" -xdev -type f | wc -l)"
