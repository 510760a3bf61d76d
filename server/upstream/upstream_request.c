/* SPDX-License-Identifier: Apache-2.0 */
/* One request to one upstream, over HTTP or in a folder. */
#include "fetcher.h"

#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CIRCLE_S = 60,  /* seconds for which servers that wait for each other ask no more */
	LATER_MAX_S = 5 /* longest Retry-After in s of another unhex server that is waited for */
};

/* State of one transfer. */
struct flow {
	const struct ux_upstream_request *request;
	bool begun;
	bool is_late; /* another upstream sent its first byte earlier */
};

enum ux_code ux_upstream_client(const struct ux_upstream *up, const char *agent,
				struct ux_http_client **ret, struct ux_error *err)
{
	const struct ux_http_client_options options = {
		.url = up->url,
		.token = up->token,
		.agent = agent,
		.connect_ms = UX_UPSTREAM_CONNECT_MS,
		.reach = up->own_network ? UX_HTTP_OWN : UX_HTTP_PUBLIC,
		.private_advice = UX_UPSTREAM_PRIVATE_ADVICE,
	};
	return ux_http_client_create(ret, &options, err);
}

static enum ux_code request_on_bytes(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct flow *f = ctx;
	if (!f->begun) {
		f->begun = true;
		f->is_late = f->request->first(f->request->ctx);
	}
	if (f->is_late)
		return ux_error_set(err, UX_EUNAVAILABLE, "another upstream answered first");
	return f->request->sink(f->request->ctx, bytes, err);
}

/*
 * Tests whether the next request would fail in the same way: the file is too large or no such file,
 * or its address is not allowed. Any other failure says nothing about the file.
 */
static bool request_is_unusable(enum ux_code code, const struct ux_error *why)
{
	if (why->os_errno != 0)
		return false;
	return code == UX_ELIMIT || code == UX_ECORRUPT || code == UX_EUNSUPPORTED ||
	       code == UX_EDENIED || code == UX_EINVAL;
}

static void request_fail(struct ux_upstream_answer *ret, enum ux_code code,
			 const struct ux_error *why)
{
	ret->outcome = request_is_unusable(code, why) ? UX_FETCH_FAILED : UX_FETCH_AWAY;
	snprintf(ret->reason, sizeof(ret->reason), "%s", why->text);
}

/* Sets the outcome for a status other than 200. */
static void request_judge_status(const struct ux_upstream *up, const struct ux_http_answer *answer,
				 struct ux_upstream_answer *ret)
{
	unsigned status = answer->status;
	ret->status = status;
	ret->retry_s = answer->retry_after_s;
	ret->reachable = status < 500 && status != 429 && status != 408;
	/* A bucket that does not allow listing answers 403 for files that it does not have. */
	bool absent =
		status == 404 || status == 410 || (status == 403 && up->kind == UX_UPSTREAM_BUCKET);
	ret->outcome = absent ? UX_FETCH_ABSENT : ret->reachable ? UX_FETCH_FAILED : UX_FETCH_AWAY;
	/* an unhex server says this about one module, and may still send others */
	bool ours = status == 503 && answer->retry_after_s > 0 && up->kind == UX_UPSTREAM_UNHEX;
	ret->later = ours && answer->retry_after_s <= LATER_MAX_S;
	ret->reachable = ret->reachable || ours;
	if (absent)
		snprintf(ret->reason, sizeof(ret->reason), "it has none");
	else if (status == 401 || status == 403)
		snprintf(ret->reason, sizeof(ret->reason),
			 "it requires a key with this permission");
	else
		snprintf(ret->reason, sizeof(ret->reason), "it answered HTTP %u", status);
}

/*
 * Reads for which servers the upstream waits. If this is one of them, both wait for each other, and
 * neither has the file.
 */
