/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the upstreams of a server from its settings, and makes candidates of the files they send.
 */
#include "upstream_set.h"

#include "event_log.h"
#include "extract_job.h"
#include "file.h"
#include "id.h"
#include "settings.h"
#include "upload_check.h"

#include <unistd.h>

/* Limits of an inspection, which is short: it hashes the ends of the file and reads its notes. */
const struct ux_sandbox_limits ux_inspect_limits = {
	.memory = (uint64_t)256 << 20, .output = 4096, .seconds = 10};

enum {
	UNPACK_MEMORY = 512 << 20, /* bytes of memory to unpack a package of sources */
	UNPACK_SECONDS = 300,      /* seconds of processor time to unpack it */
	MODULE_MEMORY = 4 << 20,   /* bytes for the rows of a module */
};

/* State while one fetched file is processed. */
struct arrival {
	struct ux_server *server;
	const struct ux_arrived *from;
	struct ux_candidate candidate;
	struct ux_sandbox_found found;
	struct ux_add_result result;
};

static enum ux_code arrival_add(struct arrival *a, struct ux_blob_part *part, struct ux_error *err)
{
	const struct ux_arrival what = {.ns = a->from->ns, .ids = &a->from->id, .n_ids = 1};
	const struct ux_who who = {.key_id = "", .from = "upstream"};
	UX_TRY(ux_store_commit_candidate(a->server->store, part, &what, &a->candidate, &who,
					 &a->result, err));
	ux_module_cache_evict_id(a->server->cache, a->from->ns, a->from->id);
	return UX_OK;
}

static enum ux_code arrival_add_gsym(struct arrival *a, struct ux_error *err)
{
	struct ux_candidate *c = &a->candidate;
	c->kind = UX_KIND_GSYM;
	UX_TRY(ux_upload_check(a->from->bytes, &a->from->id, 1, UX_QUALITY_NONE, &c->quality,
			       &c->counts, err));
	return arrival_add(a, a->from->part, err);
}

/*
 * Checks that the file has the requested build ID: otherwise it would be served under a wrong ID.
 */
static enum ux_code arrival_check(const struct arrival *a, struct ux_error *err)
{
	struct ux_id id;
	UX_TRY(ux_id_parse(ux_bytes_cstr(a->from->id), &id, err));
	const struct ux_id *found_id = ux_id_set_find(&a->found.ids, (enum ux_id_type)id.type);
	if (!found_id || !ux_id_eq(found_id, &id))
		return ux_error_set(err, UX_ECONFLICT,
				    "the file that it sent has a different build ID");
	if (a->from->artifact == UX_ARTIFACT_DEBUGINFO &&
	    (a->found.has & UX_SANDBOX_HAS_DEBUG) == 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "the debuginfo file that it sent has no debug information");
	if (a->from->artifact == UX_ARTIFACT_EXECUTABLE &&
	    (a->found.has & UX_SANDBOX_HAS_CODE) == 0)
		return ux_error_set(err, UX_ECORRUPT, "the executable that it sent has no code");
	return UX_OK;
}

/* Fills in the candidate. The quality is estimated until the file is extracted. */
static void arrival_describe(struct arrival *a)
{
	struct ux_candidate *c = &a->candidate;
	unsigned has = a->found.has;
	bool debug = (has & UX_SANDBOX_HAS_DEBUG) != 0, code = (has & UX_SANDBOX_HAS_CODE) != 0;
	c->kind = code ? UX_KIND_EXECUTABLE : UX_KIND_DEBUGINFO;
	c->holds = (code ? (unsigned)UX_HOLDS_CODE : 0) | (debug ? (unsigned)UX_HOLDS_DEBUG : 0) |
		   ((has & UX_SANDBOX_HAS_SECTIONS) != 0 ? (unsigned)UX_HOLDS_SECTIONS : 0);
	c->quality = debug ? UX_QUALITY_SYMTAB : UX_QUALITY_DYNSYM;
	c->parser = UX_EXTRACTOR_PARSER;
}

static enum ux_code arrival_inspect_and_add(struct arrival *a, struct ux_error *err)
{
	struct ux_store *s = a->server->store;
	int fd = -1;
	UX_TRY(ux_blobs_open(s->blobs, &a->from->hash, a->candidate.size, &fd, err));
	enum ux_code code = ux_sandbox_inspect(fd, &ux_inspect_limits, NULL, &a->found, err);
	close(fd);
	UX_TRY(code);
	UX_TRY(arrival_check(a, err));
	arrival_describe(a);
	return arrival_add(a, /* part= */ NULL, err);
}

/*
 * Adds an ELF file. Commits the blob before its row, because the child reads a file. The inspection
 * is far shorter than the sweep's grace period.
 */
