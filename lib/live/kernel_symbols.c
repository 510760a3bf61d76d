/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel: its symbols, its modules, and the addresses at which their code is loaded. */
#include "kernel_symbols.h"

#include "order.h"
#include "partition.h"
#include "proc_files.h"
#include "text.h"

#include <fcntl.h>
#include <limits.h>

enum {
	ADDRESS_MAX = 64, /* bytes of a file that contains an address */
};

void ux_kernel_code_free(struct ux_kernel_code *c)
{
	if (!c)
		return;
	ux_file_symbols_drop(c->symbols);
	free(c->spans);
	free(c);
}

/* Computes how far KASLR has moved the kernel, which moves as a whole. This is the distance between
 * the address of _text (or _stext) in kallsyms and its pc in the file. A file without these symbols
 * is assumed to begin with _text. */
static void kernel_code_locate_kernel(struct ux_kernel_code *c, const struct ux_kallsyms *k)
{
	const struct ux_file_symbols *s = c->symbols;
	struct ux_kernel_span *span = &c->spans[0];
	if (k->text && s->text)
		*span = (struct ux_kernel_span){k->text, 0, s->text};
	else if (k->stext && s->stext)
		*span = (struct ux_kernel_span){k->stext, 0, s->stext};
	else if (k->text && s->n_loads > 0)
		*span = (struct ux_kernel_span){k->text, 0, s->loads[0].pc};
	if (span->start == 0) {
		ux_error_set(&c->lost, UX_ENOTFOUND, "the load address of the kernel is unknown");
		return;
	}
	span->size = UINT64_MAX - ux_max(span->start, span->pc);
	c->n_spans = 1;
}

/* Reads the address of a section from /sys/module/NAME/sections; 0: unknown or hidden. */
static uint64_t module_section_start(const struct ux_kernel_loaded *loaded, const char *section)
{
	char path[PATH_MAX];
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	uint64_t start = 0;
	if (strchr(section, '/') || strchr(loaded->module, '/') ||
	    snprintf(path, sizeof(path), "%s/sys/module/%s/sections/%s", loaded->root,
		     loaded->module, section) >= PATH_MAX ||
	    ux_proc_read(AT_FDCWD, path, ADDRESS_MAX, &text, NULL) != UX_OK)
		return 0;
	struct ux_bytes s = text.bytes;
	while (s.size > 0 && s.data[s.size - 1] == '\n')
		s.size--;
	return ux_hex_parse_u64(s, /* hex= */ true, &start) ? start : 0;
}

static void kernel_code_add_span(struct ux_kernel_code *c, uint64_t start,
				 const struct ux_code_section *section)
{
	if (start != 0 && section->size > 0 && start <= UINT64_MAX - section->size)
		c->spans[c->n_spans++] = (struct ux_kernel_span){start, section->size, section->pc};
}

