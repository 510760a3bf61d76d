/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a package. Each member is identified when it arrives, the server is queried for a
 * batch of them, and the symbols it needs are extracted immediately, so that the member's space is
 * freed. The symbols, which are small, wait in files without names until the whole package is
 * verified.
 */
#include "crawl_work.h"

#include "clock.h"
#include "push_archive.h"
#include "text.h"

#include <elf.h>
#include <unistd.h>

enum {
	BATCH_MAX = 32, /* members of one query */
	GSYM_ALIGN = 8, /* alignment of GSYMs in the file of a package */
};

/* bytes of members that wait for their supplementary file, made by dwz */
#define WAITING_MAX (UINT64_C(4) << 30)

struct package_run {
	struct ux_push_work *w;
	const struct ux_push_options *outer; /* options of w, before and after the package */
	struct ux_extraction_memory *memory;
	struct ux_package_symbols *symbols;
	struct ux_package_stream *stream;
	struct ux_crawl_result *ret;
	struct ux_stripped_files stripped; /* stripped files of debug files without build IDs */
	struct ux_push_modules batch;      /* identified, not queried */
	struct ux_push_modules waiting;    /* waiting for their supplementary files */
	uint64_t waiting_bytes;
	bool outside; /* a place is below no mirror */
};

const char *ux_crawl_passed_name(enum ux_crawl_passed why)
{
	static const char *const names[] = {
		[UX_PASSED_UNLINKED] = "unlinked",
		[UX_PASSED_FOREIGN] = "foreign",
		[UX_PASSED_NO_SYMBOLS] = "no-symbols",
	};
	return names[why];
}

const char *ux_crawl_outcome_name(enum ux_crawl_outcome outcome)
{
	static const char *const names[UX_CRAWL_OUTCOME_COUNT] = {
		[UX_CRAWL_DONE] = "done",
		[UX_CRAWL_FAILED] = "failed",
		[UX_CRAWL_LATER] = "later",
	};
	return names[outcome];
}

void ux_package_symbols_deinit(struct ux_package_symbols *s)
{
	for (size_t i = 0; i < s->kept.size; i++)
		ux_push_module_deinit(&s->kept.data[i].module);
	ux_kept_list_deinit(&s->kept);
	if (s->file >= 0)
		close(s->file);
	s->file = -1;
}

static void package_run_deinit(struct package_run *r)
{
	ux_push_modules_free(&r->batch);
	ux_push_modules_free(&r->waiting);
	/* their parts are in files of the stream */
	ux_push_modules_free(&r->w->modules);
	ux_push_by_id_deinit(&r->w->known);
	r->w->o = r->outer;
	ux_package_stream_close(r->stream);
	ux_stripped_files_deinit(&r->stripped);
}

