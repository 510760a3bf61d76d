/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data files for tests, record by record. out->swap is the byte order of all. */
#ifndef UX_MAKE_PERF_H
#define UX_MAKE_PERF_H

#include "out.h"
#include "perf_fields.h"

/* An event. All events of a file have IDENTIFIER in common, or are alone. */
struct make_perf_event {
	uint32_t type;
	uint64_t config;
	uint64_t period;
	uint64_t sample_type;
	uint64_t id;
	uint64_t branch_type;
	uint64_t registers;
	uint64_t read_format;
	bool freq;      /* period is a frequency */
	bool monotonic; /* times are of CLOCK_MONOTONIC */
};

/* The sample_type of most tests. */
#define MAKE_PERF_SAMPLE                                                      \
	(UX_PERF_SAMPLE_IDENTIFIER | UX_PERF_SAMPLE_IP | UX_PERF_SAMPLE_TID | \
	 UX_PERF_SAMPLE_TIME | UX_PERF_SAMPLE_PERIOD | UX_PERF_SAMPLE_CALLCHAIN)

/* A header and the events: of a file, or of a pipe. */
void make_perf_head(struct ux_out *out, const struct make_perf_event *events, size_t n, bool pipe);

/* Starts a record; returns where it is. */
size_t make_perf_open(struct ux_out *out, uint32_t type, uint16_t misc);

/* Ends it: pads it to 8 bytes, and sets its size. */
void make_perf_close(struct ux_out *out, size_t at);

/* Time and thread of a record, and the ID of the event that recorded it. */
struct make_perf_at {
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint64_t id;
};

struct make_perf_mapping {
	uint64_t start;
	uint64_t length;
	uint64_t offset;
	const char *path;
	const char *id; /* 20 bytes; NULL: none */
	uint64_t ino;   /* without an ID; 0: 7 */
	uint16_t misc;  /* 0: user mode */
};

/* An inode, as MMAP2 and the table of IDs of files have it. */
void make_perf_inode(struct ux_out *out, uint64_t ino);
void make_perf_mmap(struct ux_out *out, struct make_perf_at at, struct make_perf_mapping m);
void make_perf_comm(struct ux_out *out, struct make_perf_at at, const char *comm, bool exec);

/* FORK: at is the child. */
void make_perf_fork(struct ux_out *out, struct make_perf_at at, uint32_t parent);
void make_perf_exit(struct ux_out *out, struct make_perf_at at);
void make_perf_ksymbol(struct ux_out *out, struct make_perf_at at, uint64_t start, uint32_t length,
		       const char *name, bool leaves);

/* A sample with the fields of MAKE_PERF_SAMPLE and a period of 1000. */
void make_perf_sample(struct ux_out *out, struct make_perf_at at, const uint64_t *chain, size_t n);

/* Appends a COMPRESSED record with bytes, or as many as it takes. */
void make_perf_compressed(struct ux_out *out, uint32_t type, struct ux_bytes bytes);

/* An entry of the table of build IDs. id: 20 bytes; size 0: without a size. */
void make_perf_id(struct ux_out *out, uint16_t misc, const char *id, uint8_t size,
		  const char *path);

/* A feature, in ascending order of the numbers; the last one has the number 0. */
struct make_perf_feature {
	uint64_t number;
	struct ux_bytes bytes;
};

/* Ends a file: sets the size of its records and appends features. */
void make_perf_finish(struct ux_out *out, const struct make_perf_feature *features);

#endif
