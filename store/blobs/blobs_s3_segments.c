/* SPDX-License-Identifier: Apache-2.0 */
/* The segments of an unfinished upload in a bucket: their size together, and their bytes. */
#include "blobs_s3.h"

#include "text.h"
#include "vec.h"

enum {
	OFFSET_DIGITS = 16,
	JOIN_MIN = 8 << 20, /* bytes of the smallest upload that is worth additional requests */
};

/* A segment of a chain: each begins where the previous one ends, or earlier. */
struct segment {
	uint64_t off, size;
};

UX_VEC(segment_list, struct segment);

struct segments {
	struct ux_blobs_s3 *b;
	char prefix[UX_BLOBS_PATH_MAX];
	struct segment_list list;
	uint64_t end; /* bytes that they cover together */
	bool any;     /* the upload has objects, segments or others */
};

static void segments_deinit(struct segments *s)
{
	segment_list_deinit(&s->list);
}

void ux_blobs_s3_segment_key(const char *uid, uint64_t off, char key[UX_BLOBS_PATH_MAX])
{
	snprintf(key, UX_BLOBS_PATH_MAX, UX_BLOBS_S3_UPLOADS "%s/%016" PRIx64, uid, off);
}

static bool segment_offset(const struct segments *s, const struct ux_s3_object *object,
			   uint64_t *ret)
{
	size_t n = strlen(s->prefix);
	const char *digits = object->key + n;
	return strlen(object->key) == n + OFFSET_DIGITS &&
	       ux_hex_parse_u64(ux_bytes_cstr(digits), /* hex= */ true, ret);
}

/*
 * Visits a segment. Objects come in the order of their keys, which is the order of their offsets.
 */
static enum ux_code segment_visit(void *ctx, const struct ux_s3_object *object,
				  struct ux_error *err)
{
	struct segments *s = ctx;
	uint64_t off = 0;
	s->any = true;
	if (!segment_offset(s, object, &off) || off > s->end || object->size > UINT64_MAX - off ||
	    off + object->size <= s->end)
		return UX_OK; /* a gap: later segments are useless */
	s->end = off + object->size;
	return segment_list_append(&s->list, (struct segment){off, object->size})
		       ? UX_OK
		       : ux_error_nomem(err);
}

static enum ux_code segments_list(struct segments *s, struct ux_blobs_s3 *b, const char *uid,
				  struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	*s = (struct segments){.b = b};
	snprintf(s->prefix, sizeof(s->prefix), UX_BLOBS_S3_UPLOADS "%s/", uid);
	enum ux_code code = ux_s3_list(b->s3, s->prefix, segment_visit, s, &why);
	return ux_blobs_s3_failed(code, &why, err);
}

enum ux_code ux_blobs_s3_segments_size(struct ux_blobs_s3 *b, const char *uid, uint64_t *ret,
				       bool *ret_any, struct ux_error *err)
{
	ux_cleanup(segments_deinit) struct segments s;
	UX_TRY(segments_list(&s, b, uid, err));
	*ret = s.end;
	*ret_any = s.any;
	return UX_OK;
}

static enum ux_code segment_remove(void *ctx, const struct ux_s3_object *object,
				   struct ux_error *err)
{
	struct ux_blobs_s3 *b = ctx;
	return ux_s3_delete(b->s3, object->key, err);
}

