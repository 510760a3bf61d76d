/* SPDX-License-Identifier: Apache-2.0 */
/* One extraction job: a confined child reads a candidate, and the result is committed. */
#include "extract_job.h"

#include "gsym_reader.h"
#include "upload_check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	ARENA_MAX = 16 << 20,
	LEASE_SPARE_S = 120, /* seconds added to the child's time limit */
	RETRY_S = 60,        /* seconds before the second attempt; doubles for each further one */
	/*
	 * seconds of processor time for a job of the quick lane; a job that needs more starts again
	 * in the slow lane
	 */
	QUICK_S = 15,
};

/* State of one job. */
struct work {
	const struct ux_extract_env *x;
	struct ux_arena arena;
	struct ux_job job;
	struct ux_sandbox_limits limits;
	bool quick;    /* the time limit is the quick lane's */
	bool too_slow; /* the quick lane's limit was exceeded */
	bool done;     /* the job has ended with the candidate's result */
	bool away;     /* a part of the store was unavailable, which says nothing about the file */
	struct ux_candidate candidate;
	struct ux_idle of; /* the module of the candidate */
	struct ux_module module;
	int files[UX_SANDBOX_FILE_COUNT];
	bool is_debug_of_pair; /* the candidate is DEBUG, and EXE is another candidate */
	struct ux_sandbox_found found;
	struct ux_supplementary supplementary; /* the file that the extraction refers to */
	struct ux_mapping gsym;
	struct ux_candidate derived;
	struct ux_settled settled;
	struct ux_add_result result;
};

static void extract_close_file(struct work *w, enum ux_sandbox_file which)
{
	if (w->files[which] >= 0)
		close(w->files[which]);
	w->files[which] = -1;
}

/* Empties the worker's file at the end of a job; replaces a file that cannot be emptied. */
static void extract_end_output(const struct work *w)
{
	int *output = w->x->output;
	if (*output < 0)
		return;
	if (ftruncate(*output, 0) == 0 && lseek(*output, 0, SEEK_SET) == 0)
		return;
	close(*output);
	*output = -1;
}

static void extract_work_deinit(struct work *w)
{
	ux_file_unmap(&w->gsym);
	extract_end_output(w);
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++)
		extract_close_file(w, (enum ux_sandbox_file)i);
	ux_arena_deinit(&w->arena);
}

static struct ux_index *extract_index(const struct work *w)
{
	return w->x->store->index;
}

static ux_time extract_now(const struct work *w)
{
	return ux_store_now(w->x->store);
}

/* Opens an unnamed file, which disappears when its descriptor is closed. */
static enum ux_code extract_open_scratch(const struct work *w, int *ret, struct ux_error *err)
{
	const char *folder = w->x->options->scratch ? w->x->options->scratch : "/var/tmp";
	*ret = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*ret < 0) /* for file systems without O_TMPFILE */
		*ret = memfd_create("unhex-extract", MFD_CLOEXEC);
	return *ret >= 0 ? UX_OK : ux_error_os(err, errno, "cannot create a file in %.80s", folder);
}

/*
 * Gives the child the worker's file for its output. A new file for each job would cost more than a
 * small extraction writes.
 */
static enum ux_code extract_open_output(struct work *w, struct ux_error *err)
{
	int *output = w->x->output;
	if (*output < 0)
		UX_TRY(extract_open_scratch(w, output, err));
	w->files[UX_SANDBOX_GSYM] = fcntl(*output, F_DUPFD_CLOEXEC, 0);
	return w->files[UX_SANDBOX_GSYM] >= 0 ? UX_OK
					      : ux_error_os(err, errno, "cannot open a file");
}

static enum ux_code extract_note_away(struct work *w, enum ux_code code)
{
	w->away |= code == UX_EUNAVAILABLE;
	return code;
}

static enum ux_code extract_open_candidate(struct work *w, const struct ux_candidate *c,
					   enum ux_sandbox_file as, struct ux_error *err)
{
	struct ux_blobs *b = w->x->store->blobs;
	return extract_note_away(w, ux_blobs_open(b, &c->blob, c->size, &w->files[as], err));
}

