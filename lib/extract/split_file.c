/* SPDX-License-Identifier: Apache-2.0 */
/* Files of split units. */
#include "split_file.h"

#include "hash.h"

#include <pthread.h>

/* A file by one of the paths that lead to it. */
struct place {
	char *path; /* malloc'ed; NULL: the place is free */
	uint64_t hash;
	uint64_t used; /* when it was asked for last */
	struct ux_split_file *file;
};

struct ux_split_cache {
	const struct ux_dwarf_sections *linked;
	const char *spill;
	pthread_mutex_t lock; /* guards all below, and the files' holders */
	struct place places[UX_SPLIT_FILES_KEPT];
	uint64_t clock;
	uint64_t inflated; /* of the files in places, each as often as it is there */
};

void ux_split_file_close(struct ux_split_file *f)
{
	ux_dwarf_split_ids_free(&f->ids);
	ux_dwarf_units_free(&f->units);
	ux_debug_sections_free(&f->loaded);
	ux_object_close(f->object);
	ux_file_unmap(&f->file);
	*f = (struct ux_split_file){0};
}

static struct ux_split_file *split_file_destroy(struct ux_split_file *f)
{
	if (f) {
		ux_split_file_close(f);
		free(f);
	}
	return NULL;
}

enum ux_code ux_split_file_prepare(struct ux_split_file *f, const struct ux_dwarf_sections *linked,
				   const struct ux_dwarf_sections *dwo, struct ux_error *err)
{
	ux_dwarf_split_ids_free(&f->ids);
	ux_dwarf_units_free(&f->units);
	f->sections = ux_dwarf_split_sections(dwo, linked);
	UX_TRY(ux_dwarf_units_parse(&f->sections, &f->units, err));
	return ux_dwarf_split_ids_find(&f->sections, &f->units, &f->ids, err);
}

static bool split_file_has_code(const struct ux_dwarf_units *units)
{
	for (size_t i = 0; i < units->count; i++)
		if (units->list[i].type != DW_UT_split_type)
			return true;
	return false;
}

enum ux_code ux_split_file_read(struct ux_split_file *f, struct ux_bytes bytes,
				const struct ux_dwarf_sections *linked, const char *spill,
				struct ux_error *err)
{
	const struct ux_object_choice any = {0};
	uint32_t at = 0;
	UX_TRY(ux_object_elf.open(bytes, &any, &f->object, err));
	UX_TRY(ux_debug_sections_load_split(f->object, spill, &f->loaded, err));
	UX_TRY(ux_split_file_prepare(f, linked, &f->loaded.dwarf, err));
	while (!split_file_has_code(&f->units)) {
		enum ux_code code =
			ux_debug_sections_next_split_info(f->object, spill, &at, &f->loaded, err);
		if (code == UX_ENOTFOUND)
			return UX_OK; /* no unit of its ID will be found */
		UX_TRY(code);
		UX_TRY(ux_split_file_prepare(f, linked, &f->loaded.dwarf, err));
	}
	return UX_OK;
}

/* A new file of what is mapped, which it takes over. */
static enum ux_code split_file_create(const struct ux_split_cache *c, struct ux_mapping *file,
				      struct ux_split_file **ret, struct ux_error *err)
{
	struct ux_split_file *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	f->file = *file;
	*file = (struct ux_mapping){0};
	f->outcome = (struct ux_error)UX_ERROR_INIT;
	if (ux_split_file_read(f, f->file.bytes, c->linked, c->spill, &f->outcome) == UX_ENOMEM) {
		split_file_destroy(f);
		return ux_error_nomem(err);
	}
	f->inflated = ux_debug_sections_inflated(&f->loaded);
	*ret = f;
	return UX_OK;
}

