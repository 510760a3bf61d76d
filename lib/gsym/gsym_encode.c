/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoding one function's record and its line table: choosing the MinDelta and MaxDelta that need
 * the fewest bytes, and writing opcodes.
 */
#include "gsym_encode.h"

#include "gsym_buffer.h"
#include "gsym_draft.h"
#include "gsym_format.h"

/*
 * A special opcode holds a line delta of `range` values from min on, and an address delta of up to
 * 251 / range. Which window needs the fewest bytes depends on both deltas of every row, so the cost
 * of each candidate is computed from the rows, eight at a time. Rows of long functions are sampled
 * evenly.
 */
struct window {
	int min;
	unsigned range; /* at least 1 */
};

enum {
	LANES = 16,
	SAMPLE = 1024, /* most rows of a sample */
	FAR_LINE =
		16000,  /* replaces every larger line delta: it fits no window, but fits 16 bits */
	FAR_PC = 255,   /* replaces every larger address delta: it is over 251, and 64 times it fits
			   16 bits */
	RANGE_MAX = 64, /* widest window that is considered */
	LINE_BYTE_MAX = 63, /* SLEB128 of one byte */
	PC_BYTE_MAX = 127,  /* ULEB128 of one byte */
};

typedef int16_t lanes __attribute__((vector_size(2 * LANES)));
typedef uint16_t wrapping_lanes __attribute__((vector_size(2 * LANES)));

static_assert(SAMPLE * 8 <= UINT16_MAX, "the bytes that all rows of a sample save fit a lane");

/* The sampled rows, transposed. Lanes past the last row fit no window. */
struct sample {
	size_t n; /* groups of LANES */
	union {
		int16_t one[SAMPLE];
		lanes all[SAMPLE / LANES];
	} line,                      /* delta to the row before */
		pc;                  /* delta to the row before */
	lanes mixed[SAMPLE / LANES]; /* bytes that AdvanceLine and a special opcode save over
					AdvancePC */
	lanes more[SAMPLE / LANES];  /* bytes that a special opcode alone saves over those two,
					for a row that fits a window */
};

static void sample_row(struct sample *s, size_t i, int64_t line, uint32_t pc)
{
	s->line.one[i] = (int16_t)ux_max(ux_min(line, (int64_t)FAR_LINE), -(int64_t)FAR_LINE);
	s->pc.one[i] = (int16_t)ux_min(pc, (uint32_t)FAR_PC);
}

/*
 * Computes how many bytes a window saves for a row. Without a line delta, AdvancePC alone is enough
 * for it; else AdvanceLine has a delta of one byte, since no window has a line that takes more. A
 * pc delta over FAR_PC fits no window, so that it costs the same with all of them.
 */
ux_inline void sample_price(struct sample *s)
{
	const int16_t byte_max = PC_BYTE_MAX;
	for (size_t i = 0; i < s->n; i++) {
		lanes still = s->line.all[i] == 0;
		lanes pc_size = 1 - (s->pc.all[i] > byte_max); /* a lane that holds true is -1 */
		s->mixed[i] = pc_size & ~still;
		s->more[i] = (pc_size & still) | (2 & ~still);
	}
}

static void sample_rows(struct sample *s, const struct ux_gsym_row *rows, size_t n)
{
	size_t stride = (n - 1 + SAMPLE - 1) / SAMPLE;
	size_t count = 0;
	for (size_t i = 1; i < n; i += stride) {
		int64_t line = (int64_t)rows[i].line - (int64_t)rows[i - 1].line;
		sample_row(s, count++, line, rows[i].off - rows[i - 1].off);
	}
	for (; count % LANES != 0; count++) {
		s->line.one[count] = FAR_LINE;
		s->pc.one[count] = FAR_PC;
	}
	s->n = count / LANES;
}

/*
 * Returns how many bytes a window saves on the sample. Lines count from the window's lower edge, so
 * that those below it wrap around. They are moved by INT16_MIN, since lanes are compared with their
 * sign.
 */
