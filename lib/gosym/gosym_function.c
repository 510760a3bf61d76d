/* SPDX-License-Identifier: Apache-2.0 */
/* Reads functions of pclntab and calls of inline trees. */
#include "gosym_function.h"

#include "cursor.h"

enum {
	TABLES_MAX = 255, /* most tables of one function */
};

/* Of each tree format: which of a function's programs (PCDATA) has indexes of the inline tree,
 * which of its tables (FUNCDATA) is the tree, and the size of a call in it. */
static const struct shape {
	uint8_t program, table, call;
} shapes[] = {
	[UX_GOSYM_TREES_GO19] = {1, 2, 16},  [UX_GOSYM_TREES_GO112] = {1, 2, 20},
	[UX_GOSYM_TREES_GO113] = {2, 4, 20}, [UX_GOSYM_TREES_GO116] = {2, 3, 20},
	[UX_GOSYM_TREES_GO120] = {2, 3, 16},
};

/* Returns the pc of an offset in the table of functions. */
static uint64_t functions_pc(const struct ux_gosym_table *t, uint64_t off)
{
	return t->pc + t->functions_off + off;
}

/* Reads field n of the index, which is a pc or an offset. */
static bool index_field(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
			uint64_t n, uint64_t *ret)
{
	unsigned field = ux_gosym_table_field(t);
	uint64_t off = t->index_off + n * field;
	struct ux_cur c = ux_cur_make(t->functions, NULL, t->swap);
	if (t->layout < UX_GOSYM_GO118 && image->n_words > 0)
		return ux_gosym_image_word(image, functions_pc(t, off), field, ret);
	ux_cur_seek(&c, off);
	*ret = ux_cur_uint(&c, field);
	return !c.failed;
}

bool ux_gosym_index_at(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
		       uint32_t i, uint64_t *ret)
{
	return index_field(image, t, 2 * (uint64_t)i, ret);
}

/* Returns a cursor at the record of function i; *ret_off is the record's offset in the table of
 * functions. */
static struct ux_cur record_of(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
			       uint32_t i, uint64_t *ret_off)
{
	struct ux_cur c = ux_cur_make(t->functions, ".gopclntab", t->swap);
	c.base = t->functions_off;
	*ret_off = 0;
	if (!index_field(image, t, 2 * (uint64_t)i + 1, ret_off))
		ux_cur_bad(&c, "function index exceeds the table");
	ux_cur_seek(&c, *ret_off);
	return c;
}

/*
 * Reads a record's first field: a pc, which may be a word that the loader relocates, or an offset.
 */
static uint64_t record_start(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
			     struct ux_cur *c, uint64_t off)
{
	uint64_t start = ux_cur_uint(c, ux_gosym_table_field(t)), loaded = 0;
	if (t->layout < UX_GOSYM_GO118 && image->n_words > 0 &&
	    ux_gosym_image_word(image, functions_pc(t, off), t->word, &loaded))
		return loaded;
	return start;
}

bool ux_gosym_record_head(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
			  uint32_t i, uint64_t *ret_start, uint32_t *ret_name)
{
	uint64_t off = 0;
	struct ux_cur c = record_of(image, t, i, &off);
	*ret_start = record_start(image, t, &c, off);
	*ret_name = ux_cur_u32(&c);
	return !c.failed;
}

/* The numbers of elements of the arrays after a record's fixed part. */
struct array_sizes {
	uint32_t n_programs;
	uint8_t n_tables;
};

/* Reads the fields between the name and the arrays; they differ between versions. */
static struct array_sizes read_fields(const struct ux_gosym *g, struct ux_cur *c,
				      struct ux_gosym_function *f)
{
	const struct ux_gosym_table *t = &g->table;
	struct array_sizes b;
	ux_cur_skip(c, 12); /* args, deferreturn, the program of stack depths */
	f->file_program = ux_cur_u32(c);
	f->line_program = ux_cur_u32(c);
	b.n_programs = ux_cur_u32(c);
	f->unit = t->layout >= UX_GOSYM_GO116 ? ux_cur_u32(c) : 0;
	if (t->layout >= UX_GOSYM_GO120)
		ux_cur_skip(c, 4); /* the line at which the function begins */
	if (g->trees == UX_GOSYM_TREES_GO19) {
		uint32_t n = ux_cur_u32(c);
		b.n_tables = n <= TABLES_MAX ? (uint8_t)n : 0;
		return b;
	}
	f->id = ux_cur_u8(c);
	ux_cur_skip(c, 2); /* flags, padding */
	b.n_tables = ux_cur_u8(c);
	return b;
}

/* Returns the address of table (FUNCDATA) `number` of a record; its array of tables begins at c; 0:
 * none. */
static uint64_t table_pc(const struct ux_gosym *g, struct ux_cur *c, unsigned number)
{
	const struct ux_gosym_table *t = &g->table;
	if (t->layout >= UX_GOSYM_GO118) {
		ux_cur_skip(c, 4 * number);
		uint32_t off = ux_cur_u32(c);
		bool none = c->failed || off == UX_GOSYM_NOWHERE || g->module.inline_pc == 0;
		return none ? 0 : g->module.inline_pc + off;
	}
	uint64_t at = t->pc + ux_cur_off(c), value = 0; /* pclntab itself is aligned */
	at = (at + t->word - 1) & ~((uint64_t)t->word - 1);
	bool there =
		ux_gosym_image_word(g->image, at + (uint64_t)number * t->word, t->word, &value);
	return there ? value : 0;
}

