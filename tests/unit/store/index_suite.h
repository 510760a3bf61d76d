/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index. */
#ifndef UX_INDEX_SUITE_H
#define UX_INDEX_SUITE_H

#include "index.h"

/* Who writes in tests. */
extern const struct ux_who index_tester;

/* Runs the whole suite, on an empty index. Some of its modules remain, such as "gnu:a" with two
 * candidates. */
void index_conforms(struct ux_index *ix);

/* Checks that a query's answer for each module of the namespace matches its candidates; there must
 * be at least `min` modules. */
void index_offers_agree(struct ux_index *ix, const char *ns, size_t min);

/* Its parts. */
void index_modules_conform(struct ux_index *ix);
void index_candidates_conform(struct ux_index *ix);
void index_keeping_conforms(struct ux_index *ix);
void index_others_conform(struct ux_index *ix);
void index_profiles_conform(struct ux_index *ix);
void index_packages_conform(struct ux_index *ix);
void index_trust_conforms(struct ux_index *ix);

/* Checks that no row is damaged. */
void index_rows_are_whole(struct ux_index *ix);

/* Checks that damaged rows are found; on an empty index at that place. */
void index_damage_conforms(struct ux_index *ix, const char *location);

/* A ready GSYM; each byte of its hash is this byte. */
struct ux_candidate index_candidate(uint8_t hash, enum ux_quality quality, uint64_t line_bytes);

/* Announces in namespace "default" at 1000 and finishes at 2000. */
enum ux_code index_add(struct ux_index *ix, const char **ids, size_t n, struct ux_candidate c,
		       bool force, struct ux_add_result *ret);

/* The same for another namespace; writes the upload's UID to uid unless it is NULL. */
enum ux_code index_add_to(struct ux_index *ix, const char *ns, const char **ids, size_t n,
			  struct ux_candidate c, bool force, char *uid, struct ux_add_result *ret);

/* Returns the module of an ID, which must exist. */
struct ux_module index_find(struct ux_index *ix, struct ux_arena *arena, const char *id);

#endif
