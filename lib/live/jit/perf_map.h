/* SPDX-License-Identifier: Apache-2.0 */
/* perf maps: lines of start, size and name that run-time compilers write. */
#ifndef UX_PERF_MAP_H
#define UX_PERF_MAP_H

#include "arena.h"
#include "bytes.h"
#include "code_history.h"
#include "jit_name.h"
#include "unhex/frame.h"
#include "vec.h"

enum {
	UX_PERF_MAP_MOST = 512 << 20, /* bytes of a file that are read at most */
};

struct ux_perf_entry {
	uint64_t start;
	uint64_t size; /* read as hexadecimal */
	struct ux_jit_name name;
};

UX_VEC(ux_perf_entries, struct ux_perf_entry);

/*
 * The entries that were read so far. Initialise it with ux_perf_map_init(). Only one thread may
 * feed; any number may look up while none feeds. Strings of frames live as long as the map, also
 * while it grows.
 */
struct ux_perf_map {
	struct ux_arena arena;          /* names */
	struct ux_perf_entries entries; /* in the order of the file */
	struct ux_code_history history;
	uint64_t skipped; /* malformed lines: torn, without a name or of size 0 */
	size_t checked;   /* number of entries when the sizes were last checked */
	bool letters;     /* a size has a digit above 9 or 0x: sizes are hexadecimal */
	bool decimal;     /* sizes are decimal */
};

void ux_perf_map_init(struct ux_perf_map *m);
void ux_perf_map_deinit(struct ux_perf_map *m);

/*
 * Parses the complete lines in bytes, which continue what was fed before; *ret_used is their size.
 * An incomplete last line is fed again when there is more of it. Where entries overlap, the last
 * one wins. UX_ELIMIT: too many lines; what was read remains valid. UX_ENOMEM. Source: Linux,
 * tools/perf/Documentation/jit-interface.txt; what runtimes make of it: docs/formats/perf-map.md.
 */
enum ux_code ux_perf_map_feed(struct ux_perf_map *m, struct ux_bytes bytes, size_t *ret_used,
			      struct ux_error *err) ux_must;

/* Finds the frame at an address of the process; false when no entry contains it. */
bool ux_perf_map_lookup(const struct ux_perf_map *m, uint64_t addr, struct ux_frame *ret);

#endif
