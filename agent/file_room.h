/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many files may wait, and of whom. A user may have as many files as there is room left over:
 * one alone half of all, a second one half of the rest. So whoever starts thousands of programs
 * leaves room for others. Any thread.
 */
#ifndef UX_FILE_ROOM_H
#define UX_FILE_ROOM_H

#include "error.h"
#include "hash.h"
#include "map.h"

#include <pthread.h>
#include <sys/types.h>

enum {
	UX_FILE_ROOM_MAX = 8192, /* files that may wait, which are open; one user has half of it */
	UX_FILE_ROOM_LARGE = 1024, /* additional room for large ones */
};

static inline uint64_t ux_file_owner_hash(uid_t owner)
{
	return ux_hash_u64(owner);
}

static inline bool ux_file_owner_eq(uid_t a, uid_t b)
{
	return a == b;
}

/* Waiting files of each owner. */
UX_MAP(ux_file_owners, uid_t, size_t, ux_file_owner_hash, ux_file_owner_eq);

struct ux_file_room {
	pthread_mutex_t lock;
	struct ux_file_owners owners;
	size_t max; /* UX_FILE_ROOM_MAX */
	size_t waiting;
	/* waiting files when the first one was refused since ux_file_room_has_eased(); 0: none */
	size_t refused;
};

void ux_file_room_init(struct ux_file_room *r, size_t max);
void ux_file_room_deinit(struct ux_file_room *r);

/* Takes room for a file of this user; *ret: there is some. UX_ENOMEM. */
enum ux_code ux_file_room_take(struct ux_file_room *r, uid_t owner, bool large, bool *ret,
			       struct ux_error *err) ux_must;

/* Gives back the room of a file. */
void ux_file_room_give_back(struct ux_file_room *r, uid_t owner);

/*
 * Returns whether files were refused, and only half as many wait now as then: it is time to look
 * for the refused ones. The next call returns false until another file is refused.
 */
bool ux_file_room_has_eased(struct ux_file_room *r);

#endif