/* A member that cannot be read costs only itself. */
static enum ux_code package_bad_member(struct package_run *r, const char *name,
				       const struct ux_error *why, struct ux_error *err)
{
	if (why->code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (why->code == UX_EUNAVAILABLE) {
		*err = *why;
		return why->code;
	}
	if (why->code == UX_EINVAL || why->code == UX_EUNSUPPORTED) {
		r->ret->passed[UX_PASSED_FOREIGN]++;
		return UX_OK;
	}
	if (r->ret->bad++ == 0)
		r->ret->first_bad = *why;
	ux_push_report_left_out(r->w, name, /* named= */ false, why);
	return UX_OK;
}

/* Frees the space of a module's files, which are no longer needed. */
static void package_release(const struct ux_sandbox_part *exe, const struct ux_sandbox_part *debug)
{
	ux_sandbox_stream_release(exe);
	if (debug->size > 0)
		ux_sandbox_stream_release(debug);
}

/* --- extraction ------------------------------------------------------------------------------- */

/* Appends a GSYM to the file of the package. */
static enum ux_code package_keep_gsym(struct ux_package_symbols *s, struct ux_bytes gsym,
				      struct ux_sandbox_part *ret, struct ux_error *err)
{
	if (s->file < 0)
		UX_TRY(ux_spill_open(ux_spill_folder(), 0, &s->file, err));
	UX_TRY(ux_file_write_at(s->file, s->used, gsym, err));
	*ret = (struct ux_sandbox_part){s->file, s->used, gsym.size};
	s->used += (gsym.size + GSYM_ALIGN - 1) / GSYM_ALIGN * GSYM_ALIGN;
	return UX_OK;
}

/* Extracts a module, which is taken, and keeps its symbols. Frees its member's space. */
static enum ux_code package_extract(struct package_run *r, struct ux_push_module *m,
				    struct ux_error *err)
{
	ux_cleanup(ux_push_gsym_deinit) struct ux_push_gsym gsym = {0};
	struct ux_kept_symbols k = {0};
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_sandbox_part part = m->part, debug = m->debug_part;
	k.module = *m;
	*m = (struct ux_push_module){0};
	r->w->client.deadline_ms = ux_clock_ms() + r->w->o->timeout_ms;
	uint64_t memory = ux_extraction_memory_take(r->memory, part.size + debug.size);
	r->symbols->options.memory = memory;
	enum ux_code code = ux_push_extract(r->w, &k.module, &gsym, &k.stats, &why);
	ux_extraction_memory_give(r->memory, memory);
	package_release(&part, &debug);
	k.module.part.size = k.module.debug_part.size = 0;
	bool nothing =
		code == UX_ENOTFOUND || (code == UX_OK && k.stats.quality == UX_QUALITY_NONE);
	if (code == UX_OK && !nothing)
		code = package_keep_gsym(r->symbols, gsym.file.bytes, &k.gsym, &why);
	if (code == UX_OK && !nothing) {
		if (ux_kept_list_append(&r->symbols->kept, k))
			return UX_OK;
		code = ux_error_nomem(&why);
	}
	r->ret->passed[UX_PASSED_NO_SYMBOLS] += nothing;
	code = nothing ? UX_OK : package_bad_member(r, k.module.path, &why, err);
	ux_push_module_deinit(&k.module);
	return code;
}

/* Extracts the modules that wait for a supplementary file; size 0: all modules that wait. */
static enum ux_code package_extract_waiting(struct package_run *r, const struct ux_id *id,
					    struct ux_error *err)
{
	size_t left = 0;
	for (size_t i = 0; i < r->waiting.size; i++) {
		struct ux_push_module *m = &r->waiting.data[i];
		if (m->path && (id->size == 0 || ux_id_eq(&m->needs, id))) {
			r->waiting_bytes -= m->part.size;
			UX_TRY(package_extract(r, m, err));
			continue;
		}
		struct ux_push_module moved = *m;
		*m = (struct ux_push_module){0};
		r->waiting.data[left++] = moved;
	}
	r->waiting.size = left;
	return UX_OK;
}

/* Extracts a module that the server needs, or keeps it until its supplementary file is here. */
static enum ux_code package_wanted(struct package_run *r, struct ux_push_module *m,
				   struct ux_error *err)
{
	bool waits = m->needs.size > 0 && !ux_push_by_id_find(&r->w->known, m->needs) &&
		     r->waiting_bytes + m->part.size <= WAITING_MAX;
	if (!waits)
		return package_extract(r, m, err);
	if (!ux_push_modules_append(&r->waiting, *m))
		return ux_error_nomem(err);
	r->waiting_bytes += m->part.size;
	*m = (struct ux_push_module){0};
	return UX_OK;
}

/* --- members ---------------------------------------------------------------------------------- */

/* Adds a file made by dwz, which stays until the package ends, and extracts the modules that wait
 * for it. */
static enum ux_code package_add_supplementary(struct package_run *r, struct ux_push_module *m,
					      struct ux_error *err)
{
	struct ux_push_work *w = r->w;
	const struct ux_id *id = ux_id_set_find(&m->ids, UX_ID_GNU);
	bool fresh = false;
	if (!id)
		return UX_OK;
	const struct ux_id key = *id;
	size_t *number = ux_push_by_id_insert(&w->known, key, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (!fresh)
		return UX_OK;
	*number = w->modules.size;
	if (!ux_push_modules_append(&w->modules, *m))
		return ux_error_nomem(err);
	*m = (struct ux_push_module){0};
	return package_extract_waiting(r, &key, err);
}

/*
 * Returns whether it is an object file that no program maps. Among these only kernel modules have
 * an identity. GRUB's debug packages have 250 others; each would cost a child process to find that
 * out.
 */
static bool package_is_unlinked(const struct ux_stream_member *member)
{
	uint8_t head[EI_NIDENT + sizeof(Elf64_Half)];
	if (member->kind != UX_MEMBER_OBJECT || strstr(member->name, ".ko") ||
	    pread(member->part.fd, head, sizeof(head), (off_t)member->part.off) !=
		    (ssize_t)sizeof(head) ||
	    memcmp(head, ELFMAG, SELFMAG) != 0)
		return false;
	bool big = head[EI_DATA] == ELFDATA2MSB;
	return head[EI_NIDENT + big] == ET_REL && head[EI_NIDENT + !big] == 0;
}

/*
 * Gives a debug file without a build ID the identity of its stripped file. *ret false: it has none,
 * so nobody could ever request its symbols.
 */
static enum ux_code package_find_identity(struct package_run *r, const char *name,
					  struct ux_push_module *m, bool *ret, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	*ret = r->stripped.n_streams == 0 || !m->debug_only ||
	       ux_id_set_find(&m->ids, UX_ID_GNU) != NULL ||
	       ux_stripped_files_join(&r->stripped, name, m, &why) == UX_OK;
	return *ret ? UX_OK : package_bad_member(r, name, &why, err);
}

/* Appends the modules of a member to the batch. */
static enum ux_code package_identify(struct package_run *r, const struct ux_stream_member *member,
				     struct ux_error *err)
{
	ux_cleanup(ux_push_modules_free) struct ux_push_modules found = {0};
	struct ux_error why = UX_ERROR_INIT;
	bool kept = false;
	r->ret->members++;
	r->ret->bytes_unpacked += member->part.size;
	r->w->client.deadline_ms = ux_clock_ms() + r->w->o->timeout_ms;
	if (member->part.size == 0 || package_is_unlinked(member)) {
		r->ret->passed[UX_PASSED_UNLINKED]++;
		ux_sandbox_stream_release(&member->part);
		return UX_OK;
	}
	enum ux_code code = ux_push_part_read(r->w, member->name, &member->part,
					      member->kind == UX_MEMBER_PACKED, &found, &why);
	if (code != UX_OK)
		UX_TRY(package_bad_member(r, member->name, &why, err));
	r->ret->passed[UX_PASSED_FOREIGN] += code == UX_OK && found.size == 0;
	for (size_t i = 0; i < found.size; i++) {
		struct ux_push_module *m = &found.data[i];
		if (m->supplementary) {
			UX_TRY(package_add_supplementary(r, m, err));
			kept = kept || !m->path;
			continue;
		}
		bool known = false;
		UX_TRY(package_find_identity(r, member->name, m, &known, err));
		r->ret->passed[UX_PASSED_NO_SYMBOLS] += known && m->claim == UX_QUALITY_NONE;
		if (!known || m->claim == UX_QUALITY_NONE)
			continue;
		if (!ux_push_modules_append(&r->batch, *m))
			return ux_error_nomem(err);
		*m = (struct ux_push_module){0};
		kept = true;
	}
	if (!kept)
		ux_sandbox_stream_release(&member->part);
	return UX_OK;
}

/* Queries the server for the modules of the batch, and extracts the ones that it needs. */
static enum ux_code package_query_batch(struct package_run *r, struct ux_error *err)
{
	struct ux_push_query_entry entries[2 * BATCH_MAX];
	struct ux_push_answer answers[2 * BATCH_MAX];
	struct ux_push_work *w = r->w;
	for (size_t at = 0; at < r->batch.size; at += ux_countof(entries)) {
		size_t n = ux_min(r->batch.size - at, ux_countof(entries));
		struct ux_push_module *m = r->batch.data + at;
		for (size_t i = 0; i < n; i++)
			entries[i] = (struct ux_push_query_entry){&m[i].ids, m[i].claim,
								  ux_push_trust_of(w, &m[i])};
		w->client.deadline_ms = ux_clock_ms() + w->o->timeout_ms;
		UX_TRY(ux_push_query(&w->client, entries, n, w->o->force, answers, err));
		for (size_t i = 0; i < n; i++) {
			if (answers[i].verdict == UX_PUSH_WANTED) {
				UX_TRY(package_wanted(r, &m[i], err));
				continue;
			}
			ux_push_report(w, &(struct ux_push_result){
						  .path = m[i].path,
						  .id = &m[i].ids.ids[0],
						  .status = ux_push_status_of(answers[i].verdict),
						  .reason = answers[i].reason,
						  .quality = m[i].claim});
			package_release(&m[i].part, &m[i].debug_part);
		}
	}
	for (size_t i = 0; i < r->batch.size; i++)
		ux_push_module_deinit(&r->batch.data[i]);
	r->batch.size = 0;
	return UX_OK;
}

/* Takes the next member, and all further ones that are already there. */
static enum ux_code package_read_batch(struct package_run *r, bool *ret_more, struct ux_error *err)
{
	struct ux_stream_member member;
	for (unsigned n = 0; n < BATCH_MAX; n++) {
		UX_TRY(ux_package_stream_next(r->stream, &member, ret_more, err));
		if (!*ret_more)
			break;
		UX_TRY(package_identify(r, &member, err));
		ux_package_stream_taken(r->stream, &member);
		if (!ux_package_stream_ready(r->stream))
			break;
	}
	return UX_OK;
}

/* --- the package ------------------------------------------------------------------------------ */

/* Records the package as the origin of uploaded symbols. */
static void package_trace(struct package_run *r, const struct ux_package *package)
{
	ux_hex_encode(ux_bytes(ux_package_stream_sha256(r->stream), UX_PACKAGE_SHA256_BYTES),
		      r->symbols->sha256);
	r->symbols->options.provenance.facts[UX_DISTRIBUTION] = package->distribution;
	r->symbols->options.provenance.facts[UX_SUITE] = package->suite;
	r->symbols->options.provenance.facts[UX_PACKAGE] = package->name;
	r->symbols->options.provenance.facts[UX_PACKAGE_VERSION] = package->version;
	r->symbols->options.provenance.facts[UX_PACKAGE_SHA256] = r->symbols->sha256;
}

/* Checks all places of a package, before a child is made for it or anything is opened. */
static enum ux_code package_check_places(struct package_run *r, const struct ux_package *package,
					 struct ux_polite *mirrors, struct ux_error *err)
{
	enum ux_code code = ux_polite_check(mirrors, package->url, err);
	for (size_t i = 0; i < package->n_files && code == UX_OK; i++)
		code = ux_polite_check(mirrors, package->files[i].url, err);
	r->outside = code != UX_OK;
	return code;
}

static enum ux_code package_run_all(struct package_run *r, const struct ux_package *package,
				    const struct ux_package_reading *reading, struct ux_error *err)
{
	const struct ux_id any = {0};
	const struct ux_package_stream_options options = {
		.url = package->url,
		.size = package->size,
		.sha256 = package->has_sha256 ? package->sha256 : NULL,
		.apk = package->apk,
		.mirrors = reading->mirrors,
		.stopped = reading->stopped,
		.stopped_ctx = reading->ctx,
		.forks = r->w->forks,
	};
	bool more = true;
	UX_TRY(package_check_places(r, package, reading->mirrors, err));
	if (package->kind == UX_PACKAGE_APK)
		UX_TRY(ux_stripped_files_read(&r->stripped, r->w, package, reading, err));
	UX_TRY(ux_package_stream_open(&r->stream, &options, err));
	while (more) {
		UX_TRY(package_read_batch(r, &more, err));
		UX_TRY(package_query_batch(r, err));
	}
	UX_TRY(package_extract_waiting(r, &any, err));
	r->ret->bytes_fetched = r->stripped.bytes + ux_package_stream_bytes(r->stream);
	package_trace(r, package);
	return UX_OK;
}

/* Sets the cause of a failure. */
static void package_explain(const struct package_run *r, enum ux_code code)
{
	struct ux_crawl_result *ret = r->ret;
	enum ux_package_cause cause = r->outside  ? UX_CAUSE_MIRROR
				      : r->stream ? ux_package_stream_cause(r->stream)
						  : r->stripped.cause;
	if (code == UX_OK)
		return;
	ret->outcome = UX_CRAWL_LATER;
	ret->cause = code == UX_ENOMEM ? "memory" : "server";
	if (!r->stream && cause == UX_CAUSE_NONE) {
		ret->outcome = code == UX_ENOTFOUND ? UX_CRAWL_FAILED : UX_CRAWL_LATER;
		ret->cause = ux_package_cause_name(code == UX_ENOTFOUND ? UX_CAUSE_GONE
									: UX_CAUSE_LOCAL);
	} else if (cause != UX_CAUSE_NONE) {
		bool later = cause == UX_CAUSE_LOCAL || cause == UX_CAUSE_LOST;
		ret->outcome = later ? UX_CRAWL_LATER : UX_CRAWL_FAILED;
		ret->cause = ux_package_cause_name(cause);
	}
}

void ux_package_symbols_read(struct ux_push_work *work, const struct ux_package *package,
			     const struct ux_package_reading *reading,
			     struct ux_extraction_memory *memory, struct ux_package_symbols *ret)
{
	struct ux_push_summary *none = work->summary;
	*ret = (struct ux_package_symbols){
		.options = *work->o,
		.file = -1,
		.result = {.cause = "", .why = UX_ERROR_INIT, .first_bad = UX_ERROR_INIT}};
	{
		ux_cleanup(package_run_deinit) struct package_run r = {.w = work,
								       .outer = work->o,
								       .memory = memory,
								       .symbols = ret,
								       .ret = &ret->result};
		work->summary = &ret->result.modules;
		ret->options.trust = UX_TRUST_PACKAGE; /* of queries, too: they precede the trace */
		work->o = &ret->options;
		package_explain(&r, package_run_all(&r, package, reading, &ret->result.why));
	}
	work->summary = none;
}
