/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tar archive as the source or the target of a copy: the manifest, its signature, then the
 * objects in the manifest's order. A file is written beside its name and renamed when it is
 * complete; a run continues the file of an interrupted one.
 */
#include "clone_endpoint.h"

#include "file.h"
#include "tar_header.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILE_MODE = 0666,
	END_BLOCKS = 2, /* blocks of zeros after the last member */
	SKIP_BUFFER = 64 << 10,
};

/* A member of an archive in a file. */
struct tar_place {
	const char *path;
	uint64_t off; /* offset of its content */
	uint64_t size;
};

UX_VEC(tar_places, struct tar_place);

/* Reads an archive from its beginning to its end. */
struct tar_reader {
	int fd;       /* -1: closed */
	bool seeks;   /* it is a file, which can be read at any position */
	uint64_t off; /* bytes that were read */
	/* for a stream: the last member that was read, and whether its content is still unread */
	struct ux_tar_header member;
	bool waiting;
};

struct clone_tar {
	struct ux_clone_endpoint base;
	struct tar_reader in;
	struct ux_arena arena;    /* owns the places' paths */
	struct tar_places places; /* for an archive in a file: its members, sorted by path */
	/* the target */
	char *path, *part_path; /* malloc'ed; NULL: standard output */
	int out;
	bool unchanged; /* it already has everything in the manifest */
	size_t next;    /* the object that is written next */
	const struct ux_clone_plan *plan;
	struct ux_entries_by_hash by_hash; /* the objects that it had */
};

