/* SPDX-License-Identifier: Apache-2.0 */
/* Values and blocks of Alpine's ADB format. */
#include "adb_value.h"

#include "cursor.h"

enum {
	TYPE_SHIFT = 28,
	BLOCK_TYPE_SHIFT = 30,
	BLOCK_EXTENDED = 3,
	BLOCK_ALIGN = 8,
	HEAD_SHORT = 4,
	VALUES_HEAD = 8, /* two versions, two reserved bytes, the root */
	ROOT = 4,
};

static const char section[] = "ADB";

enum adb_type {
	ADB_SPECIAL = 0x0,
	ADB_INT = 0x1,
	ADB_INT_32 = 0x2,
	ADB_INT_64 = 0x3,
	ADB_BLOB_8 = 0x8,
	ADB_BLOB_16 = 0x9,
	ADB_BLOB_32 = 0xa,
	ADB_ARRAY = 0xd,
	ADB_OBJECT = 0xe,
};

enum adb_compression {
	ADB_COMPRESSION_NONE,
	ADB_COMPRESSION_DEFLATE,
	ADB_COMPRESSION_ZSTD,
};

static uint32_t adb_u32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* --- files and blocks ------------------------------------------------------------------------- */

bool ux_adb_is(struct ux_bytes head)
{
	return head.size >= UX_ADB_MAGIC && memcmp(head.data, "ADB", 3) == 0 &&
	       (head.data[3] == '.' || head.data[3] == 'd' || head.data[3] == 'c');
}

enum ux_code ux_adb_form(struct ux_bytes head, enum ux_unpack_form *ret, size_t *ret_skip,
			 struct ux_error *err)
{
	*ret = UX_UNPACK_NONE;
	*ret_skip = 0;
	if (!ux_adb_is(head) || (head.data[3] == 'c' && head.size < UX_ADB_COMPRESSED))
		return ux_error_set(err, UX_ECORRUPT, "not a file of apk-tools 3");
	if (head.data[3] == '.')
		return UX_OK;
	*ret_skip = head.data[3] == 'd' ? UX_ADB_MAGIC : UX_ADB_COMPRESSED;
	unsigned by = head.data[3] == 'd' ? ADB_COMPRESSION_DEFLATE : head.data[UX_ADB_MAGIC];
	if (by > ADB_COMPRESSION_ZSTD)
		return ux_error_set(err, UX_EUNSUPPORTED, "has unknown compression method %u", by);
	*ret = by == ADB_COMPRESSION_ZSTD      ? UX_UNPACK_ZSTD
	       : by == ADB_COMPRESSION_DEFLATE ? UX_UNPACK_DEFLATE
					       : UX_UNPACK_NONE;
	return UX_OK;
}

unsigned ux_adb_block_head_size(const uint8_t first[4])
{
	return adb_u32(first) >> BLOCK_TYPE_SHIFT == BLOCK_EXTENDED ? UX_ADB_BLOCK_HEAD
								    : HEAD_SHORT;
}

enum ux_code ux_adb_block_read(const uint8_t *head, struct ux_adb_block *ret, struct ux_error *err)
{
	uint32_t word = adb_u32(head), type = word >> BLOCK_TYPE_SHIFT;
	const uint32_t low = word & ((UINT32_C(1) << BLOCK_TYPE_SHIFT) - 1);
	uint64_t size = low;
	*ret = (struct ux_adb_block){.head = ux_adb_block_head_size(head)};
	if (type == BLOCK_EXTENDED) {
		type = low;
		size = (uint64_t)adb_u32(head + 12) << 32 | adb_u32(head + 8);
	}
	if (type > UX_ADB_BLOCK_DATA)
		return ux_error_set(err, UX_ECORRUPT,
				    "a block of the package has the unknown type %u", type);
	if (size < ret->head || size > INT64_MAX - BLOCK_ALIGN)
		return ux_error_set(err, UX_ECORRUPT,
				    "a block of the package has %" PRIu64
				    " bytes, including its header of %u",
				    size, ret->head);
	ret->type = (enum ux_adb_block_type)type;
	ret->size = size - ret->head;
	ret->padding = -size & (BLOCK_ALIGN - 1);
	return UX_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

static unsigned adb_type_of(uint32_t value)
{
	return value >> TYPE_SHIFT;
}

static uint32_t adb_low(uint32_t value)
{
	return value & ((UINT32_C(1) << TYPE_SHIFT) - 1);
}

/* Reports the offset of the value's content, if it is in the block. */
static enum ux_code adb_bad(struct ux_bytes values, uint32_t value, const char *what,
			    struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, section,
			   adb_low(value) < values.size ? adb_low(value) : UX_ERROR_NO_OFF, "%s",
			   what);
}

