/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs in a bucket. PREFIX/blobs/aa/HASH is a blob (64 hex digits; aa are the first two), and
 * PREFIX/uploads/UID/OFFSET a segment of an unfinished upload: the bytes from OFFSET on (16 hex
 * digits). An object of a bucket appears as a whole, so a blob is complete.
 */
#include "blobs_s3.h"

#include "clock.h"
#include "path_base.h"
#include "text.h"

#include <unistd.h>

enum {
	VIEWS_SHARE = 4, /* views may take 1/4 of the bytes of copies */
};

static const char blobs_under[] = "blobs/", uploads_under[] = UX_BLOBS_S3_UPLOADS;

struct ux_blobs_s3 *ux_blobs_s3_of(struct ux_blobs *b)
{
	return ux_container_of(b, struct ux_blobs_s3, base);
}

/* Returns the files of this node; sets the limit of its disk, which may have been set later. */
struct ux_blobs *ux_blobs_s3_files(struct ux_blobs_s3 *b)
{
	b->cache.files->room = b->base.room;
	return b->cache.files;
}

void ux_blobs_s3_key(const struct ux_blobs_s3 *b, const struct ux_blob_hash *hash,
		     char key[UX_BLOBS_PATH_MAX])
{
	char text[UX_BLOB_HASH_TEXT];
	if (b->path && b->path(b->path_ctx, hash, key))
		return;
	ux_blob_hash_text(hash, text);
	snprintf(key, UX_BLOBS_PATH_MAX, "%s%.2s/%s", blobs_under, text, text);
}

/*
 * Returns the code for a failed request. The message names the store that cannot be reached; the
 * kind of failure stays.
 */
enum ux_code ux_blobs_s3_code(enum ux_code code)
{
	/* Refused keys are a problem of the operator, and say nothing about a blob. */
	return code == UX_EDENIED ? UX_EUNAVAILABLE : code;
}

enum ux_code ux_blobs_s3_failed(enum ux_code code, const struct ux_error *why, struct ux_error *err)
{
	return code == UX_OK ? UX_OK : ux_error_pass(err, ux_blobs_s3_code(code), why);
}

enum ux_code ux_blobs_s3_send(struct ux_blobs_s3 *b, const struct ux_blob_hash *hash,
			      struct ux_bytes content, struct ux_error *err)
{
	char key[UX_BLOBS_PATH_MAX], text[UX_BLOB_HASH_TEXT];
	ux_blobs_s3_key(b, hash, key);
	ux_blob_hash_text(hash, text);
	struct ux_s3_body body = {.bytes = content, .sha256 = text};
	if (!ux_blob_pack_pays(content, content.size))
		return ux_s3_put(b->s3, key, &body, err);
	body = (struct ux_s3_body){.from_file = true, .fd = -1};
	UX_TRY(ux_blob_pack(content, b->dir, &body.fd, &body.size, err));
	enum ux_code code = ux_s3_put(b->s3, key, &body, err);
	close(body.fd);
	return code;
}

static enum ux_code blob_remove(struct ux_blobs *base, const struct ux_blob_hash *hash,
				struct ux_error *err)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	struct ux_error why = UX_ERROR_INIT;
	char key[UX_BLOBS_PATH_MAX];
	ux_blobs_s3_key(b, hash, key);
	ux_blob_cache_forget(&b->cache, hash);
	enum ux_code code = ux_s3_delete(b->s3, key, &why);
	return ux_blobs_s3_failed(code, &why, err);
}

static enum ux_code blob_send_copy(struct ux_blobs_s3 *b, const struct ux_blob_hash *hash,
				   struct ux_error *err)
{
	int fd = -1;
	uint64_t size = 0;
	struct ux_mapping all = {0};
	UX_TRY(ux_blob_cache_find(&b->cache, hash, &fd, &size, err));
	enum ux_code code = ux_file_map_fd(fd, &all, err);
	close(fd);
	UX_TRY(code);
	code = ux_blobs_s3_send(b, hash, all.bytes, err);
	ux_file_unmap(&all);
	return code;
}

static enum ux_code blob_confirm(struct ux_blobs *base, const struct ux_blob_hash *hash,
				 struct ux_error *err)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	struct ux_error why = UX_ERROR_INIT;
	char key[UX_BLOBS_PATH_MAX];
	uint64_t size = 0;
	ux_blobs_s3_key(b, hash, key);
	enum ux_code code = ux_s3_head(b->s3, key, &size, &why);
	if (code == UX_ENOTFOUND) {
		why = (struct ux_error)UX_ERROR_INIT;
		code = blob_send_copy(b, hash, &why);
	}
	return ux_blobs_s3_failed(code, &why, err);
}

