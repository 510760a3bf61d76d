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
	UX_PERF_MAP_MOST = 512 << 20, /* bytes of a file that are read */
};

struct ux_perf_entry {
	uint64_t start;
	uint64_t size; /* read as hexadecimal */
	struct ux_jit_name name;
};

UX_VEC(ux_perf_entries, struct ux_perf_entry);

/*
 * What was read so far. Start it with ux_perf_map_init(). Feeding is one thread's; looking up is
 * any thread's while nobody feeds. Strings of frames live as long as the map, also while it grows.
 */
struct ux_perf_map {
	struct ux_arena arena;          /* names */
	struct ux_perf_entries entries; /* as the file has them */
	struct ux_code_history history;
	uint64_t skipped; /* lines that are no entries: torn, without a name, of no size */
	size_t checked;   /* entries when sizes were last looked at */
	bool letters;     /* a size has a digit above 9 or 0x: sizes are hexadecimal */
	bool decimal;     /* sizes are decimal */
};

void ux_perf_map_init(struct ux_perf_map *m);
void ux_perf_map_deinit(struct ux_perf_map *m);

/*
 * Reads the whole lines of bytes, which follow what was fed before; *ret_used tells how many bytes
 * they are: an unfinished last line is fed again when there is more of it. Of overlapping entries
 * the last has the addresses. UX_ELIMIT: too many lines; what was read stays. UX_ENOMEM. Source:
 * Linux, tools/perf/Documentation/jit-interface.txt; what runtimes make of it:
 * docs/formats/perf-map.md.
 */
enum ux_code ux_perf_map_feed(struct ux_perf_map *m, struct ux_bytes bytes, size_t *ret_used,
			      struct ux_error *err) ux_must;

/* The frame at an address of the process; false when no entry has it. */
bool ux_perf_map_lookup(const struct ux_perf_map *m, uint64_t addr, struct ux_frame *ret);

#endif