static void request_read_waits(const struct ux_upstream_request *request, struct ux_bytes body,
			       struct ux_upstream_answer *ret)
{
	static const char before[] = UX_WAITS_FOR;
	const char *via = request->hops->via;
	const size_t n = strlen(via), id = UX_SERVER_ID - 1;
	const uint8_t *at = body.size ? memmem(body.data, body.size, before, strlen(before)) : NULL;
	if (!at || n < id)
		return;
	at += strlen(before);
	size_t max = (size_t)(body.data + body.size - at), size = 0;
	max = ux_min(max, sizeof(ret->waits_for) - 1);
	while (size < max && at[size] != 0 && strchr("0123456789abcdef, ", at[size]))
		size++;
	memcpy(ret->waits_for, at, size);
	ret->waits_for[size] = '\0';
	if (!strstr(ret->waits_for, via + n - id))
		return;
	ret->later = false;
	ret->outcome = UX_FETCH_ABSENT;
	ret->retry_s = CIRCLE_S;
	snprintf(ret->reason, sizeof(ret->reason), "it waits for this server");
}

static void request_http(const struct ux_upstream_request *request, const char *path,
			 struct ux_upstream_answer *ret)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	/*
	 * Only debuginfod servers count hops by X-Forwarded-For. To other servers it would mean a
	 * proxy.
	 */
	bool counts = request->up->kind == UX_UPSTREAM_DEBUGINFOD;
	const char *const headers[] = {request->hops->via, counts ? request->hops->forwarded : NULL,
				       NULL};
	struct ux_error why = UX_ERROR_INIT;
	struct flow flow = {.request = request};
	const struct ux_http_call call = {
		.path = path,
		.headers = headers,
		.timeout_ms = request->limits->max_ms,
		.silence_ms = request->limits->silence_ms,
		.slow_bytes_s = UX_UPSTREAM_SLOW,
		.slow_s = UX_UPSTREAM_SLOW_S,
		.cancelled = request->cancelled,
		.cancelled_ctx = request->ctx,
		.answer_max = (size_t)ux_min(request->limits->bytes, (uint64_t)SIZE_MAX),
		.redirects = UX_UPSTREAM_REDIRECTS,
		.sink = request_on_bytes,
		.sink_ctx = &flow,
	};
	enum ux_code code = ux_http_client_call(request->client, &call, &answer, &why);
	ret->cancelled = flow.is_late || (code != UX_OK && request->cancelled(request->ctx));
	if (code != UX_OK) {
		request_fail(ret, code, &why);
		return;
	}
	request_judge_status(request->up, &answer, ret);
	if (ret->later)
		request_read_waits(request, ux_out_bytes(&answer.body), ret);
	if (answer.status != 200)
		return;
	ret->outcome = flow.begun ? UX_FETCH_FOUND : UX_FETCH_AWAY;
	ret->reachable = flow.begun;
	snprintf(ret->reason, sizeof(ret->reason), "%s",
		 flow.begun ? "it has it" : "it sent an empty answer");
}

static enum ux_code request_copy_file(const struct ux_upstream_request *request, int fd,
				      struct ux_error *err)
{
	uint8_t buffer[64 << 10];
	struct flow flow = {.request = request};
	uint64_t size = 0;
	ssize_t n = 0;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR)) {
		size += (uint64_t)ux_max(n, (ssize_t)0);
		if (size > request->limits->bytes)
			return ux_error_set(err, UX_ELIMIT, "the file exceeds %" PRIu64 " bytes",
					    request->limits->bytes);
		if (n > 0)
			UX_TRY(request_on_bytes(&flow, ux_bytes(buffer, (size_t)n), err));
	}
	if (n < 0)
		return ux_error_os(err, errno, "the file cannot be read");
	return size > 0 ? UX_OK : ux_error_set(err, UX_ECORRUPT, "the file is empty");
}

static void request_folder(const struct ux_upstream_request *request, const char *path,
			   struct ux_upstream_answer *ret)
{
	char full[PATH_MAX];
	struct stat st;
	struct ux_error why = UX_ERROR_INIT;
	ret->reachable = true;
	ret->outcome = UX_FETCH_ABSENT;
	snprintf(ret->reason, sizeof(ret->reason), "no such file");
	if (snprintf(full, sizeof(full), "%s%s", request->up->url, path) >= PATH_MAX)
		return;
	int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), number = errno;
	bool absent = fd < 0 && (number == ENOENT || number == ENOTDIR);
	/* a folder that is not there is not mounted, and may have it */
	if (absent && access(request->up->url, X_OK) == 0)
		return;
	enum ux_code code = absent   ? ux_error_set(&why, UX_EIO, "the folder cannot be read")
			    : fd < 0 ? ux_error_os(&why, number, "the file cannot be opened")
				     : UX_OK;
	if (code == UX_OK && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
		code = ux_error_set(&why, UX_EINVAL, "not a regular file");
	if (code == UX_OK)
		code = request_copy_file(request, fd, &why);
	if (fd >= 0)
		close(fd);
	ret->outcome = UX_FETCH_FOUND;
	snprintf(ret->reason, sizeof(ret->reason), "it has it");
	if (code != UX_OK)
		request_fail(ret, code, &why);
	ret->cancelled = code == UX_EUNAVAILABLE;
}

