/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets: opens them, and accepts connections. */
#include "http_server.h"

#include "base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Resolves "HOST:PORT", "[HOST]:PORT" or ":PORT"; released by freeaddrinfo(). */
static enum ux_code listen_resolve(const char *text, struct addrinfo **ret, struct ux_error *err)
{
	char host[256] = "";
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	if (!colon || colon[1] == '\0' || n >= sizeof(host))
		return ux_error_set(err, UX_EINVAL, "'%.80s' is not an address; expected HOST:PORT",
				    text);
	bool bracket = n >= 2 && text[0] == '[' && text[n - 1] == ']';
	snprintf(host, sizeof(host), "%.*s", (int)(bracket ? n - 2 : n), text + bracket);
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	if (strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strtoul(colon + 1, NULL, 10) > UINT16_MAX)
		return ux_error_set(err, UX_EINVAL, "'%.40s' is not a port; expected 0 to 65535",
				    colon + 1);
	int r = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, ret);
	if (r != 0)
		return ux_error_set(err, UX_EINVAL, "cannot resolve '%.60s': %s", host,
				    gai_strerror(r));
	return UX_OK;
}

static void addrinfo_release(struct addrinfo **ai)
{
	if (*ai)
		freeaddrinfo(*ai);
}

static bool sockaddr_is_loopback(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, sa, sizeof(in));
		return ntohl(in.sin_addr.s_addr) >> 24 == 127;
	}
	struct sockaddr_in6 in6;
	if (sa->sa_family != AF_INET6)
		return false;
	memcpy(&in6, sa, sizeof(in6));
	return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

enum ux_code ux_listen_check(const char *text, struct ux_error *err)
{
	ux_cleanup(addrinfo_release) struct addrinfo *ai = NULL;
	return listen_resolve(text, &ai, err);
}

/* Checks the first address, which is the one that ux_listen_open() binds. */
bool ux_listen_is_loopback(const char *text)
{
	ux_cleanup(addrinfo_release) struct addrinfo *ai = NULL;
	return listen_resolve(text, &ai, NULL) == UX_OK && sockaddr_is_loopback(ai->ai_addr);
}

static enum ux_code listen_address(int fd, char *address, size_t size, struct ux_error *err)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);
	char host[64], port[8];
	if (getsockname(fd, (struct sockaddr *)&ss, &n) != 0)
		return ux_error_os(err, errno, "cannot read the socket's address");
	if (ss.ss_family == AF_UNIX) {
		struct sockaddr_un un = {0};
		memcpy(&un, &ss, ux_min((size_t)n, sizeof(un)));
		snprintf(address, size, "unix:%.*s", (int)sizeof(un.sun_path), un.sun_path);
		return UX_OK;
	}
	if (getnameinfo((struct sockaddr *)&ss, n, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return ux_error_os(err, errno, "cannot read the socket's address");
	snprintf(address, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	return UX_OK;
}

static void listen_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

enum ux_code ux_listen_open(const char *text, unsigned backlog, int *ret_fd, char *address,
			    size_t size, struct ux_error *err)
{
	ux_cleanup(addrinfo_release) struct addrinfo *ai = NULL;
	UX_TRY(listen_resolve(text, &ai, err));
	ux_cleanup(listen_close_fd) int fd =
		socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create a socket");
	/*
	 * Without SO_REUSEADDR a restarted server would have to wait for connections in TIME_WAIT.
	 */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, (int)backlog) != 0) {
		char why[96];
		return ux_error_set(err, UX_EUNAVAILABLE, "cannot listen on %.60s: %s", text,
				    strerror_r(errno, why, sizeof(why)));
	}
	UX_TRY(listen_address(fd, address, size, err));
	*ret_fd = fd;
	fd = -1;
	return UX_OK;
}

enum ux_code ux_listen_adopt(int fd, char *address, size_t size, struct ux_error *err)
{
	int listening = 0, type = 0;
	socklen_t n = sizeof(listening), m = sizeof(type);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &n) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &m) != 0 || !listening ||
	    type != SOCK_STREAM)
		return ux_error_set(err, UX_EINVAL,
				    "descriptor %d is not a listening stream socket", fd);
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		return ux_error_os(err, errno, "cannot set up descriptor %d", fd);
	return listen_address(fd, address, size, err);
}

/* --- accepting -------------------------------------------------------------------------------- */

enum {
	PAUSE_MS = 20, /* until the next look for room, or for a free descriptor */
};

struct ux_acceptor {
	struct ux_acceptor_user user;
	pthread_t thread;
	int fd;
	int stop_fd;          /* an eventfd */
	atomic_bool stopping; /* no memory order is needed: stop_fd wakes the thread */
};

/* Accepts a connection. False: there is no descriptor or memory for it now. */
static bool acceptor_accept(struct ux_acceptor *a)
{
	struct sockaddr_storage from = {0};
	socklen_t size = sizeof(from);
	int fd = accept4(a->fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		a->user.take(a->user.ctx, fd, (struct sockaddr *)&from, size);
	return fd >= 0 ||
	       (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM);
}

static void *acceptor_run(void *ctx)
{
	struct ux_acceptor *a = ctx;
	bool pause = false;
	while (!atomic_load_explicit(&a->stopping, memory_order_relaxed)) {
		pause = pause || a->user.is_full(a->user.ctx);
		struct pollfd p[] = {{.fd = a->stop_fd, .events = POLLIN},
				     {.fd = pause ? -1 : a->fd, .events = POLLIN}};
		int n = poll(p, ux_countof(p), pause ? PAUSE_MS : -1);
		pause = n > 0 && p[1].revents != 0 && !acceptor_accept(a);
	}
	return NULL;
}

enum ux_code ux_acceptor_open(struct ux_acceptor **ret, int fd, const struct ux_acceptor_user *user,
			      struct ux_error *err)
{
	struct ux_acceptor *a = calloc(1, sizeof(*a));
	if (!a)
		return ux_error_nomem(err);
	a->user = *user;
	a->fd = fd;
	a->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int failed = a->stop_fd < 0 ? errno : pthread_create(&a->thread, NULL, acceptor_run, a);
	if (failed) {
		listen_close_fd(&a->stop_fd);
		free(a);
		return ux_error_os(err, failed, "cannot start the thread that accepts connections");
	}
	*ret = a;
	return UX_OK;
}

void ux_acceptor_close(struct ux_acceptor *a)
{
	if (!a)
		return;
	atomic_store_explicit(&a->stopping, true, memory_order_relaxed);
	(void)!eventfd_write(a->stop_fd, 1);
	pthread_join(a->thread, NULL);
	close(a->fd);
	close(a->stop_fd);
	free(a);
}
