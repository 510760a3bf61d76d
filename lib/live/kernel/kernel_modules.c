/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a kernel: the loaded ones, and the files that depmod lists. */
#include "kernel.h"

#include "elf_ids.h"
#include "order.h"
#include "partition.h"
#include "text.h"

enum {
	NAMES_BUDGET = 16 << 20,
	MODULES_MAX = 1 << 16,
	NAME_BYTES_MAX = 256,
	WORDS = 6, /* words of a line up to the address */
};

void ux_kernel_modules_deinit(struct ux_kernel_modules *m)
{
	ux_arena_deinit(&m->arena);
	ux_kernel_module_list_deinit(&m->list);
	*m = (struct ux_kernel_modules){0};
}

/* Splits a line at blanks into at most n words. Returns their number. */
static size_t kernel_modules_split(struct ux_bytes line, struct ux_bytes *words, size_t n)
{
	size_t found = 0;
	for (size_t i = 0; i < line.size && found < n;) {
		size_t from = i;
		while (i < line.size && line.data[i] != ' ')
			i++;
		if (i > from)
			words[found++] = ux_bytes(line.data + from, i - from);
		i++;
	}
	return found;
}

static enum ux_code kernel_modules_add_line(struct ux_kernel_modules *m, struct ux_bytes line,
					    struct ux_error *err)
{
	struct ux_bytes words[WORDS];
	struct ux_kernel_module module = {0};
	if (kernel_modules_split(line, words, WORDS) < WORDS || words[0].size > NAME_BYTES_MAX ||
	    memchr(words[0].data, 0, words[0].size) ||
	    !ux_hex_parse_u64(words[1], /* hex= */ false, &module.size) ||
	    !ux_hex_parse_u64(words[5], /* hex= */ false, &module.start) ||
	    module.start > UINT64_MAX - module.size) {
		m->skipped++;
		return UX_OK;
	}
	if (m->list.size == MODULES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d modules", MODULES_MAX);
	module.name = ux_arena_strndup(&m->arena, words[0].data, words[0].size);
	if (!module.name)
		return ux_arena_fail(&m->arena, err);
	return ux_kernel_module_list_append(&m->list, module) ? UX_OK : ux_error_nomem(err);
}

static int kernel_modules_by_start(const void *a, const void *b)
{
	const struct ux_kernel_module *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	return strcmp(x->name, y->name);
}

enum ux_code ux_kernel_modules_parse(struct ux_bytes list, struct ux_kernel_modules *ret,
				     struct ux_error *err)
{
	ux_cleanup(ux_kernel_modules_deinit) struct ux_kernel_modules m = {0};
	struct ux_bytes line;
	*ret = (struct ux_kernel_modules){0};
	ux_arena_init(&m.arena, NAMES_BUDGET);
	while (ux_text_take_line(&list, &line))
		if (line.size > 0)
			UX_TRY(kernel_modules_add_line(&m, line, err));
	if (m.list.size > 1)
		qsort(m.list.data, m.list.size, sizeof(*m.list.data), kernel_modules_by_start);
	*ret = m;
	m = (struct ux_kernel_modules){0};
	return UX_OK;
}

const struct ux_kernel_module *ux_kernel_modules_find(const struct ux_kernel_modules *m,
						      uint64_t addr)
{
	size_t low = ux_partition_point(i, 0, m->list.size, m->list.data[i].start <= addr);
	const struct ux_kernel_module *module = low > 0 ? &m->list.data[low - 1] : NULL;
	return module && addr - module->start < module->size ? module : NULL;
}

struct ux_bytes ux_kernel_build_id(struct ux_bytes notes)
{
	struct ux_elf_notes it;
	const struct ux_elf_note *note;
	ux_elf_notes_init(&it, notes, 4, /* swap= */ false, NULL);
	while ((note = ux_elf_notes_next(&it)) != NULL)
		if (note->type == NT_GNU_BUILD_ID && ux_bytes_eq(note->owner, UX_STR("GNU")))
			return note->desc;
	return UX_BYTES_NONE;
}

struct ux_bytes ux_module_path_plain(struct ux_bytes path)
{
	const struct ux_bytes dot_ko = UX_STR(".ko");
	for (size_t n = path.size; n >= dot_ko.size; n--) {
		if (path.data[n - 1] == '/')
			break;
		bool ends = n == path.size || path.data[n] == '.';
		if (ends && memcmp(path.data + n - dot_ko.size, dot_ko.data, dot_ko.size) == 0)
			return ux_bytes(path.data, n);
	}
	return UX_BYTES_NONE;
}

bool ux_module_path_is(struct ux_bytes path, const char *module)
{
	struct ux_bytes name = ux_bytes_cstr(module);
	struct ux_bytes plain = ux_module_path_plain(path);
	size_t suffix = sizeof(".ko") - 1;
	if (plain.size < name.size + suffix)
		return false;
	const uint8_t *at = plain.data + plain.size - suffix - name.size;
	if (at > path.data && at[-1] != '/')
		return false;
	for (size_t i = 0; i < name.size; i++)
		if ((at[i] == '-' ? '_' : at[i]) != name.data[i])
			return false;
	return true;
}

struct ux_bytes ux_modules_dep_find(struct ux_bytes list, const char *name)
{
	struct ux_bytes line;
	while (*name && ux_text_take_line(&list, &line)) {
		const uint8_t *colon = memchr(line.data, ':', line.size);
		struct ux_bytes path =
			colon ? ux_bytes(line.data, (size_t)(colon - line.data)) : UX_BYTES_NONE;
		if (path.size > 0 && !memchr(path.data, 0, path.size) &&
		    ux_module_path_is(path, name))
			return path;
	}
	return UX_BYTES_NONE;
}
