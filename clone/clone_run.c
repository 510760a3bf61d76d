/* SPDX-License-Identifier: Apache-2.0 */
/* A copy from one place to another: missing objects are fetched, checked against their hashes, and
 * put. */
#include "clone_endpoint.h"

#include "minisign.h"
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

const char *ux_clone_outcome_name(enum ux_clone_outcome outcome)
{
	static const char *const names[UX_CLONE_OUTCOME_COUNT] = {
		[UX_CLONE_COPIED] = "copied",       [UX_CLONE_THERE] = "already-there",
		[UX_CLONE_BETTER] = "better-there", [UX_CLONE_GONE] = "gone",
		[UX_CLONE_FAILED] = "failed",
	};
	return (unsigned)outcome < UX_CLONE_OUTCOME_COUNT ? names[outcome] : "failed";
}

/* The state of one object of the target's manifest. */
struct clone_item {
	const struct ux_entry *source; /* object with its bytes; NULL: only the target has them */
	bool needed;                   /* it has to be copied */
	bool lost;                     /* the target lacks it at the end */
};

/* The objects of one module. */
struct clone_span {
	size_t first, end;
};

UX_VEC(clone_spans, struct clone_span);

/* The state of a copy. */
struct clone {
	const struct ux_clone_options *o;
	struct ux_clone_endpoint *from, *to;
	struct ux_clone_list source, target; /* the earlier lists of both */
	bool has_target;
	char key_id[2 * UX_MINISIGN_ID + 1]; /* the name of a store, unless it has another one */
	struct ux_manifest all;              /* the future objects of the target... */
	struct ux_out text, signature;       /* ...as bytes, if all of it is available */
	struct ux_clone_plan plan;
	struct clone_item *items;
	struct ux_entries_by_hash by_hash; /* the source's objects */
	struct clone_spans spans;
	pthread_mutex_t lock; /* protects the rest */
	struct ux_clone_summary *summary;
	struct ux_clone_progress progress;
};

static void clone_deinit(struct clone *c)
{
	if (c->from)
		c->from->close(c->from);
	if (c->to)
		c->to->close(c->to);
	ux_clone_list_deinit(&c->source);
	ux_clone_list_deinit(&c->target);
	ux_manifest_deinit(&c->all);
	ux_out_deinit(&c->text);
	ux_out_deinit(&c->signature);
	free(c->items);
	ux_entries_by_hash_deinit(&c->by_hash);
	clone_spans_deinit(&c->spans);
	pthread_mutex_destroy(&c->lock);
}

/* --- the two lists ---------------------------------------------------------------------------- */

static bool clone_text_is(const char *where, const char *prefix)
{
	return strncmp(where, prefix, strlen(prefix)) == 0;
}

static bool clone_is_tar(const char *where)
{
	size_t n = strlen(where);
	return strcmp(where, "-") == 0 || (n > 4 && strcmp(where + n - 4, ".tar") == 0);
}

static enum ux_code clone_open(struct clone *c, const struct ux_clone_place *place, bool target,
			       struct ux_clone_endpoint **ret, struct ux_error *err)
{
	const char *where = place->where;
	if (clone_text_is(where, "http://") || clone_text_is(where, "https://"))
		return ux_clone_server_open(place, c->o->cacert, ret, err);
	if (clone_text_is(where, "bucket+http://") || clone_text_is(where, "bucket+https://")) {
		if (target)
			return ux_error_set(
				err, UX_EINVAL,
				"the target is a web server, which takes no copies; copy to the "
				"folder that it serves");
		return ux_clone_web_open(place, c->o->cacert, ret, err);
	}
	if (clone_text_is(where, "s3://"))
		return ux_clone_s3_open(where, c->o, target, ret, err);
	if (strstr(where, "://"))
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"unknown place \"%.60s\"; expected http://, https://, bucket+http://, "
			"s3://, a folder, FILE.tar or -",
			where);
	if (clone_is_tar(where))
		return ux_clone_tar_open(where, target, ret, err);
	return ux_clone_folder_open(where, target, c->o->check, ret, err);
}

static bool clone_fact_is(const struct ux_entry *o, const char *name, const char *text)
{
	for (int i = 0; i < UX_PROVENANCE_COUNT; i++) {
		const enum ux_provenance_fact fact = (enum ux_provenance_fact)i;
		if (strcmp(ux_provenance_name(fact), name) == 0)
			return strcmp(ux_provenance_get(&o->provenance, fact), text) == 0;
	}
	return false;
}

