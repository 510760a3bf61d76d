/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped at a moment, and the symbols of the files behind that. */
#ifndef UX_SNAPSHOT_H
#define UX_SNAPSHOT_H

#include "proc_maps.h"
#include "symbols_cache.h"

/* Immutable but for the count of its holders and the symbols, which are set once each. */
struct ux_snapshot {
	atomic_uint refs;
	struct ux_proc_maps maps;
	struct ux_file_symbols *_Atomic *symbols; /* of each mapping; NULL: not asked for yet */
	uint64_t generation;                      /* of the process (ux_proc_generation()) */
	uint64_t text_hash;                       /* of the list that it was read from */
};

/* Reads the mappings. old, or NULL, is what was read before: if nothing has changed it is given,
 * held once more. UX_ENOTFOUND: the process has ended. UX_EDENIED: not allowed. */
enum ux_code ux_snapshot_read(const struct ux_proc *p, struct ux_snapshot *old,
			      struct ux_snapshot **ret, struct ux_error *err) ux_must;
struct ux_snapshot *ux_snapshot_hold(struct ux_snapshot *s);
void ux_snapshot_drop(struct ux_snapshot *s); /* NULL is fine */

/* The symbols behind mapping i: of its file, or of the vDSO in its memory. They live as long as s.
 * Some that say only why there are none are an answer. UX_ENOMEM. Any thread. */
enum ux_code ux_snapshot_symbols(struct ux_snapshot *s, size_t i, const struct ux_proc *p,
				 struct ux_symbols_cache *cache, struct ux_file_symbols **ret,
				 struct ux_error *err) ux_must;

/*
 * Code of a file that was moved into anonymous memory of huge pages still stands between mappings
 * of that file: the number of a mapping of a file that i goes on from, or i leads to, without a
 * gap. False when there is none.
 */
bool ux_snapshot_neighbour(const struct ux_snapshot *s, size_t i, size_t *ret);

#endif
