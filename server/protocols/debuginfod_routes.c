/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /buildid/... and /metadata: the protocol of debuginfod. Source: debuginfod(8) and the clients of
 * elfutils 0.188 to 0.192. These take every status but 406 for "not found", and remember that for
 * ten minutes: a file that is unavailable for now is a 503 to others, and a reset to them. A
 * malformed request is "not found" too, since other clients take it for a broken server.
 */
#include "misses.h"
#include "protocols.h"

#include "debuginfod_words.h"
#include "elf_file.h"
#include "file_answer.h"
#include "json_out.h"
#include "path_base.h"
#include "path_canonical.h"
#include "presigned.h"
#include "request_values.h"
#include "row_cache.h"
#include "text.h"
#include "upstream_set.h"

#include <time.h>

/* A range of a blob that is sent as a file. */
struct debuginfod_file {
	struct ux_blob_hash blob;
	uint64_t blob_size;
	uint64_t off; /* offset of the range in the blob */
	uint64_t size;
	const char *name;    /* path of the file; only its last component is sent */
	const char *archive; /* the archive that it came in; NULL: none */
	ux_time created;
};

static enum ux_code debuginfod_not_found(struct ux_request *req)
{
	return ux_error_set(&req->err, UX_ENOTFOUND, "not found");
}

static enum ux_code debuginfod_id(struct ux_request *req, struct ux_bytes text, const char **ret)
{
	for (size_t i = 0; i < text.size; i++)
		if (ux_hex_digit((char)text.data[i]) < 0)
			return debuginfod_not_found(req);
	enum ux_code code = ux_module_id_parse(text, &req->arena, ret, NULL);
	if (code == UX_ENOMEM || code == UX_ELIMIT)
		return ux_arena_fail(&req->arena, &req->err);
	return code == UX_OK ? UX_OK : debuginfod_not_found(req);
}

static void debuginfod_drop_item(void *item)
{
	ux_row_cache_item_unref(item);
}

static enum ux_code debuginfod_module(struct ux_request *req, struct ux_bytes text,
				      struct ux_module *ret)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_cached_row *m = NULL;
	const char *id = NULL;
	UX_TRY(debuginfod_id(req, text, &id));
	UX_TRY(ux_row_cache_module(ux_module_cache_rows(s->cache), s->store, ux_caller_of(req)->ns,
				   id, &m, &req->err));
	UX_TRY(ux_request_keep(req, debuginfod_drop_item, &m->item));
	*ret = m->row;
	return UX_OK;
}

static enum ux_code debuginfod_some(struct ux_request *req, struct ux_module *ret,
				    const char **ret_id)
{
	*ret = (struct ux_module){0};
	UX_TRY(debuginfod_id(req, req->params[0], ret_id));
	enum ux_code code = debuginfod_module(req, req->params[0], ret);
	return code == UX_ENOTFOUND ? UX_OK : code;
}

/* Says that a file is missing, unless the row that would name it is damaged. */
static enum ux_code debuginfod_check_rows(struct ux_request *req, const struct ux_module *m)
{
	struct ux_error why = UX_ERROR_INIT;
	if (ux_module_check_rows(m, &why) == UX_OK)
		return debuginfod_not_found(req);
	req->err = why;
	return why.code;
}

static enum ux_code debuginfod_fetch(struct ux_request *req, struct ux_response *res,
				     const char *id, enum ux_fetch_kind want, const char *source)
{
	struct ux_server *s = ux_server_of(req);
	enum ux_code code = ux_request_fetch(req, res, id, want, source);
	if (code == UX_ENOTFOUND && want != UX_FETCH_SOURCE)
		ux_misses_note(s->misses, ux_caller_of(req)->ns, id, ux_store_now(s->store));
	return code == UX_ENOTFOUND ? debuginfod_not_found(req) : code;
}

