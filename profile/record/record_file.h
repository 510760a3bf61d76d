/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a recording: docs/formats/perf-data.md, in the byte order of this machine. */
#ifndef UX_RECORD_FILE_H
#define UX_RECORD_FILE_H

#include "id.h"
#include "out.h"

#include <linux/perf_event.h>

/* Fields after each record that the recorder itself writes: the sample identity, without a sample.
 */
enum {
	UX_RECORD_TAIL = 32, /* bytes: process and thread, time, processor, number of the event */
	UX_RECORD_PATH_MAX = 4096,
	UX_RECORD_ID_MAX = 20, /* bytes of a build ID for which records have room */
};

/* The parts of the file before and after the records. */
struct ux_record_head {
	const struct perf_event_attr *attr;
	const uint64_t *ids; /* IDs of the events */
	size_t n_ids;
	size_t n_cpus;
	int64_t wall_ns; /* wall clock at clock_ns of the events' clock */
	int64_t clock_ns;
};

/* A file that is being written. */
struct ux_record_file {
	int fd;
	struct ux_out
		build_ids; /* the table of build IDs: of the kernel, its modules and the vDSO */
	struct ux_out file_ids; /* the table of IDs of files without a GNU build ID */
	struct ux_out out;      /* records that are not written yet */
	uint64_t data;          /* offset of the records */
	uint64_t size;          /* bytes of written records */
};

void ux_record_file_deinit(struct ux_record_file *f);

/* Leaves room for the header, which is written at the end: until then no reader accepts the file.
 */
enum ux_code ux_record_file_begin(struct ux_record_file *f, const struct ux_record_head *head,
				  struct ux_error *err) ux_must;
enum ux_code ux_record_file_end(struct ux_record_file *f, const struct ux_record_head *head,
				struct ux_error *err) ux_must;

/* Writes the records in f->out. */
enum ux_code ux_record_file_flush(struct ux_record_file *f, struct ux_error *err) ux_must;

/* A mapping. */
struct ux_record_mapping {
	int32_t pid; /* -1: of the kernel */
	int32_t tid;
	uint64_t start;
	uint64_t size;
	uint64_t offset; /* in the file; of the kernel, the address of _text */
	uint64_t dev;
	uint64_t ino;
	uint64_t generation; /* generation of the inode; 0: unknown */
	struct ux_id id;     /* GNU build ID of at most UX_RECORD_ID_MAX bytes; size 0: unknown */
	const char *path;
	bool data; /* mapping without code */
};

/* Each adds a record to f->out: a mapping, the name of a thread, a thread of a process. */
void ux_record_file_mapping(struct ux_record_file *f, const struct ux_record_mapping *m);
void ux_record_file_name(struct ux_record_file *f, int32_t pid, int32_t tid, const char *name);
void ux_record_file_thread(struct ux_record_file *f, int32_t pid, int32_t tid);

/* Adds a BPF program of the kernel, which is one function. */
void ux_record_file_program(struct ux_record_file *f, uint64_t start, uint64_t size,
			    const char *name);

/* Ends a round over all rings. */
void ux_record_file_round(struct ux_record_file *f);

/* Adds an entry to the table of build IDs: of the kernel and its modules (mode
 * UX_PERF_MODE_KERNEL), and of the vDSO (UX_PERF_MODE_USER). */
void ux_record_file_build_id(struct ux_record_file *f, unsigned mode, const struct ux_id *id,
			     const char *path);

/* Adds an ID of any type to the table of files without a GNU build ID. */
void ux_record_file_id(struct ux_record_file *f, uint64_t dev, uint64_t ino, uint64_t generation,
		       const struct ux_id *id);

#endif
