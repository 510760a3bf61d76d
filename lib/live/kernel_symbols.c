/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel's symbols and build IDs, from where it tells them. */
#include "kernel_symbols.h"

#include "proc_files.h"

#include <fcntl.h>
#include <limits.h>

enum {
	LABELS_BUDGET = 16 << 20,
	NOTES_MOST = 1 << 20,
	MODULES_MOST = 16 << 20,
	RELEASE_MOST = 4096,
};

struct ux_kernel_symbols_now *ux_kernel_symbols_hold(struct ux_kernel_symbols_now *k)
{
	atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
	return k;
}

void ux_kernel_symbols_drop(struct ux_kernel_symbols_now *k)
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

/* All of a file below root. */
static enum ux_code read_below(const char *root, const char *name, size_t most, struct ux_read *ret,
			       struct ux_error *err)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s%s", root, name) >= PATH_MAX)
		return ux_error_set(err, UX_EINVAL, "path of %.100s is too long", name);
	return ux_proc_read(AT_FDCWD, path, most, ret, err);
}

static void read_build_id(const char *root, const char *name, char *ret)
{
	ux_cleanup(ux_read_deinit) struct ux_read notes = {0};
	struct ux_id id = {0};
	if (read_below(root, name, NOTES_MOST, &notes, NULL) != UX_OK)
		return;
	struct ux_bytes bytes = ux_kernel_build_id(notes.bytes);
	if (bytes.size > 0 && ux_id_make(UX_ID_GNU, bytes, &id, NULL) == UX_OK)
		ux_id_format(&id, ret);
}

static void read_release(struct ux_kernel_symbols_now *k, const char *root)
{
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	if (read_below(root, "/proc/sys/kernel/osrelease", RELEASE_MOST, &text, NULL) != UX_OK)
		return;
	struct ux_bytes s = text.bytes;
	while (s.size > 0 && s.data[s.size - 1] == '\n')
		s.size--;
	if (s.size < sizeof(k->release) && !memchr(s.data, '/', s.size) &&
	    !memchr(s.data, 0, s.size))
		memcpy(k->release, s.data, s.size);
}

/* One read of it all. */
struct reading {
	struct ux_kernel_symbols_now *to;
	const char *root;
	struct ux_kernel_modules modules;
};

static uint64_t start_of(const struct ux_kernel_modules *m, const char *name)
{
	for (size_t i = 0; i < m->list.size; i++)
		if (strcmp(m->list.data[i].name, name) == 0)
			return m->list.data[i].start;
	return 0;
}

static bool add_part(const struct reading *r, const char *name)
{
	struct ux_kernel_symbols_now *k = r->to;
	struct ux_kernel_part part = {.name = *name ? NULL : "",
				      .is_file = strcmp(name, "bpf") != 0 &&
						 strncmp(name, "__builtin__", 11) != 0,
				      .start = start_of(&r->modules, name)};
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
	if (!strchr(name, '/')) /* else it is none of ours */
		read_build_id(r->root, text, part.build_id);
	return ux_kernel_parts_append(&k->parts, part);
}

static int by_name(const void *a, const void *b)
{
	const struct ux_kernel_part *x = a, *y = b;
	return strcmp(x->name, y->name);
}

/* A part for each name that symbols tell. */
static bool add_parts(const struct reading *r)
{
	struct ux_kernel_symbols_now *k = r->to;
	const struct ux_kernel_symbols *all = &k->symbols.symbols;
	if (!add_part(r, ""))
		return false;
	for (size_t i = 0; i < all->size; i++) {
		const char *name = all->data[i].module;
		if (!*name || (i > 0 && strcmp(all->data[i - 1].module, name) == 0))
			continue;
		qsort(k->parts.data, k->parts.size, sizeof(*k->parts.data), by_name);
		if (!*ux_kernel_part_find(k, name)->name && !add_part(r, name))
			return false;
	}
	qsort(k->parts.data, k->parts.size, sizeof(*k->parts.data), by_name);
	k->code = calloc(k->parts.size, sizeof(*k->code));
	return k->code != NULL;
}

static enum ux_code read_symbols(struct reading *r, struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read list = {0};
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	/* A kernel without modules has no list of them; ends are a little less exact then. */
	if (read_below(r->root, "/proc/modules", MODULES_MOST, &list, NULL) == UX_OK)
		UX_TRY(ux_kernel_modules_parse(list.bytes, &r->modules, err));
	UX_TRY(read_below(r->root, "/proc/kallsyms", UX_KALLSYMS_MOST, &text, err));
	return ux_kallsyms_parse(text.bytes, &r->modules, &r->to->symbols, err);
}

struct ux_kernel_symbols_now *ux_kernel_symbols_read(const char *root, uint64_t now_ns)
{
	struct ux_kernel_symbols_now *k = calloc(1, sizeof(*k));
	struct reading r = {.to = k, .root = root};
	if (!k)
		return NULL;
	atomic_init(&k->refs, 1);
	k->read_ns = now_ns;
	ux_arena_init(&k->arena, LABELS_BUDGET);
	read_release(k, root);
	enum ux_code code = read_symbols(&r, &k->why);
	bool whole = code != UX_ENOMEM && add_parts(&r);
	ux_kernel_modules_deinit(&r.modules);
	if (!whole) {
		ux_kernel_symbols_drop(k);
		return NULL;
	}
	return k;
}

const struct ux_kernel_part *ux_kernel_part_find(const struct ux_kernel_symbols_now *k,
						 const char *name)
{
	size_t low = 0, high = k->parts.size;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(k->parts.data[mid].name, name);
		if (order == 0)
			return &k->parts.data[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return &k->parts.data[0];
}
