/* SPDX-License-Identifier: Apache-2.0 */
/* Slices: pointer and size of bytes that the slice does not own. They are passed by value. */
#ifndef UX_BYTES_H
#define UX_BYTES_H

#include "base.h"

/* data may be NULL when size is 0; text in a slice has no NUL. */
struct ux_bytes {
	const uint8_t *data;
	size_t size;
};

#define UX_BYTES_NONE ((struct ux_bytes){NULL, 0})

/* Returns the last byte of the slice that is c, or NULL. */
static inline const uint8_t *ux_bytes_find_last(struct ux_bytes s, uint8_t c)
{
	/* not memrchr(): when this is inlined, gcc 14 assumes that the slice may be NULL there */
	for (size_t i = s.size; i > 0; i--)
		if (s.data[i - 1] == c)
			return s.data + i - 1;
	return NULL;
}

/* The slice of a string literal or of a char array, without its NUL. */
#define UX_STR(literal) ((struct ux_bytes){(const uint8_t *)("" literal ""), sizeof(literal) - 1})

static inline struct ux_bytes ux_bytes(const void *data, size_t size)
{
	return (struct ux_bytes){data, size};
}

static inline struct ux_bytes ux_bytes_cstr(const char *s)
{
	return ux_bytes(s, s ? strlen(s) : 0);
}

static inline bool ux_bytes_eq(struct ux_bytes a, struct ux_bytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Compares as memcmp does; a slice comes after its own prefixes. */
static inline int ux_bytes_cmp(struct ux_bytes a, struct ux_bytes b)
{
	size_t n = ux_min(a.size, b.size);
	int r = n ? memcmp(a.data, b.data, n) : 0;
	return r != 0 ? r : (a.size > b.size) - (a.size < b.size);
}

static inline bool ux_bytes_starts(struct ux_bytes s, struct ux_bytes prefix)
{
	return s.size >= prefix.size && ux_bytes_eq(ux_bytes(s.data, prefix.size), prefix);
}

/*
 * Returns whether the name ends with the suffix and is longer than it, as with a file's extension.
 */
static inline bool ux_bytes_has_suffix(struct ux_bytes name, struct ux_bytes suffix)
{
	return name.size > suffix.size &&
	       ux_bytes_eq(ux_bytes(name.data + name.size - suffix.size, suffix.size), suffix);
}

/*
 * Sets *ret to the n bytes from off on. False, with *ret unchanged, when they are not all inside of
 * s.
 */
static inline bool ux_bytes_sub(struct ux_bytes s, uint64_t off, uint64_t n, struct ux_bytes *ret)
{
	if (off > s.size || n > s.size - off)
		return false;
	*ret = ux_bytes(s.data ? s.data + off : NULL, (size_t)n);
	return true;
}

#endif
