/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP server: start and stop, threads and connections. */
#include "conversation.h"

#include "clock.h"
#include "timer.h"
#include "tls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	/* connections that the system queues while all of the server's are in use */
	BACKLOG = 1024,
	WORK_SHARE = 2, /* one client has at most 1/2 of the threads of the work queue */
	MHD_LIMIT_FACTOR = 2,
	/* the clients of one group have at most all but 1/4 of them, and of the places to wait */
	WORK_REST = 4,
};

static bool server_allows(struct ux_http_server *s, const struct ux_address *peer)
{
	if (s->app->is_proxy && s->app->is_proxy(s->app->ctx, peer))
		return true;
	return ux_connections_allow(s->connections, peer);
}

/* Gives a connection to the thread that will serve it. If that fails, the library closes it. */
static void server_take(void *ctx, int fd, const struct sockaddr *from, socklen_t size)
{
	struct ux_http_server *s = ctx;
	const struct ux_address peer = ux_address_of(from);
	if (!server_allows(s, &peer)) {
		close(fd);
		return;
	}
	ux_connections_expect(s->connections, fd, &peer);
	(void)!MHD_add_connection(s->daemon, fd, from, size);
}

static bool server_is_full(void *ctx)
{
	struct ux_http_server *s = ctx;
	return ux_connections_are_full(s->connections);
}

/* Called when a connection opens, and before its socket is closed. */
static void server_on_connection(void *ctx, struct MHD_Connection *connection, void **state,
				 enum MHD_ConnectionNotificationCode what)
{
	struct ux_http_server *s = ctx;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		ux_connections_remove(s->connections, *state);
		*state = NULL;
		return;
	}
	const int fd = ux_mhd_socket(connection);
	const struct ux_address peer = ux_mhd_peer(connection);
	*state = fd >= 0 ? ux_connections_add(s->connections, fd, &peer) : NULL;
}

static enum ux_code server_open_work(struct ux_http_server *s, struct ux_error *err)
{
	const struct ux_http_limits *l = &s->app->limits;
	const struct ux_work_limits limits = {
		.threads = l->threads,
		.group_share = ux_max(l->threads - (l->threads + WORK_REST - 1) / WORK_REST, 1U),
		.share = ux_max(l->threads / WORK_SHARE, 1U),
		.group_waiting = l->connections - l->connections / WORK_REST,
		.waiting = l->client_queue,
		.all = l->connections};
	return ux_work_queue_open(&s->work, &limits, err);
}

static enum ux_code server_start(struct ux_http_server *s, bool tls, struct ux_error *err)
{
	const struct ux_http_limits *l = &s->app->limits;
	UX_TRY(ux_microhttpd_load(err));
	const struct MHD_OptionItem options[] = {
		{MHD_OPTION_THREAD_POOL_SIZE, l->threads, NULL},
		/*
		 * The acceptor keeps the limit. The library divides its own by the threads, which
		 * have unequal numbers of connections, and closes what exceeds it.
		 */
		{MHD_OPTION_CONNECTION_LIMIT, MHD_LIMIT_FACTOR * ux_max(l->connections, l->threads),
		 NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, l->idle_seconds, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)l->header_bytes, NULL},
		/* version 0.9 only checks Host, and sends the head of its error twice */
		{MHD_OPTION_STRICT_FOR_CLIENT, ux_mhd_is_lenient() ? 0 : 1, NULL},
		{MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)ux_conversation_on_target, s},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)ux_conversation_on_done, s},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)server_on_connection, s},
		{tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, 0,
		 (void *)(intptr_t)UX_TLS_PRIORITIES},
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, ux_tls_certificate_callback()},
		{MHD_OPTION_END, 0, NULL},
	};
	/*
	 * poll() rather than epoll: libmicrohttpd uses epoll edge-triggered and reads once, so a
	 * client that sends and closes before it is accepted would keep its descriptor and memory
	 * until the idle timeout. With poll() each thread has few connections to check.
	 */
	s->daemon = MHD_start_daemon(MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC |
					     MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
					     (tls ? MHD_USE_TLS : 0),
				     0, NULL, NULL, ux_conversation_on_request, s, MHD_OPTION_ARRAY,
				     options, MHD_OPTION_END);
	if (!s->daemon)
		return ux_error_set(err, UX_EUNAVAILABLE, "cannot start the HTTP threads");
	return UX_OK;
}

