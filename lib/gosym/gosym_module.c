/* SPDX-License-Identifier: Apache-2.0 */
/* Finds Go's moduledata. */
#include "gosym.h"

/* Indexes of words of moduledata. They are the same since Go 1.16. */
enum {
	MODULE_TABLE = 0,
	MODULE_NAMES = 1, /* this and the following four are slices: address, length, capacity */
	MODULE_UNITS = 4,
	MODULE_FILES = 7,
	MODULE_PROGRAMS = 10,
	MODULE_FUNCTIONS = 13,
	MODULE_MINPC = 20,
	MODULE_MAXPC = 21,
	MODULE_TEXT = 22,

	/* the pointer to go:func.*, by version of Go */
	MODULE_GOFUNC_118 = 38,
	MODULE_GOFUNC_120 = 40,
	MODULE_GOFUNC_127 = 43,
	/* range in which it is searched in later versions */
	MODULE_GOFUNC_FIRST = 32,
	MODULE_GOFUNC_LAST = 64,
	WORDS_TRIED = 1 << 12, /* addresses that hold the table's address and are checked */
};

struct finder {
	const struct ux_gosym_image *image;
	const struct ux_gosym_table *table;
	unsigned left; /* remainder of WORDS_TRIED */
};

static uint64_t word_at(const struct finder *f, uint64_t module, unsigned number)
{
	uint64_t value = 0;
	(void)ux_gosym_image_word(f->image, module + (uint64_t)number * f->table->word,
				  f->table->word, &value);
	return value;
}

/* Returns the pc of a part of the table. */
static uint64_t part_pc(const struct ux_gosym_table *t, struct ux_bytes part)
{
	return t->pc + (uint64_t)(part.data - t->bytes.data);
}

static bool is_module(const struct finder *f, uint64_t pc)
{
	const struct ux_gosym_table *t = f->table;
	uint64_t text = word_at(f, pc, MODULE_TEXT), min = word_at(f, pc, MODULE_MINPC);
	return word_at(f, pc, MODULE_TABLE) == t->pc &&
	       word_at(f, pc, MODULE_NAMES) == part_pc(t, t->names) &&
	       word_at(f, pc, MODULE_UNITS) == part_pc(t, t->units) &&
	       word_at(f, pc, MODULE_FUNCTIONS) == part_pc(t, t->functions) && text <= min &&
	       min < word_at(f, pc, MODULE_MAXPC) && ux_gosym_image_is_code(f->image, min, min + 1);
}

/*
 * Returns true when word `number` may be the pointer to go:func.* of Go 1.26 and later: there it is
 * the last part of pclntab, and the next word is the end of pclntab. When the table's size is
 * unknown, the end must be in its segment.
 */
static bool ends_table(const struct finder *f, uint64_t module, unsigned number)
{
	const struct ux_gosym_table *t = f->table;
	uint64_t lo = word_at(f, module, number), end = word_at(f, module, number + 1);
	return lo > part_pc(t, t->functions) && lo <= end && end - t->pc <= t->bytes.size;
}

/* Returns the index of the pointer to go:func.*; 0: unknown. *ret_ends is true when the next word
 * is the end of pclntab. */
static unsigned gofunc_number(const struct finder *f, uint64_t module, bool *ret_ends)
{
	uint64_t text_start = 0;
	*ret_ends = false;
	if (f->table->layout == UX_GOSYM_GO118)
		return MODULE_GOFUNC_118;
	(void)ux_gosym_image_word(f->image, f->table->text_at, f->table->word, &text_start);
	if (text_start != 0)
		return MODULE_GOFUNC_120;
	*ret_ends = true;
	if (ends_table(f, module, MODULE_GOFUNC_120))
		return MODULE_GOFUNC_120;
	if (ends_table(f, module, MODULE_GOFUNC_127))
		return MODULE_GOFUNC_127;
	for (unsigned i = MODULE_GOFUNC_FIRST; i < MODULE_GOFUNC_LAST; i++)
		if (ends_table(f, module, i))
			return i;
	return 0;
}

