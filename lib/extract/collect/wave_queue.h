/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of the first phase, in waves, and the order in which they may start.
 *
 * A job is a batch of consecutive units. Units respect the claims (unit_cutter.h) of all units of
 * earlier waves except the one just before theirs. A wave can start as soon as those earlier waves
 * are done: threads go on with the next wave while the last jobs of this one still run, and no
 * thread waits at the end of each wave. Which copies are skipped depends on the units alone.
 */
#ifndef UX_WAVE_QUEUE_H
#define UX_WAVE_QUEUE_H

#include "base.h"
#include "error.h"
#include "vec.h"

#include <pthread.h>

enum {
	UX_WAVES_MAX = 64,
	/* Bytes of waves that are made ahead of the waves that are read. They are in memory. If
	 * making them takes longer than reading them, making them must never wait. */
	UX_WAVES_AHEAD = 24 << 20,
};

/* Consecutive units that one thread reads in one job. */
struct ux_wave_batch {
	uint32_t first;
	uint32_t count;
	uint64_t bytes;
	uint32_t wave; /* the wave that contains its units */
	bool early; /* starts before all others, since it is as large as a wave; its units respect
		       no claims */
};

UX_VEC(ux_wave_batch_vec, struct ux_wave_batch);

struct ux_wave {
	uint32_t first;   /* index of the first unit */
	uint32_t n_units; /* at least 1 */
	uint64_t bytes;
	size_t left; /* number of batches that are not done */
};

UX_VEC(ux_wave_vec, struct ux_wave);

/* A zeroed queue is empty, but needs ux_wave_queue_init(). */
struct ux_wave_queue {
	unsigned threads;        /* threads that take jobs */
	pthread_mutex_t lock;    /* guards everything below */
	pthread_cond_t advanced; /* signals that a job may start, or that all have started */
	struct ux_wave_batch_vec batches; /* in starting order */
	struct ux_wave_vec waves;
	size_t next;        /* index of the batch that starts next */
	size_t done;        /* all waves before this one are done */
	uint64_t unread;    /* bytes of the waves that are not done */
	bool feeding;       /* a thread makes a wave */
	bool complete;      /* no more waves will be added */
	uint64_t failed_at; /* position of the job that failed; UINT64_MAX: none failed */
	struct ux_error error;
};

enum ux_wave_job_kind {
	UX_WAVE_JOB_NONE, /* all jobs have started, or one has failed */
	UX_WAVE_JOB_READ, /* read the batch */
	UX_WAVE_JOB_FEED, /* make the next wave */
};

struct ux_wave_job {
	enum ux_wave_job_kind kind;
	struct ux_wave_batch batch;
	uint32_t claimants; /* units below this number are done: their claims are respected */
	uint32_t n_read;    /* for UX_WAVE_JOB_FEED: units below this number are done */
	uint64_t position;  /* position of the batch's first unit in the order of all units */
};

void ux_wave_queue_init(struct ux_wave_queue *queue, unsigned threads);
void ux_wave_queue_deinit(struct ux_wave_queue *queue);

/* Empties the queue. No thread may use it during the call. */
void ux_wave_queue_clear(struct ux_wave_queue *queue);

/*
 * Adds a wave with the batches; their units are consecutive and follow the units of the previous
 * wave; batches->wave is set here. In a wave the largest batch starts first, so that no thread is
 * left with it at the end. UX_ENOMEM. It may be called while threads take jobs.
 */
enum ux_code ux_wave_queue_add(struct ux_wave_queue *queue, struct ux_wave_batch *batches, size_t n,
			       struct ux_error *err) ux_must;

/* Marks the queue as complete: no wave will be added. */
void ux_wave_queue_complete(struct ux_wave_queue *queue);

/*
 * Makes the batches that are marked as early start before all others. Call it before any batch
 * starts.
 */
void ux_wave_queue_order(struct ux_wave_queue *queue);

/* Waits until a job may start, and takes it. Any thread. */
void ux_wave_queue_take(struct ux_wave_queue *queue, struct ux_wave_job *ret);

/* Ends a job. Of several failures the first one in the order of jobs is kept. */
void ux_wave_queue_done(struct ux_wave_queue *queue, const struct ux_wave_job *job,
			enum ux_code code, const struct ux_error *error);

/* Returns the failure, if there was one. No thread may use the queue during the call. */
enum ux_code ux_wave_queue_status(const struct ux_wave_queue *queue, struct ux_error *err) ux_must;

#endif
