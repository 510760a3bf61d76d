/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /buildid/...: what debuginfod's clients ask for; never anything but what was uploaded. Source:
 * debuginfod(8) and the clients of elfutils 0.188 to 0.192, which remember a 404 for ten minutes
 * and take a 5xx for the server's end, so what is malformed is not found either.
 */
#include "elf_file.h"
#include "file_answer.h"
#include "hex.h"
#include "module_ids.h"
#include "protocols.h"
#include "recent_modules.h"

#include <time.h>
#include <unistd.h>

/* A file of a module, open. */
struct served {
	const struct ux_candidate *candidate;
	struct ux_bytes tag;
	uint64_t off; /* of what is asked for, in the file */
	uint64_t size;
};

static enum ux_code not_found(struct ux_request *req)
{
	return ux_error_set(&req->err, UX_ENOTFOUND, "not found");
}

static void drop_item(void *item)
{
	ux_recent_item_drop(item);
}

/* The row, which lives like a body. */
static enum ux_code recent_row(struct ux_request *req, const char *id, struct ux_module *ret)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_recent_module *m = NULL;
	UX_TRY(ux_recent_module_find(ux_module_cache_recent(s->cache), s->store,
				     ux_caller_of(req)->ns, id, &m, &req->err));
	UX_TRY(ux_request_keep(req, drop_item, &m->item));
	*ret = m->row;
	return UX_OK;
}

/* Clients send lower-case hex; "gnu:" and other types are for other routes. */
static enum ux_code find_module(struct ux_request *req, struct ux_module *ret)
{
	struct ux_bytes text = req->params[0];
	const char *id = NULL;
	for (size_t i = 0; i < text.size; i++)
		if (ux_hex_digit((char)text.data[i]) < 0)
			return not_found(req);
	if (ux_module_id(text, &req->arena, &id, NULL) != UX_OK)
		return not_found(req);
	return recent_row(req, id, ret);
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
static enum ux_code put_file_name(struct ux_request *req, struct ux_response *res, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	for (const char *p = name; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			return UX_OK;
	return name[0] == '\0' ? UX_OK
			       : put_text(req, res, "X-DEBUGINFOD-FILE", name, strlen(name));
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
				const struct served *f)
{
	char size[24];
	int n = snprintf(size, sizeof(size), "%" PRIu64, f->size);
	ux_response_field(res, "Cache-Control", UX_STR("public"));
	UX_TRY(put_text(req, res, "X-DEBUGINFOD-SIZE", size, (size_t)n));
	UX_TRY(put_file_name(req, res, f->candidate->file_name));
	return put_date(req, res, f->candidate->created);
}

/* A small file goes out with its header lines at once. */
static enum ux_code answer_small(struct ux_request *req, struct ux_response *res,
				 const struct served *f)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_recent_file *file = NULL;
	UX_TRY(ux_recent_file_map(ux_module_cache_recent(s->cache), s->store, &f->candidate->blob,
				  f->candidate->size, &file, &req->err));
	UX_TRY(ux_request_keep(req, drop_item, &file->item));
	return ux_answer_bytes(req, res, ux_bytes(file->mapping.bytes.data + f->off, f->size),
			       f->tag, "application/octet-stream");
}

static enum ux_code answer(struct ux_request *req, struct ux_response *res, const struct served *f)
{
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	const struct ux_candidate *c = f->candidate;
	int fd = -1;
	UX_TRY(check_wanted(req, res, f->size));
	if (ux_answer_tagged(req, res, f->tag))
		return UX_OK;
	UX_TRY(put_headers(req, res, f));
	if (c->size <= UX_RECENT_FILE_MOST)
		return answer_small(req, res, f);
	UX_TRY(ux_blobs_open(b, &c->blob, c->size, &fd, &req->err));
	UX_TRY(ux_answer_file(req, res, fd, f->size, f->tag, "application/octet-stream"));
	res->fd_off += f->off;
	return UX_OK;
}

/* "HASH", or "HASH-OFF-SIZE" of a part. */
static enum ux_code make_tag(struct ux_request *req, struct served *f)
{
	char hash[2 * UX_BLOB_HASH_SIZE + 1], text[UX_ETAG_SIZE];
	ux_blob_hash_text(&f->candidate->blob, hash);
	int n = f->size == f->candidate->size
			? snprintf(text, sizeof(text), "\"%s\"", hash)
			: snprintf(text, sizeof(text), "\"%s-%" PRIx64 "-%" PRIx64 "\"", hash,
				   f->off, f->size);
	char *kept = ux_arena_strndup(&req->arena, text, (size_t)n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	f->tag = ux_bytes(kept, (size_t)n);
	return UX_OK;
}

static enum ux_code answer_whole(struct ux_request *req, struct ux_response *res, unsigned holds)
{
	struct ux_module m;
	UX_TRY(find_module(req, &m));
	struct served f = {.candidate = ux_module_elf(&m, holds)};
	if (!f.candidate)
		return not_found(req);
	f.size = f.candidate->size;
	UX_TRY(make_tag(req, &f));
	return answer(req, res, &f);
}

enum ux_code ux_handle_debuginfod_debuginfo(struct ux_request *req, struct ux_response *res)
{
	return answer_whole(req, res, UX_HOLDS_DEBUG);
}

enum ux_code ux_handle_debuginfod_executable(struct ux_request *req, struct ux_response *res)
{
	return answer_whole(req, res, UX_HOLDS_CODE);
}

/* The bytes of a section as they are in the file, compressed ones too. UX_ENOTFOUND. */
static enum ux_code find_section(struct ux_request *req, const struct ux_candidate *c,
				 struct served *ret)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	struct ux_bytes content = UX_BYTES_NONE;
	UX_TRY(ux_blobs_map(b, &c->blob, c->size, &file, &req->err));
	UX_TRY(ux_elf_open(&elf, file.bytes, &req->err));
	const struct ux_elf_section *s =
		ux_elf_section_find(&elf, (const char *)req->params[1].data);
	if (!s || s->type == SHT_NOBITS || !ux_bytes_sub(file.bytes, s->off, s->size, &content))
		return UX_ENOTFOUND;
	*ret = (struct served){.candidate = c, .off = s->off, .size = s->size};
	return UX_OK;
}

/* Of the debug file, and where that has none of it, of the executable. */
enum ux_code ux_handle_debuginfod_section(struct ux_request *req, struct ux_response *res)
{
	struct ux_module m;
	struct served f = {0};
	UX_TRY(find_module(req, &m));
	const struct ux_candidate *const places[] = {
		ux_module_elf(&m, UX_HOLDS_DEBUG | UX_HOLDS_SECTIONS),
		ux_module_elf(&m, UX_HOLDS_CODE | UX_HOLDS_SECTIONS),
	};
	enum ux_code code = UX_ENOTFOUND;
	for (size_t i = 0; i < ux_countof(places) && code == UX_ENOTFOUND; i++)
		if (places[i])
			code = find_section(req, places[i], &f);
	if (code == UX_ENOTFOUND)
		return not_found(req);
	if (code != UX_OK)
		return code;
	UX_TRY(make_tag(req, &f));
	return answer(req, res, &f);
}
