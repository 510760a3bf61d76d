/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An overlay of two places of blobs: the lower one is never changed, and everything new goes to the
 * upper one.
 */
#include "blobs.h"

#include <sys/stat.h>
#include <unistd.h>

struct blobs_overlay {
	struct ux_blobs base;
	struct ux_blobs *upper;
	ux_blobs_lower_fn *open;
	void *ctx;
};

static struct blobs_overlay *overlay_of(struct ux_blobs *b)
{
	return ux_container_of(b, struct blobs_overlay, base);
}

static enum ux_code overlay_part_open(struct ux_blobs *b, const char *uid,
				      struct ux_blob_part **ret, uint64_t *ret_size,
				      struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	o->upper->room = b->room; /* the limit may have been set after the upper one was opened */
	return o->upper->part_open(o->upper, uid, ret, ret_size, err);
}

static enum ux_code overlay_part_size(struct ux_blobs *b, const char *uid, uint64_t *ret,
				      struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	return o->upper->part_size(o->upper, uid, ret, err);
}

static enum ux_code overlay_part_remove(struct ux_blobs *b, const char *uid, struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	return o->upper->part_remove(o->upper, uid, err);
}

static enum ux_code overlay_open(struct ux_blobs *b, const struct ux_blob_hash *hash, int *ret_fd,
				 uint64_t *ret_size, struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	struct stat st;
	int fd = o->open(o->ctx, hash);
	if (fd < 0)
		return o->upper->open(o->upper, hash, ret_fd, ret_size, err);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return ux_error_set(err, UX_EIO, "an object in the folder is not a regular file");
	}
	*ret_fd = fd;
	*ret_size = (uint64_t)st.st_size;
	return UX_OK;
}

static enum ux_code overlay_remove(struct ux_blobs *b, const struct ux_blob_hash *hash,
				   struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	return o->upper->remove(o->upper, hash, err);
}

static enum ux_code overlay_confirm(struct ux_blobs *b, const struct ux_blob_hash *hash,
				    struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	return o->upper->confirm(o->upper, hash, err);
}

static void overlay_forget(struct ux_blobs *b, const struct ux_blob_hash *hash)
{
	struct blobs_overlay *o = overlay_of(b);
	o->upper->forget(o->upper, hash);
}

static enum ux_code overlay_tidy(struct ux_blobs *b, int64_t grace_s, bool dry_run, uint64_t *ret,
				 struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	return o->upper->tidy(o->upper, grace_s, dry_run, ret, err);
}

static enum ux_code overlay_each_blob(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				      struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	return o->upper->each_blob(o->upper, fn, ctx, err);
}

static enum ux_code overlay_each_part(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				      struct ux_error *err)
{
	struct blobs_overlay *o = overlay_of(b);
	return o->upper->each_part(o->upper, fn, ctx, err);
}

static void overlay_close(struct ux_blobs *b)
{
	struct blobs_overlay *o = overlay_of(b);
	o->upper->close(o->upper);
	free(o);
}

enum ux_code ux_blobs_overlay_open(struct ux_blobs **ret, struct ux_blobs *upper,
				   ux_blobs_lower_fn *open, void *ctx, struct ux_error *err)
{
	struct blobs_overlay *o = calloc(1, sizeof(*o));
	if (!o)
		return ux_error_nomem(err);
	o->upper = upper;
	o->open = open;
	o->ctx = ctx;
	/* a part belongs to the upper place, so use its functions */
	o->base.version = UX_BLOBS_VERSION;
	o->base.part_write = upper->part_write;
	o->base.part_map = upper->part_map;
	o->base.part_sync = upper->part_sync;
	o->base.part_commit = upper->part_commit;
	o->base.part_reset = upper->part_reset;
	o->base.part_close = upper->part_close;
	o->base.part_open = overlay_part_open;
	o->base.part_size = overlay_part_size;
	o->base.part_remove = overlay_part_remove;
	o->base.open = overlay_open;
	o->base.remove = overlay_remove;
	o->base.each_blob = overlay_each_blob;
	o->base.each_part = overlay_each_part;
	o->base.close = overlay_close;
	o->base.part_keep = upper->part_keep;
	o->base.confirm = upper->confirm ? overlay_confirm : NULL;
	o->base.forget = upper->forget ? overlay_forget : NULL;
	o->base.tidy = upper->tidy ? overlay_tidy : NULL;
	o->base.room = upper->room;
	*ret = &o->base;
	return UX_OK;
}