static enum ux_code debuginfod_put_text(struct ux_request *req, struct ux_response *res,
					const char *name, const char *text, size_t n)
{
	char *kept = ux_arena_strndup(&req->arena, text, n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	ux_response_field(res, name, ux_bytes_cstr(kept));
	return UX_OK;
}

/*
 * Adds a header with the file's name if its characters are allowed in a header; without its
 * folders, which are private.
 */
static enum ux_code debuginfod_put_file_name(struct ux_request *req, struct ux_response *res,
					     const char *header, const char *path)
{
	const char *name = ux_path_base(path);
	for (const char *p = name; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			return UX_OK;
	return name[0] == '\0' ? UX_OK : debuginfod_put_text(req, res, header, name, strlen(name));
}

/*
 * Adds a date header (RFC 9110, 5.6.7). The names of days depend on the locale, which this program
 * leaves at "C".
 */
static enum ux_code debuginfod_put_date(struct ux_request *req, struct ux_response *res, ux_time t)
{
	char text[64];
	struct tm tm;
	time_t when = t;
	if (!gmtime_r(&when, &tm))
		return UX_OK;
	size_t n = strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	return debuginfod_put_text(req, res, "Last-Modified", text, n);
}

/* Answers 406 if the file is larger than the client accepts. */
static enum ux_code debuginfod_check_requested(struct ux_request *req, struct ux_response *res,
					       uint64_t size)
{
	struct ux_bytes v;
	uint64_t max = 0;
	if (!ux_request_header(req, "X-DEBUGINFOD-MAXSIZE", &v) || !ux_decimal_parse(v, &max) ||
	    max == 0 || size <= max)
		return UX_OK;
	res->status = 406;
	return ux_error_set(&req->err, UX_ELIMIT,
			    "the section has %" PRIu64
			    " bytes, X-DEBUGINFOD-MAXSIZE allows %" PRIu64,
			    size, max);
}

static enum ux_code debuginfod_put_headers(struct ux_request *req, struct ux_response *res,
					   const struct debuginfod_file *f)
{
	char size[24];
	int n = snprintf(size, sizeof(size), "%" PRIu64, f->size);
	UX_TRY(debuginfod_put_text(req, res, "X-DEBUGINFOD-SIZE", size, (size_t)n));
	UX_TRY(debuginfod_put_file_name(req, res, "X-DEBUGINFOD-FILE", f->name));
	if (f->archive)
		UX_TRY(debuginfod_put_file_name(req, res, "X-DEBUGINFOD-ARCHIVE", f->archive));
	return debuginfod_put_date(req, res, f->created);
}

/* Makes the entity tag: "HASH", or "HASH-OFF-SIZE" for a range. */
static enum ux_code debuginfod_make_tag(struct ux_request *req, const struct debuginfod_file *f,
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

/* A small file is sent together with its headers. */
static enum ux_code debuginfod_answer_small(struct ux_request *req, struct ux_response *res,
					    const struct debuginfod_file *f, struct ux_bytes tag)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_small_file *file = NULL;
	UX_TRY(ux_row_cache_file(ux_module_cache_rows(s->cache), s->store, &f->blob, f->blob_size,
				 &file, &req->err));
	UX_TRY(ux_request_keep(req, debuginfod_drop_item, &file->item));
	return ux_answer_bytes(req, res, ux_bytes(file->mapping.bytes.data + f->off, f->size), tag,
			       "application/octet-stream");
}

static enum ux_code debuginfod_answer(struct ux_request *req, struct ux_response *res,
				      const struct debuginfod_file *f)
{
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	struct ux_bytes tag;
	int fd = -1;
	UX_TRY(debuginfod_check_requested(req, res, f->size));
	UX_TRY(debuginfod_make_tag(req, f, &tag));
	res->caching = UX_CACHING_CONTENT;
	if (ux_answer_tagged(req, res, tag))
		return UX_OK;
	UX_TRY(debuginfod_put_headers(req, res, f));
	if (f->size == f->blob_size && ux_presigned_redirect(req, res, &f->blob, f->size))
		return UX_OK;
	if (f->blob_size <= UX_SMALL_FILE_MAX)
		return debuginfod_answer_small(req, res, f, tag);
	UX_TRY(ux_blobs_open(b, &f->blob, f->blob_size, &fd, &req->err));
	UX_TRY(ux_answer_file(req, res, fd, f->size, tag, "application/octet-stream"));
	res->fd_off += f->off;
	return UX_OK;
}

/* Says in a 404 that symbols exist, which unhex's client reads in another way. */
static enum ux_code debuginfod_explain(struct ux_request *req, const struct ux_module *m,
				       enum ux_code code)
{
	if (code != UX_ENOTFOUND || !ux_module_best(m, UX_KIND_GSYM))
		return code;
	req->err = (struct ux_error)UX_ERROR_INIT;
	return ux_error_set(&req->err, code, "the server " UX_DEBUGINFOD_SYMBOLS_ONLY);
}

/* Fetches a file that no candidate is, which a damaged row may hide. */
static enum ux_code debuginfod_fetch_other(struct ux_request *req, struct ux_response *res,
					   const struct ux_module *m, const char *id,
					   enum ux_fetch_kind want)
{
	enum ux_code code = debuginfod_fetch(req, res, id, want, NULL);
	return code == UX_ENOTFOUND ? debuginfod_check_rows(req, m) : code;
}

static enum ux_code debuginfod_answer_whole(struct ux_request *req, struct ux_response *res,
					    unsigned holds, enum ux_fetch_kind want)
{
	struct ux_module m;
	const char *id = NULL;
	UX_TRY(debuginfod_some(req, &m, &id));
	const struct ux_candidate *c = ux_module_elf(&m, holds);
	/* an upload that may be such a file is not read yet */
	if (!c && ux_module_in_state(&m, UX_CANDIDATE_PENDING))
		return ux_request_await(req, res);
	if (!c)
		return debuginfod_explain(req, &m, debuginfod_fetch_other(req, res, &m, id, want));
	const struct debuginfod_file f = {.blob = c->blob,
					  .blob_size = c->size,
					  .size = c->size,
					  .name = c->file_name,
					  .created = c->created};
	return debuginfod_answer(req, res, &f);
}

/*
 * Resets the connection of elfutils' client on a failure that passes. All its versions take every
 * status but 406 for "there is none", and remember that; a reset they do not remember.
 */
static enum ux_code debuginfod_end(const struct ux_request *req, struct ux_response *res,
				   enum ux_code code)
{
	const bool passes = code == UX_EUNAVAILABLE || code == UX_ENOMEM || code == UX_EIO;
	struct ux_bytes agent;
	res->reset = passes && ux_request_header(req, "User-Agent", &agent) &&
		     ux_bytes_starts(agent, UX_STR("elfutils/"));
	return code;
}

enum ux_code ux_handle_debuginfod_debuginfo(struct ux_request *req, struct ux_response *res)
{
	enum ux_code code = debuginfod_answer_whole(req, res, UX_HOLDS_DEBUG, UX_FETCH_DEBUGINFO);
	return debuginfod_end(req, res, code);
}

enum ux_code ux_handle_debuginfod_executable(struct ux_request *req, struct ux_response *res)
{
	enum ux_code code = debuginfod_answer_whole(req, res, UX_HOLDS_CODE, UX_FETCH_EXECUTABLE);
	return debuginfod_end(req, res, code);
}

/*
 * Finds the bytes of a section as stored in the file, even if compressed. UX_ENOTFOUND, also for a
 * file with too many sections.
 */
static enum ux_code debuginfod_find_section(struct ux_request *req, const struct ux_candidate *c,
					    struct debuginfod_file *ret)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	struct ux_bytes content = UX_BYTES_NONE;
	UX_TRY(ux_blobs_map(b, &c->blob, c->size, &file, &req->err));
	enum ux_code code = ux_elf_open_bounded(&elf, file.bytes, UX_ELF_TABLE_MAX, &req->err);
	if (code != UX_OK)
		return code == UX_ELIMIT ? UX_ENOTFOUND : code;
	const struct ux_elf_section *s =
		ux_elf_section_find(&elf, (const char *)req->params[1].data);
	if (!s || s->type == SHT_NOBITS || !ux_bytes_sub(file.bytes, s->off, s->size, &content))
		return UX_ENOTFOUND;
	*ret = (struct debuginfod_file){.blob = c->blob,
					.blob_size = c->size,
					.off = s->off,
					.size = s->size,
					.name = c->file_name,
					.created = c->created};
	return UX_OK;
}

/*
 * Fetches the debug file, or else the executable. If the first is unavailable, the second may still
 * answer; if it does not, it is unknown whether the section exists.
 */
static enum ux_code debuginfod_fetch_either(struct ux_request *req, struct ux_response *res,
					    const char *id, bool debug, bool executable)
{
	enum ux_code first = UX_ENOTFOUND, second = UX_ENOTFOUND;
	if (debug)
		first = ux_request_fetch(req, res, id, UX_FETCH_DEBUGINFO, NULL);
	const struct ux_error why = req->err;
	if (!executable || (first != UX_ENOTFOUND && first != UX_EUNAVAILABLE))
		return first;
	req->err = (struct ux_error)UX_ERROR_INIT;
	second = ux_request_fetch(req, res, id, UX_FETCH_EXECUTABLE, NULL);
	if (second != UX_ENOTFOUND || first == UX_ENOTFOUND)
		return second;
	return ux_error_pass(&req->err, first, &why);
}

/*
 * Reads the section from the debug file, or from the executable if the debug file lacks it. Fetches
 * a file that the store lacks from upstreams, the debug file first.
 */
static enum ux_code debuginfod_answer_section(struct ux_request *req, struct ux_response *res)
{
	struct ux_module m;
	struct debuginfod_file f = {0};
	const char *id = NULL;
	UX_TRY(debuginfod_some(req, &m, &id));
	const struct ux_candidate *const files[] = {
		ux_module_elf(&m, UX_HOLDS_DEBUG | UX_HOLDS_SECTIONS),
		ux_module_elf(&m, UX_HOLDS_CODE | UX_HOLDS_SECTIONS),
	};
	enum ux_code code = UX_ENOTFOUND;
	for (size_t i = 0; i < ux_countof(files) && code == UX_ENOTFOUND; i++)
		if (files[i])
			code = debuginfod_find_section(req, files[i], &f);
	bool found = code == UX_OK;
	if (code == UX_ENOTFOUND && ux_module_in_state(&m, UX_CANDIDATE_PENDING))
		return ux_request_await(req, res);
	if (code == UX_ENOTFOUND)
		code = debuginfod_fetch_either(req, res, id, !files[0], !files[1]);
	if (code == UX_ENOTFOUND)
		return debuginfod_check_rows(req, &m);
	return found ? debuginfod_answer(req, res, &f) : code;
}

enum ux_code ux_handle_debuginfod_section(struct ux_request *req, struct ux_response *res)
{
	return debuginfod_end(req, res, debuginfod_answer_section(req, res));
}

/* Finds a source file that an upstream sent. It remains available after the upstream is removed. */
static enum ux_code debuginfod_fetched_source(struct ux_request *req, struct ux_response *res,
					      const char *id, const char *path)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_fetched_list list = {0};
	char *artifact = ux_arena_array(&req->arena, char, strlen(path) + sizeof("source"));
	if (!artifact)
		return ux_arena_fail(&req->arena, &req->err);
	snprintf(artifact, strlen(path) + sizeof("source"), "source%s", path);
	UX_TRY(ix->fetched.list(ix, ux_caller_of(req)->ns, id, artifact, &req->arena, &list,
				&req->err));
	for (size_t i = 0; i < list.n; i++) {
		const struct ux_fetched *a = &list.answers[i];
		const struct debuginfod_file f = {.blob = a->blob,
						  .blob_size = a->size,
						  .size = a->size,
						  .name = path,
						  .created = a->queried};
		if (a->has_blob)
			return debuginfod_answer(req, res, &f);
	}
	return debuginfod_fetch(req, res, id, UX_FETCH_SOURCE, path);
}

