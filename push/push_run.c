/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a push: finding modules, querying, extracting, sending. */
#include "push_work.h"

#include "path_base.h"

const char *ux_push_status_name(enum ux_push_status status)
{
	switch (status) {
	case UX_PUSH_DONE_UPLOADED:
		return "uploaded";
	case UX_PUSH_DONE_ALREADY_THERE:
		return "already-there";
	case UX_PUSH_DONE_BETTER_THERE:
		return "better-there";
	case UX_PUSH_DONE_SKIPPED:
		return "skipped";
	case UX_PUSH_DONE_FAILED:
	case UX_PUSH_STATUS_COUNT:
		break;
	}
	return "failed";
}

static void push_work_deinit(struct ux_push_work *p)
{
	ux_scan_deinit(&p->scan);
	ux_push_modules_free(&p->modules);
	ux_push_by_id_deinit(&p->known);
	ux_push_client_close(&p->client);
	ux_push_archives_close(p);
	ux_source_trees_deinit(&p->trees);
}

/* Reports a file that was rejected before it became a module. */
void ux_push_report_left_out(void *ctx, const char *path, bool named, const struct ux_error *err)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	bool harmless = err->code == UX_EINVAL || err->code == UX_EUNSUPPORTED;
	ux_push_report(ctx, &(struct ux_push_result){
				    .path = path,
				    .status = named || !harmless ? UX_PUSH_DONE_FAILED
								 : UX_PUSH_DONE_SKIPPED,
				    .reason = ux_error_format(err, text, sizeof(text)),
				    .quiet = !named && harmless,
			    });
}

static void push_report_module(struct ux_push_work *p, const struct ux_push_module *m,
			       enum ux_push_status status, const char *reason)
{
	ux_push_report(p, &(struct ux_push_result){.path = m->path,
						   .gpu = m->gpu,
						   .debug = m->debug,
						   .id = m->ids.size ? &m->ids.ids[0] : NULL,
						   .status = status,
						   .reason = reason,
						   .warning = ux_push_module_warning(m),
						   .quality = m->claim});
}

/*
 * Reports m as refused: it shares an ID with another module but is a different Go program. Under
 * one ID, the addresses of both would get the names of one of them.
 */
static void push_refuse_other_go(struct ux_push_work *p, const struct ux_push_module *first,
				 const struct ux_push_module *m)
{
	char reason[UX_PUSH_REASON];
	snprintf(reason, sizeof(reason),
		 "another Go program (%.32s) has this build ID; link each one with its own -B",
		 ux_path_base(first->path ? first->path : ""));
	push_report_module(p, m, UX_PUSH_DONE_FAILED, reason);
}

/* Merges m into the module that shares an ID with it. Files that remain in m are reported. */
static void push_join_module(struct ux_push_work *p, struct ux_push_module *first,
			     struct ux_push_module *m)
{
	char reason[UX_PUSH_REASON];
	struct ux_id id = m->ids.ids[0];
	bool useful = ux_push_module_join(first, m);
	const char *lost = m->path ? m->path : first->debug;
	snprintf(reason, sizeof(reason), "%s %.120s", !useful ? "same ID as" : "joined with",
		 first->path);
	ux_push_report(p, &(struct ux_push_result){.path = lost,
						   .gpu = m->gpu,
						   .id = &id,
						   .status = UX_PUSH_DONE_SKIPPED,
						   .reason = reason,
						   .quality = m->claim});
}

/* Adds *m, or merges it into the module with the same ID. */
static enum ux_code push_add_module(struct ux_push_work *p, struct ux_push_module *m,
				    struct ux_error *err)
{
	for (size_t i = 0; i < m->ids.size; i++) {
		size_t *number = ux_push_by_id_find(&p->known, m->ids.ids[i]);
		if (!number)
			continue;
		struct ux_push_module *first = &p->modules.data[*number];
		if (ux_id_set_other_go(&first->ids, &m->ids))
			push_refuse_other_go(p, first, m);
		else
			push_join_module(p, first, m);
		return UX_OK;
	}
	for (size_t i = 0; i < m->ids.size; i++) {
		bool fresh = false;
		size_t *number = ux_push_by_id_insert(&p->known, m->ids.ids[i], &fresh);
		if (!number)
			return ux_error_nomem(err);
		*number = p->modules.size;
	}
	if (!ux_push_modules_append(&p->modules, *m))
		return ux_error_nomem(err);
	*m = (struct ux_push_module){0};
	return UX_OK;
}

