/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of a line program: finds where opcodes begin in 64 bytes, for all of them in parallel.
 *
 * The next opcode is unpredictable, so a branch on it is often mispredicted. A window needs no
 * branches. Each byte is an opcode or a part of an operand; from either of these two states it
 * leads to one of the two, which takes two bits. The transition of several bytes in a row is
 * composed from the transitions of their halves, so six steps give the state before each byte.
 */
#include "dwarf_line_fast.h"

#ifdef __x86_64__

#include <immintrin.h>

/*
 * The instruction sets that windows are compiled for; ux_dwarf_line_has_windows() tells whether the
 * processor has them.
 */
#define WINDOW_CODE __attribute__((target("avx2,bmi,bmi2,popcnt")))

/* Masks with a bit for each byte. Bits after the first uncommon opcode, or after operands of three
 * and more bytes, are clear. */
struct line_window {
	uint64_t rows;   /* opcodes that make a row */
	uint64_t lines;  /* DW_LNS_advance_line */
	uint64_t files;  /* DW_LNS_set_file */
	uint64_t consts; /* DW_LNS_const_add_pc */
};

/* The classes of the bytes of a window, regardless of their position. */
struct line_bytes {
	uint64_t high; /* 0x80 and above */
	uint64_t zero; /* an extended opcode */
	uint64_t two;  /* DW_LNS_advance_pc, or the size of a discriminator's opcode */
	uint64_t lines, files, consts;
	uint64_t operand; /* opcodes followed by one LEB128 */
	uint64_t rows;    /* special opcodes and DW_LNS_copy */
	uint64_t usual;   /* opcodes that the window handles */
};

static_assert(DW_LNS_advance_pc == 2, "it is the size of a discriminator's opcode, too");
static_assert(DW_LNS_set_file == 4 && DW_LNE_set_discriminator == 4, "one search finds both");

WINDOW_CODE ux_inline uint64_t line_bytes_mask(__m256i low, __m256i high)
{
	return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
							     << 32;
}

WINDOW_CODE ux_inline uint64_t line_bytes_are(__m256i low, __m256i high, uint8_t value)
{
	const __m256i v = _mm256_set1_epi8((char)value);
	return line_bytes_mask(_mm256_cmpeq_epi8(low, v), _mm256_cmpeq_epi8(high, v));
}

/* Returns all bits for each byte that makes a row. */
WINDOW_CODE ux_inline __m256i line_bytes_rows(__m256i bytes, uint8_t opcode_base)
{
	const __m256i special = _mm256_max_epu8(bytes, _mm256_set1_epi8((char)opcode_base));
	return _mm256_or_si256(_mm256_cmpeq_epi8(bytes, special),
			       _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(DW_LNS_copy)));
}

WINDOW_CODE ux_inline struct line_bytes line_bytes_read(const uint8_t *p, uint8_t opcode_base)
{
	const __m256i l = _mm256_loadu_si256((const __m256i *)(const void *)p);
	const __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)(p + sizeof(l)));
	const uint64_t columns = line_bytes_are(l, h, DW_LNS_set_column);
	struct line_bytes b = {
		.high = line_bytes_mask(l, h),
		.zero = line_bytes_are(l, h, 0),
		.two = line_bytes_are(l, h, DW_LNS_advance_pc),
		.lines = line_bytes_are(l, h, DW_LNS_advance_line),
		.files = line_bytes_are(l, h, DW_LNS_set_file),
		.consts = line_bytes_are(l, h, DW_LNS_const_add_pc),
		.rows = line_bytes_mask(line_bytes_rows(l, opcode_base),
					line_bytes_rows(h, opcode_base)),
	};
	b.operand = b.two | b.lines | b.files | columns;
	b.usual = b.rows | b.lines | b.files | columns | b.consts |
		  line_bytes_are(l, h, DW_LNS_negate_stmt);
	return b;
}

/*
 * Returns a bit for each byte before which an operand is expected. `opens`: bytes after which one
 * is expected, if they are opcodes; `goes_on`: the same, if they are part of an operand.
 */
WINDOW_CODE ux_inline uint64_t line_window_operands(uint64_t opens, uint64_t goes_on)
{
	for (unsigned n = 1; n < LINE_WINDOW; n *= 2) {
		uint64_t differ = opens ^ goes_on;
		uint64_t from_opcode = opens << n;
		uint64_t from_operand = goes_on << n | ((UINT64_C(1) << n) - 1);
		goes_on = opens ^ (differ & from_operand);
		opens ^= differ & from_opcode;
	}
	return opens << 1;
}

/* Reads the window that begins with the opcode at p; LINE_WINDOW_READ bytes must be readable. */
WINDOW_CODE ux_inline struct line_window line_window_read(const uint8_t *p, uint8_t opcode_base)
{
	struct line_bytes b = line_bytes_read(p, opcode_base);
	/*
	 * A discriminator (0, 2, 4, one byte) is an opcode with an operand of three bytes. If the 0
	 * is itself an operand, the 2 becomes an opcode, which is uncommon.
	 */
	uint64_t discriminators = b.zero & b.two >> 1 & b.files >> 2 & ~b.high >> 3;
	uint64_t inside = discriminators << 1 | discriminators << 2;
	uint64_t operands =
		line_window_operands((b.operand & ~inside) | discriminators, b.high | inside);
	uint64_t opcodes = ~operands;
	uint64_t long_operands =
		opcodes & (b.lines | b.files) & operands >> 1 & operands >> 2 & operands >> 3;
	uint64_t stops = (opcodes & ~(b.usual | discriminators)) | long_operands;
	opcodes &= ~stops & (stops - 1); /* keep the opcodes before the first stop */
	return (struct line_window){
		.rows = opcodes & b.rows,
		.lines = opcodes & b.lines,
		.files = opcodes & b.files,
		.consts = opcodes & b.consts,
	};
}

