/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of perf maps and jitdumps: the files in which run-time compilers describe the code that
 * they generate. */
#ifndef UX_JIT_H
#define UX_JIT_H

#include "arena.h"
#include "base.h"
#include "bytes.h"
#include "map.h"
#include "unhex/frame.h"
#include "vec.h"

enum {
	UX_CODE_EVENTS_MAX =
		1 << 22, /* events in one history; they need a few hundred MiB at most */
};

/* Value of `code` for an event after which the range has no code. */
#define UX_CODE_NONE UINT32_MAX

/* An event: from `time` on, `code` is at the addresses [start, end), until a later event changes
 * that. */
struct ux_code_event {
	uint64_t start;
	uint64_t end;  /* above start */
	uint64_t time; /* of any clock; if two events have the same time, the one added later is
			  used */
	uint32_t code; /* a number that the caller has chosen, or UX_CODE_NONE */
	uint32_t seq;  /* set by ux_code_history_add() */
};

/*
 * Records which code was at an address at a time. The events are stored in levels, each at most
 * half as large as the previous one, so that adding is cheap for batches of any size. Each level is
 * a segment tree over the start and end addresses of its events. An event is in at most 2 log n
 * nodes, and the events of a node are sorted by time. Any number of threads may look up events
 * while no thread adds any. Zeroed = empty.
 */
struct ux_code_level;
struct ux_code_history {
	struct ux_code_level *levels; /* malloc'ed */
	size_t n_levels;
	size_t cap;
	uint32_t n_events;
};

/* Adds events in the order in which they were written. Returns false, and adds none of them, when
 * memory is short or the history would exceed UX_CODE_EVENTS_MAX. */
bool ux_code_history_add(struct ux_code_history *h, const struct ux_code_event *events, size_t n)
	ux_must;
void ux_code_history_deinit(struct ux_code_history *h);

/* Returns the last event at or before `time` with a range that contains pc; NULL if none does, or
 * if its code is UX_CODE_NONE. */
const struct ux_code_event *ux_code_history_find(const struct ux_code_history *h, uint64_t pc,
						 uint64_t time);

/* Writes all n_events events, in the order in which they were added. */
void ux_code_history_list(const struct ux_code_history *h, struct ux_code_event *ret);

/* Returns the number of events at or before `time`. Between two times with the same count each
 * address has the same code. */
uint32_t ux_code_history_count(const struct ux_code_history *h, uint64_t time);

enum {
	UX_JIT_NAME_MAX = 64 << 10, /* bytes of a name; the rest is dropped */
};

/* A parsed name: three strings in one block, "function", NUL, "directory", NUL, "file", NUL. */
struct ux_jit_name {
	const char *text; /* in an arena; NULL: memory is short */
	uint32_t line;    /* the first line of the function; 0: unknown */
};

/*
 * Parses a name into the arena. Invalid UTF-8 and control characters become U+FFFD. A name is
 * truncated at UX_JIT_NAME_MAX bytes. File and line are taken from the names of these run-time
 * compilers: V8 writes "JS:*hot /path/t.js:1:13" (also with Function:, LazyCompile:, Script:, Eval:
 * or RegExp:), CPython "py::K.meth:/tmp/t.py", LuaJIT "TRACE_3::/path/t.lua:12". Any other name is
 * the name of the function.
 */
struct ux_jit_name ux_jit_name_parse(struct ux_arena *a, struct ux_bytes name);

/* Splits a path into "directory", NUL, "file", NUL in the arena and makes it printable as above.
 * Returns NULL when memory is short. */
const char *ux_jit_path_parse(struct ux_arena *a, struct ux_bytes path);

/* Returns the frame for a name, at `offset` bytes from the start of its code. */
struct ux_frame ux_jit_name_frame(struct ux_jit_name name, uint64_t offset);

/* Sets directory and file of a frame to the result of ux_jit_path_parse(). */
void ux_jit_path_frame(const char *path, struct ux_frame *frame);

enum {
	UX_PERF_MAP_MAX = 512 << 20, /* bytes of a file that are read at most */
};

struct ux_perf_entry {
	uint64_t start;
	uint64_t size; /* read as hexadecimal */
	struct ux_jit_name name;
};

UX_VEC(ux_perf_entries, struct ux_perf_entry);

/*
 * The entries of a perf map that were read so far. Initialise it with ux_perf_map_init(). Only one
 * thread may call ux_perf_map_feed() at a time; any number of threads may look up while no thread
 * feeds. Strings of frames live as long as the map, also while it grows.
 */
struct ux_perf_map {
	struct ux_arena arena;          /* names */
	struct ux_perf_entries entries; /* in the order of the file */
	struct ux_code_history history;
	uint64_t skipped; /* malformed lines: interleaved with another line, without a name, or of
			     size 0 */
	size_t checked;   /* number of entries when the sizes were last checked */
	bool letters;     /* sizes are hexadecimal: one has a digit above 9 or begins with 0x */
	bool decimal;     /* sizes are decimal */
};