/*
 * Uses the path of the request only as a key of the index. Both it and the uploaded path are in
 * canonical form.
 */
static enum ux_code debuginfod_answer_source(struct ux_request *req, struct ux_response *res)
{
	struct ux_module m;
	struct ux_source s;
	const char *path = NULL, *id = NULL;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(debuginfod_some(req, &m, &id));
	if (ux_path_of_source(req->params[1], &req->arena, &path, NULL) != UX_OK)
		return debuginfod_not_found(req);
	const struct ux_source_request request = {
		.ns = ux_caller_of(req)->ns, .id = id, .path = path};
	enum ux_code code =
		ux_source_lookup(ux_server_of(req)->store, &request, &req->arena, &s, &why);
	if (code == UX_ENOTFOUND)
		return debuginfod_fetched_source(req, res, id, path);
	if (code != UX_OK)
		return ux_error_pass(&req->err, code, &why);
	const struct debuginfod_file f = {.blob = s.blob,
					  .blob_size = s.blob_size,
					  .off = s.off,
					  .size = s.size,
					  .name = s.path,
					  .archive = s.bundle,
					  .created = s.created};
	return debuginfod_answer(req, res, &f);
}

enum ux_code ux_handle_debuginfod_source(struct ux_request *req, struct ux_response *res)
{
	return debuginfod_end(req, res, debuginfod_answer_source(req, res));
}