static struct clone_tar *clone_tar_of(struct ux_clone_endpoint *e)
{
	return ux_container_of(e, struct clone_tar, base);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads n bytes, or with data NULL skips them. UX_ECORRUPT: the archive ends before. */
static enum ux_code tar_take(struct tar_reader *r, uint8_t *data, uint64_t n, struct ux_error *err)
{
	uint8_t skipped[SKIP_BUFFER];
	if (!data && r->seeks) {
		r->off += n; /* a missing rest is noticed when the next header is read */
		return UX_OK;
	}
	while (n > 0) {
		uint8_t *to = data ? data : skipped;
		size_t want = (size_t)ux_min(n, data ? (uint64_t)SSIZE_MAX : (uint64_t)SKIP_BUFFER);
		ssize_t got =
			r->seeks ? pread(r->fd, to, want, (off_t)r->off) : read(r->fd, to, want);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ux_error_os(err, errno, "cannot read the archive");
		if (got == 0)
			return ux_error_at(err, UX_ECORRUPT, "tar", r->off,
					   "the archive is truncated: at least %" PRIu64
					   " bytes are missing",
					   n);
		r->off += (uint64_t)got;
		n -= (uint64_t)got;
		data = data ? data + got : NULL;
	}
	return UX_OK;
}

/* Skips the content of the last member. */
static enum ux_code tar_pass(struct tar_reader *r, struct ux_error *err)
{
	r->waiting = false;
	return tar_take(r, NULL, r->member.size + ux_tar_padding(r->member.size), err);
}

/* Fields of extended headers before a member. */
struct tar_extension {
	enum ux_tar_type type;
	struct ux_out content;
};

static void tar_extensions_deinit(struct tar_extension (*list)[3])
{
	for (size_t i = 0; i < 3; i++)
		ux_out_deinit(&(*list)[i].content);
}

static enum ux_code tar_read_extension(struct tar_reader *r, const struct ux_tar_header *h,
				       struct tar_extension *ret, struct ux_error *err)
{
	if (h->size > UX_TAR_EXTENDED_MAX)
		return ux_error_at(err, UX_ELIMIT, "tar", r->off,
				   "an extended header has %" PRIu64 " bytes; the limit is %d",
				   h->size, UX_TAR_EXTENDED_MAX);
	ret->type = h->type;
	ux_out_reset(&ret->content);
	uint8_t *room = h->size > 0 ? ux_out_room(&ret->content, (size_t)h->size) : NULL;
	UX_TRY(ux_out_status(&ret->content, err));
	if (room)
		UX_TRY(tar_take(r, room, h->size, err));
	return tar_take(r, NULL, ux_tar_padding(h->size), err);
}

/* Reads headers up to the next file or link; its type is UX_TAR_END after the last one. */
static enum ux_code tar_next(struct tar_reader *r, struct ux_error *err)
{
	ux_cleanup(tar_extensions_deinit) struct tar_extension extensions[3] = {0};
	uint8_t block[UX_TAR_BLOCK];
	size_t n = 0;
	if (r->waiting)
		UX_TRY(tar_pass(r, err));
	for (;;) {
		struct ux_tar_header *h = &r->member;
		UX_TRY(tar_take(r, block, sizeof(block), err));
		UX_TRY(ux_tar_header_read(block, h, err));
		bool extends = h->type == UX_TAR_EXTENDED || h->type == UX_TAR_LONG_NAME ||
			       h->type == UX_TAR_LONG_LINK;
		if (extends && n == ux_countof(extensions))
			return ux_error_at(err, UX_ECORRUPT, "tar", r->off,
					   "a member has more than three extended headers");
		if (extends) {
			UX_TRY(tar_read_extension(r, h, &extensions[n++], err));
			continue;
		}
		for (size_t i = 0; i < n; i++)
			UX_TRY(ux_tar_extended_apply(extensions[i].type,
						     ux_out_bytes(&extensions[i].content), h, err));
		n = 0;
		if (h->type != UX_TAR_OTHER)
			break;
		UX_TRY(tar_pass(r, err));
	}
	r->waiting = r->member.type != UX_TAR_END;
	return UX_OK;
}

/* Removes "./", with which names in archives of `tar c` begin. */
static const char *tar_plain_path(const char *path)
{
	return strncmp(path, "./", 2) == 0 ? path + 2 : path;
}

/* Reads the content of a small member, the manifest or its signature. */
static enum ux_code tar_read_text(struct tar_reader *r, uint64_t max, struct ux_out *ret,
				  struct ux_error *err)
{
	const uint64_t size = r->member.size;
	if (size > max)
		return ux_error_at(err, UX_ELIMIT, "tar", r->off,
				   "%.60s has %" PRIu64 " bytes; the limit is %" PRIu64,
				   r->member.path, size, max);
	uint8_t *room = size > 0 ? ux_out_room(ret, (size_t)size) : NULL;
	UX_TRY(ux_out_status(ret, err));
	if (room)
		UX_TRY(tar_take(r, room, size, err));
	r->waiting = false;
	return tar_take(r, NULL, ux_tar_padding(size), err);
}

static bool tar_member_is(const struct tar_reader *r, const char *path)
{
	return r->member.type == UX_TAR_FILE && strcmp(tar_plain_path(r->member.path), path) == 0;
}

/* Reads the manifest, which comes first in a stream, and then its signature, if any. */
static enum ux_code tar_read_front(struct tar_reader *r, struct ux_clone_list *ret,
				   struct ux_error *err)
{
	UX_TRY(tar_next(r, err));
	if (!tar_member_is(r, UX_MANIFEST_NAME))
		return ux_error_at(err, UX_ECORRUPT, "tar", 0,
				   "the first member is not " UX_MANIFEST_NAME);
	UX_TRY(tar_read_text(r, UX_MANIFEST_SIZE_MAX, &ret->text, err));
	UX_TRY(tar_next(r, err));
	return tar_member_is(r, UX_MANIFEST_SIGNATURE)
		       ? tar_read_text(r, UX_MANIFEST_LINE_MAX, &ret->signature, err)
		       : UX_OK;
}

/* --- an archive in a file --------------------------------------------------------------------- */

static int tar_compare_places(const void *a, const void *b)
{
	return strcmp(((const struct tar_place *)a)->path, ((const struct tar_place *)b)->path);
}

static const struct tar_place *tar_find(const struct clone_tar *t, const char *path)
{
	const struct tar_place key = {.path = path};
	return t->places.size == 0 ? NULL
				   : bsearch(&key, t->places.data, t->places.size, sizeof(key),
					     tar_compare_places);
}

static enum ux_code tar_add_place(struct clone_tar *t, struct ux_error *err)
{
	const struct ux_tar_header *h = &t->in.member;
	struct tar_place place = {.off = t->in.off, .size = h->size};
	const char *path = tar_plain_path(h->path);
	if (t->places.size >= UX_MANIFEST_OBJECTS_MAX)
		return ux_error_set(err, UX_ELIMIT, "the archive has more than %d members",
				    UX_MANIFEST_OBJECTS_MAX);
	/* the target of a link comes before it; few members are links */
	for (size_t i = t->places.size; h->type == UX_TAR_LINK && i > 0; i--) {
		const struct tar_place *to = &t->places.data[i - 1];
		if (strcmp(to->path, tar_plain_path(h->link)) == 0) {
			place = *to;
			break;
		}
	}
	place.path = ux_arena_strndup(&t->arena, path, strlen(path));
	if (!place.path)
		return ux_arena_fail(&t->arena, err);
	return tar_places_append(&t->places, place) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code tar_scan(struct clone_tar *t, struct ux_error *err)
{
	UX_TRY(tar_next(&t->in, err));
	while (t->in.member.type != UX_TAR_END) {
		UX_TRY(tar_add_place(t, err));
		UX_TRY(tar_next(&t->in, err));
	}
	qsort(t->places.data, t->places.size, sizeof(*t->places.data), tar_compare_places);
	return UX_OK;
}

static enum ux_code tar_read_place(struct clone_tar *t, const char *path, uint64_t max,
				   struct ux_out *ret, struct ux_error *err)
{
	const struct tar_place *place = tar_find(t, path);
	struct tar_reader r = {.fd = t->in.fd, .seeks = true};
	if (!place)
		return ux_error_set(err, UX_ENOTFOUND, "the archive has no %s", path);
	r.off = place->off;
	r.member.size = place->size;
	(void)snprintf(r.member.path, sizeof(r.member.path), "%s", path);
	return tar_read_text(&r, max, ret, err);
}

static enum ux_code clone_tar_list(struct ux_clone_endpoint *e, const char *since,
				   struct ux_clone_list *ret, struct ux_error *err)
{
	struct clone_tar *t = clone_tar_of(e);
	struct ux_error why = UX_ERROR_INIT;
	(void)since; /* the manifest lists everything */
	if (t->in.fd < 0)
		return ux_error_set(err, UX_ENOTFOUND, "the archive does not exist yet");
	if (!t->in.seeks)
		return tar_read_front(&t->in, ret, err);
	UX_TRY(tar_scan(t, err));
	UX_TRY(tar_read_place(t, UX_MANIFEST_NAME, UX_MANIFEST_SIZE_MAX, &ret->text, err));
	enum ux_code code = tar_read_place(t, UX_MANIFEST_SIGNATURE, UX_MANIFEST_LINE_MAX,
					   &ret->signature, &why);
	if (code != UX_OK && code != UX_ENOTFOUND) {
		*err = why;
		return code;
	}
	return e->put ? ux_manifest_read(ux_out_bytes(&ret->text), &ret->manifest, err) : UX_OK;
}

static enum ux_code tar_check_size(const struct ux_entry *o, uint64_t size, struct ux_error *err)
{
	return size == o->size
		       ? UX_OK
		       : ux_error_set(err, UX_ECORRUPT,
				      "it has %" PRIu64 " bytes in the archive; the manifest "
				      "says %" PRIu64,
				      size, o->size);
}

/* Copies bytes of a stream that cannot be read a second time. */
static enum ux_code tar_copy_stream(struct tar_reader *r, uint64_t size, int to,
				    struct ux_error *err)
{
	uint8_t buffer[SKIP_BUFFER];
	while (size > 0) {
		size_t n = (size_t)ux_min(size, (uint64_t)sizeof(buffer));
		UX_TRY(tar_take(r, buffer, n, err));
		UX_TRY(ux_file_write(to, ux_bytes(buffer, n), err));
		size -= n;
	}
	return UX_OK;
}

static enum ux_code tar_get_stream(struct tar_reader *r, const struct ux_entry *o, int to,
				   uint64_t have, struct ux_error *err)
{
	if (r->member.type != UX_TAR_END && !r->waiting)
		UX_TRY(tar_next(r, err));
	while (r->member.type != UX_TAR_END && !tar_member_is(r, o->path))
		UX_TRY(tar_next(r, err));
	if (r->member.type == UX_TAR_END)
		return ux_error_set(err, UX_ENOTFOUND,
				    "the archive lacks the object, or has it out of order");
	UX_TRY(tar_check_size(o, r->member.size, err));
	UX_TRY(tar_take(r, NULL, have, err));
	UX_TRY(tar_copy_stream(r, o->size - have, to, err));
	r->waiting = false;
	return tar_take(r, NULL, ux_tar_padding(o->size), err);
}

static enum ux_code clone_tar_get(struct ux_clone_endpoint *e, unsigned worker,
				  const struct ux_entry *o, int fd, uint64_t have,
				  struct ux_error *err)
{
	struct clone_tar *t = clone_tar_of(e);
	(void)worker;
	if (lseek(fd, (off_t)have, SEEK_SET) < 0)
		return ux_error_os(err, errno, "cannot seek");
	if (!t->in.seeks)
		return tar_get_stream(&t->in, o, fd, have, err);
	const struct tar_place *place = tar_find(t, o->path);
	if (!place)
		return ux_error_set(err, UX_ENOTFOUND, "the archive lacks the object");
	UX_TRY(tar_check_size(o, place->size, err));
	return ux_clone_copy(t->in.fd, place->off + have, o->size - have, fd, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

static enum ux_code tar_write_zeros(const struct clone_tar *t, uint64_t n, struct ux_error *err)
{
	static const uint8_t zeros[UX_TAR_BLOCK] = {0};
	for (; n > 0; n -= ux_min(n, (uint64_t)UX_TAR_BLOCK))
		UX_TRY(ux_file_write(
			t->out, ux_bytes(zeros, (size_t)ux_min(n, (uint64_t)UX_TAR_BLOCK)), err));
	return UX_OK;
}

static enum ux_code tar_write_header(const struct clone_tar *t, const char *path, const char *link,
				     uint64_t size, int64_t time, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out header = {0};
	UX_TRY(ux_tar_header_write(path, link, size, time > 0 ? (uint64_t)time : 0, &header, err));
	return ux_file_write(t->out, ux_out_bytes(&header), err);
}

static enum ux_code tar_write_text(const struct clone_tar *t, const char *path,
				   struct ux_bytes text, struct ux_error *err)
{
	if (text.size == 0)
		return UX_OK;
	UX_TRY(tar_write_header(t, path, NULL, text.size, 0, err));
	UX_TRY(ux_file_write(t->out, text, err));
	return tar_write_zeros(t, ux_tar_padding(text.size), err);
}

static enum ux_code tar_write_object(struct clone_tar *t, const struct ux_entry *o, int fd,
				     uint64_t off, struct ux_error *err)
{
	UX_TRY(tar_write_header(t, o->path, NULL, o->size, o->time, err));
	UX_TRY(ux_clone_copy(fd, off, o->size, t->out, err));
	t->next++;
	return tar_write_zeros(t, ux_tar_padding(o->size), err);
}

static enum ux_code tar_hash_range(int fd, uint64_t off, uint64_t size,
				   uint8_t hash[UX_MANIFEST_HASH], struct ux_error *err)
{
	uint8_t buffer[SKIP_BUFFER];
	struct tar_reader r = {.fd = fd, .seeks = true, .off = off};
	struct sha256_ctx sha;
	sha256_init(&sha);
	while (size > 0) {
		size_t n = (size_t)ux_min(size, (uint64_t)sizeof(buffer));
		UX_TRY(tar_take(&r, buffer, n, err));
		sha256_update(&sha, n, buffer);
		size -= n;
	}
	sha256_digest(&sha, SHA256_DIGEST_SIZE, hash);
	return UX_OK;
}

/* Finds the object in the existing archive; NULL: absent. */
static const struct tar_place *tar_find_had(const struct clone_tar *t, const struct ux_entry *o)
{
	if (!t->plan->had)
		return NULL;
	const struct ux_entry *same = ux_manifest_find(&t->plan->had->manifest, o->path);
	if (same && memcmp(same->hash, o->hash, sizeof(o->hash)) == 0)
		return tar_find(t, same->path);
	size_t i = ux_entries_by_hash_find(&t->by_hash, o->hash); /* it may have another path now */
	return i < t->by_hash.n ? tar_find(t, t->by_hash.items[i]->path) : NULL;
}

static enum ux_code tar_write_had(struct clone_tar *t, const struct ux_entry *o,
				  struct ux_error *err)
{
	const struct tar_place *place = tar_find_had(t, o);
	uint8_t hash[UX_MANIFEST_HASH];
	if (!place || place->size != o->size)
		return ux_error_set(err, UX_ECORRUPT, "the archive has lost %.100s", o->path);
	UX_TRY(tar_hash_range(t->in.fd, place->off, place->size, hash, err));
	if (memcmp(hash, o->hash, sizeof(hash)) != 0)
		return ux_error_set(err, UX_ECORRUPT, "%.100s is damaged in the archive", o->path);
	return tar_write_object(t, o, t->in.fd, place->off, err);
}

/* Copies objects from the existing archive, up to object `end` of the manifest. */
static enum ux_code tar_write_until(struct clone_tar *t, size_t end, struct ux_error *err)
{
	while (t->next < end)
		UX_TRY(tar_write_had(t, &t->plan->all->objects.data[t->next], err));
	return UX_OK;
}

static int tar_compare_parts(const void *a, const void *b)
{
	const struct ux_clone_part *const *x = a, *const *y = b;
	return strcmp((*x)->object->path, (*y)->object->path);
}

static enum ux_code tar_put_part(struct clone_tar *t, const struct ux_clone_part *parts,
				 const struct ux_clone_part *p, struct ux_error *err)
{
	const struct ux_entry *o = p->object;
	UX_TRY(tar_write_until(t, (size_t)(o - t->plan->all->objects.data), err));
	if (p->fd >= 0)
		return tar_write_object(t, o, p->fd, 0, err);
	const struct ux_clone_part *same = &parts[p->same];
	if (!same->done) /* it comes later */
		return tar_write_object(t, o, same->fd, 0, err);
	t->next++;
	return tar_write_header(t, o->path, same->object->path, 0, o->time, err);
}

static enum ux_code clone_tar_put(struct ux_clone_endpoint *e, unsigned worker,
				  struct ux_clone_part *parts, size_t n, ux_clone_report_fn *report,
				  void *ctx, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_clone_part **order = calloc(n, sizeof(*order));
	(void)worker;
	if (!order)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		order[i] = &parts[i];
	qsort(order, n, sizeof(*order), tar_compare_parts);
	for (size_t i = 0; i < n; i++) {
		UX_TRY(tar_put_part(clone_tar_of(e), parts, order[i], err));
		order[i]->done = true;
		report(ctx, order[i]->object, UX_CLONE_COPIED, "");
	}
	return UX_OK;
}

static enum ux_code clone_tar_has(struct ux_clone_endpoint *e, const struct ux_entry *o,
				  enum ux_clone_outcome *ret, struct ux_error *err)
{
	const struct clone_tar *t = clone_tar_of(e);
	const size_t at = (size_t)(o - t->plan->all->objects.data);
	(void)err;
	*ret = t->unchanged || at < t->next || tar_find_had(t, o) ? UX_CLONE_THERE
								  : UX_CLONE_COPIED;
	return UX_OK;
}

/*
 * Counts the objects that an interrupted run wrote, if it was for the same manifest, and sets
 * *ret_end to the end of the last complete one.
 */
static enum ux_code tar_count_written(struct clone_tar *t, uint64_t *ret_end, struct ux_error *err)
{
	struct tar_reader r = {.fd = t->out, .seeks = true};
	struct ux_clone_list front;
	const struct ux_entries *all = &t->plan->all->objects;
	ux_clone_list_init(&front);
	enum ux_code code = tar_read_front(&r, &front, NULL);
	bool same = code == UX_OK && ux_bytes_eq(ux_out_bytes(&front.text), t->plan->text) &&
		    ux_bytes_eq(ux_out_bytes(&front.signature), t->plan->signature);
	ux_clone_list_deinit(&front);
	t->next = 0;
	*ret_end = 0;
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (!same)
		return UX_OK;
	*ret_end = ux_tar_padding(t->plan->text.size) + t->plan->text.size + UX_TAR_BLOCK;
	if (t->plan->signature.size > 0)
		*ret_end += ux_tar_padding(t->plan->signature.size) + t->plan->signature.size +
			    UX_TAR_BLOCK;
	for (; t->next < all->size; t->next++) {
		const struct ux_entry *o = &all->data[t->next];
		uint8_t hash[UX_MANIFEST_HASH];
		bool begun = r.waiting || tar_next(&r, NULL) == UX_OK;
		if (!begun || !tar_member_is(&r, o->path) || r.member.size != o->size ||
		    tar_hash_range(t->out, r.off, o->size, hash, NULL) != UX_OK ||
		    memcmp(hash, o->hash, sizeof(hash)) != 0 || tar_pass(&r, NULL) != UX_OK)
			break; /* also stop at a link, which is quickly written again */
		*ret_end = r.off;
	}
	return UX_OK;
}

static enum ux_code tar_open_part(struct clone_tar *t, struct ux_error *err)
{
	struct stat st;
	uint64_t end = 0;
	t->out = open(t->part_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (t->out < 0)
		return ux_error_os(err, errno, "cannot create %.100s", t->part_path);
	if (fstat(t->out, &st) != 0 || !S_ISREG(st.st_mode))
		return ux_error_set(err, UX_EINVAL, "%.100s is not a regular file", t->part_path);
	if (flock(t->out, LOCK_EX | LOCK_NB) != 0)
		return ux_error_set(err, UX_ECONFLICT, "another copy to this archive is running");
	UX_TRY(tar_count_written(t, &end, err));
	/*
	 * Zeros that a power cut left, or partial blocks, are written again. The file grows if the
	 * run was interrupted within the padding of the last object: padding is zeros.
	 */
	if (ftruncate(t->out, (off_t)end) != 0 || lseek(t->out, 0, SEEK_END) < 0)
		return ux_error_os(err, errno, "cannot resume %.100s", t->part_path);
	return UX_OK;
}

static enum ux_code clone_tar_begin(struct ux_clone_endpoint *e, const struct ux_clone_plan *plan,
				    struct ux_error *err)
{
	struct clone_tar *t = clone_tar_of(e);
	t->plan = plan;
	if (plan->had)
		UX_TRY(ux_entries_by_hash_make(&plan->had->manifest, &t->by_hash, err));
	t->unchanged = plan->had && ux_bytes_eq(plan->text, ux_out_bytes(&plan->had->text)) &&
		       ux_bytes_eq(plan->signature, ux_out_bytes(&plan->had->signature));
	if (t->unchanged || plan->dry_run)
		return UX_OK;
	if (t->path)
		UX_TRY(tar_open_part(t, err));
	else
		t->out = STDOUT_FILENO;
	if (t->path && lseek(t->out, 0, SEEK_CUR) > 0)
		return UX_OK;
	UX_TRY(tar_write_text(t, UX_MANIFEST_NAME, plan->text, err));
	return tar_write_text(t, UX_MANIFEST_SIGNATURE, plan->signature, err);
}

static enum ux_code tar_rename(const struct clone_tar *t, struct ux_error *err)
{
	if (fsync(t->out) != 0)
		return ux_error_os(err, errno, "cannot sync %.100s", t->part_path);
	if (rename(t->part_path, t->path) != 0)
		return ux_error_os(err, errno, "cannot rename to %.100s", t->path);
	return UX_OK;
}

static enum ux_code clone_tar_finish(struct ux_clone_endpoint *e, struct ux_bytes manifest,
				     struct ux_bytes signature, struct ux_error *err)
{
	struct clone_tar *t = clone_tar_of(e);
	(void)signature; /* the plan has it, like the manifest */
	if (t->unchanged)
		return UX_OK;
	if (!ux_bytes_eq(manifest, t->plan->text))
		return ux_error_set(err, UX_ECONFLICT,
				    "the source removed objects during the copy; run it again");
	UX_TRY(tar_write_until(t, t->plan->all->objects.size, err));
	UX_TRY(tar_write_zeros(t, END_BLOCKS * UX_TAR_BLOCK, err));
	return t->path ? tar_rename(t, err) : UX_OK;
}

static void clone_tar_close(struct ux_clone_endpoint *e)
{
	struct clone_tar *t = clone_tar_of(e);
	if (t->in.fd > STDERR_FILENO)
		close(t->in.fd);
	if (t->out > STDERR_FILENO)
		close(t->out);
	tar_places_deinit(&t->places);
	ux_entries_by_hash_deinit(&t->by_hash);
	ux_arena_deinit(&t->arena);
	free(t->path);
	free(t->part_path);
	free(t);
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum ux_code tar_open_input(struct clone_tar *t, const char *path, bool target,
				   struct ux_error *err)
{
	struct stat st;
	if (strcmp(path, "-") == 0) {
		t->in.fd = target ? -1 : STDIN_FILENO;
		t->base.in_order = true;
		return UX_OK;
	}
	t->in.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (t->in.fd < 0)
		return target && errno == ENOENT
			       ? UX_OK
			       : ux_error_os(err, errno, "cannot open the archive");
	t->in.seeks = fstat(t->in.fd, &st) == 0 && S_ISREG(st.st_mode);
	if (target && !t->in.seeks)
		return ux_error_set(err, UX_EINVAL, "%.100s is not a regular file", path);
	t->base.in_order = target || !t->in.seeks;
	return UX_OK;
}

static enum ux_code tar_open_output(struct clone_tar *t, const char *path, struct ux_error *err)
{
	t->base.in_order = true;
	if (strcmp(path, "-") == 0)
		return UX_OK;
	t->path = strdup(path);
	if (!t->path || asprintf(&t->part_path, "%s.part", path) < 0) {
		t->part_path = NULL;
		return ux_error_nomem(err);
	}
	return UX_OK;
}

enum ux_code ux_clone_tar_open(const char *path, bool target, struct ux_clone_endpoint **ret,
			       struct ux_error *err)
{
	struct clone_tar *t = calloc(1, sizeof(*t));
	if (!t)
		return ux_error_nomem(err);
	*t = (struct clone_tar){
		.base = {.keeps = target,
			 .list = clone_tar_list,
			 .get = clone_tar_get,
			 .begin = target ? clone_tar_begin : NULL,
			 .has = target ? clone_tar_has : NULL,
			 .part = target ? ux_clone_temporary_part : NULL,
			 .put = target ? clone_tar_put : NULL,
			 .finish = target ? clone_tar_finish : NULL,
			 .close = clone_tar_close},
		.in.fd = -1,
		.out = -1,
	};
	ux_arena_init(&t->arena, UX_MANIFEST_MEMORY_MAX);
	enum ux_code code = tar_open_input(t, path, target, err);
	if (code == UX_OK && target)
		code = tar_open_output(t, path, err);
	if (code != UX_OK) {
		clone_tar_close(&t->base);
		return code;
	}
	*ret = &t->base;
	return UX_OK;
}
