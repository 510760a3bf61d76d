/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP server. This is the only file that uses libmicrohttpd. */
#include "http_server.h"

#include "clock.h"
#include "timer.h"
#include "tls.h"

#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	/* connections that the system queues while all of the server's are in use */
	BACKLOG = 1024,
	QUEUE_SHARE = 4, /* at most 1/4 of the connections may wait in the queue */
	WORK_SHARE = 2,  /* one client has at most 1/2 of the threads that work */
	/* of a rejected body without a length, before the answer is sent */
	EARLY_BYTES = 256 << 10,
	EARLY_FIELDS = 2048 /* bytes of that answer's headers */
};

struct ux_http_server {
	const struct ux_http_app *app;
	struct MHD_Daemon *daemon;
	struct ux_timers *timers;
	struct ux_connections *connections;
	struct ux_work_queue *work;
	char address[UX_LISTEN_TEXT];
	atomic_bool stopping; /* a hint to add "Connection: close": no memory order needed */
	atomic_bool ending;   /* handlers are told to end: no memory order needed */
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t idle;
	/* requests whose request line was received and whose answer is not sent yet */
	unsigned in_flight;
	unsigned n_queued; /* suspended requests that wait in the queue */
	struct conversation *suspended;
};

/* One request on a connection. */
struct conversation {
	struct ux_http_server *server;
	struct ux_connection *on; /* NULL: the connection is not checked */
	int fd;                   /* of the connection; -1: not known */
	char *target;             /* malloc'ed */
	const char *raw_target;   /* where the library has it; decoded in place meanwhile */
	bool begun;               /* x is in use */
	bool queued;
	/* the answer was sent before the body was received; the connection ends */
	bool early;
	uint64_t drained;      /* bytes of the body that were dropped */
	struct ux_timer timer; /* ends a wait */
	struct ux_work_job job;
	/* The fields below are guarded by the server's lock. */
	/* list of suspended ones; back is NULL for one that is not suspended */
	struct conversation *next, **back;
	struct MHD_Connection *connection; /* set while it is suspended */
	/* delayed before its body; false: parked by its handler */
	bool in_queue;
	bool woken; /* woken before it was suspended */
	bool works; /* in the work queue, whose thread resumes it */
	struct ux_exchange x;
};

static void server_count_in_flight(struct ux_http_server *s, int change)
{
	pthread_mutex_lock(&s->lock);
	s->in_flight += (unsigned)change;
	if (s->in_flight == 0)
		pthread_cond_broadcast(&s->idle);
	pthread_mutex_unlock(&s->lock);
}

static struct ux_connection *server_connection(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

/* A copy, since the library may use the same memory for its next answer. -1: unknown. */
static int server_socket(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info ? info->connect_fd : -1;
}

static struct ux_address server_peer(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	return ux_address_of(info ? info->client_addr : NULL);
}

static enum MHD_Result server_on_accept(void *ctx, const struct sockaddr *from, socklen_t size)
{
	(void)size;
	struct ux_http_server *s = ctx;
	const struct ux_address peer = ux_address_of(from);
	if (s->app->is_proxy && s->app->is_proxy(s->app->ctx, &peer))
		return MHD_YES;
	return ux_connections_allow(s->connections, &peer) ? MHD_YES : MHD_NO;
}

/* Called before the socket is closed. */
static void server_on_connection(void *ctx, struct MHD_Connection *connection, void **state,
				 enum MHD_ConnectionNotificationCode what)
{
	struct ux_http_server *s = ctx;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		ux_connections_remove(s->connections, *state);
		*state = NULL;
		return;
	}
	const int fd = server_socket(connection);
	const struct ux_address peer = server_peer(connection);
	*state = fd >= 0 ? ux_connections_add(s->connections, fd, &peer) : NULL;
}

/* --- requests that wait ----------------------------------------------------------------------- */

/* Called with the lock held. */
static void conversation_resume(struct conversation *cv)
{
	*cv->back = cv->next;
	if (cv->next)
		cv->next->back = cv->back;
	cv->back = NULL;
	if (cv->in_queue) {
		cv->in_queue = false;
		cv->server->n_queued--;
		ux_connection_enter(cv->on, UX_CONNECTION_BODY); /* if it has a body */
	}
	MHD_resume_connection(cv->connection);
}

/*
 * The wait is over. The request may have been woken before, and even suspended again: ending a wait
 * early is harmless.
 */
static void conversation_on_timer(struct ux_timer *timer)
{
	struct conversation *cv = ux_container_of(timer, struct conversation, timer);
	struct ux_http_server *s = cv->server;
	pthread_mutex_lock(&s->lock);
	if (cv->back && !cv->works)
		conversation_resume(cv);
	pthread_mutex_unlock(&s->lock);
}

