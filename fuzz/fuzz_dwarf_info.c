/* SPDX-License-Identifier: Apache-2.0 */
/* Target: all sections of a module, read as an extraction reads them. */
#include "fuzz_dwarf.h"

#include "dwarf_code.h"
#include "dwarf_split.h"

enum {
	TABLES_MAX = 32, /* times that the line tables may be read */
};

struct reading {
	const struct ux_dwarf_sections *s;
	struct ux_range_set text;
	struct ux_dwarf_units units;
	struct ux_dwarf_names names;
	struct ux_dwarf_code code;
	struct ux_dwarf_lines lines;
	struct ux_dwarf_lines_source paid;
	uint64_t price; /* cost of the tables so far */
	bool split;
};

static void check_units(const struct reading *r)
{
	uint64_t end = 0;
	for (size_t i = 0; i < r->units.count; i++) {
		const struct ux_dwarf_unit *u = &r->units.list[i];
		fuzz_truth(u->off >= end && u->off < u->die_off && u->die_off <= u->end);
		fuzz_truth(u->end <= r->s->data[UX_DWARF_INFO].size);
		fuzz_truth(u->table < r->units.shared->n_tables);
		fuzz_truth(ux_dwarf_units_find(&r->units, u->off) == u);
		fuzz_truth(ux_dwarf_units_find(&r->units, u->end - 1) == u);
		end = u->end;
	}
	fuzz_truth((r->units.bad > 0) == (r->units.reason.code != UX_OK));
}

static void check_calls(const struct reading *r, const struct ux_code_function *f, uint32_t number)
{
	uint32_t depth = 0;
	for (uint32_t i = f->inline_first; i < f->inline_first + f->inline_count; i++) {
		const struct ux_code_inline *call = &r->code.inlines.data[i];
		fuzz_truth(r->code.owners.data[i] == number);
		fuzz_truth(call->depth >= 1 && call->depth <= depth + 1);
		fuzz_truth(call->depth <= UX_DWARF_NEST_MAX + 1);
		fuzz_truth(call->range_first <= r->code.ranges.size &&
			   call->range_count <= r->code.ranges.size - call->range_first);
		fuzz_truth(call->name == UX_CODE_NO_NAME || call->name < r->names.list.size);
		depth = call->depth;
	}
}

static void check_code(const struct reading *r, const struct ux_dwarf_unit *unit)
{
	const struct ux_dwarf_code *c = &r->code;
	uint64_t bytes = unit->end - unit->off;
	fuzz_truth(c->functions.size <= bytes && c->inlines.size <= bytes);
	/* each DIE has one range of its own, or the ranges of a list */
	fuzz_truth(c->ranges.size <= (UX_DWARF_RANGES_PER_BYTE + 1) * bytes);
	for (size_t i = 0; i < c->ranges.size; i++)
		fuzz_truth(fuzz_in_text(&r->text, c->ranges.data[i].lo, c->ranges.data[i].hi));
	size_t inlines = 0;
	for (size_t i = 0; i < c->functions.size; i++) {
		const struct ux_code_function *f = &c->functions.data[i];
		fuzz_truth(f->range_count > 0 && f->range_count <= c->ranges.size &&
			   f->range_first <= c->ranges.size - f->range_count);
		fuzz_truth(f->name == UX_CODE_NO_NAME || f->name < r->names.list.size);
		fuzz_truth(f->inline_first == inlines &&
			   f->inline_count <= c->inlines.size - inlines);
		inlines += f->inline_count;
		check_calls(r, f, (uint32_t)i);
	}
	fuzz_truth(inlines == c->inlines.size);
	fuzz_truth(r->names.own.size == r->names.list.size && r->names.unqualified.size == 0);
	for (size_t i = 0; i < r->names.list.size; i++) {
		const char *name = r->names.list.data[i];
		uint32_t own = r->names.own.data[i];
		fuzz_truth(!name ||
			   name[0] != '\0'); /* NULL: the DIE that it refers to is missing */
		if (own == 0)
			fuzz_truths_of_text(name, r->s);
		else /* a name that was made, with the function's own name after its qualifiers */
			fuzz_truth(strnlen(name, UX_DWARF_QUALIFIED_MAX) > own);
	}
}

