/* SPDX-License-Identifier: Apache-2.0 */
/* The handler of SIGBUS. */
#include "sigbus.h"

#include "base.h"
#include "output.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* Read by the handler, which may interrupt the thread that writes them. */
static _Atomic(const char *) reading;
static _Atomic(const char *) to_remove;

static void sigbus_write(const char *text)
{
	ssize_t n = write(STDERR_FILENO, text, strlen(text));
	(void)n; /* a failure to write the message cannot be reported */
}

/* Only functions that signal-safety(7) lists may be called here. */
static void sigbus_handle(int signal_number)
{
	(void)signal_number;
	const char *path = atomic_load(&reading);
	const char *temp = atomic_load(&to_remove);
	if (temp)
		unlink(temp);
	sigbus_write("unhex: ");
	sigbus_write(path ? path : "a file");
	sigbus_write(": got shorter, or could not be read, while it was in use\n");
	_exit(UX_EXIT_SOME);
}

void ux_sigbus_init(void)
{
	struct sigaction action = {.sa_handler = sigbus_handle};
	sigaction(SIGBUS, &action, NULL);
}

void ux_sigbus_reading(const char *path)
{
	atomic_store(&reading, path);
}

void ux_sigbus_remove(const char *path)
{
	atomic_store(&to_remove, path);
}
