/* SPDX-License-Identifier: Apache-2.0 */
/* One request on a connection of the server, from its request line to its end. */
#include "conversation.h"

#include "clock.h"

#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

enum {
	QUEUE_SHARE = 4, /* at most 1/4 of the connections may wait in the queue */
	/* bytes of a rejected body without a length that are read before the answer is sent */
	EARLY_BYTES = 256 << 10,
	EARLY_FIELDS = 2048 /* bytes of that answer's headers */
};

/* One request on a connection. */
struct conversation {
	struct ux_http_server *server;
	struct ux_connection *on; /* NULL: the connection is not checked */
	int fd;                   /* the connection's socket; -1: unknown */
	char *target;             /* malloc'ed */
	/* undecoded target in the library's memory; decoded in place later */
	const char *raw_target;
	bool begun; /* x is in use */
	bool queued;
	/* the answer was sent before the body was received; the connection ends */
	bool early;
	uint64_t drained;      /* bytes of the body that were dropped */
	struct ux_timer timer; /* ends a wait */
	struct ux_work_job job;
	/* The fields below are guarded by the server's lock. */
	/* list of suspended conversations; back is NULL if this one is not suspended */
	struct conversation *next, **back;
	struct MHD_Connection *connection; /* set while it is suspended */
	/* delayed before its body; false: parked by its handler */
	bool in_queue;
	bool woken; /* woken before it was suspended */
	bool works; /* its handler is in the work queue, whose thread resumes it */
	struct ux_exchange x;
};

static void conversation_count(struct ux_http_server *s, int change)
{
	pthread_mutex_lock(&s->lock);
	s->in_flight += (unsigned)change;
	if (s->in_flight == 0)
		pthread_cond_broadcast(&s->idle);
	pthread_mutex_unlock(&s->lock);
}

