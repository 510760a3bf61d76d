/* SPDX-License-Identifier: Apache-2.0 */
/* A live process that is followed: what is current, when to look again. */
#include "process.h"

#include "clock.h"
#include "error.h"
#include "kernel_lines.h"

enum {
	REFRESH_MS = 100,
	STALE_FACTOR = 10, /* what nobody missed is looked at this much less often */
};

#define OPTS_LEAST       (offsetof(struct ux_process_opts, flags) + sizeof(uint32_t))
#define CACHE_OPTS_LEAST (offsetof(struct ux_process_cache_opts, find_ctx) + sizeof(void *))

/* The public type is the one inside. */
struct ux_process_cache {
	char unused;
};

static struct ux_symbols_cache *inside(struct ux_process_cache *cache)
{
	return (struct ux_symbols_cache *)(void *)cache;
}

enum ux_code ux_process_cache_create(const struct ux_process_cache_opts *caller,
				     struct ux_process_cache **ret, struct ux_error *err)
{
	struct ux_process_cache_opts opts;
	struct ux_symbols_cache *c = NULL;
	UX_TRY(ux_sized_read(&opts, sizeof(opts), CACHE_OPTS_LEAST, caller, err));
	UX_TRY(ux_symbols_cache_create(&opts, &c, err));
	*ret = (struct ux_process_cache *)(void *)c;
	return UX_OK;
}

void ux_process_cache_free(struct ux_process_cache *cache)
{
	ux_symbols_cache_drop(inside(cache));
}

const char *ux_process_kind_name(enum ux_process_kind kind)
{
	static const char *const names[] = {"nothing", "file", "jit", "vdso", "kernel"};
	static_assert(ux_countof(names) == UX_PROCESS_KIND_COUNT, "one name a kind");
	return (unsigned)kind < ux_countof(names) ? names[kind] : "unknown";
}

uint64_t ux_process_clock(void)
{
	return (uint64_t)ux_clock_ns();
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
	pthread_mutex_destroy(&p->renewing);
	free(p);
}

static void close_guard(struct ux_process **p)
{
	ux_process_close(*p);
}

static enum ux_code open_vmlinux(struct ux_process *p, const char *path, struct ux_error *err)
{
	struct ux_kernel_symbols_now *kernel = NULL;
	UX_TRY(ux_symbols_cache_kernel(p->cache, ux_process_clock(), 0, &kernel, err));
	enum ux_code code = ux_kernel_lines_of(p->cache, kernel, path, &p->vmlinux, err);
	ux_kernel_symbols_drop(kernel);
	return code;
}

enum ux_code ux_process_open(pid_t pid, const struct ux_process_opts *caller,
			     struct ux_process **ret, struct ux_error *err)
{
	struct ux_process_opts opts;
	UX_TRY(ux_sized_read(&opts, sizeof(opts), OPTS_LEAST, caller, err));
	if (opts.flags != 0)
		return ux_error_set(err, UX_EINVAL, "unknown flag in 0x%" PRIx32, opts.flags);
	ux_cleanup(close_guard) struct ux_process *p = calloc(1, sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	p->proc = (struct ux_proc){.dir = -1, .stat = -1};
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->renewing, NULL);
	p->refresh_ns = (opts.refresh_ms ? opts.refresh_ms : REFRESH_MS) * (uint64_t)1000000;
	if (opts.cache)
		p->cache = ux_symbols_cache_hold(inside(opts.cache));
	else
		UX_TRY(ux_symbols_cache_create(&(struct ux_process_cache_opts){0}, &p->cache, err));
	UX_TRY(ux_proc_open(&p->proc, pid, err));
	if (opts.vmlinux)
		UX_TRY(open_vmlinux(p, opts.vmlinux, err));
	UX_TRY(ux_snapshot_read(&p->proc, NULL, &p->current, err));
	UX_TRY(ux_jit_sources_create(&p->jit, err));
	p->read_ns = ux_process_clock();
	*ret = ux_take(&p);
	return UX_OK;
}

/* The current mappings and run-time code, each held. */
static struct ux_process_view hold_current(struct ux_process *p)
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

/* Run-time code of a program that another one has replaced is forgotten. */
static enum ux_code renew_jit(struct ux_process *p, const struct ux_snapshot *fresh,
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

/* Looks at the process again. One that has ended or is no longer ours to see stays as it was. */
static enum ux_code renew(struct ux_process *p, struct ux_process_view *v, bool with_jit,
			  struct ux_error *err)
{
	struct ux_snapshot *fresh = NULL;
	enum ux_code code = ux_snapshot_read(&p->proc, v->snapshot, &fresh, NULL);
	p->read_ns = ux_process_clock();
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		return UX_OK;
	code = renew_jit(p, fresh, v, err);
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

enum ux_code ux_process_see(struct ux_process *p, enum ux_process_need need,
			    struct ux_process_view *ret, bool *ret_fresh, struct ux_error *err)
{
	uint64_t generation = 0;
	enum ux_code code = UX_OK;
	if (need == UX_PROCESS_MISSED)
		pthread_mutex_lock(&p->renewing);
	else if (pthread_mutex_trylock(&p->renewing) != 0) { /* another thread is at it */
		*ret = hold_current(p);
		*ret_fresh = false;
		return UX_OK;
	}
	struct ux_process_view v = hold_current(p);
	uint64_t age = ux_process_clock() - p->read_ns;
	bool other = ux_proc_generation(&p->proc, &generation, NULL) == UX_OK &&
		     generation != v.snapshot->generation;
	bool first = need == UX_PROCESS_MISSED && !p->jit_read;
	bool due =
		age >= (need == UX_PROCESS_MISSED ? p->refresh_ns : STALE_FACTOR * p->refresh_ns);
	*ret_fresh = other || first || due;
	if (*ret_fresh)
		code = renew(p, &v, need == UX_PROCESS_MISSED, err);
	pthread_mutex_unlock(&p->renewing);
	if (code != UX_OK) {
		ux_process_view_drop(&v);
		return code;
	}
	*ret = v;
	return UX_OK;
}
