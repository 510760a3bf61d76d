#!/bin/sh
# go.sh [PACKAGE...]: builds each program (default: the one in this folder), and sends its symbols before -s -w leaves
# them out. Profilers look for a build ID of the GNU kind. It is a hash of Go's own build ID, which differs between
# programs and between sources, and is the same when the same program is built again. -B gobuildid, which Go has
# since 1.24, does not do: -s -w changes Go's build ID, so the program with symbols would have another one.
set -eu
for package in "${@:-.}"; do
	prog=$(basename "$(go list -f '{{.Target}}' "$package")")
	go build -trimpath -ldflags="-s -w" -o "$prog" "$package"
	go_id=$(go tool buildid "$prog")
	[ -n "$go_id" ] || {
		echo "go.sh: $prog has no Go build ID (-buildid= in GOFLAGS?)" >&2
		exit 1
	}
	id=$(printf '%s' "$go_id" | sha1sum | cut -c1-40)
	go build -trimpath -ldflags="-B 0x$id" -o "$prog.debug" "$package"
	unhex push "$prog.debug"
	go build -trimpath -ldflags="-B 0x$id -s -w" -o "$prog" "$package"
	rm "$prog.debug"
done