static void conversation_wake(void *ctx)
{
	struct conversation *cv = ctx;
	struct ux_http_server *s = cv->server; /* the server outlives the conversation */
	pthread_mutex_lock(&s->lock);
	if (cv->back && !cv->works)
		conversation_resume(cv);
	else
		cv->woken = true;
	pthread_mutex_unlock(&s->lock);
}

static bool conversation_may_wait(void *ctx)
{
	const struct conversation *cv = ctx;
	return !atomic_load_explicit(&cv->server->stopping, memory_order_relaxed);
}

/*
 * Has the client closed the connection, or its own direction of it? A client that closes its
 * direction and still reads cannot be told from one that is gone; RFC 9112, 9.6, lets clients close
 * only when they have read the answer.
 */
static bool conversation_left(void *ctx)
{
	const struct conversation *cv = ctx;
	struct pollfd p = {.fd = cv->fd, .events = POLLRDHUP};
	return atomic_load_explicit(&cv->server->ending, memory_order_relaxed) ||
	       (cv->fd >= 0 && poll(&p, 1, 0) > 0 &&
		(p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
}

static struct ux_http_waits waits = {
	.may = conversation_may_wait, .wake = conversation_wake, .left = conversation_left};

/* Called with the lock held. No thread serves the request until it is resumed. */
static void conversation_suspend(struct conversation *cv, struct MHD_Connection *connection)
{
	struct ux_http_server *s = cv->server;
	cv->connection = connection;
	cv->next = s->suspended;
	cv->back = &s->suspended;
	if (cv->next)
		cv->next->back = &cv->next;
	s->suspended = cv;
	MHD_suspend_connection(connection);
}

/* The same until it is woken or the time is over. */
static void conversation_suspend_for(struct conversation *cv, struct MHD_Connection *connection,
				     unsigned ms)
{
	conversation_suspend(cv, connection);
	ux_timer_start(cv->server->timers, &cv->timer, ms);
}

/* False: the request was already woken. */
static bool conversation_park(struct conversation *cv, struct MHD_Connection *connection)
{
	pthread_mutex_lock(&cv->server->lock);
	bool waits_now = !cv->woken && conversation_may_wait(cv);
	cv->woken = false;
	if (waits_now)
		conversation_suspend_for(cv, connection, cv->x.req.park_ms);
	pthread_mutex_unlock(&cv->server->lock);
	return waits_now;
}

/* Wakes all waiting requests, which then answer. */
static void server_resume_all(struct ux_http_server *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct conversation *cv = s->suspended, *next = NULL; cv; cv = next) {
		next = cv->next;
		if (!cv->works)
			conversation_resume(cv);
	}
	pthread_mutex_unlock(&s->lock);
}

/* --- the work queue --------------------------------------------------------------------------- */

/*
 * The handler has run, on a thread of the work queue. If it waits, its connection stays suspended,
 * now for that. False: it was already woken, so that it has to run again.
 */
static bool conversation_end_work(struct conversation *cv)
{
	struct ux_http_server *s = cv->server;
	bool parked = cv->x.parked, again = false;
	pthread_mutex_lock(&s->lock);
	again = parked && (cv->woken || !conversation_may_wait(cv));
	cv->woken = false;
	cv->works = again;
	if (parked && !again)
		ux_timer_start(s->timers, &cv->timer, cv->x.req.park_ms);
	if (!parked) {
		cv->x.worked = true;
		conversation_resume(cv); /* it may be freed from here on */
	}
	pthread_mutex_unlock(&s->lock);
	return !again;
}

static void conversation_work(struct ux_work_job *job, bool canceled)
{
	struct conversation *cv = ux_container_of(job, struct conversation, job);
	if (canceled)
		ux_exchange_refuse_work(&cv->x, /* by_client= */ false);
	do {
		ux_exchange_finish(&cv->x);
	} while (!conversation_end_work(cv));
}

/*
 * Hands the request to the work queue, which resumes its connection when the handler has run.
 * False: the answer says that there is no room.
 */
static bool conversation_start_work(struct conversation *cv, struct MHD_Connection *connection)
{
	struct ux_http_server *s = cv->server;
	ux_exchange_start_clock(&cv->x);
	cv->job = (struct ux_work_job){.client = cv->x.req.client, .run = conversation_work};
	pthread_mutex_lock(&s->lock);
	enum ux_work_added added = ux_work_queue_add(s->work, &cv->job);
	if (added == UX_WORK_ADDED) {
		/* A thread that has already begun the job waits for the lock before it ends it. */
		cv->works = true;
		conversation_suspend(cv, connection);
	}
	pthread_mutex_unlock(&s->lock);
	if (added != UX_WORK_ADDED)
		ux_exchange_refuse_work(&cv->x, added == UX_WORK_CLIENT_FULL);
	return added == UX_WORK_ADDED;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The raw target arrives first. If NULL is returned, server_on_request refuses the request. */
static void *server_on_target(void *ctx, const char *target, struct MHD_Connection *connection)
{
	struct conversation *cv = calloc(1, sizeof(*cv));
	if (!cv)
		return NULL;
	cv->server = ctx;
	cv->timer.fire = conversation_on_timer;
	cv->on = server_connection(connection);
	ux_connection_busy(cv->on, true);
	cv->target = strdup(target);
	cv->raw_target = target;
	server_count_in_flight(cv->server, 1);
	ux_connection_busy(cv->on, false);
	return cv;
}

static void server_on_done(void *ctx, struct MHD_Connection *connection, void **state,
			   enum MHD_RequestTerminationCode how)
{
	(void)connection;
	struct ux_http_server *s = ctx;
	struct conversation *cv = *state;
	*state = NULL;
	if (!cv)
		return;
	ux_connection_enter(cv->on, UX_CONNECTION_WAITING); /* for the next request */
	if (cv->begun)
		ux_exchange_deinit(
			&cv->x,
			cv->early || (cv->queued && how == MHD_REQUEST_TERMINATED_COMPLETED_OK));
	if (cv->connection) /* it was suspended before */
		ux_timer_stop(s->timers, &cv->timer);
	free(cv->target);
	free(cv);
	server_count_in_flight(s, -1);
}

static enum MHD_Result server_on_header(void *ctx, enum MHD_ValueKind kind, const char *name,
					size_t name_size, const char *value, size_t value_size)
{
	(void)kind;
	ux_exchange_header(ctx, ux_bytes(name, name_size), ux_bytes(value, value_size));
	return MHD_YES;
}

static struct MHD_Response *server_make_response(struct ux_response *res)
{
	if (res->fd < 0) /* MHD_RESPMEM_PERSISTENT: the body lives until on_done */
		return MHD_create_response_from_buffer(
			res->body.size, (void *)(uintptr_t)res->body.data, MHD_RESPMEM_PERSISTENT);
	struct MHD_Response *r =
		MHD_create_response_from_fd_at_offset64(res->fd_size, res->fd, res->fd_off);
	if (r)
		res->fd = -1; /* closed with the response */
	return r;
}

static bool server_add_fields(const struct ux_http_server *s, const struct ux_request *req,
			      const struct ux_response *res, struct MHD_Response *r)
{
	bool ok = !res->type ||
		  MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, res->type) == MHD_YES;
	for (size_t i = 0; i < res->n_fields && ok; i++)
		ok = MHD_add_response_header(r, (const char *)res->fields[i].name.data,
					     (const char *)res->fields[i].value.data) == MHD_YES;
	if (ok)
		ok = MHD_add_response_header(r, "X-Request-Id", req->name) == MHD_YES;
	if (ok && (res->close || atomic_load_explicit(&s->stopping, memory_order_relaxed)))
		ok = MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
	return ok;
}

/*
 * A client that gets no answer at all retries, while one that gets any answer gives up for long.
 * Closing the socket would send a FIN, which counts as an answer. Disconnecting it makes Linux send
 * a reset.
 */
static enum MHD_Result conversation_reset(struct MHD_Connection *connection)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	const int fd = server_socket(connection);
	if (fd >= 0)
		(void)!connect(fd, &none, sizeof(none));
	return MHD_NO;
}