/* Returns n bytes at an offset from a value's place; NULL: they are not in the block. */
static const uint8_t *adb_at(struct ux_bytes values, uint32_t value, size_t skip, size_t n)
{
	size_t off = (size_t)adb_low(value) + skip;
	return off <= values.size && n <= values.size - off ? values.data + off : NULL;
}

static enum ux_code adb_open_list(struct ux_bytes values, uint32_t value, struct ux_adb_list *ret,
				  struct ux_error *err)
{
	unsigned type = adb_type_of(value);
	*ret = (struct ux_adb_list){.values = values};
	if (value == 0)
		return UX_OK;
	if (type != ADB_ARRAY && type != ADB_OBJECT)
		return adb_bad(values, value, "a value is not a list", err);
	const uint8_t *at = adb_at(values, value, 0, sizeof(uint32_t));
	if (!at)
		return adb_bad(values, value, "a list is outside its block", err);
	uint32_t slots = adb_u32(at); /* the first slot is the number of slots */
	if (slots == 0 || slots > values.size / sizeof(uint32_t) ||
	    !adb_at(values, value, 0, slots * sizeof(uint32_t)))
		return adb_bad(values, value, "a list exceeds its block", err);
	ret->off = adb_low(value);
	ret->n = slots - 1;
	return UX_OK;
}

enum ux_code ux_adb_root(struct ux_bytes values, struct ux_adb_list *ret, struct ux_error *err)
{
	if (values.size < VALUES_HEAD || values.size > UX_ADB_VALUES_MAX)
		return ux_error_set(err, UX_ECORRUPT, "a block of values is too short: %zu bytes",
				    values.size);
	if (values.data[0] != 0)
		return ux_error_set(err, UX_EUNSUPPORTED, "the values have unknown version %u",
				    values.data[0]);
	return adb_open_list(values, adb_u32(values.data + ROOT), ret, err);
}

/* Returns the four bytes of a value; 0: absent. */
static uint32_t adb_slot(const struct ux_adb_list *l, uint32_t i)
{
	return i == 0 || i > l->n ? 0
				  : adb_u32(l->values.data + l->off + (size_t)i * sizeof(uint32_t));
}

enum ux_code ux_adb_list_get(const struct ux_adb_list *l, uint32_t i, struct ux_adb_list *ret,
			     struct ux_error *err)
{
	return adb_open_list(l->values, adb_slot(l, i), ret, err);
}

enum ux_code ux_adb_bytes_get(const struct ux_adb_list *l, uint32_t i, struct ux_bytes *ret,
			      struct ux_error *err)
{
	uint32_t value = adb_slot(l, i);
	unsigned type = adb_type_of(value);
	*ret = UX_BYTES_NONE;
	if (value == 0)
		return UX_OK;
	if (type < ADB_BLOB_8 || type > ADB_BLOB_32)
		return adb_bad(l->values, value, "a value is not a string", err);
	size_t width = (size_t)1 << (type - ADB_BLOB_8), n = 0;
	const uint8_t *at = adb_at(l->values, value, 0, width);
	for (size_t k = 0; at && k < width; k++)
		n |= (size_t)at[k] << 8 * k;
	const uint8_t *data = at ? adb_at(l->values, value, width, n) : NULL;
	if (!data)
		return adb_bad(l->values, value, "a string exceeds its block", err);
	*ret = ux_bytes(data, n);
	return UX_OK;
}

enum ux_code ux_adb_number_get(const struct ux_adb_list *l, uint32_t i, uint64_t *ret,
			       struct ux_error *err)
{
	uint32_t value = adb_slot(l, i);
	unsigned type = adb_type_of(value);
	*ret = 0;
	if (value == 0)
		return UX_OK;
	if (type == ADB_INT) {
		*ret = adb_low(value);
		return UX_OK;
	}
	if (type != ADB_INT_32 && type != ADB_INT_64)
		return adb_bad(l->values, value, "a value is not a number", err);
	const size_t width = type == ADB_INT_32 ? sizeof(uint32_t) : sizeof(uint64_t);
	const uint8_t *at = adb_at(l->values, value, 0, width);
	if (!at)
		return adb_bad(l->values, value, "a number is outside its block", err);
	*ret = adb_u32(at);
	if (type == ADB_INT_64)
		*ret |= (uint64_t)adb_u32(at + sizeof(uint32_t)) << 32;
	return UX_OK;
}
