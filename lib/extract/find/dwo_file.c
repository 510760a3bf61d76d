/* SPDX-License-Identifier: Apache-2.0 */
/* Opens .dwo files: files found by a search, in a cache, and files supplied by the caller. */
#include "dwo_files.h"

#include "ar_member.h"
#include "hash.h"
#include "partition.h"

#include <pthread.h>

/* --- the cache of files ----------------------------------------------------------------------- */

/* A cached file with one of its paths. */
struct split_slot {
	char *path; /* malloc'ed; NULL: the slot is free */
	uint64_t hash;
	uint64_t used; /* clock at its last use */
	struct ux_dwo_file *file;
};

struct ux_split_cache {
	const struct ux_dwarf_sections *linked;
	struct ux_spill *spill;
	pthread_mutex_t lock; /* guards everything below, and the reference counts of files */
	struct split_slot slots[UX_DWO_FILES_KEPT];
	uint64_t clock;
	uint64_t inflated; /* sum over the slots; a file in several slots counts several times */
};

void ux_dwo_file_close(struct ux_dwo_file *f)
{
	ux_dwarf_split_ids_free(&f->ids);
	ux_dwarf_units_free(&f->units);
	ux_debug_sections_free(&f->loaded);
	ux_object_close(f->object);
	ux_file_unmap(&f->file);
	*f = (struct ux_dwo_file){0};
}

static struct ux_dwo_file *dwo_file_destroy(struct ux_dwo_file *f)
{
	if (f) {
		ux_dwo_file_close(f);
		free(f);
	}
	return NULL;
}

enum ux_code ux_dwo_file_prepare(struct ux_dwo_file *f, const struct ux_dwarf_sections *linked,
				 const struct ux_dwarf_sections *dwo, struct ux_error *err)
{
	ux_dwarf_split_ids_free(&f->ids);
	ux_dwarf_units_free(&f->units);
	f->sections = ux_dwarf_split_sections(dwo, linked);
	f->sections.columns = linked->columns;
	UX_TRY(ux_dwarf_units_parse(&f->sections, &f->units, err));
	return ux_dwarf_split_ids_find(&f->sections, &f->units, &f->ids, err);
}

static bool dwo_file_has_code(const struct ux_dwarf_units *units)
{
	for (size_t i = 0; i < units->count; i++)
		if (units->list[i].type != DW_UT_split_type)
			return true;
	return false;
}

enum ux_code ux_dwo_file_read(struct ux_dwo_file *f, struct ux_bytes bytes,
			      const struct ux_dwarf_sections *linked, struct ux_spill *spill,
			      struct ux_error *err)
{
	const struct ux_object_choice any = {0};
	uint32_t at = 0;
	UX_TRY(ux_object_elf.open(bytes, &any, &f->object, err));
	UX_TRY(ux_debug_sections_load_split(f->object, spill, &f->loaded, err));
	UX_TRY(ux_dwo_file_prepare(f, linked, &f->loaded.dwarf, err));
	while (!dwo_file_has_code(&f->units)) {
		enum ux_code code =
			ux_debug_sections_next_split_info(f->object, spill, &at, &f->loaded, err);
		if (code == UX_ENOTFOUND)
			return UX_OK; /* its units will not be found */
		UX_TRY(code);
		UX_TRY(ux_dwo_file_prepare(f, linked, &f->loaded.dwarf, err));
	}
	return UX_OK;
}

/* Creates a file, and takes over the mapping. */
static enum ux_code dwo_file_create(const struct ux_split_cache *c, struct ux_mapping *file,
				    struct ux_dwo_file **ret, struct ux_error *err)
{
	struct ux_dwo_file *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	f->file = *file;
	*file = (struct ux_mapping){0};
	f->outcome = (struct ux_error)UX_ERROR_INIT;
	if (ux_dwo_file_read(f, f->file.bytes, c->linked, c->spill, &f->outcome) == UX_ENOMEM) {
		dwo_file_destroy(f);
		return ux_error_nomem(err);
	}
	f->inflated = ux_debug_sections_inflated(&f->loaded);
	*ret = f;
	return UX_OK;
}

