/* SPDX-License-Identifier: Apache-2.0 */
/* jitdumps for tests, record by record. */
#ifndef UX_MAKE_JITDUMP_H
#define UX_MAKE_JITDUMP_H

#include "out.h"

/* The 40 bytes of a header; out->swap is the byte order of all. */
void make_jit_header(struct ux_out *out, uint32_t pad, uint64_t flags);

struct make_jit_load {
	uint64_t time;
	uint64_t addr;
	uint64_t size; /* of the code; `bytes` of them are written */
	uint64_t index;
	const char *name;
	uint32_t bytes;
};

void make_jit_load(struct ux_out *out, struct make_jit_load load);
void make_jit_move(struct ux_out *out, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		   uint64_t index);

struct make_jit_row {
	uint64_t addr;
	int32_t line;
	const char *file; /* NULL: as the one before */
};

/* padded: to a multiple of 8, as V8 does. */
void make_jit_debug(struct ux_out *out, uint64_t addr, const struct make_jit_row *rows, size_t n,
		    bool padded);

/* Adds a record: its prefix, then `size` bytes of zeros. */
void make_jit_record(struct ux_out *out, uint32_t id, uint32_t size);

#endif
