/* SPDX-License-Identifier: Apache-2.0 */
/* A confined child process, as its parent sees it. */
#ifndef UX_CHILD_PROCESS_H
#define UX_CHILD_PROCESS_H

#include "sandbox_child.h"

#include <sys/types.h>

struct ux_child {
	pid_t pid; /* 0: none */
	int talk;
	/* the files, duplicated to numbers above the child's */
	int moved[UX_SANDBOX_FILE_COUNT];
};

/* No child: the value of a variable before a child is started. */
extern const struct ux_child ux_child_none;

/* Ends the child if it still runs, and closes its files. */
void ux_child_deinit(struct ux_child *c);

/*
 * Duplicates the files for the child (-1: none). Must be called before the child is started.
 */
enum ux_code ux_child_move_files(struct ux_child *c, const int *files, struct ux_error *err)
	ux_must;

/*
 * Executes a program for the child and sends it the request. program: see ux_sandbox_extract().
 * UX_EUNAVAILABLE: it cannot be started.
 */
enum ux_code ux_child_start(struct ux_child *c, const struct ux_sandbox_request *request,
			    const char *program, struct ux_error *err) ux_must;

/*
 * Forks the child, and sends it the request. Starts a fork server that has died again, once.
 * UX_EUNAVAILABLE: there is no child. Any thread.
 */
enum ux_code ux_child_fork(struct ux_child *c, struct ux_fork_server *f,
			   const struct ux_sandbox_request *request, struct ux_error *err) ux_must;

/* Waits for a child that ends without a reply, and returns the error for that. */
enum ux_code ux_child_end_error(struct ux_child *c, const struct ux_sandbox_limits *l,
				bool *ret_out_of_time, struct ux_error *err);

#endif