/*
 * Finds the executable of a debug file, or the reverse. An unstripped executable does not form a
 * pair with a stripped one, because that adds nothing.
 */
static const struct ux_candidate *extract_other_half(const struct ux_module *m, bool is_debug)
{
	if (is_debug)
		return ux_module_elf(m, UX_HOLDS_CODE);
	for (size_t i = 0; i < m->n_candidates; i++) {
		const struct ux_candidate *c = &m->candidates[i];
		if (c->kind == UX_KIND_DEBUGINFO && c->state == UX_CANDIDATE_READY &&
		    (c->holds & UX_HOLDS_DEBUG) != 0)
			return c;
	}
	return NULL;
}

/* Opens an archive of the module's split files, including the candidate. */
static enum ux_code extract_open_split(struct work *w, struct ux_error *err)
{
	int *fd = &w->files[UX_SANDBOX_SPLIT];
	if (!ux_split_pack_has(&w->module, &w->candidate))
		return UX_OK;
	UX_TRY(extract_open_scratch(w, fd, err));
	return ux_split_pack_write(w->x->store->blobs, &w->module, &w->candidate, *fd, err);
}

/*
 * Opens the executable and its debug file, whichever of them arrived last. A file that proves to be
 * of the other kind is read alone.
 */
static enum ux_code extract_open_files(struct work *w, struct ux_error *err)
{
	bool is_debug = w->candidate.kind == UX_KIND_DEBUGINFO;
	const struct ux_candidate *other = extract_other_half(&w->module, is_debug);
	UX_TRY(extract_open_output(w, err));
	UX_TRY(extract_open_split(w, err));
	if (!other || other->number == w->candidate.number)
		return extract_open_candidate(w, &w->candidate, UX_SANDBOX_EXE, err);
	w->is_debug_of_pair = is_debug;
	UX_TRY(extract_open_candidate(w, is_debug ? other : &w->candidate, UX_SANDBOX_EXE, err));
	return extract_open_candidate(w, is_debug ? &w->candidate : other, UX_SANDBOX_DEBUG, err);
}

/* Tests whether the failure was caused by this machine, so that a retry may succeed. */
static bool extract_is_transient(const struct ux_error *why)
{
	return why->code == UX_ENOMEM || why->code == UX_EUNAVAILABLE || why->os_errno != 0;
}

static enum ux_code extract_empty_output(const struct work *w, struct ux_error *err)
{
	if (ftruncate(w->files[UX_SANDBOX_GSYM], 0) != 0 ||
	    lseek(w->files[UX_SANDBOX_GSYM], 0, SEEK_SET) != 0)
		return ux_error_os(err, errno, "cannot truncate a file");
	return UX_OK;
}

/*
 * Turns the failure of a quick job that ran out of time into a transient one: the job continues in
 * the slow lane. Returns code.
 */
static enum ux_code extract_check_time(struct work *w, enum ux_code code, struct ux_error *err)
{
	if (code == UX_OK || !w->quick || !w->found.out_of_time)
		return code;
	w->too_slow = true;
	if (err)
		err->os_errno = ETIME;
	return code;
}

static enum ux_code extract_run_child_once(struct work *w, struct ux_error *err)
{
	return extract_check_time(
		w, ux_sandbox_extract(w->files, &w->limits, w->x->options->program, &w->found, err),
		err);
}

/* Opens the supplementary file that the namespace has under the ID that the child found. */
static enum ux_code extract_find_supplementary(struct work *w, struct ux_error *err)
{
	struct ux_index *ix = extract_index(w);
	struct ux_error why = UX_ERROR_INIT;
	struct ux_module m;
	char text[UX_ID_TEXT];
	ux_id_format(&w->found.supplementary, text);
	const char *id = ux_arena_strndup(&w->arena, text, strlen(text));
	if (!id)
		return ux_arena_fail(&w->arena, err);
	w->supplementary = (struct ux_supplementary){id, UX_SUPPLEMENTARY_ABSENT};
	enum ux_code code = ix->modules.find(ix, w->of.ns, id, &w->arena, &m, &why);
	const struct ux_candidate *c = code == UX_OK ? ux_module_elf(&m, UX_HOLDS_DEBUG) : NULL;
	if (code != UX_OK && code != UX_ENOTFOUND) {
		*err = why;
		return code;
	}
	if (!c)
		return UX_OK;
	w->supplementary.state = UX_SUPPLEMENTARY_USED;
	return extract_open_candidate(w, c, UX_SANDBOX_SUPPLEMENTARY, err);
}

