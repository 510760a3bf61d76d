#!/bin/sh
# Fails when a file includes a header of a folder that is not below its own, or when two files of
# the tree share a name. The allowed arrows are the table; docs/architecture.md draws it.
cd "$(dirname "$0")/.." || exit 2
git ls-files --cached --others --exclude-standard '*.c' '*.h' | grep -E '^(lib|config|net|store|archive|sandbox|server|fetch|push|agent|crawl|cli|client)/' | sort >/tmp/layers.$$
trap 'rm -f /tmp/layers.$$' EXIT
awk '
BEGIN {
	low = "base id names"
	readers = "object cubin dwarf gosym gsym live/interp live/jit"
	allow["base"] = ""
	allow["id"] = allow["names"] = "base"
	allow["names/swift"] = "base names"
	allow["names"] = "base names/swift"
	allow["wire"] = "base id"
	n = split(readers, f, " ")
	for (i = 1; i <= n; i++)
		allow[f[i]] = low
	allow["code"] = "base"
	allow["dwarf"] = allow["dwarf"] " code"
	allow["gosym"] = allow["gosym"] " code"
	allow["gsym"] = allow["gsym"] " code"
	allow["cubin"] = allow["cubin"] " object code"
	allow["symtab"] = low " code object dwarf"
	allow["live/kernel"] = low " object"
	readers = readers " symtab"
	allow["extract"] = low " code " readers
	allow["live"] = low " object gsym extract live/interp live/jit live/kernel"
	allow["public"] = low " wire object cubin gsym extract"
	allow["net"] = "base"
	allow["client"] = "base net"
	allow["config"] = "base"
	allow["store"] = "include base id net"
	allow["fetch"] = low " object extract net"
	allow["archive"] = "base"
	allow["push"] = low " " readers " extract net fetch archive"
	allow["sandbox"] = low " " readers " extract archive"
	below = low " wire object gsym extract config net store fetch archive sandbox"
	allow["server/core"] = below
	allow["server/gate"] = below " server/core"
	allow["server/symbolize"] = allow["server/gate"] " server/gate"
	allow["server/upload"] = allow["server/symbolize"] " server/symbolize"
	allow["server/upstream"] = allow["server/upload"] " server/upload"
	allow["server/modules"] = allow["server/protocols"] = allow["server/upstream"] " server/upstream"
	allow["server/pages"] = allow["server/modules"] " server/modules"
	of_server = " server/core server/gate server/symbolize server/upload server/upstream server/modules server/protocols server/pages server/run"
	allow["server/run"] = below of_server
	allow["cli"] = low " " readers " wire extract live live/kernel config net store fetch archive push sandbox" of_server
	allow["agent"] = allow["crawl"] = allow["push"] " push store"
}
# The folder that a file is in: lib/ is left out, server/ and live/ count with what is below them.
function folder_of(path, n, piece, name, i) {
	n = split(path, piece, "/")
	for (i = piece[1] == "lib" ? 2 : 1; i < n; i++)
		name = name (name == "" ? "" : "/") piece[i]
	return name
}
{
	file = $0
	part = split(file, piece, "/")
	folder = folder_of(file)
	name = piece[part]
	if (name in home) {
		print "layers: two files are named " name ": " path[name] " and " file
		bad = 1
	}
	home[name] = folder
	path[name] = file
	files[++count] = file
	of[count] = folder
}
END {
	for (i = 1; i <= count; i++) {
		while ((getline line < files[i]) > 0) {
			if (line !~ /^#include "/)
				continue
			split(line, q, "\"")
			if (q[2] ~ /^unhex\//)
				continue
			m = split(q[2], h, "/")
			target = home[h[m]]
			if (target == "" || target == of[i])
				continue
			if (!index(" " allow[of[i]] " ", " " target " ")) {
				print "layers: " files[i] ": " of[i] " must not include " target " (" q[2] ")"
				bad = 1
			}
		}
		close(files[i])
	}
	exit bad
}' /tmp/layers.$$
