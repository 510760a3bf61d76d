/* SPDX-License-Identifier: Apache-2.0 */
/* What the handlers of /buildid/... share. */
#include "debuginfod_answer.h"

#include "file_answer.h"
#include "text.h"
#include "module_ids.h"
#include "recent_modules.h"
#include "upstreams.h"

#include <time.h>

enum ux_code ux_debuginfod_not_found(struct ux_request *req)
{
	return ux_error_set(&req->err, UX_ENOTFOUND, "not found");
}

enum ux_code ux_debuginfod_id(struct ux_request *req, const char **ret)
{
	struct ux_bytes text = req->params[0];
	for (size_t i = 0; i < text.size; i++)
		if (ux_hex_digit((char)text.data[i]) < 0)
			return ux_debuginfod_not_found(req);
	if (ux_module_id(text, &req->arena, ret, NULL) != UX_OK)
		return ux_debuginfod_not_found(req);
	return UX_OK;
}

static void drop_item(void *item)
{
	ux_recent_item_drop(item);
}

enum ux_code ux_debuginfod_module(struct ux_request *req, struct ux_module *ret)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_recent_module *m = NULL;
	const char *id = NULL;
	UX_TRY(ux_debuginfod_id(req, &id));
	UX_TRY(ux_recent_module_find(ux_module_cache_recent(s->cache), s->store,
				     ux_caller_of(req)->ns, id, &m, &req->err));
	UX_TRY(ux_request_keep(req, drop_item, &m->item));
	*ret = m->row;
	return UX_OK;
}

enum ux_code ux_debuginfod_some(struct ux_request *req, struct ux_module *ret, const char **ret_id)
{
	*ret = (struct ux_module){0};
	UX_TRY(ux_debuginfod_id(req, ret_id));
	enum ux_code code = ux_debuginfod_module(req, ret);
	return code == UX_ENOTFOUND ? UX_OK : code;
}

enum ux_code ux_debuginfod_fetch(struct ux_request *req, struct ux_response *res, const char *id,
				 enum ux_want want, const char *source)
{
	enum ux_code code = ux_request_fetch(req, res, id, want, source);
	return code == UX_ENOTFOUND ? ux_debuginfod_not_found(req) : code;
}

static enum ux_code put_text(struct ux_request *req, struct ux_response *res, const char *name,
			     const char *text, size_t n)
{
	char *kept = ux_arena_strndup(&req->arena, text, n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	ux_response_field(res, name, ux_bytes_cstr(kept));
	return UX_OK;
}

/* Where it lay is nobody's business: the name alone, of what a header line may have. */
static enum ux_code put_file_name(struct ux_request *req, struct ux_response *res,
				  const char *header, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	for (const char *p = name; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			return UX_OK;
	return name[0] == '\0' ? UX_OK : put_text(req, res, header, name, strlen(name));
}

/* RFC 9110, 5.6.7; the C library's names of days depend on the locale, which we never set. */
static enum ux_code put_date(struct ux_request *req, struct ux_response *res, ux_time t)
{
	char text[64];
	struct tm tm;
	time_t when = t;
	if (!gmtime_r(&when, &tm))
		return UX_OK;
	size_t n = strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	return put_text(req, res, "Last-Modified", text, n);
}

/* 406 when the client said that it wants no more bytes than so many. */
static enum ux_code check_wanted(struct ux_request *req, struct ux_response *res, uint64_t size)
{
	struct ux_bytes v;
	uint64_t most = 0;
	if (!ux_request_header(req, "X-DEBUGINFOD-MAXSIZE", &v) ||
	    !ux_hex_parse_u64(v, /* hex= */ false, &most) || most == 0 || size <= most)
		return UX_OK;
	res->status = 406;
	return ux_error_set(&req->err, UX_ELIMIT, "it has %" PRIu64 " bytes", size);
}

static enum ux_code put_headers(struct ux_request *req, struct ux_response *res,
				const struct ux_debuginfod_file *f)
{
	char size[24];
	int n = snprintf(size, sizeof(size), "%" PRIu64, f->size);
	/* "public" lets a cache on the way answer everybody, also where a key was asked for. */
	bool open = ux_caller_of(req)->openness != UX_OPEN_TO_NOBODY;
	ux_response_field(res, "Cache-Control", open ? UX_STR("public") : UX_STR("private"));
	UX_TRY(put_text(req, res, "X-DEBUGINFOD-SIZE", size, (size_t)n));
	UX_TRY(put_file_name(req, res, "X-DEBUGINFOD-FILE", f->name));
	if (f->archive)
		UX_TRY(put_file_name(req, res, "X-DEBUGINFOD-ARCHIVE", f->archive));
	return put_date(req, res, f->created);
}

/* "HASH", or "HASH-OFF-SIZE" of a part. */
static enum ux_code make_tag(struct ux_request *req, const struct ux_debuginfod_file *f,
			     struct ux_bytes *ret)
{
	char hash[2 * UX_BLOB_HASH_SIZE + 1], text[UX_ETAG_SIZE];
	ux_blob_hash_text(&f->blob, hash);
	int n = f->size == f->blob_size
			? snprintf(text, sizeof(text), "\"%s\"", hash)
			: snprintf(text, sizeof(text), "\"%s-%" PRIx64 "-%" PRIx64 "\"", hash,
				   f->off, f->size);
	char *kept = ux_arena_strndup(&req->arena, text, (size_t)n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	*ret = ux_bytes(kept, (size_t)n);
	return UX_OK;
}

/* A small file goes out with its header lines at once. */
static enum ux_code answer_small(struct ux_request *req, struct ux_response *res,
				 const struct ux_debuginfod_file *f, struct ux_bytes tag)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_recent_file *file = NULL;
	UX_TRY(ux_recent_file_map(ux_module_cache_recent(s->cache), s->store, &f->blob,
				  f->blob_size, &file, &req->err));
	UX_TRY(ux_request_keep(req, drop_item, &file->item));
	return ux_answer_bytes(req, res, ux_bytes(file->mapping.bytes.data + f->off, f->size), tag,
			       "application/octet-stream");
}

enum ux_code ux_debuginfod_answer(struct ux_request *req, struct ux_response *res,
				  const struct ux_debuginfod_file *f)
{
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	struct ux_bytes tag;
	int fd = -1;
	UX_TRY(check_wanted(req, res, f->size));
	UX_TRY(make_tag(req, f, &tag));
	if (ux_answer_tagged(req, res, tag))
		return UX_OK;
	UX_TRY(put_headers(req, res, f));
	if (f->blob_size <= UX_RECENT_FILE_MOST)
		return answer_small(req, res, f, tag);
	UX_TRY(ux_blobs_open(b, &f->blob, f->blob_size, &fd, &req->err));
	UX_TRY(ux_answer_file(req, res, fd, f->size, tag, "application/octet-stream"));
	res->fd_off += f->off;
	return UX_OK;
}
