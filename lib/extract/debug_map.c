/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the DWARF of a Mach-O file by its debug map. */
#include "debug_map.h"

#include "ar_member.h"
#include "dwarf_units.h"
#include "file.h"
#include "function_bounds.h"
#include "macho_fat.h"
#include "macho_symbols.h"
#include "order.h"
#include "partition.h"
#include "pool.h"

#include <limits.h>
#include <unistd.h>

/* A function of the executable, later with its address in the object. */
struct ux_map_function {
	uint64_t object_pc; /* sort key, hence the first field; UINT64_MAX: not found */
	uint64_t pc;
	uint64_t size;
	const char *name; /* points into exe; with its leading underscore */
};

enum {
	OBJECTS_MAX = 1 << 15, /* objects that are mapped at the same time; the kernel allows a
				   process twice as many mappings */
};

enum outcome {
	NOT_READ,
	READ,
	MISSING,
	CHANGED,
	DAMAGED
};

struct ux_map_object {
	const char *path; /* points into exe */
	uint64_t mtime;   /* in seconds; 0: unknown */
	size_t first;     /* index of its first function */
	size_t count;
	const struct ux_macho *exe;
	struct ux_mapping file;
	struct ux_object *object;
	struct ux_debug_sections sections;
	struct ux_collection collection;
	enum outcome outcome;
	struct ux_error reason;
};

UX_VEC(object_vec, struct ux_map_object);
UX_VEC(function_vec, struct ux_map_function);

/* --- the map ---------------------------------------------------------------------------------- */

/* The state of reading the map. */
struct reader {
	const struct ux_macho *exe;
	struct object_vec objects;
	struct function_vec functions;
	struct ux_map_function open; /* a function with its size in a following entry */
};

static void map_reader_deinit(struct reader *r)
{
	object_vec_deinit(&r->objects);
	function_vec_deinit(&r->functions);
}

static bool map_reader_add_object(struct reader *r, const struct ux_macho_symbol *s)
{
	struct object_vec *all = &r->objects;
	if (all->size > 0 && all->data[all->size - 1].count == 0)
		all->size--; /* nothing of the object was linked */
	return object_vec_append(all, (struct ux_map_object){
					      .path = s->name,
					      .mtime = s->value,
					      .first = r->functions.size,
					      .exe = r->exe,
					      .reason = UX_ERROR_INIT,
				      });
}

static bool map_reader_add_function(struct reader *r, const struct ux_macho_symbol *s)
{
	struct ux_map_function f = r->open;
	if (s->name[0] != '\0') {
		r->open = (struct ux_map_function){UINT64_MAX, s->value, 0, s->name};
		return true;
	}
	r->open = (struct ux_map_function){0};
	if (!f.name || s->value == 0 || r->objects.size == 0)
		return true;
	f.size = s->value;
	r->objects.data[r->objects.size - 1].count++;
	return function_vec_append(&r->functions, f);
}

enum ux_code ux_debug_map_open(struct ux_debug_map *map, const struct ux_macho *exe,
			       struct ux_error *err)
{
	ux_cleanup(map_reader_deinit) struct reader r = {.exe = exe};
	struct ux_macho_symbols it;
	UX_TRY(ux_macho_symbols_open(exe, &it, err));
	for (const struct ux_macho_symbol *s; (s = ux_macho_symbols_next(&it));) {
		if ((s->type == N_OSO && !map_reader_add_object(&r, s)) ||
		    (s->type == N_FUN && !map_reader_add_function(&r, s)))
			return ux_error_nomem(err);
	}
	if (r.objects.size > 0 && r.objects.data[r.objects.size - 1].count == 0)
		r.objects.size--;
	*map = (struct ux_debug_map){.bad = UX_ERROR_INIT};
	map->objects = object_vec_steal(&r.objects, &map->n_objects);
	map->functions = function_vec_steal(&r.functions, &map->n_functions);
	return UX_OK;
}

static void map_object_close(struct ux_map_object *o)
{
	ux_collection_free(&o->collection);
	ux_debug_sections_free(&o->sections);
	o->object = ux_object_close(o->object);
	ux_file_unmap(&o->file);
}

void ux_debug_map_close(struct ux_debug_map *map)
{
	for (size_t i = 0; i < map->n_objects; i++)
		map_object_close(&map->objects[i]);
	free(map->objects);
	free(map->functions);
	*map = (struct ux_debug_map){0};
}

/* --- an object -------------------------------------------------------------------------------- */

