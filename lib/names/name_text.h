/* SPDX-License-Identifier: Apache-2.0 */
/* The output buffer of a demangler, with the budget for demangling one name. */
#ifndef UX_NAME_TEXT_H
#define UX_NAME_TEXT_H

#include "bytes.h"

enum {
	/*
	 * Budget of steps for reading and writing one name. A step is the work for one production
	 * of a grammar or one node of a tree, 10 to 100 ns, so hostile names take at most 10 ms.
	 * The costliest of a million real names takes 18,000.
	 */
	UX_NAME_STEPS_MAX = 1 << 16,
	UX_NAME_STEP_BYTES = 64, /* bytes that may be moved or compared for one step */
};

/*
 * A text that is written into the caller's buffer. It fails when the buffer is full, the steps are
 * used up, or a demangler's limit of recursion is reached. After a failure nothing more is written
 * and every further charge is refused; the caller then uses the name unchanged. A failure cannot be
 * undone.
 */
struct ux_name_text {
	char *start, *pos, *end;
	unsigned steps; /* remaining steps */
	unsigned depth; /* current depth of recursion */
	bool failed;
};

ux_inline struct ux_name_text ux_name_text_make(char *buffer, size_t size)
{
	return (struct ux_name_text){
		.start = buffer, .pos = buffer, .end = buffer + size, .steps = UX_NAME_STEPS_MAX};
}

ux_inline void ux_name_text_fail(struct ux_name_text *t)
{
	t->failed = true;
	t->steps = 0;
	t->pos = t->end = t->start;
}

ux_inline bool ux_name_text_charge(struct ux_name_text *t, size_t steps)
{
	if (ux_unlikely(t->steps < steps || t->failed)) {
		ux_name_text_fail(t);
		return false;
	}
	t->steps -= (unsigned)steps;
	return true;
}

/* Charges the copying or comparing of n bytes. */
ux_inline bool ux_name_text_charge_bytes(struct ux_name_text *t, size_t n)
{
	return ux_name_text_charge(t, n / UX_NAME_STEP_BYTES + 1);
}

/*
 * Enters a level of recursion, which costs one step. After each true the caller must do `depth--`.
 */
ux_inline bool ux_name_text_enter(struct ux_name_text *t, unsigned depth_max)
{
	if (ux_unlikely(t->depth >= depth_max)) {
		ux_name_text_fail(t);
		return false;
	}
	if (!ux_name_text_charge(t, 1))
		return false;
	t->depth++;
	return true;
}

ux_inline void ux_name_text_put(struct ux_name_text *t, const char *s, size_t n)
{
	if (ux_unlikely((size_t)(t->end - t->pos) < n)) {
		ux_name_text_fail(t);
		return;
	}
	memcpy(t->pos, s, n);
	t->pos += n;
}

/* As memcpy(); most pieces of names are short, and a call takes longer than copying them. */
ux_inline void name_text_copy(char *to, const char *s, size_t n)
{
	uint64_t first, last;
	uint32_t low, high;
	if (n > 2 * sizeof(first)) {
		memcpy(to, s, n);
	} else if (n >= sizeof(first)) {
		memcpy(&first, s, sizeof(first));
		memcpy(&last, s + n - sizeof(last), sizeof(last));
		memcpy(to, &first, sizeof(first));
		memcpy(to + n - sizeof(last), &last, sizeof(last));
	} else if (n >= sizeof(low)) {
		memcpy(&low, s, sizeof(low));
		memcpy(&high, s + n - sizeof(high), sizeof(high));
		memcpy(to, &low, sizeof(low));
		memcpy(to + n - sizeof(high), &high, sizeof(high));
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = s[i];
	}
}

/* As ux_name_text_put(), for a short piece with a size that the compiler cannot know. */
ux_inline void ux_name_text_put_short(struct ux_name_text *t, const char *s, size_t n)
{
	if (ux_unlikely((size_t)(t->end - t->pos) < n)) {
		ux_name_text_fail(t);
		return;
	}
	name_text_copy(t->pos, s, n);
	t->pos += n;
}

ux_inline void ux_name_text_char(struct ux_name_text *t, char c)
{
	if (ux_unlikely(t->pos == t->end)) {
		ux_name_text_fail(t);
		return;
	}
	*t->pos++ = c;
}

ux_inline void ux_name_text_cstr(struct ux_name_text *t, const char *s)
{
	ux_name_text_put(t, s, strlen(s));
}

#define UX_NAME_TEXT_PUT(t, literal) ux_name_text_put((t), "" literal "", sizeof(literal) - 1)

/* Returns the last character; NUL when the text is empty. */
ux_inline char ux_name_text_last(const struct ux_name_text *t)
{
	return t->pos > t->start ? t->pos[-1] : '\0';
}

/* Removes everything from `from` on. */
ux_inline void ux_name_text_cut(struct ux_name_text *t, char *from)
{
	if (!t->failed)
		t->pos = from;
}

void ux_name_text_number(struct ux_name_text *t, uint64_t v);
void ux_name_text_hex(struct ux_name_text *t, uint64_t v);

/* Writes a code point as UTF-8. */
void ux_name_text_utf8(struct ux_name_text *t, uint32_t c);

/* Moves the text from `middle` on before the text between `first` and `middle`. */
void ux_name_text_rotate(struct ux_name_text *t, char *first, char *middle);

/*
 * Variants of Punycode (RFC 3492). They differ in the digits from 26 on; both use '_' as the
 * delimiter.
 */
enum ux_punycode {
	UX_PUNYCODE_RUST,  /* 0 to 9 */
	UX_PUNYCODE_SWIFT, /* A to J; ASCII characters that the grammar does not allow are encoded
			      as 0xd800 and up */
};

/* Writes the identifier that the n bytes at s encode. Malformed input fails the text. */
void ux_name_text_punycode(struct ux_name_text *t, const char *s, size_t n, enum ux_punycode form);

#endif