static enum ux_code arrival_add_elf(struct arrival *a, struct ux_error *err)
{
	struct ux_store *s = a->server->store;
	bool dropped = false;
	if (!a->server->extractor)
		return ux_error_set(err, UX_EUNSUPPORTED, "this server does not extract symbols");
	UX_TRY(ux_sandbox_check(a->from->bytes, err));
	UX_TRY(ux_store_commit_blob(s, a->from->part, &a->from->hash, err));
	enum ux_code code = arrival_inspect_and_add(a, err);
	if (code != UX_OK)
		(void)!ux_store_drop_blob(s, &a->from->hash, /* dry_run= */ false, &dropped, NULL);
	/* If queueing fails, the next lookup queues it again (module_cache.h). */
	else if (a->result.add == UX_ADD_NEW)
		(void)!ux_store_extract(s, a->from->ns, a->result.candidate, NULL);
	return code;
}

/* Adds a package of source files. They belong to the module when all of them are unpacked. */
static enum ux_code arrival_add_sources(struct arrival *a, struct ux_error *err)
{
	const struct ux_sandbox_limits limits = {.memory = UNPACK_MEMORY,
						 .seconds = UNPACK_SECONDS};
	const struct ux_who who = {.key_id = "", .from = "upstream"};
	struct ux_store *s = a->server->store;
	struct ux_index *ix = s->index;
	UX_ARENA(arena, MODULE_MEMORY);
	struct ux_module m = {0};
	int scratch = -1;
	a->candidate.kind = UX_KIND_SOURCES;
	UX_TRY(ux_file_temporary(&scratch, err));
	enum ux_code code = arrival_add(a, a->from->part, err);
	if (code == UX_OK && a->result.candidate != 0) {
		a->candidate.number = a->result.candidate;
		/* if the module's symbols cannot be read, there are no names for the files */
		if (ix->modules.find(ix, a->from->ns, a->from->id, &arena, &m, NULL) != UX_OK)
			m = (struct ux_module){0};
		code = ux_source_unpack(s, &a->candidate, &m, a->from->source, limits, NULL,
					scratch, err);
		if (code != UX_OK)
			(void)!ix->modules.candidate_remove(ix, a->candidate.number, &who,
							    ux_store_now(s), NULL);
	}
	close(scratch);
	return code;
}

enum ux_code ux_upstream_arrival(void *ctx, const struct ux_arrived *arrived, struct ux_error *err)
{
	struct arrival a = {.server = ctx, .from = arrived};
	a.candidate = (struct ux_candidate){
		.state = UX_CANDIDATE_READY,
		.reason = "",
		.blob = arrived->hash,
		.size = arrived->bytes.size,
		.origin = UX_ORIGIN_UPSTREAM,
		.origin_name = arrived->upstream,
		.description = "",
		.file_name = arrived->file,
		.provenance = arrived->provenance,
		.trust = ux_provenance_get(&arrived->provenance, UX_PACKAGE)[0] != '\0'
				 ? UX_TRUST_PACKAGE
				 : UX_TRUST_CI,
		.key_id = "",
	};
	if (arrived->artifact == UX_ARTIFACT_SOURCE)
		return arrival_add_sources(&a, err);
	return arrived->artifact == UX_ARTIFACT_GSYM ? arrival_add_gsym(&a, err)
						     : arrival_add_elf(&a, err);
}

/*
 * Begins to fetch the supplementary file that was missing when a debug file was extracted. When it
 * arrives, the store queues the extraction again.
 */
static void upstream_fetch_supplementary(struct ux_server *s, const struct ux_extracted_one *one)
{
	const struct ux_fetch_request request = {
		.ns = one->ns, .id = one->settled.supplementary, .want = UX_FETCH_DEBUGINFO};
	if (one->code == UX_OK && one->settled.state == UX_CANDIDATE_READY &&
	    one->settled.supplementary_state == UX_SUPPLEMENTARY_ABSENT)
		(void)ux_fetcher_begin(s->fetcher, &request, NULL);
}

void ux_upstream_extracted(struct ux_server *s, const struct ux_extracted_one *one)
{
	if (s->fetcher)
		upstream_fetch_supplementary(s, one);
	const struct ux_candidate *c = one->candidate;
	const struct ux_who who = {.key_id = "", .from = "upstream"};
	struct ux_index *ix = s->store->index;
	if (!s->fetcher || one->code != UX_OK || one->settled.state != UX_CANDIDATE_FAILED ||
	    c->origin != UX_ORIGIN_UPSTREAM)
		return;
	ux_fetcher_reject(s->fetcher, one->ns, one->id,
			  c->kind == UX_KIND_DEBUGINFO ? UX_ARTIFACT_DEBUGINFO
						       : UX_ARTIFACT_EXECUTABLE,
			  c->origin_name, one->reason);
	(void)!ix->modules.candidate_remove(ix, c->number, &who, ux_store_now(s->store), NULL);
	ux_module_cache_evict_id(s->cache, one->ns, one->id);
}

/* --- configuration ---------------------------------------------------------------------------- */

enum {
	/* seconds for which a found file is not requested again while it is stored */
	FOUND_S = 24 * 60 * 60
};

