/* SPDX-License-Identifier: Apache-2.0 */
/* Translating abbreviation tables into programs (DWARF 5, 7.5.3). */
#include "dwarf_abbrev.h"

#include "dwarf_defs.h"
#include "partition.h"
#include "vec.h"

enum {
	TABLE_MAX = 16u << 20, /* bytes of one table; clang's largest have some 100,000 */
	ATTRS_MAX = 1024,      /* most attributes of one abbreviation; real ones stay under 40 */
};

/* The longest sequence of forms of fixed size, 16 bytes each, fits into an argument. */
static_assert(ATTRS_MAX * 16 <= 0xffffff, "a SKIP's argument has 24 bits");

static_assert(UX_SLOT_COUNT < 32, "UX_OP_LOAD has five bits for the slot");

struct abbrev_parser {
	struct ux_cur cur;
	struct ux_dwarf_layout layout;
	struct ux_dwarf_form_sizes sizes;
	struct ux_dwarf_abbrev_buffers *buffers;
	struct ux_dwarf_known *known; /* NULL: translate each declaration */
	struct ux_dwarf_abbrev entry; /* the one being read */
	uint32_t skip;                /* bytes of fixed forms since the last word */
	uint32_t seen;                /* slots of the entry so far, a bit each */
	/* Bytes of the entry so far, counted from after its code, without the content of a text and
	 * of blocks. The offsets below count in the same way, plus 1; 0: none. */
	uint32_t bytes;
	uint32_t text;    /* offset of its one text */
	uint32_t block;   /* offset of the length of its first block */
	uint32_t second;  /* offset of the length of its second block */
	uint32_t sibling; /* offset of DW_AT_sibling, a 4-byte offset in the unit */
	bool loose;       /* its size varies by more than one text and two blocks */
	bool no_memory;
};

void ux_dwarf_abbrev_buffers_deinit(struct ux_dwarf_abbrev_buffers *buffers)
{
	ux_dwarf_abbrev_vec_deinit(&buffers->list);
	ux_dwarf_word_vec_deinit(&buffers->words);
	ux_dwarf_step_vec_deinit(&buffers->steps);
	if (buffers->known)
		ux_dwarf_known_deinit(buffers->known);
	free(buffers->known);
	buffers->known = NULL;
}

static void abbrev_put_op(struct abbrev_parser *p, enum ux_dwarf_op op, uint32_t arg)
{
	if (!ux_dwarf_word_vec_append(&p->buffers->words, (uint32_t)op | arg << 8))
		p->no_memory = true;
}

static void abbrev_flush_skip(struct abbrev_parser *p)
{
	if (p->skip > 0)
		abbrev_put_op(p, UX_OP_SKIP, p->skip);
	p->skip = 0;
}

static void abbrev_put_const(struct abbrev_parser *p, enum ux_dwarf_slot slot, uint64_t value)
{
	abbrev_flush_skip(p);
	abbrev_put_op(p, UX_OP_CONST, slot);
	if (!ux_dwarf_word_vec_append(&p->buffers->words, (uint32_t)value) ||
	    !ux_dwarf_word_vec_append(&p->buffers->words, (uint32_t)(value >> 32)))
		p->no_memory = true;
}

static void abbrev_put_load(struct abbrev_parser *p, enum ux_dwarf_slot slot, uint32_t size,
			    uint32_t form)
{
	abbrev_put_op(p, UX_OP_LOAD, (uint32_t)slot | size << 5 | form << 9);
	if (!ux_dwarf_word_vec_append(&p->buffers->words, p->skip))
		p->no_memory = true;
	p->skip = 0;
}

/*
 * Returns the slot of an attribute. The standard allows an attribute once; a repeated one gets no
 * slot, since hundreds of them would cost time but take no bytes of a DIE.
 */
static enum ux_dwarf_slot abbrev_claim_slot(struct abbrev_parser *p, enum ux_dwarf_slot slot)
{
	if (slot == UX_SLOT_COUNT || (p->seen & 1u << slot) != 0)
		return UX_SLOT_COUNT;
	p->seen |= 1u << slot;
	p->entry.has_pc |= slot == UX_SLOT_LOW_PC || slot == UX_SLOT_RANGES;
	return slot;
}

