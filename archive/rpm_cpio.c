/* SPDX-License-Identifier: Apache-2.0 */
/* The payload of an rpm package. Source: cpio(5), rpm's lib/cpio.c. */
#include "rpm_header.h"

#include <sys/stat.h>

enum {
	MAGIC = 6,
	NUMBER = 8,     /* hexadecimal digits of each number */
	FIELDS = 13,    /* number of fields in a header of format 070701 */
	FIELD_MODE = 1, /* index of a field */
	FIELD_SIZE = 6,
	FIELD_NAME = 11, /* bytes of the name, with its NUL */
	ALIGN = 4,
	SKIP = 16 << 10,
};

static enum ux_code cpio_exactly(struct ux_rpm_cpio *c, void *to, size_t n, struct ux_error *err)
{
	uint8_t *at = to;
	while (n > 0) {
		size_t got = 0;
		UX_TRY(c->read(c->ctx, at, n, &got, err));
		if (got == 0)
			return ux_error_at(err, UX_ECORRUPT, "payload", c->off,
					   "it is truncated: %zu bytes are missing", n);
		at += got;
		n -= got;
		c->off += got;
	}
	return UX_OK;
}

static enum ux_code cpio_skip(struct ux_rpm_cpio *c, uint64_t n, struct ux_error *err)
{
	uint8_t piece[SKIP];
	while (n > 0) {
		size_t some = (size_t)ux_min(n, (uint64_t)sizeof(piece));
		UX_TRY(cpio_exactly(c, piece, some, err));
		n -= some;
	}
	return UX_OK;
}

static enum ux_code cpio_pad(struct ux_rpm_cpio *c, struct ux_error *err)
{
	return cpio_skip(c, -c->off & (ALIGN - 1), err);
}

static bool cpio_number(const char *text, uint32_t *ret)
{
	uint32_t v = 0;
	for (int i = 0; i < NUMBER; i++) {
		char ch = text[i];
		int digit = ch >= '0' && ch <= '9'   ? ch - '0'
			    : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
			    : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
						     : -1;
		if (digit < 0)
			return false;
		v = v << 4 | (uint32_t)digit;
	}
	*ret = v;
	return true;
}

/* Reads an entry that has its own name and size. */
static enum ux_code cpio_named(struct ux_rpm_cpio *c, struct ux_rpm_entry *ret,
			       struct ux_error *err)
{
	char text[FIELDS * NUMBER];
	uint32_t fields[FIELDS];
	uint64_t at = c->off;
	UX_TRY(cpio_exactly(c, text, sizeof(text), err));
	for (size_t i = 0; i < FIELDS; i++)
		if (!cpio_number(text + i * NUMBER, &fields[i]))
			return ux_error_at(err, UX_ECORRUPT, "payload", at + i * NUMBER,
					   "field %zu of an entry is not a hexadecimal number", i);
	uint32_t name = fields[FIELD_NAME];
	if (name == 0 || name > sizeof(ret->name))
		return ux_error_at(err, UX_ELIMIT, "payload", at,
				   "a name of %u bytes; expected 1 to %zu", name,
				   sizeof(ret->name));
	UX_TRY(cpio_exactly(c, ret->name, name, err));
	if (ret->name[name - 1] != '\0')
		return ux_error_at(err, UX_ECORRUPT, "payload", at, "a name is not terminated");
	ret->size = fields[FIELD_SIZE];
	ret->regular = S_ISREG(fields[FIELD_MODE]);
	return UX_OK;
}

/* Reads an entry that refers to the header. */
static enum ux_code cpio_numbered(struct ux_rpm_cpio *c, struct ux_rpm_entry *ret,
				  struct ux_error *err)
{
	char text[NUMBER];
	uint32_t number = 0;
	uint64_t at = c->off;
	UX_TRY(cpio_exactly(c, text, sizeof(text), err));
	if (!cpio_number(text, &number))
		return ux_error_at(err, UX_ECORRUPT, "payload", at,
				   "the number of a file is not hexadecimal");
	if (number >= c->files->n)
		return ux_error_at(err, UX_ECORRUPT, "payload", at,
				   "file %u; expected less than %zu, as the header has", number,
				   c->files->n);
	const struct ux_rpm_file *file = &c->files->list[number];
	if (snprintf(ret->name, sizeof(ret->name), "%s%s", file->folder, file->name) >=
	    (int)sizeof(ret->name))
		return ux_error_at(err, UX_ELIMIT, "payload", at, "a name exceeds %zu bytes",
				   sizeof(ret->name) - 1);
	ret->size = file->size;
	ret->regular = file->regular;
	return UX_OK;
}

enum ux_code ux_rpm_cpio_next(struct ux_rpm_cpio *c, struct ux_rpm_entry *ret, bool *ret_more,
			      struct ux_error *err)
{
	char magic[MAGIC];
	*ret_more = false;
	UX_TRY(cpio_skip(c, c->left, err));
	c->left = 0;
	UX_TRY(cpio_pad(c, err));
	uint64_t at = c->off;
	UX_TRY(cpio_exactly(c, magic, sizeof(magic), err));
	if (memcmp(magic, "07070X", MAGIC) == 0)
		UX_TRY(cpio_numbered(c, ret, err));
	else if (memcmp(magic, "070701", MAGIC) == 0 || memcmp(magic, "070702", MAGIC) == 0)
		UX_TRY(cpio_named(c, ret, err));
	else
		return ux_error_at(err, UX_ECORRUPT, "payload", at, "not a cpio archive entry");
	UX_TRY(cpio_pad(c, err));
	*ret_more = strcmp(ret->name, "TRAILER!!!") != 0;
	c->left = *ret_more ? ret->size : 0;
	return UX_OK;
}

enum ux_code ux_rpm_cpio_data(struct ux_rpm_cpio *c, void *to, size_t n, size_t *ret,
			      struct ux_error *err)
{
	*ret = (size_t)ux_min((uint64_t)n, c->left);
	if (*ret == 0)
		return UX_OK;
	UX_TRY(cpio_exactly(c, to, *ret, err));
	c->left -= *ret;
	return UX_OK;
}
