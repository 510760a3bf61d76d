/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a module's memory. */
#include "gosym_image.h"

#include "cursor.h"
#include "partition.h"

/* Returns the last segment that begins at or before pc; NULL when none does. */
static const struct ux_gosym_segment *segment_of(const struct ux_gosym_image *image, uint64_t pc)
{
	size_t lo = ux_partition_point(i, 0, image->n_segments, image->segments[i].pc <= pc);
	return lo > 0 ? &image->segments[lo - 1] : NULL;
}

struct ux_bytes ux_gosym_image_at(const struct ux_gosym_image *image, uint64_t pc)
{
	const struct ux_gosym_segment *s = segment_of(image, pc);
	if (!s || pc - s->pc >= s->bytes.size)
		return UX_BYTES_NONE;
	return ux_bytes(s->bytes.data + (pc - s->pc), s->bytes.size - (size_t)(pc - s->pc));
}

size_t ux_gosym_image_words_from(const struct ux_gosym_image *image, uint64_t pc)
{
	return ux_partition_point(i, 0, image->n_words, image->words[i].pc < pc);
}

bool ux_gosym_image_word(const struct ux_gosym_image *image, uint64_t pc, unsigned size,
			 uint64_t *ret)
{
	size_t i = ux_gosym_image_words_from(image, pc);
	if (i < image->n_words && image->words[i].pc == pc) {
		*ret = size == 4 ? (uint32_t)image->words[i].value : image->words[i].value;
		return true;
	}
	struct ux_cur c = ux_cur_make(ux_gosym_image_at(image, pc), NULL, image->swap);
	*ret = ux_cur_uint(&c, size);
	return !c.failed;
}

bool ux_gosym_image_is_code(const struct ux_gosym_image *image, uint64_t lo, uint64_t hi)
{
	const struct ux_gosym_segment *s = segment_of(image, lo);
	return s && s->exec && lo < hi && hi - s->pc <= s->bytes.size;
}