static void blob_forget(struct ux_blobs *base, const struct ux_blob_hash *hash)
{
	ux_blob_cache_forget(&ux_blobs_s3_of(base)->cache, hash);
}

/*
 * Makes the URL. Looks the blob up first: for a lost blob, the bucket would answer the client
 * itself.
 */
static enum ux_code blob_url(struct ux_blobs *base, const struct ux_blob_hash *hash, uint64_t size,
			     bool head, unsigned expires_s, char **ret, struct ux_error *err)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	struct ux_error why = UX_ERROR_INIT;
	char key[UX_BLOBS_PATH_MAX];
	uint64_t found = 0;
	ux_blobs_s3_key(b, hash, key);
	enum ux_code code = ux_s3_head(b->s3, key, &found, &why);
	if (code == UX_ENOTFOUND || (code == UX_OK && found != size))
		return ux_error_set(err, UX_EIO, "the blob is missing or has a different size");
	const struct ux_s3_presign what = {.method = head ? UX_METHOD_HEAD : UX_METHOD_GET,
					   .key = key,
					   .expires_s = expires_s};
	if (code == UX_OK)
		code = ux_s3_presigned(b->s3, &what, ret, &why);
	return ux_blobs_s3_failed(code, &why, err);
}

/* --- walks ------------------------------------------------------------------------------------ */

struct walk {
	ux_blobs_each_fn *fn;
	void *ctx;
	int64_t now;
	char uid[UX_UPLOAD_UID_SIZE]; /* upload whose segments are being listed; "": none */
	int64_t age_s;                /* age of the newest of them */
};

static int64_t walk_age(const struct walk *w, const struct ux_s3_object *object)
{
	return ux_max(w->now - object->time, INT64_C(0));
}

static enum ux_code walk_blob(void *ctx, const struct ux_s3_object *object, struct ux_error *err)
{
	const struct walk *w = ctx;
	return w->fn(w->ctx, ux_path_base(object->key), walk_age(w, object), err);
}

static enum ux_code blobs_s3_each_blob(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				       struct ux_error *err)
{
	struct walk w = {.fn = fn, .ctx = ctx, .now = ux_clock_wall()};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_s3_list(ux_blobs_s3_of(b)->s3, blobs_under, walk_blob, &w, &why);
	return ux_blobs_s3_failed(code, &why, err);
}

static enum ux_code walk_end_part(struct walk *w, struct ux_error *err)
{
	enum ux_code code = w->uid[0] != '\0' ? w->fn(w->ctx, w->uid, w->age_s, err) : UX_OK;
	w->uid[0] = '\0';
	return code;
}

/* Visits a segment. The segments of an upload are consecutive in the listing. */
static enum ux_code walk_segment(void *ctx, const struct ux_s3_object *object, struct ux_error *err)
{
	struct walk *w = ctx;
	struct ux_bytes uid = ux_bytes(object->key + strlen(uploads_under), UX_UPLOAD_UID_SIZE - 1);
	if (strlen(object->key) <= strlen(uploads_under) + uid.size || !ux_upload_uid_valid(uid))
		return UX_OK;
	if (!ux_bytes_eq(uid, ux_bytes_cstr(w->uid))) {
		UX_TRY(walk_end_part(w, err));
		memcpy(w->uid, uid.data, uid.size);
		w->uid[uid.size] = '\0';
		w->age_s = INT64_MAX;
	}
	w->age_s = ux_min(w->age_s, walk_age(w, object));
	return UX_OK;
}

static enum ux_code blobs_s3_each_part(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				       struct ux_error *err)
{
	struct walk w = {.fn = fn, .ctx = ctx, .now = ux_clock_wall()};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code =
		ux_s3_list(ux_blobs_s3_of(b)->s3, uploads_under, walk_segment, &w, &why);
	if (code == UX_OK)
		code = walk_end_part(&w, &why);
	return ux_blobs_s3_failed(code, &why, err);
}

/* --- leftovers of interrupted work ------------------------------------------------------------ */

struct tidy {
	struct ux_blobs_s3 *b;
	int64_t grace_s, now;
	bool dry_run;
	uint64_t n;
};

