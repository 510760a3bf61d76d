/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a program once its events are open. */
#include "record_command.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	STOP_MS = 5000, /* how long a program may take to end after SIGTERM */
	STEP_MS = 10,
	EXEC_FAILED = 127,
};

static void record_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* The child: waits for a byte, then becomes the program. */
static void record_command_child(int go, int failed, char *const *arguments,
				 const sigset_t *signals)
{
	uint8_t byte = 0;
	ssize_t n = 0;
	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(EXEC_FAILED);
	(void)sigprocmask(SIG_SETMASK, signals, NULL);
	(void)execvp(arguments[0], arguments);
	int why = errno;
	n = write(failed, &why, sizeof(why));
	_exit(n == sizeof(why) ? EXEC_FAILED : EXEC_FAILED - 1);
}

enum ux_code ux_record_command_fork(struct ux_record_command *c, char *const *arguments,
				    const sigset_t *signals, struct ux_error *err)
{
	int go[2], failed[2];
	if (pipe2(go, O_CLOEXEC) != 0)
		return ux_error_os(err, errno, "cannot create a pipe");
	if (pipe2(failed, O_CLOEXEC) != 0) {
		int why = errno;
		(void)close(go[0]);
		(void)close(go[1]);
		return ux_error_os(err, why, "cannot create a pipe");
	}
	pid_t pid = fork();
	int why = errno;
	if (pid == 0) {
		(void)close(go[1]);
		record_command_child(go[0], failed[1], arguments, signals);
	}
	(void)close(go[0]);
	(void)close(failed[1]);
	c->go = go[1];
	c->failed = failed[0];
	if (pid < 0)
		return ux_error_os(err, why, "cannot create a process");
	c->pid = pid;
	return UX_OK;
}

enum ux_code ux_record_command_start(struct ux_record_command *c, struct ux_error *err)
{
	int why = 0;
	ssize_t n = write(c->go, "", 1);
	record_close(&c->go);
	if (n != 1)
		return ux_error_os(err, errno, "cannot start the command");
	do
		n = read(c->failed, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	record_close(&c->failed);
	if (n != sizeof(why))
		return UX_OK; /* exec has closed it */
	(void)waitpid(c->pid, &c->status, 0);
	c->pid = 0;
	return ux_error_os(err, why, "cannot execute it");
}

bool ux_record_command_ended(struct ux_record_command *c)
{
	if (c->pid > 0 && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->pid = 0;
	return c->pid == 0;
}

bool ux_record_command_stop(struct ux_record_command *c)
{
	if (ux_record_command_ended(c))
		return false;
	(void)kill(c->pid, SIGTERM);
	int64_t end = ux_clock_ms() + STOP_MS;
	while (!ux_record_command_ended(c) && ux_clock_ms() < end)
		(void)poll(NULL, 0, STEP_MS);
	return true;
}

void ux_record_command_deinit(struct ux_record_command *c)
{
	record_close(&c->failed);
	if (c->go < 0)
		return;
	record_close(&c->go);
	if (c->pid > 0)
		(void)waitpid(c->pid, &c->status, 0);
}