/* Adds an attribute of a form that has no fixed size. */
static void abbrev_add_variable(struct abbrev_parser *p, enum ux_dwarf_slot slot, uint64_t form)
{
	enum ux_dwarf_op op = ux_dwarf_form_op(form);
	abbrev_flush_skip(p);
	if ((op == UX_OP_BLOCK || op == UX_OP_BLOCK1) && p->block == 0)
		p->block = 1 + p->bytes++;
	else if ((op == UX_OP_BLOCK || op == UX_OP_BLOCK1) && p->second == 0 && p->sibling == 0)
		p->second = 1 + p->bytes++;
	else if (op == UX_OP_STRING && p->text == 0 && p->block == 0 && p->sibling == 0)
		p->text = 1 + p->bytes;
	else
		p->loose = true;
	if (op == UX_OP_END)
		abbrev_put_op(p, UX_OP_UNKNOWN, 0);
	else if (op == UX_OP_INDIRECT)
		abbrev_put_op(p, UX_OP_INDIRECT, slot);
	else if (slot != UX_SLOT_COUNT)
		abbrev_put_op(p, UX_OP_READ, (uint32_t)slot | (uint32_t)form << 8);
	else
		abbrev_put_op(p, op, 0);
}

/* Adds an attribute with a slot, of a form of fixed size. */
static void abbrev_add_fixed(struct abbrev_parser *p, enum ux_dwarf_slot slot, uint64_t form,
			     uint32_t size)
{
	if (slot == UX_SLOT_SIBLING && form == DW_FORM_ref4 && p->block == 0)
		p->sibling = 1 + p->bytes;
	else if (slot == UX_SLOT_SIBLING)
		p->loose = true; /* producers do not use this form here: the program reads it */
	p->bytes += size;
	if (size > 0 && size <= sizeof(uint64_t)) {
		abbrev_put_load(p, slot, size, (uint32_t)form);
		return;
	}
	abbrev_flush_skip(p);
	abbrev_put_op(p, UX_OP_READ, (uint32_t)slot | (uint32_t)form << 8);
}

static int abbrev_form_size(const struct abbrev_parser *p, uint64_t form)
{
	if (ux_likely(form < UX_DWARF_FORMS))
		return p->sizes.of[ux_dwarf_form_class[form]];
	return ux_dwarf_form_size(form, p->layout);
}

static void abbrev_parse_attrs(struct abbrev_parser *p)
{
	for (unsigned n = 0; !p->cur.failed; n++) {
		uint64_t attr = ux_cur_uleb(&p->cur);
		uint64_t form = ux_cur_uleb(&p->cur);
		if (attr == 0 && form == 0)
			return;
		if (n == ATTRS_MAX)
			ux_cur_bad(&p->cur, "abbreviation has more than 1024 attributes");
		enum ux_dwarf_slot slot = abbrev_claim_slot(p, ux_dwarf_slot_of(attr));
		if (form == DW_FORM_implicit_const) {
			int64_t value = ux_cur_sleb(&p->cur);
			if (slot != UX_SLOT_COUNT)
				abbrev_put_const(p, slot, (uint64_t)value);
			continue;
		}
		int size = abbrev_form_size(p, form);
		if (size < 0) {
			abbrev_add_variable(p, slot, form);
		} else if (slot == UX_SLOT_COUNT) {
			p->skip += (uint32_t)size;
			p->bytes += (uint32_t)size;
		} else {
			abbrev_add_fixed(p, slot, form, (uint32_t)size);
		}
	}
}

/* Returns the flags of a step that depend on the kind. */
static uint16_t abbrev_kind_flags(const struct ux_dwarf_abbrev *entry)
{
	switch ((enum ux_dwarf_kind)entry->kind) {
	case UX_KIND_FUNCTION:
		return entry->has_pc ? UX_STEP_CODE : UX_STEP_DECLARES;
	case UX_KIND_INLINE:
		return UX_STEP_CALL;
	case UX_KIND_CLASS:
		return UX_STEP_CLASS;
	case UX_KIND_LEAF:
	case UX_KIND_PLAIN:
	case UX_KIND_ROOT:
		break;
	}
	return 0;
}

