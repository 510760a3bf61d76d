/* SPDX-License-Identifier: Apache-2.0 */
/* Code of loaded BPF programs: names, files and lines by address, from what bpf(2) tells of each.
 */
#include "bpf_code.h"

#include "btf.h"
#include "cursor.h"
#include "text.h"
#include "order.h"

enum {
	STRINGS_BUDGET = 64 << 20,
	TAG = 8,
	NAME_MOST = 512, /* bytes; the kernel's names of symbols are shorter */
	FUNCTION_LEAST = 8,
	LINE_LEAST = 16,
	JITED_LINE_LEAST = 8,
	LINE_SHIFT = 10, /* below it the column */
	FILES = 64,      /* that are remembered */
};

/* The texts of a file's name, by where it is in the BTF. */
struct file {
	uint32_t off;
	const char *dir; /* NULL: none is remembered here */
	const char *base;
};

/* A program that is added. */
struct adding {
	struct ux_bpf_code *to;
	const struct ux_bpf_info *info;
	struct ux_btf btf;
	struct file files[FILES];
};

void ux_bpf_code_init(struct ux_bpf_code *c)
{
	*c = (struct ux_bpf_code){0};
	ux_arena_init(&c->arena, STRINGS_BUDGET);
}

void ux_bpf_code_deinit(struct ux_bpf_code *c)
{
	ux_arena_deinit(&c->arena);
	ux_bpf_functions_deinit(&c->functions);
	ux_bpf_lines_deinit(&c->lines);
	*c = (struct ux_bpf_code){0};
}

/* Record i of an array; failed when it is not there. */
static struct ux_cur record(struct ux_bytes all, size_t i, size_t size, const char *what)
{
	struct ux_bytes one = UX_BYTES_NONE;
	if (size == 0 || i >= all.size / size || !ux_bytes_sub(all, (uint64_t)i * size, size, &one))
		one = UX_BYTES_NONE;
	return ux_cur_make(one, what, /* swap= */ false);
}

static struct ux_bytes until_nul(struct ux_bytes s)
{
	const uint8_t *nul = s.size > 0 ? memchr(s.data, 0, s.size) : NULL;
	return nul ? ux_bytes(s.data, (size_t)(nul - s.data)) : s;
}

/* bpf_prog_TAG, and _NAME by the function's type, or as the program was named. NULL: no memory. */
static const char *name_of(const struct adding *a, size_t i)
{
	const struct ux_bpf_info *info = a->info;
	char text[sizeof("bpf_prog_") + 2 * TAG + 1 + NAME_MOST], hex[2 * TAG + 1] = "";
	struct ux_bytes tag = info->tag, name = UX_BYTES_NONE;
	(void)ux_bytes_sub(info->tags, (uint64_t)i * TAG, TAG, &tag);
	if (tag.size == TAG)
		ux_hex_encode(tag, hex);
	struct ux_cur c = record(info->functions, i, info->function_size, "func_info");
	ux_cur_skip(&c, 4);
	uint32_t type = ux_cur_u32(&c);
	if (!c.failed)
		name = ux_bytes_cstr(ux_btf_function(&a->btf, type));
	if (name.size == 0)
		name = until_nul(info->name);
	int n = snprintf(text, sizeof(text), "bpf_prog_%s%s%.*s", hex, name.size > 0 ? "_" : "",
			 (int)ux_min(name.size, (size_t)NAME_MOST),
			 name.size > 0 ? (const char *)name.data : "");
	return ux_arena_strndup(&a->to->arena, text, (size_t)n);
}

