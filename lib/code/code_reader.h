/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader of code is to whoever collects units: DWARF, Go's tables and the line tables of
 * cubins each fill in a struct ux_code_reader (lib/extract: dwarf_units.c, go_source.c,
 * cubin_units.c), and a further format is one more file that does.
 */
#ifndef UX_CODE_READER_H
#define UX_CODE_READER_H

#include "arena.h"
#include "bytes.h"
#include "code_unit.h"
#include "error.h"

/* What was damaged and left out. Zeroed is none. */
struct ux_code_damage {
	uint64_t count;
	struct ux_error first;
};

/* Counts a damage, whose reason is then emptied for the next one. */
ux_inline void ux_code_damage_add(struct ux_code_damage *damage, struct ux_error *reason)
{
	if (damage->count++ == 0)
		damage->first = *reason;
	*reason = (struct ux_error)UX_ERROR_INIT;
}

/* Counts what `code` says, unless it is UX_OK. Only want of memory is a failure. */
ux_inline enum ux_code ux_code_damage_tolerate(struct ux_code_damage *damage, enum ux_code code,
					       struct ux_error *reason, struct ux_error *err)
{
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		ux_code_damage_add(damage, reason);
	*reason = (struct ux_error)UX_ERROR_INIT;
	return UX_OK;
}

/* One unit that is to be read. */
struct ux_code_request {
	uint32_t unit;          /* number, from 0 on */
	unsigned worker;        /* number of the thread, which has its own tables */
	bool first;             /* of its batch: nothing is shared with units before */
	bool no_rows;           /* too many rows have been decoded: leave these out, as damage */
	struct ux_arena *arena; /* texts that are made go here; it outlives the reader */
	struct ux_code_damage *damage;

	/* True for a function of one range of which only name and range are needed: nothing else of
	 * it needs to be read. */
	bool (*skip)(void *ctx, const struct ux_range *range);
	void *skip_ctx;
};

/* Functions fail for want of memory only; damage is counted in the request. */
struct ux_code_reader {
	void *ctx;
	unsigned workers;   /* it has tables for; threads are not more */
	uint32_t n_units;   /* at first; 0 if they come by next() */
	bool ordered;       /* units depend on those before: one thread reads them, in order */
	bool duplicates;    /* units may have the same function as others */
	uint64_t rows_most; /* what the costs of rows may add up to */

	/* How much work a unit is likely to be, in bytes. */
	uint64_t (*weigh)(void *ctx, uint32_t unit);

	/* Opens a unit; *ret_open stays false when it gives nothing. *ret_cost is what decoding its
	 * rows costs; 0 when that was done for the unit before. */
	enum ux_code (*open)(void *ctx, const struct ux_code_request *request, bool *ret_open,
			     uint64_t *ret_cost, struct ux_error *err);

	/* Reads the unit that the worker opened last. */
	enum ux_code (*read)(void *ctx, const struct ux_code_request *request,
			     struct ux_code_unit *ret, struct ux_error *err);

	/*
	 * For units that come in waves; NULL: all are there. next() makes the next wave come, while
	 * others read the one before; take() makes it the current one and returns its number of
	 * units, 0 at the end. Texts in `passing` go with their wave.
	 */
	enum ux_code (*next)(void *ctx, struct ux_error *err);
	uint32_t (*take)(void *ctx);
	struct ux_bytes passing;
};

#endif