/*
 * Returns whether the code takes two bytes. Of the codes that have steps, these are the codes from
 * 0x80 on.
 */
static bool abbrev_code_is_wide(uint64_t code)
{
	return code >= 0x80;
}

static struct ux_dwarf_step abbrev_step(struct abbrev_parser *p)
{
	const struct ux_dwarf_abbrev *entry = &p->entry;
	struct ux_dwarf_step step = {.flags = abbrev_kind_flags(entry)};
	uint8_t code = abbrev_code_is_wide(entry->code) ? 2 : 1;
	if (p->loose || code + p->bytes > UX_DWARF_STEP_MAX) {
		step.flags |= UX_STEP_LOOSE;
		return step;
	}
	step.size = (uint8_t)(code + p->bytes);
	if (p->text > 0) {
		step.flags |= UX_STEP_TEXT;
		step.text = (uint8_t)(p->text - 1 + code);
	}
	if (p->block > 0) {
		step.flags |= UX_STEP_BLOCK;
		step.block = (uint8_t)(p->block - 1 + code);
	}
	if (p->second > 0) {
		step.flags |= UX_STEP_SECOND;
		step.sibling = (uint8_t)(p->second - 1 + code);
	}
	if (!entry->has_children)
		return step;
	/*
	 * Classes and declarations that may contain code are never skipped by the walk, whatever
	 * the flags of the step.
	 */
	bool useless = entry->kind == UX_KIND_LEAF ||
		       (step.flags & (UX_STEP_CLASS | UX_STEP_DECLARES)) != 0;
	step.depth = 1;
	if (p->sibling > 0) {
		step.sibling = (uint8_t)(p->sibling - 1 + code);
		step.flags |= (uint16_t)(UX_STEP_SIBLING | (useless ? UX_STEP_USELESS : 0));
	} else if (useless) {
		step.flags |= UX_STEP_DEEP;
	}
	return step;
}

/* Appends the entry, and its step when its code is one or two bytes long. */
ux_inline void abbrev_append(struct abbrev_parser *p, const struct ux_dwarf_abbrev *entry,
			     const struct ux_dwarf_step *step)
{
	struct ux_dwarf_step_vec *steps = &p->buffers->steps;
	if (!ux_dwarf_abbrev_vec_append(&p->buffers->list, *entry) ||
	    (steps->size < UX_DWARF_STEPS_MAX && !ux_dwarf_step_vec_append(steps, *step)))
		p->no_memory = true;
}

/* Reads a declaration that was translated before; the key has its size. */
static void abbrev_use_known(struct abbrev_parser *p, uint64_t code, struct ux_dwarf_known_key key,
			     const struct ux_dwarf_known_abbrev *known)
{
	struct ux_dwarf_abbrev entry = known->entry;
	entry.code = code;
	abbrev_append(p, &entry, &known->step);
	p->cur.pos += key.bytes.size;
}

/* Keeps the declaration that was just translated, if it has the size of the key. */
static void abbrev_keep(struct abbrev_parser *p, const struct ux_dwarf_step *step,
			struct ux_dwarf_known_key key)
{
	const uint8_t *start = key.bytes.data;
	if (p->cur.failed || (size_t)(p->cur.pos - start) != key.bytes.size)
		return;
	if (!ux_dwarf_known_add(p->known, key, &p->entry, step))
		p->no_memory = true;
}

/* Translates a declaration after its code was read. */
static void abbrev_translate(struct abbrev_parser *p, uint64_t code)
{
	uint64_t tag = ux_cur_uleb(&p->cur);
	uint8_t children = ux_cur_u8(&p->cur);
	if (children > 1)
		ux_cur_bad(&p->cur, "children flag of an abbreviation is neither 0 nor 1");
	p->entry = (struct ux_dwarf_abbrev){
		.code = code,
		.program = (uint32_t)p->buffers->words.size,
		.tag = tag < 0xffff ? (uint16_t)tag : 0xffff,
		.kind = ux_dwarf_kind_of_tag(tag),
		.has_children = children != 0,
	};
	p->skip = p->seen = p->bytes = p->text = p->block = p->second = p->sibling = 0;
	p->loose = false;
	abbrev_parse_attrs(p);
	abbrev_flush_skip(p);
	abbrev_put_op(p, UX_OP_END, 0);
}