/*
 * Delays the rest of the request: server_on_request is called again later. When too many are
 * waiting, the connection is reset.
 */
static enum MHD_Result conversation_queue(struct conversation *cv,
					  struct MHD_Connection *connection)
{
	struct ux_http_server *s = cv->server;
	pthread_mutex_lock(&s->lock);
	bool may = conversation_may_wait(cv);
	bool room = s->n_queued <= s->app->limits.connections / QUEUE_SHARE;
	if (may && room) {
		cv->in_queue = true;
		s->n_queued++;
		ux_connection_enter(cv->on, UX_CONNECTION_WORK);
		conversation_suspend_for(cv, connection, cv->x.res.wait_ms);
	}
	pthread_mutex_unlock(&s->lock);
	cv->x.res.wait_ms = 0;
	cv->x.res.reset = may && !room;
	return MHD_YES;
}

static enum MHD_Result conversation_answer(struct conversation *cv,
					   struct MHD_Connection *connection)
{
	if (cv->x.res.reset)
		return conversation_reset(connection);
	ux_connection_enter(cv->on, UX_CONNECTION_WORK);
	if (ux_exchange_works(&cv->x) && conversation_start_work(cv, connection))
		return MHD_YES;
	if (cv->x.res.reset)
		return conversation_reset(connection);
	while (!cv->x.worked) {
		ux_exchange_finish(&cv->x);
		if (!cv->x.parked)
			break;
		if (conversation_park(cv, connection))
			return MHD_YES;
	}
	struct MHD_Response *r = server_make_response(&cv->x.res);
	if (!r)
		return MHD_NO;
	enum MHD_Result result = MHD_NO;
	if (server_add_fields(cv->server, &cv->x.req, &cv->x.res, r))
		result = MHD_queue_response(connection, cv->x.res.status, r);
	cv->queued = result == MHD_YES;
	ux_connection_holds(cv->on, cv->x.req.held);
	ux_connection_enter(cv->on, UX_CONNECTION_ANSWER);
	MHD_destroy_response(r);
	return result;
}