static int kernel_spans_by_start(const void *a, const void *b)
{
	const struct ux_kernel_span *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static void kernel_code_locate_module(struct ux_kernel_code *c,
				      const struct ux_kernel_loaded *loaded)
{
	const struct ux_file_symbols *s = c->symbols;
	for (size_t i = 0; i < s->n_sections; i++)
		kernel_code_add_span(c, module_section_start(loaded, s->sections[i].name),
				     &s->sections[i]);
	if (c->n_spans == 0 && loaded->start != 0 && ux_file_symbols_begins_with_text(s)) {
		c->guessed = true;
		for (size_t i = 0; i < s->n_sections; i++)
			if (strncmp(s->sections[i].name, ".init", 5) != 0)
				kernel_code_add_span(c, loaded->start + s->sections[i].pc,
						     &s->sections[i]);
	}
	if (c->n_spans == 0)
		ux_error_set(&c->lost, UX_EDENIED,
			     "/sys/module/%.60s/sections does not have the addresses of its code",
			     loaded->module);
	if (c->n_spans > 1)
		qsort(c->spans, c->n_spans, sizeof(*c->spans), kernel_spans_by_start);
}

enum ux_code ux_kernel_code_create(struct ux_file_symbols *symbols,
				   const struct ux_kernel_loaded *loaded,
				   struct ux_kernel_code **ret, struct ux_error *err)
{
	struct ux_kernel_code *c = calloc(1, sizeof(*c));
	if (c)
		c->spans = calloc(1 + (symbols ? symbols->n_sections : 0), sizeof(*c->spans));
	if (!c || !c->spans) {
		free(c);
		ux_file_symbols_drop(symbols);
		return ux_error_nomem(err);
	}
	c->symbols = symbols;
	if (symbols && ux_file_symbols_is_empty(symbols))
		c->lost = symbols->why;
	else if (symbols && *loaded->module)
		kernel_code_locate_module(c, loaded);
	else if (symbols)
		kernel_code_locate_kernel(c, loaded->kallsyms);
	*ret = c;
	return UX_OK;
}

bool ux_kernel_code_pc(const struct ux_kernel_code *c, uint64_t addr, uint64_t *ret)
{
	size_t low = ux_partition_point(i, 0, c->n_spans, c->spans[i].start <= addr);
	const struct ux_kernel_span *span = low > 0 ? &c->spans[low - 1] : NULL;
	if (!span || addr - span->start >= span->size)
		return false;
	*ret = span->pc + (addr - span->start);
	return true;
}

enum {
	LABELS_BUDGET = 16 << 20,
	NOTES_MAX = 1 << 20,
	MODULES_MAX = 16 << 20,
	RELEASE_MAX = 4096,
};

struct ux_kernel *ux_kernel_hold(struct ux_kernel *k)
{
	atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
	return k;
}

void ux_kernel_drop(struct ux_kernel *k)
{
	if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1)
		return;
	ux_kallsyms_deinit(&k->symbols);
	for (size_t i = 0; k->code && i < k->parts.size; i++)
		ux_kernel_code_free(atomic_load_explicit(&k->code[i], memory_order_relaxed));
	free((void *)k->code);
	ux_bpf_programs_free(atomic_load_explicit(&k->bpf, memory_order_relaxed));
	ux_kernel_parts_deinit(&k->parts);
	ux_arena_deinit(&k->arena);
	free(k);
}

/* Reads a whole file below root. */
static enum ux_code kernel_read_file(const char *root, const char *name, size_t max,
				     struct ux_read *ret, struct ux_error *err)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s%s", root, name) >= PATH_MAX)
		return ux_error_set(err, UX_EINVAL, "path of %.100s is too long", name);
	return ux_proc_read(AT_FDCWD, path, max, ret, err);
}

static void kernel_read_build_id(const char *root, const char *name, char *ret)
{
	ux_cleanup(ux_read_deinit) struct ux_read notes = {0};
	struct ux_id id = {0};
	if (kernel_read_file(root, name, NOTES_MAX, &notes, NULL) != UX_OK)
		return;
	struct ux_bytes bytes = ux_kernel_build_id(notes.bytes);
	if (bytes.size > 0 && ux_id_make(UX_ID_GNU, bytes, &id, NULL) == UX_OK)
		ux_id_format(&id, ret);
}

static void kernel_read_release(struct ux_kernel *k, const char *root)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	if (kernel_read_file(root, "/proc/sys/kernel/osrelease", RELEASE_MAX, &text, NULL) != UX_OK)
		return;
	struct ux_bytes s = text.bytes;
	while (s.size > 0 && s.data[s.size - 1] == '\n')
		s.size--;
	if (s.size < sizeof(k->release) && !memchr(s.data, '/', s.size) &&
	    !memchr(s.data, 0, s.size))
		memcpy(k->release, s.data, s.size);
}

/* The state of ux_kernel_read(). */
struct kernel_reader {
	struct ux_kernel *to;
	const char *root;
	struct ux_kernel_modules modules;
};

static uint64_t kernel_module_start(const struct ux_kernel_modules *m, const char *name)
{
	for (size_t i = 0; i < m->list.size; i++)
		if (strcmp(m->list.data[i].name, name) == 0)
			return m->list.data[i].start;
	return 0;
}