/* Adds the modules of one file: its slices, or its GPU code objects. */
static enum ux_code push_add_modules(struct ux_push_work *p, struct ux_push_modules *v, bool named,
				     struct ux_error *err)
{
	for (size_t i = 0; i < v->size; i++) {
		v->data[i].named = named;
		UX_TRY(push_add_module(p, &v->data[i], err));
	}
	return UX_OK;
}

/* Adds the GPU code in the file. */
static enum ux_code push_read_gpu(struct ux_push_work *p, const struct ux_scan_file *file,
				  struct ux_push_modules *ret, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	if (!p->o->no_gpu && ux_push_gpu_read(file->path, ret, &why) == UX_ENOMEM)
		return ux_error_nomem(err);
	return UX_OK;
}

static enum ux_code push_read_file(struct ux_push_work *p, const struct ux_scan_file *file,
				   struct ux_error *err)
{
	ux_cleanup(ux_push_modules_free) struct ux_push_modules v = {0}, gpu = {0};
	struct ux_error why = UX_ERROR_INIT;
	ux_push_reading(p->o, file->path);
	if (!p->o->no_archives && ux_push_archive_is(file->path)) {
		UX_TRY(ux_push_archive_read(p, file->path, file->named, &v, err));
		return push_add_modules(p, &v, /* named= */ false, err);
	}
	enum ux_code code = ux_push_modules_read(&v, file->path, file->named, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK || code == UX_EUNSUPPORTED) /* a fat binary is not an ELF file */
		UX_TRY(push_read_gpu(p, file, &gpu, err));
	/* A file with GPU code can be pushed even if its own code has no symbols. */
	if (code == UX_OK)
		UX_TRY(push_add_modules(p, &v, file->named && gpu.size == 0, err));
	else if (gpu.size == 0)
		ux_push_report_left_out(p, file->path, file->named, &why);
	return push_add_modules(p, &gpu, file->named, err);
}

/* Pairs the given debug file with a module of the given executable. */
static enum ux_code push_pair_module(struct ux_push_work *p, struct ux_push_module *m,
				     struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	enum ux_code code = UX_OK;
	m->named = true;
	if (p->o->debug) {
		ux_push_reading(p->o, p->o->debug);
		code = ux_push_module_debug(
			m, p->o->debug,
			p->o->allow_mismatch ? UX_DEBUG_GIVEN_ANYWAY : UX_DEBUG_GIVEN, &why);
	}
	if (code == UX_OK)
		return push_add_module(p, m, err);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_ECONFLICT)
		push_report_module(p, m, UX_PUSH_DONE_FAILED,
				   ux_error_format(&why, text, sizeof(text)));
	else
		ux_push_report_left_out(p, p->o->debug, /* named= */ true, &why);
	return UX_OK;
}

