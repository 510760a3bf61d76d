/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sequences of a CRuby (vm_core.h, iseq.c, iseq.h). */
#include "ruby_stack.h"

enum {
	/* struct RBasic */
	FLAGS_TYPE = 0x1f,
	TYPE_STRING = 5,
	TYPE_ARRAY = 7,
	TYPE_IMEMO = 0x1a,
	IMEMO_SHIFT = 12,
	IMEMO_MASK = 0xf,
	IMEMO_ISEQ = 7,
	/* RString, RArray */
	STRING_NOEMBED = 1 << 13, /* the text is not in the object */
	STRING_SHIFT = 14,        /* shift of the length of embedded text in the flags */
	STRING_MASK = 0x1f,
	ARRAY_EMBED = 1 << 13, /* the items are in the object */
	OBJECT_DATA = 16,
	STRING_DATA = 24, /* the address of the text, or embedded text after its length */
	ARRAY_POINTER = 32,
	/* rb_iseq_t */
	ISEQ_BODY = 16,
	BODY_SIZE = 4, /* size in words */
	BODY_WORDS = 8,
	BODY_PATH = 64,
	BODY_LABEL = 80,
	BODY_FIRST_LINE = 88,
	LINES_SIZE = 16, /* offset from the address of the lines */
	LINES_INDEX = 24,
	LINE_ENTRY = 12, /* line_no, node_id, events */
	/* struct succ_index_table: ranks of the first 54 positions, followed by blocks of 512
	 * positions */
	FIRST_POSITIONS = 54,
	FIRST_WORD = 9, /* positions in a word, with 7 bits each */
	BLOCKS_AT = 48,
	BLOCK_POSITIONS = 512,
	BLOCK_BYTES = 80,
	BLOCK_SMALL = 8, /* ranks of the words of a block, with 9 bits each */
	BLOCK_BITS = 16,
	TEXT_MAX = 1 << 16,
};

bool ux_ruby_iseq_read(struct ux_memory *m, const struct ux_ruby_layout *layout, uint64_t addr,
		       struct ux_ruby_iseq *ret)
{
	uint64_t flags = 0, body = 0;
	*ret = (struct ux_ruby_iseq){.layout = layout, .name = "", .file = ""};
	if (!ux_memory_plausible(addr) || !ux_memory_read(m, addr, &flags, sizeof(flags)) ||
	    (flags & FLAGS_TYPE) != TYPE_IMEMO ||
	    (flags >> IMEMO_SHIFT & IMEMO_MASK) != IMEMO_ISEQ ||
	    !ux_memory_pointer(m, addr + ISEQ_BODY, &body) ||
	    !ux_memory_read(m, body, ret->body, sizeof(ret->body)))
		return false;
	int64_t first = (int64_t)ux_field_u64(ret->body, BODY_FIRST_LINE) >> 1; /* a Fixnum */
	ret->first_line = first > 0 && first <= UINT32_MAX ? (uint32_t)first : 0;
	ret->words = ux_field_u64(ret->body, BODY_WORDS);
	return true;
}

bool ux_ruby_iseq_unchanged(struct ux_memory *m, uint64_t addr, const struct ux_ruby_iseq *iseq)
{
	struct ux_ruby_iseq now;
	return ux_ruby_iseq_read(m, iseq->layout, addr, &now) && now.words == iseq->words &&
	       now.first_line == iseq->first_line &&
	       ux_field_u64(now.body, BODY_LABEL) == ux_field_u64(iseq->body, BODY_LABEL) &&
	       ux_field_u64(now.body, BODY_PATH) == ux_field_u64(iseq->body, BODY_PATH);
}

/* Finds the address and the length of the text of a String. Returns false when it is not a
 * String. */
static bool ruby_string_find(struct ux_memory *m, const struct ux_ruby_layout *layout,
			     uint64_t addr, uint64_t *ret, uint64_t *ret_length)
{
	uint64_t flags = 0;
	if (!ux_memory_plausible(addr) || !ux_memory_read(m, addr, &flags, sizeof(flags)) ||
	    (flags & FLAGS_TYPE) != TYPE_STRING)
		return false;
	if ((flags & STRING_NOEMBED) == 0 && !layout->length_near) {
		*ret_length = flags >> STRING_SHIFT & STRING_MASK;
		*ret = addr + OBJECT_DATA;
		return true;
	}
	*ret = addr + STRING_DATA;
	if (!ux_memory_read(m, addr + OBJECT_DATA, ret_length, sizeof(*ret_length)))
		return false;
	return (flags & STRING_NOEMBED) == 0 || ux_memory_read(m, *ret, ret, sizeof(*ret));
}

