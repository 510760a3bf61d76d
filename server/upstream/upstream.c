/* SPDX-License-Identifier: Apache-2.0 */
/* Parses upstreams and builds their paths. */
#include "upstream.h"

#include "http_client.h"
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <strings.h>

static const char *const kinds[] = {"unhex", "debuginfod", "bucket", "packages", "dir"};

const char *ux_upstream_kind_name(enum ux_upstream_kind kind)
{
	return kinds[kind];
}

const char *ux_artifact_name(enum ux_artifact artifact)
{
	static const char *const names[] = {"gsym", "debuginfo", "executable", "source"};
	return names[artifact];
}

static bool upstream_is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static enum ux_code upstream_set_name(struct ux_upstream *up, const char *text, size_t n,
				      struct ux_error *err)
{
	bool fits = n > 0 && n < sizeof(up->name) && text[0] != '.';
	for (size_t i = 0; i < n && fits; i++)
		fits = upstream_is_name_byte(text[i]);
	if (!fits)
		return ux_error_set(
			err, UX_EINVAL,
			"upstream name '%.*s': expected 1 to %zu characters of a-z, 0-9, '_', "
			"'.', '-'",
			(int)ux_min(n, (size_t)40), text, sizeof(up->name) - 1);
	memcpy(up->name, text, n);
	up->name[n] = '\0';
	return UX_OK;
}

/* Derives the name from the host or from the last component of the path. */
static void upstream_default_name(struct ux_upstream *up)
{
	const char *from = strstr(up->url, "://");
	size_t n = 0;
	from = from ? from + 3 : strrchr(up->url, '/') + 1;
	for (; from[n] && from[n] != '/' && n < sizeof(up->name) - 1; n++) {
		char c = from[n];
		c = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
		up->name[n] = upstream_is_name_byte(c) && (n > 0 || c != '.') ? c : '-';
	}
	up->name[n] = '\0';
}

static enum ux_code upstream_read_token(struct ux_upstream *up, const char *path,
					struct ux_error *err)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return ux_error_os(err, errno, "cannot read the token file %.80s", path);
	bool read = fgets(up->token, sizeof(up->token), f) != NULL;
	fclose(f);
	size_t n = read ? strcspn(up->token, "\r\n") : 0;
	if (n == 0 || n == sizeof(up->token) - 1)
		return ux_error_set(err, UX_EINVAL, "the token file %.80s has no token", path);
	up->token[n] = '\0';
	return UX_OK;
}

static enum ux_code upstream_set_word(struct ux_upstream *up, const char *word,
				      struct ux_error *err)
{
	if (strncmp(word, "name=", 5) == 0)
		return upstream_set_name(up, word + 5, strlen(word + 5), err);
	if (strncmp(word, "token-file=", 11) == 0)
		return upstream_read_token(up, word + 11, err);
	if (strcmp(word, "private") == 0) {
		up->own_network = true;
		return UX_OK;
	}
	return ux_error_set(
		err, UX_EINVAL,
		"unknown upstream option '%.40s'; expected name=, token-file= or private", word);
}

/* Tests for an http or https URL with a host. */
static bool upstream_is_http(const char *url)
{
	size_t n = strncasecmp(url, "http://", 7) == 0    ? 7
		   : strncasecmp(url, "https://", 8) == 0 ? 8
							  : 0;
	return n > 0 && url[n] != '\0' && url[n] != '/' && url[n] != ':';
}

static bool upstream_has_controls(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 127)
			return true;
	return false;
}

/* Sets the URL. Rejects a user name in it: it would be a secret that appears in logs. */
static enum ux_code upstream_set_url(struct ux_upstream *up, const char *text, struct ux_error *err)
{
	for (int i = 0; i < UX_UPSTREAM_FOLDER; i++) {
		size_t n = strlen(kinds[i]);
		if (strncmp(text, kinds[i], n) != 0 || text[n] != '+' ||
		    !upstream_is_http(text + n + 1))
			continue;
		up->kind = (enum ux_upstream_kind)i;
		snprintf(up->url, sizeof(up->url), "%s", text + n + 1);
		if (strpbrk(up->url, "@?#"))
			return ux_error_set(err, UX_EINVAL,
					    "the URL of an upstream has a user name or a query");
		return UX_OK;
	}
	bool packages = strncmp(text, "packages:/", 10) == 0;
	if (!packages && strncmp(text, "dir:/", 5) != 0)
		return ux_error_set(err, UX_EINVAL,
				    "unknown upstream '%.60s'; expected unhex+URL, debuginfod+URL, "
				    "bucket+URL, packages+URL, dir:/PATH or packages:/PATH",
				    text);
	up->kind = packages ? UX_UPSTREAM_PACKAGES : UX_UPSTREAM_FOLDER;
	snprintf(up->url, sizeof(up->url), "%s", strchr(text, ':') + 1);
	return UX_OK;
}

static void upstream_cut_slashes(char *url)
{
	for (size_t n = strlen(url); n > 1 && url[n - 1] == '/'; n--)
		url[n - 1] = '\0';
}

