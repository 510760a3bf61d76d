/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a bucket: signs, sends and repeats them. */
#include "s3_client.h"

#include "clock.h"
#include "retry.h"
#include "s3_answer.h"
#include "s3_keys.h"
#include "s3_request.h"
#include "s3_sign.h"
#include "text.h"

#include <pthread.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 15000,
	ATTEMPTS_MAX = 6,
	SILENCE_MS = 10000,
	CONNECT_MS = 5000,
	/* bytes a second, from which the time limit of a body is computed */
	SLOWEST_BYTES_S = 256 << 10,
	ANSWER_MAX = 8 << 20, /* bytes of XML: a page of a listing has a tenth of this */
	IDLE_MAX = 32,        /* connections that are kept open */
	PAUSE_MS = 1000,      /* ms without requests after all attempts at one have failed */
};

struct ux_s3 {
	char *url;        /* "https://host:port" */
	char *host;       /* "host" or "host:port", as in the Host header */
	char *public_url; /* url and host for presigned URLs */
	char *public_host;
	char *path; /* "/bucket" or "" */
	char *prefix;
	char *place;
	char *region;
	char *cafile;
	struct ux_s3_keys keys;
	unsigned patience_ms;
	/*
	 * While the server is unavailable, each caller would wait for its own attempts. So after
	 * one has failed, the others fail immediately until this millisecond of the monotonic
	 * clock; then one of them tries. 0: the server answers.
	 */
	_Atomic int64_t away_until_ms;
	struct ux_s3_counts counts;
	pthread_mutex_t lock; /* guards the rest */
	struct ux_http_client *idle[IDLE_MAX];
	size_t n_idle;
};

const char *ux_s3_place(const struct ux_s3 *s3)
{
	return s3->place;
}

const struct ux_s3_counts *ux_s3_get_counts(const struct ux_s3 *s3)
{
	return &s3->counts;
}

const unsigned ux_s3_durations_ms[UX_S3_DURATIONS] = {2, 5, 10, 25, 100, 250, 1000, 5000, 15000};

static void s3_count_add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

void ux_s3_count(struct ux_s3_counts *counts, const struct ux_s3_request *r,
		 const struct ux_http_answer *answer, enum ux_s3_result result, int64_t began_ns)
{
	const int64_t ns = ux_clock_ns() - began_ns;
	size_t i = 0;
	s3_count_add(&counts->requests[r->method][result], 1);
	s3_count_add(&counts->sent, r->from_file ? r->size : r->body.size);
	if (r->method != UX_METHOD_HEAD)
		s3_count_add(&counts->received,
			     answer->length != UINT64_MAX ? answer->length : answer->body.size);
	s3_count_add(&counts->duration_us, (uint64_t)ns / 1000);
	while (i < UX_S3_DURATIONS && ns > (int64_t)ux_s3_durations_ms[i] * 1000000)
		i++;
	s3_count_add(&counts->durations[i], 1);
}

bool ux_s3_is_up(const struct ux_s3 *s3)
{
	return atomic_load(&s3->away_until_ms) == 0;
}

