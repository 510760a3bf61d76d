/* SPDX-License-Identifier: Apache-2.0 */
/* Code of loaded BPF programs: names, files and lines by address. They are read from BTF. */
#include "kernel.h"

#include "cursor.h"
#include "order.h"
#include "partition.h"
#include "text.h"

enum {
	BTF_MAGIC = 0xeb9f,
	BTF_VERSION = 1,
	BTF_HEADER_MIN = 24,
	KIND_SHIFT = 24,
	KIND_MASK = 31,
	COUNT_MASK = 0xffff,
};

/* include/uapi/linux/btf.h */
enum kind {
	BTF_KIND_INT = 1,
	BTF_KIND_PTR = 2,
	BTF_KIND_ARRAY = 3,
	BTF_KIND_STRUCT = 4,
	BTF_KIND_UNION = 5,
	BTF_KIND_ENUM = 6,
	BTF_KIND_FWD = 7,
	BTF_KIND_TYPEDEF = 8,
	BTF_KIND_VOLATILE = 9,
	BTF_KIND_CONST = 10,
	BTF_KIND_RESTRICT = 11,
	BTF_KIND_FUNC = 12,
	BTF_KIND_FUNC_PROTO = 13,
	BTF_KIND_VAR = 14,
	BTF_KIND_DATASEC = 15,
	BTF_KIND_FLOAT = 16,
	BTF_KIND_DECL_TAG = 17,
	BTF_KIND_TYPE_TAG = 18,
	BTF_KIND_ENUM64 = 19,
};

/* Sets *ret to the size of the data after the twelve bytes of a type. Returns false for an
 * unknown kind. */
static bool btf_type_extra_size(uint32_t info, uint64_t *ret)
{
	uint64_t n = info & COUNT_MASK;
	*ret = 0;
	switch (info >> KIND_SHIFT & KIND_MASK) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		*ret = 4;
		return true;
	case BTF_KIND_ARRAY:
		*ret = 12;
		return true;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		*ret = 12 * n;
		return true;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		*ret = 8 * n;
		return true;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return true;
	default:
		return false;
	}
}