enum ux_code ux_upstream_parse(struct ux_upstream *ret, const char *text, struct ux_error *err)
{
	static const char commas[] = ",";
	ux_cleanup(ux_free_ptr) char *words = strdup(text);
	struct ux_upstream up = {0};
	char *rest = words;
	if (!words)
		return ux_error_nomem(err);
	char *word = strtok_r(words, commas, &rest);
	if (!word || strlen(word) >= sizeof(up.url))
		return ux_error_set(err, UX_EINVAL, "an upstream is empty or exceeds %zu bytes",
				    sizeof(up.url) - 1);
	if (upstream_has_controls(word))
		return ux_error_set(err, UX_EINVAL,
				    "an upstream contains a space or a control character");
	UX_TRY(upstream_set_url(&up, word, err));
	upstream_cut_slashes(up.url);
	while ((word = strtok_r(NULL, commas, &rest)))
		UX_TRY(upstream_set_word(&up, word, err));
	if (up.name[0] == '\0')
		upstream_default_name(&up);
	if (up.name[0] == '\0')
		return ux_error_set(err, UX_EINVAL, "the upstream %.60s needs name=", text);
	*ret = up;
	return UX_OK;
}

/* --- paths by kind of upstream ---------------------------------------------------------------- */

/* Source: debuginfod(8), "WEBAPI"; gdb's manual, "Separate Debug Files", for
 * .build-id/ab/cdef.debug. */
enum {
	PATH_BYTES = 4096 * 3 + 512 /* room for a source path with every byte escaped */
};

static enum ux_code paths_add(struct ux_upstream_paths *ret, struct ux_arena *arena,
			      struct ux_error *err, const char *fmt, ...) ux_printf(4, 5);

static enum ux_code paths_add(struct ux_upstream_paths *ret, struct ux_arena *arena,
			      struct ux_error *err, const char *fmt, ...)
{
	char text[PATH_BYTES];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		return ux_error_set(err, UX_ELIMIT, "the path is too long");
	char *kept = ux_arena_strndup(arena, text, (size_t)n);
	if (!kept)
		return ux_arena_fail(arena, err);
	assert(ret->n < UX_UPSTREAM_PATHS_MAX);
	ret->paths[ret->n++] = kept;
	return UX_OK;
}

/* Escapes a path, but not its '/', which debuginfod servers expect. */
static enum ux_code paths_encode(const char *path, struct ux_arena *arena, const char **ret,
				 struct ux_error *err)
{
	char *text = ux_percent_encode(arena, ux_bytes_cstr(path));
	if (!text)
		return ux_arena_fail(arena, err);
	char *to = text;
	for (const char *p = text; *p; p++, to++) {
		bool slash = strncmp(p, "%2F", 3) == 0;
		*to = slash ? '/' : *p;
		p += slash ? 2 : 0;
	}
	*to = '\0';
	*ret = text;
	return UX_OK;
}

/* /buildid/HEX/...: served by debuginfod and by unhex servers. */
static enum ux_code paths_debuginfod(const char *hex, enum ux_artifact artifact, const char *source,
				     struct ux_arena *arena, struct ux_upstream_paths *ret,
				     struct ux_error *err)
{
	const char *path = "";
	if (artifact == UX_ARTIFACT_GSYM)
		return UX_OK;
	if (artifact != UX_ARTIFACT_SOURCE)
		return paths_add(ret, arena, err, "/buildid/%s/%s", hex,
				 ux_artifact_name(artifact));
	UX_TRY(paths_encode(source, arena, &path, err));
	return paths_add(ret, arena, err, "/buildid/%s/source%s", hex, path);
}

static enum ux_code paths_unhex(const struct ux_id *id, struct ux_arena *arena,
				struct ux_upstream_paths *ret, struct ux_error *err)
{
	char text[UX_ID_TEXT];
	ux_id_format(id, text);
	const char *coded = ux_percent_encode(arena, ux_bytes_cstr(text));
	if (!coded)
		return ux_arena_fail(arena, err);
	return paths_add(ret, arena, err, "/v1/gsym/%s", coded);
}

/*
 * Tries three layouts: /usr/lib/debug and debuginfod's cache, both with a folder for the first two
 * digits, and debuginfod's URLs, which copies of a store have (unhex clone).
 */
static enum ux_code paths_bucket(const char *hex, enum ux_artifact artifact, struct ux_arena *arena,
				 struct ux_upstream_paths *ret, struct ux_error *err)
{
	static const char *const endings[] = {".gsym", ".debug", "", NULL};
	const char *ending = endings[artifact];
	if (!ending)
		return UX_OK;
	UX_TRY(paths_add(ret, arena, err, "/.build-id/%.2s/%s%s", hex, hex + 2, ending));
	UX_TRY(paths_add(ret, arena, err, "/%.2s/%s/%s", hex, hex + 2, ux_artifact_name(artifact)));
	return paths_add(ret, arena, err, "/buildid/%s/%s", hex, ux_artifact_name(artifact));
}

enum ux_code ux_upstream_paths_get(const struct ux_upstream *up, const struct ux_id *id,
				   enum ux_artifact artifact, const char *source,
				   struct ux_arena *arena, struct ux_upstream_paths *ret,
				   struct ux_error *err)
{
	char hex[2 * UX_ID_BYTES_MAX + 1] = "";
	*ret = (struct ux_upstream_paths){0};
	if (up->kind == UX_UPSTREAM_UNHEX && artifact == UX_ARTIFACT_GSYM)
		return paths_unhex(id, arena, ret, err);
	if (id->type != UX_ID_GNU || id->size < 2 || up->kind == UX_UPSTREAM_PACKAGES)
		return UX_OK;
	ux_hex_encode(ux_bytes(id->bytes, id->size), hex);
	if (up->kind == UX_UPSTREAM_UNHEX || up->kind == UX_UPSTREAM_DEBUGINFOD)
		return paths_debuginfod(hex, artifact, source, arena, ret, err);
	return paths_bucket(hex, artifact, arena, ret, err);
}
