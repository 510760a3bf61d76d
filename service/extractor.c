/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that extracts. */
#include "extractor.h"

#include "gsym_reader.h"
#include "source_unpack.h"
#include "upload_check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	ARENA_MOST = 16 << 20,
	LEASE_SPARE_S = 120, /* besides what the child may take */
	RETRY_S = 60,        /* before the second try; twice as long before each next one */
	IDLE_MOST_S = 60,    /* between looks at the queue without being woken */
};

static const char owner[] = "extractor";

struct ux_extractor {
	struct ux_store *store;
	struct ux_module_cache *cache;
	struct ux_extractor_options options;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* guards the two flags */
	pthread_cond_t changed;
	bool woken;
	bool stopping;
	int stop_fd; /* an eventfd that a child at work ends by */
};

/* One job at work. */
struct work {
	struct ux_extractor *x;
	struct ux_arena arena;
	struct ux_job job;
	struct ux_candidate candidate;
	struct ux_idle of; /* the module */
	struct ux_module module;
	int files[UX_SANDBOX_FILE_COUNT];
	bool is_debug_of_pair; /* the candidate is DEBUG, and EXE another one */
	struct ux_sandbox_found found;
	struct ux_mapping gsym;
	struct ux_candidate derived;
	struct ux_settled settled;
	struct ux_add_result result;
};

static void work_deinit(struct work *w)
{
	ux_file_unmap(&w->gsym);
	for (int i = 0; i < UX_SANDBOX_FILE_COUNT; i++)
		if (w->files[i] >= 0)
			close(w->files[i]);
	ux_arena_deinit(&w->arena);
}

static struct ux_index *index_of(const struct work *w)
{
	return w->x->store->index;
}

static ux_time now_of(const struct work *w)
{
	return ux_store_now(w->x->store);
}

/* A file without a name, gone with its descriptor. */
static enum ux_code open_scratch(const struct work *w, int *ret, struct ux_error *err)
{
	const char *folder = w->x->options.scratch ? w->x->options.scratch : "/var/tmp";
	*ret = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*ret < 0) /* a file system that cannot do that */
		*ret = memfd_create("unhex-extract", MFD_CLOEXEC);
	return *ret >= 0 ? UX_OK : ux_error_os(err, errno, "cannot make a file in %.80s", folder);
}

static enum ux_code open_candidate(struct work *w, const struct ux_candidate *c,
				   enum ux_sandbox_file as, struct ux_error *err)
{
	struct ux_blobs *b = w->x->store->blobs;
	return ux_blobs_open(b, &c->blob, c->size, &w->files[as], err);
}

/* An unstripped executable is no half of a stripped one, which is only poorer. */
static const struct ux_candidate *other_half(const struct ux_module *m, bool is_debug)
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

/*
 * The executable first and its debug file with it, whichever of the two came last. A file that
 * turns out to be of the other kind is read alone.
 */
static enum ux_code open_files(struct work *w, struct ux_error *err)
{
	bool is_debug = w->candidate.kind == UX_KIND_DEBUGINFO;
	const struct ux_candidate *other = other_half(&w->module, is_debug);
	UX_TRY(open_scratch(w, &w->files[UX_SANDBOX_GSYM], err));
	if (!other || other->number == w->candidate.number)
		return open_candidate(w, &w->candidate, UX_SANDBOX_EXE, err);
	w->is_debug_of_pair = is_debug;
	UX_TRY(open_candidate(w, is_debug ? other : &w->candidate, UX_SANDBOX_EXE, err));
	return open_candidate(w, is_debug ? &w->candidate : other, UX_SANDBOX_DEBUG, err);
}

static void close_file(struct work *w, enum ux_sandbox_file which)
{
	if (w->files[which] >= 0)
		close(w->files[which]);
	w->files[which] = -1;
}

/* Alone after all: what the other file has to do with this one is not this one's fault. */
static enum ux_code extract_alone(struct work *w, struct ux_error *err)
{
	w->is_debug_of_pair = false;
	close_file(w, UX_SANDBOX_EXE);
	close_file(w, UX_SANDBOX_DEBUG);
	UX_TRY(open_candidate(w, &w->candidate, UX_SANDBOX_EXE, err));
	if (ftruncate(w->files[UX_SANDBOX_GSYM], 0) != 0 ||
	    lseek(w->files[UX_SANDBOX_GSYM], 0, SEEK_SET) != 0)
		return ux_error_os(err, errno, "cannot empty a file");
	return ux_sandbox_extract(w->files, &w->x->options.limits, w->x->options.program, &w->found,
				  err);
}