/*
 * The text of an answer that is sent without the library, which accepts no answer while a body is
 * being received.
 */
static size_t conversation_early_text(const struct conversation *cv, char *text, size_t size)
{
	const struct ux_response *res = &cv->x.res;
	int n = snprintf(text, size,
			 "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: %s\r\n"
			 "Content-Length: %zu\r\n",
			 res->status, MHD_get_reason_phrase_for(res->status),
			 res->type ? res->type : "text/plain", res->body.size);
	size_t at = ux_min((size_t)n, size);
	for (size_t i = 0; i < res->n_fields && at < size; i++) {
		n = snprintf(text + at, size - at, "%s: %s\r\n",
			     (const char *)res->fields[i].name.data,
			     (const char *)res->fields[i].value.data);
		at += ux_min((size_t)n, size - at);
	}
	n = snprintf(text + at, size - at, "\r\n");
	return at + (size_t)n < size ? at + (size_t)n : 0;
}

/*
 * A client that sends a body without a length is told at once why it is rejected: most clients read
 * while they send, and the others find the answer when the connection ends. Not on TLS connections,
 * whose bytes only the library can write.
 */
static void conversation_answer_early(struct conversation *cv, struct MHD_Connection *connection)
{
	char text[EARLY_FIELDS];
	const struct ux_response *res = &cv->x.res;
	const int fd = server_socket(connection);
	size_t n = conversation_early_text(cv, text, sizeof(text));
	if (fd < 0 || n == 0 ||
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION))
		return;
	if (send(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE) != (ssize_t)n)
		return;
	if (send(fd, res->body.data, res->body.size, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    (ssize_t)res->body.size)
		cv->early = true;
}

static bool request_expects_continue(const struct ux_request *req)
{
	static const char word[] = "100-continue";
	struct ux_bytes v;
	return ux_request_header(req, "Expect", &v) && v.size == sizeof(word) - 1 &&
	       strncasecmp((const char *)v.data, word, v.size) == 0;
}

/* Does the library pass heads on that it has not read strictly? */
static bool server_library_is_lenient(void)
{
	return strncmp(MHD_get_version(), "0.", 2) == 0;
}

/* Only heads whose headers fit into the exchange; it has refused the others. */
static enum ux_code conversation_check_head(struct conversation *cv,
					    struct MHD_Connection *connection, const char *method,
					    const char *version, struct ux_error *err)
{
	struct ux_exchange *x = &cv->x;
	const struct ux_request_head head = {
		.method = ux_bytes_cstr(method),
		.target = ux_bytes(cv->raw_target, strlen(cv->target)),
		.version = ux_bytes_cstr(version),
		.fields = x->req.headers,
		.n_fields = x->req.n_headers,
	};
	struct ux_request_head copy = head;
	copy.target = ux_bytes_cstr(cv->target);
	UX_TRY(ux_request_head_check(&copy, &x->res.close, err));
	if (!server_library_is_lenient())
		return UX_OK;
	const union MHD_ConnectionInfo *size =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (!size || !ux_request_head_is_whole(&head, size->header_size))
		return ux_error_set(err, UX_EINVAL,
				    "a line of the request has a NUL, does not end with CRLF, or "
				    "goes on in the next line");
	return UX_OK;
}

/*
 * A small rejected body is read and dropped, since closing a connection with unread bytes makes the
 * system reset it, and the client would never receive the reason. A large announced body is
 * answered at once, and so is a client that sent "Expect: 100-continue" and has not begun.
 */
