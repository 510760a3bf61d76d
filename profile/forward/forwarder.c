/* SPDX-License-Identifier: Apache-2.0 */
/* Passes messages of OTLP profiles on to the next receiver. */
#include "forwarder.h"

#include "disk_queue.h"
#include "gzip.h"
#include "http_client.h"
#include "metric_text.h"
#include "otlp_exchange.h"
#include "protobuf.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	CALL_MS = 30000,
	PAUSE_MS = 1000,      /* ms before the second attempt; doubles each time */
	PAUSE_MAX_MS = 30000, /* ms between attempts at most, if the answer has no Retry-After */
	RETRY_MAX_S = 600,    /* s: longest Retry-After that is obeyed */
	ANSWER_MAX = 4 << 20, /* bytes of an answer; the specification sets the same limit */
	HEADERS_MAX = 32,
	HEADER_FILE_MAX = 64 << 10,
};

static const char default_path[] = "/v1development/profiles";

struct forward_headers {
	char *text; /* the file, with NULs at the ends of lines; malloc'ed */
	const char *lines[HEADERS_MAX + 2];
};

struct forward_sender {
	struct ux_forwarder *forwarder;
	struct ux_http_client *client;
	pthread_t thread;
	bool started;
	unsigned lane;
};

/* Sums, which need no memory order. */
struct forward_sums {
	_Atomic uint64_t sent;
	_Atomic uint64_t retries;
	_Atomic uint64_t refused;
	_Atomic uint64_t rejected; /* profiles, by answers with partial success */
};

struct ux_forwarder {
	struct ux_disk_queue *queue;
	const char *path; /* path of the client's URL */
	struct forward_headers headers;
	ux_forward_log_fn *log;
	void *log_ctx;
	unsigned n_senders;
	struct forward_sender senders[UX_DISK_QUEUE_LANES_MAX];
	struct forward_sums sums;
};

/* --- options ---------------------------------------------------------------------------------- */

static void forward_headers_free(struct forward_headers *h)
{
	free(h->text);
	*h = (struct forward_headers){0};
}

/* Splits the file into lines; drops empty ones and comments (#). */
static enum ux_code forward_headers_split(struct forward_headers *h, const char *path,
					  struct ux_error *err)
{
	size_t n = 0;
	h->lines[n++] = "Content-Encoding: gzip";
	for (char *line = h->text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		size_t size = strlen(line);
		if (size > 0 && line[size - 1] == '\r')
			line[--size] = '\0';
		if (size == 0 || line[0] == '#')
			continue;
		const char *colon = strchr(line, ':');
		if (!colon || colon == line || strcspn(line, " \t") < (size_t)(colon - line))
			return ux_error_set(err, UX_EINVAL,
					    "%s: a line is not a header; expected NAME: VALUE",
					    path);
		for (size_t i = 0; i < size; i++)
			if ((uint8_t)line[i] < 0x20 || line[i] == 0x7f)
				return ux_error_set(err, UX_EINVAL,
						    "%s: a header has a control character", path);
		if (n > HEADERS_MAX)
			return ux_error_set(err, UX_ELIMIT, "%s has more than %d headers", path,
					    HEADERS_MAX);
		h->lines[n++] = line;
	}
	h->lines[n] = NULL;
	return UX_OK;
}

static enum ux_code forward_headers_read(struct forward_headers *h, const char *path,
					 struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (path)
		UX_TRY(ux_file_map(path, &file, err));
	if (file.bytes.size > HEADER_FILE_MAX)
		return ux_error_set(err, UX_ELIMIT, "%s exceeds %d bytes", path, HEADER_FILE_MAX);
	if (file.bytes.size > 0 && memchr(file.bytes.data, '\0', file.bytes.size))
		return ux_error_set(err, UX_EINVAL, "%s has a NUL", path);
	h->text = strndup((const char *)(file.bytes.data ? file.bytes.data : (const uint8_t *)""),
			  file.bytes.size);
	return h->text ? forward_headers_split(h, path, err) : ux_error_nomem(err);
}

/* Returns the URL's path; for a URL that names only a server, OTLP's path for profiles. */
static const char *forward_path_of(const char *url)
{
	const char *host = strstr(url, "://");
	const char *slash = host ? strchr(host + 3, '/') : NULL;
	return !slash || slash[1] == '\0' ? default_path : "";
}

enum ux_code ux_forward_check(const struct ux_forward_options *options, struct ux_error *err)
{
	ux_cleanup(forward_headers_free) struct forward_headers headers = {0};
	UX_TRY(ux_http_url_check(options->url, err));
	return forward_headers_read(&headers, options->header_file, err);
}

/* --- one message ------------------------------------------------------------------------------ */

enum forward_fate {
	FORWARD_TAKEN,
	FORWARD_REFUSED, /* this message will never be taken */
	FORWARD_AGAIN,   /* it may be taken later */
	FORWARD_HELD,    /* the receiver refuses every message, as it is configured */
};