/* Reads the split unit of a skeleton, when the module is its own .dwo file. */
static void read_split(struct reading *r, const struct ux_dwarf_context *skeleton)
{
	struct ux_dwarf_context ctx;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_dwarf_split_ids_free) struct ux_dwarf_split_ids ids = {0};
	fuzz_truth(ux_dwarf_split_ids_find(r->s, &r->units, &ids, NULL) == UX_OK);
	for (size_t i = 1; i < ids.count; i++)
		fuzz_truth(ids.list[i - 1].id <= ids.list[i].id);
	enum ux_code code = ux_dwarf_split_open(r->s, &r->units, &ids, skeleton, &ctx, &err);
	fuzz_truths_of_dwarf_error(code, &err, r->s);
	if (code != UX_OK)
		return;
	fuzz_truth(ctx.has_dwo_id && ctx.dwo_id == skeleton->dwo_id);
	code = ux_dwarf_code_read(&ctx, &r->text, &r->names, &r->code, &err);
	fuzz_truths_of_dwarf_error(code, &err, r->s);
	check_code(r, ctx.unit);
}

/* Finds a variable at some address; its declaration belongs to a unit. */
static void find_variable(const struct reading *r, const struct ux_dwarf_context *ctx)
{
	struct ux_dwarf_declared declared;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_dwarf_variable_find(ctx, &r->units, 0, &declared, &err);
	if (code == UX_ENOTFOUND)
		return;
	fuzz_truths_of_dwarf_error(code, &err, r->s);
	if (code == UX_OK && declared.unit)
		fuzz_truth(ux_dwarf_units_find(&r->units, declared.unit->off) == declared.unit);
}

static void read_unit(struct reading *r, const struct ux_dwarf_unit *unit)
{
	struct ux_dwarf_context ctx;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_dwarf_context_open(r->s, unit, NULL, &ctx, &err);
	fuzz_truths_of_dwarf_error(code, &err, r->s);
	if (code != UX_OK)
		return;
	fuzz_truths_of_text(ctx.name, r->s);
	fuzz_truths_of_text(ctx.comp_dir, r->s);
	fuzz_truths_of_text(ctx.producer, r->s);
	code = ux_dwarf_code_read(&ctx, &r->text, &r->names, &r->code, &err);
	fuzz_truths_of_dwarf_error(code, &err, r->s);
	check_code(r, unit);
	find_variable(r, &ctx);
	r->price += ux_dwarf_lines_cost(&ctx, &r->text, &r->paid);
	if (r->price > (uint64_t)TABLES_MAX * r->s->data[UX_DWARF_LINE].size)
		return; /* an extraction stops there, too */
	err = (struct ux_error)UX_ERROR_INIT;
	code = ux_dwarf_lines_parse(&ctx, &r->text, &r->lines, &err);
	fuzz_truths_of_dwarf_error(code, &err, r->s);
	fuzz_truths_of_lines(&r->lines, &r->text, r->s);
	if (r->split && ux_dwarf_is_skeleton(&ctx))
		read_split(r, &ctx);
}

FUZZ_TARGET(dwarf_info)(const uint8_t *data, size_t size)
{
	if (size < FUZZ_HEAD)
		return 0;
	struct ux_dwarf_sections s = fuzz_sections(ux_bytes(data, size));
	struct ux_dwarf_sections sup_sections = s;
	ux_cleanup(ux_dwarf_units_free) struct ux_dwarf_units sup = {0};
	struct reading r = {
		.s = &s,
		.text = fuzz_text(data[0]),
		.split = (data[0] & FUZZ_SPLIT) != 0,
	};
	fuzz_truth(ux_dwarf_units_parse(&s, &r.units, NULL) == UX_OK);
	check_units(&r);
	if (data[0] & FUZZ_SUP) {
		fuzz_truth(ux_dwarf_units_parse(&sup_sections, &sup, NULL) == UX_OK);
		s.sup = &sup_sections;
		r.units.sup = &sup;
	}
	ux_dwarf_names_init(&r.names, &s, &r.units);
	for (size_t i = 0; i < r.units.count; i++)
		read_unit(&r, &r.units.list[i]);
	fuzz_truth(r.names.others.size <= r.units.count + sup.count);
	ux_dwarf_names_deinit(&r.names);
	ux_dwarf_code_deinit(&r.code);
	ux_dwarf_lines_deinit(&r.lines);
	ux_dwarf_units_free(&r.units);
	return 0;
}
