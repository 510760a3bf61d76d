/* SPDX-License-Identifier: Apache-2.0 */
/* Skipping DIEs by the steps of their abbreviations, many in a row. */
#ifndef UX_DWARF_STRIDE_H
#define UX_DWARF_STRIDE_H

#include "dwarf_die.h"
#include "leb.h"

/* The data of a unit that a stride needs. */
struct ux_dwarf_strider {
	const struct ux_dwarf_step *steps;
	size_t n_steps;
	const uint8_t *unit;  /* the unit's first byte; DW_AT_sibling counts from it */
	const uint8_t *limit; /* a DIE that begins before it can be read without checks */
	const uint8_t *end;   /* end of the unit */
};

enum {
	/* Most bytes of a DIE that are read without checks. */
	UX_DWARF_STRIDE_MARGIN = UX_DWARF_STEP_MAX + UX_DWARF_STEP_TEXT + 2 * 0x80 + 8,
};

/* Makes the strider of a unit; c is a cursor over its DIEs. */
ux_inline struct ux_dwarf_strider ux_dwarf_strider_of(const struct ux_dwarf_context *ctx,
						      const struct ux_cur *c)
{
	bool room = ux_cur_left(c) > UX_DWARF_STRIDE_MARGIN && !c->swap &&
		    ctx->abbrevs.n_steps >= UX_DWARF_STEPS_MIN;
	return (struct ux_dwarf_strider){
		.steps = ctx->abbrevs.steps,
		.n_steps = ctx->abbrevs.n_steps,
		.unit = c->start + ctx->unit->off,
		.limit = room ? c->end - UX_DWARF_STRIDE_MARGIN : c->start,
		.end = c->end,
	};
}

/* Returns the step of the DIE at `die`, which is before the limit; NULL when its code has none. */
ux_inline const struct ux_dwarf_step *ux_dwarf_stride_step(const struct ux_dwarf_strider *s,
							   const uint8_t *die)
{
	size_t code = *die;
	static_assert(UX_DWARF_STEPS_MIN == 0x80, "each code of one byte has a step");
	if (ux_likely(code < 0x80))
		return &s->steps[code];
	code = (code & 0x7f) | (size_t)die[1] << 7;
	/* a padded code would get the step of a one-byte code, which has a different size */
	return code >= 0x80 && code < s->n_steps ? &s->steps[code] : NULL;
}

/*
 * Moves `die` past the content of the DIE's text, so that the offsets of the step apply after the
 * text. NULL when the text is long.
 */
ux_inline const uint8_t *ux_dwarf_stride_text(const struct ux_dwarf_step *step, const uint8_t *die)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t text = ux_leb_window(die + step->text);
	uint64_t nul = (text - ones) & ~text & ones << 7; /* its lowest bit belongs to the NUL */
	return ux_likely(nul != 0) ? die + __builtin_ctzll(nul) / 8 + 1 : NULL;
}

/*
 * Returns the position after the attributes of a DIE with a step that is not loose. NULL when its
 * text or a block is long.
 */
ux_inline const uint8_t *ux_dwarf_stride_pass(const struct ux_dwarf_step *step, const uint8_t *die)
{
	if ((step->flags & UX_STEP_TEXT) != 0) {
		die = ux_dwarf_stride_text(step, die);
		if (ux_unlikely(!die))
			return NULL;
	}
	if ((step->flags & UX_STEP_BLOCK) != 0) {
		uint8_t length = die[step->block];
		if (ux_unlikely(length >= 0x80))
			return NULL;
		die += length;
	}
	if ((step->flags & UX_STEP_SECOND) != 0) {
		uint8_t length = die[step->sibling];
		if (ux_unlikely(length >= 0x80))
			return NULL;
		die += length;
	}
	return die + step->size;
}

/*
 * Returns the position of the DIE's sibling, for a step with UX_STEP_SIBLING. NULL when the sibling
 * is not ahead, or a text before the attribute is long.
 */
ux_inline const uint8_t *ux_dwarf_stride_jump(const struct ux_dwarf_strider *s,
					      const struct ux_dwarf_step *step, const uint8_t *die)
{
	uint32_t sibling;
	if ((step->flags & UX_STEP_TEXT) != 0) {
		die = ux_dwarf_stride_text(step, die);
		if (ux_unlikely(!die))
			return NULL;
	}
	memcpy(&sibling, die + step->sibling, sizeof(sibling));
	if (ux_unlikely(sibling > (size_t)(s->end - s->unit)))
		return NULL;
	const uint8_t *to = s->unit + sibling;
	if (ux_unlikely(to <= die + step->size))
		return NULL;
	/* The hardware prefetcher cannot predict the target of a jump. */
	for (size_t ahead = 64; ahead <= 512; ahead += 64)
		__builtin_prefetch(to + ahead);
	return to;
}

/*
 * Moves `die` by the size of its step, which is compared with the size of the previous DIE:
 * parameters, types and variables come in runs of one size. While the guess is right, the processor
 * goes on to the next DIE before the size has been loaded.
 */
ux_inline const uint8_t *ux_dwarf_stride_fixed(const uint8_t *die, size_t size, size_t *guess)
{
	size_t guessed = *guess;
	if (size == guessed) {
		__asm__("" : "+r"(guessed)); /* so that the compiler does not use `size` here */
		return die + guessed;
	}
	*guess = size;
	return die + size;
}

/*
 * Skips DIEs as long as their steps allow it and have none of the `stop` flags. DIEs that have the
 * `jump` flag are skipped with their children. Stops as soon as *depth is below `floor`, before any
 * other DIE, and near the end of the unit. Returns the position where it stopped; the number of
 * skipped DIEs is added to *passed.
 */
ux_inline const uint8_t *ux_dwarf_stride(const struct ux_dwarf_strider *s, const uint8_t *die,
					 unsigned stop, unsigned jump, uint32_t floor,
					 uint32_t *depth, uint64_t *passed)
{
	const unsigned special = stop | jump | UX_STEP_TEXT | UX_STEP_BLOCK;
	uint32_t now = *depth;
	uint64_t n = 0;
	size_t guess = 0;
	for (; die < s->limit && now >= floor; n++) {
		const struct ux_dwarf_step *step = ux_dwarf_stride_step(s, die);
		if (ux_unlikely(!step))
			break;
		if (ux_likely((step->flags & special) == 0)) {
			die = ux_dwarf_stride_fixed(die, step->size, &guess);
			now += (uint32_t)(int32_t)step->depth;
			continue;
		}
		if ((step->flags & stop) != 0)
			break;
		bool jumps = (step->flags & jump) != 0;
		const uint8_t *next = jumps ? ux_dwarf_stride_jump(s, step, die)
					    : ux_dwarf_stride_pass(step, die);
		if (ux_unlikely(!next))
			break;
		die = next;
		now += jumps ? 0 : (uint32_t)(int32_t)step->depth;
	}
	*depth = now;
	*passed += n;
	return die;
}

#endif