/* Reads the text of a String. The text is "" when it is not a String. */
static enum ux_code ruby_string_read(struct ux_memory *m, const struct ux_ruby_layout *layout,
				     uint64_t addr, struct ux_arena *a, const char **ret,
				     struct ux_error *err)
{
	uint64_t length = 0, text = 0;
	*ret = "";
	if (!ruby_string_find(m, layout, addr, &text, &length) || length > TEXT_MAX)
		return UX_OK;
	struct ux_arena_mark mark = ux_arena_mark(a);
	char *copy = ux_arena_array(a, char, length + 1);
	if (!copy)
		return ux_arena_fail(a, err);
	copy[length] = '\0';
	if (ux_memory_read(m, text, copy, length))
		*ret = copy;
	else
		ux_arena_rewind(a, mark);
	return UX_OK;
}

/* Returns the path of a file. `path` is a String, or an array whose first item is the path and
 * the second the real path. */
static uint64_t ruby_iseq_path(struct ux_memory *m, uint64_t path)
{
	uint64_t flags = 0, items = path + OBJECT_DATA, first = 0;
	if (!ux_memory_plausible(path) || !ux_memory_read(m, path, &flags, sizeof(flags)) ||
	    (flags & FLAGS_TYPE) != TYPE_ARRAY)
		return path;
	if ((flags & ARRAY_EMBED) == 0 &&
	    !ux_memory_read(m, path + ARRAY_POINTER, &items, sizeof(items)))
		return 0;
	return ux_memory_read(m, items, &first, sizeof(first)) ? first : 0;
}

enum ux_code ux_ruby_iseq_read_names(struct ux_memory *m, struct ux_ruby_iseq *iseq,
				     struct ux_arena *a, struct ux_error *err)
{
	uint64_t path = ruby_iseq_path(m, ux_field_u64(iseq->body, BODY_PATH));
	UX_TRY(ruby_string_read(m, iseq->layout, ux_field_u64(iseq->body, BODY_LABEL), a,
				&iseq->name, err));
	return ruby_string_read(m, iseq->layout, path, a, &iseq->file, err);
}

/* Counts the entries that begin at or before a position. iseq.c stores a bit for each position,
 * and running counts; for the first positions the counts are stored in packed form. */
static bool ruby_lines_rank(struct ux_memory *m, uint64_t index, uint64_t position, uint64_t *ret)
{
	uint64_t word = 0;
	uint8_t block[BLOCK_BYTES];
	if (position < FIRST_POSITIONS) {
		if (!ux_memory_read(m, index + 8 * (position / FIRST_WORD), &word, sizeof(word)))
			return false;
		*ret = word >> 7 * (position % FIRST_WORD) & 0x7f;
		return true;
	}
	position -= FIRST_POSITIONS;
	if (!ux_memory_read(m, index + BLOCKS_AT + BLOCK_BYTES * (position / BLOCK_POSITIONS),
			    block, sizeof(block)))
		return false;
	unsigned bit = (unsigned)(position % BLOCK_POSITIONS), small = bit / 64;
	uint64_t ranks = ux_field_u64(block, BLOCK_SMALL);
	uint64_t before = small == 0 ? 0 : ranks >> 9 * (small - 1) & 0x1ff;
	uint64_t bits = ux_field_u64(block, BLOCK_BITS + 8 * small) << (63 - bit % 64);
	*ret = ux_field_u32(block, 0) + before + (uint64_t)__builtin_popcountll(bits);
	return true;
}

uint32_t ux_ruby_iseq_line(struct ux_memory *m, const struct ux_ruby_iseq *iseq, uint64_t offset)
{
	uint64_t position = offset / UX_RUBY_WORD, n = 1;
	int32_t line = 0;
	if (!iseq->layout) /* there was no iseq to copy */
		return 0;
	const uint8_t *lines = iseq->body + iseq->layout->lines;
	uint64_t entries = ux_field_u64(lines, 0);
	uint32_t size = ux_field_u32(lines, LINES_SIZE);
	if (position >= ux_field_u32(iseq->body, BODY_SIZE) || size == 0)
		return 0;
	if (size > 1 && !ruby_lines_rank(m, ux_field_u64(lines, LINES_INDEX), position, &n))
		return 0;
	if (n == 0 || n > size ||
	    !ux_memory_read(m, entries + LINE_ENTRY * (n - 1), &line, sizeof(line)))
		return 0;
	return line > 0 ? (uint32_t)line : 0;
}