/* Passes an empty file instead of the supplementary file. */
static enum ux_code extract_without_supplementary(struct work *w, struct ux_error *err)
{
	extract_close_file(w, UX_SANDBOX_SUPPLEMENTARY);
	UX_TRY(extract_open_scratch(w, &w->files[UX_SANDBOX_SUPPLEMENTARY], err));
	return extract_run_child_once(w, err);
}

/*
 * Runs the child over the open files. If the child finds that the debug information refers to a
 * supplementary file, runs it again with that file, or without it if it is missing or unusable:
 * lines and most names do not need it.
 */
static enum ux_code extract_run_child(struct work *w, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	extract_close_file(w, UX_SANDBOX_SUPPLEMENTARY);
	w->supplementary = (struct ux_supplementary){.id = ""};
	UX_TRY(extract_run_child_once(w, err));
	if (!w->found.needs_supplementary)
		return UX_OK;
	UX_TRY(extract_find_supplementary(w, err));
	if (w->supplementary.state == UX_SUPPLEMENTARY_ABSENT)
		return extract_without_supplementary(w, err);
	enum ux_code code = extract_run_child_once(w, &why);
	if (code == UX_OK || code == UX_ENOTFOUND || extract_is_transient(&why)) {
		if (code != UX_OK && err)
			*err = why;
		return code;
	}
	w->supplementary.state = UX_SUPPLEMENTARY_UNUSABLE;
	UX_TRY(extract_empty_output(w, err));
	return extract_without_supplementary(w, err);
}

/* Extracts the candidate alone, because the other file may have caused the failure of the pair. */
static enum ux_code extract_job_run_alone(struct work *w, struct ux_error *err)
{
	w->is_debug_of_pair = false;
	extract_close_file(w, UX_SANDBOX_EXE);
	extract_close_file(w, UX_SANDBOX_DEBUG);
	UX_TRY(extract_open_candidate(w, &w->candidate, UX_SANDBOX_EXE, err));
	UX_TRY(extract_empty_output(w, err));
	return extract_run_child(w, err);
}

static enum ux_code extract_job_run_child(struct work *w, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = extract_run_child(w, &why);
	if (code != UX_OK && w->files[UX_SANDBOX_DEBUG] >= 0 && !w->too_slow)
		return extract_job_run_alone(w, err);
	if (code != UX_OK && err)
		*err = why;
	return code;
}

/* Copies the child's measurements into the result. */
static enum ux_code extract_measure(struct work *w, struct ux_error *err)
{
	struct ux_settled *s = &w->settled;
	const struct ux_sandbox_found *f = &w->found;
	const char **ids = ux_arena_array(&w->arena, const char *, UX_ID_SET_MAX);
	if (!ids)
		return ux_arena_fail(&w->arena, err);
	for (size_t i = 0; i < f->ids.size; i++) {
		char text[UX_ID_TEXT];
		ux_id_format(&f->ids.ids[i], text);
		ids[i] = ux_arena_strndup(&w->arena, text, strlen(text));
		if (!ids[i])
			return ux_arena_fail(&w->arena, err);
	}
	s->ids = ids;
	s->n_ids = f->ids.size;
	unsigned has = w->is_debug_of_pair ? f->debug_has : f->has;
	s->kind = ux_kind_is_split(w->candidate.kind) ? w->candidate.kind
		  : (has & UX_SANDBOX_HAS_CODE) != 0  ? UX_KIND_EXECUTABLE
						      : UX_KIND_DEBUGINFO;
	s->holds = ((has & UX_SANDBOX_HAS_CODE) != 0 ? (unsigned)UX_HOLDS_CODE : 0) |
		   ((has & UX_SANDBOX_HAS_DEBUG) != 0 ? (unsigned)UX_HOLDS_DEBUG : 0) |
		   ((has & UX_SANDBOX_HAS_SECTIONS) != 0 ? (unsigned)UX_HOLDS_SECTIONS : 0);
	s->quality = f->quality;
	s->counts = f->counts;
	s->code_total = f->text_bytes;
	s->supplementary = w->supplementary.id;
	s->supplementary_state = w->supplementary.state;
	return UX_OK;
}