static bool clone_wants(const struct ux_clone_filter *f, const struct ux_entry *o)
{
	return (!f->ns || strcmp(f->ns, o->ns) == 0) &&
	       (!f->distribution || clone_fact_is(o, "distribution", f->distribution)) &&
	       (!f->suite || clone_fact_is(o, "suite", f->suite)) &&
	       (f->since == 0 || o->time >= f->since) && (f->before == 0 || o->time < f->before);
}

static void clone_filter(struct ux_manifest *m, const struct ux_clone_filter *f)
{
	size_t n = 0;
	for (size_t i = 0; i < m->objects.size; i++)
		if (clone_wants(f, &m->objects.data[i]))
			m->objects.data[n++] = m->objects.data[i];
	m->objects.size = n;
}

/* Writes the name under which a folder notes where the list of this source continues. */
static enum ux_code clone_note_name(const struct clone *c, struct ux_out *out, struct ux_error *err)
{
	const struct ux_clone_filter *f = &c->o->filter;
	ux_out_fmt(out, "%s ns=%s distribution=%s suite=%s since=%" PRId64 " before=%" PRId64,
		   c->o->from.where, f->ns ? f->ns : "", f->distribution ? f->distribution : "",
		   f->suite ? f->suite : "", f->since, f->before);
	ux_out_u8(out, '\0');
	return ux_out_status(out, err);
}

static enum ux_code clone_list_target(struct clone *c, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = c->to->list(c->to, "", &c->target, &why);
	c->has_target = code == UX_OK;
	if (code == UX_OK || code == UX_ENOTFOUND)
		return UX_OK;
	*err = why;
	return code;
}

static enum ux_code clone_check_signature(const struct clone *c, struct ux_error *err)
{
	const struct ux_clone_list *list = &c->source;
	if (!c->o->key)
		return UX_OK;
	if (list->text.size == 0)
		return ux_error_set(err, UX_EINVAL,
				    "a server has no signed manifest: omit the key, and use https");
	if (list->signature.size == 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "%s is missing; without it the key cannot be checked",
				    UX_MANIFEST_SIGNATURE);
	return ux_minisign_verify(c->o->key, ux_out_bytes(&list->text),
				  ux_out_bytes(&list->signature), err);
}

/* Reads the source's manifest after its signature was checked. */
static enum ux_code clone_read_source(struct clone *c, struct ux_error *err)
{
	const struct ux_manifest_head *source = &c->source.manifest.head;
	UX_TRY(ux_manifest_read(ux_out_bytes(&c->source.text), &c->source.manifest, err));
	UX_TRY(ux_clone_check_state(c->o, source, &c->target.manifest.head, err));
	c->summary->undated = c->o->key && !source->own.store;
	return UX_OK;
}

static enum ux_code clone_list_source(struct clone *c, struct ux_error *err)
{
	char since[UX_CLONE_NEXT] = "";
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	UX_TRY(clone_note_name(c, &name, err));
	if (c->has_target && c->to->noted && !c->o->everything)
		UX_TRY(c->to->noted(c->to, (const char *)name.data, since, err));
	UX_TRY(c->from->list(c->from, since, &c->source, err));
	UX_TRY(clone_check_signature(c, err));
	if (c->source.text.size > 0)
		UX_TRY(clone_read_source(c, err));
	else if (c->o->store || c->o->max_age_s > 0)
		return ux_error_set(err, UX_EINVAL,
				    "a server has no signed manifest, whose store and age could be "
				    "checked: omit --store and --max-age, and use https");
	clone_filter(&c->source.manifest, &c->o->filter);
	return UX_OK;
}

/* Finds the source's object with these bytes, preferably of the same module. */
static const struct ux_entry *clone_find_source(const struct clone *c, const struct ux_entry *o)
{
	const struct ux_entries_by_hash *by = &c->by_hash;
	const struct ux_entry *found = NULL;
	for (size_t i = ux_entries_by_hash_find(by, o->hash); i < by->n;
	     i = ux_entries_by_hash_next(by, i)) {
		const struct ux_entry *one = by->items[i];
		if (strcmp(one->ns, o->ns) == 0 && strcmp(one->ids[0], o->ids[0]) == 0)
			return one;
		found = found ? found : one;
	}
	return found;
}

/* Makes the future list of the target: its own objects, if it keeps a manifest, and the source's.
 */