static enum ux_code extract(struct work *w, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_sandbox_extract(w->files, &w->x->options.limits,
					       w->x->options.program, &w->found, &why);
	if (code != UX_OK && w->files[UX_SANDBOX_DEBUG] >= 0)
		return extract_alone(w, err);
	if (code != UX_OK && err)
		*err = why;
	return code;
}

/* What the bytes are, now that somebody has looked. */
static enum ux_code measure(struct work *w, struct ux_error *err)
{
	struct ux_settled *s = &w->settled;
	const struct ux_sandbox_found *f = &w->found;
	const char **ids = ux_arena_array(&w->arena, const char *, UX_ID_SET_MOST);
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
	s->kind = w->candidate.kind == UX_KIND_DWO || w->candidate.kind == UX_KIND_DWP
			  ? w->candidate.kind
		  : (has & UX_SANDBOX_HAS_CODE) != 0 ? UX_KIND_EXECUTABLE
						     : UX_KIND_DEBUGINFO;
	s->holds = ((has & UX_SANDBOX_HAS_CODE) != 0 ? (unsigned)UX_HOLDS_CODE : 0) |
		   ((has & UX_SANDBOX_HAS_DEBUG) != 0 ? (unsigned)UX_HOLDS_DEBUG : 0) |
		   ((has & UX_SANDBOX_HAS_SECTIONS) != 0 ? (unsigned)UX_HOLDS_SECTIONS : 0);
	s->quality = f->quality;
	s->counts = f->counts;
	s->code_total = f->text_bytes;
	return UX_OK;
}

/* The child's work is a stranger's: it is read as an upload is. */
static enum ux_code check_gsym(struct work *w, struct ux_error *err)
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
				   .file_name = w->candidate.file_name,
				   .key_id = w->candidate.key_id};
	UX_TRY(ux_upload_check(w->gsym.bytes, w->settled.ids, w->settled.n_ids, w->found.quality,
			       &d->quality, &d->counts, err));
	d->blob = ux_blob_hash_of(w->gsym.bytes);
	return UX_OK;
}

/* The blob first, then the row, and the sweep not between them. */
static enum ux_code settle(struct work *w, struct ux_error *err)
{
	struct ux_index *ix = index_of(w);
	struct ux_store *s = w->x->store;
	if (w->settled.derived)
		UX_TRY(ux_blobs_put(s->blobs, w->gsym.bytes, &w->derived.blob, &s->commit_lock,
				    err));
	else
		pthread_mutex_lock(&s->commit_lock);
	enum ux_code code = ix->modules.settle(ix, w->candidate.number, &w->settled, now_of(w),
					       &w->result, err);
	pthread_mutex_unlock(&s->commit_lock);
	return code;
}

/* The bytes can never become right. */
static enum ux_code settle_failed(struct work *w, const struct ux_error *why, struct ux_error *err)
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
	return settle(w, err);
}

/* Is it the machine's fault, so that it may work another time? */
static bool is_passing(const struct ux_error *why)
{
	return why->code == UX_ENOMEM || why->code == UX_EUNAVAILABLE || why->os_errno != 0;
}

static enum ux_code settle_measured(struct work *w, bool has_gsym, struct ux_error *err)
{
	if (has_gsym) {
		UX_TRY(check_gsym(w, err));
		w->settled.derived = &w->derived;
	}
	return settle(w, err);
}

/* An archive that can never be read is failed, as an ELF file is. */
static enum ux_code read_sources(struct work *w, struct ux_error *err)
{
	const struct ux_extractor_options *o = &w->x->options;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(open_scratch(w, &w->files[UX_SANDBOX_GSYM], err));
	enum ux_code code = ux_source_unpack(w->x->store, &w->candidate, o->limits, o->program,
					     w->files[UX_SANDBOX_GSYM], &why);
	if (code == UX_OK)
		return settle(w, err);
	if (!is_passing(&why))
		return settle_failed(w, &why, err);
	if (err)
		*err = why;
	return code;
}

