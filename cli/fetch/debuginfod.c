/* SPDX-License-Identifier: Apache-2.0 */
/* The client of debuginfod's web API (debuginfod(8), "WEBAPI"). */
#include "symbol_files.h"

#include "clock.h"
#include "debug_file.h"
#include "debuginfod_words.h"
#include "file.h"
#include "http_client.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SERVERS_MAX = 16,
	HEADERS_MAX = 16, /* lines of headers */
	HEADERS_BYTES = 16 << 10,
	SILENCE_MS = 4000, /* ms; together with the time in which curl notices it, less than 5 s */
	MAX_MS = 600000,
	AVOID_MS = 60000, /* ms for which a server that did not answer is not queried */
	MISS_S = 600,
	REDIRECTS_MAX = 5,
};

#define SIZE_BYTES_MAX (UINT64_C(4) << 30)

struct server {
	struct ux_http_client *client;
	int64_t avoid_until; /* milliseconds of the monotonic clock */
};

struct ux_debuginfod {
	char *cache;
	bool in_tmp; /* the cache is in /tmp, where another user may have created it */
	uint64_t size_max;
	int64_t silence_ms, max_ms;
	char *lines; /* the text of the header file, with NULs instead of newlines */
	const char *headers[HEADERS_MAX + 1];
	struct server servers[SERVERS_MAX];
	size_t n_servers;
};

/* --- options ---------------------------------------------------------------------------------- */

static const char *debuginfod_variable(const char *name)
{
	const char *v = getenv(name);
	return v && *v ? v : NULL;
}

/*
 * Returns the number in an environment variable times `unit`, at most `max`; 0 if the variable is
 * not set or not a number.
 */
static uint64_t debuginfod_variable_number(const char *name, uint64_t unit, uint64_t max)
{
	const char *text = debuginfod_variable(name);
	uint64_t v = 0;
	if (!text || !ux_decimal_parse(ux_bytes_cstr(text), &v))
		return 0;
	return v > max / unit ? max : v * unit;
}

struct ux_debuginfod_options ux_debuginfod_environment(void)
{
	return (struct ux_debuginfod_options){
		.urls = debuginfod_variable("DEBUGINFOD_URLS"),
		.cache = debuginfod_variable("DEBUGINFOD_CACHE_PATH"),
		.headers = debuginfod_variable("DEBUGINFOD_HEADERS_FILE"),
		.size_max = debuginfod_variable_number("DEBUGINFOD_MAXSIZE", 1, SIZE_BYTES_MAX),
		.silence_ms =
			(unsigned)debuginfod_variable_number("DEBUGINFOD_TIMEOUT", 1000, INT_MAX),
		.max_ms = (unsigned)debuginfod_variable_number("DEBUGINFOD_MAXTIME", 1000, INT_MAX),
	};
}

/* Returns the cache of elfutils' client. Without a home directory it is a folder in /tmp. */
static char *debuginfod_default_cache(bool *ret_in_tmp)
{
	const char *xdg = debuginfod_variable("XDG_CACHE_HOME"),
		   *home = debuginfod_variable("HOME");
	char *path = NULL;
	*ret_in_tmp = !xdg && !home;
	int n = xdg    ? asprintf(&path, "%s/debuginfod_client", xdg)
		: home ? asprintf(&path, "%s/.cache/debuginfod_client", home)
		       : asprintf(&path, "/tmp/unhex-debuginfod-%ld", (long)geteuid());
	return n < 0 ? NULL : path;
}

/*
 * Adds the server that a word of the list of URLs names. Ignores words that begin with "ima:",
 * which are settings of other clients.
 */