static enum ux_code clone_unite(struct clone *c, struct ux_error *err)
{
	const struct ux_entries *lists[] = {
		c->to->keeps && c->has_target ? &c->target.manifest.objects : NULL,
		&c->source.manifest.objects};
	for (size_t k = 0; k < ux_countof(lists); k++)
		for (size_t i = 0; lists[k] && i < lists[k]->size; i++)
			UX_TRY(ux_manifest_add(&c->all, &lists[k]->data[i], err));
	UX_TRY(ux_clone_make_head(c->o, &c->source.manifest.head, &c->target.manifest.head,
				  c->key_id, &c->all.head, err));
	UX_TRY(ux_manifest_name(&c->all, err));
	UX_TRY(ux_entries_by_hash_make(&c->source.manifest, &c->by_hash, err));
	c->items = calloc(c->all.objects.size + 1, sizeof(*c->items));
	if (!c->items)
		return ux_error_nomem(err);
	for (size_t i = 0; i < c->all.objects.size; i++)
		c->items[i].source = clone_find_source(c, &c->all.objects.data[i]);
	return UX_OK;
}

/* --- copying ---------------------------------------------------------------------------------- */

static void clone_show(struct clone *c)
{
	if (c->o->progress)
		c->o->progress(c->o->ctx, &c->progress);
}

/* ux_clone_report_fn; ctx: struct clone. */
static void clone_report(void *ctx, const struct ux_entry *o, enum ux_clone_outcome outcome,
			 const char *reason)
{
	struct clone *c = ctx;
	(void)pthread_mutex_lock(&c->lock);
	c->summary->objects[outcome]++;
	c->progress.objects++;
	if (c->o->report)
		c->o->report(c->o->ctx, o, outcome, reason);
	clone_show(c);
	(void)pthread_mutex_unlock(&c->lock);
}

static void clone_count_bytes(struct clone *c, uint64_t bytes, bool copied)
{
	(void)pthread_mutex_lock(&c->lock);
	c->progress.bytes += bytes;
	c->summary->bytes += copied ? bytes : 0;
	clone_show(c);
	(void)pthread_mutex_unlock(&c->lock);
}

/* Fetches an object into its part, and checks it against its hash. */
static enum ux_code clone_fetch(struct clone *c, unsigned worker, const struct ux_entry *source,
				struct ux_clone_part *part, uint64_t have, struct ux_error *err)
{
	const struct ux_entry *o = part->object;
	uint8_t hash[UX_MANIFEST_HASH];
	if (have < o->size || have > o->size)
		UX_TRY(c->from->get(c->from, worker, source, part->fd, have > o->size ? 0 : have,
				    err));
	UX_TRY(ux_clone_hash(part->fd, o->size, hash, err));
	if (memcmp(hash, o->hash, sizeof(hash)) == 0)
		return UX_OK;
	if (ftruncate(part->fd, 0) != 0)
		return ux_error_os(err, errno, "cannot truncate a file");
	if (have > 0) /* the part of an earlier run may be damaged: start again */
		return clone_fetch(c, worker, source, part, 0, err);
	return ux_error_set(err, UX_ECORRUPT, "content does not match the SHA-256 in the manifest");
}

/* Returns whether the failure concerns only one object, so that the copy can go on. */
static bool clone_may_go_on(const struct clone *c, enum ux_code code, const struct ux_error *err)
{
	bool own = err->os_errno != 0;
	return !c->to->in_order && !own &&
	       (code == UX_ENOTFOUND || code == UX_ECORRUPT || code == UX_ELIMIT ||
		code == UX_EIO || code == UX_EINVAL);
}

static enum ux_code clone_fill_part(struct clone *c, unsigned worker, size_t item,
				    struct ux_clone_part *part, struct ux_error *err)
{
	const struct ux_entry *source = c->items[item].source;
	struct ux_error why = UX_ERROR_INIT;
	uint64_t have = 0;
	UX_TRY(c->to->part(c->to, part, &have, err));
	enum ux_code code = clone_fetch(c, worker, source, part, have, &why);
	clone_count_bytes(c, part->object->size, code == UX_OK);
	if (code == UX_OK)
		return UX_OK;
	close(part->fd);
	part->fd = -1;
	c->items[item].lost = true;
	if (!clone_may_go_on(c, code, &why))
		return ux_error_set(err, code, "%.80s: %s", part->object->path, why.text);
	clone_report(c, part->object, code == UX_ENOTFOUND ? UX_CLONE_GONE : UX_CLONE_FAILED,
		     why.text);
	return UX_OK;
}

/* The objects of one module in transit. */
struct clone_parts {
	struct ux_clone_part *data;
	size_t *items;
	size_t n;
};

static void clone_parts_deinit(struct clone_parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->data[i].fd >= 0)
			close(p->data[i].fd);
	free(p->data);
	free(p->items);
}

/* Finds the part that has the same bytes and is complete; the number of parts if there is no such
 * part. */
