/* SPDX-License-Identifier: Apache-2.0 */
/* jitdump: the code that a run-time compiler generated, where it was and when. */
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
	UX_JITDUMP_RECORD_MOST = 64 << 20, /* bytes of a record including its code */
};

/* The source line of the code from an offset on. */
struct ux_jit_row {
	int64_t offset; /* from the start of the code, negative with Erlang; an address until the
			   code is loaded */
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
	struct ux_jit_rows rows; /* by offset */
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
 * thread may feed; any number may look up while none feeds. Strings of frames live as long as the
 * dump, also while it grows.
 */
struct ux_jitdump {
	struct ux_arena arena; /* names and paths */
	struct ux_jit_code_list codes;
	struct ux_jit_row_list rows;
	struct ux_jit_path_list paths;
	struct ux_jit_paths path_numbers;
	struct ux_jit_numbers by_index;   /* code_index to index in codes */
	struct ux_jit_numbers by_address; /* address where it was loaded or moved to */
	struct ux_jit_waiting waiting;    /* rows of code that will be loaded at an address */
	struct ux_jit_event_list events;  /* of the current call of ux_jitdump_feed() */
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
 * Parses the complete records in bytes, which continue what was fed before. *ret_used: their size;
 * *ret_need: the size of the next record, or of its header (0: nothing more is read).
 * UX_EUNSUPPORTED, UX_ECORRUPT: not a jitdump, an unknown version, or a record with an invalid
 * size; UX_ELIMIT: too many records. What was read before remains valid, the rest is never read.
 * UX_ENOMEM. Source: Linux, tools/perf/Documentation/jitdump-specification.txt.
 */
enum ux_code ux_jitdump_feed(struct ux_jitdump *d, struct ux_bytes bytes, size_t *ret_used,
			     size_t *ret_need, struct ux_error *err) ux_must;

/* Finds the frame at an address of the process at a time of the dump's clock, UINT64_MAX for now;
 * false when no code is known to have been there then. */
bool ux_jitdump_lookup(const struct ux_jitdump *d, uint64_t addr, uint64_t time,
		       struct ux_frame *ret);

#endif