struct ux_split_cache *ux_split_cache_create(const struct ux_dwarf_sections *linked,
					     struct ux_spill *spill)
{
	struct ux_split_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->linked = linked;
	c->spill = spill;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

/* Drops one reference. Returns the file when it was the last one; the caller destroys it after it
 * released the lock. */
static struct ux_dwo_file *dwo_file_unref(struct ux_dwo_file *f)
{
	assert(!f || f->holders > 0);
	return f && --f->holders == 0 ? f : NULL;
}

/* Frees the slot, and drops its reference. */
static struct ux_dwo_file *split_slot_clear(struct ux_split_cache *c, struct split_slot *p)
{
	struct ux_dwo_file *f = p->file;
	c->inflated -= f ? f->inflated : 0;
	free(p->path);
	*p = (struct split_slot){0};
	return dwo_file_unref(f);
}

struct ux_split_cache *ux_split_cache_destroy(struct ux_split_cache *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < ux_countof(c->slots); i++)
		dwo_file_destroy(split_slot_clear(c, &c->slots[i]));
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

static struct ux_dwo_file *split_slot_ref(struct ux_split_cache *c, struct split_slot *p)
{
	p->used = ++c->clock;
	p->file->holders++;
	return p->file;
}

static struct ux_dwo_file *split_cache_find_path(struct ux_split_cache *c, const char *path,
						 uint64_t hash)
{
	for (size_t i = 0; i < ux_countof(c->slots); i++) {
		struct split_slot *p = &c->slots[i];
		if (p->path && p->hash == hash && strcmp(p->path, path) == 0)
			return split_slot_ref(c, p);
	}
	return NULL;
}

/* Finds the same file under any path. */
static struct ux_dwo_file *split_cache_find_file(struct ux_split_cache *c,
						 const struct ux_mapping *file)
{
	for (size_t i = 0; i < ux_countof(c->slots); i++) {
		struct split_slot *p = &c->slots[i];
		if (p->path && p->file->file.dev == file->dev && p->file->file.ino == file->ino &&
		    p->file->file.mtime_ns == file->mtime_ns &&
		    p->file->file.bytes.size == file->bytes.size)
			return split_slot_ref(c, p);
	}
	return NULL;
}

/* Returns the slot to be used next: a free one, or the least recently used one. */
static struct split_slot *split_cache_oldest(struct ux_split_cache *c)
{
	struct split_slot *oldest = &c->slots[0];
	for (size_t i = 1; i < ux_countof(c->slots); i++)
		if (c->slots[i].used < oldest->used)
			oldest = &c->slots[i];
	return oldest;
}

static struct split_slot *split_cache_oldest_inflated(struct ux_split_cache *c,
						      const struct ux_dwo_file *but)
{
	struct split_slot *oldest = NULL;
	for (size_t i = 0; i < ux_countof(c->slots); i++) {
		struct split_slot *p = &c->slots[i];
		if (p->path && p->file->inflated > 0 && p->file != but &&
		    (!oldest || p->used < oldest->used))
			oldest = p;
	}
	return oldest;
}

UX_VEC(file_vec, struct ux_dwo_file *);

/* Adds a file, with the caller's reference to it. Evicted files are appended to `evicted`. */
static enum ux_code split_cache_insert(struct ux_split_cache *c, const char *path, uint64_t hash,
				       struct ux_dwo_file *file, struct file_vec *evicted,
				       struct ux_error *err)
{
	char *copy = strdup(path);
	if (!copy || !file_vec_reserve(evicted, UX_DWO_FILES_KEPT + 1)) {
		free(copy);
		return ux_error_nomem(err);
	}
	struct split_slot *p = split_cache_oldest(c);
	evicted->data[evicted->size++] = split_slot_clear(c, p);
	*p = (struct split_slot){.path = copy, .hash = hash, .file = file};
	(void)split_slot_ref(c, p);
	c->inflated += file->inflated;
	while (c->inflated > UX_SPLIT_INFLATED_KEPT && (p = split_cache_oldest_inflated(c, file)))
		evicted->data[evicted->size++] = split_slot_clear(c, p);
	return UX_OK;
}

/* Opens the file at path. *ret is a file that was open before, or a new one with one reference. */
static enum ux_code split_cache_open(struct ux_split_cache *c, const char *path,
				     struct ux_dwo_file **ret, struct ux_error *err)
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
	enum ux_code code = dwo_file_create(c, &file, ret, err);
	ux_file_unmap(&file);
	if (code == UX_OK)
		(*ret)->holders = 1;
	return code;
}

enum ux_code ux_split_cache_get(struct ux_split_cache *c, const char *path,
				struct ux_dwo_file **ret, struct ux_error *err)
{
	uint64_t hash = ux_hash_bytes(ux_bytes_cstr(path));
	ux_cleanup(file_vec_deinit) struct file_vec evicted = {0};
	pthread_mutex_lock(&c->lock);
	*ret = split_cache_find_path(c, path, hash);
	pthread_mutex_unlock(&c->lock);
	if (*ret)
		return UX_OK;
	UX_TRY(split_cache_open(c, path, ret, err));
	pthread_mutex_lock(&c->lock);
	enum ux_code code = split_cache_insert(c, path, hash, *ret, &evicted, err);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < evicted.size; i++)
		dwo_file_destroy(evicted.data[i]);
	if (code != UX_OK)
		ux_split_cache_release(c, *ret);
	return code;
}