/* Tries the paths in order until one is found or the upstream does not answer. */
void ux_upstream_request(const struct ux_upstream_request *request, struct ux_upstream_answer *ret)
{
	*ret = (struct ux_upstream_answer){.outcome = UX_FETCH_ABSENT, .reachable = true};
	for (size_t i = 0; i < request->paths->n && ret->outcome == UX_FETCH_ABSENT; i++) {
		*ret = (struct ux_upstream_answer){.outcome = UX_FETCH_AWAY};
		if (ux_upstream_is_local(request->up))
			request_folder(request, request->paths->paths[i], ret);
		else
			request_http(request, request->paths->paths[i], ret);
		ret->path = i;
	}
}

/* --- hops ------------------------------------------------------------------------------------- */

/* Returns the next element of a comma-separated list; false at its end. */
static bool hops_next(struct ux_bytes *list, struct ux_bytes *ret)
{
	if (list->size == 0)
		return false;
	const uint8_t *comma = memchr(list->data, ',', list->size);
	size_t n = comma ? (size_t)(comma - list->data) : list->size;
	*ret = ux_trim(ux_bytes(list->data, n));
	*list = comma ? ux_bytes(comma + 1, list->size - n - 1) : UX_BYTES_NONE;
	return true;
}

static bool hops_is_server_id(struct ux_bytes s)
{
	for (size_t i = 0; i < s.size; i++)
		if (ux_hex_digit((char)s.data[i]) < 0)
			return false;
	return s.size == UX_SERVER_ID - 1;
}

static bool hops_read_via(struct ux_bytes list, const char *own, struct ux_hops *ret)
{
	struct ux_bytes one;
	while (hops_next(&list, &one)) {
		if (!hops_is_server_id(one) || ret->n == UX_HOPS_MAX - 1 ||
		    ux_bytes_eq(one, ux_bytes_cstr(own)))
			return false;
		memcpy(ret->via[ret->n++], one.data, one.size);
	}
	return true;
}

static bool hops_contain(struct ux_bytes s, const char *word)
{
	return s.size > 0 && memmem(s.data, s.size, word, strlen(word)) != NULL;
}

bool ux_hops_read(const struct ux_hops_lines *lines, const char *own, struct ux_hops *ret)
{
	struct ux_bytes list = lines->forwarded, one;
	*ret = (struct ux_hops){0};
	while (ret->forwarded < UX_HOPS_MAX && hops_next(&list, &one))
		ret->forwarded++;
	return ret->forwarded < UX_HOPS_MAX && hops_read_via(lines->via, own, ret) &&
	       !hops_contain(lines->agent, own);
}

static void hops_append(char *text, const char *word)
{
	size_t n = strlen(text);
	snprintf(text + n, UX_HOPS_TEXT - n, "%s", word);
}

void ux_hops_write(const struct ux_hops *hops, const char *own, struct ux_hops_sent *ret)
{
	*ret = (struct ux_hops_sent){.via = UX_HOPS_HEADER ": ", .forwarded = "X-Forwarded-For: "};
	for (unsigned i = 0; i < hops->n; i++) {
		hops_append(ret->via, hops->via[i]);
		hops_append(ret->via, ", ");
	}
	hops_append(ret->via, own);
	for (unsigned i = 0; i < hops->forwarded; i++)
		hops_append(ret->forwarded, "unknown, ");
	hops_append(ret->forwarded, "unknown");
	snprintf(ret->agent, sizeof(ret->agent), "unhex/" UX_VERSION " (via %s)", own);
}
