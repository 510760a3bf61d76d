/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and reads the files of other processes in a helper process.
 *
 * Whoever opens a file of a network file system or of FUSE may wait without end for a server that
 * does not answer, and no signal ends that. So a process of its own does it. If it does not answer
 * in time, it is killed and not waited for, another one takes its place, and the place that hung is
 * left alone: until the killed process has ended, and for a time that doubles. Files of such file
 * systems are copied to a file of this machine, since every later read could hang, too.
 */
#ifndef UX_OPEN_HELPER_H
#define UX_OPEN_HELPER_H

#include "error.h"
#include "id.h"
#include "kernel_files.h"
#include "proc_maps.h"
#include "process.h"

#include <sys/types.h>

enum {
	UX_OPEN_PLACES_MAX = 64, /* places that hung and are remembered */
	UX_OPEN_STUCK_MAX = 16,  /* killed helpers that have not ended; then nothing is opened */
};

/* A file system, or the beginning of a path, that did not answer. */
struct ux_open_place {
	uint64_t key;
	int64_t again_ms; /* monotonic time of the next attempt */
	unsigned times;   /* it hung in succession */
	pid_t stuck;      /* the killed helper; 0: it has ended */
};

/* Zeroed: no process runs. One thread at a time. */
struct ux_open_helper {
	pid_t pid; /* 0: none */
	int talk;
	pid_t dying; /* the last one that died by itself; 0: it was waited for */
	struct ux_open_place places[UX_OPEN_PLACES_MAX];
	size_t n_places;
	uint64_t hung; /* times that a helper was killed */
	/* called when the helper works, which may take a minute for a copy; NULL: none */
	void (*works)(void *ctx);
	void *ctx;
	/* during ux_open_helper_jit() */
	ux_jit_found_fn *found;
	void *found_ctx;
	enum ux_code found_code;
};

/* Ends the process, without waiting for one that hangs. */
void ux_open_helper_deinit(struct ux_open_helper *h);

/* An open file. */
struct ux_opened {
	int fd; /* -1: none, as the file is unchanged, or far and not copied */
	uint64_t dev, ino, size;
	int64_t mtime_ns;
	uid_t owner;
	mode_t mode;
	bool far;    /* it may hang: only a copy is opened */
	bool nosuid; /* its mount gives no rights by the owner of a file */
	bool here;   /* found by its path on this host; false: by a link of the process */
	bool same;   /* it has the size and the time of `before` */
};

/*
 * Opens the file of a mapping (ux_proc_open_mapped()) of a process that may have ended: then only
 * if the same file is at that path on this host. before: its size and time when it was last seen.
 * copy: a far file is copied; its size is limited. The caller closes ret->fd. UX_EUNAVAILABLE: its
 * file system did not answer; *ret_again_ms is the monotonic time of the next attempt. Otherwise as
 * ux_proc_open_mapped(). UX_ELIMIT: it is too large for a copy.
 */
enum ux_code ux_open_helper_mapped(struct ux_open_helper *h, pid_t pid,
				   const struct ux_proc_map *map, const struct ux_opened *before,
				   bool copy, struct ux_opened *ret, int64_t *ret_again_ms,
				   struct ux_error *err) ux_must;

/* How a path is resolved. */
enum ux_open_root {
	UX_OPEN_HOST,      /* on this host, following links */
	UX_OPEN_HOST_ROOT, /* on this host, as ux_proc_open_in_root() does */
	UX_OPEN_PROCESS,   /* below the root of the process, as it does */
};

/*
 * Opens the regular file at a path, or a copy if it is far. The caller closes ret->fd.
 * UX_EUNAVAILABLE: its file system did not answer. Otherwise as ux_proc_open_in_root().
 */
enum ux_code ux_open_helper_path(struct ux_open_helper *h, enum ux_open_root root, pid_t pid,
				 const char *path, struct ux_opened *ret, struct ux_error *err)
	ux_must;

/*
 * Opens the file that ux_kernel_files_find() finds for a part of the kernel, or its debug file. The
 * caller closes ret->fd. UX_ENOTFOUND: there is none. UX_EUNAVAILABLE: a file system did not
 * answer; *ret_again_ms is the monotonic time of the next attempt.
 */
enum ux_code ux_open_helper_kernel(struct ux_open_helper *h, const struct ux_kernel_dirs *dirs,
				   const char *module, const char *build_id, char path[PATH_MAX],
				   struct ux_opened *ret, int64_t *ret_again_ms,
				   struct ux_error *err) ux_must;

/*
 * Passes the perf maps and jitdumps of a process to fn, as ux_jit_files_find() does, but no far
 * ones: they grow, and a copy would not. Codes of fn. UX_EUNAVAILABLE: a file system did not
 * answer. UX_ENOTFOUND: the process has ended, or its mappings cannot be read.
 */
enum ux_code ux_open_helper_jit(struct ux_open_helper *h, pid_t pid, ux_jit_found_fn *fn, void *ctx,
				struct ux_error *err) ux_must;

#endif
