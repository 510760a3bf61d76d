/* SPDX-License-Identifier: Apache-2.0 */
/* A live process: its mappings and their symbols, and the rules for reading them again. */
#include "process.h"

#include "clock.h"
#include "error.h"
#include "hash.h"
#include "kernel_lines.h"

struct ux_snapshot *ux_snapshot_hold(struct ux_snapshot *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void ux_snapshot_drop(struct ux_snapshot *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t depth = 0; depth < UX_SYMBOLS_DEPTH_COUNT; depth++) {
		struct ux_file_symbols *_Atomic *symbols = s->symbols[depth];
		for (size_t i = 0; symbols && i < s->maps.list.size; i++)
			ux_file_symbols_drop(
				atomic_load_explicit(&symbols[i], memory_order_relaxed));
		free((void *)symbols);
	}
	ux_proc_maps_deinit(&s->maps);
	free(s);
}

static void snapshot_drop_guard(struct ux_snapshot **s)
{
	ux_snapshot_drop(*s);
}

enum ux_code ux_snapshot_read(const struct ux_proc *p, struct ux_snapshot *old,
			      struct ux_snapshot **ret, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	uint64_t generation = 0;
	UX_TRY(ux_proc_generation(p, &generation, err));
	UX_TRY(ux_proc_read(p->dir, "maps", UX_PROC_MAPS_MAX, &text, err));
	uint64_t hash = ux_hash_bytes(text.bytes);
	if (old && old->generation == generation && old->text_hash == hash) {
		*ret = ux_snapshot_hold(old);
		return UX_OK;
	}
	ux_cleanup(snapshot_drop_guard) struct ux_snapshot *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	atomic_init(&s->refs, 1);
	s->generation = generation;
	s->text_hash = hash;
	UX_TRY(ux_proc_maps_parse(text.bytes, &s->maps, err));
	for (size_t depth = 0; depth < UX_SYMBOLS_DEPTH_COUNT; depth++) {
		s->symbols[depth] = calloc(s->maps.list.size + 1, sizeof(*s->symbols[depth]));
		if (!s->symbols[depth])
			return ux_error_nomem(err);
	}
	*ret = ux_take(&s);
	return UX_OK;
}

/* Loads the symbols of a mapping. If a file cannot be opened or read, its symbols are empty and
 * contain the reason. */
static enum ux_code snapshot_find_symbols(const struct ux_proc_map *m, const struct ux_proc *p,
					  struct ux_symbols_cache *cache,
					  enum ux_symbols_depth depth, struct ux_file_symbols **ret,
					  struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(ux_read_deinit) struct ux_read image = {0};
	UX_FD(fd);
	enum ux_code code = UX_OK;
	if (m->kind == UX_PROC_MAP_VDSO) {
		code = ux_proc_read_memory(p, m->start, m->end, &image, &why);
		if (code == UX_OK)
			return ux_symbols_cache_image(cache, image.bytes, depth, ret, err);
	} else {
		code = ux_proc_open_mapped(p, m, &fd, &why);
		if (code == UX_OK)
			return ux_symbols_cache_file(cache, fd, m->path, depth, ret, err);
	}
	*ret = code == UX_ENOMEM ? NULL : ux_file_symbols_create_empty(&why);
	return *ret ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_snapshot_symbols(struct ux_snapshot *s, size_t i, const struct ux_proc *p,
				 struct ux_symbols_cache *cache, enum ux_symbols_depth depth,
				 struct ux_file_symbols **ret, struct ux_error *err)
{
	struct ux_file_symbols *_Atomic *slot = &s->symbols[depth][i];
	/* Acquire pairs with the release of the thread that published them. */
	struct ux_file_symbols *known = atomic_load_explicit(slot, memory_order_acquire);
	struct ux_file_symbols *found = NULL, *none = NULL;
	if (known) {
		*ret = known;
		return UX_OK;
	}
	UX_TRY(snapshot_find_symbols(&s->maps.list.data[i], p, cache, depth, &found, err));
	if (!atomic_compare_exchange_strong_explicit(slot, &none, found, memory_order_acq_rel,
						     memory_order_acquire)) {
		ux_file_symbols_drop(found); /* another thread has published them first */
		found = none;
	}
	*ret = found;
	return UX_OK;
}

bool ux_snapshot_neighbour(const struct ux_snapshot *s, size_t i, size_t *ret)
{
	const struct ux_proc_map *maps = s->maps.list.data;
	size_t at = i;
	while (at > 0 && maps[at - 1].end == maps[at].start && maps[at].kind != UX_PROC_MAP_FILE)
		at--;
	if (maps[at].kind == UX_PROC_MAP_FILE) {
		*ret = at;
		return true;
	}
	for (at = i; at + 1 < s->maps.list.size && maps[at + 1].start == maps[at].end &&
		     maps[at].kind != UX_PROC_MAP_FILE;)
		at++;
	*ret = at;
	return maps[at].kind == UX_PROC_MAP_FILE;
}

enum {
	REFRESH_MS = 100,
	STALE_FACTOR = 10, /* if all addresses are found, the process is read again this many times
			      less often */
};

#define OPTS_MIN       (offsetof(struct ux_process_opts, flags) + sizeof(uint32_t))
#define CACHE_OPTS_MIN (offsetof(struct ux_process_cache_opts, find_ctx) + sizeof(void *))

/* The opaque public type; it stands for a struct ux_symbols_cache. */
struct ux_process_cache {
	char unused;
};

struct ux_symbols_cache *ux_process_cache_symbols(struct ux_process_cache *cache)
{
	return (struct ux_symbols_cache *)(void *)cache;
}

enum ux_code ux_process_cache_create(const struct ux_process_cache_opts *caller,
				     struct ux_process_cache **ret, struct ux_error *err)
{
	struct ux_process_cache_opts opts;
	struct ux_symbols_cache *c = NULL;
	UX_TRY(ux_sized_read(&opts, sizeof(opts), CACHE_OPTS_MIN, caller, err));
	UX_TRY(ux_symbols_cache_create(&opts, &c, err));
	*ret = (struct ux_process_cache *)(void *)c;
	return UX_OK;
}

void ux_process_cache_free(struct ux_process_cache *cache)
{
	ux_symbols_cache_drop(ux_process_cache_symbols(cache));
}

const char *ux_process_reason_name(enum ux_process_reason reason)
{
	static const char *const names[] = {
		"none",        "unmapped",   "not code",    "run-time code", "no symbols",
		"no function", "unreadable", "unsupported", "kernel",        "no call"};
	static_assert(ux_countof(names) == UX_PROCESS_REASON_COUNT, "one name a reason");
	return (unsigned)reason < ux_countof(names) ? names[reason] : "unknown";
}

const char *ux_process_kind_name(enum ux_process_kind kind)
{
	static const char *const names[] = {"nothing", "file", "jit", "vdso", "kernel"};
	static_assert(ux_countof(names) == UX_PROCESS_KIND_COUNT, "one name a kind");
	return (unsigned)kind < ux_countof(names) ? names[kind] : "unknown";
}

void ux_process_close(struct ux_process *p)
{
	if (!p)
		return;
	ux_snapshot_drop(p->current);
	ux_jit_sources_drop(p->jit);
	ux_kernel_code_free(p->vmlinux);
	ux_symbols_cache_drop(p->cache);
	ux_proc_close(&p->proc);
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->refreshing);
	free(p);
}