static enum forward_fate forward_fate_of(unsigned status)
{
	if (status >= 200 && status < 300)
		return FORWARD_TAKEN;
	if (status == 429 || status == 502 || status == 503 || status == 504)
		return FORWARD_AGAIN;
	return status == 401 || status == 403 || status == 404 ? FORWARD_HELD : FORWARD_REFUSED;
}

/* Returns how many profiles the receiver rejected although it accepted the message. */
static uint64_t forward_rejected(struct ux_bytes answer)
{
	enum {
		PARTIAL_SUCCESS = 1,
		REJECTED_PROFILES = 1,
	};
	uint64_t n = 0;
	struct ux_cur c = ux_cur_make(answer, "answer", false);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number != PARTIAL_SUCCESS || f.wire != UX_PROTOBUF_BYTES)
			continue;
		for (struct ux_protobuf_field inner; ux_protobuf_next(&f.bytes, &inner);)
			if (inner.number == REJECTED_PROFILES && inner.wire == UX_PROTOBUF_VARINT &&
			    inner.value < INT32_MAX)
				n += inner.value;
	}
	return n;
}

static void forward_log(const struct ux_forwarder *f, const char *level, const char *event,
			const char *text)
{
	if (f->log)
		f->log(f->log_ctx, level, event, text);
}

static bool forward_is_cancelled(void *ctx)
{
	return ux_disk_queue_is_stopping(ctx);
}

/* Sends a message once. *ret_retry_s: the receiver's Retry-After, 0: none. */
static enum forward_fate forward_send(struct forward_sender *s, struct ux_bytes message,
				      unsigned *ret_retry_s, char text[UX_ERROR_TEXT])
{
	struct ux_forwarder *f = s->forwarder;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_http_call call = {
		.method = UX_METHOD_POST,
		.path = f->path,
		.type = "application/x-protobuf",
		.body = message,
		.headers = f->headers.lines,
		.timeout_ms = CALL_MS,
		.answer_max = ANSWER_MAX,
		.cancelled = forward_is_cancelled,
		.cancelled_ctx = f->queue,
	};
	*ret_retry_s = 0;
	if (ux_http_client_call(s->client, &call, &answer, &err) != UX_OK) {
		snprintf(text, UX_ERROR_TEXT, "%s", err.text);
		/* there was an answer, although it cannot be read */
		bool answered = err.code == UX_ELIMIT || err.code == UX_EUNSUPPORTED;
		return answered ? FORWARD_TAKEN : FORWARD_AGAIN;
	}
	enum forward_fate fate = forward_fate_of(answer.status);
	*ret_retry_s = ux_min(answer.retry_after_s, (unsigned)RETRY_MAX_S);
	snprintf(text, UX_ERROR_TEXT, "the receiver answered %u", answer.status);
	uint64_t rejected =
		fate == FORWARD_TAKEN ? forward_rejected(ux_out_bytes(&answer.body)) : 0;
	atomic_fetch_add_explicit(&f->sums.rejected, rejected, memory_order_relaxed);
	return fate;
}

/* Returns the ms to wait before attempt n + 1. */
static int64_t forward_pause_ms(unsigned n, enum forward_fate fate, unsigned retry_s)
{
	if (retry_s > 0)
		return (int64_t)retry_s * 1000;
	if (fate == FORWARD_HELD)
		return PAUSE_MAX_MS;
	return ux_min((int64_t)PAUSE_MS << ux_min(n - 1, 16U), (int64_t)PAUSE_MAX_MS);
}

/* Sends a message until its fate is known. False: the queue is stopping. */
static bool forward_one(struct forward_sender *s, const struct ux_disk_message *message)
{
	struct ux_forwarder *f = s->forwarder;
	char text[UX_ERROR_TEXT];
	for (unsigned n = 1;; n++) {
		unsigned retry_s = 0;
		enum forward_fate fate = forward_send(s, message->file.bytes, &retry_s, text);
		if (fate == FORWARD_TAKEN || fate == FORWARD_REFUSED) {
			bool taken = fate == FORWARD_TAKEN;
			atomic_fetch_add_explicit(taken ? &f->sums.sent : &f->sums.refused, 1,
						  memory_order_relaxed);
			if (!taken)
				forward_log(f, "error", "forward_refused", text);
			return true;
		}
		if (ux_disk_queue_is_stopping(f->queue))
			return false;
		if (n == 1 || fate == FORWARD_HELD)
			forward_log(f, fate == FORWARD_HELD ? "error" : "warning", "forward_failed",
				    text);
		atomic_fetch_add_explicit(&f->sums.retries, 1, memory_order_relaxed);
		if (!ux_disk_queue_pause(f->queue, forward_pause_ms(n, fate, retry_s)))
			return false;
	}
}