static size_t clone_find_same(const struct clone_parts *p, const struct ux_entry *o)
{
	size_t i = 0;
	while (i < p->n && (p->data[i].fd < 0 ||
			    memcmp(p->data[i].object->hash, o->hash, sizeof(o->hash)) != 0))
		i++;
	return i;
}

/* Returns the module's needed item that comes next in the order of the source. */
static size_t clone_next_item(const struct clone *c, const struct clone_span *span,
			      const struct ux_entry *last)
{
	size_t best = span->end;
	for (size_t i = span->first; i < span->end; i++) {
		const struct clone_item *item = &c->items[i];
		if (item->needed && item->source > last &&
		    (best == span->end || item->source < c->items[best].source))
			best = i;
	}
	return best;
}

static enum ux_code clone_fill_item(struct clone *c, unsigned worker, size_t item,
				    struct clone_parts *p, struct ux_error *err)
{
	struct ux_clone_part part = {.object = &c->all.objects.data[item], .fd = -1};
	size_t same = clone_find_same(p, part.object);
	if (same < p->n)
		part.same = same;
	else
		UX_TRY(clone_fill_part(c, worker, item, &part, err));
	if (c->items[item].lost)
		return UX_OK;
	p->items[p->n] = item;
	p->data[p->n++] = part;
	return UX_OK;
}

static enum ux_code clone_module(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct clone *c = ctx;
	const struct clone_span *span = &c->spans.data[job];
	const size_t n = span->end - span->first;
	ux_cleanup(clone_parts_deinit) struct clone_parts p = {
		.data = calloc(n, sizeof(*p.data)), .items = calloc(n, sizeof(*p.items))};
	if (!p.data || !p.items)
		return ux_error_nomem(err);
	const struct ux_entry *last = NULL;
	for (size_t i = clone_next_item(c, span, last); i < span->end;
	     i = clone_next_item(c, span, last)) {
		last = c->items[i].source;
		/* several paths may have one source: an ELF file with code and DWARF has two */
		for (size_t k = span->first; k < span->end; k++)
			if (c->items[k].needed && c->items[k].source == last)
				UX_TRY(clone_fill_item(c, worker, k, &p, err));
	}
	if (p.n == 0)
		return UX_OK;
	UX_TRY(c->to->put(c->to, worker, p.data, p.n, clone_report, c, err));
	for (size_t i = 0; i < p.n; i++)
		c->items[p.items[i]].lost = !p.data[i].done;
	return UX_OK;
}

/* Decides which objects have to be copied; does not report existing ones. */
static enum ux_code clone_plan(struct clone *c, struct ux_error *err)
{
	for (size_t i = 0; i < c->all.objects.size; i++) {
		const struct ux_entry *o = &c->all.objects.data[i];
		struct clone_item *item = &c->items[i];
		enum ux_clone_outcome outcome = UX_CLONE_COPIED;
		UX_TRY(c->to->has(c->to, o, &outcome, err));
		item->needed = outcome == UX_CLONE_COPIED && item->source;
		item->lost = outcome == UX_CLONE_COPIED && !item->source;
		if (item->lost)
			clone_report(c, o, UX_CLONE_FAILED,
				     "the target has lost it, and the "
				     "source does not have it");
		if (item->needed) {
			c->progress.objects_total++;
			c->progress.bytes_total += o->size;
		} else if (!item->lost) {
			c->summary->objects[outcome]++;
		}
	}
	return UX_OK;
}

static bool clone_span_is_needed(const struct clone *c, const struct clone_span *span)
{
	for (size_t i = span->first; i < span->end; i++)
		if (c->items[i].needed)
			return true;
	return false;
}