ux_inline int window_gain(const struct sample *s, size_t n, struct window w)
{
	lanes sum = {0};
	const int16_t range = (int16_t)w.range, range_end = (int16_t)(INT16_MIN + (int)w.range);
	const int16_t op_end = GSYM_LINE_SPECIAL_MAX + 1, line_op_end = INT16_MIN + op_end;
	const uint16_t edge = (uint16_t)(w.min + INT16_MIN);
	for (size_t i = 0; i < n; i++) {
		lanes line = (lanes)((wrapping_lanes)s->line.all[i] - edge);
		lanes pc = s->pc.all[i] * range;
		lanes op = (lanes)((wrapping_lanes)line + (wrapping_lanes)pc);
		lanes fits = pc < op_end;
		lanes inside = (line < range_end) & (op < line_op_end);
		sum += (fits & s->mixed[i]) + (inside & s->more[i]);
	}
	/*
	 * Lanes are small and not negative, so a multiplication adds four of them up in its highest
	 * lane.
	 */
	uint64_t part[sizeof(sum) / sizeof(uint64_t)], all = 0;
	memcpy(part, &sum, sizeof(part));
	for (size_t i = 0; i < ux_countof(part); i++)
		all += part[i];
	return (int)(all * UINT64_C(0x0001000100010001) >> 48);
}

/* Replaces *best by w when w saves more. */
ux_inline void window_try(const struct sample *s, size_t n, struct window *best, int *gain,
			  struct window w)
{
	int g = window_gain(s, n, w);
	if (g > *gain) {
		*gain = g;
		*best = w;
	}
}

/*
 * Chooses a window by coordinate descent from the result that is most frequent: the lower edge at a
 * middling width, then the width at both edges, then the lower edge again. Within 1 % of an
 * exhaustive search on C and C++. n is s->n, or the same as a constant.
 */
ux_inline struct window window_descend_in(const struct sample *s, size_t n)
{
	struct window best = {-3, 10};
	int gain = window_gain(s, n, best);
	static const int8_t mins[] = {-12, -8, -5, -4, -2, -1, 0, 1, 2};
	for (size_t i = 0; i < ux_countof(mins); i++)
		window_try(s, n, &best, &gain, (struct window){mins[i], 10});
	static const uint8_t ranges[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,
					 11, 12, 13, 14, 16, 18, 20, 25, 31};
	int min = best.min;
	for (size_t i = 0; i < ux_countof(ranges); i++)
		window_try(s, n, &best, &gain, (struct window){min, ranges[i]});
	static const int8_t steps[] = {-3, -2, -1, 1, 2, 3};
	struct window w = best;
	for (size_t i = 0; i < ux_countof(steps); i++)
		window_try(s, n, &best, &gain, (struct window){w.min + steps[i], w.range});
	return best;
}

/* Most functions have few rows: their sample stays in registers. */
ux_inline struct window window_descend(struct sample *s)
{
	sample_price(s);
	switch (s->n) {
	case 1:
		return window_descend_in(s, 1);
	case 2:
		return window_descend_in(s, 2);
	default:
		return window_descend_in(s, s->n);
	}
}

#ifdef __x86_64__
/* The same with registers that hold all lanes. */
__attribute__((target("avx2"))) static struct window window_descend_wide(struct sample *s)
{
	return window_descend(s);
}
#endif

static struct window window_pick(const struct ux_gsym_row *rows, size_t n)
{
	if (n < 2)
		return (struct window){0, 1};
	struct sample s;
	sample_rows(&s, rows, n);
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return window_descend_wide(&s);
#endif
	return window_descend(&s);
}

/* Writes a row with an address delta that fits no special opcode. */
static uint8_t *encode_far_pc(uint8_t *pos, int64_t line, uint32_t pc)
{
	if (line != 0) {
		*pos++ = GSYM_LINE_ADVANCE_LINE;
		pos = gsym_sleb_put(pos, line);
	}
	*pos++ = GSYM_LINE_ADVANCE_PC;
	return ux_uleb_put(pos, pc);
}

