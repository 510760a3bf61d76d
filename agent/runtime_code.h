/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of the code that run-time compilers of this host make. */
#ifndef UX_RUNTIME_CODE_H
#define UX_RUNTIME_CODE_H

#include "error.h"
#include "file_table.h"
#include "runtime_part.h"

#include <sys/types.h>

enum {
	UX_RUNTIME_PROCESSES_MOST = 1024, /* that are watched at once; others are left out */
	UX_RUNTIME_FILES_MOST = 4,        /* of one process, each of which is open */
	UX_RUNTIME_FILE_MOST = 256 << 20, /* bytes of a file that is read */
	UX_RUNTIME_BYTES_MOST = 64 << 20, /* of GSYMs that are sent for one process */
};

/* A perf map or jitdump. It is open, so that its end can be read after its process has ended. */
struct ux_runtime_file {
	int fd;
	bool is_dump;
	uint64_t dev;
	uint64_t ino;
	uint64_t known;  /* bytes whose code was sent */
	uint64_t looked; /* bytes that it had then: the rest is the beginning of a line or record */
	int64_t mtime_ns; /* when it was written last, as of then */
	int64_t from_ns;  /* until when its code was sent, by the wall clock */
};

/* A process with code that is in no file. */
struct ux_runtime_process {
	pid_t pid;
	int64_t started_ns; /* by the wall clock */
	struct ux_runtime_file files[UX_RUNTIME_FILES_MOST];
	size_t n_files;
	int64_t due_ms;     /* of the monotonic clock: when it is looked at again */
	unsigned looks;     /* without a file */
	uint64_t bytes;     /* that were sent */
	unsigned snapshots; /* with new code */
	bool over;          /* more than is sent for one process */
};

UX_VEC(ux_runtime_processes, struct ux_runtime_process);

/* Zeroed: no process is known. One thread at a time. */
struct ux_runtime_code {
	struct ux_runtime_processes processes;
	char host[UX_RUNTIME_HOST_MOST + 1]; /* under which the snapshots are listed */
	uint64_t left_out;                   /* processes beyond the limit */
};

void ux_runtime_code_deinit(struct ux_runtime_code *r);

#endif