/* The child's output is untrusted, so it is verified like an uploaded GSYM. */
static enum ux_code extract_check_gsym(struct work *w, struct ux_error *err)
{
	struct ux_candidate *d = &w->derived;
	UX_TRY(ux_file_map_fd(w->files[UX_SANDBOX_GSYM], &w->gsym, err));
	*d = (struct ux_candidate){.parent = w->candidate.number,
				   .kind = UX_KIND_GSYM,
				   .reason = "",
				   .size = w->gsym.bytes.size,
				   .claim = w->found.quality,
				   .code_total = w->found.text_bytes,
				   .parser = UX_EXTRACTOR_PARSER,
				   .forced = w->candidate.forced,
				   .origin = w->candidate.origin,
				   .origin_name = w->candidate.origin_name,
				   .description = w->candidate.description,
				   .provenance = w->candidate.provenance,
				   .trust = w->candidate.trust,
				   .file_id = w->candidate.file_id,
				   .apart_from = w->candidate.apart_from,
				   .file_name = w->candidate.file_name,
				   .key_id = w->candidate.key_id};
	UX_TRY(ux_upload_check(w->gsym.bytes, w->settled.ids, w->settled.n_ids, w->found.quality,
			       &d->quality, &d->counts, err));
	d->blob = ux_blob_hash_of(w->gsym.bytes);
	return UX_OK;
}

/*
 * Commits the result and ends the job in one transaction. Other jobs run during the commit, so
 * files that are no longer needed are closed first.
 */
static enum ux_code extract_settle(struct work *w, struct ux_error *err)
{
	w->settled.job = w->job.number;
	w->settled.job_owner = w->x->owner;
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++)
		extract_close_file(w, (enum ux_sandbox_file)i);
	w->x->committing(w->x->ctx);
	UX_TRY(extract_note_away(w, ux_store_commit_settled(w->x->store, w->candidate.number,
							    &w->settled, w->gsym.bytes, &w->result,
							    err)));
	w->done = true;
	return UX_OK;
}

static enum ux_code extract_settle_failed(struct work *w, const struct ux_error *why,
					  struct ux_error *err)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_error_format(why, text, sizeof(text));
	char *reason = ux_arena_strndup(&w->arena, text, strlen(text));
	if (!reason)
		return ux_arena_fail(&w->arena, err);
	w->settled = (struct ux_settled){.state = UX_CANDIDATE_FAILED,
					 .reason = reason,
					 .kind = w->candidate.kind,
					 .parser = UX_EXTRACTOR_PARSER};
	return extract_settle(w, err);
}

/*
 * A file that can never be read makes the candidate failed. A transient failure is returned, so
 * that the job is retried.
 */
static enum ux_code extract_settle_or_retry(struct work *w, enum ux_code code,
					    const struct ux_error *why, struct ux_error *err)
{
	if (!extract_is_transient(why))
		return extract_settle_failed(w, why, err);
	if (err)
		*err = *why;
	return code;
}

static enum ux_code extract_settle_measured(struct work *w, bool has_gsym, struct ux_error *err)
{
	if (has_gsym) {
		UX_TRY(extract_check_gsym(w, err));
		w->settled.derived = &w->derived;
	}
	return extract_settle(w, err);
}

static enum ux_code extract_sources(struct work *w, struct ux_error *err)
{
	const struct ux_extractor_options *o = w->x->options;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(extract_open_output(w, err));
	enum ux_code code =
		ux_source_unpack(w->x->store, &w->candidate, &w->module, NULL, w->limits,
				 o->program, w->files[UX_SANDBOX_GSYM], &why);
	if (code == UX_OK)
		return extract_settle(w, err);
	return extract_settle_or_retry(w, code, &why, err);
}