enum ux_code ux_blobs_s3_segments_remove(struct ux_blobs_s3 *b, const char *uid,
					 struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	char prefix[UX_BLOBS_PATH_MAX];
	snprintf(prefix, sizeof(prefix), UX_BLOBS_S3_UPLOADS "%s/", uid);
	enum ux_code code = ux_s3_list(b->s3, prefix, segment_remove, b, &why);
	return ux_blobs_s3_failed(code, &why, err);
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* A file to which bytes of the bucket are appended. */
struct segment_target {
	struct ux_blobs *files;
	struct ux_blob_part *to;
	uint64_t *size; /* size of the file */
};

static enum ux_code segment_append(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct segment_target *t = ctx;
	UX_TRY(t->files->part_write(t->to, bytes, err));
	*t->size += bytes.size;
	return UX_OK;
}

/* Appends the bytes of an object from `off` on. A failure of this node's disk has its errno. */
static enum ux_code segment_fetch(struct ux_blobs_s3 *b, const char *key, uint64_t off, uint64_t n,
				  struct ux_blob_part *to, uint64_t *size, struct ux_error *err)
{
	struct segment_target t = {ux_blobs_s3_files(b), to, size};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_s3_get(b->s3, key, off, n, segment_append, &t, &why);
	if (code != UX_OK && why.os_errno != 0 && err && err->code == UX_OK) {
		*err = why;
		return code;
	}
	return ux_blobs_s3_failed(code, &why, err);
}

enum ux_code ux_blobs_s3_fetch_object(struct ux_blobs_s3 *b, const char *key,
				      struct ux_blob_part *to, uint64_t *size, struct ux_error *err)
{
	return segment_fetch(b, key, *size, UINT64_MAX, to, size, err);
}

enum ux_code ux_blobs_s3_segments_fetch(struct ux_blobs_s3 *b, const char *uid,
					struct ux_blob_part *to, uint64_t *size,
					struct ux_error *err)
{
	ux_cleanup(segments_deinit) struct segments s;
	char key[UX_BLOBS_PATH_MAX];
	UX_TRY(segments_list(&s, b, uid, err));
	for (size_t i = 0; i < s.list.size; i++) {
		const struct segment *one = &s.list.data[i];
		if (one->off + one->size <= *size)
			continue;
		uint64_t skip = *size - one->off;
		ux_blobs_s3_segment_key(uid, one->off, key);
		UX_TRY(segment_fetch(b, key, skip, one->size - skip, to, size, err));
	}
	return UX_OK;
}

/* --- joining ---------------------------------------------------------------------------------- */

enum ux_code ux_blobs_s3_copied(struct ux_blobs_s3 *b, enum ux_code code,
				const struct ux_error *why, struct ux_error *err)
{
	if (code == UX_OK || code == UX_EUNAVAILABLE || code == UX_ENOMEM)
		return ux_blobs_s3_failed(code, why, err);
	if (code != UX_ENOTFOUND)
		atomic_store_explicit(&b->cannot_copy, true, memory_order_relaxed);
	return UX_EUNSUPPORTED;
}

/* Tests whether the segments are consecutive and of sizes that the store can join. */
static bool segments_join_well(const struct segments *s)
{
	uint64_t end = 0;
	for (size_t i = 0; i < s->list.size; i++) {
		const struct segment *one = &s->list.data[i];
		if (one->off != end || (i + 1 < s->list.size && one->size < UX_S3_JOINED_MIN))
			return false;
		end += one->size;
	}
	return true;
}

/* The first bytes of an upload. */
struct segment_head {
	uint8_t bytes[UX_BLOB_HEAD_BYTES];
	size_t n;
};

static enum ux_code segment_head_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct segment_head *h = ctx;
	(void)err;
	memcpy(h->bytes + h->n, bytes.data, bytes.size); /* at most the requested number */
	h->n += bytes.size;
	return UX_OK;
}

/* Tests whether the blob will be written again in frames: then a copy is useless. */
static enum ux_code segments_are_packed(const struct segments *s, const char *uid, bool *ret,
					struct ux_error *err)
{
	char key[UX_BLOBS_PATH_MAX];
	struct segment_head head = {.n = 0};
	struct ux_error why = UX_ERROR_INIT;
	ux_blobs_s3_segment_key(uid, 0, key);
	enum ux_code code =
		ux_s3_get(s->b->s3, key, 0, sizeof(head.bytes), segment_head_take, &head, &why);
	if (code == UX_OK)
		*ret = ux_blob_pack_pays(ux_bytes(head.bytes, head.n), s->end);
	return ux_blobs_s3_failed(code, &why, err);
}

/* Joins the segments to one object. */
static enum ux_code segments_join(const struct segments *s, const char *uid,
				  char key[UX_BLOBS_PATH_MAX], struct ux_error *err)
{
	char own[UX_UPLOAD_UID_SIZE], (*keys)[UX_BLOBS_PATH_MAX] = NULL;
	struct ux_error why = UX_ERROR_INIT;
	size_t n = s->list.size;
	UX_TRY(ux_upload_uid_make(own, err));
	ux_cleanup(ux_free_ptr) struct ux_s3_from *from = calloc(n, sizeof(*from));
	keys = calloc(n, sizeof(*keys));
	enum ux_code code = from && keys ? UX_OK : ux_error_nomem(err);
	for (size_t i = 0; i < n && code == UX_OK; i++) {
		ux_blobs_s3_segment_key(uid, s->list.data[i].off, keys[i]);
		from[i] = (struct ux_s3_from){keys[i], s->list.data[i].size};
	}
	if (code == UX_OK) {
		snprintf(key, UX_BLOBS_PATH_MAX, UX_BLOBS_S3_UPLOADS "%s/joined-%s", uid, own);
		code = ux_s3_copy(s->b->s3, from, n, key, &why);
		code = ux_blobs_s3_copied(s->b, code, &why, err);
	}
	free(keys);
	return code;
}

enum ux_code ux_blobs_s3_segments_join(struct ux_blobs_s3 *b, const char *uid, uint64_t size,
				       char key[UX_BLOBS_PATH_MAX], struct ux_error *err)
{
	ux_cleanup(segments_deinit) struct segments s = {0};
	bool packed = false;
	key[0] = '\0';
	if (size < JOIN_MIN || atomic_load_explicit(&b->cannot_copy, memory_order_relaxed))
		return UX_OK;
	UX_TRY(segments_list(&s, b, uid, err));
	if (s.end != size || !segments_join_well(&s))
		return UX_OK;
	UX_TRY(segments_are_packed(&s, uid, &packed, err));
	enum ux_code code = packed ? UX_EUNSUPPORTED : segments_join(&s, uid, key, err);
	if (code != UX_OK)
		key[0] = '\0';
	return code == UX_EUNSUPPORTED ? UX_OK : code;
}
