/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of SIGBUS, and of signals that end the command. */
#include "sigbus.h"

#include "file.h"
#include "output.h"
#include "scratch.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* Read by the handler, which may interrupt the thread that writes it. */
static _Atomic(const char *) reading;
/* A child that was forked has the handlers too, but the files are its parent's. */
static pid_t owner;

static void sigbus_write(const char *text)
{
	ssize_t n = write(STDERR_FILENO, text, strlen(text));
	(void)n; /* a failure to write the message cannot be reported */
}

static void sigbus_clean(void)
{
	if (getpid() != owner)
		return;
	ux_file_new_remove_all();
	ux_scratch_remove_all();
}

/* Lets the signal end the process as without a handler. */
static void sigbus_end(int signal_number)
{
	sigbus_clean();
	(void)signal(signal_number, SIG_DFL);
	(void)raise(signal_number);
}

/* Only functions that signal-safety(7) lists may be called here. */
static void sigbus_handle(int signal_number)
{
	(void)signal_number;
	const char *path = atomic_load(&reading);
	sigbus_clean();
	sigbus_write("unhex: ");
	sigbus_write(path ? path : "a file");
	sigbus_write(": became shorter or unreadable while unhex read it\n");
	_exit(UX_EXIT_SOME);
}

void ux_sigbus_init(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = sigbus_handle}, before;
	owner = getpid();
	sigaction(SIGBUS, &action, NULL);
	action.sa_handler = sigbus_end;
	for (size_t i = 0; i < ux_countof(ends); i++) /* nohup(1) ignores some */
		if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(ends[i], &action, NULL);
}

void ux_sigbus_reading(const char *path)
{
	atomic_store(&reading, path);
}
