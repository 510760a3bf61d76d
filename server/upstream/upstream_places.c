/* SPDX-License-Identifier: Apache-2.0 */
/* Where each kind of upstream keeps what. Source: debuginfod(8), "WEBAPI"; gdb's manual, "Separate
 * Debug Files", for .build-id/ab/cdef.debug. */
#include "upstream.h"

#include "text.h"
#include "http_client.h"

#include <stdarg.h>

enum {
	PATH_BYTES = 4096 * 3 + 512 /* of a source's path, all of it escaped */
};

static enum ux_code add(struct ux_places *ret, struct ux_arena *arena, struct ux_error *err,
			const char *fmt, ...) ux_printf(4, 5);

static enum ux_code add(struct ux_places *ret, struct ux_arena *arena, struct ux_error *err,
			const char *fmt, ...)
{
	char text[PATH_BYTES];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		return ux_error_set(err, UX_ELIMIT, "the path is too long to ask for");
	char *kept = ux_arena_strndup(arena, text, (size_t)n);
	if (!kept)
		return ux_arena_fail(arena, err);
	assert(ret->n < UX_PLACES_MOST);
	ret->paths[ret->n++] = kept;
	return UX_OK;
}

/* '/' stays: debuginfod's servers want it so. */
static enum ux_code encode_path(const char *path, struct ux_arena *arena, const char **ret,
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

/* /buildid/HEX/...: debuginfod's servers have it, and so do ours. */
static enum ux_code debuginfod_places(const char *hex, enum ux_artifact artifact,
				      const char *source, struct ux_arena *arena,
				      struct ux_places *ret, struct ux_error *err)
{
	const char *path = "";
	if (artifact == UX_ARTIFACT_GSYM)
		return UX_OK;
	if (artifact != UX_ARTIFACT_SOURCE)
		return add(ret, arena, err, "/buildid/%s/%s", hex, ux_artifact_name(artifact));
	UX_TRY(encode_path(source, arena, &path, err));
	return add(ret, arena, err, "/buildid/%s/source%s", hex, path);
}

static enum ux_code unhex_places(const struct ux_id *id, struct ux_arena *arena,
				 struct ux_places *ret, struct ux_error *err)
{
	char text[UX_ID_TEXT];
	ux_id_format(id, text);
	const char *coded = ux_percent_encode(arena, ux_bytes_cstr(text));
	if (!coded)
		return ux_arena_fail(arena, err);
	return add(ret, arena, err, "/v1/gsym/%s", coded);
}

/* Two layouts: that of /usr/lib/debug, and that of debuginfod's cache below two digits. */
static enum ux_code bucket_places(const char *hex, enum ux_artifact artifact,
				  struct ux_arena *arena, struct ux_places *ret,
				  struct ux_error *err)
{
	static const char *const endings[] = {".gsym", ".debug", "", NULL};
	const char *ending = endings[artifact];
	if (!ending)
		return UX_OK;
	UX_TRY(add(ret, arena, err, "/.build-id/%.2s/%s%s", hex, hex + 2, ending));
	return add(ret, arena, err, "/%.2s/%s/%s", hex, hex + 2, ux_artifact_name(artifact));
}

enum ux_code ux_upstream_places(const struct ux_upstream *up, const struct ux_id *id,
				enum ux_artifact artifact, const char *source,
				struct ux_arena *arena, struct ux_places *ret, struct ux_error *err)
{
	char hex[2 * UX_ID_BYTES_MOST + 1] = "";
	*ret = (struct ux_places){0};
	if (up->kind == UX_UPSTREAM_UNHEX && artifact == UX_ARTIFACT_GSYM)
		return unhex_places(id, arena, ret, err);
	if (id->type != UX_ID_GNU || id->size < 2)
		return UX_OK;
	ux_hex_encode(ux_bytes(id->bytes, id->size), hex);
	if (up->kind == UX_UPSTREAM_UNHEX || up->kind == UX_UPSTREAM_DEBUGINFOD)
		return debuginfod_places(hex, artifact, source, arena, ret, err);
	return bucket_places(hex, artifact, arena, ret, err);
}
