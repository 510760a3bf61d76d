/* SPDX-License-Identifier: Apache-2.0 */
/* Pushing of whole files. */
#include "dwo_files.h"
#include "path_canonical.h"
#include "push_work.h"

#include <sys/stat.h>
#include <unistd.h>

enum {
	/* .dwo files of one module; a server keeps at most 4096 files of a module */
	PARTS_MAX = 4000,
	/* bytes of all of them; more are not read by a server's extraction */
	PARTS_BYTES_MAX = 1 << 30,
};

const char *ux_push_listed_path(const char *path, struct ux_arena *arena)
{
	char folder[PATH_MAX];
	const char *listed = NULL;
	if (path[0] == '/' || !getcwd(folder, sizeof(folder)))
		folder[0] = '\0';
	size_t size = strlen(folder) + strlen(path) + 2;
	char *whole = ux_arena_array(arena, char, size);
	if (!whole)
		return NULL;
	int n = snprintf(whole, size, "%s/%s", folder, path);
	enum ux_code code = ux_path_canonical(ux_bytes(whole, (size_t)n), arena, &listed, NULL);
	return code == UX_OK ? listed : code == UX_ENOMEM ? NULL : path;
}

void ux_push_report(struct ux_push_work *p, const struct ux_push_result *r)
{
	p->summary->counts[r->status]++;
	p->summary->quiet += r->quiet;
	p->summary->planned += r->planned;
	p->o->result(p->o->ctx, r);
}

enum ux_push_status ux_push_status_of(enum ux_push_verdict verdict)
{
	switch (verdict) {
	case UX_PUSH_UPLOADED:
		return UX_PUSH_DONE_UPLOADED;
	case UX_PUSH_ALREADY_THERE:
		return UX_PUSH_DONE_ALREADY_THERE;
	case UX_PUSH_BETTER_THERE:
		return UX_PUSH_DONE_BETTER_THERE;
	case UX_PUSH_PENDING: /* the server has the file and will extract it */
		return UX_PUSH_DONE_UPLOADED;
	case UX_PUSH_WANTED:
	case UX_PUSH_REFUSED:
		break;
	}
	return UX_PUSH_DONE_FAILED;
}

/* Sends one file. A local failure is reported in the answer. */
static enum ux_code push_send_file(struct ux_push_work *p, const struct ux_push_module *m,
				   const char *path, const struct ux_sandbox_part *part,
				   const char *kind, struct ux_push_answer *ret, uint64_t *size,
				   struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_error why = UX_ERROR_INIT;
	struct ux_bytes bytes = UX_BYTES_NONE;
	ux_push_reading(p->o, path);
	enum ux_code code = ux_push_map_part(path, part, &file, &bytes, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		ret->verdict = UX_PUSH_REFUSED;
		ux_error_format(&why, ret->reason, sizeof(ret->reason));
		return UX_OK;
	}
	UX_ARENA(arena, UX_PUSH_PATHS_MAX);
	const struct ux_push_upload upload = {
		.ids = &m->ids,
		.quality = m->claim,
		.trust = ux_push_trust_of(p, m),
		.bytes = bytes,
		.kind = kind,
		.description = p->o->description ? p->o->description : "",
		.provenance = &p->o->provenance,
		.file = ux_push_listed_path(path, &arena),
		.force = p->o->force,
	};
	if (!upload.file)
		return ux_error_nomem(err);
	UX_TRY(ux_push_upload(&p->client, &upload, ret, err));
	*size += ret->verdict == UX_PUSH_UPLOADED ? bytes.size : 0;
	return UX_OK;
}

/* How many files of a split build were sent, and the first failed answer. */
struct push_parts {
	struct ux_push_answer answer;
	uint64_t size;
};

