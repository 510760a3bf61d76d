/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bucket as the source or the target of a copy: the same paths and the same manifest as in a
 * folder. An object of a bucket appears as a whole, and the manifest is written when all its
 * objects are there. A bucket has no lock: two copies to one place at the same time are the user's
 * mistake; `--check` and another copy repair it.
 */
#include "clone_endpoint.h"

#include "file.h"
#include "s3_client.h"
#include "text.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <unistd.h>

struct clone_s3 {
	struct ux_clone_endpoint base;
	struct ux_s3 *s3;
	bool check;
	const struct ux_clone_plan *plan;
	struct ux_entries_by_hash by_hash; /* the objects that the bucket had */
};

static struct clone_s3 *clone_s3_of(struct ux_clone_endpoint *e)
{
	return ux_container_of(e, struct clone_s3, base);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct s3_text {
	struct ux_out *to;
	uint64_t max;
};

static enum ux_code s3_text_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct s3_text *t = ctx;
	if (bytes.size > t->max - t->to->size)
		return ux_error_set(err, UX_ELIMIT, "a manifest exceeds %" PRIu64 " bytes", t->max);
	ux_out_put(t->to, bytes.data, bytes.size);
	return ux_out_status(t->to, err);
}

static enum ux_code clone_s3_list(struct ux_clone_endpoint *e, const char *since,
				  struct ux_clone_list *ret, struct ux_error *err)
{
	struct clone_s3 *c = clone_s3_of(e);
	struct ux_error why = UX_ERROR_INIT;
	struct s3_text text = {&ret->text, UX_MANIFEST_SIZE_MAX};
	struct s3_text signature = {&ret->signature, UX_MANIFEST_LINE_MAX};
	(void)since; /* the manifest lists everything */
	UX_TRY(ux_s3_get(c->s3, UX_MANIFEST_NAME, 0, UINT64_MAX, s3_text_take, &text, err));
	enum ux_code code = ux_s3_get(c->s3, UX_MANIFEST_SIGNATURE, 0, UINT64_MAX, s3_text_take,
				      &signature, &why);
	if (code != UX_OK && code != UX_ENOTFOUND) {
		*err = why;
		return code;
	}
	/* a source's manifest is read after its signature was checked */
	return e->put ? ux_manifest_read(ux_out_bytes(&ret->text), &ret->manifest, err) : UX_OK;
}

struct s3_file {
	int fd;
	uint64_t at;
};

static enum ux_code s3_file_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct s3_file *f = ctx;
	UX_TRY(ux_file_write_at(f->fd, f->at, bytes, err));
	f->at += bytes.size;
	return UX_OK;
}

static enum ux_code clone_s3_get(struct ux_clone_endpoint *e, unsigned worker,
				 const struct ux_entry *o, int fd, uint64_t have,
				 struct ux_error *err)
{
	struct s3_file file = {fd, have};
	(void)worker;
	return ux_s3_get(clone_s3_of(e)->s3, o->path, have, o->size - have, s3_file_take, &file,
			 err);
}

static enum ux_code s3_hash_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)err;
	sha256_update(ctx, bytes.size, bytes.data);
	return UX_OK;
}