static enum ux_code btf_read_types(struct ux_btf *b, struct ux_bytes types, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(types, "BTF types", /* swap= */ false);
	if (!ux_btf_offsets_append(&b->names, 0)) /* type 0 is void */
		return ux_error_nomem(err);
	while (ux_cur_more(&c)) {
		uint64_t behind = 0;
		size_t left = ux_cur_left(&c);
		uint32_t name = ux_cur_u32(&c);
		uint32_t info = ux_cur_u32(&c);
		ux_cur_skip(&c, 4);
		if (!c.failed && !btf_type_extra_size(info, &behind)) {
			b->unread = left;
			return UX_OK;
		}
		ux_cur_skip(&c, behind);
		UX_TRY(ux_cur_status(&c, err));
		bool is_function = (info >> KIND_SHIFT & KIND_MASK) == BTF_KIND_FUNC;
		if (!ux_btf_offsets_append(&b->names, is_function ? name : 0))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code btf_parse(struct ux_btf *b, struct ux_bytes btf, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(btf, "BTF", /* swap= */ false);
	uint16_t magic = ux_cur_u16(&c);
	uint8_t version = ux_cur_u8(&c);
	ux_cur_skip(&c, 1);
	uint32_t header = ux_cur_u32(&c);
	uint32_t types_off = ux_cur_u32(&c), types_size = ux_cur_u32(&c);
	uint32_t strings_off = ux_cur_u32(&c), strings_size = ux_cur_u32(&c);
	struct ux_bytes types = UX_BYTES_NONE;
	UX_TRY(ux_cur_status(&c, err));
	if (magic != BTF_MAGIC || version != BTF_VERSION)
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"BTF begins with 0x%04x, version %u; expected 0x%04x, version %d", magic,
			version, BTF_MAGIC, BTF_VERSION);
	if (header < BTF_HEADER_MIN ||
	    !ux_bytes_sub(btf, (uint64_t)header + types_off, types_size, &types) ||
	    !ux_bytes_sub(btf, (uint64_t)header + strings_off, strings_size, &b->strings))
		return ux_error_set(err, UX_ECORRUPT, "types or strings exceed the BTF");
	if (strings_size > 0 && b->strings.data[strings_size - 1] != 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "the last string of the BTF is not terminated");
	return btf_read_types(b, types, err);
}

enum ux_code ux_btf_open(struct ux_btf *ret, struct ux_bytes btf, struct ux_error *err)
{
	struct ux_btf b = {0};
	enum ux_code code = btf_parse(&b, btf, err);
	if (code != UX_OK)
		ux_btf_close(&b);
	*ret = b;
	return code;
}

void ux_btf_close(struct ux_btf *b)
{
	ux_btf_offsets_deinit(&b->names);
	*b = (struct ux_btf){0};
}

const char *ux_btf_string(const struct ux_btf *b, uint32_t off)
{
	return off < b->strings.size ? (const char *)b->strings.data + off : "";
}

const char *ux_btf_function(const struct ux_btf *b, uint32_t type)
{
	return type < b->names.size && b->names.data[type] != 0
		       ? ux_btf_string(b, b->names.data[type])
		       : "";
}

enum {
	STRINGS_BUDGET = 64 << 20,
	TAG = 8,
	NAME_BYTES_MAX = 512, /* bytes; the kernel's names of symbols are shorter */
	FUNCTION_MIN = 8,
	LINE_MIN = 16,
	JITED_LINE_MIN = 8,
	LINE_SHIFT = 10, /* the lower bits are the column */
	FILES = 64,      /* cached files */
};

/* A cache entry for a file name, by its offset in the BTF. */
struct bpf_file {
	uint32_t off;
	const char *dir; /* NULL: empty */
	const char *base;
};

/* A program that is being added. */
struct bpf_program {
	struct ux_bpf_code *to;
	const struct ux_bpf_info *info;
	struct ux_btf btf;
	struct bpf_file files[FILES];
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

/* Returns a cursor over record i of an array. The cursor fails if the array has no such record. */
static struct ux_cur bpf_record(struct ux_bytes all, size_t i, size_t size, const char *what)
{
	struct ux_bytes one = UX_BYTES_NONE;
	if (size == 0 || i >= all.size / size || !ux_bytes_sub(all, (uint64_t)i * size, size, &one))
		one = UX_BYTES_NONE;
	return ux_cur_make(one, what, /* swap= */ false);
}

static struct ux_bytes bpf_text_until_nul(struct ux_bytes s)
{
	const uint8_t *nul = s.size > 0 ? memchr(s.data, 0, s.size) : NULL;
	return nul ? ux_bytes(s.data, (size_t)(nul - s.data)) : s;
}

/* Returns the name of function i as it is in kallsyms: bpf_prog_TAG_NAME. NAME is the name of the
 * function's type, or else of the program. Returns NULL when memory is short. */
static const char *bpf_function_name(const struct bpf_program *a, size_t i)
{
	const struct ux_bpf_info *info = a->info;
	char text[sizeof("bpf_prog_") + 2 * TAG + 1 + NAME_BYTES_MAX], hex[2 * TAG + 1] = "";
	struct ux_bytes tag = info->tag, name = UX_BYTES_NONE;
	/* The first function is listed with the tag of the whole program, others with their own. */
	if (i > 0)
		(void)ux_bytes_sub(info->tags, (uint64_t)i * TAG, TAG, &tag);
	if (tag.size == TAG)
		ux_hex_encode(tag, hex);
	struct ux_cur c = bpf_record(info->functions, i, info->function_size, "func_info");
	ux_cur_skip(&c, 4);
	uint32_t type = ux_cur_u32(&c);
	if (!c.failed)
		name = ux_bytes_cstr(ux_btf_function(&a->btf, type));
	if (name.size == 0)
		name = bpf_text_until_nul(info->name);
	int n = snprintf(text, sizeof(text), "bpf_prog_%s%s%.*s", hex, name.size > 0 ? "_" : "",
			 (int)ux_min(name.size, (size_t)NAME_BYTES_MAX),
			 name.size > 0 ? (const char *)name.data : "");
	return ux_arena_strndup(&a->to->arena, text, (size_t)n);
}

static enum ux_code bpf_functions_add(struct bpf_program *a, struct ux_error *err)
{
	const struct ux_bpf_info *info = a->info;
	struct ux_cur starts = ux_cur_make(info->starts, "jited_ksyms", /* swap= */ false);
	struct ux_cur sizes = ux_cur_make(info->sizes, "jited_func_lens", /* swap= */ false);
	for (size_t i = 0; ux_cur_more(&starts) && ux_cur_more(&sizes); i++) {
		struct ux_bpf_function f = {.start = ux_cur_u64(&starts)};
		uint32_t size = ux_cur_u32(&sizes);
		UX_TRY(ux_cur_status(&starts, err));
		UX_TRY(ux_cur_status(&sizes, err));
		/* The size is 0 when the function was not compiled; the start is 0 when the
		 * kernel hides it. */
		if (f.start == 0 || size == 0 || f.start > UINT64_MAX - size)
			continue;
		f.end = f.start + size;
		f.name = bpf_function_name(a, i);
		if (!f.name)
			return ux_arena_fail(&a->to->arena, err);
		if (!ux_bpf_functions_append(&a->to->functions, f))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Finds the directory and the name of a file. Returns false when memory is short. */
static bool bpf_file_find(struct bpf_program *a, uint32_t off, struct bpf_file *ret)
{
	struct bpf_file *f = &a->files[off % FILES];
	if (!f->dir || f->off != off) {
		struct ux_bytes path = ux_bytes_cstr(ux_btf_string(&a->btf, off));
		const uint8_t *slash = ux_bytes_find_last(path, '/');
		size_t n = slash ? (size_t)(slash - path.data) : 0;
		size_t name = slash ? n + 1 : 0;
		f->off = off;
		/* the directory of "/x.c" is "/" */
		f->base = ux_arena_strndup(&a->to->arena, path.data + name, path.size - name);
		f->dir = f->base ? ux_arena_strndup(&a->to->arena, path.data,
						    slash && n == 0 ? 1 : n)
				 : NULL;
	}
	*ret = *f;
	return f->dir != NULL;
}

static enum ux_code bpf_lines_add(struct bpf_program *a, struct ux_error *err)
{
	const struct ux_bpf_info *info = a->info;
	if (info->line_size < LINE_MIN || info->jited_line_size < JITED_LINE_MIN)
		return UX_OK;
	size_t n = ux_min(info->lines.size / info->line_size,
			  info->jited_lines.size / info->jited_line_size);
	for (size_t i = 0; i < n; i++) {
		struct ux_cur at =
			bpf_record(info->jited_lines, i, info->jited_line_size, "jited_line_info");
		struct ux_cur c = bpf_record(info->lines, i, info->line_size, "line_info");
		struct ux_bpf_line line = {.start = ux_cur_u64(&at)};
		struct bpf_file file;
		ux_cur_skip(&c, 4);
		uint32_t off = ux_cur_u32(&c);
		ux_cur_skip(&c, 4);
		line.line = ux_cur_u32(&c) >> LINE_SHIFT;
		UX_TRY(ux_cur_status(&at, err));
		UX_TRY(ux_cur_status(&c, err));
		if (line.start == 0)
			continue;
		if (!bpf_file_find(a, off, &file))
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
	struct bpf_program a = {.to = c, .info = info};
	enum ux_code code = UX_OK;
	if (info->btf.size > 0)
		code = ux_btf_open(&a.btf, info->btf, err);
	/* The functions of a program with invalid BTF still get names. */
	enum ux_code named = code == UX_ENOMEM ? code : bpf_functions_add(&a, err);
	if (code == UX_OK)
		code = named;
	if (code == UX_OK && info->btf.size > 0)
		code = bpf_lines_add(&a, err);
	ux_btf_close(&a.btf);
	return code;
}

static int bpf_functions_by_start(const void *a, const void *b)
{
	const struct ux_bpf_function *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	UX_ORDER(x->end, y->end);
	return strcmp(x->name, y->name);
}

static int bpf_lines_by_start(const void *a, const void *b)
{
	const struct ux_bpf_line *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	return (x->order > y->order) - (x->order < y->order);
}

void ux_bpf_code_sort(struct ux_bpf_code *c)
{
	if (c->functions.size > 1)
		qsort(c->functions.data, c->functions.size, sizeof(*c->functions.data),
		      bpf_functions_by_start);
	if (c->lines.size > 1)
		qsort(c->lines.data, c->lines.size, sizeof(*c->lines.data), bpf_lines_by_start);
}

const struct ux_bpf_function *ux_bpf_code_find(const struct ux_bpf_code *c, uint64_t addr)
{
	size_t low =
		ux_partition_point(i, 0, c->functions.size, c->functions.data[i].start <= addr);
	const struct ux_bpf_function *f = low > 0 ? &c->functions.data[low - 1] : NULL;
	return f && addr < f->end ? f : NULL;
}

const struct ux_bpf_line *ux_bpf_code_line(const struct ux_bpf_code *c,
					   const struct ux_bpf_function *f, uint64_t addr)
{
	size_t low = ux_partition_point(i, 0, c->lines.size, c->lines.data[i].start <= addr);
	const struct ux_bpf_line *line = low > 0 ? &c->lines.data[low - 1] : NULL;
	return line && line->start >= f->start ? line : NULL;
}