/*
 * A declaration that probably comes next. Declarations translated before are scattered in memory,
 * so several are fetched at the same time: one after the other, an extraction of ceph-mon takes 5 %
 * longer.
 */
struct abbrev_ahead {
	struct ux_dwarf_known_key key;
	const struct ux_dwarf_known_abbrev
		*known; /* found by the hash of the key; NULL: not translated yet */
};

enum {
	AHEAD_MAX = 16, /* about as many loads as a processor has in flight at a time */
	CACHE_LINE = 64,
};

static struct ux_dwarf_known_key abbrev_key(const struct ux_cur *c, uint64_t code)
{
	return ux_dwarf_known_key_of(ux_bytes(c->pos, ux_dwarf_known_size(c)),
				     abbrev_code_is_wide(code));
}

/* Looks for the next declarations, and returns their number. */
static unsigned abbrev_look_ahead(const struct abbrev_parser *p, struct abbrev_ahead *ret)
{
	struct ux_cur c = p->cur;
	unsigned n = 0;
	for (; n < AHEAD_MAX; n++) {
		uint64_t code = ux_cur_uleb(&c);
		if (code == 0)
			break;
		ret[n].key = abbrev_key(&c, code);
		if (ret[n].key.bytes.size == 0)
			break;
		ux_dwarf_known_map_prefetch(&p->known->map, ret[n].key.hash);
		c.pos += ret[n].key.bytes.size;
	}
	for (unsigned i = 0; i < n; i++) {
		ret[i].known = ux_dwarf_known_find(p->known, ret[i].key.hash);
		if (ret[i].known) {
			__builtin_prefetch(ret[i].known);
			__builtin_prefetch((const uint8_t *)ret[i].known + CACHE_LINE);
		}
	}
	return n;
}

/* Parses a declaration; `ahead` is its earlier translation, or NULL. */
static void abbrev_parse(struct abbrev_parser *p, uint64_t code, const struct abbrev_ahead *ahead)
{
	struct ux_dwarf_known_key key = {0};
	const struct ux_dwarf_known_abbrev *known = NULL;
	if (ahead && ahead->key.bytes.data == p->cur.pos &&
	    ahead->key.wide == abbrev_code_is_wide(code)) {
		key = ahead->key;
		known = ahead->known;
	} else if (p->known) {
		key = abbrev_key(&p->cur, code);
	}
	if (!known && key.bytes.size > 0)
		known = ux_dwarf_known_find(p->known, key.hash);
	if (known && ux_dwarf_known_is(known, key)) {
		abbrev_use_known(p, code, key, known);
		return;
	}
	struct ux_dwarf_step step = {0};
	abbrev_translate(p, code);
	if (p->buffers->steps.size < UX_DWARF_STEPS_MAX)
		step = abbrev_step(p);
	if (key.bytes.size > 0)
		abbrev_keep(p, &step, key);
	abbrev_append(p, &p->entry, &step);
}

/* Parses the declarations of the table. */
static void abbrevs_parse_all(struct abbrev_parser *p)
{
	struct abbrev_ahead ahead[AHEAD_MAX];
	unsigned at = 0, n = 0;
	while (!p->cur.failed && !p->no_memory) {
		if (p->known && at == n) {
			n = abbrev_look_ahead(p, ahead);
			at = 0;
		}
		uint64_t code = ux_cur_uleb(&p->cur);
		if (code == 0)
			break;
		abbrev_parse(p, code, at < n ? &ahead[at] : NULL);
		at += at < n;
	}
}

static int abbrev_cmp_code(const void *a, const void *b)
{
	const struct ux_dwarf_abbrev *x = a, *y = b;
	return (x->code > y->code) - (x->code < y->code);
}