/* Reads the executable and the debug file that were given as a pair. */
static enum ux_code push_read_pair(struct ux_push_work *p, struct ux_error *err)
{
	ux_cleanup(ux_push_modules_free) struct ux_push_modules v = {0};
	struct ux_error why = UX_ERROR_INIT;
	ux_push_reading(p->o, p->o->exe);
	enum ux_code code = ux_push_modules_read(&v, p->o->exe, /* named= */ true, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		ux_push_report_left_out(p, p->o->exe, /* named= */ true, &why);
	for (size_t i = 0; i < v.size; i++)
		UX_TRY(push_pair_module(p, &v.data[i], err));
	return UX_OK;
}

/*
 * Adds the supplementary files that the modules' debug information refers to: a server that
 * extracts and serves the debug files needs them too. m->lost says if a file is missing.
 */
static enum ux_code push_find_supplementary(struct ux_push_work *p, struct ux_error *err)
{
	size_t n = p->modules.size; /* the added files refer to no further file */
	for (size_t i = 0; i < n; i++) {
		ux_cleanup(ux_push_modules_free) struct ux_push_modules v = {0};
		struct ux_push_module *m = &p->modules.data[i];
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ux_push_module_supplementary(m, p->o->debug_dirs, &v, &why);
		if (code == UX_ENOMEM)
			return ux_error_nomem(err);
		if (code == UX_ENOTFOUND)
			snprintf(m->lost, sizeof(m->lost), "%s", why.text);
		if (p->o->with_debuginfo && v.size == 1 && v.data[0].supplementary &&
		    !ux_push_by_id_find(&p->known, v.data[0].ids.ids[0]))
			UX_TRY(push_add_module(p, &v.data[0], err));
	}
	return UX_OK;
}

/* Moves the supplementary files to the front, so that the server has them when it extracts. */
static void push_order_modules(struct ux_push_modules *v)
{
	size_t front = 0;
	for (size_t i = 0; i < v->size; i++) {
		struct ux_push_module m = v->data[i];
		if (!m.supplementary)
			continue;
		memmove(v->data + front + 1, v->data + front, (i - front) * sizeof(m));
		v->data[front++] = m;
	}
}

static enum ux_code push_read_process(struct ux_push_work *p, pid_t pid,
				      struct ux_push_modules *ret, struct ux_error *err)
{
	char name[32];
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_push_process_read(p, pid, ret, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	snprintf(name, sizeof(name), "process %d", (int)pid);
	if (code != UX_OK)
		ux_push_report_left_out(p, name, /* named= */ true, &why);
	return UX_OK;
}

/* Finds the modules and everything about them that does not need the server. */
static enum ux_code push_find_modules(struct ux_push_work *p, char *const *paths, size_t n,
				      struct ux_error *err)
{
	ux_cleanup(ux_push_modules_free) struct ux_push_modules others = {0};
	for (size_t i = 0; i < n; i++)
		UX_TRY(ux_scan_path(&p->scan, paths[i], err));
	for (size_t i = 0; i < p->o->n_pids; i++)
		UX_TRY(push_read_process(p, p->o->pids[i], &others, err));
	for (size_t i = 0; i < p->scan.files.size; i++)
		UX_TRY(push_read_file(p, &p->scan.files.data[i], err));
	for (size_t i = 0; i < p->o->n_images; i++)
		UX_TRY(ux_push_image_read(p, p->o->images[i], &others, err));
	UX_TRY(push_add_modules(p, &others, /* named= */ false, err));
	if (p->o->exe)
		UX_TRY(push_read_pair(p, err));
	for (size_t i = 0; i < p->modules.size; i++) {
		struct ux_push_module *m = &p->modules.data[i];
		struct ux_error why = UX_ERROR_INIT;
		ux_push_reading(p->o, m->path);
		/* If the file has vanished, the extraction reports it. */
		if (ux_push_module_find_debug(m, p->o->debug_dirs, &why) == UX_ENOMEM)
			return ux_error_nomem(err);
	}
	return push_find_supplementary(p, err);
}

enum ux_trust ux_push_trust_of(const struct ux_push_work *p, const struct ux_push_module *m)
{
	return m->origin.trust != UX_TRUST_NONE ? m->origin.trust : p->o->trust;
}

enum ux_code ux_push_gsym_send(struct ux_push_work *p, const struct ux_push_module *m,
			       const struct ux_push_gsym *gsym,
			       const struct ux_extract_stats *stats, struct ux_error *err)
{
	assert(m->ids.size > 0);
	struct ux_push_answer answer = {.verdict = UX_PUSH_WANTED};
	struct ux_id_set ids = m->ids;
	UX_ARENA(arena, UX_PUSH_PATHS_MAX);
	if (m->alias.size > 0)
		(void)!ux_id_set_add(&ids, &m->alias, NULL); /* omitted if there is no room */
	struct ux_provenance from = p->o->provenance;
	struct ux_push_origin_text text;
	ux_push_origin_describe(&m->origin, &text, &from);
	struct ux_push_upload upload = {
		.ids = &ids,
		.trust = ux_push_trust_of(p, m),
		.quality = stats->quality,
		.bytes = gsym->file.bytes,
		.kind = "gsym",
		.description = p->o->description ? p->o->description : "",
		.provenance = &from,
		.file = ux_push_listed_path(m->path, &arena),
		.force = p->o->force,
	};
	if (!upload.file)
		return ux_error_nomem(err);
	/* The extracted quality is lower than the sections promised: query again before sending. */
	if (stats->quality < m->claim && !p->o->force && !p->o->describes) {
		struct ux_push_query_entry entry = {&m->ids, stats->quality, upload.trust};
		UX_TRY(ux_push_query(&p->client, &entry, 1, false, &answer, err));
	}
	if (answer.verdict == UX_PUSH_WANTED)
		UX_TRY(ux_push_upload(&p->client, &upload, &answer, err));
	enum ux_push_status status = ux_push_status_of(answer.verdict);
	ux_push_report(p,
		       &(struct ux_push_result){
			       .path = m->path,
			       .gpu = m->gpu,
			       .debug = m->debug,
			       .id = &m->ids.ids[0],
			       .status = status,
			       .reason = answer.reason[0] != '\0' ? answer.reason : m->lost,
			       .warning = ux_push_module_warning(m),
			       .quality = stats->quality,
			       .counts = stats->counts,
			       .size = status == UX_PUSH_DONE_UPLOADED ? gsym->file.bytes.size : 0,
		       });
	return UX_OK;
}

/* Returns whether the module can be sent as a file. A module inside a file, such as a slice, has no
 * file of its own. */
static bool push_goes_as_file(const struct ux_push_work *p, const struct ux_push_module *m)
{
	return p->o->with_debuginfo && m->arch[0] == '\0' && m->gpu == 0 && !m->packed && !m->gsym;
}

/*
 * Sends the files of a module. The server may lack other files that are on this machine, such as
 * parts of a split build or the file that dwz made. If the server's quality is below the claim of
 * the sections, a locally extracted GSYM is sent too.
 */
static enum ux_code push_as_files(struct ux_push_work *p, struct ux_push_module *m,
				  struct ux_push_gsym *gsym, struct ux_error *err)
{
	struct ux_extract_stats stats = {0};
	enum ux_quality there = UX_QUALITY_COUNT;
	UX_TRY(ux_push_files(p, m, &there, err));
	if (there >= m->claim)
		return UX_OK;
	enum ux_code code = ux_push_extract(p, m, gsym, &stats, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	return code == UX_OK && stats.quality > there ? ux_push_gsym_send(p, m, gsym, &stats, err)
						      : UX_OK;
}

/* Reports what a push that is not a dry run would do with a module that the server lacks. */
static void push_report_planned(struct ux_push_work *p, const struct ux_push_module *m,
				const struct ux_push_answer *answer)
{
	bool planned = answer->verdict == UX_PUSH_WANTED;
	ux_push_report(p, &(struct ux_push_result){
				  .path = m->path,
				  .gpu = m->gpu,
				  .id = &m->ids.ids[0],
				  .status = UX_PUSH_DONE_SKIPPED,
				  .reason = planned ? "dry run: would be uploaded"
						    : "dry run: would be described",
				  .warning = ux_push_module_warning(m),
				  .planned = planned,
			  });
}

static enum ux_code push_extract_requested(struct ux_push_work *p, struct ux_push_module *m,
					   struct ux_push_gsym *gsym,
					   struct ux_extract_stats *stats, bool *ret_sends,
					   struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	enum ux_code code = ux_push_extract(p, m, gsym, stats, &why);
	if (code == UX_OK && stats->quality == UX_QUALITY_NONE)
		code = ux_error_set(&why, UX_ENOTFOUND, UX_MODULE_NO_SYMBOLS);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	*ret_sends = code == UX_OK;
	if (code == UX_OK)
		return UX_OK;
	bool nothing = code == UX_ENOTFOUND && !m->named;
	push_report_module(p, m, nothing ? UX_PUSH_DONE_SKIPPED : UX_PUSH_DONE_FAILED,
			   ux_error_format(&why, text, sizeof(text)));
	return UX_OK;
}

enum ux_code ux_push_module_extract(struct ux_push_work *p, struct ux_push_module *m,
				    const struct ux_push_answer *answer, struct ux_push_gsym *gsym,
				    struct ux_extract_stats *stats, bool *ret_sends,
				    struct ux_error *err)
{
	*ret_sends = false;
	bool wanted = answer->verdict == UX_PUSH_WANTED ||
		      (answer->verdict == UX_PUSH_ALREADY_THERE && p->o->describes);
	if (wanted && !p->o->dry_run)
		return push_extract_requested(p, m, gsym, stats, ret_sends, err);
	if (wanted)
		push_report_planned(p, m, answer);
	else
		push_report_module(p, m, ux_push_status_of(answer->verdict), answer->reason);
	return UX_OK;
}

static enum ux_code push_symbols(struct ux_push_work *p, struct ux_push_module *m,
				 const struct ux_push_answer *answer, struct ux_push_gsym *gsym,
				 struct ux_error *err)
{
	struct ux_extract_stats stats = {0};
	bool sends = false;
	if (push_goes_as_file(p, m) && !p->o->dry_run && answer->verdict != UX_PUSH_REFUSED)
		return push_as_files(p, m, gsym, err);
	UX_TRY(ux_push_module_extract(p, m, answer, gsym, &stats, &sends, err));
	return sends ? ux_push_gsym_send(p, m, gsym, &stats, err) : UX_OK;
}

static void push_report_sources(struct ux_push_work *p, const struct ux_push_module *m,
				enum ux_push_status status, const char *reason,
				const struct ux_push_sources *s)
{
	ux_push_report(p, &(struct ux_push_result){
				  .path = m->path,
				  .gpu = m->gpu,
				  .id = &m->ids.ids[0],
				  .status = status,
				  .reason = reason,
				  .is_sources = true,
				  .sources = s->files,
				  .sources_missing = s->missing + s->left_out,
				  .sources_outside = s->outside,
				  .size = status == UX_PUSH_DONE_UPLOADED ? s->archive.size : 0,
			  });
}

static enum ux_code push_send_sources(struct ux_push_work *p, const struct ux_push_module *m,
				      const struct ux_push_sources *s, struct ux_error *err)
{
	struct ux_push_answer answer = {0};
	const struct ux_push_upload upload = {
		.ids = &m->ids,
		.bytes = ux_out_bytes(&s->archive),
		.kind = "sources",
		.trust = ux_push_trust_of(p, m),
		.description = p->o->description ? p->o->description : "",
		.provenance = &p->o->provenance,
		.file = "sources.tar.zst",
		.force = p->o->force,
	};
	UX_TRY(ux_push_upload(&p->client, &upload, &answer, err));
	push_report_sources(p, m, ux_push_status_of(answer.verdict),
			    answer.verdict == UX_PUSH_PENDING ? "the server is still reading it"
							      : answer.reason,
			    s);
	return UX_OK;
}

/* Pushes the source files that are named in a module's line table and exist on this machine. */
static enum ux_code push_sources(struct ux_push_work *p, struct ux_push_module *m,
				 struct ux_push_gsym *gsym, struct ux_error *err)
{
	ux_cleanup(ux_push_sources_deinit) struct ux_push_sources s = {0};
	struct ux_extract_stats stats;
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	enum ux_code code = UX_OK;
	if (gsym->file.bytes.size == 0)
		code = ux_push_extract(p, m, gsym, &stats, &why);
	if (code == UX_OK)
		code = ux_push_sources_collect(gsym->file.bytes, p->o, &p->trees, &s, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		push_report_sources(
			p, m, code == UX_ENOTFOUND ? UX_PUSH_DONE_SKIPPED : UX_PUSH_DONE_FAILED,
			ux_error_format(&why, text, sizeof(text)), &s);
		return UX_OK;
	}
	if (!p->o->dry_run)
		return push_send_sources(p, m, &s, err);
	push_report_sources(p, m, UX_PUSH_DONE_SKIPPED, "dry run: would be uploaded", &s);
	return UX_OK;
}

enum ux_code ux_push_module_send(struct ux_push_work *p, struct ux_push_module *m,
				 const struct ux_push_answer *answer, struct ux_error *err)
{
	ux_cleanup(ux_push_gsym_deinit) struct ux_push_gsym gsym = {0};
	UX_TRY(push_symbols(p, m, answer, &gsym, err));
	if (!p->o->sources || answer->verdict == UX_PUSH_REFUSED)
		return UX_OK;
	return push_sources(p, m, &gsym, err);
}

/* Reports all modules as failed, since the server cannot be queried. */
static void push_report_unreached(struct ux_push_work *p, const struct ux_error *err)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	const char *reason = ux_error_format(err, text, sizeof(text));
	for (size_t i = 0; i < p->modules.size; i++) {
		const struct ux_push_module *m = &p->modules.data[i];
		ux_push_report(p, &(struct ux_push_result){.path = m->path,
							   .gpu = m->gpu,
							   .id = &m->ids.ids[0],
							   .status = UX_PUSH_DONE_FAILED,
							   .reason = reason,
							   .unreached = true});
	}
}

static enum ux_code push_modules(struct ux_push_work *p, struct ux_error *err)
{
	size_t n = p->modules.size;
	ux_cleanup(ux_free_ptr) struct ux_push_query_entry *entries = calloc(n, sizeof(*entries));
	ux_cleanup(ux_free_ptr) struct ux_push_answer *answers = calloc(n, sizeof(*answers));
	if (!entries || !answers)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		entries[i] = (struct ux_push_query_entry){&p->modules.data[i].ids,
							  p->modules.data[i].claim,
							  ux_push_trust_of(p, &p->modules.data[i])};
	enum ux_code code = ux_push_query(&p->client, entries, n, p->o->force, answers, err);
	p->progress.files_total = n;
	if (code != UX_OK) {
		push_report_unreached(p, err);
		return code;
	}
	size_t front = 0; /* supplementary files: the server needs them for the others */
	while (front < n && p->modules.data[front].supplementary)
		front++;
	return ux_push_jobs_run(p, answers, front, err);
}

/*
 * Reports modules without any symbols and removes them, so that the server is not queried about
 * them.
 */
static void push_drop_empty(struct ux_push_work *p)
{
	size_t kept = 0;
	for (size_t i = 0; i < p->modules.size; i++) {
		struct ux_push_module *m = &p->modules.data[i];
		if (m->claim != UX_QUALITY_NONE || (m->supplementary && p->o->with_debuginfo)) {
			p->modules.data[kept++] = *m;
			continue;
		}
		push_report_module(p, m, m->named ? UX_PUSH_DONE_FAILED : UX_PUSH_DONE_SKIPPED,
				   m->supplementary
					   ? "only other files refer to it (dwz); upload it with "
					     "--with-debuginfo"
					   : UX_MODULE_NO_SYMBOLS);
		ux_push_module_deinit(m);
	}
	p->modules.size = kept;
}

enum ux_code ux_push_run(const struct ux_push_options *options, char *const *paths, size_t n,
			 struct ux_push_summary *ret, struct ux_error *err)
{
	ux_cleanup(push_work_deinit) struct ux_push_work p = {
		.o = options, .summary = ret, .scratch = -1};
	*ret = (struct ux_push_summary){0};
	p.scan.left_out = ux_push_report_left_out;
	p.scan.ctx = &p;
	UX_TRY(ux_push_client_open(&p.client, options, err));
	if (options->sources)
		UX_TRY(ux_push_sources_trees(options, paths, n, &p.trees, err));
	UX_TRY(push_find_modules(&p, paths, n, err));
	push_drop_empty(&p);
	push_order_modules(&p.modules);
	return p.modules.size > 0 ? push_modules(&p, err) : UX_OK;
}
