/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches files of mirrors. */
#include "polite_client.h"

#include "clock.h"
#include "condition.h"
#include "mirrors.h"
#include "registry.h"
#include "repo_url.h"
#include "retry.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <pthread.h>
#include <strings.h>
#include <unistd.h>

enum {
	SILENCE_MS = 60000,
	CALL_MS = 6 * 3600 * 1000, /* ms: a large package over a slow line */
	WAIT_MAX_MS = 600 * 1000,
	REDIRECTS_MAX = 5,
	STATUS_OK = 200,
	HOST_MAX = 300, /* bytes of scheme, name and port */
};

/* A host, with its idle clients. */
struct host {
	char origin[HOST_MAX];
	struct ux_http_client *idle[UX_POLITE_PARALLEL_MAX];
	unsigned n_idle, n_used;
	int64_t next_ms; /* time at which the next request may begin */
	/* a registry of images: the image for which it gave a key, and the header with that key */
	char image[256];
	char *authorization;
};

struct ux_polite {
	struct ux_polite_options options;
	char *agent, *cacert, *proxy;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t freed; /* a connection was freed */
	struct host hosts[UX_POLITE_HOSTS_MAX];
	size_t n_hosts;
	struct ux_polite_counts counts;
};

static bool polite_copy(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

enum ux_code ux_polite_open(struct ux_polite **ret, const struct ux_polite_options *options,
			    struct ux_error *err)
{
	struct ux_polite *p = calloc(1, sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	const struct ux_polite_options *o = options;
	p->options = *o;
	p->options.parallel = ux_min(o->parallel ? o->parallel : UX_POLITE_PARALLEL,
				     (unsigned)UX_POLITE_PARALLEL_MAX);
	p->options.pause_ms = o->pause_ms ? o->pause_ms : UX_POLITE_PAUSE_MS;
	p->options.tries = o->tries ? o->tries : UX_POLITE_TRIES;
	p->options.wait_max_ms = o->wait_max_ms ? o->wait_max_ms : WAIT_MAX_MS;
	(void)pthread_mutex_init(&p->lock, NULL);
	ux_condition_init(&p->freed);
	int n = o->contact ? asprintf(&p->agent, "unhex-crawl/" UX_VERSION " (+%s)", o->contact)
			   : asprintf(&p->agent, "unhex-crawl/" UX_VERSION);
	if (n < 0)
		p->agent = NULL;
	bool copied = polite_copy(&p->cacert, o->cacert) && polite_copy(&p->proxy, o->proxy);
	if (!p->agent || !copied) {
		ux_polite_close(p);
		return ux_error_nomem(err);
	}
	*ret = p;
	return UX_OK;
}

static void polite_forget_key(struct host *h)
{
	if (h->authorization)
		explicit_bzero(h->authorization, strlen(h->authorization));
	free(h->authorization);
	h->authorization = NULL;
	h->image[0] = '\0';
}

void ux_polite_close(struct ux_polite *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_hosts; i++) {
		for (unsigned k = 0; k < p->hosts[i].n_idle; k++)
			ux_http_client_destroy(p->hosts[i].idle[k]);
		polite_forget_key(&p->hosts[i]);
	}
	(void)pthread_cond_destroy(&p->freed);
	(void)pthread_mutex_destroy(&p->lock);
	free(p->agent);
	free(p->cacert);
	free(p->proxy);
	free(p);
}

struct ux_polite_counts ux_polite_counts(struct ux_polite *p)
{
	(void)pthread_mutex_lock(&p->lock);
	struct ux_polite_counts counts = p->counts;
	(void)pthread_mutex_unlock(&p->lock);
	return counts;
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* Returns the length of the scheme, host and port of a URL. */
static size_t polite_origin_size(const char *url)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	return (size_t)(host - url) + strcspn(host, "/");
}

/* Finds or adds a host. The lock is held. NULL: too many hosts. */
static struct host *polite_host(struct ux_polite *p, const char *origin)
{
	for (size_t i = 0; i < p->n_hosts; i++)
		if (strcasecmp(p->hosts[i].origin, origin) == 0)
			return &p->hosts[i];
	if (p->n_hosts == UX_POLITE_HOSTS_MAX)
		return NULL;
	struct host *h = &p->hosts[p->n_hosts++];
	snprintf(h->origin, sizeof(h->origin), "%s", origin);
	return h;
}

static bool polite_is_cancelled(const struct ux_polite *p)
{
	return p->options.cancelled && p->options.cancelled(p->options.cancelled_ctx);
}

/* Sleeps in short pieces, so that it sees a cancellation. False: cancelled. */
static bool polite_sleep(const struct ux_polite *p, int64_t ms)
{
	const int64_t piece = 500;
	for (int64_t end = ux_clock_ms() + ms, left; (left = end - ux_clock_ms()) > 0;) {
		if (polite_is_cancelled(p))
			return false;
		left = ux_min(left, piece);
		struct timespec t = {left / 1000, left % 1000 * UX_CLOCK_NS_IN_MS};
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	}
	return !polite_is_cancelled(p);
}

static enum ux_code polite_cancelled(struct ux_error *err)
{
	return ux_error_set(err, UX_EUNAVAILABLE, "the crawl was stopped");
}

/* Takes a connection of the host, and reserves the time of its request: sets *ret_wait_ms. */
static enum ux_code polite_take(struct ux_polite *p, const char *origin, struct host **ret,
				struct ux_http_client **ret_http, int64_t *ret_wait_ms,
				struct ux_error *err)
{
	enum ux_code code = UX_OK;
	(void)pthread_mutex_lock(&p->lock);
	struct host *h = polite_host(p, origin);
	while (h && h->n_used >= p->options.parallel && !polite_is_cancelled(p)) {
		(void)ux_condition_wait(&p->freed, &p->lock, ux_clock_ms() + 1000);
	}
	if (!h)
		code = ux_error_set(err, UX_ELIMIT, "packages are on more than %u hosts",
				    (unsigned)UX_POLITE_HOSTS_MAX);
	else if (h->n_used >= p->options.parallel)
		code = polite_cancelled(err);
	if (code == UX_OK) {
		int64_t now = ux_clock_ms();
		*ret_http = h->n_idle > 0 ? h->idle[--h->n_idle] : NULL;
		*ret_wait_ms = ux_max(h->next_ms - now, INT64_C(0));
		h->next_ms = ux_max(h->next_ms, now) + p->options.pause_ms;
		h->n_used++;
		*ret = h;
	}
	(void)pthread_mutex_unlock(&p->lock);
	return code;
}

static void polite_give_back(struct ux_polite *p, struct host *h, struct ux_http_client *http)
{
	(void)pthread_mutex_lock(&p->lock);
	h->n_used--;
	if (http)
		h->idle[h->n_idle++] = http;
	(void)pthread_cond_broadcast(&p->freed);
	(void)pthread_mutex_unlock(&p->lock);
}

static enum ux_code polite_connect(const struct ux_polite *p, const char *origin,
				   struct ux_http_client **ret, struct ux_error *err)
{
	const struct ux_http_client_options options = {
		.url = origin,
		.agent = p->agent,
		.cafile = p->cacert,
		.proxy = p->proxy,
		.receive_rate = p->options.bytes_s,
		.reach = ux_mirrors_reach(p->options.mirrors, origin, p->proxy != NULL),
		.private_advice = "--from allows it",
	};
	return ux_http_client_create(ret, &options, err);
}

/* --- requests --------------------------------------------------------------------------------- */

struct polite_transfer {
	const struct ux_polite_request *request;
	const char *url;      /* the request's, or the target of a redirect */
	uint64_t bytes;       /* bytes of the file that the caller already has */
	uint64_t received;    /* bytes received in this attempt */
	bool begun;           /* the caller has the beginning of the file */
	char if_range[160];   /* validator that proves that the file is still the same; "": none */
	char *authorization;  /* header of a registry; NULL: none */
	char challenge[1024]; /* for status 401: the registry's challenge; "": none */
	char redirect[UX_HTTP_LOCATION_MAX]; /* where the answer leads; "": nowhere */
	char hop[UX_HTTP_LOCATION_MAX];      /* the text of url, if a redirect led there */
};

/* Begins the file, perhaps again. */
static enum ux_code polite_begin(struct polite_transfer *t, const struct ux_http_answer *answer,
				 struct ux_error *err)
{
	const char *strong = !answer                               ? ""
			     : answer->etag[0] == '"'              ? answer->etag
			     : strncmp(answer->etag, "W/", 2) == 0 ? ""
								   : answer->modified;
	snprintf(t->if_range, sizeof(t->if_range), "%s", strong);
	t->bytes = 0;
	t->begun = true;
	return t->request->begin ? t->request->begin(t->request->ctx, err) : UX_OK;
}

/*
 * Begins a body: the whole file, or the rest of one that broke off. If the server sends another
 * part than was requested, resuming is not possible.
 */
static enum ux_code polite_on_begins(void *ctx, const struct ux_http_answer *answer,
				     struct ux_error *err)
{
	struct polite_transfer *t = ctx;
	if (answer->status == STATUS_OK)
		return polite_begin(t, answer, err);
	if (t->begun && answer->part_off == t->bytes)
		return UX_OK;
	t->begun = false;
	return ux_error_set(err, UX_EUNAVAILABLE, "server sent the wrong range of %.80s",
			    t->request->url);
}

static enum ux_code polite_on_bytes(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct polite_transfer *t = ctx;
	if (bytes.size > t->request->max - t->bytes)
		return ux_error_set(err, UX_ELIMIT, "%.80s exceeds %" PRIu64 " bytes",
				    t->request->url, t->request->max);
	t->bytes += bytes.size;
	t->received += bytes.size;
	return t->request->sink(t->request->ctx, bytes, err);
}

static enum ux_code polite_status(const char *url, unsigned status, struct ux_error *err)
{
	enum ux_code code = status == 404 || status == 410                    ? UX_ENOTFOUND
			    : status == 401 || status == 403                  ? UX_EDENIED
			    : status == 408 || status == 429 || status >= 500 ? UX_EUNAVAILABLE
									      : UX_EUNSUPPORTED;
	return ux_error_set(err, code, "HTTP status %u for %.110s", status, url);
}

/* The headers of a request. */
struct polite_headers {
	char range[48], match[176], since[96];
	const char *lines[4]; /* ended by NULL */
	bool conditional, resumes;
};

/* Writes the headers that request the rest of a file that broke off, or the whole file if it has
 * changed. */
static void polite_write_headers(const struct polite_transfer *t, struct polite_headers *h)
{
	const struct ux_validators *known = t->request->known;
	size_t n = 0;
	*h = (struct polite_headers){.resumes = t->begun && t->bytes > 0 && t->if_range[0] != '\0'};
	if (h->resumes) {
		snprintf(h->range, sizeof(h->range), "Range: bytes=%" PRIu64 "-", t->bytes);
		snprintf(h->match, sizeof(h->match), "If-Range: %s", t->if_range);
		h->lines[n++] = h->range;
		h->lines[n++] = h->match;
	} else if (known && known->etag[0] != '\0') {
		snprintf(h->match, sizeof(h->match), "If-None-Match: %s", known->etag);
		h->lines[n++] = h->match;
	}
	if (!h->resumes && known && known->modified[0] != '\0') {
		snprintf(h->since, sizeof(h->since), "If-Modified-Since: %s", known->modified);
		h->lines[n++] = h->since;
	}
	h->conditional = n > 0 && !h->resumes;
	if (t->authorization)
		h->lines[n] = t->authorization;
}

static enum ux_code polite_answered(struct polite_transfer *t, const struct polite_headers *h,
				    const struct ux_http_answer *answer,
				    struct ux_polite_answer *ret, struct ux_error *err)
{
	const struct ux_polite_request *r = t->request;
	bool unchanged = answer->status == 304 && h->conditional;
	if (answer->status == 416 && h->resumes) { /* it has become shorter */
		t->begun = false;
		return ux_error_set(err, UX_EUNAVAILABLE, "%.80s changed during the transfer",
				    r->url);
	}
	snprintf(t->redirect, sizeof(t->redirect), "%s", unchanged ? "" : answer->location);
	if (t->redirect[0] != '\0')
		return UX_OK;
	if (answer->status != STATUS_OK && !unchanged && !(answer->status == 206 && h->resumes))
		return polite_status(r->url, answer->status, err);
	if (answer->status == STATUS_OK && t->received == 0) /* an empty file */
		UX_TRY(polite_begin(t, answer, err));
	*ret = (struct ux_polite_answer){.unchanged = unchanged, .bytes = unchanged ? 0 : t->bytes};
	memcpy(ret->validators.etag, answer->etag, sizeof(ret->validators.etag));
	memcpy(ret->validators.modified, answer->modified, sizeof(ret->validators.modified));
	if (unchanged)
		ret->validators = *r->known;
	return UX_OK;
}

static enum ux_code polite_try(const struct ux_polite *p, struct ux_http_client *http,
			       struct polite_transfer *t, struct ux_polite_answer *ret,
			       unsigned *ret_retry_after_s, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	struct polite_headers headers;
	polite_write_headers(t, &headers);
	const struct ux_http_call call = {
		.path = t->url + polite_origin_size(t->url),
		.headers = headers.lines,
		.timeout_ms = CALL_MS,
		.silence_ms = SILENCE_MS,
		.cancelled = p->options.cancelled,
		.cancelled_ctx = p->options.cancelled_ctx,
		.answer_max = (size_t)ux_min(t->request->max, (uint64_t)SIZE_MAX - 1) + 1,
		.redirects =
			p->options.mirrors ? 0 : REDIRECTS_MAX, /* polite_follow() checks each */
		.sink = polite_on_bytes,
		.sink_ctx = t,
		.begins = polite_on_begins,
	};
	t->received = 0;
	t->redirect[0] = '\0';
	UX_TRY(ux_http_client_call(http, &call, &answer, err));
	*ret_retry_after_s = answer.retry_after_s;
	snprintf(t->challenge, sizeof(t->challenge), "%s",
		 answer.status == 401 ? answer.authenticate : "");
	return polite_answered(t, &headers, &answer, ret, err);
}

/* --- registries of images: public ones too give out a key first ------------------------------- */

/* Copies the key that the registry gave for the image of the URL, if there is one. */
static void polite_use_key(struct ux_polite *p, const struct host *h, struct polite_transfer *t)
{
	struct ux_image_reference image;
	if (!ux_registry_is_blob_url(t->url, &image))
		return;
	(void)pthread_mutex_lock(&p->lock);
	if (h->authorization && strcmp(h->image, image.name) == 0)
		t->authorization = strdup(h->authorization);
	(void)pthread_mutex_unlock(&p->lock);
}

/* Gets the key that was demanded. False: none was demanded, or it cannot be had. */
static bool polite_get_key(struct ux_polite *p, struct host *h, struct polite_transfer *t)
{
	struct ux_image_reference image;
	struct ux_registry *registry = NULL;
	const char *line = NULL;
	char *copy = NULL;
	if (t->challenge[0] == '\0' || !ux_registry_is_blob_url(t->url, &image) ||
	    ux_registry_open(&registry, &image, p->cacert, p->proxy, p->options.tries,
			     ux_clock_ms() + p->options.wait_max_ms, NULL) != UX_OK)
		return false;
	if (ux_registry_authorize(registry, t->challenge, &line, NULL) == UX_OK)
		copy = strdup(line);
	ux_registry_close(registry);
	if (!copy)
		return false;
	free(t->authorization);
	t->authorization = strdup(copy);
	(void)pthread_mutex_lock(&p->lock);
	polite_forget_key(h);
	h->authorization = copy;
	snprintf(h->image, sizeof(h->image), "%s", image.name);
	(void)pthread_mutex_unlock(&p->lock);
	return t->authorization != NULL;
}

/* Counts an attempt. */
static void polite_count(struct ux_polite *p, const struct polite_transfer *t, bool again,
			 bool unchanged)
{
	(void)pthread_mutex_lock(&p->lock);
	p->counts.requests++;
	p->counts.retries += again;
	p->counts.unchanged += unchanged;
	p->counts.bytes += t->received;
	(void)pthread_mutex_unlock(&p->lock);
}

static void polite_drop_key(struct polite_transfer *t)
{
	if (t->authorization)
		explicit_bzero(t->authorization, strlen(t->authorization));
	free(t->authorization);
	t->authorization = NULL;
}

static enum ux_code polite_one(struct ux_polite *p, const char *origin, struct polite_transfer *t,
			       struct ux_polite_answer *ret, unsigned *ret_retry_after_s,
			       struct ux_error *err)
{
	struct host *h = NULL;
	struct ux_http_client *http = NULL;
	int64_t wait_ms = 0;
	UX_TRY(polite_take(p, origin, &h, &http, &wait_ms, err));
	enum ux_code code = polite_sleep(p, wait_ms) ? UX_OK : polite_cancelled(err);
	if (code == UX_OK && !http)
		code = polite_connect(p, origin, &http, err);
	if (code == UX_OK) {
		struct ux_error why = UX_ERROR_INIT;
		polite_use_key(p, h, t);
		code = polite_try(p, http, t, ret, ret_retry_after_s, &why);
		if (code == UX_EDENIED && polite_get_key(p, h, t))
			code = polite_try(p, http, t, ret, ret_retry_after_s, err);
		else if (code != UX_OK && err)
			*err = why;
		polite_drop_key(t);
	}
	polite_give_back(p, h, http);
	return code;
}

/* --- files of servers ------------------------------------------------------------------------- */

enum ux_code ux_polite_check(const struct ux_polite *p, const char *url, struct ux_error *err)
{
	return ux_mirrors_check(p->options.mirrors, url, err);
}

/* Makes one attempt at a file. With mirrors, it follows redirects, and each has to lead below one.
 */
static enum ux_code polite_follow(struct ux_polite *p, struct polite_transfer *t,
				  struct ux_polite_answer *ret, unsigned *ret_retry_after_s,
				  struct ux_error *err)
{
	char origin[HOST_MAX];
	t->url = t->request->url;
	for (unsigned hops = 0; hops <= REDIRECTS_MAX; hops++) {
		size_t n = polite_origin_size(t->url);
		ret->outside = ux_polite_check(p, t->url, err) != UX_OK;
		if (ret->outside)
			return UX_EDENIED;
		if (n >= sizeof(origin))
			return ux_error_set(err, UX_EINVAL, "host name is too long");
		memcpy(origin, t->url, n);
		origin[n] = '\0';
		UX_TRY(polite_one(p, origin, t, ret, ret_retry_after_s, err));
		if (t->redirect[0] == '\0')
			return UX_OK;
		memcpy(t->hop, t->redirect, sizeof(t->hop));
		t->url = t->hop;
	}
	return ux_error_set(err, UX_EUNSUPPORTED, "more than %d redirects from %.80s",
			    REDIRECTS_MAX, t->request->url);
}

static enum ux_code polite_get_remote(struct ux_polite *p, const struct ux_polite_request *request,
				      struct ux_polite_answer *ret, struct ux_error *err)
{
	struct polite_transfer t = {.request = request};
	struct ux_retry retry = {.max = p->options.tries,
				 .deadline_ms = ux_clock_ms() + p->options.wait_max_ms};
	for (bool again = false;; again = true) {
		struct ux_error why = UX_ERROR_INIT;
		unsigned retry_after_s = 0;
		enum ux_code code = polite_follow(p, &t, ret, &retry_after_s, &why);
		polite_count(p, &t, again, code == UX_OK && ret->unchanged);
		if (code == UX_OK)
			return UX_OK;
		if (code != UX_EUNAVAILABLE || polite_is_cancelled(p) ||
		    !ux_retry_again(&retry, /* busy= */ false, retry_after_s)) {
			if (err && err->code == UX_OK)
				*err = why;
			return code;
		}
	}
}

/* Maps a file, or the file that the address is a part of. */
static enum ux_code polite_map_local(const char *path, struct ux_mapping *ret,
				     struct ux_bytes *ret_bytes, struct ux_error *err)
{
	char whole[UX_REPO_URL_MAX + 1];
	size_t n = 0;
	uint64_t off = 0, size = 0;
	if (!ux_repo_url_part(path, &n, &off, &size) || n >= sizeof(whole)) {
		UX_TRY(ux_file_map(path, ret, err));
		*ret_bytes = ret->bytes;
		return UX_OK;
	}
	memcpy(whole, path, n);
	whole[n] = '\0';
	UX_TRY(ux_file_map(whole, ret, err));
	return ux_bytes_sub(ret->bytes, off, size, ret_bytes)
		       ? UX_OK
		       : ux_error_set(err, UX_ECORRUPT, "%.100s became shorter during the transfer",
				      whole);
}

/* The validator of a local file is its size and time. */
static enum ux_code polite_get_local(struct ux_polite *p, const struct ux_polite_request *request,
				     const char *path, struct ux_polite_answer *ret,
				     struct ux_error *err)
{
	enum {
		PIECE = 1 << 20
	};
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct polite_transfer t = {.request = request};
	struct ux_bytes bytes;
	ret->outside = ux_polite_check(p, request->url, err) != UX_OK;
	if (ret->outside)
		return UX_EDENIED;
	UX_TRY(polite_map_local(path, &file, &bytes, err));
	snprintf(ret->validators.etag, sizeof(ret->validators.etag), "\"%zx-%" PRIx64 "\"",
		 file.bytes.size, (uint64_t)file.mtime_ns);
	if (request->known && strcmp(request->known->etag, ret->validators.etag) == 0) {
		ret->unchanged = true;
		polite_count(p, &t, false, true);
		return UX_OK;
	}
	UX_TRY(polite_begin(&t, NULL, err));
	for (size_t at = 0; at < bytes.size; at += PIECE)
		UX_TRY(polite_on_bytes(
			&t, ux_bytes(bytes.data + at, ux_min(bytes.size - at, (size_t)PIECE)),
			err));
	ret->bytes = t.bytes;
	polite_count(p, &t, false, false);
	return UX_OK;
}

enum ux_code ux_polite_get(struct ux_polite *p, const struct ux_polite_request *request,
			   struct ux_polite_answer *ret, struct ux_error *err)
{
	const char *path = NULL;
	*ret = (struct ux_polite_answer){0};
	return ux_repo_url_is_file(request->url, &path)
		       ? polite_get_local(p, request, path, ret, err)
		       : polite_get_remote(p, request, ret, err);
}

/* --- whole files ------------------------------------------------------------------------------ */

struct polite_file {
	int fd;
	struct sha256_ctx sha;
};

static void polite_file_deinit(struct polite_file *f)
{
	if (f->fd >= 0)
		(void)close(f->fd);
}

static enum ux_code polite_file_begin(void *ctx, struct ux_error *err)
{
	struct polite_file *f = ctx;
	sha256_init(&f->sha);
	if (ftruncate(f->fd, 0) != 0 || lseek(f->fd, 0, SEEK_SET) != 0)
		return ux_error_os(err, errno, "cannot use a temporary file");
	return UX_OK;
}

static enum ux_code polite_file_put(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct polite_file *f = ctx;
	sha256_update(&f->sha, bytes.size, bytes.data);
	return ux_file_write(f->fd, bytes, err);
}

static enum ux_code polite_check(const char *url, const struct ux_expected *what,
				 const struct ux_fetched *f, struct ux_error *err)
{
	uint64_t n = f->answer.bytes;
	if (what->size != UINT64_MAX && n < what->size)
		return ux_error_set(err, UX_ECORRUPT,
				    "truncated: %" PRIu64 " bytes, expected %" PRIu64 ": %.80s", n,
				    what->size, url);
	if (what->size != UINT64_MAX && n > what->size)
		return ux_error_set(err, UX_ECORRUPT,
				    "too long: %" PRIu64 " bytes, expected %" PRIu64 ": %.80s", n,
				    what->size, url);
	if (what->sha256 && memcmp(f->sha256, what->sha256, sizeof(f->sha256)) != 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "wrong hash: SHA-256 %02x%02x%02x%02x..., expected "
				    "%02x%02x%02x%02x...: %.80s",
				    f->sha256[0], f->sha256[1], f->sha256[2], f->sha256[3],
				    what->sha256[0], what->sha256[1], what->sha256[2],
				    what->sha256[3], url);
	return UX_OK;
}

enum ux_code ux_polite_fetch(struct ux_polite *p, const char *url, const struct ux_expected *what,
			     const struct ux_validators *known, struct ux_fetched *ret,
			     struct ux_error *err)
{
	ux_cleanup(polite_file_deinit) struct polite_file file = {.fd = -1};
	struct ux_fetched f = {0};
	uint64_t max = what->max;
	const struct ux_polite_request request = {
		.url = url,
		.known = known,
		/* one byte more, so that a file that is too long is noticed */
		.max = what->size < max ? what->size + 1 : max,
		.begin = polite_file_begin,
		.sink = polite_file_put,
		.ctx = &file,
	};
	UX_TRY(ux_file_temporary(&file.fd, err));
	UX_TRY(ux_polite_get(p, &request, &f.answer, err));
	if (!f.answer.unchanged) {
		sha256_digest(&file.sha, sizeof(f.sha256), f.sha256);
		UX_TRY(polite_check(url, what, &f, err));
		UX_TRY(ux_file_map_fd(file.fd, &f.file, err));
	}
	*ret = f;
	return UX_OK;
}