static void read_module(const struct finder *f, uint64_t pc, struct ux_gosym_module *ret)
{
	bool ends = false;
	unsigned gofunc = gofunc_number(f, pc, &ends);
	*ret = (struct ux_gosym_module){.pc = pc, .text = word_at(f, pc, MODULE_TEXT)};
	if (gofunc == 0)
		return;
	ret->inline_pc = word_at(f, pc, gofunc);
	ret->sections = word_at(f, pc, gofunc + 1 + ends);
	ret->n_sections = word_at(f, pc, gofunc + 2 + ends);
	if (ret->n_sections > UX_GOSYM_TEXTS_MAX)
		ret->n_sections = 0;
}

static bool try_module(struct finder *f, uint64_t pc, struct ux_gosym_module *ret)
{
	if (f->left == 0 || !is_module(f, pc))
		return false;
	read_module(f, pc, ret);
	return true;
}

/* Finds the next aligned word of this value, from *pos on, and sets *pos to it. */
static bool next_word(struct ux_bytes bytes, const uint8_t *value, unsigned size, size_t *pos)
{
	for (size_t i = *pos; i + size <= bytes.size; i += size) {
		if (memcmp(bytes.data + i, value, size) != 0)
			continue;
		*pos = i;
		return true;
	}
	return false;
}

static bool search_segment(struct finder *f, const struct ux_gosym_segment *s,
			   struct ux_gosym_module *ret)
{
	unsigned size = f->table->word;
	uint64_t word = f->image->swap ? __builtin_bswap64(f->table->pc) : f->table->pc;
	uint32_t half = (uint32_t)f->table->pc;
	half = f->image->swap ? __builtin_bswap32(half) : half;
	const void *value = size == 4 ? (const void *)&half : (const void *)&word;
	for (size_t pos = -s->pc & (size - 1); next_word(s->bytes, value, size, &pos);
	     pos += size) {
		if (try_module(f, s->pc + pos, ret))
			return true;
		if (f->left-- <= 1)
			return false;
	}
	return false;
}

/*
 * Checks the words that have the table's address as their value only after relocation by the
 * loader.
 */
static bool search_words(struct finder *f, struct ux_gosym_module *ret)
{
	for (size_t i = 0; i < f->image->n_words && f->left > 0; i++) {
		if (f->image->words[i].value != f->table->pc)
			continue;
		if (try_module(f, f->image->words[i].pc, ret))
			return true;
		f->left--;
	}
	return false;
}

enum ux_code ux_gosym_module_find(const struct ux_gosym_image *image,
				  const struct ux_gosym_table *table, uint64_t hint,
				  struct ux_gosym_module *ret, struct ux_error *err)
{
	struct finder f = {image, table, WORDS_TRIED};
	(void)err;
	if (hint != 0 && try_module(&f, hint, ret))
		return UX_OK;
	if (search_words(&f, ret))
		return UX_OK;
	for (int writable = 1; writable >= 0; writable--)
		for (size_t i = 0; i < image->n_segments && f.left > 0; i++)
			if (image->segments[i].writable == (bool)writable &&
			    search_segment(&f, &image->segments[i], ret))
				return UX_OK;
	return UX_ENOTFOUND;
}

/* An entry of textsectmap is {offset of the part's first byte, offset of its end, pc}. */
uint64_t ux_gosym_module_pc(const struct ux_gosym_image *image, const struct ux_gosym_table *table,
			    const struct ux_gosym_module *module, uint64_t off)
{
	unsigned word = table->word;
	for (uint64_t i = 0; module->n_sections > 1 && i < module->n_sections; i++) {
		uint64_t at = module->sections + i * 3 * word, lo = 0, end = 0, pc = 0;
		if (!ux_gosym_image_word(image, at, word, &lo) ||
		    !ux_gosym_image_word(image, at + word, word, &end) ||
		    !ux_gosym_image_word(image, at + 2 * word, word, &pc))
			break;
		bool last = i + 1 == module->n_sections;
		if (off >= lo && (off < end || (last && off == end)))
			return pc + (off - lo);
	}
	return module->text + off;
}