static void process_close_guard(struct ux_process **p)
{
	ux_process_close(*p);
}

static enum ux_code process_open_vmlinux(struct ux_process *p, const char *path,
					 struct ux_error *err)
{
	struct ux_kernel *kernel = NULL;
	UX_TRY(ux_symbols_cache_kernel(p->cache, (uint64_t)ux_clock_ns(), 0, &kernel, err));
	enum ux_code code = ux_kernel_code_open(p->cache, kernel, path, &p->vmlinux, err);
	ux_kernel_drop(kernel);
	return code;
}

/* Creates the object according to the options; neither the process nor vmlinux is opened yet. */
static enum ux_code process_create(const struct ux_process_opts *caller,
				   struct ux_process_opts *opts, struct ux_process **ret,
				   struct ux_error *err)
{
	UX_TRY(ux_sized_read(opts, sizeof(*opts), OPTS_MIN, caller, err));
	if (opts->flags != 0)
		return ux_error_set(err, UX_EINVAL, "unknown flag in 0x%" PRIx32, opts->flags);
	ux_cleanup(process_close_guard) struct ux_process *p = calloc(1, sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	p->proc = (struct ux_proc){.dir = -1, .stat = -1};
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->refreshing, NULL);
	p->refresh_ns = (opts->refresh_ms ? opts->refresh_ms : REFRESH_MS) * (uint64_t)1000000;
	if (opts->cache)
		p->cache = ux_symbols_cache_hold(ux_process_cache_symbols(opts->cache));
	else
		UX_TRY(ux_symbols_cache_create(&(struct ux_process_cache_opts){0}, &p->cache, err));
	UX_TRY(ux_jit_sources_create(&p->jit, err));
	*ret = ux_take(&p);
	return UX_OK;
}

enum ux_code ux_process_open(pid_t pid, const struct ux_process_opts *caller,
			     struct ux_process **ret, struct ux_error *err)
{
	struct ux_process_opts opts;
	ux_cleanup(process_close_guard) struct ux_process *p = NULL;
	UX_TRY(process_create(caller, &opts, &p, err));
	UX_TRY(ux_proc_open(&p->proc, pid, err));
	if (opts.vmlinux)
		UX_TRY(process_open_vmlinux(p, opts.vmlinux, err));
	UX_TRY(ux_snapshot_read(&p->proc, NULL, &p->current, err));
	p->read_ns = (uint64_t)ux_clock_ns();
	*ret = ux_take(&p);
	return UX_OK;
}