/* Finds the .dwo files of the module; returns none if there are more than a server accepts. */
static enum ux_code push_find_parts(const struct ux_push_module *m, struct ux_dwo_paths *ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_error why = UX_ERROR_INIT;
	uint64_t size = 0;
	/* A file that cannot be read is reported later, when the file itself is sent. */
	enum ux_code code = ux_push_map(m->debug ? m->debug : m->path, &file, &why);
	if (code == UX_OK)
		code = ux_dwo_paths_find(file.bytes, m->debug, m->path, ret, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	for (size_t i = 0; i < ret->list.size; i++) {
		struct stat st;
		size += stat(ret->list.data[i], &st) == 0 ? (uint64_t)st.st_size : 0;
	}
	if (code != UX_OK || ret->list.size > PARTS_MAX || size > PARTS_BYTES_MAX)
		ret->list.size = 0;
	return UX_OK;
}

static enum ux_code push_send_part(struct ux_push_work *p, const struct ux_push_module *m,
				   const char *path, const char *kind, struct push_parts *ret,
				   struct ux_error *err)
{
	const struct ux_sandbox_part none = {0};
	struct ux_push_answer answer = {.verdict = UX_PUSH_ALREADY_THERE};
	UX_TRY(push_send_file(p, m, path, &none, kind, &answer, &ret->size, err));
	if (ret->answer.verdict == UX_PUSH_ALREADY_THERE || answer.verdict == UX_PUSH_REFUSED)
		ret->answer = answer;
	return UX_OK;
}

/*
 * Sends the files with the module's split units: the package (.dwp) beside it, or else the .dwo
 * files. Too many .dwo files are not sent. The server's symbols are then poorer than the sections
 * promise, so that the locally extracted symbols are sent too.
 */
static enum ux_code push_send_parts(struct ux_push_work *p, const struct ux_push_module *m,
				    struct push_parts *ret, struct ux_error *err)
{
	ux_cleanup(ux_dwo_paths_deinit) struct ux_dwo_paths parts = {0};
	char path[PATH_MAX];
	if (m->part.size > 0 || m->debug_part.size > 0)
		return UX_OK;
	if (ux_split_package_path(m->debug, m->path, path))
		UX_TRY(push_send_part(p, m, path, "dwp", ret, err));
	UX_TRY(push_find_parts(m, &parts, err));
	for (size_t i = 0; i < parts.list.size; i++)
		UX_TRY(push_send_part(p, m, parts.list.data[i], "dwo", ret, err));
	return UX_OK;
}

/*
 * Sends the executable and its debug file; each is useful although the server has the other. Parts
 * of a split build are sent first, so that the server has them when it extracts these.
 */
enum ux_code ux_push_files(struct ux_push_work *p, const struct ux_push_module *m,
			   enum ux_quality *ret_there, struct ux_error *err)
{
	struct ux_push_answer exe = {.verdict = UX_PUSH_ALREADY_THERE}, debug = exe;
	struct push_parts parts = {.answer = exe};
	UX_TRY(push_send_parts(p, m, &parts, err));
	uint64_t size = parts.size;
	UX_TRY(push_send_file(p, m, m->path, &m->part, m->debug_only ? "debuginfo" : "executable",
			      &exe, &size, err));
	if (m->debug && exe.verdict != UX_PUSH_REFUSED)
		UX_TRY(push_send_file(p, m, m->debug, &m->debug_part, "debuginfo", &debug, &size,
				      err));
	bool second = debug.verdict == UX_PUSH_REFUSED || exe.verdict == UX_PUSH_ALREADY_THERE;
	const struct ux_push_answer *answer = m->debug && second ? &debug : &exe;
	if (answer->verdict == UX_PUSH_ALREADY_THERE &&
	    parts.answer.verdict != UX_PUSH_ALREADY_THERE)
		answer = &parts.answer;
	bool sent = exe.verdict == UX_PUSH_UPLOADED || debug.verdict == UX_PUSH_UPLOADED;
	bool measured = sent && (exe.has_quality || debug.has_quality);
	enum ux_quality there = measured ? ux_max(exe.quality, debug.quality) : m->claim;
	ux_push_report(p, &(struct ux_push_result){
				  .path = m->path,
				  .debug = m->debug,
				  .id = &m->ids.ids[0],
				  .status = ux_push_status_of(answer->verdict),
				  .reason = answer->verdict == UX_PUSH_PENDING
						    ? "the server is still reading it"
					    : answer->reason[0] != '\0' ? answer->reason
									: m->lost,
				  .warning = ux_push_module_warning(m),
				  .quality = there,
				  .size = size,
			  });
	*ret_there = measured ? there : UX_QUALITY_COUNT;
	return UX_OK;
}
