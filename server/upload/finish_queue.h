/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finishes uploads: threads hash, verify and commit them, while the requests wait without a thread.
 */
#ifndef UX_FINISH_QUEUE_H
#define UX_FINISH_QUEUE_H

#include "server.h"

/* The upload to finish, and its caller. */
struct ux_finish_request {
	const char *ns;
	const char *uid;
	uint64_t size; /* announced size */
	struct ux_who who;
	int64_t queued_ns; /* monotonic time at which it was queued; 0: it was not queued */
};

/* The outcome. After UX_OK the upload has ended, and its row has the result. */
struct ux_finish_outcome {
	enum ux_code code;
	struct ux_error err;
	const char *word; /* code of the error document; static; NULL: derived from `code` */
	bool full;        /* too many uploads wait to be finished */
	bool has_offset;  /* bytes are missing */
	uint64_t offset;  /* number of bytes received */
};

typedef void ux_finish_fn(void *ctx, const struct ux_finish_request *what,
			  struct ux_finish_outcome *ret);

/* Finishes an upload in the caller's thread; ctx is the server. Any thread. */
ux_finish_fn ux_finish_upload;

enum {
	UX_FINISH_QUEUE_MAX = 10000, /* uploads that wait at most */
	UX_FINISH_SMALL = 1 << 20,   /* bytes of an upload that mostly waits for the disk */
};

/*
 * A queue of uploads, and threads that finish them. Namespaces take turns; in a namespace the
 * smallest upload comes first; large ones leave a thread free for the others. An upload that waits
 * or is being finished is not queued again.
 *
 * `threads` threads finish uploads of any size, and small_threads more finish only uploads of at
 * most UX_FINISH_SMALL: these take little processor time, and commits that wait for the disk at the
 * same time share its syncs.
 */
struct ux_finisher;

enum ux_code ux_finisher_open(struct ux_finisher **ret, unsigned threads, unsigned small_threads,
			      ux_finish_fn *run, void *ctx, struct ux_error *err) ux_must;

/* Interrupts running finishes, drops the rest, and frees everything. NULL is allowed. */
void ux_finisher_close(struct ux_finisher *f);

/* A waiter for an upload. Initialize it with {.wake, .ctx}; the rest belongs to the finisher. */
struct ux_finish_waiter {
	/* called once when the upload is done, with the finisher's lock held; any thread */
	void (*wake)(void *ctx);
	void *ctx;
	struct ux_finish_waiter *next;
	bool waits;
	bool done;
	struct ux_finish_outcome outcome; /* result when done */
};

enum ux_finish_state {
	UX_FINISH_WAITING,
	UX_FINISH_DONE, /* waiter->outcome is set */
	UX_FINISH_FULL, /* too many uploads wait, or memory is short */
};

/*
 * Queues the upload unless it is queued already, adds a waiter that does not wait yet, and returns
 * the upload's state. Copies the strings of *what. Any thread.
 */
enum ux_finish_state ux_finisher_join(struct ux_finisher *f, const struct ux_finish_request *what,
				      struct ux_finish_waiter *waiter);

/* Removes a waiter; the upload is finished nevertheless. */
void ux_finisher_leave(struct ux_finisher *f, struct ux_finish_waiter *waiter);

#endif