static void upstreams_log(void *ctx, const struct ux_fetch_event *e)
{
	static const char *const words[UX_FETCH_OUTCOMES] = {"found", "absent", "failed", "failed"};
	char id[200], artifact[200], reason[300];
	(void)ctx;
	const bool good = e->outcome == UX_FETCH_FOUND || e->outcome == UX_FETCH_ABSENT;
	ux_log_line(good ? "info" : "warning", "fetch",
		    "upstream=%s ns=%s id=%s artifact=%s outcome=%s status=%u ms=%" PRIu64
		    " bytes=%" PRIu64 " reason=%s",
		    e->upstream->name, e->ns, ux_log_quote(ux_bytes_cstr(e->id), id, sizeof(id)),
		    ux_log_quote(ux_bytes_cstr(e->artifact), artifact, sizeof(artifact)),
		    words[e->outcome], e->status, e->took_ms, e->bytes,
		    ux_log_quote(ux_bytes_cstr(e->reason), reason, sizeof(reason)));
}

/* Parses the list into a malloc'ed array. */
static enum ux_code upstreams_parse(const struct ux_setting_list *list, struct ux_upstream **ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_upstream *ups =
		calloc(ux_max(list->n, (size_t)1), sizeof(*ups));
	if (!ups)
		return ux_error_nomem(err);
	for (size_t i = 0; i < list->n; i++)
		UX_TRY(ux_upstream_parse(&ups[i], list->items[i], err));
	*ret = ux_take(&ups);
	return UX_OK;
}

enum ux_code ux_server_upstreams_check(const struct ux_settings *settings, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_upstream *ups = NULL;
	UX_TRY(upstreams_parse(&settings->upstreams, &ups, err));
	return ux_fetcher_check(ups, settings->upstreams.n, err);
}

static void upstreams_on_evicted(void *ctx, const struct ux_retained_one *one)
{
	struct ux_server *s = ctx;
	char quoted[300];
	ux_module_cache_evict(s->cache, one->ns, (const char *const *)one->ids, one->n_ids);
	ux_log_line("info", "retention", "what=%s namespace=%s id=%s bytes=%" PRIu64,
		    ux_retained_name(one->what), one->ns,
		    ux_log_quote(ux_bytes_cstr(one->id), quoted, sizeof(quoted)), one->bytes);
}

static enum ux_code upstreams_make_room(void *ctx, const struct ux_arrived *a, struct ux_error *err)
{
	struct ux_server *s = ctx;
	uint64_t max = atomic_load_explicit(&s->upstream_kept, memory_order_relaxed);
	return ux_store_make_room(s->store, a->ns, max, a->bytes.size, upstreams_on_evicted, s,
				  err);
}

static enum ux_code upstreams_open_fetcher(struct ux_server *s, const struct ux_settings *settings,
					   struct ux_fetcher **ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_upstream *ups = NULL;
	const struct ux_setting_list *list = &settings->upstreams;
	UX_TRY(upstreams_parse(list, &ups, err));
	atomic_store_explicit(&s->upstream_kept, settings->upstream_kept, memory_order_relaxed);
	const struct ux_fetcher_options options = {
		.upstreams = ups,
		.n = list->n,
		.times = {.absent = (int64_t)settings->upstream_absent_ms / 1000,
			  .failed = (int64_t)settings->upstream_failed_ms / 1000,
			  .found = FOUND_S},
		.limits = {.bytes = settings->upstream_bytes,
			   .max_ms = (int64_t)settings->upstream_ms},
		.make_room = upstreams_make_room,
		.arrived = ux_upstream_arrival,
		.source_arrived = ux_upstream_source_check,
		.log = upstreams_log,
		.ctx = s,
	};
	UX_TRY(ux_fetcher_open(ret, s->store, &options, err));
	ux_upstream_set_warn(ups, list->n);
	return UX_OK;
}

enum ux_code ux_server_upstreams_open(struct ux_server *s, const struct ux_settings *settings,
				      struct ux_error *err)
{
	struct ux_fetcher *f = NULL;
	if (settings->upstreams.n == 0)
		return UX_OK;
	UX_TRY(upstreams_open_fetcher(s, settings, &f, err));
	s->fetcher = f;
	s->missing = (struct ux_missing_modules){.fetch = ux_upstream_fetch_missing, .ctx = s};
	return UX_OK;
}

/*
 * Replaces the fetcher. A waiter is never in both fetchers: the old one wakes all its waiters
 * before the new one is visible.
 */
enum ux_code ux_server_upstreams_change(struct ux_server *s, const struct ux_settings *settings,
					struct ux_error *err)
{
	struct ux_fetcher *old = s->fetcher, *f = NULL;
	if (!old)
		return UX_OK;
	UX_TRY(upstreams_open_fetcher(s, settings, &f, err));
	ux_fetcher_stop(old);
	ux_fetcher_replace(f, old);
	s->fetcher = f;
	return UX_OK;
}
