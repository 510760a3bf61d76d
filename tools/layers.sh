#!/bin/sh
# Fails when a file includes a header of a folder that is not below its own, or when two files of
# the tree share a name. The allowed arrows are the table; docs/architecture.md draws it.
cd "$(dirname "$0")/.." || exit 2
git ls-files --cached --others --exclude-standard '*.c' '*.h' | grep -E '^(lib|config|net|store|bundle|service|sandbox|upstream|protocols|web|server|fetch|push|agent|crawl|cli)/' | sort >/tmp/layers.$$
trap 'rm -f /tmp/layers.$$' EXIT
awk '
BEGIN {
	low = "base id demangle"
	formats = "elf macho cuda dwarf gosym jit interp gsym"
	allow["base"] = ""
	allow["id"] = allow["demangle"] = "base"
	allow["wire"] = "base id"
	n = split(formats, f, " ")
	for (i = 1; i <= n; i++)
		allow[f[i]] = low
	allow["cuda"] = allow["cuda"] " elf"
	allow["kernel"] = low " elf"
	allow["symbolize"] = low " " formats
	allow["process"] = low " elf jit interp gsym kernel symbolize"
	allow["target"] = low " elf interp process"
	allow["public"] = low " wire elf macho cuda gsym symbolize"
	allow["profile"] = low " symbolize"
	allow["net"] = "base"
	allow["client"] = "base net"
	allow["config"] = "base"
	allow["store"] = "include base id net"
	allow["fetch"] = low " elf symbolize net"
	allow["bundle"] = "base"
	allow["push"] = low " " formats " symbolize net fetch bundle"
	allow["sandbox"] = low " " formats " symbolize bundle"
	allow["upstream"] = low " net fetch store"
	allow["service"] = low " wire elf gsym symbolize config net store fetch bundle sandbox upstream"
	allow["protocols"] = allow["service"] " service"
	allow["web"] = allow["service"] " service"
	allow["server"] = allow["push"] " config store push profile sandbox upstream service protocols web"
	allow["cli"] = allow["server"] " wire server process target"
	allow["agent"] = allow["crawl"] = allow["push"] " push store"
}
{
	file = $0
	part = split(file, piece, "/")
	folder = piece[1] == "lib" ? piece[2] : piece[1]
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