static enum MHD_Result conversation_begin(struct conversation *cv,
					  struct MHD_Connection *connection, const char *method,
					  const char *version)
{
	const struct ux_http_app *app = cv->server->app;
	ux_exchange_init(&cv->x, app, ux_bytes_cstr(method), ux_bytes_cstr(cv->target));
	cv->begun = true;
	ux_exchange_peer(&cv->x, server_peer(connection));
	cv->fd = server_socket(connection);
	cv->x.req.waits = &waits;
	cv->x.req.waits_ctx = cv;
	MHD_get_connection_values_n(connection, MHD_HEADER_KIND, server_on_header, &cv->x);
	struct ux_error err = UX_ERROR_INIT;
	if (conversation_check_head(cv, connection, method, version, &err) != UX_OK) {
		ux_exchange_refuse(&cv->x, &err);
		return conversation_answer(cv, connection);
	}
	ux_exchange_begin(&cv->x);
	ux_connection_enter(cv->on, UX_CONNECTION_BODY);
	uint64_t announced = cv->x.req.content_length;
	bool long_one =
		announced != UINT64_MAX && announced > ux_http_limit(&app->limits, drain_bytes);
	if (cv->x.refused && (long_one || request_expects_continue(&cv->x.req)))
		return conversation_answer(cv, connection);
	return cv->x.res.wait_ms > 0 ? conversation_queue(cv, connection) : MHD_YES;
}

static enum MHD_Result conversation_continue(struct conversation *cv,
					     struct MHD_Connection *connection, const char *method,
					     const char *version, const char *data, size_t *size)
{
	if (!cv->begun)
		return conversation_begin(cv, connection, method, version);
	if (*size == 0)
		return cv->early    ? MHD_NO
		       : cv->queued ? MHD_YES
				    : conversation_answer(cv, connection);
	ux_connection_moved(cv->on, *size);
	ux_exchange_data(&cv->x, ux_bytes(data, *size));
	ux_connection_holds(cv->on, cv->x.req.held);
	if (cv->x.answered)
		cv->drained += *size;
	*size = 0;
	const struct ux_http_limits *l = &cv->server->app->limits;
	if (cv->x.answered && !cv->early && cv->x.req.content_length == UINT64_MAX &&
	    cv->drained > EARLY_BYTES)
		conversation_answer_early(cv, connection);
	return cv->drained <= ux_http_limit(l, drain_bytes) ? MHD_YES : MHD_NO;
}

static enum MHD_Result server_on_request(void *ctx, struct MHD_Connection *connection,
					 const char *url, const char *method, const char *version,
					 const char *data, size_t *size, void **state)
{
	(void)ctx, (void)url;
	struct conversation *cv = *state;
	if (!cv || !cv->target)
		return MHD_NO;
	struct ux_connection *on = cv->on;
	ux_connection_busy(on, true);
	enum MHD_Result result = conversation_continue(cv, connection, method, version, data, size);
	ux_connection_busy(on, false);
	return result;
}

static enum ux_code server_open_work(struct ux_http_server *s, struct ux_error *err)
{
	const struct ux_http_limits *l = &s->app->limits;
	const struct ux_work_limits limits = {.threads = l->threads,
					      .share = ux_max(l->threads / WORK_SHARE, 1U),
					      .waiting = l->client_queue,
					      .all = l->connections};
	return ux_work_queue_open(&s->work, &limits, err);
}

static enum ux_code server_start(struct ux_http_server *s, int fd, bool tls, struct ux_error *err)
{
	const struct ux_http_limits *l = &s->app->limits;
	const struct MHD_OptionItem options[] = {
		{MHD_OPTION_LISTEN_SOCKET, fd, NULL},
		{MHD_OPTION_THREAD_POOL_SIZE, l->threads, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, ux_max(l->connections, l->threads), NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, l->idle_seconds, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)l->header_bytes, NULL},
		/* version 0.9 only looks for Host, and sends the head of its error twice */
		{MHD_OPTION_STRICT_FOR_CLIENT, server_library_is_lenient() ? 0 : 1, NULL},
		{MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)server_on_target, s},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)server_on_done, s},
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
					     MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0),
				     0, server_on_accept, s, server_on_request, s, MHD_OPTION_ARRAY,
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
		code = server_start(s, fd, endpoint->tls, err);
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
		{ux_work_queue_busy_ms(s->work), "a request on a thread that works"},
		{ux_connections_busy_ms(s->connections), "a request on a thread with connections"},
		{ux_connections_unchecked_ms(s->connections), "the thread for deadlines"},
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
	int fd = MHD_quiesce_daemon(s->daemon);
	if (fd >= 0)
		close(fd);
	server_resume_all(s);
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