static enum ux_code tidy_unfinished(void *ctx, const struct ux_s3_object *object,
				    struct ux_error *err)
{
	struct tidy *t = ctx;
	if (t->now - object->time < t->grace_s)
		return UX_OK;
	t->n++;
	return t->dry_run ? UX_OK : ux_s3_abort(t->b->s3, object->key, object->upload, err);
}

/* Removes this node's file of an upload that another node ended, or that was never ended. */
static enum ux_code tidy_file(void *ctx, const char *name, int64_t age_s, struct ux_error *err)
{
	struct tidy *t = ctx;
	if (age_s < t->grace_s || !ux_upload_uid_valid(ux_bytes_cstr(name)))
		return UX_OK;
	return t->dry_run ? UX_OK : t->b->cache.files->part_remove(t->b->cache.files, name, err);
}

static enum ux_code blobs_s3_tidy(struct ux_blobs *base, int64_t grace_s, bool dry_run,
				  uint64_t *ret, struct ux_error *err)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	struct tidy t = {b, grace_s, ux_clock_wall(), dry_run, 0};
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(b->cache.files->each_part(b->cache.files, tidy_file, &t, err));
	enum ux_code code = ux_s3_list_unfinished(b->s3, "", tidy_unfinished, &t, &why);
	*ret = t.n;
	return ux_blobs_s3_failed(code, &why, err);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Evicts copies to make room for growing views. */
static void blobs_s3_views_grown(void *ctx)
{
	struct ux_blobs_s3 *b = ctx;
	ux_blob_cache_make_room(&b->cache);
}

static void blobs_s3_copies(struct ux_blobs *base, struct ux_blob_copies *ret)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	*ret = (struct ux_blob_copies){.s3 = b->s3};
	ux_blob_cache_counts(&b->cache, ret);
	ret->view_bytes = atomic_load_explicit(&b->views.bytes, memory_order_relaxed);
	ret->view_bytes_max = b->views.bytes_max;
}

static void blobs_s3_close(struct ux_blobs *base)
{
	if (!base)
		return;
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	ux_blob_cache_close(&b->cache);
	ux_s3_close(b->s3);
	ux_blob_views_deinit(&b->views);
	free(b->dir);
	free(b);
}

enum ux_code ux_blobs_s3_open(struct ux_blobs **ret, const struct ux_s3_options *bucket,
			      const char *dir, uint64_t cache_bytes, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	struct ux_blobs_s3 *b = calloc(1, sizeof(*b));
	if (!b)
		return ux_error_nomem(err);
	ux_blob_views_init(&b->views);
	b->views.bytes_max = cache_bytes / VIEWS_SHARE;
	b->views.grown = blobs_s3_views_grown;
	b->views.ctx = b;
	b->base = (struct ux_blobs){.version = UX_BLOBS_VERSION,
				    .remove = blob_remove,
				    .each_blob = blobs_s3_each_blob,
				    .each_part = blobs_s3_each_part,
				    .close = blobs_s3_close,
				    .confirm = blob_confirm,
				    .forget = blob_forget,
				    .tidy = blobs_s3_tidy,
				    .blob_url = blob_url,
				    .copies = blobs_s3_copies};
	ux_blobs_s3_set_uploads(&b->base);
	ux_blobs_s3_set_reading(&b->base);
	enum ux_code code = UX_OK;
	if (asprintf(&path, "%s/", dir) < 0) {
		path = NULL;
		code = ux_error_nomem(err);
	}
	if (code == UX_OK)
		code = ux_file_make_folders(path, 0700, err);
	if (code == UX_OK && !(b->dir = strdup(dir)))
		code = ux_error_nomem(err);
	if (code == UX_OK)
		code = ux_s3_open(&b->s3, bucket, err);
	if (code == UX_OK)
		code = ux_blob_cache_open(&b->cache, dir, cache_bytes, &b->views.bytes, err);
	if (code != UX_OK) {
		blobs_s3_close(&b->base);
		return code;
	}
	*ret = &b->base;
	return UX_OK;
}

void ux_blobs_s3_set_parts(struct ux_blobs *b, uint64_t packed_max)
{
	ux_blobs_s3_of(b)->parts_max = packed_max;
}

void ux_blobs_s3_name(struct ux_blobs *b, ux_blobs_path_fn *path, void *ctx)
{
	ux_blobs_s3_of(b)->path = path;
	ux_blobs_s3_of(b)->path_ctx = ctx;
}