/*
 * Sorts by code. When a code occurs twice, either entry may be found. False when the entries were
 * not in order.
 */
static bool abbrevs_sort(struct ux_dwarf_abbrev_vec *list)
{
	bool ascending = true;
	for (size_t i = 1; i < list->size; i++)
		ascending &= list->data[i - 1].code < list->data[i].code;
	if (!ascending)
		qsort(list->data, list->size, sizeof(*list->data), abbrev_cmp_code);
	return ascending;
}

static bool abbrevs_are_dense(const struct ux_dwarf_abbrev_vec *list)
{
	bool dense = true;
	for (size_t i = 0; i < list->size; i++)
		dense &= list->data[i].code == i + 1;
	return dense;
}

/* Makes the buffers ready for a table; keeps the translations in their `known`. */
static bool abbrev_buffers_begin(struct ux_dwarf_abbrev_buffers *buffers,
				 struct ux_dwarf_layout layout)
{
	static const struct ux_dwarf_step end = {.size = 1, .depth = -1};
	buffers->list.size = buffers->steps.size = 0;
	if (!buffers->known || ux_dwarf_known_begin(buffers->known, layout, buffers->words.size))
		buffers->words.size = 0;
	return ux_dwarf_step_vec_append(&buffers->steps, end);
}

/* Parses a table into buffers; declarations are looked up in buffers->known, if it exists. */
static enum ux_code abbrevs_parse_to(const struct ux_dwarf_sections *sections,
				     const struct ux_dwarf_table *table,
				     struct ux_dwarf_abbrev_buffers *buffers,
				     struct ux_dwarf_abbrevs *ret, struct ux_error *err)
{
	struct abbrev_parser p = {
		.cur = ux_dwarf_cur_at(sections, UX_DWARF_ABBREV, table->off),
		.layout = table->layout,
		.sizes = ux_dwarf_form_sizes(table->layout),
		.buffers = buffers,
		.known = buffers->known,
	};
	static const struct ux_dwarf_step none = {.flags = UX_STEP_LOOSE};
	if (!abbrev_buffers_begin(buffers, table->layout))
		return ux_error_nomem(err);
	uint64_t max = ux_min(table->end - table->off, (uint64_t)TABLE_MAX);
	if (max < ux_cur_left(&p.cur))
		p.cur.end = p.cur.pos + max;
	abbrevs_parse_all(&p);
	while (!p.no_memory && buffers->steps.size < UX_DWARF_STEPS_MIN)
		p.no_memory = !ux_dwarf_step_vec_append(&buffers->steps, none);
	if (p.no_memory)
		return ux_error_nomem(err);
	UX_TRY(ux_cur_status(&p.cur, err));
	bool in_order = abbrevs_sort(&buffers->list), dense = abbrevs_are_dense(&buffers->list);
	*ret = (struct ux_dwarf_abbrevs){
		.dense = dense,
		.list = buffers->list.data,
		.words = buffers->words.data,
		.steps = buffers->steps.data,
		.count = buffers->list.size,
		.n_steps = in_order && dense ? buffers->steps.size : 0,
	};
	return UX_OK;
}

enum ux_code ux_dwarf_abbrevs_parse_into(const struct ux_dwarf_sections *sections,
					 const struct ux_dwarf_table *table,
					 struct ux_dwarf_abbrev_buffers *buffers,
					 struct ux_dwarf_abbrevs *ret, struct ux_error *err)
{
	if (!buffers->known)
		buffers->known = calloc(1, sizeof(*buffers->known));
	if (!buffers->known)
		return ux_error_nomem(err);
	return abbrevs_parse_to(sections, table, buffers, ret, err);
}