/* Reads where the inline tree of a record is. The record's array of programs begins at c. */
static void read_tree(const struct ux_gosym *g, struct ux_cur *c, struct array_sizes b,
		      struct ux_gosym_function *f)
{
	const struct shape *shape = &shapes[g->trees];
	if (g->trees == UX_GOSYM_TREES_NONE || b.n_programs <= shape->program ||
	    b.n_tables <= shape->table)
		return;
	struct ux_cur programs = ux_cur_sub(c, 4 * (uint64_t)b.n_programs);
	ux_cur_skip(&programs, 4 * (uint64_t)shape->program);
	uint32_t program = ux_cur_u32(&programs);
	if (program == 0)
		return;
	f->tree = table_pc(g, c, shape->table);
	if (f->tree != 0)
		f->call_program = program;
}

/* Reads the address range of function i and checks that it is code. */
static enum ux_code read_range(const struct ux_gosym *g, uint32_t i, uint64_t own,
			       struct ux_gosym_function *f, struct ux_error *err)
{
	uint64_t lo = 0, hi = 0;
	if (!ux_gosym_index_at(g->image, &g->table, i, &lo) ||
	    !ux_gosym_index_at(g->image, &g->table, i + 1, &hi) || lo != own)
		return ux_error_set(err, UX_ECORRUPT,
				    "Go function %" PRIu32 " begins at 0x%" PRIx64
				    ", expected 0x%" PRIx64,
				    i, own, lo);
	if (lo == hi)
		return UX_ENOTFOUND;
	if (g->table.layout >= UX_GOSYM_GO118) {
		lo = ux_gosym_module_pc(g->image, &g->table, &g->module, lo);
		hi = ux_gosym_module_pc(g->image, &g->table, &g->module, hi - 1) + 1;
	}
	if (lo >= hi || hi - lo > UINT32_MAX || !ux_gosym_image_is_code(g->image, lo, hi))
		return ux_error_set(err, UX_ECORRUPT,
				    "Go function %" PRIu32 " at 0x%" PRIx64 " to 0x%" PRIx64
				    " is not in code",
				    i, lo, hi);
	f->lo = lo;
	f->hi = hi;
	return UX_OK;
}

enum ux_code ux_gosym_function_read(const struct ux_gosym *g, uint32_t i,
				    struct ux_gosym_function *ret, struct ux_error *err)
{
	const struct ux_gosym_table *t = &g->table;
	struct ux_gosym_function f = {0};
	uint64_t off = 0;
	struct ux_cur c = record_of(g->image, t, i, &off);
	uint64_t own = record_start(g->image, t, &c, off);
	uint32_t name = ux_cur_u32(&c);
	struct array_sizes b = read_fields(g, &c, &f);
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(read_range(g, i, own, &f, err));
	/* Offset 0 is the first name, except in the first layout, which has the header there. */
	f.name = name == 0 && t->layout == UX_GOSYM_GO12 ? NULL : ux_gosym_text(t->names, name);
	if (f.name && f.name[0] == '\0')
		f.name = NULL;
	read_tree(g, &c, b, &f);
	*ret = f;
	return UX_OK;
}

uint8_t ux_gosym_function_id(const struct ux_gosym *g, uint32_t i)
{
	struct ux_gosym_function f = {0};
	uint64_t off = 0;
	struct ux_cur c = record_of(g->image, &g->table, i, &off);
	ux_cur_skip(&c, ux_gosym_table_field(&g->table) + 4);
	(void)read_fields(g, &c, &f);
	return c.failed ? 0 : f.id;
}

bool ux_gosym_call_read(const struct ux_gosym *g, const struct ux_gosym_function *f, uint32_t i,
			struct ux_gosym_call *ret)
{
	bool wide = g->trees != UX_GOSYM_TREES_GO120, old = g->trees == UX_GOSYM_TREES_GO19;
	uint64_t at = f->tree + (uint64_t)i * shapes[g->trees].call;
	struct ux_cur c = ux_cur_make(ux_gosym_image_at(g->image, at), NULL, g->table.swap);
	ret->parent = old    ? (int32_t)ux_cur_u32(&c)
		      : wide ? (int16_t)ux_cur_u16(&c)
			     : UX_GOSYM_NO_PARENT;
	ret->id = old ? 0 : ux_cur_u8(&c);
	ux_cur_skip(&c, old ? 0 : wide ? 1 : 3);
	ret->file = wide ? (int32_t)ux_cur_u32(&c) : -1;
	ret->line = wide ? (int32_t)ux_cur_u32(&c) : 0;
	ret->name = ux_gosym_text(g->table.names, ux_cur_u32(&c));
	ret->off = old ? UX_GOSYM_NO_OFFSET : ux_cur_u32(&c);
	return !c.failed && ret->name && ret->name[0] != '\0';
}

uint32_t ux_gosym_file(const struct ux_gosym *g, uint32_t unit, int32_t file)
{
	const struct ux_gosym_table *t = &g->table;
	struct ux_cur c = ux_cur_make(t->units, NULL, t->swap);
	uint64_t number = (uint64_t)unit + (uint32_t)file;
	if (file < 0 || (t->layout == UX_GOSYM_GO12 && file == 0))
		return UX_GOSYM_NOWHERE;
	ux_cur_seek(&c, 4 * number);
	uint32_t off = ux_cur_u32(&c);
	return c.failed ? UX_GOSYM_NOWHERE : off;
}