enum {
	HITS_MAX = 1000, /* beyond it, "complete" is false */
	VALUE_MAX = 1024
};

static void debuginfod_put_file(struct ux_json *j, const char *type, const char *hex,
				const char *file)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "type", type);
	ux_json_key_cstr(j, "buildid", hex);
	ux_json_key_cstr(j, "file", file);
	ux_json_object_end(j);
}

/* debuginfod knows only GNU build IDs. */
static void debuginfod_put_hit(struct ux_json *j, const struct ux_hit *hit)
{
	static const char gnu[] = "gnu:";
	size_t n = sizeof(gnu) - 1;
	if (strncmp(hit->id, gnu, n) != 0)
		return;
	if ((hit->holds & UX_HOLDS_CODE) != 0)
		debuginfod_put_file(j, "executable", hit->id + n, hit->file_name);
	if ((hit->holds & UX_HOLDS_DEBUG) != 0)
		debuginfod_put_file(j, "debuginfo", hit->id + n, hit->file_name);
}

/* Lists the files of one module: of each type the one that /buildid/ answers with. */
static enum ux_code debuginfod_put_module(struct ux_request *req, struct ux_json *j,
					  struct ux_bytes hex)
{
	struct ux_module m = {0};
	enum ux_code code = debuginfod_module(req, hex, &m);
	if (code != UX_OK)
		return code == UX_ENOTFOUND ? UX_OK : code;
	const struct ux_candidate *exe = ux_module_elf(&m, UX_HOLDS_CODE);
	const struct ux_candidate *debug = ux_module_elf(&m, UX_HOLDS_DEBUG);
	const char *text = ux_arena_strndup(&req->arena, (const char *)hex.data, hex.size);
	if (!text)
		return ux_arena_fail(&req->arena, &req->err);
	if (exe)
		debuginfod_put_file(j, "executable", text, exe->file_name);
	if (debug)
		debuginfod_put_file(j, "debuginfo", text, debug->file_name);
	return UX_OK;
}

