/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /buildid/...: what debuginfod's clients ask for; never anything but what was uploaded. Source:
 * debuginfod(8) and the clients of elfutils 0.188 to 0.192, which remember a 404 for ten minutes
 * and take a 5xx for the server's end, so what is malformed is not found either.
 */
#include "debuginfod_answer.h"
#include "elf_file.h"
#include "path_canonical.h"
#include "protocols.h"
#include "upstreams.h"

static enum ux_code answer_whole(struct ux_request *req, struct ux_response *res, unsigned holds,
				 enum ux_want want)
{
	struct ux_module m;
	const char *id = NULL;
	UX_TRY(ux_debuginfod_some(req, &m, &id));
	const struct ux_candidate *c = ux_module_elf(&m, holds);
	if (!c)
		return ux_debuginfod_fetch(req, res, id, want, NULL);
	const struct ux_debuginfod_file f = {.blob = c->blob,
					     .blob_size = c->size,
					     .size = c->size,
					     .name = c->file_name,
					     .created = c->created};
	return ux_debuginfod_answer(req, res, &f);
}

enum ux_code ux_handle_debuginfod_debuginfo(struct ux_request *req, struct ux_response *res)
{
	return answer_whole(req, res, UX_HOLDS_DEBUG, UX_WANT_DEBUGINFO);
}

enum ux_code ux_handle_debuginfod_executable(struct ux_request *req, struct ux_response *res)
{
	return answer_whole(req, res, UX_HOLDS_CODE, UX_WANT_EXECUTABLE);
}

/* The bytes of a section as they are in the file, compressed ones too. UX_ENOTFOUND. */
static enum ux_code find_section(struct ux_request *req, const struct ux_candidate *c,
				 struct ux_debuginfod_file *ret)
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
	*ret = (struct ux_debuginfod_file){.blob = c->blob,
					   .blob_size = c->size,
					   .off = s->off,
					   .size = s->size,
					   .name = c->file_name,
					   .created = c->created};
	return UX_OK;
}

/* Of the debug file, and where that has none of it, of the executable. A file that nobody here has
 * is asked for elsewhere, the debug file first. */
enum ux_code ux_handle_debuginfod_section(struct ux_request *req, struct ux_response *res)
{
	struct ux_module m;
	struct ux_debuginfod_file f = {0};
	const char *id = NULL;
	UX_TRY(ux_debuginfod_some(req, &m, &id));
	const struct ux_candidate *const places[] = {
		ux_module_elf(&m, UX_HOLDS_DEBUG | UX_HOLDS_SECTIONS),
		ux_module_elf(&m, UX_HOLDS_CODE | UX_HOLDS_SECTIONS),
	};
	enum ux_code code = UX_ENOTFOUND;
	for (size_t i = 0; i < ux_countof(places) && code == UX_ENOTFOUND; i++)
		if (places[i])
			code = find_section(req, places[i], &f);
	bool found = code == UX_OK;
	if (code == UX_ENOTFOUND && !places[0])
		code = ux_request_fetch(req, res, id, UX_WANT_DEBUGINFO, NULL);
	if (code == UX_ENOTFOUND && !places[1])
		code = ux_request_fetch(req, res, id, UX_WANT_EXECUTABLE, NULL);
	if (code == UX_ENOTFOUND)
		return ux_debuginfod_not_found(req);
	return found ? ux_debuginfod_answer(req, res, &f) : code;
}

/* What an upstream said has it in its answer; the answers stay when the upstream goes. */
static enum ux_code fetched_source(struct ux_request *req, struct ux_response *res, const char *id,
				   const char *path)
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
		const struct ux_debuginfod_file f = {.blob = a->blob,
						     .blob_size = a->size,
						     .size = a->size,
						     .name = path,
						     .created = a->asked};
		if (a->has_blob)
			return ux_debuginfod_answer(req, res, &f);
	}
	return ux_debuginfod_fetch(req, res, id, UX_WANT_SOURCE, path);
}

/* A stranger's path is a key of the index and of nothing else. As the clients send it and as it
 * was uploaded, it is compared in canonical form. */
enum ux_code ux_handle_debuginfod_source(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_module m;
	struct ux_source s;
	const char *path = NULL, *id = NULL;
	UX_TRY(ux_debuginfod_some(req, &m, &id));
	if (ux_path_of_source(req->params[1], &req->arena, &path, NULL) != UX_OK)
		return ux_debuginfod_not_found(req);
	enum ux_code code =
		ix->sources.find(ix, ux_caller_of(req)->ns, id, path, &req->arena, &s, NULL);
	if (code == UX_ENOTFOUND)
		return fetched_source(req, res, id, path);
	UX_TRY(code);
	const struct ux_debuginfod_file f = {.blob = s.blob,
					     .blob_size = s.blob_size,
					     .off = s.off,
					     .size = s.size,
					     .name = s.path,
					     .archive = s.bundle,
					     .created = s.created};
	return ux_debuginfod_answer(req, res, &f);
}