/* Reads an object that the manifest names, and checks it. */
static enum ux_code clone_s3_compare(struct clone_s3 *c, const struct ux_entry *o, bool *ret,
				     struct ux_error *err)
{
	struct sha256_ctx ctx;
	uint8_t hash[SHA256_DIGEST_SIZE];
	struct ux_error why = UX_ERROR_INIT;
	sha256_init(&ctx);
	enum ux_code code = ux_s3_get(c->s3, o->path, 0, UINT64_MAX, s3_hash_take, &ctx, &why);
	*ret = false;
	if (code == UX_ENOTFOUND)
		return UX_OK;
	if (code != UX_OK) {
		*err = why;
		return code;
	}
	sha256_digest(&ctx, sizeof(hash), hash);
	*ret = memcmp(hash, o->hash, sizeof(hash)) == 0;
	return UX_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static enum ux_code clone_s3_write(struct clone_s3 *c, const struct ux_entry *o, int fd,
				   struct ux_error *err)
{
	char hex[2 * SHA256_DIGEST_SIZE + 1];
	ux_hex_encode(ux_bytes(o->hash, sizeof(o->hash)), hex);
	const struct ux_s3_body body = {
		.from_file = true, .fd = fd, .size = o->size, .sha256 = hex};
	return ux_s3_put(c->s3, o->path, &body, err);
}

/* Writes objects that get another path there before anything is replaced. */
static enum ux_code clone_s3_move(struct clone_s3 *c, const struct ux_entry *o,
				  const struct ux_entry *from, struct ux_error *err)
{
	int fd = -1;
	UX_TRY(ux_file_temporary(&fd, err));
	enum ux_code code = clone_s3_get(&c->base, 0, from, fd, 0, err);
	if (code == UX_OK)
		code = clone_s3_write(c, o, fd, err);
	close(fd);
	return code;
}

static enum ux_code clone_s3_begin(struct ux_clone_endpoint *e, const struct ux_clone_plan *plan,
				   struct ux_error *err)
{
	struct clone_s3 *c = clone_s3_of(e);
	c->plan = plan;
	if (!plan->had)
		return UX_OK;
	UX_TRY(ux_entries_by_hash_make(&plan->had->manifest, &c->by_hash, err));
	const struct ux_entries *all = &plan->all->objects;
	for (size_t i = 0; i < all->size && !plan->dry_run; i++) {
		const struct ux_entry *o = &all->data[i];
		size_t same = ux_entries_by_hash_find(&c->by_hash, o->hash);
		if (same < c->by_hash.n && !ux_manifest_find(&plan->had->manifest, o->path))
			UX_TRY(clone_s3_move(c, o, c->by_hash.items[same], err));
	}
	return UX_OK;
}

static enum ux_code clone_s3_has(struct ux_clone_endpoint *e, const struct ux_entry *o,
				 enum ux_clone_outcome *ret, struct ux_error *err)
{
	struct clone_s3 *c = clone_s3_of(e);
	const struct ux_entry *had =
		c->plan->had ? ux_manifest_find(&c->plan->had->manifest, o->path) : NULL;
	bool is = had && memcmp(had->hash, o->hash, sizeof(o->hash)) == 0;
	if (!had) /* begin() has moved it */
		is = ux_entries_by_hash_find(&c->by_hash, o->hash) < c->by_hash.n;
	if (is && c->check)
		UX_TRY(clone_s3_compare(c, o, &is, err));
	*ret = is ? UX_CLONE_THERE : UX_CLONE_COPIED;
	return UX_OK;
}

static enum ux_code clone_s3_put(struct ux_clone_endpoint *e, unsigned worker,
				 struct ux_clone_part *parts, size_t n, ux_clone_report_fn *report,
				 void *ctx, struct ux_error *err)
{
	(void)worker;
	for (size_t i = 0; i < n; i++) {
		const struct ux_clone_part *p = &parts[i];
		int fd = p->fd < 0 ? parts[p->same].fd : p->fd;
		UX_TRY(clone_s3_write(clone_s3_of(e), p->object, fd, err));
		parts[i].done = true;
		report(ctx, p->object, UX_CLONE_COPIED, "");
	}
	return UX_OK;
}

static enum ux_code clone_s3_write_text(struct clone_s3 *c, const char *name, struct ux_bytes bytes,
					struct ux_error *err)
{
	const struct ux_s3_body body = {.bytes = bytes};
	return bytes.size > 0 ? ux_s3_put(c->s3, name, &body, err) : ux_s3_delete(c->s3, name, err);
}

/*
 * The signature of the earlier manifest is removed first: between the two steps there is no
 * signature, rather than a wrong one. Objects whose path the manifest no longer has are removed
 * last.
 */
static enum ux_code clone_s3_finish(struct ux_clone_endpoint *e, struct ux_bytes manifest,
				    struct ux_bytes signature, struct ux_error *err)
{
	struct clone_s3 *c = clone_s3_of(e);
	const struct ux_clone_list *had = c->plan->had;
	if (had && ux_bytes_eq(manifest, ux_out_bytes(&had->text)) &&
	    ux_bytes_eq(signature, ux_out_bytes(&had->signature)))
		return UX_OK;
	UX_TRY(clone_s3_write_text(c, UX_MANIFEST_SIGNATURE, UX_BYTES_NONE, err));
	UX_TRY(clone_s3_write_text(c, UX_MANIFEST_NAME, manifest, err));
	if (signature.size > 0)
		UX_TRY(clone_s3_write_text(c, UX_MANIFEST_SIGNATURE, signature, err));
	const struct ux_entries *objects = had ? &had->manifest.objects : NULL;
	for (size_t i = 0; objects && i < objects->size; i++)
		if (!ux_manifest_find(c->plan->all, objects->data[i].path))
			(void)!ux_s3_delete(c->s3, objects->data[i].path, NULL);
	return UX_OK;
}

static void clone_s3_close(struct ux_clone_endpoint *e)
{
	struct clone_s3 *c = clone_s3_of(e);
	ux_s3_close(c->s3);
	ux_entries_by_hash_deinit(&c->by_hash);
	free(c);
}

enum ux_code ux_clone_s3_open(const char *where, const struct ux_clone_options *o, bool target,
			      struct ux_clone_endpoint **ret, struct ux_error *err)
{
	const struct ux_s3_options options = {
		.place = where, .endpoint = o->s3_endpoint, .cafile = o->cacert};
	struct clone_s3 *c = calloc(1, sizeof(*c));
	if (!c)
		return ux_error_nomem(err);
	*c = (struct clone_s3){
		.base = {.keeps = target,
			 .list = clone_s3_list,
			 .get = clone_s3_get,
			 .begin = target ? clone_s3_begin : NULL,
			 .has = target ? clone_s3_has : NULL,
			 .part = target ? ux_clone_temporary_part : NULL,
			 .put = target ? clone_s3_put : NULL,
			 .finish = target ? clone_s3_finish : NULL,
			 .close = clone_s3_close},
		.check = o->check,
	};
	enum ux_code code = ux_s3_open(&c->s3, &options, err);
	if (code != UX_OK) {
		free(c);
		return code;
	}
	*ret = &c->base;
	return UX_OK;
}
