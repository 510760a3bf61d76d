/* SPDX-License-Identifier: Apache-2.0 */
/* Asking over HTTP, or looking into a folder. */
#include "upstream_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes on their way. */
struct flow {
	const struct ux_upstream_ask *ask;
	bool begun;
	bool beaten; /* another upstream was first */
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
	};
	return ux_http_client_create(ret, &options, err);
}

static enum ux_code take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct flow *f = ctx;
	if (!f->begun) {
		f->begun = true;
		f->beaten = f->ask->first(f->ask->ctx);
	}
	if (f->beaten)
		return ux_error_set(err, UX_EUNAVAILABLE, "another one was first");
	return f->ask->sink(f->ask->ctx, bytes, err);
}

static void fail(struct ux_upstream_answer *ret, const struct ux_error *why)
{
	ret->outcome = UX_FETCH_FAILED;
	snprintf(ret->reason, sizeof(ret->reason), "%s", why->text);
}

/* What a status other than 200 means. */
static void judge(const struct ux_upstream *up, const struct ux_http_answer *answer,
		  struct ux_upstream_answer *ret)
{
	unsigned status = answer->status;
	ret->status = status;
	ret->retry_s = answer->retry_after_s;
	ret->reachable = status < 500 && status != 429;
	/* A bucket whose contents may not be listed says so of what is not in it. */
	bool absent =
		status == 404 || status == 410 || (status == 403 && up->kind == UX_UPSTREAM_BUCKET);
	ret->outcome = absent ? UX_FETCH_ABSENT : UX_FETCH_FAILED;
	ret->later = status == 503 && answer->retry_after_s > 0 && up->kind == UX_UPSTREAM_UNHEX;
	ret->reachable = ret->reachable || ret->later;
	if (absent)
		snprintf(ret->reason, sizeof(ret->reason), "it has none");
	else if (status == 401 || status == 403)
		snprintf(ret->reason, sizeof(ret->reason), "it wants a key that allows this");
	else
		snprintf(ret->reason, sizeof(ret->reason), "it answers with status %u", status);
}

static void ask_http(const struct ux_upstream_ask *ask, const char *path,
		     struct ux_upstream_answer *ret)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	/* Only who counts hops gets that line: to others it says that a proxy is in between. */
	bool counts = ask->up->kind == UX_UPSTREAM_DEBUGINFOD;
	const char *const headers[] = {ask->hops->via, counts ? ask->hops->forwarded : NULL, NULL};
	struct ux_error why = UX_ERROR_INIT;
	struct flow flow = {.ask = ask};
	const struct ux_http_call call = {
		.path = path,
		.headers = headers,
		.timeout_ms = ask->limits->most_ms,
		.silence_ms = ask->limits->silence_ms,
		.slow_bytes_s = UX_UPSTREAM_SLOW,
		.slow_s = UX_UPSTREAM_SLOW_S,
		.cancelled = ask->cancelled,
		.cancelled_ctx = ask->ctx,
		.answer_most = (size_t)ux_min(ask->limits->bytes, (uint64_t)SIZE_MAX),
		.redirects = UX_UPSTREAM_REDIRECTS,
		.sink = take,
		.sink_ctx = &flow,
	};
	enum ux_code code = ux_http_client_call(ask->client, &call, &answer, &why);
	ret->taken_back = flow.beaten || (code != UX_OK && ask->cancelled(ask->ctx));
	if (code != UX_OK) {
		fail(ret, &why);
		return;
	}
	judge(ask->up, &answer, ret);
	if (answer.status != 200)
		return;
	ret->outcome = flow.begun ? UX_FETCH_FOUND : UX_FETCH_FAILED;
	ret->reachable = flow.begun;
	snprintf(ret->reason, sizeof(ret->reason), "%s",
		 flow.begun ? "it has it" : "it answers with nothing");
}

static enum ux_code copy(const struct ux_upstream_ask *ask, int fd, struct ux_error *err)
{
	uint8_t buffer[64 << 10];
	struct flow flow = {.ask = ask};
	uint64_t size = 0;
	ssize_t n = 0;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR)) {
		size += (uint64_t)ux_max(n, (ssize_t)0);
		if (size > ask->limits->bytes)
			return ux_error_set(err, UX_ELIMIT, "the file is over %" PRIu64 " bytes",
					    ask->limits->bytes);
		if (n > 0)
			UX_TRY(take(&flow, ux_bytes(buffer, (size_t)n), err));
	}
	if (n < 0)
		return ux_error_os(err, errno, "the file cannot be read");
	return size > 0 ? UX_OK : ux_error_set(err, UX_ECORRUPT, "the file is empty");
}

static void ask_folder(const struct ux_upstream_ask *ask, const char *path,
		       struct ux_upstream_answer *ret)
{
	char full[PATH_MAX];
	struct stat st;
	struct ux_error why = UX_ERROR_INIT;
	ret->reachable = true;
	ret->outcome = UX_FETCH_ABSENT;
	snprintf(ret->reason, sizeof(ret->reason), "there is no such file");
	if (snprintf(full, sizeof(full), "%s%s", ask->up->url, path) >= PATH_MAX)
		return;
	int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	enum ux_code code = fd < 0 ? ux_error_os(&why, errno, "the file cannot be opened") : UX_OK;
	if (code == UX_OK && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
		code = ux_error_set(&why, UX_EINVAL, "it is no regular file");
	if (code == UX_OK)
		code = copy(ask, fd, &why);
	if (fd >= 0)
		close(fd);
	ret->outcome = UX_FETCH_FOUND;
	snprintf(ret->reason, sizeof(ret->reason), "it has it");
	if (code != UX_OK)
		fail(ret, &why);
	ret->taken_back = code == UX_EUNAVAILABLE;
}

/* Until one place has it, or one does not answer. */
void ux_upstream_ask(const struct ux_upstream_ask *ask, struct ux_upstream_answer *ret)
{
	*ret = (struct ux_upstream_answer){.outcome = UX_FETCH_ABSENT, .reachable = true};
	for (size_t i = 0; i < ask->places->n && ret->outcome == UX_FETCH_ABSENT; i++) {
		*ret = (struct ux_upstream_answer){.outcome = UX_FETCH_FAILED};
		if (ask->up->kind == UX_UPSTREAM_FOLDER)
			ask_folder(ask, ask->places->paths[i], ret);
		else
			ask_http(ask, ask->places->paths[i], ret);
	}
}
