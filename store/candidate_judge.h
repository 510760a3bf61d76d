/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a candidate is wanted, and IDs agree: the same for every backend. */
#ifndef UX_CANDIDATE_JUDGE_H
#define UX_CANDIDATE_JUDGE_H

#include "index_modules.h"

/* The module's candidate with the same bytes, another than c itself; NULL. */
const struct ux_candidate *ux_candidate_same(const struct ux_module *m,
					     const struct ux_candidate *c);

/*
 * What becomes of c, which may be among the module's already. Only GSYM, executable and debuginfo
 * are compared, ready ones with ready ones that serve for all that c does; of .dwo files and
 * sources there are many. The same bytes are the same, but UX_ADD_NEW where they had failed before.
 * Leaves module and candidate 0.
 */
struct ux_add_result ux_candidate_judge(const struct ux_module *m, const struct ux_candidate *c);

/* The words for UX_ADD_POORER. */
void ux_candidate_poorer_text(const struct ux_add_result *r, enum ux_quality mine, char *text,
			      size_t size);

/* A linked file has one build ID: a second one means that somebody mixed up two files.
 * UX_ECONFLICT. */
enum ux_code ux_ids_agree(const struct ux_module *m, const char *const *ids, size_t n,
			  struct ux_error *err) ux_must;

/* True for an ID that several modules may have: a name for lookups, which is the last one's that
 * came with it, and never what tells two modules to be one. */
bool ux_id_is_shared(const char *id);

/* Order of a module's IDs. */
int ux_id_rank(const char *id);

bool ux_text_among(const char *const *texts, size_t n, const char *text);

#endif