static struct ux_connection *conversation_of_connection(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

int ux_mhd_socket(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	return info ? info->connect_fd : -1;
}

struct ux_address ux_mhd_peer(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	return ux_address_of(info ? info->client_addr : NULL);
}

/* --- requests that wait ----------------------------------------------------------------------- */

/* Resumes a suspended conversation. Called with the lock held. */
static void conversation_resume(struct conversation *cv)
{
	assert(cv->back);
	*cv->back = cv->next;
	if (cv->next)
		cv->next->back = cv->back;
	cv->back = NULL;
	if (cv->in_queue) {
		cv->in_queue = false;
		assert(cv->server->n_queued > 0);
		cv->server->n_queued--;
		ux_connection_enter(cv->on, UX_CONNECTION_BODY); /* for a body, if any */
	}
	MHD_resume_connection(cv->connection);
}

/*
 * Ends a wait. The request may have been woken earlier, and even suspended again: ending a wait
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
 * Tests whether the client has closed the connection, or its own direction. A client that closes
 * its direction and still reads cannot be distinguished from one that is gone; RFC 9112, 9.6, lets
 * clients close only after they have read the answer.
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

/* Suspends a request: no thread serves it until it is resumed. Called with the lock held. */
static void conversation_suspend(struct conversation *cv, struct MHD_Connection *connection)
{
	assert(!cv->back);
	struct ux_http_server *s = cv->server;
	cv->connection = connection;
	cv->next = s->suspended;
	cv->back = &s->suspended;
	if (cv->next)
		cv->next->back = &cv->next;
	s->suspended = cv;
	MHD_suspend_connection(connection);
}

/* Suspends a request until it is woken or the timeout expires. Called with the lock held. */
static void conversation_suspend_for(struct conversation *cv, struct MHD_Connection *connection,
				     unsigned ms)
{
	conversation_suspend(cv, connection);
	ux_timer_start(cv->server->timers, &cv->timer, ms);
}

/* Parks a request. False: it was already woken. */
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

void ux_conversations_resume(struct ux_http_server *s)
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
 * Called after the handler has run on a thread of the work queue. If the handler waits, its
 * connection stays suspended until it is woken. False: it was already woken, so it has to run
 * again.
 */
static bool conversation_end_work(struct conversation *cv)
{
	struct ux_http_server *s = cv->server;
	bool parked = cv->x.parked, again = false;
	pthread_mutex_lock(&s->lock);
	assert(cv->works && cv->back);
	again = parked && (cv->woken || !conversation_may_wait(cv));
	cv->woken = false;
	cv->works = again;
	if (parked && !again)
		ux_timer_start(s->timers, &cv->timer, cv->x.req.park_ms);
	if (!parked) {
		cv->x.worked = true;
		conversation_resume(cv); /* it may be freed from now on */
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
 * Adds the request to the work queue, which resumes its connection after the handler has run.
 * False: no room; the answer says so.
 */
static bool conversation_start_work(struct conversation *cv, struct MHD_Connection *connection)
{
	struct ux_http_server *s = cv->server;
	ux_exchange_start_clock(&cv->x);
	cv->job = (struct ux_work_job){
		.group = cv->x.req.group, .client = cv->x.req.client, .run = conversation_work};
	pthread_mutex_lock(&s->lock);
	assert(!cv->works && !cv->back);
	enum ux_work_added added = ux_work_queue_add(s->work, &cv->job);
	if (added == UX_WORK_ADDED) {
		/*
		 * A thread that has already started the job waits for the lock before it ends it.
		 */
		cv->works = true;
		conversation_suspend(cv, connection);
	}
	pthread_mutex_unlock(&s->lock);
	if (added != UX_WORK_ADDED)
		ux_exchange_refuse_work(&cv->x, added == UX_WORK_CLIENT_FULL);
	return added == UX_WORK_ADDED;
}

/* --- requests --------------------------------------------------------------------------------- */

void *ux_conversation_on_target(void *ctx, const char *target, struct MHD_Connection *connection)
{
	struct conversation *cv = calloc(1, sizeof(*cv));
	if (!cv)
		return NULL;
	cv->server = ctx;
	cv->timer.fire = conversation_on_timer;
	cv->on = conversation_of_connection(connection);
	ux_connection_busy(cv->on, true);
	cv->target = strdup(target);
	cv->raw_target = target;
	conversation_count(cv->server, 1);
	ux_connection_busy(cv->on, false);
	return cv;
}

void ux_conversation_on_done(void *ctx, struct MHD_Connection *connection, void **state,
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
	if (cv->connection) /* it was suspended earlier */
		ux_timer_stop(s->timers, &cv->timer);
	free(cv->target);
	free(cv);
	conversation_count(s, -1);
}

static enum MHD_Result conversation_on_header(void *ctx, enum MHD_ValueKind kind, const char *name,
					      size_t name_size, const char *value,
					      size_t value_size)
{
	(void)kind;
	ux_exchange_header(ctx, ux_bytes(name, name_size), ux_bytes(value, value_size));
	return MHD_YES;
}

static struct MHD_Response *conversation_make_response(struct ux_response *res)
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

static bool conversation_add_fields(const struct ux_http_server *s, const struct ux_request *req,
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
 * Resets the connection. A client that gets no answer retries, but any answer makes it give up for
 * long. Closing the socket would send a FIN, which counts as an answer; disconnecting it makes
 * Linux send a reset.
 */
static enum MHD_Result conversation_reset(struct MHD_Connection *connection)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	const int fd = ux_mhd_socket(connection);
	if (fd >= 0)
		(void)!connect(fd, &none, sizeof(none));
	return MHD_NO;
}

/*
 * Delays the rest of the request: ux_conversation_on_request is called again later. If too many are
 * waiting, resets the connection.
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
	if (ux_exchange_works(&cv->x) && !ux_exchange_try(&cv->x) &&
	    conversation_start_work(cv, connection))
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
	if (cv->x.res.reset)
		return conversation_reset(connection);
	struct MHD_Response *r = conversation_make_response(&cv->x.res);
	if (!r)
		return MHD_NO;
	enum MHD_Result result = MHD_NO;
	if (conversation_add_fields(cv->server, &cv->x.req, &cv->x.res, r))
		result = MHD_queue_response(connection, cv->x.res.status, r);
	cv->queued = result == MHD_YES;
	ux_connection_holds(cv->on, cv->x.req.held);
	ux_connection_enter(cv->on, UX_CONNECTION_ANSWER);
	MHD_destroy_response(r);
	return result;
}

/*
 * Writes the text of an answer that is sent without the library, which accepts no answer while a
 * body is being received.
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
 * Sends the reason for a refusal early to a client that sends a body without a length: most clients
 * read while they send, and the others find the answer when the connection ends. Not on TLS
 * connections, whose bytes only the library can write.
 */
static void conversation_answer_early(struct conversation *cv, struct MHD_Connection *connection)
{
	char text[EARLY_FIELDS];
	const struct ux_response *res = &cv->x.res;
	const int fd = ux_mhd_socket(connection);
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

bool ux_mhd_is_lenient(void)
{
	return strncmp(MHD_get_version(), "0.", 2) == 0;
}

/* Checks a head, unless it has too many headers: the exchange has refused it then. */
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
	if (!ux_mhd_is_lenient())
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
 * Begins a request. A small rejected body is read and dropped, because closing a connection with
 * unread bytes makes the system reset it, and the client would never receive the reason. A large
 * announced body is answered immediately, and so is a client that sent "Expect: 100-continue" and
 * has not begun to send.
 */
static enum MHD_Result conversation_begin(struct conversation *cv,
					  struct MHD_Connection *connection, const char *method,
					  const char *version)
{
	const struct ux_http_app *app = cv->server->app;
	ux_exchange_init(&cv->x, app, ux_bytes_cstr(method), ux_bytes_cstr(cv->target));
	cv->begun = true;
	ux_exchange_peer(&cv->x, ux_mhd_peer(connection));
	cv->fd = ux_mhd_socket(connection);
	cv->x.req.waits = &waits;
	cv->x.req.waits_ctx = cv;
	MHD_get_connection_values_n(connection, MHD_HEADER_KIND, conversation_on_header, &cv->x);
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

enum MHD_Result ux_conversation_on_request(void *ctx, struct MHD_Connection *connection,
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