/* Tests whether other split files are still pending: the job of the last one extracts them all. */
static bool extract_has_followers(const struct work *w)
{
	for (size_t i = 0; i < w->module.n_candidates; i++) {
		const struct ux_candidate *c = &w->module.candidates[i];
		if (c->number != w->candidate.number && c->state == UX_CANDIDATE_PENDING &&
		    ux_kind_is_split(c->kind))
			return true;
	}
	return false;
}

/*
 * Opens the linked file that refers to the split files, and its debug file or executable. *ret_any
 * is false if the module does not have it yet.
 */
static enum ux_code extract_open_linked(struct work *w, bool *ret_any, struct ux_error *err)
{
	const struct ux_candidate *code = ux_module_elf(&w->module, UX_HOLDS_CODE);
	const struct ux_candidate *debug = extract_other_half(&w->module, /* is_debug= */ false);
	*ret_any = code || debug;
	if (!*ret_any)
		return UX_OK;
	extract_close_file(w, UX_SANDBOX_EXE);
	UX_TRY(extract_open_candidate(w, code ? code : debug, UX_SANDBOX_EXE, err));
	if (code && debug)
		UX_TRY(extract_open_candidate(w, debug, UX_SANDBOX_DEBUG, err));
	UX_TRY(extract_open_output(w, err));
	return extract_open_split(w, err);
}

/* Extracts the linked file with all split files. A failure does not make this candidate failed. */
static enum ux_code extract_split(struct work *w, struct ux_error *err)
{
	struct ux_settled own = w->settled;
	struct ux_error why = UX_ERROR_INIT;
	bool any = false;
	if (extract_has_followers(w))
		return extract_settle(w, err);
	UX_TRY(extract_open_linked(w, &any, err));
	enum ux_code code = any ? extract_run_child(w, &why) : UX_ENOTFOUND;
	if (code == UX_OK) {
		UX_TRY(extract_measure(w, err)); /* the GSYM has the IDs of the linked file */
		code = extract_check_gsym(w, &why);
	}
	if (code != UX_OK && extract_is_transient(&why))
		return extract_settle_or_retry(w, code, &why, err);
	own.derived = code == UX_OK ? &w->derived : NULL;
	own.supplementary = w->settled.supplementary;
	own.supplementary_state = w->settled.supplementary_state;
	w->settled = own;
	return extract_settle(w, err);
}

/*
 * The other split files waited for this one, which cannot be read: queues the extraction of one of
 * them.
 */
static void extract_hand_over(struct work *w)
{
	int64_t number = 0;
	for (size_t i = 0; i < w->module.n_candidates && number == 0; i++) {
		const struct ux_candidate *c = &w->module.candidates[i];
		if (ux_kind_is_split(c->kind) && c->state == UX_CANDIDATE_READY)
			number = c->number;
	}
	if (number == 0 || extract_has_followers(w))
		return;
	(void)!ux_store_extract(w->x->store, w->job.ns, number, NULL);
}

/* A split file is checked alone, and then read with the linked file that refers to it. */
static enum ux_code extract_read_split(struct work *w, struct ux_error *err)
{
	const struct ux_extractor_options *o = w->x->options;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(extract_open_candidate(w, &w->candidate, UX_SANDBOX_EXE, err));
	enum ux_code code = ux_sandbox_inspect(w->files[UX_SANDBOX_EXE], &w->limits, o->program,
					       &w->found, &why);
	if (code == UX_OK) {
		w->found.ids.size = 0; /* keep only the announced IDs */
		UX_TRY(extract_measure(w, err));
		return extract_split(w, err);
	}
	code = extract_settle_or_retry(w, code, &why, err);
	if (code == UX_OK)
		extract_hand_over(w);
	return code;
}

/*
 * Extracts the candidate. An ELF file without symbols is not a failure, because debuggers can use
 * it.
 */