enum ux_code ux_process_open_kernel(const struct ux_process_opts *caller, struct ux_process **ret,
				    struct ux_error *err)
{
	struct ux_process_opts opts;
	ux_cleanup(process_close_guard) struct ux_process *p = NULL;
	UX_TRY(process_create(caller, &opts, &p, err));
	if (opts.vmlinux)
		UX_TRY(process_open_vmlinux(p, opts.vmlinux, err));
	p->kernel_only = true;
	p->current = calloc(1, sizeof(*p->current));
	if (!p->current)
		return ux_error_nomem(err);
	atomic_init(&p->current->refs, 1);
	*ret = ux_take(&p);
	return UX_OK;
}

/* Returns the current mappings and JIT files, with a reference to each. */
static struct ux_process_view process_current_view(struct ux_process *p)
{
	pthread_mutex_lock(&p->lock);
	struct ux_process_view v = {
		.snapshot = ux_snapshot_hold(p->current),
		.jit = ux_jit_sources_hold(p->jit),
	};
	pthread_mutex_unlock(&p->lock);
	return v;
}

void ux_process_view_drop(struct ux_process_view *v)
{
	ux_snapshot_drop(v->snapshot);
	ux_jit_sources_drop(v->jit);
	*v = (struct ux_process_view){0};
}

/* Updates the JIT files. After an exec, the files of the previous program are dropped. */
static enum ux_code process_refresh_jit(struct ux_process *p, const struct ux_snapshot *fresh,
					struct ux_process_view *v, struct ux_error *err)
{
	if (fresh->generation == v->snapshot->generation)
		return UX_OK;
	ux_jit_sources_drop(v->jit);
	v->jit = NULL;
	UX_TRY(ux_jit_sources_create(&v->jit, err));
	pthread_mutex_lock(&p->lock);
	ux_jit_sources_drop(p->jit);
	p->jit = ux_jit_sources_hold(v->jit);
	pthread_mutex_unlock(&p->lock);
	return UX_OK;
}

/* Reads the process again. If it has ended or may no longer be read, the last state stays in use,
 * and *ret_why (which may be NULL) is the reason. */
static enum ux_code process_refresh(struct ux_process *p, struct ux_process_view *v, bool with_jit,
				    struct ux_error *ret_why, struct ux_error *err)
{
	struct ux_snapshot *fresh = NULL;
	enum ux_code code = ux_snapshot_read(&p->proc, v->snapshot, &fresh, ret_why);
	p->read_ns = (uint64_t)ux_clock_ns();
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		return UX_OK;
	code = process_refresh_jit(p, fresh, v, err);
	pthread_mutex_lock(&p->lock);
	ux_snapshot_drop(p->current);
	p->current = ux_snapshot_hold(fresh);
	pthread_mutex_unlock(&p->lock);
	ux_snapshot_drop(v->snapshot);
	v->snapshot = fresh;
	UX_TRY(code);
	if (!with_jit && !p->jit_read)
		return UX_OK;
	p->jit_read = true;
	return ux_jit_sources_update(v->jit, &p->proc, &fresh->maps, err);
}

enum ux_code ux_process_view_get(struct ux_process *p, enum ux_process_need need,
				 struct ux_process_view *ret, bool *ret_fresh,
				 uint64_t *ret_retry_ns, struct ux_error *err)
{
	uint64_t generation = 0;
	*ret_retry_ns = 0;
	enum ux_code code = UX_OK;
	if (need == UX_PROCESS_REFRESHED)
		pthread_mutex_lock(&p->refreshing);
	/* When the lock is held, another thread is reading the process. */
	else if (p->kernel_only || pthread_mutex_trylock(&p->refreshing) != 0) {
		*ret = process_current_view(p);
		*ret_fresh = false;
		return UX_OK;
	}
	struct ux_process_view v = process_current_view(p);
	uint64_t age = (uint64_t)ux_clock_ns() - p->read_ns;
	bool lives = ux_proc_generation(&p->proc, &generation, NULL) == UX_OK;
	bool other = lives && generation != v.snapshot->generation;
	bool first = need == UX_PROCESS_REFRESHED && !p->jit_read;
	bool due = age >=
		   (need == UX_PROCESS_REFRESHED ? p->refresh_ns : STALE_FACTOR * p->refresh_ns);
	*ret_fresh = other || first || due;
	if (*ret_fresh)
		code = process_refresh(p, &v, need == UX_PROCESS_REFRESHED, NULL, err);
	age = *ret_fresh ? 0 : age;
	if (lives)
		*ret_retry_ns = p->refresh_ns - ux_min(age, p->refresh_ns) + 1;
	pthread_mutex_unlock(&p->refreshing);
	if (code != UX_OK) {
		ux_process_view_drop(&v);
		return code;
	}
	*ret = v;
	return UX_OK;
}

enum ux_code ux_process_refresh(struct ux_process *p, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	atomic_store(&p->kernel_after_ns, (uint64_t)ux_clock_ns());
	if (p->kernel_only)
		return UX_OK;
	pthread_mutex_lock(&p->refreshing);
	struct ux_process_view v = process_current_view(p);
	enum ux_code code = process_refresh(p, &v, /* with_jit= */ true, &why, err);
	pthread_mutex_unlock(&p->refreshing);
	ux_process_view_drop(&v);
	if (code == UX_OK && why.code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code == UX_OK ? why.code : code;
}