static enum ux_code debuginfod_add_server(struct ux_debuginfod *d, const char *word, size_t n,
					  struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *url = strndup(word, n);
	if (!url)
		return ux_error_nomem(err);
	if (strncmp(url, "ima:", 4) == 0)
		return UX_OK;
	if (d->n_servers == SERVERS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d debuginfod servers", SERVERS_MAX);
	struct ux_http_client_options options = {.url = url, .connect_ms = (unsigned)d->silence_ms};
	UX_TRY(ux_http_client_create(&d->servers[d->n_servers].client, &options, err));
	d->n_servers++;
	return UX_OK;
}

static enum ux_code debuginfod_add_servers(struct ux_debuginfod *d, const char *urls,
					   struct ux_error *err)
{
	static const char blanks[] = " \t\n";
	for (const char *word = urls + strspn(urls, blanks); *word;) {
		size_t n = strcspn(word, blanks);
		UX_TRY(debuginfod_add_server(d, word, n, err));
		word += n;
		word += strspn(word, blanks);
	}
	return UX_OK;
}

/* Reads the header lines that are sent with each request, such as "Authorization: Bearer ...". */
static enum ux_code debuginfod_read_headers(struct ux_debuginfod *d, const char *path,
					    struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	size_t n = 0;
	if (!path)
		return UX_OK;
	UX_TRY(ux_file_map(path, &file, err));
	if (file.bytes.size > HEADERS_BYTES)
		return ux_error_set(err, UX_ELIMIT, "%.80s exceeds %d bytes", path, HEADERS_BYTES);
	d->lines = strndup((const char *)file.bytes.data, file.bytes.size);
	if (!d->lines)
		return ux_error_nomem(err);
	for (char *line = d->lines; line && n < HEADERS_MAX;) {
		char *end = strpbrk(line, "\r\n");
		if (end)
			*end++ = '\0';
		if (strchr(line, ':'))
			d->headers[n++] = line;
		line = end;
	}
	return UX_OK;
}

static void debuginfod_guard(struct ux_debuginfod **d)
{
	ux_debuginfod_destroy(*d);
}

enum ux_code ux_debuginfod_create(struct ux_debuginfod **ret, const struct ux_debuginfod_options *o,
				  struct ux_error *err)
{
	*ret = NULL;
	if (!o->urls || o->urls[strspn(o->urls, " \t\n")] == '\0')
		return UX_OK;
	ux_cleanup(debuginfod_guard) struct ux_debuginfod *d = calloc(1, sizeof(*d));
	if (!d)
		return ux_error_nomem(err);
	d->size_max = o->size_max ? o->size_max : SIZE_BYTES_MAX;
	d->silence_ms = o->silence_ms ? o->silence_ms : SILENCE_MS;
	d->max_ms = o->max_ms ? o->max_ms : MAX_MS;
	d->cache = o->cache ? strdup(o->cache) : debuginfod_default_cache(&d->in_tmp);
	if (!d->cache)
		return ux_error_nomem(err);
	UX_TRY(debuginfod_add_servers(d, o->urls, err));
	UX_TRY(debuginfod_read_headers(d, o->headers, err));
	*ret = ux_take(&d);
	return UX_OK;
}

void ux_debuginfod_destroy(struct ux_debuginfod *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_servers; i++)
		ux_http_client_destroy(d->servers[i].client);
	if (d->lines)
		explicit_bzero(d->lines, strlen(d->lines));
	free(d->lines);
	free(d->cache);
	free(d);
}

/* --- the cache -------------------------------------------------------------------------------- */

/*
 * Checks that no other user can write to a cache in /tmp: a debug file of another user could give
 * wrong names, and the parsers would read it.
 */
static enum ux_code debuginfod_check_cache(const struct ux_debuginfod *d, struct ux_error *err)
{
	struct stat st;
	if (!d->in_tmp)
		return UX_OK;
	if (mkdir(d->cache, 0700) != 0 && errno != EEXIST)
		return ux_error_os(err, errno, "cannot create the cache %.80s", d->cache);
	if (lstat(d->cache, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & 022) == 0)
		return UX_OK;
	return ux_error_set(err, UX_EDENIED,
			    "the cache %.80s belongs to another user or others can write to it; "
			    "set HOME or DEBUGINFOD_CACHE_PATH",
			    d->cache);
}

/* Returns for how many seconds an empty file in the cache prevents new requests. */
static int64_t debuginfod_miss_seconds(const struct ux_debuginfod *d)
{
	char path[PATH_MAX], text[32] = "";
	uint64_t v = 0;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (snprintf(path, sizeof(path), "%s/cache_miss_s", d->cache) >= PATH_MAX ||
	    ux_file_map(path, &file, NULL) != UX_OK || file.bytes.size == 0)
		return MISS_S;
	snprintf(text, sizeof(text), "%.*s", (int)ux_min(file.bytes.size, (size_t)20),
		 (const char *)file.bytes.data);
	text[strcspn(text, " \n")] = '\0';
	return ux_decimal_parse(ux_bytes_cstr(text), &v) ? (int64_t)ux_min(v, (uint64_t)INT_MAX)
							 : MISS_S;
}

/* Checks whether a file is in the cache. UX_OK: it is. UX_ENOTFOUND: the cache has a valid
 * record that no server has the file. UX_EUNAVAILABLE: the cache has neither. */
static enum ux_code debuginfod_find_cached(const struct ux_debuginfod *d, const char *path,
					   struct ux_error *err)
{
	struct stat st;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return UX_EUNAVAILABLE;
	if (st.st_size > 0)
		return UX_OK;
	int64_t age = ux_clock_wall() - st.st_mtime;
	if (age >= 0 && age < debuginfod_miss_seconds(d))
		return ux_error_set(err, UX_ENOTFOUND,
				    "no debuginfod server had it %" PRId64 " s ago (cached)", age);
	unlink(path);
	return UX_EUNAVAILABLE;
}

static enum ux_code debuginfod_record_miss(const char *path, struct ux_error *err)
{
	ux_cleanup(ux_file_new_deinit) struct ux_file_new f = UX_FILE_NEW_INIT;
	UX_TRY(ux_file_new_open(&f, path, err));
	return ux_file_new_commit(&f, /* sync= */ false, err);
}