struct ux_split_cache *ux_split_cache_create(const struct ux_dwarf_sections *linked,
					     const char *spill)
{
	struct ux_split_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->linked = linked;
	c->spill = spill;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

/* Lets go of one hold; the last one's file is returned, to be destroyed without the lock. */
static struct ux_split_file *split_file_unref(struct ux_split_file *f)
{
	return f && --f->holders == 0 ? f : NULL;
}

/* Makes the place free. */
static struct ux_split_file *split_slot_clear(struct ux_split_cache *c, struct place *p)
{
	struct ux_split_file *f = p->file;
	c->inflated -= f ? f->inflated : 0;
	free(p->path);
	*p = (struct place){0};
	return split_file_unref(f);
}

struct ux_split_cache *ux_split_cache_destroy(struct ux_split_cache *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < ux_countof(c->places); i++)
		split_file_destroy(split_slot_clear(c, &c->places[i]));
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

static struct ux_split_file *split_slot_ref(struct ux_split_cache *c, struct place *p)
{
	p->used = ++c->clock;
	p->file->holders++;
	return p->file;
}

static struct ux_split_file *split_cache_find_path(struct ux_split_cache *c, const char *path,
						   uint64_t hash)
{
	for (size_t i = 0; i < ux_countof(c->places); i++) {
		struct place *p = &c->places[i];
		if (p->path && p->hash == hash && strcmp(p->path, path) == 0)
			return split_slot_ref(c, p);
	}
	return NULL;
}

/* The same file by whatever path. */
static struct ux_split_file *split_cache_find_file(struct ux_split_cache *c,
						   const struct ux_mapping *file)
{
	for (size_t i = 0; i < ux_countof(c->places); i++) {
		struct place *p = &c->places[i];
		if (p->path && p->file->file.dev == file->dev && p->file->file.ino == file->ino &&
		    p->file->file.mtime_ns == file->mtime_ns &&
		    p->file->file.bytes.size == file->bytes.size)
			return split_slot_ref(c, p);
	}
	return NULL;
}

/* The place to be had next: a free one, else that of what was not asked for the longest. */
static struct place *split_cache_oldest(struct ux_split_cache *c)
{
	struct place *oldest = &c->places[0];
	for (size_t i = 1; i < ux_countof(c->places); i++)
		if (c->places[i].used < oldest->used)
			oldest = &c->places[i];
	return oldest;
}

static struct place *split_cache_oldest_inflated(struct ux_split_cache *c,
						 const struct ux_split_file *but)
{
	struct place *oldest = NULL;
	for (size_t i = 0; i < ux_countof(c->places); i++) {
		struct place *p = &c->places[i];
		if (p->path && p->file->inflated > 0 && p->file != but &&
		    (!oldest || p->used < oldest->used))
			oldest = p;
	}
	return oldest;
}

UX_VEC(file_vec, struct ux_split_file *);

/* Keeps the file, which the caller holds, for the next who asks for the path. What has to go for
 * it is in gone. */
static enum ux_code split_cache_insert(struct ux_split_cache *c, const char *path, uint64_t hash,
				       struct ux_split_file *file, struct file_vec *gone,
				       struct ux_error *err)
{
	char *copy = strdup(path);
	if (!copy || !file_vec_reserve(gone, UX_SPLIT_FILES_KEPT + 1)) {
		free(copy);
		return ux_error_nomem(err);
	}
	struct place *p = split_cache_oldest(c);
	gone->data[gone->size++] = split_slot_clear(c, p);
	*p = (struct place){.path = copy, .hash = hash, .file = file};
	(void)split_slot_ref(c, p);
	c->inflated += file->inflated;
	while (c->inflated > UX_SPLIT_INFLATED_KEPT && (p = split_cache_oldest_inflated(c, file)))
		gone->data[gone->size++] = split_slot_clear(c, p);
	return UX_OK;
}

/* Maps what is at path; *ret is somebody's who had it first, or new and held once. */
static enum ux_code split_cache_open(struct ux_split_cache *c, const char *path,
				     struct ux_split_file **ret, struct ux_error *err)
{
	struct ux_mapping file = {0};
	if (ux_file_map(path, &file, NULL) != UX_OK)
		return UX_ENOTFOUND;
	pthread_mutex_lock(&c->lock);
	*ret = split_cache_find_file(c, &file);
	pthread_mutex_unlock(&c->lock);
	if (*ret) {
		ux_file_unmap(&file);
		return UX_OK;
	}
	enum ux_code code = split_file_create(c, &file, ret, err);
	ux_file_unmap(&file);
	if (code == UX_OK)
		(*ret)->holders = 1;
	return code;
}

enum ux_code ux_split_cache_take(struct ux_split_cache *c, const char *path,
				 struct ux_split_file **ret, struct ux_error *err)
{
	uint64_t hash = ux_hash_bytes(ux_bytes_cstr(path));
	ux_cleanup(file_vec_deinit) struct file_vec gone = {0};
	pthread_mutex_lock(&c->lock);
	*ret = split_cache_find_path(c, path, hash);
	pthread_mutex_unlock(&c->lock);
	if (*ret)
		return UX_OK;
	UX_TRY(split_cache_open(c, path, ret, err));
	pthread_mutex_lock(&c->lock);
	enum ux_code code = split_cache_insert(c, path, hash, *ret, &gone, err);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < gone.size; i++)
		split_file_destroy(gone.data[i]);
	if (code != UX_OK)
		ux_split_cache_give(c, *ret);
	return code;
}

void ux_split_cache_give(struct ux_split_cache *c, struct ux_split_file *file)
{
	pthread_mutex_lock(&c->lock);
	struct ux_split_file *gone = split_file_unref(file);
	pthread_mutex_unlock(&c->lock);
	split_file_destroy(gone);
}
