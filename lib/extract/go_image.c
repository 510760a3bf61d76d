/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the memory image of a Go program in an object file. */
#include "go_source.h"

#include "order.h"

static enum ux_code go_image_segments(const struct ux_object *object, struct ux_go_memory *go,
				      struct ux_error *err)
{
	ux_cleanup(ux_object_ranges_deinit) struct ux_object_ranges all = {0};
	UX_TRY(object->format->segments(object, &all, err));
	go->segments = calloc(all.size + 1, sizeof(*go->segments));
	if (!go->segments)
		return ux_error_nomem(err);
	for (size_t i = 0; i < all.size; i++) {
		const struct ux_object_range *r = &all.data[i];
		go->segments[i] =
			(struct ux_gosym_segment){r->pc, r->bytes, r->executable, r->writable};
	}
	ux_go_memory_sort(go, all.size);
	return UX_OK;
}

static int go_word_compare(const void *a, const void *b)
{
	const struct ux_gosym_word *x = a, *y = b;
	UX_ORDER(x->pc, y->pc);
	UX_ORDER(x->value, y->value);
	return 0;
}

static enum ux_code go_image_words(const struct ux_object *object, struct ux_go_memory *go,
				   struct ux_error *err)
{
	ux_cleanup(ux_object_words_deinit) struct ux_object_words all = {0};
	bool sorted = true;
	if (!object->format->words)
		return UX_OK;
	UX_TRY(object->format->words(object, &all, err));
	if (all.size == 0)
		return UX_OK;
	go->words = calloc(all.size, sizeof(*go->words));
	if (!go->words)
		return ux_error_nomem(err);
	for (size_t i = 0; i < all.size; i++) {
		sorted = sorted && (i == 0 || go->words[i - 1].pc < all.data[i].pc);
		go->words[i] = (struct ux_gosym_word){all.data[i].pc, all.data[i].value};
	}
	if (!sorted)
		ux_sort_by_start(go->words, all.size, sizeof(*go->words), go_word_compare);
	go->image.words = go->words;
	go->image.n_words = all.size;
	return UX_OK;
}

/* Returns the pc of the first of the sections that exists and has content, and sets its size. */
static uint64_t go_section_pc(const struct ux_object *object, const char *const *names, size_t n,
			      uint64_t *ret_size)
{
	for (size_t i = 0; i < n; i++) {
		struct ux_section s;
		if (!ux_object_section_find(object, names[i], &s) || !s.stored || s.pc == 0)
			continue;
		*ret_size = s.size;
		return s.pc;
	}
	return 0;
}

static const char *const go_table_names[] = {".gopclntab", ".data.rel.ro.gopclntab"};

bool ux_go_image_has_table(const struct ux_object *object)
{
	uint64_t size = 0;
	return go_section_pc(object, go_table_names, ux_countof(go_table_names), &size) != 0 &&
	       size > 0;
}

static void go_image_sections(const struct ux_object *object, struct ux_gosym_hints *hints)
{
	static const char *const module[] = {".go.module"};
	static const char *const version[] = {".go.buildinfo"};
	uint64_t ignored = 0;
	hints->table = go_section_pc(object, go_table_names, ux_countof(go_table_names),
				     &hints->table_size);
	hints->module = go_section_pc(object, module, ux_countof(module), &ignored);
	hints->version = go_section_pc(object, version, ux_countof(version), &ignored);
}

struct go_symbols {
	uint64_t table;
	uint64_t module;
	uint64_t text;
};

static bool go_symbol(void *ctx, const struct ux_object_symbol *s)
{
	struct go_symbols *found = ctx;
	if (s->name[0] != 'r' || strncmp(s->name, "runtime.", 8) != 0)
		return true;
	const char *name = s->name + 8;
	if (strcmp(name, "pclntab") == 0)
		found->table = s->pc;
	else if (strcmp(name, "firstmoduledata") == 0)
		found->module = s->pc;
	else if (strcmp(name, "text") == 0)
		found->text = s->pc;
	return true;
}

/* Adds hints from symbols. Sections take precedence, so symbols only fill their gaps. */
static void go_image_symbols(const struct ux_object *object, struct ux_gosym_hints *hints)
{
	struct go_symbols found = {0};
	if (object->format->symbols(object, UX_OBJECT_SYMTAB, go_symbol, &found, NULL) != UX_OK)
		return;
	hints->text = found.text;
	if (hints->table == 0)
		hints->table = found.table;
	if (hints->module == 0)
		hints->module = found.module;
}

/*
 * Returns true when the file may have Go's tables. Go's linker uses section names that no other
 * linker uses. Sections that another linker merged are searched only when something else in the
 * file comes from Go. A file without section headers always may have them.
 */
static bool go_is_likely(const struct ux_object *object, const struct ux_gosym_hints *hints)
{
	struct ux_section s;
	return object->no_sections || hints->table != 0 || hints->module != 0 ||
	       hints->version != 0 || ux_object_section_find(object, ".note.go.buildid", &s) ||
	       ux_object_section_find(object, ".go.buildinfo", &s);
}

enum ux_code ux_go_image_open(const struct ux_object *object, struct ux_go_memory *ret,
			      struct ux_error *err)
{
	ux_cleanup(ux_go_memory_close) struct ux_go_memory go = {.image.swap = object->swap};
	*ret = (struct ux_go_memory){0};
	if (!object->linked)
		return UX_OK;
	go_image_sections(object, &go.hints);
	go_image_symbols(object, &go.hints);
	if (!go_is_likely(object, &go.hints))
		return UX_OK;
	UX_TRY(go_image_segments(object, &go, err));
	UX_TRY(go_image_words(object, &go, err));
	*ret = go;
	go = (struct ux_go_memory){0};
	return UX_OK;
}
