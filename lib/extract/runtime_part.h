/* SPDX-License-Identifier: Apache-2.0 */
/* Run-time code of processes: the request for a snapshot, its parts, and their paths. */
#ifndef UX_RUNTIME_PART_H
#define UX_RUNTIME_PART_H

#include "bytes.h"
#include "error.h"
#include "id.h"
#include "vec.h"

enum {
	UX_RUNTIME_PARTS_MAX = 32, /* GSYMs of one snapshot */
	UX_RUNTIME_HOST_MAX = 64,  /* bytes of a host's name, as returned by uname(2) */
	UX_RUNTIME_PATH_MAX = 192, /* bytes of a path, with the NUL */
};

enum ux_runtime_format {
	UX_RUNTIME_PERF_MAP,
	UX_RUNTIME_JITDUMP,
	UX_RUNTIME_FORMAT_COUNT
};

/* The request to write the code of a file. */
struct ux_runtime_request {
	enum ux_runtime_format format;
	uint64_t known;   /* bytes at the start of the file with code that was written before */
	int64_t wall_ns;  /* wall clock less CLOCK_MONOTONIC, the clock of jitdumps */
	int64_t from_ns;  /* wall clock since 1970: when the file had `known` bytes */
	int64_t until_ns; /* the same for the present */
	/* the GSYMs' identity; the last byte is replaced by the number of the part */
	uint8_t seed[UX_ID_FILE_SIZE];
};

/*
 * Precedes each GSYM in the output. Its code exists from from_ns on; for addresses without code in
 * it, the code of earlier snapshots is still valid.
 */
struct ux_runtime_part {
	uint64_t size;      /* bytes of the GSYM */
	uint64_t functions; /* pieces of code in it */
	int64_t from_ns;    /* wall clock since 1970 */
	int64_t until_ns;   /* from_ns of the next part, or of the request */
	uint64_t used;      /* bytes of the file that were read; the same in each part */
	bool lines;         /* some code has lines */
};

/*
 * Takes the next part of an output, which is not trusted. False at its end, and with err set when
 * it is damaged.
 */
bool ux_runtime_part_next(struct ux_bytes *left, struct ux_runtime_part *ret,
			  struct ux_bytes *ret_gsym, struct ux_error *err) ux_must;

/* The code of a process on a host in a span of time. */
struct ux_runtime_span {
	char host[UX_RUNTIME_HOST_MAX + 1];
	uint32_t pid;       /* in the outermost namespace of the host */
	int64_t started_ns; /* when the process was started, in ns since 1970 like all times here */
	int64_t from_ns;
	int64_t until_ns;
};

/* The symbols of such code on a server. */
struct ux_runtime_symbols {
	struct ux_id id;
	struct ux_runtime_span span;
};

UX_VEC(ux_runtime_list, struct ux_runtime_symbols);

/* Sorts a list: later processes first, and of each process later spans first. */
void ux_runtime_list_sort(struct ux_runtime_list *list);

/*
 * Returns the first element of a sorted list that may contain the code at a time, in ns since 1970:
 * the last span that began by then, of the last process that was started by then. If it has no code
 * at an address, try the next elements of the same process. list->size: none.
 */
size_t ux_runtime_list_find(const struct ux_runtime_list *list, int64_t time_ns);

/*
 * Writes the path under which a server lists such code: "/run-time/STARTED/FROM-UNTIL/PID@HOST".
 * Servers find it by the last component, which ux_runtime_name_format() writes. Characters other
 * than letters, digits, '-', '_' and '.' of the host become '_'.
 */
void ux_runtime_path_format(const struct ux_runtime_span *span, char ret[UX_RUNTIME_PATH_MAX]);
void ux_runtime_name_format(const char *host, uint32_t pid, char ret[UX_RUNTIME_PATH_MAX]);

/* Reads such a path. False: it has a different form. */
bool ux_runtime_path_parse(struct ux_bytes path, struct ux_runtime_span *ret) ux_must;

#endif
