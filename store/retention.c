/* SPDX-License-Identifier: Apache-2.0 */
/* What a store lets go of, and when. */
#include "retention.h"

enum {
	MODULES_MOST = 100000,  /* of a namespace looked at in one run; the others come later */
	LIST_BUDGET = 256 << 20 /* bytes of their rows */
};

/* One run. */
struct run {
	struct ux_store *store;
	const struct ux_retention *how;
	ux_retained_fn *tell;
	void *ctx;
	struct ux_retained_sum *sum;
	ux_time now;
};

const char *ux_retained_name(enum ux_retained what)
{
	static const char *const names[UX_RETAINED_COUNT] = {
		[UX_RETAINED_IDLE] = "idle",
		[UX_RETAINED_MARKED] = "marked",
		[UX_RETAINED_SWEPT] = "swept",
		[UX_RETAINED_EVICTED] = "evicted",
	};
	return names[what];
}

static void tell(struct run *r, enum ux_retained what, const struct ux_idle *idle,
		 const struct ux_module *m)
{
	r->sum->n[what]++;
	r->sum->bytes[what] += idle->bytes;
	const struct ux_retained_one one = {.what = what,
					    .ns = idle->ns,
					    .id = idle->id,
					    .ids = m ? m->ids : NULL,
					    .n_ids = m ? m->n_ids : 0,
					    .last_used = idle->last_used,
					    .bytes = idle->bytes};
	if (r->tell)
		r->tell(r->ctx, &one);
}

static enum ux_code mark(struct run *r, const struct ux_idle *idle, ux_time before,
			 struct ux_error *err)
{
	struct ux_index *ix = r->store->index;
	bool done = r->how->dry_run;
	if (!done)
		UX_TRY(ix->modules.mark(ix, idle->module, before, r->now, &done, err));
	if (done)
		tell(r, UX_RETAINED_MARKED, idle, NULL);
	return UX_OK;
}

static enum ux_code sweep(struct run *r, const struct ux_idle *idle, ux_time before,
			  ux_time marked_before, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_module m;
	bool done = r->how->dry_run;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->modules.find(ix, idle->ns, idle->id, &arena, &m, &why);
	if (code == UX_ENOTFOUND)
		return UX_OK;
	if (code != UX_OK)
		return ux_error_set(err, code, "%s", why.text);
	if (!done)
		UX_TRY(ix->modules.sweep(ix, idle->module, before, marked_before, r->now, &done,
					 err));
	if (done)
		tell(r, UX_RETAINED_SWEPT, idle, &m);
	return UX_OK;
}

static enum ux_code look_at(struct run *r, const struct ux_idle *idle, ux_time before,
			    struct ux_error *err)
{
	ux_time marked_before = r->now - r->how->grace_s;
	if (idle->marked == 0)
		return mark(r, idle, before, err);
	if (idle->marked <= marked_before)
		return sweep(r, idle, before, marked_before, err);
	tell(r, UX_RETAINED_IDLE, idle, NULL);
	return UX_OK;
}

static enum ux_code retain_namespace(struct run *r, const struct ux_namespace *ns,
				     struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_idle_list list;
	int64_t keep = ns->retention_s < 0 ? r->how->default_s : ns->retention_s;
	if (keep <= 0 || keep > r->now)
		return UX_OK;
	ux_time before = r->now - keep - UX_RETENTION_SLACK;
	UX_TRY(ix->modules.idle(ix, ns->name, before, MODULES_MOST, &arena, &list, err));
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(look_at(r, &list.modules[i], before, err));
	return UX_OK;
}

static enum ux_code retain_modules(struct run *r, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_namespace_list list;
	UX_TRY(ix->namespaces.list(ix, &arena, &list, err));
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(retain_namespace(r, &list.items[i], err));
	return UX_OK;
}

/* c: a row of modules.caches, whose `module` is a candidate's number. */
static enum ux_code evict(struct run *r, const struct ux_idle *c, struct ux_error *err)
{
	static const struct ux_who who = {.key_id = "", .from = "server"};
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_module m = {0};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->modules.find(ix, c->ns, c->id, &arena, &m, &why);
	if (code == UX_OK && !r->how->dry_run)
		code = ix->modules.candidate_remove(ix, c->module, &who, r->now, &why);
	if (code == UX_OK)
		tell(r, UX_RETAINED_EVICTED, c, &m);
	return code == UX_OK || code == UX_ENOTFOUND ? UX_OK
						     : ux_error_set(err, code, "%s", why.text);
}

static enum ux_code bound_caches(struct run *r, struct ux_error *err)
{
	UX_ARENA(arena, LIST_BUDGET);
	struct ux_index *ix = r->store->index;
	struct ux_usage use;
	struct ux_idle_list list;
	UX_TRY(ix->namespaces.usage(ix, NULL, &use, err));
	if (r->how->cache_bytes == 0 || use.cache_bytes <= r->how->cache_bytes)
		return UX_OK;
	UX_TRY(ix->modules.caches(ix, use.cache_bytes - r->how->cache_bytes, &arena, &list, err));
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(evict(r, &list.modules[i], err));
	return UX_OK;
}

enum ux_code ux_store_retain(struct ux_store *s, const struct ux_retention *how,
			     ux_retained_fn *tell_fn, void *ctx, struct ux_retained_sum *ret,
			     struct ux_error *err)
{
	bool complete = false;
	*ret = (struct ux_retained_sum){0};
	struct run r = {.store = s,
			.how = how,
			.tell = tell_fn,
			.ctx = ctx,
			.sum = ret,
			.now = ux_store_now(s)};
	UX_TRY(ux_last_use_flush(&s->last_use, s->index, &complete, err));
	if (complete)
		UX_TRY(retain_modules(&r, err));
	return bound_caches(&r, err);
}
