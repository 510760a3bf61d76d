/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs in memory. */
#include "blobs_mem.h"

#include "out.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
	MAX = 64
};

struct entry {
	char name[65]; /* hash or UID; "" = free */
	struct ux_out bytes;
	bool held;
	int64_t age_s;
};

struct blobs_mem {
	struct ux_blobs base;
	struct entry blobs[MAX];
	struct entry parts[MAX];
	unsigned fail_in;
};

struct ux_blob_part {
	struct blobs_mem *mem;
	struct entry *entry; /* NULL once committed */
};

static struct blobs_mem *mem_of(const struct ux_blobs *b)
{
	return ux_container_of(b, struct blobs_mem, base);
}

static enum ux_code fault(struct blobs_mem *m, struct ux_error *err)
{
	if (m->fail_in == 0 || --m->fail_in > 0)
		return UX_OK;
	return ux_error_set(err, UX_EIO, "injected");
}

static struct entry *find(struct entry *entries, const char *name)
{
	for (size_t i = 0; i < MAX; i++)
		if (strcmp(entries[i].name, name) == 0)
			return &entries[i];
	return NULL;
}

static void drop(struct entry *e)
{
	ux_out_deinit(&e->bytes);
	*e = (struct entry){0};
}

static struct entry *named(struct entry *entries, const char *name)
{
	struct entry *e = find(entries, name);
	if (e)
		return e;
	e = find(entries, "");
	assert(e);
	snprintf(e->name, sizeof(e->name), "%s", name);
	return e;
}

static enum ux_code part_open(struct ux_blobs *b, const char *uid, struct ux_blob_part **ret,
			      uint64_t *ret_size, struct ux_error *err)
{
	struct blobs_mem *m = mem_of(b);
	if (!ux_upload_uid_valid(ux_bytes_cstr(uid)))
		return ux_error_set(err, UX_EINVAL, "no UID");
	UX_TRY(fault(m, err));
	struct entry *e = named(m->parts, uid);
	if (e->held)
		return ux_error_set(err, UX_ECONFLICT, "held");
	struct ux_blob_part *part = calloc(1, sizeof(*part));
	if (!part)
		return ux_error_nomem(err);
	e->held = true;
	*part = (struct ux_blob_part){m, e};
	*ret = part;
	*ret_size = e->bytes.size;
	return UX_OK;
}

static enum ux_code part_write(struct ux_blob_part *part, struct ux_bytes bytes,
			       struct ux_error *err)
{
	UX_TRY(fault(part->mem, err));
	ux_out_put(&part->entry->bytes, bytes.data, bytes.size);
	return ux_out_status(&part->entry->bytes, err);
}