/* Returns where the member's name begins in "/lib/libx.a(member.o)"; NULL when the path has no such
 * form. */
static const char *map_object_member(const char *path)
{
	size_t n = strlen(path);
	return n > 2 && path[n - 1] == ')' ? strrchr(path, '(') : NULL;
}

/* Writes the path of the object's file, or of its archive. Returns false when it is too long. */
static bool map_object_path(const char *path, char file[PATH_MAX])
{
	const char *member = map_object_member(path);
	size_t n = member ? (size_t)(member - path) : strlen(path);
	if (n >= PATH_MAX)
		return false;
	memcpy(file, path, n);
	file[n] = '\0';
	return true;
}

bool ux_debug_map_there(const struct ux_debug_map *map)
{
	char path[PATH_MAX];
	return map->n_objects > 0 && map_object_path(map->objects[0].path, path) &&
	       access(path, R_OK) == 0;
}

/* Maps the object's bytes. *ret_mtime is in seconds. */
static enum ux_code map_object_map(struct ux_map_object *o, struct ux_bytes *ret,
				   uint64_t *ret_mtime, struct ux_error *err)
{
	char path[PATH_MAX];
	const char *member = map_object_member(o->path);
	if (!map_object_path(o->path, path))
		return ux_error_set(err, UX_ENOTFOUND, "path is too long");
	UX_TRY(ux_file_map(path, &o->file, err));
	*ret = o->file.bytes;
	*ret_mtime = (uint64_t)(o->file.mtime_ns / 1000000000);
	if (!member)
		return UX_OK;
	struct ux_bytes name = ux_bytes(member + 1, strlen(member) - 2);
	return ux_ar_member(o->file.bytes, name, o->mtime, ret, ret_mtime, err);
}

static enum ux_code map_object_open(struct ux_map_object *o, struct ux_error *err)
{
	char arch[UX_MACHO_ARCH_TEXT];
	struct ux_bytes bytes = UX_BYTES_NONE;
	struct ux_object_choice choice = {.arch = arch};
	uint64_t mtime = 0;
	UX_TRY(map_object_map(o, &bytes, &mtime, err));
	/* An object that was compiled again may have other code under the same names. */
	if (o->mtime != 0 && mtime != o->mtime)
		return ux_error_set(err, UX_ECONFLICT, "%.96s changed after it was linked",
				    o->path);
	ux_macho_arch_name(o->exe->cpu, o->exe->subtype, arch);
	return ux_object_macho.open(bytes, &choice, &o->object, err);
}

struct name {
	const char *text;
	uint64_t pc;
};

UX_VEC(name_vec, struct name);

static int map_name_compare(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static enum ux_code map_object_names(const struct ux_macho *object, struct name_vec *ret,
				     struct ux_error *err)
{
	struct ux_macho_symbols it;
	UX_TRY(ux_macho_symbols_open(object, &it, err));
	for (const struct ux_macho_symbol *s; (s = ux_macho_symbols_next(&it));)
		if (ux_macho_symbol_is_code(object, s) &&
		    !name_vec_append(ret, (struct name){s->name, s->value}))
			return ux_error_nomem(err);
	if (ret->size > 1)
		qsort(ret->data, ret->size, sizeof(*ret->data), map_name_compare);
	return UX_OK;
}

static int map_function_compare(const void *a, const void *b)
{
	const struct ux_map_function *x = a, *y = b;
	UX_ORDER(x->object_pc, y->object_pc);
	UX_ORDER(x->pc, y->pc);
	return 0;
}

/* Finds the addresses of the functions in their object, and sorts the functions by them. */
static enum ux_code map_object_locate(const struct ux_map_object *o,
				      struct ux_map_function *functions, struct ux_error *err)
{
	ux_cleanup(name_vec_deinit) struct name_vec names = {0};
	UX_TRY(map_object_names(ux_macho_of(o->object), &names, err));
	for (size_t i = 0; i < o->count && names.size > 0; i++) {
		struct name key = {functions[i].name, 0};
		const struct name *found =
			bsearch(&key, names.data, names.size, sizeof(key), map_name_compare);
		if (found)
			functions[i].object_pc = found->pc;
	}
	qsort(functions, o->count, sizeof(*functions), map_function_compare);
	return UX_OK;
}

/* Returns the function that contains the whole piece; NULL: the piece was not linked. */
static const struct ux_map_function *map_function_find(const struct ux_map_object *o,
						       const struct ux_map_function *functions,
						       const struct ux_piece *p)
{
	size_t lo = ux_partition_point(i, 0, o->count, functions[i].object_pc <= p->start);
	const struct ux_map_function *f = lo > 0 ? &functions[lo - 1] : NULL;
	if (!f || f->object_pc == UINT64_MAX || p->start - f->object_pc >= f->size ||
	    p->size > f->size - (p->start - f->object_pc))
		return NULL;
	return f;
}

/* Moves the pieces to the linked addresses of their functions. Returns how many are left. */
static uint32_t map_object_relocate(const struct ux_map_object *o,
				    const struct ux_map_function *functions,
				    struct ux_piece *pieces, uint32_t n)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct ux_map_function *f = map_function_find(o, functions, &pieces[i]);
		if (!f)
			continue;
		pieces[kept] = pieces[i];
		pieces[kept++].start += f->pc - f->object_pc;
	}
	return kept;
}