/* An ELF file without any symbols is no failure: it serves debuggers. */
static enum ux_code read_candidate(struct work *w, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	w->settled = (struct ux_settled){.state = UX_CANDIDATE_READY,
					 .reason = "",
					 .kind = w->candidate.kind,
					 .parser = UX_EXTRACTOR_PARSER};
	if (w->candidate.kind == UX_KIND_SOURCES)
		return read_sources(w, err);
	UX_TRY(open_files(w, err));
	enum ux_code code = extract(w, &why);
	bool nameless = code == UX_ENOTFOUND && why.os_errno == 0;
	if (code == UX_OK || nameless) {
		why = (struct ux_error)UX_ERROR_INIT;
		UX_TRY(measure(w, err));
		code = settle_measured(w, code == UX_OK, &why);
		if (code == UX_OK || (code == UX_ENOTFOUND && why.os_errno == 0))
			return code;
	}
	if (!is_passing(&why))
		return settle_failed(w, &why, err);
	if (err)
		*err = why;
	return code;
}

static enum ux_code find_candidate(struct work *w, struct ux_error *err)
{
	struct ux_index *ix = index_of(w);
	UX_TRY(ix->modules.candidate(ix, w->job.candidate, &w->arena, &w->candidate, &w->of, err));
	return ix->modules.find(ix, w->of.ns, w->of.id, &w->arena, &w->module, err);
}

static ux_time next_try(const struct work *w)
{
	unsigned shift = ux_min(w->job.attempts, 10U);
	return now_of(w) + ((int64_t)RETRY_S << (shift > 0 ? shift - 1 : 0));
}

/* After a failure that was not the bytes'. */
static void try_again(struct work *w, const struct ux_error *why)
{
	struct ux_index *ix = index_of(w);
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_error_format(why, text, sizeof(text));
	if (w->job.attempts < UX_EXTRACTOR_ATTEMPTS_MOST) {
		(void)!ix->jobs.retry(ix, w->job.number, owner, next_try(w), text, NULL);
		return;
	}
	bool was_ready = w->candidate.state == UX_CANDIDATE_READY; /* and serves debuggers still */
	if (!was_ready && settle_failed(w, why, NULL) == UX_OK)
		(void)!ix->jobs.done(ix, w->job.number, owner, NULL);
	else
		(void)!ix->jobs.give_up(ix, w->job.number, owner, text, NULL);
}

static void report(const struct work *w, const struct ux_error *why, enum ux_code code)
{
	struct ux_extractor *x = w->x;
	const struct ux_extracted_one one = {
		.ns = w->of.ns ? w->of.ns : w->job.ns,
		.id = w->of.id ? w->of.id : "",
		.reason = code != UX_OK ? why->text : w->settled.reason,
		.code = code,
		.candidate = &w->candidate,
		.settled = w->settled,
		.result = w->result,
	};
	if (x->options.log)
		x->options.log(x->options.log_ctx, &one);
}

static bool has_child(const struct work *w)
{
	for (size_t i = 0; i < w->module.n_candidates; i++)
		if (w->module.candidates[i].parent == w->candidate.number)
			return true;
	return false;
}

/* Also of one that is ready: its GSYM was evicted and is asked for again, or it came from an
 * upstream and served debuggers at once. */
static bool has_work(const struct work *w)
{
	return w->candidate.state == UX_CANDIDATE_PENDING ||
	       (w->candidate.kind != UX_KIND_SOURCES && w->candidate.state == UX_CANDIDATE_READY &&
		!has_child(w));
}

static bool is_stopping(struct ux_extractor *x)
{
	pthread_mutex_lock(&x->lock);
	bool stopping = x->stopping;
	pthread_mutex_unlock(&x->lock);
	return stopping;
}

static void run_job(struct work *w)
{
	struct ux_index *ix = index_of(w);
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = find_candidate(w, &why);
	if (code == UX_OK && has_work(w))
		code = read_candidate(w, &why);
	if (code == UX_OK || code == UX_ENOTFOUND) { /* gone meanwhile: nothing to do */
		(void)!ix->jobs.done(ix, w->job.number, owner, NULL);
		if (code == UX_OK)
			ux_module_cache_forget_id(w->x->cache, w->of.ns, w->of.id);
	} else if (is_stopping(w->x)) { /* not its fault: the next server does it */
		(void)!ix->jobs.release(ix, owner, NULL);
	} else {
		try_again(w, &why);
	}
	report(w, &why, code);
}