static void *forward_work(void *ctx)
{
	struct forward_sender *s = ctx;
	struct ux_disk_queue *q = s->forwarder->queue;
	struct ux_disk_message message = {0};
	bool goes_on = true;
	while (goes_on && ux_disk_queue_front(q, s->lane, &message, NULL) == UX_OK) {
		const uint64_t number = message.number;
		goes_on = forward_one(s, &message);
		ux_disk_message_close(&message);
		if (goes_on)
			ux_disk_queue_remove(q, s->lane, number);
	}
	return NULL;
}

/* --- the forwarder ---------------------------------------------------------------------------- */

static enum ux_code forward_start(struct ux_forwarder *f, const struct ux_forward_options *options,
				  struct ux_error *err)
{
	const struct ux_http_client_options client = {.url = options->url,
						      .cafile = options->cafile};
	for (unsigned i = 0; i < f->n_senders; i++) {
		struct forward_sender *s = &f->senders[i];
		s->forwarder = f;
		s->lane = i;
		UX_TRY(ux_http_client_create(&s->client, &client, err));
		int status = pthread_create(&s->thread, NULL, forward_work, s);
		if (status != 0)
			return ux_error_os(err, status, "cannot start a thread");
		s->started = true;
	}
	return UX_OK;
}

enum ux_code ux_forwarder_open(struct ux_forwarder **ret, const struct ux_forward_options *options,
			       struct ux_error *err)
{
	struct ux_forwarder *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	f->log = options->log;
	f->log_ctx = options->log_ctx;
	f->path = forward_path_of(options->url);
	f->n_senders = ux_min(ux_max(options->connections, 1U), (unsigned)UX_DISK_QUEUE_LANES_MAX);
	enum ux_code code = ux_http_url_check(options->url, err);
	if (code == UX_OK)
		code = forward_headers_read(&f->headers, options->header_file, err);
	if (code == UX_OK)
		code = ux_disk_queue_open(
			&f->queue,
			&(struct ux_disk_queue_options){.dir = options->dir,
							.suffix = ".pb.gz",
							.bytes_max = options->bytes_max,
							.lanes = f->n_senders},
			err);
	if (code == UX_OK)
		code = forward_start(f, options, err);
	if (code == UX_OK)
		*ret = f;
	else
		ux_forwarder_close(f);
	return code;
}

void ux_forwarder_close(struct ux_forwarder *f)
{
	if (!f)
		return;
	if (f->queue)
		ux_disk_queue_stop(f->queue);
	for (unsigned i = 0; i < f->n_senders; i++) {
		if (f->senders[i].started)
			pthread_join(f->senders[i].thread, NULL);
		if (f->senders[i].client)
			ux_http_client_destroy(f->senders[i].client);
	}
	ux_disk_queue_close(f->queue);
	forward_headers_free(&f->headers);
	free(f);
}

bool ux_forwarder_has_room(struct ux_forwarder *f)
{
	return ux_disk_queue_has_room(f->queue);
}

enum ux_code ux_forwarder_add(struct ux_forwarder *f, uint64_t sender, struct ux_bytes message,
			      struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out packed = {0};
	UX_TRY(ux_gzip_write(message, &packed, err));
	return ux_disk_queue_add(f->queue, sender, ux_out_bytes(&packed), err);
}

void ux_forwarder_metrics(struct ux_forwarder *f, struct ux_out *out)
{
	const struct ux_disk_queue_state s = ux_disk_queue_state(f->queue);
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} rows[] = {
		{"unhex_otlp_queue_messages", "gauge", "Messages that wait to be forwarded.",
		 s.messages},
		{"unhex_otlp_queue_bytes", "gauge", "Size of waiting messages on disk in bytes.",
		 s.bytes},
		{"unhex_otlp_queue_limit_bytes", "gauge",
		 "Maximum size of waiting messages in bytes.", s.bytes_max},
		{"unhex_otlp_queue_oldest_seconds", "gauge",
		 "Age of the oldest waiting message in seconds.", s.oldest_s},
		{"unhex_otlp_queue_lost_total", "counter",
		 "Messages whose files could not be read.", s.lost},
		{"unhex_otlp_forwarded_total", "counter", "Messages that the receiver accepted.",
		 atomic_load_explicit(&f->sums.sent, memory_order_relaxed)},
		{"unhex_otlp_forward_retries_total", "counter", "Attempts to be retried.",
		 atomic_load_explicit(&f->sums.retries, memory_order_relaxed)},
		{"unhex_otlp_forward_refused_total", "counter",
		 "Messages that the receiver refused.",
		 atomic_load_explicit(&f->sums.refused, memory_order_relaxed)},
		{"unhex_otlp_forward_rejected_profiles_total", "counter",
		 "Profiles that the receiver rejected from accepted messages.",
		 atomic_load_explicit(&f->sums.rejected, memory_order_relaxed)},
	};
	for (size_t i = 0; i < ux_countof(rows); i++)
		ux_metric_one(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}
