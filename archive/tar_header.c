/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of tar archives. */
#include "tar_header.h"

#include "text.h"

/* Positions of the fields: POSIX.1-2017, pax, table "ustar Header Block". */
enum {
	NAME = 0,
	NAME_SIZE = 100,
	MODE = 100,
	OWNER = 108,
	GROUP = 116,
	ID_SIZE = 8,
	SIZE = 124,
	MTIME = 136,
	NUMBER_SIZE = 12,
	CHECKSUM = 148,
	CHECKSUM_SIZE = 8,
	TYPE = 156,
	LINK = 157,
	MAGIC = 257,
	PREFIX = 345,
	PREFIX_SIZE = 155,
	OCTAL_DIGITS = 11, /* octal digits in a number field of 12 bytes, which ends with a NUL */
	BINARY = 0x80,     /* first byte of a number that is not octal, in GNU's and star's form */
};

static uint32_t tar_checksum(const uint8_t *block)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < UX_TAR_BLOCK; i++)
		sum += i >= CHECKSUM && i < CHECKSUM + CHECKSUM_SIZE ? ' ' : block[i];
	return sum;
}

/* Octal digits between spaces, ended by a space, a NUL or the end of the field. */
static bool tar_read_octal(const uint8_t *field, size_t size, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0, digits = 0;
	while (i < size && field[i] == ' ')
		i++;
	for (; i < size && field[i] >= '0' && field[i] <= '7'; i++, digits++)
		v = v << 3 | (uint64_t)(field[i] - '0');
	*ret = v;
	return digits > 0 && (i == size || field[i] == ' ' || field[i] == '\0');
}

static bool tar_read_number(const uint8_t *field, uint64_t *ret)
{
	if (field[0] != BINARY)
		return tar_read_octal(field, NUMBER_SIZE, ret);
	uint64_t v = 0;
	for (size_t i = 1; i < NUMBER_SIZE; i++) {
		if (v >> 56 != 0)
			return false;
		v = v << 8 | field[i];
	}
	*ret = v;
	return true;
}

static void tar_read_path(const uint8_t *block, struct ux_tar_header *ret)
{
	const char *name = (const char *)block + NAME, *prefix = (const char *)block + PREFIX;
	size_t n = strnlen(name, NAME_SIZE), m = 0;
	/* GNU's own format has times where ustar has the prefix */
	if (memcmp(block + MAGIC, "ustar\0", 6) == 0)
		m = strnlen(prefix, PREFIX_SIZE);
	(void)snprintf(ret->path, sizeof(ret->path), "%.*s%s%.*s", (int)m, prefix, m > 0 ? "/" : "",
		       (int)n, name);
	(void)snprintf(ret->link, sizeof(ret->link), "%.*s",
		       (int)strnlen((const char *)block + LINK, NAME_SIZE),
		       (const char *)block + LINK);
}

static enum ux_tar_type tar_type(uint8_t flag)
{
	switch (flag) {
	case '0':
	case '\0':
	case '7':
		return UX_TAR_FILE;
	case '1':
		return UX_TAR_LINK;
	case 'x':
		return UX_TAR_EXTENDED;
	case 'L':
		return UX_TAR_LONG_NAME;
	case 'K':
		return UX_TAR_LONG_LINK;
	default:
		return UX_TAR_OTHER;
	}
}

enum ux_code ux_tar_header_read(const uint8_t block[UX_TAR_BLOCK], struct ux_tar_header *ret,
				struct ux_error *err)
{
	uint64_t checksum = 0;
	size_t zeros = 0;
	*ret = (struct ux_tar_header){.type = UX_TAR_END};
	while (zeros < UX_TAR_BLOCK && block[zeros] == 0)
		zeros++;
	if (zeros == UX_TAR_BLOCK)
		return UX_OK;
	if (!tar_read_octal(block + CHECKSUM, CHECKSUM_SIZE, &checksum) ||
	    checksum != tar_checksum(block))
		return ux_error_set(err, UX_ECORRUPT, "the checksum of a tar header is wrong");
	ret->type = tar_type(block[TYPE]);
	if (!tar_read_number(block + SIZE, &ret->size) || ret->size > INT64_MAX - UX_TAR_BLOCK)
		return ux_error_set(err, UX_ECORRUPT, "the size in a tar header is malformed");
	if (ret->type == UX_TAR_LINK)
		ret->size = 0; /* POSIX: a link has no data here, whatever its size field is */
	tar_read_path(block, ret);
	return UX_OK;
}

static enum ux_code tar_set_name(char to[UX_TAR_PATH], struct ux_bytes name, struct ux_error *err)
{
	if (name.size >= UX_TAR_PATH)
		return ux_error_set(err, UX_ELIMIT,
				    "a name in the archive has %zu bytes; the limit is %d",
				    name.size, UX_TAR_PATH - 1);
	if (name.size > 0 && memchr(name.data, '\0', name.size))
		return ux_error_set(err, UX_ECORRUPT, "a name in the archive has a NUL");
	if (name.size > 0)
		memcpy(to, name.data, name.size);
	to[name.size] = '\0';
	return UX_OK;
}