static bool kernel_add_part(const struct kernel_reader *r, const char *name)
{
	struct ux_kernel *k = r->to;
	struct ux_kernel_part part = {.name = *name ? NULL : "",
				      .is_file = strcmp(name, "bpf") != 0 &&
						 strncmp(name, "__builtin__", 11) != 0,
				      .start = kernel_module_start(&r->modules, name)};
	char text[1200];
	snprintf(text, sizeof(text), "[%.1100s]", *name ? name : "kernel");
	part.label = ux_arena_strndup(&k->arena, text, strlen(text));
	if (*name)
		part.name = ux_arena_strndup(&k->arena, name, strlen(name));
	if (!part.label || !part.name)
		return false;
	snprintf(text, sizeof(text),
		 *name ? "/sys/module/%.1000s/notes/.note.gnu.build-id" : "/sys/kernel/notes%s",
		 name);
	if (!strchr(name, '/')) /* a name with '/' would be another path */
		kernel_read_build_id(r->root, text, part.build_id);
	return ux_kernel_parts_append(&k->parts, part);
}

static int kernel_parts_by_name(const void *a, const void *b)
{
	const struct ux_kernel_part *x = a, *y = b;
	return strcmp(x->name, y->name);
}

/* Adds a part for each module name in kallsyms. */
static bool kernel_add_parts(const struct kernel_reader *r)
{
	struct ux_kernel *k = r->to;
	const struct ux_kernel_symbols *all = &k->symbols.symbols;
	if (!kernel_add_part(r, ""))
		return false;
	for (size_t i = 0; i < all->size; i++) {
		const char *name = all->data[i].module;
		if (!*name || (i > 0 && strcmp(all->data[i - 1].module, name) == 0))
			continue;
		qsort(k->parts.data, k->parts.size, sizeof(*k->parts.data), kernel_parts_by_name);
		if (!*ux_kernel_part_find(k, name)->name && !kernel_add_part(r, name))
			return false;
	}
	qsort(k->parts.data, k->parts.size, sizeof(*k->parts.data), kernel_parts_by_name);
	k->code = calloc(k->parts.size, sizeof(*k->code));
	return k->code != NULL;
}

static enum ux_code kernel_read_symbols(struct kernel_reader *r, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read list = {0};
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	/* A kernel without module support has no such list. The ends of symbols are then less
	 * exact. */
	if (kernel_read_file(r->root, "/proc/modules", MODULES_MAX, &list, NULL) == UX_OK)
		UX_TRY(ux_kernel_modules_parse(list.bytes, &r->modules, err));
	UX_TRY(kernel_read_file(r->root, "/proc/kallsyms", UX_KALLSYMS_MAX, &text, err));
	return ux_kallsyms_parse(text.bytes, &r->modules, &r->to->symbols, err);
}

struct ux_kernel *ux_kernel_read(const char *root, uint64_t now_ns)
{
	struct ux_kernel *k = calloc(1, sizeof(*k));
	struct kernel_reader r = {.to = k, .root = root};
	if (!k)
		return NULL;
	atomic_init(&k->refs, 1);
	k->read_ns = now_ns;
	ux_arena_init(&k->arena, LABELS_BUDGET);
	kernel_read_release(k, root);
	enum ux_code code = kernel_read_symbols(&r, &k->why);
	bool whole = code != UX_ENOMEM && kernel_add_parts(&r);
	ux_kernel_modules_deinit(&r.modules);
	if (!whole) {
		ux_kernel_drop(k);
		return NULL;
	}
	return k;
}

const struct ux_kernel_part *ux_kernel_part_find(const struct ux_kernel *k, const char *name)
{
	const struct ux_kernel_part *parts = k->parts.data;
	size_t at = ux_partition_point(i, 0, k->parts.size, strcmp(parts[i].name, name) < 0);
	return at < k->parts.size && strcmp(parts[at].name, name) == 0 ? &parts[at] : &parts[0];
}
