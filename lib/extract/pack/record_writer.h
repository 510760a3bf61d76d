/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the records of jobs at their offsets while other jobs are encoded. Records get their
 * offsets in the order of jobs. One thread writes at a time, since a file system lets only one
 * thread write to a file; the others hand their records to it and go on.
 */
#ifndef UX_RECORD_WRITER_H
#define UX_RECORD_WRITER_H

#include "gsym_encode.h"
#include "out.h"

#include <pthread.h>

enum {
	UX_RECORDS_WAITING = 16, /* buffers that wait to be written, of some 100 KB each */
};

/* Records that wait to be written. */
struct ux_records {
	uint64_t off;
	struct ux_out bytes;
};

struct ux_record_writer {
	ux_gsym_write_at_fn *place;
	void *ctx;               /* context of place() */
	uint64_t data_off;       /* offset in the file of the first record */
	pthread_mutex_t lock;    /* guards everything below */
	pthread_cond_t advanced; /* signals that `next` or `failed` changed */
	size_t next;             /* the job that gets the next offset */
	uint64_t end;            /* end of the records of earlier jobs, from data_off on */
	bool failed;             /* a job failed, so that later ones never get an offset */
	bool writing;            /* a thread writes */
	struct ux_records waiting[UX_RECORDS_WAITING];
	size_t n_waiting;
	struct ux_out spare[UX_RECORDS_WAITING]; /* buffers that can be reused */
	size_t n_spare;
};

/* data_off is initially 0, and may be set before the first records are written. */
void ux_record_writer_init(struct ux_record_writer *w, ux_gsym_write_at_fn *place, void *ctx);
void ux_record_writer_deinit(struct ux_record_writer *w);

/*
 * Waits until all earlier jobs have their offsets, and then assigns the offset of the job's `size`
 * bytes, from data_off on. Jobs are started in order, so all earlier ones are running or done.
 * Returns false when one of them failed.
 */
bool ux_record_writer_take(struct ux_record_writer *w, size_t job, uint64_t size, uint64_t *ret);

/* Marks a job as failed, so that no later one waits for it. */
void ux_record_writer_fail(struct ux_record_writer *w);

/*
 * Writes the bytes at that offset, or leaves them to the thread that writes: `out` is then another
 * buffer. Everything is written when the last call of all threads has returned. A failure to write
 * is returned to the thread that writes.
 */
enum ux_code ux_record_writer_put(struct ux_record_writer *w, uint64_t off, struct ux_out *out,
				  struct ux_error *err) ux_must;

#endif