static enum ux_code map_object_collect(struct ux_map_object *o, struct ux_spill *spill,
				       struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec ranges = {0};
	ux_cleanup(ux_code_symbol_vec_deinit) struct ux_code_symbol_vec symbols = {0};
	struct ux_code_symbols_found found;
	UX_TRY(ux_object_text(o->object, &ranges, err));
	struct ux_range_set text = ux_range_vec_set(&ranges);
	UX_TRY(ux_code_symbols_read(o->object, UX_OBJECT_SYMTAB, o->object, &text, &symbols, &found,
				    err));
	ux_code_symbols_sort(&symbols, &text);
	UX_TRY(ux_debug_sections_load(o->object, 1, spill, &o->sections, err));
	struct ux_dwarf_units_input input = {
		.sections = &o->sections.dwarf,
		.stream = o->sections.stream,
		.text = &text,
		.symbols = &symbols,
		.threads = 1,
		.spill = spill,
	};
	return ux_dwarf_units_collect(&input, &o->collection, err);
}

static enum ux_code map_object_read(struct ux_map_object *o, struct ux_map_function *functions,
				    struct ux_spill *spill, struct ux_error *err)
{
	UX_TRY(map_object_open(o, err));
	UX_TRY(map_object_locate(o, functions, err));
	UX_TRY(map_object_collect(o, spill, err));
	for (size_t i = 0; i < o->collection.n_units; i++) {
		struct ux_unit_pieces *unit = &o->collection.units[i];
		unit->n_functions =
			map_object_relocate(o, functions, unit->functions, unit->n_functions);
		unit->n_lines = map_object_relocate(o, functions, unit->lines, unit->n_lines);
	}
	return UX_OK;
}

/* --- all objects ------------------------------------------------------------------------------ */

struct work {
	struct ux_debug_map *map;
	struct ux_spill *spill;
};

static enum ux_code map_read_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	const struct work *w = ctx;
	struct ux_map_object *o = &w->map->objects[job];
	(void)worker;
	enum ux_code code = map_object_read(o, w->map->functions + o->first, w->spill, &o->reason);
	o->outcome = code == UX_OK          ? READ
		     : code == UX_ENOTFOUND ? MISSING
		     : code == UX_ECONFLICT ? CHANGED
					    : DAMAGED;
	if (code != UX_OK)
		map_object_close(o);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

enum ux_code ux_debug_map_read(struct ux_debug_map *map, unsigned threads, struct ux_spill *spill,
			       struct ux_error *err)
{
	struct work w = {map, spill};
	size_t n = ux_min(map->n_objects, (size_t)OBJECTS_MAX);
	UX_TRY(ux_pool_run(threads, n, map_read_job, &w, err));
	map->missing = map->n_objects - n;
	for (size_t i = 0; i < map->n_objects; i++) {
		const struct ux_map_object *o = &map->objects[i];
		map->missing += o->outcome == MISSING;
		map->changed += o->outcome == CHANGED;
		map->damaged += o->outcome == DAMAGED;
		map->size += o->object ? o->object->file.size : 0;
		if (map->bad.code == UX_OK && o->outcome == DAMAGED)
			map->bad = o->reason;
	}
	return UX_OK;
}

struct ux_bytes ux_debug_map_info(const struct ux_debug_map *map)
{
	for (size_t i = 0; i < map->n_objects; i++) {
		const struct ux_map_object *o = &map->objects[i];
		if (o->outcome == READ && !o->sections.stream)
			return o->sections.dwarf.data[UX_DWARF_INFO];
	}
	return UX_BYTES_NONE;
}

const struct ux_collection *ux_debug_map_collection(const struct ux_debug_map *map, size_t i)
{
	return &map->objects[i].collection;
}
