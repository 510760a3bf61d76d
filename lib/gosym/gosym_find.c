/* SPDX-License-Identifier: Apache-2.0 */
/* Finds pclntab in an image. */
#include "gosym.h"

#include "gosym_function.h"

enum {
	TABLE_ALIGN = 4,     /* linkers that place the table themselves align it to 32 */
	SAMPLES = 64,        /* functions that are checked */
	HEADERS_TRIED = 256, /* headers in one image */
	NAME_LOOK = 64,      /* bytes of a name that are checked */
};

/* Letters of all scripts are accepted as text, but control characters are not. */
static bool is_text(const char *name)
{
	if (name[0] == '\0')
		return false;
	for (size_t i = 0; i < NAME_LOOK && name[i] != '\0'; i++)
		if ((uint8_t)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	return true;
}

/* Returns true when the index ascends at function i, its record has the same start as the index,
 * and the name is text. */
static bool is_sane(const struct ux_gosym_image *image, const struct ux_gosym_table *t, uint32_t i)
{
	uint64_t start = 0, next = 0, own = 0;
	uint32_t name = 0;
	if (!ux_gosym_index_at(image, t, i, &start) || !ux_gosym_index_at(image, t, i + 1, &next) ||
	    !ux_gosym_record_head(image, t, i, &own, &name))
		return false;
	const char *text = ux_gosym_text(t->names, name);
	return start <= next && own == start && text && is_text(text);
}

/* Checks samples at even distances, so that all parts of the table are covered. */
static bool is_table(const struct ux_gosym_image *image, const struct ux_gosym_table *t)
{
	uint32_t step = t->n_functions / SAMPLES + 1, n = 0, sane = 0;
	for (uint64_t i = 0; i < t->n_functions; i += step, n++)
		sane += is_sane(image, t, (uint32_t)i);
	return sane == n || (n > 8 && sane >= n - n / 8); /* functions of C may lack a name */
}

static bool try_table(const struct ux_gosym_image *image, uint64_t pc, uint64_t size,
		      struct ux_gosym_table *ret)
{
	struct ux_gosym_table t;
	if (ux_gosym_table_read(image, pc, size, &t, NULL) != UX_OK || !is_table(image, &t))
		return false;
	*ret = t;
	return true;
}

/* Searches a segment for a header. All magic numbers are 0xfffffff0 or above, and the comparison
 * with that rejects nearly all words quickly. */
static bool search_table(const struct ux_gosym_image *image, const struct ux_gosym_segment *s,
			 unsigned *left, struct ux_gosym_table *ret)
{
	struct ux_bytes b = s->bytes;
	for (size_t i = -s->pc & (TABLE_ALIGN - 1); i + UX_GOSYM_HEAD <= b.size; i += TABLE_ALIGN) {
		uint32_t word;
		memcpy(&word, b.data + i, sizeof(word));
		word = image->swap ? __builtin_bswap32(word) : word;
		if (ux_likely(word < 0xfffffff0) ||
		    !ux_gosym_table_begins(ux_bytes(b.data + i, b.size - i), image->swap))
			continue;
		if (try_table(image, s->pc + i, 0, ret))
			return true;
		if (--*left == 0)
			return false;
	}
	return false;
}

enum ux_code ux_gosym_table_find(const struct ux_gosym_image *image,
				 const struct ux_gosym_hints *hints, struct ux_gosym_table *ret,
				 struct ux_error *err)
{
	unsigned left = HEADERS_TRIED;
	(void)err;
	if (hints->table != 0 && try_table(image, hints->table, hints->table_size, ret))
		return UX_OK;
	for (int exec = 0; exec <= 1;
	     exec++) /* code is searched last, since the table is seldom there */
		for (size_t i = 0; i < image->n_segments && left > 0; i++)
			if (image->segments[i].exec == (bool)exec &&
			    search_table(image, &image->segments[i], &left, ret))
				return UX_OK;
	return UX_ENOTFOUND;
}