static enum ux_code extract_candidate(struct work *w, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	w->settled = (struct ux_settled){.state = UX_CANDIDATE_READY,
					 .reason = "",
					 .kind = w->candidate.kind,
					 .parser = UX_EXTRACTOR_PARSER};
	if (w->candidate.kind == UX_KIND_SOURCES)
		return extract_sources(w, err);
	if (ux_kind_is_split(w->candidate.kind))
		return extract_read_split(w, err);
	UX_TRY(extract_open_files(w, err));
	enum ux_code code = extract_job_run_child(w, &why);
	bool nameless = code == UX_ENOTFOUND && why.os_errno == 0;
	if (code == UX_OK || nameless) {
		why = (struct ux_error)UX_ERROR_INIT;
		UX_TRY(extract_measure(w, err));
		code = extract_settle_measured(w, code == UX_OK, &why);
		if (code == UX_OK || (code == UX_ENOTFOUND && why.os_errno == 0))
			return code;
	}
	return extract_settle_or_retry(w, code, &why, err);
}

static enum ux_code extract_find_candidate(struct work *w, struct ux_error *err)
{
	struct ux_index *ix = extract_index(w);
	UX_TRY(ix->modules.candidate(ix, w->job.candidate, &w->arena, &w->candidate, &w->of, err));
	return ix->modules.find(ix, w->of.ns, w->of.id, &w->arena, &w->module, err);
}

static ux_time extract_next_try(const struct work *w)
{
	unsigned shift = ux_min(w->job.attempts, 10U);
	return extract_now(w) + ((int64_t)RETRY_S << (shift > 0 ? shift - 1 : 0));
}

/*
 * Notes the result of ending a lease. If it could not be written, the lease is ended before the
 * next job.
 */
static void extract_note_end(struct work *w, enum ux_code code)
{
	*w->x->doubt |= code != UX_OK && code != UX_ECONFLICT;
}

/* Retries the job after a failure that was not caused by the input. */
static void extract_retry(struct work *w, const struct ux_error *why)
{
	struct ux_index *ix = extract_index(w);
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_error_format(why, text, sizeof(text));
	if (w->away) {
		extract_note_end(w, ix->jobs.postpone(ix, w->job.number, w->x->owner,
						      extract_now(w) + RETRY_S, text, NULL));
		return;
	}
	if (w->job.attempts < UX_EXTRACTOR_ATTEMPTS_MAX) {
		extract_note_end(w, ix->jobs.retry(ix, w->job.number, w->x->owner,
						   extract_next_try(w), text, NULL));
		return;
	}
	/* debuggers can still fetch it */
	bool was_ready = w->candidate.state == UX_CANDIDATE_READY;
	if (was_ready || extract_settle_failed(w, why, NULL) != UX_OK)
		extract_note_end(w, ix->jobs.give_up(ix, w->job.number, w->x->owner, text, NULL));
}

static void extract_job_report(const struct work *w, const struct ux_error *why, enum ux_code code)
{
	const struct ux_extractor_options *o = w->x->options;
	const struct ux_extracted_one one = {
		.ns = w->of.ns ? w->of.ns : w->job.ns,
		.id = w->of.id ? w->of.id : "",
		.reason = code != UX_OK ? why->text : w->settled.reason,
		.code = code,
		.candidate = &w->candidate,
		.settled = w->settled,
		.result = w->result,
	};
	if (o->log)
		o->log(o->log_ctx, &one);
}

static bool extract_has_child(const struct work *w)
{
	for (size_t i = 0; i < w->module.n_candidates; i++)
		if (w->module.candidates[i].parent == w->candidate.number)
			return true;
	return false;
}

/*
 * Tests whether the job has work. A ready candidate needs extraction too if its GSYM was evicted
 * and is needed again, if it came from an upstream and was served before its extraction, or if the
 * supplementary file that it was extracted without has arrived.
 */
static bool extract_has_work(const struct work *w)
{
	if (w->candidate.state == UX_CANDIDATE_PENDING)
		return true;
	return w->candidate.kind != UX_KIND_SOURCES && w->candidate.state == UX_CANDIDATE_READY &&
	       (strcmp(w->job.payload, UX_JOB_AGAIN) == 0 || !extract_has_child(w));
}