/* Applies one record: "LENGTH KEY=VALUE\n"; LENGTH is the size of the whole record. */
static enum ux_code tar_apply_record(struct ux_bytes *content, struct ux_tar_header *to,
				     struct ux_error *err)
{
	uint64_t size = 0;
	size_t digits = ux_digits_parse(*content, 10, &size);
	const bool good = digits > 0 && digits < content->size && content->data[digits] == ' ' &&
			  size > digits + 2 && size <= content->size &&
			  content->data[size - 1] == '\n';
	if (!good)
		return ux_error_set(err, UX_ECORRUPT, "a record of a pax header is malformed");
	struct ux_bytes record = ux_bytes(content->data + digits + 1, (size_t)size - digits - 2);
	const uint8_t *equals = memchr(record.data, '=', record.size);
	*content = ux_bytes(content->data + size, content->size - (size_t)size);
	if (!equals)
		return ux_error_set(err, UX_ECORRUPT, "a record of a pax header has no value");
	struct ux_bytes key = ux_bytes(record.data, (size_t)(equals - record.data));
	struct ux_bytes value = ux_bytes(equals + 1, record.size - key.size - 1);
	if (ux_bytes_eq(key, UX_STR("path")))
		return tar_set_name(to->path, value, err);
	if (ux_bytes_eq(key, UX_STR("linkpath")))
		return tar_set_name(to->link, value, err);
	if (ux_bytes_eq(key, UX_STR("size")) && to->type != UX_TAR_LINK &&
	    (!ux_decimal_parse(value, &to->size) || to->size > INT64_MAX - UX_TAR_BLOCK))
		return ux_error_set(err, UX_ECORRUPT, "the size in a pax header is malformed");
	return UX_OK;
}

enum ux_code ux_tar_extended_apply(enum ux_tar_type type, struct ux_bytes content,
				   struct ux_tar_header *to, struct ux_error *err)
{
	if (type == UX_TAR_LONG_NAME || type == UX_TAR_LONG_LINK) {
		while (content.size > 0 && content.data[content.size - 1] == '\0')
			content.size--;
		return tar_set_name(type == UX_TAR_LONG_NAME ? to->path : to->link, content, err);
	}
	while (content.size > 0)
		UX_TRY(tar_apply_record(&content, to, err));
	return UX_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void tar_write_number(uint8_t *field, uint64_t v)
{
	if (v >> 3 * OCTAL_DIGITS == 0) {
		char text[NUMBER_SIZE + 12];
		(void)snprintf(text, sizeof(text), "%011" PRIo64, v);
		memcpy(field, text, NUMBER_SIZE);
		return;
	}
	memset(field, 0, NUMBER_SIZE);
	field[0] = BINARY;
	for (size_t i = NUMBER_SIZE; v > 0; v >>= 8)
		field[--i] = (uint8_t)v;
}

/* Returns the place of the slash between prefix and name; 0: no slash makes both fit. */
static size_t tar_split(const char *path)
{
	const size_t n = strlen(path);
	for (size_t i = n > NAME_SIZE ? n - NAME_SIZE - 1 : 0; i < n && i <= PREFIX_SIZE; i++)
		if (path[i] == '/' && i > 0 && n - i - 1 <= NAME_SIZE && n - i - 1 > 0)
			return i;
	return 0;
}

static bool tar_fits(const char *path)
{
	return strlen(path) <= NAME_SIZE || tar_split(path) > 0;
}

static void tar_write_block(const char *path, const char *link, uint64_t size, uint64_t mtime,
			    uint8_t type, struct ux_out *out)
{
	uint8_t block[UX_TAR_BLOCK] = {0};
	char sum[CHECKSUM_SIZE + 4];
	size_t split = strlen(path) > NAME_SIZE ? tar_split(path) : 0;
	const char *name = split > 0 ? path + split + 1 : path;
	memcpy(block + NAME, name, ux_min(strlen(name), (size_t)NAME_SIZE));
	memcpy(block + PREFIX, path, split);
	if (link)
		memcpy(block + LINK, link, ux_min(strlen(link), (size_t)NAME_SIZE));
	memcpy(block + MODE, "0000644", ID_SIZE);
	memcpy(block + OWNER, "0000000", ID_SIZE);
	memcpy(block + GROUP, "0000000", ID_SIZE);
	tar_write_number(block + SIZE, size);
	tar_write_number(block + MTIME, mtime);
	block[TYPE] = type;
	memcpy(block + MAGIC,
	       "ustar\0"
	       "00",
	       8);
	(void)snprintf(sum, sizeof(sum), "%06o", tar_checksum(block) & 0777777);
	memcpy(block + CHECKSUM, sum, 7);
	block[CHECKSUM + 7] = ' ';
	ux_out_put(out, block, sizeof(block));
}

/* The length of a record counts its own digits too. */
static void tar_write_record(const char *key, const char *value, struct ux_out *out)
{
	const size_t rest = strlen(key) + strlen(value) + 3; /* space, '=' and newline */
	size_t size = rest + 1, digits = 1;
	for (size_t v = 10; size >= v; v *= 10) {
		digits++;
		size = rest + digits;
	}
	ux_out_fmt(out, "%zu %s=%s\n", size, key, value);
}

enum ux_code ux_tar_header_write(const char *path, const char *link, uint64_t size, uint64_t mtime,
				 struct ux_out *out, struct ux_error *err)
{
	static const uint8_t zeros[UX_TAR_BLOCK] = {0};
	ux_cleanup(ux_out_deinit) struct ux_out records = {0};
	if (strlen(path) >= UX_TAR_PATH || (link && strlen(link) >= UX_TAR_PATH))
		return ux_error_set(err, UX_ELIMIT, "a name is too long for an archive");
	if (!tar_fits(path))
		tar_write_record("path", path, &records);
	if (link && strlen(link) > NAME_SIZE)
		tar_write_record("linkpath", link, &records);
	if (records.size > 0) {
		tar_write_block("pax-header", NULL, records.size, mtime, 'x', out);
		ux_out_put(out, records.data, records.size);
		ux_out_put(out, zeros, (size_t)ux_tar_padding(records.size));
	}
	UX_TRY(ux_out_status(&records, err));
	tar_write_block(path, link, link ? 0 : size, mtime, link ? '1' : '0', out);
	return ux_out_status(out, err);
}