/* Writes a row with a special opcode that holds all but `rest` of its line delta. */
static uint8_t *encode_far_line(uint8_t *pos, int64_t rest, uint8_t special)
{
	*pos++ = GSYM_LINE_ADVANCE_LINE;
	pos = gsym_sleb_put(pos, rest);
	*pos++ = special;
	return pos;
}

/*
 * Writes a row, and returns the position after it; it may write some bytes more. Which of the usual
 * forms a row has is unpredictable, so all of them are made, and one is selected without a branch.
 */
ux_inline uint8_t *encode_row(uint8_t *pos, struct window w, int64_t line, uint32_t pc)
{
	uint64_t room =
		(uint64_t)pc * w.range; /* range of the special opcode that the pc delta uses */
	if (ux_unlikely(room > GSYM_LINE_SPECIAL_MAX))
		return encode_far_pc(pos, line, pc);
	/* The nearest line delta that fits leaves the smallest rest for AdvanceLine. */
	int64_t max = ux_min((int64_t)w.range - 1, GSYM_LINE_SPECIAL_MAX - (int64_t)room);
	int64_t x = line - w.min, fit = ux_max(ux_min(x, max), (int64_t)0), rest = x - fit;
	uint32_t special = (uint32_t)(GSYM_LINE_SPECIAL + (uint64_t)fit + room);
	if (ux_unlikely(rest < -(1 << 13) || rest >= 1 << 13))
		return encode_far_line(pos, rest, (uint8_t)special);
	uint32_t two = (rest < -64) | (rest > LINE_BYTE_MAX); /* SLEB128 of two bytes */
	uint32_t sleb = ((uint32_t)rest & 0x7f) | ((uint32_t)rest << 1 & 0x7f00 & -two) | two << 7;
	uint32_t bytes = GSYM_LINE_ADVANCE_LINE | sleb << 8 | special << (16 + 8 * two);
	uint32_t far =
		-(uint32_t)(rest != 0); /* a mask, which compilers do not turn into a branch */
	bytes = (bytes & far) | (special & ~far);
	uint32_t size = 1 + ((2 + two) & far);
	if (ux_unlikely(line == 0 && rest != 0 && pc <= PC_BYTE_MAX)) {
		bytes = GSYM_LINE_ADVANCE_PC | pc << 8;
		size = 2;
	}
	for (int i = 0; i < 4; i++)
		pos[i] = (uint8_t)(bytes >> 8 * i);
	return pos + size;
}

/*
 * FirstLine makes no row. Shifting it makes the first row fit one byte even in a window that does
 * not contain 0.
 */
static uint32_t window_first_line(struct window w, uint32_t line)
{
	int64_t max = w.min + (int64_t)w.range - 1;
	int64_t shift = w.min > 0 ? w.min : ux_min(max, (int64_t)0);
	int64_t first = (int64_t)line - shift;
	return first < 0 || first > UINT32_MAX ? line : (uint32_t)first;
}

/* A run of rows of one file, as sets of references have it. */
enum {
	RUN_FILE,
	RUN_BYTES,
	RUN_WORDS,
};