/*
 * Sets a job aside after all its attempts ended without a result, because the server that ran it
 * exited each time: the file may be the cause.
 */
static void extract_set_aside(struct work *w)
{
	struct ux_error why = UX_ERROR_INIT;
	if (extract_find_candidate(w, &why) == UX_OK) {
		why = (struct ux_error)UX_ERROR_INIT;
		(void)ux_error_set(
			&why, UX_ELIMIT,
			"%d attempts to extract it were interrupted; the last one: %.200s",
			UX_EXTRACTOR_ATTEMPTS_MAX, w->job.reason);
	}
	extract_retry(w, &why);
	extract_job_report(w, &why, UX_ELIMIT);
}

static void extract_job_run(struct work *w)
{
	struct ux_index *ix = extract_index(w);
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = extract_note_away(w, extract_find_candidate(w, &why));
	if (code == UX_OK && extract_has_work(w))
		code = extract_candidate(w, &why);
	if (code == UX_OK || code == UX_ENOTFOUND) { /* a removed candidate needs no work */
		if (!w->done)
			extract_note_end(w, ix->jobs.done(ix, w->job.number, w->x->owner, NULL));
		if (code == UX_OK)
			ux_module_cache_evict_id(w->x->cache, w->of.ns, w->of.id);
		/* the stop caused the failure: the next server does the job */
	} else if (w->x->is_stopping(w->x->ctx)) {
		extract_note_end(w,
				 ix->jobs.release(ix, w->x->owner, /* has_ended= */ false, NULL));
	} else if (w->too_slow) {
		extract_note_end(w, ix->jobs.slow_down(ix, w->job.number, w->x->owner, NULL));
	} else {
		extract_retry(w, &why);
	}
	extract_job_report(w, &why, code);
}

/* Takes the next job from the first lane that has one. */
static enum ux_code extract_job_take(struct work *w, int64_t lease_s)
{
	const struct ux_extract_env *x = w->x;
	struct ux_index *ix = x->store->index;
	enum ux_code code = UX_ENOTFOUND;
	if (*x->doubt)
		UX_TRY(ix->jobs.release(ix, x->owner, /* has_ended= */ false, NULL));
	*x->doubt = false;
	pthread_mutex_lock(&x->turns->lock);
	for (size_t i = 0; i < x->n_lanes && code == UX_ENOTFOUND; i++) {
		char *after = x->turns->after[x->lanes[i]];
		const struct ux_job_turn turn = {.kind = UX_JOB_EXTRACT,
						 .owner = x->owner,
						 .lane = x->lanes[i],
						 .after = after};
		code = ix->jobs.take_turn(ix, &turn, extract_now(w), lease_s, &w->arena, &w->job,
					  NULL);
		if (code == UX_OK)
			snprintf(after, sizeof(x->turns->after[0]), "%s", w->job.ns);
	}
	pthread_mutex_unlock(&x->turns->lock);
	*x->doubt = code != UX_OK && code != UX_ENOTFOUND;
	return code;
}

bool ux_extract_job_step(const struct ux_extract_env *x)
{
	const struct ux_sandbox_limits *limits = &x->options->limits;
	ux_cleanup(extract_work_deinit) struct work w = {
		.x = x, .files = UX_SANDBOX_NO_FILES, .limits = *limits};
	/*
	 * A pair that does not match is read twice, and each time again if the supplementary file
	 * is unusable.
	 */
	int64_t lease = 8 * (int64_t)limits->seconds + LEASE_SPARE_S;
	ux_arena_init(&w.arena, ARENA_MAX);
	if (extract_job_take(&w, lease) != UX_OK)
		return false;
	w.limits.forks = x->forks;
	w.quick = !w.job.slow && limits->seconds > QUICK_S;
	w.limits.seconds = w.quick ? QUICK_S : limits->seconds;
	if (w.job.attempts > UX_EXTRACTOR_ATTEMPTS_MAX)
		extract_set_aside(&w);
	else
		extract_job_run(&w);
	return true;
}