bool ux_s3_failed_within(const struct ux_s3 *s3, int64_t ms)
{
	int64_t until = atomic_load(&s3->away_until_ms);
	return until != 0 && ux_clock_ms() < until - PAUSE_MS + ms;
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool s3_bucket_is_valid(struct ux_bytes bucket)
{
	if (bucket.size < 3 || bucket.size > UX_S3_BUCKET_MAX)
		return false;
	for (size_t i = 0; i < bucket.size; i++) {
		uint8_t c = bucket.data[i];
		if (!ux_is_lower(c) && !ux_is_digit(c) && (c != '-' || i == 0) &&
		    (c != '.' || i == 0 || bucket.data[i - 1] == '.'))
			return false;
	}
	return true;
}

/*
 * Tests for a prefix without control characters, empty parts, "." and "..", which proxies would
 * resolve.
 */
static bool s3_prefix_is_valid(const char *prefix)
{
	size_t part = 0;
	for (const char *p = prefix;; p++) {
		if (*p == '/' || *p == '\0') {
			if (part == 0 || (part == 1 && p[-1] == '.') ||
			    (part == 2 && p[-1] == '.' && p[-2] == '.'))
				return false;
			part = 0;
		} else {
			part++;
		}
		if (*p == '\0')
			return p - prefix <= UX_S3_PREFIX_MAX;
		if (*p < 0x20 || *p == 0x7f)
			return false;
	}
}

/* Takes "s3://BUCKET/PREFIX" apart. *ret_bucket points into place; *ret_prefix is malloc'ed. */
static enum ux_code s3_place_parse(const char *place, struct ux_bytes *ret_bucket,
				   char **ret_prefix, struct ux_error *err)
{
	if (!ux_s3_is_place(place))
		return ux_error_set(err, UX_EINVAL, "'%.80s' is not a bucket; expected s3://BUCKET",
				    place);
	const char *bucket = place + 5;
	size_t n = strcspn(bucket, "/");
	*ret_bucket = ux_bytes(bucket, n);
	if (!s3_bucket_is_valid(*ret_bucket))
		return ux_error_set(err, UX_EINVAL, "'%.80s' has an invalid bucket name", place);
	char *prefix = strdup(bucket[n] == '/' ? bucket + n + 1 : "");
	if (!prefix)
		return ux_error_nomem(err);
	for (size_t k = strlen(prefix); k > 0 && prefix[k - 1] == '/'; k--)
		prefix[k - 1] = '\0';
	*ret_prefix = prefix;
	return prefix[0] == '\0' || s3_prefix_is_valid(prefix)
		       ? UX_OK
		       : ux_error_set(err, UX_EINVAL, "'%.80s' has an invalid prefix", place);
}

static const char *s3_region_of(const struct ux_s3_options *o)
{
	static const char *const names[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
	if (o->region && o->region[0] != '\0')
		return o->region;
	for (size_t i = 0; i < ux_countof(names); i++) {
		const char *region = getenv(names[i]);
		if (region && region[0] != '\0')
			return region;
	}
	return "us-east-1";
}

static bool s3_region_is_valid(const char *region)
{
	for (; *region; region++)
		if (!ux_is_letter(*region) && !ux_is_digit(*region) && !strchr("-_.", *region))
			return false;
	return true;
}

/* Makes the URL and the host of a bucket at an endpoint; malloc'ed, also on failure. */
static enum ux_code s3_make_url(const struct ux_s3_options *o, const char *endpoint,
				struct ux_bytes bucket, char **ret_url, char **ret_host,
				struct ux_error *err)
{
	UX_TRY(ux_http_url_check(endpoint, err));
	const char *host = strstr(endpoint, "://") + 3;
	size_t n = strcspn(host, "/");
	if (host[n] != '\0' && host[n + 1] != '\0')
		return ux_error_set(err, UX_EINVAL, "the endpoint '%.80s' has a path", endpoint);
	if (memchr(host, '@', n))
		return ux_error_set(err, UX_EINVAL, "the endpoint must not contain credentials");
	bool tls = strncasecmp(endpoint, "https", 5) == 0;
	const char *port = tls ? ":443" : ":80"; /* clients omit the default port from Host */
	size_t shown = n > strlen(port) && strncmp(host + n - strlen(port), port, strlen(port)) == 0
			       ? n - strlen(port)
			       : n;
	int b = o->host_style ? (int)bucket.size : 0;
	const char *name = (const char *)bucket.data, *dot = o->host_style ? "." : "";
	if (asprintf(ret_host, "%.*s%s%.*s", b, name, dot, (int)shown, host) < 0) {
		*ret_host = NULL;
		return ux_error_nomem(err);
	}
	if (asprintf(ret_url, "%s://%.*s%s%.*s", tls ? "https" : "http", b, name, dot, (int)n,
		     host) < 0) {
		*ret_url = NULL;
		return ux_error_nomem(err);
	}
	return UX_OK;
}

static bool s3_is_set(const char *text)
{
	return text && text[0] != '\0';
}

/* Sets the URLs, the hosts and the path from the endpoints. */
static enum ux_code s3_set_url(struct ux_s3 *s3, const struct ux_s3_options *o,
			       struct ux_bytes bucket, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *amazon = NULL;
	const char *endpoint = o->endpoint;
	if (!s3_is_set(endpoint)) {
		if (asprintf(&amazon, "https://s3.%s.amazonaws.com", s3->region) < 0) {
			amazon = NULL;
			return ux_error_nomem(err);
		}
		endpoint = amazon;
	}
	UX_TRY(s3_make_url(o, endpoint, bucket, &s3->url, &s3->host, err));
	if (s3_is_set(o->public_endpoint))
		endpoint = o->public_endpoint;
	UX_TRY(s3_make_url(o, endpoint, bucket, &s3->public_url, &s3->public_host, err));
	if (asprintf(&s3->path, "%s%.*s", o->host_style ? "" : "/",
		     o->host_style ? 0 : (int)bucket.size, (const char *)bucket.data) < 0) {
		s3->path = NULL;
		return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code s3_set_options(struct ux_s3 *s3, const struct ux_s3_options *o,
				   struct ux_error *err)
{
	struct ux_bytes bucket;
	UX_TRY(s3_place_parse(o->place, &bucket, &s3->prefix, err));
	const char *region = s3_region_of(o);
	if (!s3_region_is_valid(region))
		return ux_error_set(err, UX_EINVAL, "'%.80s' is not a region", region);
	s3->region = strdup(region);
	if (!s3->region)
		return ux_error_nomem(err);
	UX_TRY(s3_set_url(s3, o, bucket, err));
	if (asprintf(&s3->place, "s3://%.*s%s%s", (int)bucket.size, (const char *)bucket.data,
		     s3->prefix[0] != '\0' ? "/" : "", s3->prefix) < 0)
		s3->place = NULL;
	if (s3_is_set(o->cafile))
		s3->cafile = strdup(o->cafile);
	if (!s3->place || (s3_is_set(o->cafile) && !s3->cafile))
		return ux_error_nomem(err);
	s3->patience_ms = o->patience_ms > 0 ? o->patience_ms : PATIENCE_MS;
	return ux_s3_keys_load(s3_is_set(o->keys) ? o->keys : NULL, &s3->keys, err);
}

enum ux_code ux_s3_open(struct ux_s3 **ret, const struct ux_s3_options *options,
			struct ux_error *err)
{
	struct ux_s3 *s3 = calloc(1, sizeof(*s3));
	if (!s3)
		return ux_error_nomem(err);
	pthread_mutex_init(&s3->lock, NULL);
	enum ux_code code = s3_set_options(s3, options, err);
	if (code != UX_OK) {
		ux_s3_close(s3);
		return code;
	}
	*ret = s3;
	return UX_OK;
}

void ux_s3_close(struct ux_s3 *s3)
{
	if (!s3)
		return;
	for (size_t i = 0; i < s3->n_idle; i++)
		ux_http_client_destroy(s3->idle[i]);
	pthread_mutex_destroy(&s3->lock);
	ux_s3_keys_deinit(&s3->keys);
	free(s3->url);
	free(s3->host);
	free(s3->public_url);
	free(s3->public_host);
	free(s3->path);
	free(s3->prefix);
	free(s3->place);
	free(s3->region);
	free(s3->cafile);
	free(s3);
}

/* --- one attempt ------------------------------------------------------------------------------ */

static enum ux_code s3_take_client(struct ux_s3 *s3, struct ux_http_client **ret,
				   struct ux_error *err)
{
	struct ux_http_client *c = NULL;
	pthread_mutex_lock(&s3->lock);
	if (s3->n_idle > 0)
		c = s3->idle[--s3->n_idle];
	pthread_mutex_unlock(&s3->lock);
	if (!c) {
		const struct ux_http_client_options options = {
			.url = s3->url, .cafile = s3->cafile, .connect_ms = CONNECT_MS};
		UX_TRY(ux_http_client_create(&c, &options, err));
	}
	*ret = c;
	return UX_OK;
}

static void s3_give_client(struct ux_s3 *s3, struct ux_http_client *c)
{
	pthread_mutex_lock(&s3->lock);
	bool kept = s3->n_idle < IDLE_MAX;
	if (kept)
		s3->idle[s3->n_idle++] = c;
	pthread_mutex_unlock(&s3->lock);
	if (!kept)
		ux_http_client_destroy(c);
}

/* Writes the path of a key: "/bucket/prefix/key". NULL: the path of the bucket. */
static enum ux_code s3_write_path(const struct ux_s3 *s3, const char *key, struct ux_out *ret,
				  struct ux_error *err)
{
	ux_out_cstr(ret, s3->path);
	ux_out_u8(ret, '/');
	if (key && s3->prefix[0] != '\0') {
		ux_s3_encode(ret, ux_bytes_cstr(s3->prefix), true);
		ux_out_u8(ret, '/');
	}
	ux_s3_encode(ret, ux_bytes_cstr(key ? key : ""), true);
	ux_out_u8(ret, '\0');
	return ux_out_status(ret, err);
}

/* The headers of an attempt, including Authorization. */
struct s3_headers {
	const char *lines[UX_S3_HEADERS_MAX + 6];
	size_t n;
	char date[32 + UX_S3_DATE_SIZE];
	char payload[64 + UX_S3_HEX_SIZE];
	struct ux_out authorization; /* including its name */
	struct ux_out session;
};

static void s3_headers_deinit(struct s3_headers *h)
{
	ux_out_deinit(&h->authorization);
	ux_out_deinit(&h->session);
}

static void s3_headers_add(struct s3_headers *h, const char *const *lines)
{
	for (; lines && *lines; lines++) {
		assert(h->n < UX_S3_HEADERS_MAX);
		h->lines[h->n++] = *lines;
	}
}

static enum ux_code s3_headers_sign(const struct ux_s3 *s3, const struct ux_s3_request *r,
				    const char *path, struct s3_headers *h, struct ux_error *err)
{
	const char *query = r->query ? r->query : "";
	const struct ux_s3_signed what = {.method = ux_method_name(r->method),
					  .host = s3->host,
					  .path = path,
					  .query = query,
					  .payload = r->sha256,
					  .region = s3->region,
					  .time = ux_clock_wall(),
					  .headers = r->signed_headers};
	char date[UX_S3_DATE_SIZE];
	ux_s3_date(what.time, date);
	snprintf(h->date, sizeof(h->date), "x-amz-date: %s", date);
	snprintf(h->payload, sizeof(h->payload), "x-amz-content-sha256: %s", r->sha256);
	ux_out_cstr(&h->authorization, "Authorization: ");
	UX_TRY(ux_s3_sign(&what, &s3->keys, &h->authorization, err));
	ux_out_u8(&h->authorization, '\0');
	h->lines[h->n++] = h->date;
	h->lines[h->n++] = h->payload;
	if (s3->keys.session) {
		ux_out_fmt(&h->session, "x-amz-security-token: %s", s3->keys.session);
		ux_out_u8(&h->session, '\0');
		UX_TRY(ux_out_status(&h->session, err));
		h->lines[h->n++] = (const char *)h->session.data;
	}
	UX_TRY(ux_out_status(&h->authorization, err));
	h->lines[h->n++] = (const char *)h->authorization.data;
	return UX_OK;
}

/* Makes one attempt: any status is an answer. */
static enum ux_code s3_send(struct ux_s3 *s3, const struct ux_s3_request *r,
			    struct ux_http_answer *ret, struct ux_error *err)
{
	struct ux_http_client *c = NULL;
	ux_cleanup(s3_headers_deinit) struct s3_headers h = {0};
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	UX_TRY(s3_write_path(s3, r->key, &path, err));
	s3_headers_add(&h, r->headers);
	s3_headers_add(&h, r->signed_headers);
	/* Servers of S3 answer immediately; waiting for "100 Continue" costs a second with some. */
	h.lines[h.n++] = "Expect:";
	if (s3->keys.id)
		UX_TRY(s3_headers_sign(s3, r, (const char *)path.data, &h, err));
	if (r->query && r->query[0] != '\0') {
		path.size--;
		ux_out_fmt(&path, "?%s", r->query);
		ux_out_u8(&path, '\0');
		UX_TRY(ux_out_status(&path, err));
	}
	uint64_t size = ux_max(r->from_file ? r->size : r->body.size, r->expected);
	const struct ux_http_call call = {
		.method = r->method,
		.path = (const char *)path.data,
		.body = r->body,
		.from_file = r->from_file,
		.body_fd = r->fd,
		.body_off = r->off,
		.body_size = r->size,
		.headers = h.lines,
		.timeout_ms = s3->patience_ms + (int64_t)(size / SLOWEST_BYTES_S) * 1000,
		.silence_ms = ux_min((int64_t)s3->patience_ms, (int64_t)SILENCE_MS),
		.answer_max = r->sink ? SIZE_MAX : ANSWER_MAX,
		.sink = r->sink,
		.sink_ctx = r->sink_ctx,
		.begins = r->begins,
	};
	UX_TRY(s3_take_client(s3, &c, err));
	enum ux_code code = ux_http_client_call(c, &call, ret, err);
	s3_give_client(s3, c);
	return code;
}

/* --- all attempts ----------------------------------------------------------------------------- */

/*
 * Tests whether to try. Fails while the server is known to be unavailable, except for one caller
 * after each pause.
 */
static bool s3_may_try(struct ux_s3 *s3)
{
	int64_t until = atomic_load(&s3->away_until_ms), now = ux_clock_ms();
	return until == 0 || (now >= until && atomic_compare_exchange_strong(
						      &s3->away_until_ms, &until, now + PAUSE_MS));
}

static enum ux_s3_result s3_result_of(enum ux_code code, bool again)
{
	if (code == UX_OK)
		return UX_S3_OK;
	if (again)
		return UX_S3_FAILED;
	return code == UX_ENOTFOUND ? UX_S3_ABSENT : UX_S3_REFUSED;
}

enum ux_code ux_s3_call(struct ux_s3 *s3, const struct ux_s3_request *r, struct ux_http_answer *ret,
			struct ux_error *err)
{
	struct ux_retry retry = {.max = ATTEMPTS_MAX,
				 .deadline_ms = ux_clock_ms() + s3->patience_ms};
	if (!s3_may_try(s3))
		return ux_error_set(err, UX_EUNAVAILABLE, "%.100s is unreachable", s3->place);
	/* while the server is unavailable, a caller tries only once */
	if (atomic_load(&s3->away_until_ms) != 0)
		retry.max = 1;
	for (;;) {
		ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
		struct ux_error why = UX_ERROR_INIT;
		bool again = false;
		const int64_t began_ns = ux_clock_ns();
		if (r->prepare && r->prepare(r->sink_ctx)) {
			ux_retry_reset(&retry);
			retry.deadline_ms = ux_clock_ms() + s3->patience_ms;
		}
		enum ux_code code = s3_send(s3, r, &answer, &why);
		if (code == UX_OK) {
			code = ux_s3_judge(s3, r, &answer, &again, &why);
			if (!again)
				atomic_store(&s3->away_until_ms, INT64_C(0));
		} else {
			again = code == UX_EUNAVAILABLE;
		}
		ux_s3_count(&s3->counts, r, &answer, s3_result_of(code, again), began_ns);
		if (code == UX_OK) {
			*ret = answer;
			answer = (struct ux_http_answer){0};
			return UX_OK;
		}
		if (again && ux_retry_again(&retry, false, answer.retry_after_s))
			continue;
		if (again)
			atomic_store(&s3->away_until_ms, ux_clock_ms() + PAUSE_MS);
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
}

enum ux_code ux_s3_presigned(const struct ux_s3 *s3, const struct ux_s3_presign *what, char **ret,
			     struct ux_error *err)
{
	char length[48];
	const char *const headers[] = {length, NULL};
	ux_cleanup(ux_out_deinit) struct ux_out path = {0};
	ux_cleanup(ux_out_deinit) struct ux_out url = {0};
	if (!s3->keys.id)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "cannot sign a URL: no S3 access key is set");
	UX_TRY(s3_write_path(s3, what->key, &path, err));
	snprintf(length, sizeof(length), "content-length:%" PRIu64, what->length);
	const struct ux_s3_signed request = {.method = ux_method_name(what->method),
					     .host = s3->public_host,
					     .path = (const char *)path.data,
					     .query = "",
					     .payload = UX_S3_UNSIGNED,
					     .region = s3->region,
					     .time = ux_clock_wall(),
					     .headers = what->length > 0 ? headers : NULL};
	size_t n = 0;
	ux_out_fmt(&url, "%s%s?", s3->public_url, request.path);
	UX_TRY(ux_s3_presign(&request, &s3->keys, what->expires_s, &url, err));
	ux_out_u8(&url, '\0');
	UX_TRY(ux_out_status(&url, err));
	*ret = (char *)ux_out_steal(&url, &n);
	return UX_OK;
}

enum ux_code ux_s3_source(const struct ux_s3 *s3, const char *key, struct ux_out *ret,
			  struct ux_error *err)
{
	struct ux_bytes bucket = ux_bytes_cstr(s3->place + strlen("s3://"));
	bucket.size = strcspn(s3->place + strlen("s3://"), "/");
	ux_out_u8(ret, '/');
	ux_s3_encode(ret, bucket, true);
	ux_out_u8(ret, '/');
	ux_s3_encode(ret, ux_bytes_cstr(s3->prefix), true);
	ux_out_cstr(ret, s3->prefix[0] != '\0' ? "/" : "");
	ux_s3_encode(ret, ux_bytes_cstr(key), true);
	ux_out_u8(ret, '\0');
	return ux_out_status(ret, err);
}

const char *ux_s3_prefix(const struct ux_s3 *s3)
{
	return s3->prefix;
}
