/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is started in order to be recorded. */
#ifndef UX_RECORD_COMMAND_H
#define UX_RECORD_COMMAND_H

#include "error.h"

#include <signal.h>
#include <sys/types.h>

/* Initialize it with UX_RECORD_COMMAND_INIT. */
struct ux_record_command {
	pid_t pid;  /* 0: it was not started, or has ended and was waited for */
	int go;     /* pipe: closing it without a byte ends the process before it calls exec */
	int failed; /* pipe: the error of exec */
	int status; /* as from waitpid(); -1: it has not ended */
};

#define UX_RECORD_COMMAND_INIT ((struct ux_record_command){.go = -1, .failed = -1, .status = -1})

/* Creates a process that waits. `signals` are blocked when its program starts. */
enum ux_code ux_record_command_fork(struct ux_record_command *c, char *const *arguments,
				    const sigset_t *signals, struct ux_error *err) ux_must;

/* Lets it call exec. UX_ENOTFOUND, UX_EDENIED: the program cannot be executed. */
enum ux_code ux_record_command_start(struct ux_record_command *c, struct ux_error *err) ux_must;

/* Returns whether it has ended; if so, keeps its status. */
bool ux_record_command_ended(struct ux_record_command *c);

/* Sends SIGTERM to it and waits a few seconds for its end; false if it ended by itself. */
bool ux_record_command_stop(struct ux_record_command *c);

/* Ends a process that was never started. */
void ux_record_command_deinit(struct ux_record_command *c);

#endif
