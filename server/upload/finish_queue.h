/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finishing of uploads: threads that hash, verify and commit them, while the requests for it wait
 * without a thread.
 */
#ifndef UX_FINISH_QUEUE_H
#define UX_FINISH_QUEUE_H

#include "server.h"

/* Which upload is to be finished, and who wants it. */
struct ux_finish_request {
	const char *ns;
	const char *uid;
	uint64_t size; /* as announced */
	struct ux_who who;
	int64_t queued_ns; /* of the monotonic clock; 0: it was not queued */
};

/* How it went. After UX_OK the upload has ended, and its row has the result. */
struct ux_finish_outcome {
	enum ux_code code;
	struct ux_error err;
	const char *word; /* code of the error document; static; NULL: that of the code */
	bool full;        /* there are too many to finish now */
	bool has_offset;  /* bytes are missing */
	uint64_t offset;  /* how many there are */
};

typedef void ux_finish_fn(void *ctx, const struct ux_finish_request *what,
			  struct ux_finish_outcome *ret);

/* Finishes an upload in the caller's thread; ctx is the server. Any thread. */
ux_finish_fn ux_finish_upload;

enum {
	UX_FINISH_QUEUE_MAX = 10000, /* uploads that wait */
	UX_FINISH_SMALL = 1 << 20,   /* bytes of an upload that mostly waits for the disk */
};

/*
 * A queue of uploads, and threads that finish them. Namespaces take turns; in a namespace the
 * smallest upload comes first; and large ones leave a thread to the others. An upload that waits or
 * is being finished is not queued again.
 *
 * As many threads finish uploads of any size at a time, and small_threads more only those of at
 * most UX_FINISH_SMALL: these take little processor time, and commits that wait for the disk at the
 * same time share its syncs.
 */
struct ux_finisher;

enum ux_code ux_finisher_open(struct ux_finisher **ret, unsigned threads, unsigned small_threads,
			      ux_finish_fn *run, void *ctx, struct ux_error *err) ux_must;

/* Ends what is being finished, drops the rest, and frees everything. NULL is allowed. */
void ux_finisher_close(struct ux_finisher *f);

/* Someone who waits for an upload. Filled in with {.wake, .ctx}; the rest belongs to the finisher.
 */
struct ux_finish_waiter {
	/* called once when it is done, with the finisher's lock held; any thread */
	void (*wake)(void *ctx);
	void *ctx;
	struct ux_finish_waiter *next;
	bool waits;
	bool done;
	struct ux_finish_outcome outcome; /* when done */
};

enum ux_finish_state {
	UX_FINISH_WAITING,
	UX_FINISH_DONE, /* waiter->outcome is set */
	UX_FINISH_FULL, /* too many uploads wait, or there is no memory */
};

/*
 * Queues the upload unless it is queued, for a waiter that does not wait yet, and reports how far
 * it is. The strings of *what are copied. Any thread.
 */
enum ux_finish_state ux_finisher_join(struct ux_finisher *f, const struct ux_finish_request *what,
				      struct ux_finish_waiter *waiter);

/* The waiter does not wait any more; the upload is finished nevertheless. */
void ux_finisher_leave(struct ux_finisher *f, struct ux_finish_waiter *waiter);

#endif