bool ux_extractor_step(struct ux_extractor *x)
{
	ux_cleanup(work_deinit) struct work w = {.x = x, .files = {-1, -1, -1, -1}};
	struct ux_index *ix = x->store->index;
	/* A pair is read twice when the two do not fit. */
	int64_t lease = 4 * (int64_t)x->options.limits.seconds + LEASE_SPARE_S;
	ux_arena_init(&w.arena, ARENA_MOST);
	if (ix->jobs.take(ix, UX_JOB_EXTRACT, owner, now_of(&w), lease, &w.arena, &w.job, NULL) !=
	    UX_OK)
		return false;
	run_job(&w);
	return true;
}

/* Seconds until there may be something to do. */
static int64_t idle_seconds(struct ux_extractor *x)
{
	struct ux_index *ix = x->store->index;
	ux_time due = INT64_MAX, now = ux_store_now(x->store);
	if (ix->jobs.next_due(ix, UX_JOB_EXTRACT, &due, NULL) != UX_OK || due > now + IDLE_MOST_S)
		return IDLE_MOST_S;
	return ux_max(due - now, (int64_t)1);
}

/* False: it is to stop. */
static bool wait_for_work(struct ux_extractor *x)
{
	struct timespec until;
	int64_t seconds = idle_seconds(x);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	int r = 0;
	pthread_mutex_lock(&x->lock);
	while (!x->woken && !x->stopping && r == 0)
		r = pthread_cond_timedwait(&x->changed, &x->lock, &until);
	x->woken = false;
	bool go_on = !x->stopping;
	pthread_mutex_unlock(&x->lock);
	return go_on;
}

static void *run(void *ctx)
{
	struct ux_extractor *x = ctx;
	do {
		while (!is_stopping(x) && ux_extractor_step(x))
			;
	} while (wait_for_work(x));
	return NULL;
}

/* What an earlier process was at comes again at once, and so does what an older one could not read.
 */
static enum ux_code take_up(struct ux_extractor *x, struct ux_error *err)
{
	struct ux_index *ix = x->store->index;
	ux_time now = ux_store_now(x->store);
	uint64_t n = 0;
	UX_TRY(ix->jobs.release(ix, owner, err));
	UX_TRY(ix->modules.requeue(ix, now, &n, err));
	return ix->modules.retry_failed(ix, UX_EXTRACTOR_PARSER, now, &n, err);
}

static void init_locks(struct ux_extractor *x)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&x->changed, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&x->lock, NULL);
}

enum ux_code ux_extractor_open(struct ux_extractor **ret, struct ux_store *store,
			       struct ux_module_cache *cache,
			       const struct ux_extractor_options *options, struct ux_error *err)
{
	struct ux_extractor *x = calloc(1, sizeof(*x));
	if (!x)
		return ux_error_nomem(err);
	x->store = store;
	x->cache = cache;
	x->options = *options;
	init_locks(x);
	x->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	x->options.limits.stop = &x->stop_fd;
	enum ux_code code = x->stop_fd < 0 ? ux_error_os(err, errno, "cannot make an eventfd")
					   : take_up(x, err);
	if (code != UX_OK) {
		ux_extractor_stop(x);
		return code;
	}
	*ret = x;
	return UX_OK;
}

enum ux_code ux_extractor_start(struct ux_extractor *x, struct ux_error *err)
{
	int r = pthread_create(&x->thread, NULL, run, x);
	if (r != 0)
		return ux_error_os(err, r, "cannot start the thread that extracts");
	x->started = true;
	return UX_OK;
}

void ux_extractor_wake(struct ux_extractor *x)
{
	pthread_mutex_lock(&x->lock);
	x->woken = true;
	pthread_cond_signal(&x->changed);
	pthread_mutex_unlock(&x->lock);
}

void ux_extractor_interrupt(struct ux_extractor *x)
{
	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	x->stopping = true;
	pthread_cond_signal(&x->changed);
	pthread_mutex_unlock(&x->lock);
	if (x->stop_fd >= 0)
		(void)!eventfd_write(x->stop_fd, 1);
}

void ux_extractor_stop(struct ux_extractor *x)
{
	if (!x)
		return;
	ux_extractor_interrupt(x);
	if (x->started)
		pthread_join(x->thread, NULL);
	pthread_cond_destroy(&x->changed);
	pthread_mutex_destroy(&x->lock);
	if (x->stop_fd >= 0)
		close(x->stop_fd);
	free(x);
}