static enum ux_code server_open_socket(struct ux_http_server *s,
				       const struct ux_http_endpoint *endpoint, int *ret_fd,
				       struct ux_error *err)
{
	if (endpoint->fd < 0)
		return ux_listen_open(endpoint->listen, BACKLOG, ret_fd, s->address,
				      sizeof(s->address), err);
	*ret_fd = endpoint->fd;
	return ux_listen_adopt(endpoint->fd, s->address, sizeof(s->address), err);
}

enum ux_code ux_http_server_open_at(struct ux_http_server **ret,
				    const struct ux_http_endpoint *endpoint,
				    const struct ux_http_app *app, struct ux_error *err)
{
	struct ux_http_server *s = calloc(1, sizeof(*s));
	int fd = endpoint->fd;
	if (!s)
		return ux_error_nomem(err);
	s->app = app;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->idle, NULL);
	enum ux_code code = ux_timers_open(&s->timers, err);
	if (code == UX_OK)
		code = ux_connections_open(&s->connections, &app->limits, app->memory, s->timers,
					   err);
	if (code == UX_OK)
		code = server_open_work(s, err);
	if (code == UX_OK)
		code = server_open_socket(s, endpoint, &fd, err);
	if (code == UX_OK)
		code = server_start(s, endpoint->tls, err);
	const struct ux_acceptor_user user = {
		.is_full = server_is_full, .take = server_take, .ctx = s};
	if (code == UX_OK)
		code = ux_acceptor_open(&s->acceptor, fd, &user, err);
	if (code != UX_OK) {
		if (fd >= 0)
			close(fd);
		ux_http_server_close(s);
		return code;
	}
	*ret = s;
	return UX_OK;
}

enum ux_code ux_http_server_open(struct ux_http_server **ret, const char *listen,
				 const struct ux_http_app *app, struct ux_error *err)
{
	const struct ux_http_endpoint endpoint = {.listen = listen, .fd = -1};
	return ux_http_server_open_at(ret, &endpoint, app, err);
}

struct ux_work_counts ux_http_server_work(const struct ux_http_server *s)
{
	return ux_work_queue_count(s->work);
}

const char *ux_http_server_address(const struct ux_http_server *s)
{
	return s->address;
}

enum ux_code ux_http_listen_check(const char *listen, struct ux_error *err)
{
	return ux_listen_check(listen, err);
}

bool ux_http_is_loopback(const char *listen)
{
	return ux_listen_is_loopback(listen);
}

int64_t ux_http_server_busy_ms(struct ux_http_server *s, const char **ret_what)
{
	const struct {
		int64_t ms;
		const char *what;
	} all[] = {
		{ux_work_queue_busy_ms(s->work), "a request on a worker thread"},
		{ux_connections_busy_ms(s->connections), "a request on a connection thread"},
		{ux_connections_unchecked_ms(s->connections), "the deadline thread"},
	};
	size_t longest = 0;
	for (size_t i = 1; i < ux_countof(all); i++)
		if (all[i].ms > all[longest].ms)
			longest = i;
	*ret_what = all[longest].what;
	return all[longest].ms;
}

void ux_http_server_quiesce(struct ux_http_server *s)
{
	if (atomic_exchange_explicit(&s->stopping, true, memory_order_relaxed) || !s->daemon)
		return;
	ux_acceptor_close(ux_take(&s->acceptor));
	ux_conversations_resume(s);
}

unsigned ux_http_server_wait(struct ux_http_server *s, unsigned ms)
{
	struct timespec until = ux_clock_timespec(ux_clock_ns() + (int64_t)ms * UX_CLOCK_NS_IN_MS);
	int r = 0;
	pthread_mutex_lock(&s->lock);
	while (s->in_flight > 0 && r == 0)
		r = pthread_cond_clockwait(&s->idle, &s->lock, CLOCK_MONOTONIC, &until);
	unsigned left = s->in_flight;
	pthread_mutex_unlock(&s->lock);
	return left;
}

void ux_http_server_cut(struct ux_http_server *s)
{
	if (!s)
		return;
	ux_http_server_quiesce(s);
	atomic_store_explicit(&s->ending, true, memory_order_relaxed);
	ux_work_queue_stop(s->work);
	if (s->daemon)
		/* no connection may be suspended here: the library would abort */
		MHD_stop_daemon(s->daemon);
	ux_work_queue_close(s->work);
	ux_connections_close(s->connections);
	ux_timers_close(s->timers);
	pthread_cond_destroy(&s->idle);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void ux_http_server_close(struct ux_http_server *s)
{
	if (!s)
		return;
	ux_http_server_quiesce(s);
	if (s->daemon)
		ux_http_server_wait(s, s->app->limits.stop_seconds * 1000);
	ux_http_server_cut(s);
}
