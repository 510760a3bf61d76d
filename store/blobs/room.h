/* SPDX-License-Identifier: Apache-2.0 */
/* Free space of the file system on which a store is. */
#ifndef UX_ROOM_H
#define UX_ROOM_H

#include "error.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	UX_ROOM_RESERVE = 4 << 20,           /* bytes of the file "reserve" */
	UX_ROOM_MIN_FREE_DEFAULT = 64 << 20, /* bytes that uploads leave free */
	/* both are at most 1/20 of the file system */
	UX_ROOM_PART = 20
};

/*
 * New data is refused while less than min_free bytes would be left, so that deletes, sweeps and
 * other small writes still fit. If other programs fill the disk nevertheless, the file "reserve" in
 * the folder is emptied for these writes, and allocated again when there is room. Any thread.
 */
struct ux_room {
	int dir;                   /* the folder; -1: not open, and everything fits */
	_Atomic uint64_t min_free; /* setting; no memory order is needed */
	pthread_mutex_t lock;      /* held while the reserve is emptied or allocated */
};

struct ux_room_state {
	uint64_t free_bytes;  /* available to this process */
	uint64_t total_bytes; /* bytes of the file system */
	/* free bytes below which new data is refused, including the missing part of the reserve */
	uint64_t least_bytes;
	bool accepts; /* new data is accepted */
};

/* Opens an existing folder. If there is room, allocates the reserve. */
enum ux_code ux_room_open(struct ux_room *r, const char *dir, struct ux_error *err) ux_must;
void ux_room_close(struct ux_room *r);

enum ux_code ux_room_get(struct ux_room *r, struct ux_room_state *ret, struct ux_error *err)
	ux_must;

/*
 * Checks for room. UX_EIO with ENOSPC: that many bytes of new data would leave less than min_free.
 */
enum ux_code ux_room_check(struct ux_room *r, uint64_t bytes, struct ux_error *err) ux_must;

/*
 * Empties the reserve if the disk is nearly full. Called before a write to the index. True: the
 * disk is nearly full, so the index should free as much as possible. Remains true until the reserve
 * fits again.
 */
bool ux_room_release(struct ux_room *r);

/* Allocates the reserve again, if there is room. */
void ux_room_restore(struct ux_room *r);

#endif