static enum ux_code add_functions(struct adding *a, struct ux_error *err)
{
	const struct ux_bpf_info *info = a->info;
	struct ux_cur starts = ux_cur_make(info->starts, "jited_ksyms", /* swap= */ false);
	struct ux_cur sizes = ux_cur_make(info->sizes, "jited_func_lens", /* swap= */ false);
	for (size_t i = 0; ux_cur_more(&starts) && ux_cur_more(&sizes); i++) {
		struct ux_bpf_function f = {.start = ux_cur_u64(&starts)};
		uint32_t size = ux_cur_u32(&sizes);
		UX_TRY(ux_cur_status(&starts, err));
		UX_TRY(ux_cur_status(&sizes, err));
		/* One that is not compiled has no size, one that is hidden no start. */
		if (f.start == 0 || size == 0 || f.start > UINT64_MAX - size)
			continue;
		f.end = f.start + size;
		f.name = name_of(a, i);
		if (!f.name)
			return ux_arena_fail(&a->to->arena, err);
		if (!ux_bpf_functions_append(&a->to->functions, f))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* The folder and the name of a file; false: no room. */
static bool file_at(struct adding *a, uint32_t off, struct file *ret)
{
	struct file *f = &a->files[off % FILES];
	if (!f->dir || f->off != off) {
		struct ux_bytes path = ux_bytes_cstr(ux_btf_string(&a->btf, off));
		const uint8_t *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
		size_t n = slash ? (size_t)(slash - path.data) : 0;
		size_t name = slash ? n + 1 : 0;
		f->off = off;
		/* "/x.c" is in "/" */
		f->base = ux_arena_strndup(&a->to->arena, path.data + name, path.size - name);
		f->dir = f->base ? ux_arena_strndup(&a->to->arena, path.data,
						    slash && n == 0 ? 1 : n)
				 : NULL;
	}
	*ret = *f;
	return f->dir != NULL;
}

static enum ux_code add_lines(struct adding *a, struct ux_error *err)
{
	const struct ux_bpf_info *info = a->info;
	if (info->line_size < LINE_LEAST || info->jited_line_size < JITED_LINE_LEAST)
		return UX_OK;
	size_t n = ux_min(info->lines.size / info->line_size,
			  info->jited_lines.size / info->jited_line_size);
	for (size_t i = 0; i < n; i++) {
		struct ux_cur at =
			record(info->jited_lines, i, info->jited_line_size, "jited_line_info");
		struct ux_cur c = record(info->lines, i, info->line_size, "line_info");
		struct ux_bpf_line line = {.start = ux_cur_u64(&at)};
		struct file file;
		ux_cur_skip(&c, 4);
		uint32_t off = ux_cur_u32(&c);
		ux_cur_skip(&c, 4);
		line.line = ux_cur_u32(&c) >> LINE_SHIFT;
		UX_TRY(ux_cur_status(&at, err));
		UX_TRY(ux_cur_status(&c, err));
		if (line.start == 0)
			continue;
		if (!file_at(a, off, &file))
			return ux_arena_fail(&a->to->arena, err);
		line.dir = file.dir;
		line.base = file.base;
		line.order = (uint32_t)i;
		if (!ux_bpf_lines_append(&a->to->lines, line))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

enum ux_code ux_bpf_code_add(struct ux_bpf_code *c, const struct ux_bpf_info *info,
			     struct ux_error *err)
{
	struct adding a = {.to = c, .info = info};
	enum ux_code code = UX_OK;
	if (info->btf.size > 0)
		code = ux_btf_open(&a.btf, info->btf, err);
	/* Without its BTF it has a name still. */
	enum ux_code named = code == UX_ENOMEM ? code : add_functions(&a, err);
	if (code == UX_OK)
		code = named;
	if (code == UX_OK && info->btf.size > 0)
		code = add_lines(&a, err);
	ux_btf_close(&a.btf);
	return code;
}

static int functions_by_start(const void *a, const void *b)
{
	const struct ux_bpf_function *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	UX_ORDER(x->end, y->end);
	return strcmp(x->name, y->name);
}

static int lines_by_start(const void *a, const void *b)
{
	const struct ux_bpf_line *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	return (x->order > y->order) - (x->order < y->order);
}

void ux_bpf_code_sort(struct ux_bpf_code *c)
{
	if (c->functions.size > 1)
		qsort(c->functions.data, c->functions.size, sizeof(*c->functions.data),
		      functions_by_start);
	if (c->lines.size > 1)
		qsort(c->lines.data, c->lines.size, sizeof(*c->lines.data), lines_by_start);
}

const struct ux_bpf_function *ux_bpf_code_find(const struct ux_bpf_code *c, uint64_t addr)
{
	size_t low = 0, high = c->functions.size;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (c->functions.data[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	const struct ux_bpf_function *f = low > 0 ? &c->functions.data[low - 1] : NULL;
	return f && addr < f->end ? f : NULL;
}

const struct ux_bpf_line *ux_bpf_code_line(const struct ux_bpf_code *c,
					   const struct ux_bpf_function *f, uint64_t addr)
{
	size_t low = 0, high = c->lines.size;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (c->lines.data[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	const struct ux_bpf_line *line = low > 0 ? &c->lines.data[low - 1] : NULL;
	return line && line->start >= f->start ? line : NULL;
}
