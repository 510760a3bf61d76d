#!/bin/sh
# Fails when a file includes a header of a folder that is not below its own, or when two files of
# the tree share a name. The allowed arrows are the table; docs/architecture.md draws it.
cd "$(dirname "$0")/.." || exit 2
git ls-files --cached --others --exclude-standard '*.c' '*.h' | grep -E '^(lib|repo|clone|crawl|config|manifest|net|store|archive|sandbox|server|fetch|s3|spool|push|split|crash|profile|otlp|cli|client)/' | sort >/tmp/layers.$$
trap 'rm -f /tmp/layers.$$' EXIT
awk '
BEGIN {
	# lib/
	allow["base"] = ""
	allow["code"] = allow["id"] = allow["live/interp"] = allow["live/jit"] = "base"
	allow["names"] = "base names/swift"
	allow["names/swift"] = "base names"
	allow["wire"] = allow["object"] = "base id"
	allow["dwarf"] = allow["gosym"] = allow["gsym"] = "base code"
	allow["cubin"] = "base code id object"
	allow["unwind"] = "base object dwarf"
	allow["symtab"] = "base code object dwarf"
	allow["extract"] = "base code id live/jit object symtab dwarf gosym cubin gsym"
	allow["live/kernel"] = "base object"
	allow["live"] = "base id object gsym extract live/interp live/jit live/kernel"
	allow["public"] = "base id names wire object cubin gsym extract"
	# what programs share
	allow["manifest"] = "base id"
	allow["net"] = allow["config"] = allow["archive"] = allow["spool"] = "base"
	allow["s3"] = "base net"
	allow["store"] = "base id net s3"
	allow["client"] = "base net"
	allow["fetch"] = "base id object extract net"
	allow["push"] = "base id object gsym extract live net archive sandbox"
	allow["repo"] = "archive base id net object"
	allow["crawl"] = "base id extract net push archive sandbox repo"
	allow["clone"] = "archive base id manifest net push s3"
	allow["agent"] = "base id extract live live/jit live/kernel net push record sandbox spool"
	allow["split"] = "base id object extract archive"
	allow["crash"] = "base id live"
	allow["profile"] = "crash base id names object unwind gsym extract live live/jit live/kernel"
	allow["record"] = "base id object live live/kernel profile"
	allow["otlp"] = "base net object profile spool"
	allow["sandbox"] = "base id object extract archive"
	# unhex serve, from the lowest folder up
	allow["server/core"] = "base code id config net store"
	allow["server/gate"] = "base net store server/core"
	allow["server/symbolize"] = "base object sandbox names wire gsym net store server/core"
	allow["server/upload"] = "base id gsym net store archive sandbox server/core server/gate server/symbolize"
	allow["server/upstream"] = "archive base id config net store sandbox server/core server/upload"
	allow["server/crawl"] = "base net store server/core server/upload"
	allow["server/modules"] = "base gsym manifest net store server/core server/symbolize server/upstream"
	allow["server/profiles"] = "base id code names object net store profile server/core server/symbolize"
	allow["server/protocols"] = "base id object names net profile otlp sandbox server/core server/symbolize server/upstream " \
		"server/profiles"
	allow["server/pages"] = "crash base id names net store profile server/core server/gate server/symbolize server/modules " \
		"server/profiles server/crawl server/upstream"
	allow["server/run"] = "base config id manifest net s3 store server/core server/gate server/symbolize server/upload " \
		"server/upstream server/modules server/crawl server/protocols server/profiles server/pages otlp"
	# the command
	allow["cli"] = "crash base id names wire object cubin gsym extract config net store fetch push clone manifest agent repo crawl split profile record otlp sandbox server/run"
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