static enum ux_code clone_group(struct clone *c, struct ux_error *err)
{
	const struct ux_entries *all = &c->all.objects;
	for (size_t i = 0, end = 0; i < all->size; i = end) {
		size_t n = ux_entry_folder_size(&all->data[i]) + 1; /* with the slash */
		while (end < all->size && strncmp(all->data[end].path, all->data[i].path, n) == 0)
			end++;
		const struct clone_span span = {i, end};
		/* an archive contains all objects, including the ones that it had before */
		if (clone_span_is_needed(c, &span) && !clone_spans_append(&c->spans, span))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static void clone_report_plan(struct clone *c)
{
	for (size_t i = 0; i < c->all.objects.size; i++)
		if (c->items[i].needed) {
			clone_count_bytes(c, c->all.objects.data[i].size, /* copied= */ true);
			clone_report(c, &c->all.objects.data[i], UX_CLONE_COPIED, "dry run");
		}
}

static void clone_drop_lost(struct clone *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->all.objects.size; i++)
		if (!c->items[i].lost)
			c->all.objects.data[n++] = c->all.objects.data[i];
	c->all.objects.size = n;
}

/*
 * Writes the target's manifest: the source's own, with which its signature stays valid, if that has
 * the same objects and forgets nothing that the target has seen.
 */
static enum ux_code clone_write_manifest(struct clone *c, struct ux_out *ret, struct ux_error *err)
{
	const struct ux_manifest_head *source = &c->source.manifest.head;
	const struct ux_manifest_head made = c->all.head;
	if (source->own.store && !c->o->signer &&
	    ux_clone_head_covers(source, &c->target.manifest.head)) {
		c->all.head = *source;
		enum ux_code code = ux_manifest_write(&c->all, ret, err);
		c->all.head = made;
		UX_TRY(code);
		if (ux_bytes_eq(ux_out_bytes(ret), ux_out_bytes(&c->source.text)))
			return UX_OK;
		ux_out_reset(ret);
	}
	return ux_manifest_write(&c->all, ret, err);
}

/* The source's signature stays valid if the manifest is the same. */
static enum ux_code clone_sign(const struct clone *c, struct ux_bytes text, struct ux_out *ret,
			       struct ux_error *err)
{
	const struct ux_clone_list *source = &c->source;
	if (c->o->signer)
		return ux_minisign_sign(c->o->signer, text, ret, err);
	if (source->signature.size > 0 && ux_bytes_eq(text, ux_out_bytes(&source->text)))
		ux_out_put(ret, source->signature.data, source->signature.size);
	return ux_out_status(ret, err);
}

static enum ux_code clone_finish(struct clone *c, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0}, signature = {0}, name = {0};
	if (!c->to->finish)
		return UX_OK;
	UX_TRY(clone_write_manifest(c, &text, err));
	UX_TRY(clone_sign(c, ux_out_bytes(&text), &signature, err));
	UX_TRY(c->to->finish(c->to, ux_out_bytes(&text), ux_out_bytes(&signature), err));
	bool whole = c->summary->objects[UX_CLONE_FAILED] == 0;
	if (!c->to->note || !whole || c->source.next[0] == '\0')
		return UX_OK;
	UX_TRY(clone_note_name(c, &name, err));
	return c->to->note(c->to, (const char *)name.data, c->source.next, err);
}

/* An archive begins with its manifest and signature, so a target gets them before the objects. */
static enum ux_code clone_begin(struct clone *c, struct ux_error *err)
{
	UX_TRY(clone_write_manifest(c, &c->text, err));
	UX_TRY(clone_sign(c, ux_out_bytes(&c->text), &c->signature, err));
	c->plan = (struct ux_clone_plan){
		.had = c->has_target ? &c->target : NULL,
		.all = &c->all,
		.text = ux_out_bytes(&c->text),
		.signature = ux_out_bytes(&c->signature),
		.dry_run = c->o->dry_run,
	};
	return c->to->begin(c->to, &c->plan, err);
}

static enum ux_code clone_all(struct clone *c, struct ux_error *err)
{
	const struct ux_clone_options *o = c->o;
	UX_TRY(clone_open(c, &o->from, /* target= */ false, &c->from, err));
	UX_TRY(clone_open(c, &o->to, /* target= */ true, &c->to, err));
	UX_TRY(clone_list_target(c, err));
	UX_TRY(clone_list_source(c, err));
	UX_TRY(clone_unite(c, err));
	UX_TRY(clone_begin(c, err));
	UX_TRY(clone_plan(c, err));
	if (o->dry_run) {
		clone_report_plan(c);
		return UX_OK;
	}
	UX_TRY(clone_group(c, err));
	unsigned jobs = o->jobs ? ux_min(o->jobs, (unsigned)UX_CLONE_JOBS_MAX) : UX_CLONE_JOBS;
	if (c->from->in_order || c->to->in_order)
		jobs = 1;
	UX_TRY(ux_pool_run(jobs, c->spans.size, clone_module, c, err));
	clone_drop_lost(c);
	return clone_finish(c, err);
}

enum ux_code ux_clone_run(const struct ux_clone_options *o, struct ux_clone_summary *ret,
			  struct ux_error *err)
{
	ux_cleanup(clone_deinit) struct clone c = {
		.o = o, .summary = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	*ret = (struct ux_clone_summary){0};
	ux_clone_list_init(&c.source);
	ux_clone_list_init(&c.target);
	ux_manifest_init(&c.all);
	return clone_all(&c, err);
}