void ux_perf_map_init(struct ux_perf_map *m);
void ux_perf_map_deinit(struct ux_perf_map *m);

/*
 * Parses the complete lines in `bytes`, which must continue the bytes of earlier calls; *ret_used
 * is their size. The caller passes an incomplete last line again when more of it was written. If
 * entries overlap, the last one is used. UX_ELIMIT: too many lines; the lines read before remain
 * valid. UX_ENOMEM. Source: Linux, tools/perf/Documentation/jit-interface.txt; deviations of
 * runtimes: docs/formats/perf-map.md.
 */
enum ux_code ux_perf_map_feed(struct ux_perf_map *m, struct ux_bytes bytes, size_t *ret_used,
			      struct ux_error *err) ux_must;

/* Finds the frame at an address of the process, and the size of its function in bytes. Returns
 * false when no entry contains it. */
bool ux_perf_map_lookup(const struct ux_perf_map *m, uint64_t addr, struct ux_frame *ret,
			uint64_t *ret_size);

enum {
	UX_JITDUMP_RECORD_MAX = 64 << 20, /* bytes of a record, including the machine code in it */
};

/* A line row: the source line of the code from an offset on. */
struct ux_jit_row {
	int64_t offset; /* relative to the start of the code, negative with Erlang; an address until
			   the code is loaded */
	uint32_t line;
	uint32_t path; /* index in paths; UINT32_MAX: unknown */
};

/* A slice of the array of rows. */
struct ux_jit_rows {
	size_t first;
	size_t n;
};

struct ux_jit_code {
	struct ux_jit_name name;
	struct ux_jit_rows rows; /* sorted by offset */
};

static inline bool ux_jit_u64_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_VEC(ux_jit_row_list, struct ux_jit_row);
UX_VEC(ux_jit_code_list, struct ux_jit_code);
UX_VEC(ux_jit_event_list, struct ux_code_event);
UX_VEC(ux_jit_path_list, const char *);
UX_MAP(ux_jit_numbers, uint64_t, uint32_t, ux_hash_u64, ux_jit_u64_eq);
UX_MAP(ux_jit_waiting, uint64_t, struct ux_jit_rows, ux_hash_u64, ux_jit_u64_eq);
UX_MAP(ux_jit_paths, struct ux_bytes, uint32_t, ux_hash_bytes, ux_bytes_eq);

/*
 * The contents of a jitdump that were read so far. Initialise it with ux_jitdump_init(). Only one
 * thread may call ux_jitdump_feed() at a time; any number of threads may look up while no
 * thread feeds. Strings of frames live as long as the dump, also while it grows.
 */
struct ux_jitdump {
	struct ux_arena arena; /* names and paths */
	struct ux_jit_code_list codes;
	struct ux_jit_row_list rows;
	struct ux_jit_path_list paths;
	struct ux_jit_paths path_numbers;
	struct ux_jit_numbers by_index;   /* maps code_index to an index in codes */
	struct ux_jit_numbers by_address; /* maps the address where code was loaded or moved to */
	struct ux_jit_waiting waiting;    /* rows of code that was not loaded yet, by its address */
	struct ux_jit_event_list events;  /* added by the current call of ux_jitdump_feed() */
	struct ux_code_history history;
	uint64_t skipped; /* records that are damaged or of an unknown kind */
	bool has_header;
	bool swap;
	bool is_v8;       /* written by V8 (docs/formats/jitdump.md) */
	bool other_clock; /* times are a processor's counter, not CLOCK_MONOTONIC */
	bool stopped;     /* a record had an invalid size, so the rest cannot be read */
};

void ux_jitdump_init(struct ux_jitdump *d);
void ux_jitdump_deinit(struct ux_jitdump *d);

/*
 * Parses the complete records in `bytes`, which must continue the bytes of earlier calls. *ret_used
 * is set to their size, and *ret_need to the size of the next record or of its header (0: nothing
 * more will be read). UX_EUNSUPPORTED, UX_ECORRUPT: not a jitdump, an unknown version, or a record
 * with an invalid size. UX_ELIMIT: too many records. After a failure everything that was read
 * before remains valid, and the rest is never read. UX_ENOMEM. Source: Linux,
 * tools/perf/Documentation/jitdump-specification.txt.
 */
enum ux_code ux_jitdump_feed(struct ux_jitdump *d, struct ux_bytes bytes, size_t *ret_used,
			     size_t *ret_need, struct ux_error *err) ux_must;

/* Finds the frame at an address of the process at a time of the dump's clock (UINT64_MAX is now),
 * and the size of its function in bytes. Returns false when no code is known to have been there at
 * that time. ret_size may be NULL, here and above. */
bool ux_jitdump_lookup(const struct ux_jitdump *d, uint64_t addr, uint64_t time,
		       struct ux_frame *ret, uint64_t *ret_size);

#endif
