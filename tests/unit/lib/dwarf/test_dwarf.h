/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers shared by the tests of lib/dwarf: assembling small modules, and reading them whole. */
#ifndef UX_TEST_DWARF_H
#define UX_TEST_DWARF_H

#include "sweep.h"

#include "dwarf_code.h"
#include "dwarf_line.h"
#include "make_dwarf.h"

enum {
	TEXT_LO = 0x1000, /* the module's code */
	TEXT_HI = 0x9000,
};

/* All the state of reading one module. */
struct reading {
	struct ux_dwarf_sections sections;
	struct ux_range text_list[2];
	struct ux_range_set text;
	struct ux_dwarf_units units;
	struct ux_dwarf_context ctx; /* of the unit opened last */
	struct ux_dwarf_names names;
	struct ux_dwarf_code code;
	struct ux_dwarf_lines lines;
	struct ux_error err;
};

/* Parses the units; code lies in [TEXT_LO, TEXT_HI). */
static inline enum ux_code reading_init(struct reading *r, struct ux_dwarf_sections sections)
{
	*r = (struct reading){.sections = sections, .err = UX_ERROR_INIT};
	r->text_list[0] = (struct ux_range){TEXT_LO, TEXT_HI};
	r->text = (struct ux_range_set){r->text_list, 1};
	return ux_dwarf_units_parse(&r->sections, &r->units, &r->err);
}

static inline void reading_deinit(struct reading *r)
{
	if (r->names.sections)
		ux_dwarf_names_deinit(&r->names);
	ux_dwarf_code_deinit(&r->code);
	ux_dwarf_lines_deinit(&r->lines);
	ux_dwarf_units_free(&r->units);
}

/* Opens unit number `index`. */
static inline enum ux_code open_unit(struct reading *r, size_t index)
{
	assert_true(index < r->units.count);
	r->err = (struct ux_error)UX_ERROR_INIT;
	return ux_dwarf_context_open(&r->sections, &r->units.list[index], NULL, &r->ctx, &r->err);
}

static inline enum ux_code read_code(struct reading *r)
{
	if (!r->names.sections)
		ux_dwarf_names_init(&r->names, &r->sections, &r->units);
	r->err = (struct ux_error)UX_ERROR_INIT;
	return ux_dwarf_code_read(&r->ctx, &r->text, &r->names, &r->code, &r->err);
}

static inline enum ux_code read_lines(struct reading *r)
{
	r->err = (struct ux_error)UX_ERROR_INIT;
	return ux_dwarf_lines_parse(&r->ctx, &r->text, &r->lines, &r->err);
}

/* Begins reading the module made by m and opens its first unit. */
static inline void reading_of(struct reading *r, const struct make_dwarf *m)
{
	assert_int_equal(reading_init(r, make_dwarf_sections(m)), UX_OK);
	assert_int_equal(open_unit(r, 0), UX_OK);
}

/* Returns the name with that number; "?": none. */
static inline const char *name_of(const struct reading *r, uint32_t name)
{
	const char *text = name == UX_CODE_NO_NAME ? NULL : r->names.list.data[name];
	return text ? text : "?";
}

/* Declares an assembler that ends with the scope; MODULE: and a reading. */
#define ASSEMBLER(m)                                       \
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m; \
	make_dwarf_init(&m, /* big= */ false)
#define MODULE(m, r)  \
	ASSEMBLER(m); \
	ux_cleanup(reading_deinit) struct reading r = {.err = UX_ERROR_INIT}

/*
 * Sections in one slice, so that a sweep reaches all of them: a u32 size for each section, then
 * their bytes in the same order.
 */
static inline void join_sections(const struct ux_dwarf_sections *s, struct ux_out *out)
{
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		ux_out_u32(out, (uint32_t)s->data[i].size);
	for (int i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		ux_out_put(out, s->data[i].data, s->data[i].size);
}

/* The inverse; cuts sizes that exceed the input. */
static inline struct ux_dwarf_sections split_sections(struct ux_bytes joined)
{
	struct ux_dwarf_sections s = {0};
	size_t head = UX_DWARF_SECTION_COUNT * sizeof(uint32_t);
	size_t at = ux_min(head, joined.size);
	for (size_t i = 0; i < UX_DWARF_SECTION_COUNT && joined.size >= head; i++) {
		uint32_t size;
		memcpy(&size, joined.data + i * sizeof(size), sizeof(size));
		size = (uint32_t)ux_min((size_t)size, joined.size - at);
		s.data[i] = ux_bytes(joined.data + at, size);
		at += size;
	}
	return s;
}

/* Checks the headers' promises for any code. */
static inline void check_code(const struct reading *r)
{
	const struct ux_dwarf_code *c = &r->code;
	size_t inlines = 0;
	for (size_t i = 0; i < c->ranges.size; i++)
		assert_true(c->ranges.data[i].lo >= TEXT_LO &&
			    c->ranges.data[i].lo < c->ranges.data[i].hi &&
			    c->ranges.data[i].hi <= TEXT_HI);
	for (size_t i = 0; i < c->functions.size; i++) {
		const struct ux_code_function *f = &c->functions.data[i];
		assert_true(f->range_count > 0 &&
			    f->range_first + f->range_count <= c->ranges.size);
		assert_int_equal(f->inline_first, inlines);
		inlines += f->inline_count;
		uint32_t depth = 0;
		for (size_t k = f->inline_first; k < inlines; k++) {
			const struct ux_code_inline *call = &c->inlines.data[k];
			assert_int_equal(c->owners.data[k], i);
			assert_true(call->depth >= 1 && call->depth <= depth + 1);
			assert_true(call->range_first + call->range_count <= c->ranges.size);
			assert_true(call->name == UX_CODE_NO_NAME ||
				    call->name < r->names.list.size);
			depth = call->depth;
		}
	}
	assert_int_equal(inlines, c->inlines.size);
}

static inline void sweep_module(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	ux_cleanup(reading_deinit) struct reading r = {0};
	assert_int_equal(reading_init(&r, split_sections(input)), UX_OK);
	for (size_t i = 0; i < r.units.count; i++) {
		if (open_unit(&r, i) != UX_OK)
			continue;
		enum ux_code code = read_code(&r);
		assert_int_equal(code, r.err.code);
		assert_true(r.err.off == UX_ERROR_NO_OFF || r.err.off <= input.size);
		check_code(&r);
		code = read_lines(&r);
		assert_int_equal(code, r.err.code);
	}
}

static inline enum ux_code module_with_failures(void *ctx)
{
	const struct make_dwarf *m = ctx;
	ux_cleanup(reading_deinit) struct reading r = {0};
	UX_TRY(reading_init(&r, make_dwarf_sections(m)));
	for (size_t i = 0; i < r.units.count; i++) {
		UX_TRY(open_unit(&r, i));
		UX_TRY(read_code(&r));
		UX_TRY(read_lines(&r));
	}
	return UX_OK;
}

#endif
