/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends pieces of an upload to the server's bucket by presigned URLs. A failure here never fails a
 * push: the bytes are then sent to the server.
 */
#include "push_work.h"

#include "clock.h"
#include "http_client.h"
#include "retry.h"

#include <jansson.h>

#include <strings.h>

enum {
	CONNECT_MS = 5000, /* a bucket that this client cannot reach costs this once */
	SILENCE_MS = 30000,
	OFF_MS = 10 * 60 * 1000, /* then the agent tries again */
	TRIES = 2,
	PIECE_MIN = 64 << 10, /* bounds the sizes that the server proposes */
	PIECE_MAX = 1 << 30,
};

void ux_push_direct_close(struct ux_push_direct *d)
{
	if (d->http)
		ux_http_client_destroy(d->http);
	free(d->origin);
	*d = (struct ux_push_direct){0};
}

bool ux_push_direct_is_off(const struct ux_push_client *c)
{
	return ux_clock_ms() < c->direct.off_until_ms;
}

void ux_push_direct_give_up(struct ux_push_client *c)
{
	ux_push_direct_close(&c->direct);
	c->direct.off_until_ms = ux_clock_ms() + OFF_MS;
}

/* Returns the length of "scheme://host:port" at the start of a URL; 0: not a URL to which bytes may
 * be sent. */
static size_t direct_origin(const struct ux_push_client *c, const char *url)
{
	bool tls = strncasecmp(url, "https://", 8) == 0;
	if (!tls && strncasecmp(url, "http://", 7) != 0)
		return 0;
	/* Do not send bytes unencrypted to the bucket if they go encrypted to the server. */
	if (!tls && strncasecmp(c->options->url, "https:", 6) == 0)
		return 0;
	size_t scheme = tls ? 8 : 7;
	return scheme + strcspn(url + scheme, "/?#");
}

/* Opens a connection to the host of a URL, or keeps the open one if the host is the same. */
static bool direct_connect(struct ux_push_client *c, const char *url, size_t n_origin)
{
	struct ux_push_direct *d = &c->direct;
	if (d->http && strlen(d->origin) == n_origin && memcmp(d->origin, url, n_origin) == 0)
		return true;
	ux_push_direct_close(d);
	d->origin = strndup(url, n_origin);
	const struct ux_http_client_options options = {.url = d->origin,
						       .cafile = c->options->cacert,
						       .proxy = c->options->proxy,
						       .rate = c->options->rate,
						       .connect_ms = CONNECT_MS};
	return d->origin && ux_http_client_create(&d->http, &options, NULL) == UX_OK;
}

static bool direct_put(struct ux_push_client *c, const char *path, struct ux_bytes bytes)
{
	/* S3 servers answer immediately; with some of them, waiting for "100 Continue" costs a
	 * second. */
	static const char *const headers[] = {"Expect:", NULL};
	struct ux_retry retry = {.max = TRIES, .deadline_ms = c->deadline_ms};
	for (;;) {
		ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
		int64_t left = c->deadline_ms - ux_clock_ms();
		if (left <= 0)
			return false;
		const struct ux_http_call call = {.method = UX_METHOD_PUT,
						  .path = path,
						  .body = bytes,
						  .headers = headers,
						  .timeout_ms = left,
						  .silence_ms = SILENCE_MS};
		enum ux_code code = ux_http_client_call(c->direct.http, &call, &answer, NULL);
		if (code == UX_OK && answer.status >= 200 && answer.status < 300)
			return true;
		/* If the bucket does not answer, the server is reached sooner. */
		if (code != UX_OK || answer.status < 500 || !ux_retry_again(&retry, false, 0))
			return false;
	}
}

static bool direct_send_piece(struct ux_push_client *c, const char *url, struct ux_bytes bytes)
{
	size_t n = url ? direct_origin(c, url) : 0;
	if (n == 0 || url[n] != '/' || !direct_connect(c, url, n))
		return false;
	return direct_put(c, url + n, bytes);
}

uint64_t ux_push_direct_send(struct ux_push_client *c, const json_t *direct, struct ux_bytes bytes,
			     uint64_t offset)
{
	const json_t *urls = json_object_get(direct, "urls");
	json_int_t size = json_integer_value(json_object_get(direct, "piece_size"));
	uint64_t begin = offset;
	if (ux_push_direct_is_off(c) || size < PIECE_MIN || size > PIECE_MAX)
		return 0;
	for (size_t i = 0; i < json_array_size(urls) && offset < bytes.size; i++) {
		size_t n = (size_t)ux_min((uint64_t)size, bytes.size - offset);
		const char *url = json_string_value(json_array_get(urls, i));
		if (c->sends)
			c->sends(c->sends_ctx, c, n);
		if (!direct_send_piece(c, url, ux_bytes(bytes.data + offset, n)))
			break;
		offset += n;
		if (c->sent)
			c->sent(c->sent_ctx, n);
	}
	if (offset == begin)
		ux_push_direct_give_up(c);
	return offset - begin;
}