/* Returns the operand of a DW_LNS_advance_line, which has one or two bytes, as a difference of
 * places. */
ux_inline uint64_t line_window_advance(const uint8_t *operand)
{
	int32_t by = 0;
	(void)line_short_sleb(&operand, &by);
	return (uint64_t)(int64_t)by << 32;
}

/* Returns the number of rows before the first of some opcodes. */
WINDOW_CODE ux_inline unsigned line_window_rank(uint64_t rows, uint64_t opcodes)
{
	return (unsigned)__builtin_popcountll(rows & (opcodes ^ (opcodes - 1)));
}

/*
 * Adds up the changes by the opcodes between rows, for each row; the file is `file` at the start.
 */
WINDOW_CODE ux_inline void line_window_add_up(const struct line_window *w, const uint8_t *p,
					      uint64_t file, uint64_t const_pc,
					      struct line_special *sums)
{
	const uint64_t until = UINT64_MAX >> __builtin_clzll(w->rows); /* the last row */
	for (uint64_t ops = w->lines & until; ops != 0; ops &= ops - 1)
		sums[line_window_rank(w->rows, ops)].place +=
			line_window_advance(p + __builtin_ctzll(ops) + 1);
	for (uint64_t ops = w->files & until; ops != 0; ops &= ops - 1) {
		const uint8_t *operand = p + __builtin_ctzll(ops) + 1;
		uint32_t next = 0;
		(void)line_short_uleb(&operand, &next);
		sums[line_window_rank(w->rows, ops)].place += next - file;
		file = next;
	}
	for (uint64_t ops = w->consts & until; ux_unlikely(ops != 0); ops &= ops - 1)
		sums[line_window_rank(w->rows, ops)].pc += const_pc;
}

/* Runs the opcodes of a window, which has rows, up to the last row; returns the position after it.
 * There is room for LINE_WINDOW rows. */
WINDOW_CODE ux_inline const uint8_t *line_run_window(struct line_fast *f,
						     const struct line_window *w,
						     const struct line_special *specials,
						     const uint8_t *p, uint64_t const_pc)
{
	enum {
		STEP = 4, /* sums that are cleared in one step */
	};
	struct line_special sums[LINE_WINDOW];
	const unsigned n = (unsigned)__builtin_popcountll(w->rows);
	for (unsigned i = 0; i < n; i += STEP)
		memset(&sums[i], 0, STEP * sizeof(sums[0]));
	line_window_add_up(w, p, (uint32_t)f->place, const_pc, sums);
	/* the previous row is kept in registers, to avoid waiting for memory */
	uint64_t last_pc = f->last->pc, last_place = line_row_place(f->last), left = w->rows;
	for (unsigned i = 0; i < n; i++, left &= left - 1) {
		const uint8_t op = p[__builtin_ctzll(left)];
		f->pc += specials[op].pc + sums[i].pc;
		f->place += specials[op].place + sums[i].place;
		const bool idle = (last_pc < f->pc) & (last_place == f->place);
		struct ux_code_row *at = f->last + (last_pc != f->pc);
		at->pc = f->pc;
		at->file = (uint32_t)f->place;
		at->line = (uint32_t)(f->place >> 32);
		f->last = at - idle;
		f->backward |= f->pc < last_pc;
		last_pc = idle ? last_pc : f->pc;
		last_place = f->place;
	}
	return p + LINE_WINDOW - __builtin_clzll(w->rows);
}

/* Runs windows as long as they have rows, and there is room for rows. */
WINDOW_CODE const uint8_t *ux_dwarf_line_run_windows(const struct ux_dwarf_line_header *header,
						     struct line_fast *fast,
						     const struct line_special *specials,
						     const uint8_t *p, const uint8_t *end)
{
	struct line_fast f = *fast;
	const uint64_t const_pc = line_const_pc(header);
	while (end - p >= LINE_WINDOW_READ && f.end - f.last > LINE_WINDOW + 1) {
		const struct line_window w = line_window_read(p, header->opcode_base);
		if (w.rows == 0)
			break;
		p = line_run_window(&f, &w, specials, p, const_pc);
	}
	*fast = f;
	return p;
}

bool ux_dwarf_line_has_windows(const struct ux_dwarf_line_header *header)
{
	return header->opcode_base >= LINE_WINDOW_BASE_MIN && __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("popcnt");
}

#else

bool ux_dwarf_line_has_windows(const struct ux_dwarf_line_header *header)
{
	(void)header;
	return false;
}

const uint8_t *ux_dwarf_line_run_windows(const struct ux_dwarf_line_header *header,
					 struct line_fast *fast,
					 const struct line_special *specials, const uint8_t *p,
					 const uint8_t *end)
{
	(void)header, (void)fast, (void)specials, (void)end;
	return p;
}

#endif
