/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends confined children: executed, or forked by a process that is already loaded. */
#include "child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void ux_child_deinit(struct ux_child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (c->talk >= 0)
		close(c->talk);
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++)
		if (c->moved[i] >= 0)
			close(c->moved[i]);
}

static enum ux_code child_set_up(posix_spawn_file_actions_t *a, const struct ux_child *c,
				 int child_socket, struct ux_error *err)
{
	int r = 0;
	for (int fd = 0; fd < UX_SANDBOX_SOCKET && r == 0; fd++)
		r = posix_spawn_file_actions_addopen(a, fd, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(a, child_socket, UX_SANDBOX_SOCKET);
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT && r == 0; i++)
		r = c->moved[i] >= 0
			    ? posix_spawn_file_actions_adddup2(a, c->moved[i], UX_SANDBOX_FILES + i)
			    : posix_spawn_file_actions_addclose(a, UX_SANDBOX_FILES + i);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(a, UX_SANDBOX_FILES +
									UX_SANDBOX_FILE_COUNT);
	return r == 0 ? UX_OK : ux_error_os(err, r, "cannot set up a sandboxed process");
}

/* Resets signal handling to the default, whatever the caller blocked or ignored. */
static void child_reset_signals(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static enum ux_code child_spawn(struct ux_child *c, const char *program, int child_socket,
				struct ux_error *err)
{
	char name[] = "unhex", word[] = UX_SANDBOX_WORD;
	char *const argv[] = {name, word, NULL}, *const envp[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return ux_error_nomem(err);
	posix_spawnattr_init(&attr);
	child_reset_signals(&attr);
	enum ux_code code = child_set_up(&actions, c, child_socket, err);
	if (code == UX_OK) {
		int r = posix_spawn(&c->pid, program, &actions, &attr, argv, envp);
		if (r != 0) {
			c->pid = 0;
			code = ux_error_set(err, UX_EUNAVAILABLE, "cannot start %.80s: %s", program,
					    strerror(r));
		}
	}
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return code;
}

/*
 * dup2() of a descriptor onto itself would leave it close-on-exec, and onto the number of another
 * one would close that one. So all are first moved to higher numbers.
 */
enum ux_code ux_child_move_files(struct ux_child *c, const int *files, struct ux_error *err)
{
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++) {
		if (files[i] < 0)
			continue;
		c->moved[i] =
			fcntl(files[i], F_DUPFD_CLOEXEC, UX_SANDBOX_FILES + UX_SANDBOX_FILE_COUNT);
		if (c->moved[i] < 0)
			return ux_error_os(err, errno, "cannot pass file %d to the sandbox", i);
	}
	return UX_OK;
}

/* Makes the socket of a child, which is connected to c->talk, and closes it afterwards. */
static enum ux_code child_make_socket(struct ux_child *c, int *ret, struct ux_error *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return ux_error_os(err, errno, "cannot create a socket for the sandbox");
	c->talk = pair[0];
	*ret = fcntl(pair[1], F_DUPFD_CLOEXEC, UX_SANDBOX_FILES + UX_SANDBOX_FILE_COUNT);
	close(pair[1]);
	return *ret >= 0 ? UX_OK
			 : ux_error_os(err, errno, "cannot create a socket for the sandbox");
}

/* Executes a program for the child and sends it the request. */
enum ux_code ux_child_start(struct ux_child *c, const struct ux_sandbox_request *request,
			    const char *program, struct ux_error *err)
{
	int child_socket = -1;
	UX_TRY(child_make_socket(c, &child_socket, err));
	enum ux_code code = child_spawn(c, program ? program : "/proc/self/exe", child_socket, err);
	close(child_socket);
	UX_TRY(code);
	/* If it has ended already, waiting for its reply will tell why. */
	(void)!send(c->talk, request, sizeof(*request), MSG_NOSIGNAL);
	return UX_OK;
}

struct ux_fork_server {
	pthread_mutex_t lock;    /* guards the process */
	char *program;           /* NULL: this one */
	struct ux_child process; /* pid 0: it is not running */
};

const struct ux_child ux_child_none = {.talk = -1, .moved = UX_SANDBOX_NO_FILES};

static void fork_server_end(struct ux_fork_server *f)
{
	ux_child_deinit(&f->process);
	f->process = ux_child_none;
}

static enum ux_code fork_server_begin(struct ux_fork_server *f, struct ux_error *err)
{
	const struct ux_sandbox_request request = {.size = sizeof(request),
						   .task = UX_SANDBOX_FORKS};
	return f->process.pid > 0 ? UX_OK : ux_child_start(&f->process, &request, f->program, err);
}

enum ux_code ux_fork_server_start(struct ux_fork_server **ret, const char *program,
				  struct ux_error *err)
{
	struct ux_fork_server *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	pthread_mutex_init(&f->lock, NULL);
	f->process = ux_child_none;
	f->program = program ? strdup(program) : NULL;
	enum ux_code code =
		program && !f->program ? ux_error_nomem(err) : fork_server_begin(f, err);
	if (code == UX_OK)
		*ret = f;
	else
		ux_fork_server_stop(f);
	return code;
}

void ux_fork_server_stop(struct ux_fork_server *f)
{
	if (!f)
		return;
	fork_server_end(f);
	pthread_mutex_destroy(&f->lock);
	free(f->program);
	free(f);
}

/* Returns the pid of a new child, or a negative errno; 0: the fork server has died. */
static int64_t fork_server_request(struct ux_fork_server *f,
				   const struct ux_sandbox_request *request, int child_socket,
				   const int *files)
{
	int64_t pid = 0;
	ssize_t n = 0;
	if (!ux_fork_request_send(f->process.talk, request, child_socket, files))
		return 0;
	do
		n = recv(f->process.talk, &pid, sizeof(pid), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(pid) && pid <= INT_MAX ? pid : 0;
}

/* Forks the child. Starts a fork server that has died again, once. */
enum ux_code ux_child_fork(struct ux_child *c, struct ux_fork_server *f,
			   const struct ux_sandbox_request *request, struct ux_error *err)
{
	int child_socket = -1;
	int64_t pid = 0;
	UX_TRY(child_make_socket(c, &child_socket, err));
	enum ux_code code = UX_OK;
	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < 2 && code == UX_OK && pid == 0; i++) {
		code = fork_server_begin(f, err);
		pid = code == UX_OK ? fork_server_request(f, request, child_socket, c->moved) : 0;
		if (pid == 0)
			fork_server_end(f);
	}
	pthread_mutex_unlock(&f->lock);
	close(child_socket);
	UX_TRY(code);
	if (pid <= 0)
		return ux_error_set(err, UX_EUNAVAILABLE, "cannot fork the sandbox: %s",
				    pid < 0 ? strerror((int)-pid) : "the fork server died");
	c->pid = (pid_t)pid;
	return UX_OK;
}

/* Returns the error for a child that ended without a reply. */
enum ux_code ux_child_end_error(struct ux_child *c, const struct ux_sandbox_limits *l,
				bool *ret_out_of_time, struct ux_error *err)
{
	int status = 0;
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	if (!WIFSIGNALED(status))
		return ux_error_set(err, UX_ECORRUPT,
				    "reading the input failed: the sandbox exited with status %d",
				    WEXITSTATUS(status));
	/* The kernel sends SIGKILL both for the limit of processor time and for lack of memory. */
	*ret_out_of_time = WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL;
	if (*ret_out_of_time)
		return ux_error_set(err, UX_ELIMIT,
				    "reading the input exceeded %u s or the memory limit",
				    l->seconds);
	return ux_error_set(err, UX_ECORRUPT,
			    "reading the input failed: the sandbox was killed by signal %d (%s)",
			    WTERMSIG(status), strsignal(WTERMSIG(status)));
}
