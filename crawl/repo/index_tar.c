/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tars of indexes: blocks of 512 bytes. A header has the name at 0 (100 bytes), the size in octal
 * at 124 (12), the type at 156, "ustar" at 257 and a prefix of the name at 345 (155).
 */
#include "index_formats.h"

#include "text.h"

enum {
	TAR_BLOCK = 512,
	TAR_NAME = 100,
	TAR_SIZE_OFF = 124,
	TAR_SIZE = 12,
	TAR_TYPE = 156,
	FILES_MAX = 65536, /* files that a search skips; an image has three for each layer */
};

/* Returns the text up to its NUL. */
static struct ux_bytes tar_text(struct ux_bytes field)
{
	const uint8_t *end = memchr(field.data, 0, field.size);
	return ux_bytes(field.data, end ? (size_t)(end - field.data) : field.size);
}

static bool tar_size(struct ux_bytes header, uint64_t *ret)
{
	struct ux_bytes field = tar_text(ux_bytes(header.data + TAR_SIZE_OFF, TAR_SIZE));
	field = ux_trim(field);
	return ux_digits_parse(field, 8, ret) == field.size && field.size > 0;
}

static bool tar_is_zero(struct ux_bytes block)
{
	for (size_t i = 0; i < block.size; i++)
		if (block.data[i] != 0)
			return false;
	return true;
}

bool ux_tar_next(struct ux_cur *c, struct ux_tar_file *ret)
{
	/* the tars of an .apk lack the blocks of zeros at their end */
	while (ux_cur_more(c)) {
		uint64_t size = 0;
		struct ux_bytes header = ux_cur_take(c, TAR_BLOCK);
		if (c->failed || tar_is_zero(header))
			return false;
		if (!tar_size(header, &size)) {
			ux_cur_bad(c, "the size of a tar member is not a number");
			return false;
		}
		struct ux_bytes content = ux_cur_take(c, size);
		ux_cur_skip(c, ux_min((uint64_t)ux_cur_left(c), -size & (TAR_BLOCK - 1)));
		uint8_t type = header.data ? header.data[TAR_TYPE] : 0;
		if (c->failed)
			return false;
		if (type != '0' && type != 0)
			continue;
		*ret = (struct ux_tar_file){.name = tar_text(ux_bytes(header.data, TAR_NAME)),
					    .content = content};
		return true;
	}
	return false;
}

enum ux_code ux_tar_find(struct ux_bytes tar, const char *name, struct ux_bytes *ret,
			 struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(tar, "tar", /* swap= */ false);
	struct ux_tar_file file;
	unsigned n = 0;
	for (; n < FILES_MAX && ux_tar_next(&c, &file); n++) {
		struct ux_bytes have = file.name;
		if (ux_bytes_starts(have, UX_STR("./")))
			have = ux_bytes(have.data + 2, have.size - 2);
		if (!ux_bytes_eq(have, ux_bytes_cstr(name)))
			continue;
		*ret = file.content;
		return UX_OK;
	}
	UX_TRY(ux_cur_status(&c, err));
	return n == FILES_MAX
		       ? ux_error_set(err, UX_ELIMIT, "the archive has more than %d files",
				      FILES_MAX)
		       : ux_error_set(err, UX_ENOTFOUND, "%.100s is not in the archive", name);
}
