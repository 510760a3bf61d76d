/* SPDX-License-Identifier: Apache-2.0 */
/* Is what the index says there, and what it was? */
#ifndef UX_STORE_CHECK_H
#define UX_STORE_CHECK_H

#include "store.h"

enum ux_check_problem {
	UX_CHECK_MISSING, /* a blob that the index refers to */
	UX_CHECK_SIZE,    /* has another size than the index says */
	UX_CHECK_DAMAGED, /* has another hash than its name says */
	UX_CHECK_UNREAD,  /* cannot be read */
	UX_CHECK_INDEX,   /* the index itself is damaged */
	UX_CHECK_USAGE,   /* what a namespace holds is more or less than its quota is told */
	UX_CHECK_COUNT
};

struct ux_check_one {
	enum ux_check_problem problem;
	const char *hash;  /* in hex; "" of UX_CHECK_INDEX and UX_CHECK_USAGE */
	const char *words; /* what was found */
	const char *id;    /* of a module that has it; "" when none does */
	uint64_t modules;  /* that have it, at most 100 */
	bool repaired;
};
typedef void ux_check_fn(void *ctx, const struct ux_check_one *one);

struct ux_check_sum {
	uint64_t blobs; /* that the index refers to */
	uint64_t bytes;
	uint64_t problems;
	uint64_t repaired;
	uint64_t garbage;  /* blobs that nobody refers to: the sweep takes them */
	uint64_t requeued; /* uploads whose extraction had been lost */
};

/*
 * Reads every blob and compares. repair: whatever cannot be answered from any more leaves the
 * index, so that it is wanted again, and the bytes leave the disk, but nothing does when the index
 * itself is damaged; the store must be the caller's alone (ux_store_open()). Without it, others may
 * work: what they change meanwhile is no problem. tell may be NULL. A failure is one of the check,
 * not a finding.
 */
enum ux_code ux_store_check(struct ux_store *s, bool repair, ux_check_fn *tell, void *ctx,
			    struct ux_check_sum *ret, struct ux_error *err) ux_must;

/* "missing", "size", "damaged", "unreadable", "index", "usage". */
const char *ux_check_problem_name(enum ux_check_problem problem);

#endif