static enum ux_code map_bytes(struct ux_bytes b, struct ux_mapping *ret, struct ux_error *err)
{
	void *p = NULL;
	if (b.size > 0) {
		p = mmap(NULL, b.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return ux_error_nomem(err);
		memcpy(p, b.data, b.size);
	}
	*ret = (struct ux_mapping){.bytes = ux_bytes(p, b.size)};
	return UX_OK;
}

static enum ux_code part_map(struct ux_blob_part *part, struct ux_mapping *ret,
			     struct ux_error *err)
{
	UX_TRY(fault(part->mem, err));
	return map_bytes(ux_out_bytes(&part->entry->bytes), ret, err);
}

static enum ux_code part_reset(struct ux_blob_part *part, struct ux_error *err)
{
	UX_TRY(fault(part->mem, err));
	ux_out_reset(&part->entry->bytes);
	return UX_OK;
}

static enum ux_code part_sync(struct ux_blob_part *part, const struct ux_blob_hash *hash,
			      struct ux_error *err)
{
	(void)hash;
	return fault(part->mem, err);
}

static enum ux_code part_commit(struct ux_blob_part *part, const struct ux_blob_hash *hash,
				struct ux_error *err)
{
	char text[65];
	UX_TRY(fault(part->mem, err));
	ux_blob_hash_text(hash, text);
	struct entry *blob = named(part->mem->blobs, text);
	ux_out_deinit(&blob->bytes);
	blob->bytes = part->entry->bytes;
	blob->age_s = 0;
	part->entry->bytes = (struct ux_out){0};
	drop(part->entry);
	part->entry = NULL;
	return UX_OK;
}

static void part_close(struct ux_blob_part *part)
{
	if (part && part->entry)
		part->entry->held = false;
	free(part);
}

static enum ux_code part_size(struct ux_blobs *b, const char *uid, uint64_t *ret,
			      struct ux_error *err)
{
	UX_TRY(fault(mem_of(b), err));
	struct entry *e = find(mem_of(b)->parts, uid);
	*ret = e ? e->bytes.size : 0;
	return UX_OK;
}

static enum ux_code part_remove(struct ux_blobs *b, const char *uid, struct ux_error *err)
{
	UX_TRY(fault(mem_of(b), err));
	struct entry *e = find(mem_of(b)->parts, uid);
	if (e)
		drop(e);
	return UX_OK;
}

static enum ux_code blob_open(struct ux_blobs *b, const struct ux_blob_hash *hash, int *ret_fd,
			      uint64_t *ret_size, struct ux_error *err)
{
	char text[65];
	UX_TRY(fault(mem_of(b), err));
	ux_blob_hash_text(hash, text);
	struct entry *e = find(mem_of(b)->blobs, text);
	if (!e)
		return ux_error_set(err, UX_ENOTFOUND, "no such blob");
	int fd = memfd_create("blob", MFD_CLOEXEC);
	if (fd < 0)
		return ux_error_nomem(err);
	enum ux_code code = ux_file_write(fd, ux_out_bytes(&e->bytes), err);
	if (code != UX_OK) {
		close(fd);
		return code;
	}
	*ret_fd = fd;
	*ret_size = e->bytes.size;
	return UX_OK;
}

static enum ux_code blob_remove(struct ux_blobs *b, const struct ux_blob_hash *hash,
				struct ux_error *err)
{
	char text[65];
	UX_TRY(fault(mem_of(b), err));
	ux_blob_hash_text(hash, text);
	struct entry *e = find(mem_of(b)->blobs, text);
	if (e)
		drop(e);
	return UX_OK;
}

static enum ux_code each(struct entry *entries, ux_blobs_each_fn *fn, void *ctx,
			 struct ux_error *err)
{
	for (size_t i = 0; i < MAX; i++)
		if (entries[i].name[0] != '\0')
			UX_TRY(fn(ctx, entries[i].name, entries[i].age_s, err));
	return UX_OK;
}

static enum ux_code each_blob(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
			      struct ux_error *err)
{
	return each(mem_of(b)->blobs, fn, ctx, err);
}

static enum ux_code each_part(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
			      struct ux_error *err)
{
	return each(mem_of(b)->parts, fn, ctx, err);
}

static void mem_close(struct ux_blobs *b)
{
	for (size_t i = 0; i < MAX; i++) {
		drop(&mem_of(b)->blobs[i]);
		drop(&mem_of(b)->parts[i]);
	}
	free(mem_of(b));
}

struct ux_blobs *blobs_mem_create(void)
{
	struct blobs_mem *m = calloc(1, sizeof(*m));
	if (!m)
		abort();
	m->base =
		(struct ux_blobs){UX_BLOBS_VERSION, part_open,   part_write, part_map,  part_sync,
				  part_commit,      part_reset,  part_close, part_size, part_remove,
				  blob_open,        blob_remove, each_blob,  each_part, mem_close};
	return &m->base;
}

void blobs_mem_fail(struct ux_blobs *b, unsigned nth)
{
	mem_of(b)->fail_in = nth;
}

size_t blobs_mem_count(const struct ux_blobs *b)
{
	size_t n = 0;
	for (size_t i = 0; i < MAX; i++)
		n += mem_of(b)->blobs[i].name[0] != '\0';
	return n;
}