void ux_split_cache_release(struct ux_split_cache *c, struct ux_dwo_file *file)
{
	pthread_mutex_lock(&c->lock);
	struct ux_dwo_file *evicted = dwo_file_unref(file);
	pthread_mutex_unlock(&c->lock);
	dwo_file_destroy(evicted);
}

/* --- files that the caller supplied ----------------------------------------------------------- */

static struct ux_dwo_file *split_given_destroy(struct ux_dwo_file *file)
{
	if (file)
		ux_dwo_file_close(file);
	free(file);
	return NULL;
}

void ux_split_given_close(struct ux_split_given *given)
{
	for (size_t i = 0; i < given->files.size; i++)
		split_given_destroy(given->files.data[i]);
	ux_dwo_file_vec_deinit(&given->files);
	ux_split_location_vec_deinit(&given->locations);
	given->package = UX_BYTES_NONE;
}

static enum ux_code split_given_is_package(struct ux_bytes file, bool *ret_is_package,
					   struct ux_error *err)
{
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	const struct ux_object_choice any = {0};
	struct ux_section index;
	enum ux_code code = ux_object_elf.open(file, &any, &object, NULL);
	*ret_is_package =
		code == UX_OK && ux_object_section_find(object, ".debug_cu_index", &index);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

static enum ux_code split_given_add(struct ux_split_given *given, struct ux_bytes bytes,
				    const struct ux_dwarf_sections *linked, struct ux_spill *spill,
				    struct ux_error *reason, struct ux_error *err)
{
	bool is_package = false;
	UX_TRY(split_given_is_package(bytes, &is_package, err));
	if (is_package) {
		if (given->package.size == 0)
			given->package = bytes;
		return UX_OK;
	}
	struct ux_dwo_file *file = calloc(1, sizeof(*file));
	if (!file)
		return ux_error_nomem(err);
	enum ux_code code = ux_dwo_file_read(file, bytes, linked, spill, reason);
	if (code == UX_OK && ux_dwo_file_vec_append(&given->files, file))
		return UX_OK;
	code = code == UX_OK ? UX_ENOMEM : code;
	split_given_destroy(file);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

static int split_location_compare(const void *a, const void *b)
{
	const struct ux_split_location *x = a, *y = b;
	if (x->dwo_id != y->dwo_id)
		return x->dwo_id < y->dwo_id ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static enum ux_code split_given_index(struct ux_split_given *given, struct ux_error *err)
{
	for (size_t i = 0; i < given->files.size; i++) {
		const struct ux_dwarf_split_ids *ids = &given->files.data[i]->ids;
		for (size_t k = 0; k < ids->count; k++) {
			struct ux_split_location location = {ids->list[k].id, (uint32_t)i};
			if (!ux_split_location_vec_append(&given->locations, location))
				return ux_error_nomem(err);
		}
	}
	if (given->locations.size > 0)
		qsort(given->locations.data, given->locations.size, sizeof(*given->locations.data),
		      split_location_compare);
	return UX_OK;
}

enum ux_code ux_split_given_open(struct ux_split_given *given, struct ux_bytes bytes,
				 const struct ux_dwarf_sections *linked, struct ux_spill *spill,
				 struct ux_error *reason, struct ux_error *err)
{
	uint64_t at = 0;
	if (!ux_ar_is(bytes)) {
		UX_TRY(split_given_add(given, bytes, linked, spill, reason, err));
		return split_given_index(given, err);
	}
	for (;;) {
		struct ux_error why = UX_ERROR_INIT;
		struct ux_bytes member = UX_BYTES_NONE;
		enum ux_code code = ux_ar_next(bytes, &at, &member, &why);
		if (code != UX_OK) {
			if (code != UX_ENOTFOUND && reason->code == UX_OK)
				*reason = why;
			return split_given_index(given, err);
		}
		UX_TRY(split_given_add(given, member, linked, spill, reason, err));
	}
}

const struct ux_dwo_file *ux_split_given_find(const struct ux_split_given *given, uint64_t dwo_id)
{
	size_t lo = ux_partition_point(i, 0, given->locations.size,
				       given->locations.data[i].dwo_id < dwo_id);
	if (lo == given->locations.size || given->locations.data[lo].dwo_id != dwo_id)
		return NULL;
	return given->files.data[given->locations.data[lo].file];
}
