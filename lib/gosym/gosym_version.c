/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the version of Go from .go.buildinfo. */
#include "gosym_version.h"

#include "cursor.h"

enum {
	INFO_ALIGN = 16,
	INFO_FLAG_INLINE = 2, /* strings are stored inline, since 1.18 */
	INFO_FLAG_BIG = 1,
	INFO_POINTERS = 16, /* without INFO_FLAG_INLINE: the address of a Go string, 1.13 to 1.17 */
	INFO_TEXTS = 32,
	INFOS_TRIED = 64,
	MAGIC_SIZE = 14,
};

static const uint8_t info_magic[MAGIC_SIZE + 1] = "\xff Go buildinf:";

/* Reads the Go string (address, length) at pc. */
static struct ux_bytes string_at(const struct ux_gosym_image *image, uint64_t pc, unsigned word)
{
	uint64_t text = 0, size = 0;
	struct ux_bytes ret;
	if (!ux_gosym_image_word(image, pc, word, &text) ||
	    !ux_gosym_image_word(image, pc + word, word, &size) ||
	    !ux_bytes_sub(ux_gosym_image_at(image, text), 0, size, &ret))
		return UX_BYTES_NONE;
	return ret;
}

static struct ux_bytes version_at(const struct ux_gosym_image *image, uint64_t pc)
{
	struct ux_cur c = ux_cur_make(ux_gosym_image_at(image, pc), ".go.buildinfo", image->swap);
	struct ux_bytes magic = ux_cur_take(&c, MAGIC_SIZE);
	unsigned word = ux_cur_u8(&c), flags = ux_cur_u8(&c);
	if (c.failed || memcmp(magic.data, info_magic, MAGIC_SIZE) != 0)
		return UX_BYTES_NONE;
	if ((flags & INFO_FLAG_INLINE) != 0) {
		ux_cur_seek(&c, INFO_TEXTS);
		return ux_cur_take(&c, ux_cur_uleb(&c));
	}
	uint64_t at = 0;
	if ((word != 4 && word != 8) || !ux_gosym_image_word(image, pc + INFO_POINTERS, word, &at))
		return UX_BYTES_NONE;
	return string_at(image, at, word);
}

static bool copy_version(struct ux_bytes text, char ret[UX_GOSYM_VERSION_MAX])
{
	size_t n = ux_min(text.size, (size_t)UX_GOSYM_VERSION_MAX - 1);
	for (size_t i = 0; i < n; i++)
		if (text.data[i] < 0x20 || text.data[i] > 0x7e)
			return false;
	if (n > 0)
		memcpy(ret, text.data, n);
	ret[n] = '\0';
	return n > 0;
}

static bool search_version(const struct ux_gosym_image *image, const struct ux_gosym_segment *s,
			   unsigned *left, char ret[UX_GOSYM_VERSION_MAX])
{
	const uint8_t *pos = s->bytes.data;
	size_t n = s->bytes.size;
	while (*left > 0 && n >= MAGIC_SIZE) {
		const uint8_t *at = memmem(pos, n, info_magic, MAGIC_SIZE);
		if (!at)
			return false;
		uint64_t pc = s->pc + (uint64_t)(at - s->bytes.data);
		n -= (size_t)(at + 1 - pos);
		pos = at + 1;
		if (pc % INFO_ALIGN != 0)
			continue;
		(*left)--;
		if (copy_version(version_at(image, pc), ret))
			return true;
	}
	return false;
}

void ux_gosym_version_read(const struct ux_gosym_image *image, uint64_t hint,
			   char ret[UX_GOSYM_VERSION_MAX])
{
	unsigned left = INFOS_TRIED;
	ret[0] = '\0';
	if (hint != 0 && copy_version(version_at(image, hint), ret))
		return;
	/* The linker puts it into writable data, but a loader may map it in a read-only segment. */
	for (int writable = 1; writable >= 0; writable--)
		for (size_t i = 0; i < image->n_segments; i++)
			if (image->segments[i].writable == (bool)writable &&
			    search_version(image, &image->segments[i], &left, ret))
				return;
	ret[0] = '\0';
}

int ux_gosym_version_minor(const char *version)
{
	int minor = 0, digits = 0;
	if (strncmp(version, "go1.", 4) != 0)
		return -1;
	for (const char *p = version + 4; *p >= '0' && *p <= '9' && digits < 4; p++, digits++)
		minor = 10 * minor + (*p - '0');
	return digits > 0 ? minor : -1;
}