static enum ux_code debuginfod_search(struct ux_request *req, struct ux_json *j,
				      enum ux_search_by by, struct ux_bytes value, bool *ret_more)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const struct ux_search what = {
		.by = by, .text = (const char *)value.data, .limit = HITS_MAX};
	struct ux_hits hits;
	UX_TRY(ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, &hits, &req->err));
	for (size_t i = 0; i < hits.n; i++)
		debuginfod_put_hit(j, &hits.hits[i]);
	*ret_more = hits.more;
	return UX_OK;
}

enum ux_code ux_handle_debuginfod_metadata(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes key, value;
	bool more = false;
	if (!ux_request_query(req, "key", &key) || !ux_request_query(req, "value", &value) ||
	    value.size == 0 || value.size > VALUE_MAX)
		return ux_error_set(&req->err, UX_EINVAL,
				    "expected ?key=glob|file|buildid&value=...");
	bool glob = ux_bytes_eq(key, UX_STR("glob"));
	bool build_id = ux_bytes_eq(key, UX_STR("buildid"));
	if (!glob && !build_id && !ux_bytes_eq(key, UX_STR("file")))
		return ux_error_set(&req->err, UX_EINVAL,
				    "key is '%.*s'; expected glob, file or buildid",
				    (int)ux_min(key.size, (size_t)32), (const char *)key.data);
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "results");
	ux_json_array_begin(&j);
	UX_TRY(build_id ? debuginfod_put_module(req, &j, value)
			: debuginfod_search(req, &j, glob ? UX_SEARCH_GLOB : UX_SEARCH_FILE, value,
					    &more));
	ux_json_array_end(&j);
	ux_json_key_bool(&j, "complete", !more);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
