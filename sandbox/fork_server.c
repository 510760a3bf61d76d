/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fork server: a process that is loaded once and forks a child for each request, since starting
 * a program costs more than reading a small file. It reads requests and no file. Its child becomes
 * a child of the process that sends the requests, which waits for it and may end it. Also here: the
 * messages between the two.
 */
#include "sandbox_child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	DESCRIPTORS_MAX = 1 + UX_SANDBOX_FILE_COUNT /* a socket and files */
};

/* The descriptors of a message, in the form of the kernel. */
union passed {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * DESCRIPTORS_MAX)];
};

bool ux_fork_request_send(int to, const struct ux_sandbox_request *request, int talk,
			  const int *files)
{
	int fds[DESCRIPTORS_MAX] = {talk};
	size_t n = 1;
	union passed passed = {.bytes = {0}};
	struct iovec part = {.iov_base = (void *)(uintptr_t)request, .iov_len = sizeof(*request)};
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++)
		if ((request->files >> i & 1) != 0)
			fds[n++] = files[i];
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = passed.bytes,
			   .msg_controllen = CMSG_SPACE(sizeof(int) * n)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	return sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(*request);
}

/* Receives a request and returns the number of its descriptors; -1: no more requests come. */
static int fork_request_receive(struct ux_sandbox_request *ret, int fds[DESCRIPTORS_MAX])
{
	union passed passed;
	struct iovec part = {.iov_base = ret, .iov_len = sizeof(*ret)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = passed.bytes,
			   .msg_controllen = sizeof(passed.bytes)};
	ssize_t n = 0;
	do
		n = recvmsg(UX_SANDBOX_SOCKET, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (n != (ssize_t)sizeof(*ret) || !c || c->cmsg_type != SCM_RIGHTS)
		return -1;
	size_t bytes = c->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(c), bytes);
	return (int)(bytes / sizeof(int));
}

/* Gives the descriptors the numbers at which a child expects them, and closes all others. */
static void fork_place_descriptors(const struct ux_sandbox_request *request, const int *fds)
{
	enum {
		ABOVE = UX_SANDBOX_FILES + UX_SANDBOX_FILE_COUNT
	};
	int moved[DESCRIPTORS_MAX], n = 0;
	/* The kernel may have chosen one of these numbers, so all are first duplicated above them.
	 */
	for (int i = 0; i < DESCRIPTORS_MAX; i++) {
		bool has = i == 0 || (request->files >> (i - 1) & 1) != 0;
		moved[i] = has ? fcntl(fds[n++], F_DUPFD, ABOVE) : -1;
	}
	for (int i = 0; i < DESCRIPTORS_MAX; i++)
		if (moved[i] >= 0)
			dup2(moved[i], UX_SANDBOX_SOCKET + i);
		else
			close(UX_SANDBOX_SOCKET + i);
	close_range(ABOVE, ~0U, 0);
}

/* Forks a sibling: a child of this process's parent. glibc has no call for it. */
static pid_t fork_for_parent(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

bool ux_fork_server_loop(struct ux_sandbox_request *ret)
{
	int fds[DESCRIPTORS_MAX], n = 0;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)!ux_confine_prepare(NULL); /* if it fails, each child reports why */
	while ((n = fork_request_receive(ret, fds)) > 0) {
		int64_t pid = fork_for_parent();
		if (pid == 0) {
			fork_place_descriptors(ret, fds);
			return true;
		}
		pid = pid < 0 ? -errno : pid;
		for (int i = 0; i < n; i++)
			close(fds[i]);
		if (write(UX_SANDBOX_SOCKET, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
			break;
	}
	return false;
}