bool ux_gsym_encode_lines(struct ux_out *out, struct ux_gsym_refs *sets,
			  const struct ux_gsym_row *rows, size_t n)
{
	assert(n > 0);
	if (!ux_gsym_refs_reserve(sets, sets->size + RUN_WORDS * n))
		return false;
	struct window w = window_pick(rows, n);
	struct ux_gsym_row at = {
		.off = 0, .line = window_first_line(w, rows[0].line), .file = rows[0].file};
	struct gsym_buffer buf;
	gsym_buffer_start(&buf, out);
	gsym_buffer_sleb(&buf, w.min);
	gsym_buffer_sleb(&buf, w.min + (int64_t)w.range - 1);
	gsym_buffer_uleb(&buf, at.line);
	uint32_t *run = sets->data + sets->size; /* run of the last row */
	uint8_t *pos = buf.pos;
	uint32_t before = 0, first = (uint32_t)(pos - buf.bytes); /* bytes that were flushed, and
								     that are before the run */
	for (size_t i = 0; i < n; i++) {
		if (ux_unlikely(pos >= buf.bytes + GSYM_BUFFER_SIZE)) {
			before += (uint32_t)(pos - buf.bytes);
			buf.pos = pos;
			gsym_buffer_flush(&buf);
			pos = buf.pos;
		}
		/* The file changes unpredictably, too. */
		uint32_t now = before + (uint32_t)(pos - buf.bytes);
		uint32_t changed = rows[i].file != at.file;
		run += RUN_WORDS * changed;
		first ^= (first ^ now) & -changed;
		pos = encode_row(pos, w, (int64_t)rows[i].line - (int64_t)at.line,
				 rows[i].off - at.off);
		run[RUN_FILE] = rows[i].file;
		run[RUN_BYTES] = before + (uint32_t)(pos - buf.bytes) - first;
		at = rows[i];
	}
	*pos++ = GSYM_LINE_END;
	run[RUN_BYTES]++;
	sets->size = (size_t)(run + RUN_WORDS - sets->data);
	buf.pos = pos;
	gsym_buffer_flush(&buf);
	return true;
}

/* Opens a block of a record; its length is known when it is closed. */
static size_t record_open_block(struct ux_out *out, uint32_t type)
{
	ux_out_u32(out, type);
	ux_out_u32(out, 0);
	return out->size;
}

static void record_close_block(struct ux_out *out, size_t start)
{
	assert(out->failed || out->size >= start);
	ux_out_patch_u32(out, start - sizeof(uint32_t), (uint32_t)(out->size - start));
}

/* Writes merged functions. Only their names are stored: their ranges are the owner's. */
static void record_put_merged(struct ux_out *out, const struct ux_gsym_function *f)
{
	ux_out_u32(out, (uint32_t)f->n_merged);
	for (size_t i = 0; i < f->n_merged; i++) {
		ux_out_u32(out, GSYM_RECORD_MIN);
		ux_out_u32(out, f->size);
		ux_out_u32(out, f->merged[i]);
		ux_out_u32(out, GSYM_INFO_END);
		ux_out_u32(out, 0);
	}
}

void ux_gsym_put_function(struct ux_out *out, const struct ux_gsym_function *f,
			  const struct ux_gsym_draft *draft, const struct ux_gsym_numbers *numbers)
{
	ux_out_align(out, GSYM_RECORD_ALIGN);
	ux_out_u32(out, f->size);
	ux_out_u32(out, f->name);
	if (draft->n_rows > 0) {
		size_t start = record_open_block(out, GSYM_INFO_LINES);
		ux_gsym_draft_put_lines(out, draft, numbers);
		record_close_block(out, start);
	}
	if (draft->n_inlines > 0) {
		size_t start = record_open_block(out, GSYM_INFO_INLINES);
		ux_gsym_draft_put_inlines(out, draft, numbers, f->size, f->name);
		record_close_block(out, start);
	}
	if (f->n_merged > 0) {
		size_t start = record_open_block(out, GSYM_INFO_MERGED);
		record_put_merged(out, f);
		record_close_block(out, start);
	}
	ux_out_u32(out, GSYM_INFO_END);
	ux_out_u32(out, f->before > 0 ? GSYM_END_BEFORE : 0);
	if (f->before > 0)
		ux_out_u32(out, f->before);
	ux_out_align(out, GSYM_RECORD_ALIGN);
}

void ux_gsym_encode_function(struct ux_out *out, const struct ux_gsym_function *f)
{
	ux_cleanup(ux_gsym_drafter_deinit) struct ux_gsym_drafter drafter = {0};
	ux_cleanup(ux_arena_deinit) struct ux_arena arena;
	struct ux_gsym_draft draft;
	ux_arena_init(&arena, SIZE_MAX);
	if (ux_gsym_draft_make(&drafter, f, &arena, &draft))
		ux_gsym_put_function(out, f, &draft, &(struct ux_gsym_numbers){0});
	else
		out->failed = true;
}