enum ux_code ux_dwarf_abbrevs_parse(const struct ux_dwarf_sections *sections,
				    const struct ux_dwarf_table *table,
				    struct ux_dwarf_abbrevs *ret, struct ux_error *err)
{
	ux_cleanup(ux_dwarf_abbrev_buffers_deinit) struct ux_dwarf_abbrev_buffers buffers = {0};
	struct ux_dwarf_abbrevs made;
	UX_TRY(abbrevs_parse_to(sections, table, &buffers, &made, err));
	/* One block of exactly the size that is needed. */
	size_t list_bytes = buffers.list.size * sizeof(*buffers.list.data);
	size_t step_bytes = buffers.steps.size * sizeof(*buffers.steps.data);
	size_t word_bytes = buffers.words.size * sizeof(*buffers.words.data);
	uint8_t *block = malloc(list_bytes + step_bytes + word_bytes + 1);
	if (!block)
		return ux_error_nomem(err);
	made.list = (struct ux_dwarf_abbrev *)(void *)block;
	made.steps = (struct ux_dwarf_step *)(void *)(block + list_bytes);
	made.words = (uint32_t *)(void *)(block + list_bytes + step_bytes);
	memcpy(made.steps, buffers.steps.data, step_bytes);
	if (list_bytes > 0) {
		memcpy(made.list, buffers.list.data, list_bytes);
		memcpy(made.words, buffers.words.data, word_bytes);
	}
	*ret = made;
	return UX_OK;
}

void ux_dwarf_abbrevs_free(struct ux_dwarf_abbrevs *table)
{
	free(table->list);
	*table = (struct ux_dwarf_abbrevs){0};
}

const struct ux_dwarf_abbrev *ux_dwarf_abbrevs_search(const struct ux_dwarf_abbrevs *table,
						      uint64_t code)
{
	size_t lo = ux_partition_point(i, 0, table->count, table->list[i].code < code);
	return lo < table->count && table->list[lo].code == code ? &table->list[lo] : NULL;
}

static bool attr_leaves_unit(uint64_t attr, uint64_t form)
{
	switch (form) {
	case DW_FORM_ref_addr:
	case DW_FORM_ref_sig8:
	case DW_FORM_indirect:
		return true;
	default:
		return attr == DW_AT_dwo_name || attr == DW_AT_GNU_dwo_name;
	}
}

/* Skips one abbreviation's attributes; false when one of them can refer out of the unit. */
static bool abbrev_attrs_stay(struct ux_cur *c)
{
	for (;;) {
		uint64_t attr = ux_cur_uleb(c);
		uint64_t form = ux_cur_uleb(c);
		if (attr == 0 && form == 0)
			return true; /* the end of the list; a failed cursor reads the same */
		if (attr_leaves_unit(attr, form))
			return false;
		if (form == DW_FORM_implicit_const)
			(void)ux_cur_sleb(c);
	}
}

bool ux_dwarf_units_are_independent(const struct ux_dwarf_sections *sections)
{
	struct ux_cur c = ux_dwarf_cur(sections, UX_DWARF_ABBREV);
	while (ux_cur_more(&c)) {
		if (ux_cur_uleb(&c) == 0)
			continue;      /* the end of a table */
		(void)ux_cur_uleb(&c); /* tag */
		(void)ux_cur_u8(&c);   /* children */
		if (!abbrev_attrs_stay(&c))
			return false;
	}
	return !c.failed;
}

/* Skips one abbreviation's attributes; true when one of them names a split unit. */
static bool abbrev_attrs_split(struct ux_cur *c)
{
	for (bool split = false;;) {
		uint64_t attr = ux_cur_uleb(c);
		uint64_t form = ux_cur_uleb(c);
		if (attr == 0 && form == 0)
			return split;
		split = split || attr == DW_AT_dwo_name || attr == DW_AT_GNU_dwo_name;
		if (form == DW_FORM_implicit_const)
			(void)ux_cur_sleb(c);
	}
}

bool ux_dwarf_units_may_inline(const struct ux_dwarf_sections *sections)
{
	struct ux_cur c = ux_dwarf_cur(sections, UX_DWARF_ABBREV);
	while (ux_cur_more(&c)) {
		if (ux_cur_uleb(&c) == 0)
			continue; /* the end of a table */
		uint64_t tag = ux_cur_uleb(&c);
		(void)ux_cur_u8(&c); /* children */
		if (tag == DW_TAG_inlined_subroutine || abbrev_attrs_split(&c))
			return true;
	}
	return c.failed;
}
