/* SPDX-License-Identifier: Apache-2.0 */
/* jitdump: what run-time compilers made, where it lived and when. */
#ifndef UX_JITDUMP_H
#define UX_JITDUMP_H

#include "arena.h"
#include "bytes.h"
#include "code_history.h"
#include "jit_name.h"
#include "map.h"
#include "unhex/frame.h"
#include "vec.h"

enum {
	UX_JITDUMP_RECORD_MOST = 64 << 20, /* bytes of a record, with the code in it */
};

/* A line of the code's source from an offset on. */
struct ux_jit_row {
	int64_t offset; /* from the code's start, which it may be before (Erlang); an address
			   until its code is loaded */
	uint32_t line;
	uint32_t path; /* number in paths; UINT32_MAX: not known */
};

/* Neighbours in the array of rows. */
struct ux_jit_rows {
	size_t first;
	size_t n;
};

struct ux_jit_code {
	struct ux_jit_name name;
	struct ux_jit_rows rows; /* by offset */
};

static inline bool ux_jit_same_u64(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_VEC(ux_jit_row_list, struct ux_jit_row);
UX_VEC(ux_jit_code_list, struct ux_jit_code);
UX_VEC(ux_jit_event_list, struct ux_code_event);
UX_VEC(ux_jit_path_list, const char *);
UX_MAP(ux_jit_numbers, uint64_t, uint32_t, ux_hash_u64, ux_jit_same_u64);
UX_MAP(ux_jit_waiting, uint64_t, struct ux_jit_rows, ux_hash_u64, ux_jit_same_u64);
UX_MAP(ux_jit_paths, struct ux_bytes, uint32_t, ux_hash_bytes, ux_bytes_eq);

/*
 * What was read so far. Start it with ux_jitdump_init(). Feeding is one thread's; looking up is any
 * thread's while nobody feeds. Strings of frames live as long as the dump, also while it grows.
 */
struct ux_jitdump {
	struct ux_arena arena; /* names and paths */
	struct ux_jit_code_list codes;
	struct ux_jit_row_list rows;
	struct ux_jit_path_list paths;
	struct ux_jit_paths path_numbers;
	struct ux_jit_numbers by_index;   /* code_index to number in codes */
	struct ux_jit_numbers by_address; /* where it was loaded or moved to */
	struct ux_jit_waiting waiting;    /* rows of code that is to be loaded at an address */
	struct ux_jit_event_list events;  /* of the feeding in progress */
	struct ux_code_history history;
	uint64_t skipped; /* records that are damaged or of a kind we do not know */
	bool has_header;
	bool swap;
	bool is_v8;       /* its writer is V8 (docs/formats/jitdump.md) */
	bool other_clock; /* times are a processor's counter, not CLOCK_MONOTONIC */
	bool stopped;     /* a record makes no sense, nothing behind it can be read */
};

void ux_jitdump_init(struct ux_jitdump *d);
void ux_jitdump_deinit(struct ux_jitdump *d);

/*
 * Reads the whole records of bytes, which follow what was fed before. *ret_used: how many bytes
 * they are; *ret_need: how many the next one takes from there, or its header (0: none begins
 * there). UX_EUNSUPPORTED, UX_ECORRUPT: it is no jitdump, or none that we know, or a record's size
 * makes no sense; UX_ELIMIT: too much of it. What was read before stays, the rest is never read.
 * UX_ENOMEM. Source: Linux, tools/perf/Documentation/jitdump-specification.txt.
 */
enum ux_code ux_jitdump_feed(struct ux_jitdump *d, struct ux_bytes bytes, size_t *ret_used,
			     size_t *ret_need, struct ux_error *err) ux_must;

/* The frame at an address of the process at a time of the dump's clock, UINT64_MAX for now; false
 * when nothing is known to have lived there then. */
bool ux_jitdump_lookup(const struct ux_jitdump *d, uint64_t addr, uint64_t time,
		       struct ux_frame *ret);

#endif