/* --- requests --------------------------------------------------------------------------------- */

static enum ux_code debuginfod_on_bytes(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct ux_file_new *f = ctx;
	return ux_file_write(f->fd, bytes, err);
}

/* Renames a file that a server has sent into the cache if its build ID is the requested one. */
static enum ux_code debuginfod_accept_file(struct ux_file_new *f, const struct ux_id *id,
					   struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	const char *why = NULL;
	if (!ux_debug_map_id(f->temp, id, &file, &why))
		return ux_error_set(err, UX_EUNAVAILABLE, "the file from a debuginfod server %s",
				    why);
	return ux_file_new_commit(f, /* sync= */ false, err);
}

/* Requests a file from one server. UX_ENOTFOUND: the server does not have it. UX_EUNAVAILABLE:
 * the server did not answer, or its answer is not valid. */
static enum ux_code debuginfod_request(struct ux_debuginfod *d, struct server *s,
				       const char *target, const struct ux_id *id, const char *path,
				       struct ux_error *err)
{
	ux_cleanup(ux_file_new_deinit) struct ux_file_new f = UX_FILE_NEW_INIT;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	struct ux_http_call call = {
		.path = target,
		.headers = d->headers,
		.timeout_ms = d->max_ms,
		.silence_ms = d->silence_ms,
		.answer_max = (size_t)ux_min(d->size_max, (uint64_t)SIZE_MAX),
		.redirects = REDIRECTS_MAX,
		.sink = debuginfod_on_bytes,
		.sink_ctx = &f,
	};
	if (ux_clock_ms() < s->avoid_until)
		return ux_error_set(err, UX_EUNAVAILABLE, "a debuginfod server did not answer");
	UX_TRY(ux_file_new_open(&f, path, err));
	enum ux_code code = ux_http_client_call(s->client, &call, &answer, err);
	if (code == UX_EUNAVAILABLE)
		s->avoid_until = ux_clock_ms() + AVOID_MS;
	UX_TRY(code);
	if (answer.status == 200)
		return debuginfod_accept_file(&f, id, err);
	static const char only[] = UX_DEBUGINFOD_SYMBOLS_ONLY;
	if (answer.status == 404 && answer.body.data &&
	    memmem(answer.body.data, answer.body.size, only, strlen(only)))
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the debuginfod server %s; --url or UNHEX_URL reads them",
				    only);
	return ux_error_set(err, answer.status == 404 ? UX_ENOTFOUND : UX_EUNAVAILABLE,
			    "a debuginfod server answered HTTP %u", answer.status);
}

static enum ux_code debuginfod_request_all(struct ux_debuginfod *d, const char *target,
					   const struct ux_id *id, const char *path,
					   struct ux_error *err)
{
	struct ux_error failure = UX_ERROR_INIT; /* the first failure other than UX_ENOTFOUND */
	for (size_t i = 0; i < d->n_servers; i++) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = debuginfod_request(d, &d->servers[i], target, id, path, &why);
		if (code == UX_OK)
			return UX_OK;
		if (code != UX_ENOTFOUND && failure.code == UX_OK)
			failure = why;
	}
	if (failure.code != UX_OK) {
		if (err && err->code == UX_OK)
			*err = failure;
		return failure.code;
	}
	UX_TRY(debuginfod_record_miss(path, err));
	return ux_error_set(err, UX_ENOTFOUND, "no debuginfod server has it");
}

enum ux_code ux_debuginfod_find(struct ux_debuginfod *d, const struct ux_id *id,
				enum ux_debuginfod_kind kind, char **ret_path, struct ux_error *err)
{
	const char *word = kind == UX_DEBUGINFOD_DEBUGINFO ? "debuginfo" : "executable";
	char hex[2 * UX_ID_BYTES_MAX + 1], target[sizeof(hex) + 64], path[PATH_MAX];
	if (!d || id->type != UX_ID_GNU || id->size < 2)
		return ux_error_set(err, UX_ENOTFOUND, "no GNU build ID to query");
	ux_hex_encode(ux_bytes(id->bytes, id->size), hex);
	snprintf(target, sizeof(target), "/buildid/%s/%s", hex, word);
	if (snprintf(path, sizeof(path), "%s/%s/%s", d->cache, hex, word) >= PATH_MAX)
		return ux_error_set(err, UX_EINVAL, "the path of the cache is too long");
	UX_TRY(debuginfod_check_cache(d, err));
	enum ux_code code = debuginfod_find_cached(d, path, err);
	if (code == UX_EUNAVAILABLE) {
		UX_TRY(ux_file_make_folders(path, 0700, err));
		code = debuginfod_request_all(d, target, id, path, err);
	}
	UX_TRY(code);
	*ret_path = strdup(path);
	return *ret_path ? UX_OK : ux_error_nomem(err);
}
