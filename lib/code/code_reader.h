/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between a reader of debug information and the code that collects units. The readers
 * of DWARF, of Go's tables and of the line tables of cubins each fill in a struct ux_code_reader
 * (lib/extract: dwarf_units.c, go_source.c, cubin_units.c). A further format is added with one more
 * such file.
 */
#ifndef UX_CODE_READER_H
#define UX_CODE_READER_H

#include "arena.h"
#include "bytes.h"
#include "code_unit.h"
#include "error.h"

/* Damage that was found and skipped. Zeroed is none. */
struct ux_code_damage {
	uint64_t count;
	struct ux_error first;
};

/* Counts one damage. *reason is then cleared for the next one. */
ux_inline void ux_code_damage_add(struct ux_code_damage *damage, struct ux_error *reason)
{
	if (damage->count++ == 0)
		damage->first = *reason;
	*reason = (struct ux_error)UX_ERROR_INIT;
}

/* Counts `code` as damage unless it is UX_OK. Only UX_ENOMEM is returned as a failure. */
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

/* A request to read one unit. */
struct ux_code_request {
	uint32_t unit;   /* index of the unit, from 0 on */
	uint32_t wave;   /* index of the call of next() that returned it */
	unsigned worker; /* index of the thread; each thread has its own tables */
	bool first;      /* the first of its batch: no state of earlier units may be used */
	bool no_rows;    /* the budget of rows is exceeded: leave the rows out and count damage */
	struct ux_arena *arena; /* new texts are allocated here; it outlives the reader */
	struct ux_code_damage *damage;

	/*
	 * Returns true for a function with one range if only the name and the range are needed, so
	 * that nothing else of it has to be read.
	 */
	bool (*skip)(void *ctx, const struct ux_range *range);
	void *skip_ctx;
};

/* The functions fail only when memory is short. Damage is counted in the request. */
struct ux_code_reader {
	void *ctx;
	unsigned workers;  /* number of threads that it has tables for: the most that may use it */
	uint32_t n_units;  /* initial number of units; 0 if next() returns them */
	bool ordered;      /* units depend on earlier ones: one thread reads them, in order */
	bool duplicates;   /* several units may describe the same function */
	uint64_t rows_max; /* budget of the whole module for decoding rows */

	/* Estimates the work of reading a unit, in bytes. */
	uint64_t (*weigh)(void *ctx, uint32_t wave, uint32_t unit);

	/*
	 * Opens a unit. *ret_open stays false when the unit has nothing to read. *ret_cost is the
	 * cost of decoding its rows; 0 when they were already decoded for the previous unit.
	 */
	enum ux_code (*open)(void *ctx, const struct ux_code_request *request, bool *ret_open,
			     uint64_t *ret_cost, struct ux_error *err);

	/* Reads the unit that the worker opened last. */
	enum ux_code (*read)(void *ctx, const struct ux_code_request *request,
			     struct ux_code_unit *ret, struct ux_error *err);

	/*
	 * For units that come in waves; NULL when all units are available at the start. It adds a
	 * wave while other threads read units from number n_read on; units below n_read are not
	 * read any more. *ret_n is the number of units in the wave, 0 at the end. Texts inside of
	 * `passing` are valid only until their unit was read. One thread at a time.
	 */
	enum ux_code (*next)(void *ctx, uint32_t n_read, uint32_t *ret_n, struct ux_error *err);
	/* Starts again: the units are read a second time. NULL: nothing to do. */
	void (*rewind)(void *ctx);
	struct ux_bytes passing;
};

#endif
