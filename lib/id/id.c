/* SPDX-License-Identifier: Apache-2.0 */
/* Typed identities of a module, and their text. */
#include "id.h"

#include "text.h"

static_assert(sizeof(struct ux_id) == 130, "it is stored and copied by the million");
static_assert(UX_ID_GNU_MAX * 2 <= UX_ID_BYTES_MAX, "the longest text is a Go build ID's");

const char *ux_id_type_name(enum ux_id_type type)
{
	switch (type) {
	case UX_ID_GNU:
		return "gnu";
	case UX_ID_GO:
		return "go";
	case UX_ID_FILE:
		return "file";
	case UX_ID_UUID:
		return "uuid";
	case UX_ID_CUBIN_CRC:
		return "cubin-crc";
	}
	return "unknown";
}

/* Returns the name of a type for messages. */
static const char *id_type_title(enum ux_id_type type)
{
	switch (type) {
	case UX_ID_GNU:
		return "GNU build ID";
	case UX_ID_GO:
		return "Go build ID";
	case UX_ID_FILE:
		return "File ID";
	case UX_ID_UUID:
		return "UUID";
	case UX_ID_CUBIN_CRC:
		return "cubin CRC";
	}
	return "identity";
}

static enum ux_code id_check_size(enum ux_id_type type, size_t size, struct ux_error *err)
{
	size_t max = type == UX_ID_GNU ? UX_ID_GNU_MAX : UX_ID_GO_MAX;
	if ((unsigned)type > UX_ID_CUBIN_CRC)
		return ux_error_set(err, UX_EINVAL, "ID has type %u; expected at most %u",
				    (unsigned)type, UX_ID_CUBIN_CRC);
	if ((type == UX_ID_FILE || type == UX_ID_UUID) && size != UX_ID_FILE_SIZE)
		return ux_error_set(err, UX_EINVAL, "%s of %zu bytes, expected %d",
				    id_type_title(type), size, UX_ID_FILE_SIZE);
	if (type == UX_ID_CUBIN_CRC && size != UX_ID_CUBIN_CRC_SIZE)
		return ux_error_set(err, UX_EINVAL, "%s of %zu bytes, expected %d",
				    id_type_title(type), size, UX_ID_CUBIN_CRC_SIZE);
	if (size == 0)
		return ux_error_set(err, UX_EINVAL, "%s is empty", id_type_title(type));
	if (size > max)
		return ux_error_set(err, UX_ELIMIT, "%s of %zu bytes; the maximum is %zu",
				    id_type_title(type), size, max);
	return UX_OK;
}

/* Space, control characters and non-ASCII bytes are not allowed in the text form. */
static enum ux_code id_check_text(struct ux_bytes text, struct ux_error *err)
{
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] < 0x21 || text.data[i] > 0x7e)
			return ux_error_set(err, UX_EINVAL,
					    "Go build ID has byte 0x%02x, expected printable ASCII",
					    text.data[i]);
	return UX_OK;
}

enum ux_code ux_id_make(enum ux_id_type type, struct ux_bytes bytes, struct ux_id *ret,
			struct ux_error *err)
{
	UX_TRY(id_check_size(type, bytes.size, err));
	if (type == UX_ID_GO)
		UX_TRY(id_check_text(bytes, err));
	struct ux_id id = {.type = (uint8_t)type, .size = (uint8_t)bytes.size};
	memcpy(id.bytes, bytes.data, bytes.size);
	*ret = id;
	return UX_OK;
}

/* Copies the digits without 0x and dashes. False when there are more digits than in a File ID. */
static bool id_plain_digits(struct ux_bytes text, char digits[2 * UX_ID_FILE_SIZE], size_t *ret_n)
{
	size_t i =
		ux_bytes_starts(text, UX_STR("0x")) || ux_bytes_starts(text, UX_STR("0X")) ? 2 : 0;
	size_t n = 0;
	for (; i < text.size; i++) {
		if (text.data[i] == '-')
			continue;
		if (n == 2 * UX_ID_FILE_SIZE)
			return false;
		digits[n++] = (char)text.data[i];
	}
	*ret_n = n;
	return true;
}

static bool id_hex16(struct ux_bytes text, uint8_t bytes[UX_ID_FILE_SIZE])
{
	char digits[2 * UX_ID_FILE_SIZE];
	size_t n = 0;
	return id_plain_digits(text, digits, &n) && n == sizeof(digits) &&
	       ux_hex_decode(ux_bytes(digits, n), bytes, UX_ID_FILE_SIZE, &n);
}

/* 16 bytes are 22 characters without padding. */
static bool id_base64_16(struct ux_bytes text, uint8_t bytes[UX_ID_FILE_SIZE])
{
	size_t n = 0;
	return text.size == 22 && ux_base64_decode(text, bytes, &n) && n == UX_ID_FILE_SIZE;
}

static enum ux_code id_bad(struct ux_bytes text, const char *expected, struct ux_error *err)
{
	return ux_error_set(err, UX_EINVAL, "\"%.*s%s\" is not an ID; expected %s",
			    (int)ux_min(text.size, (size_t)60), (const char *)text.data,
			    text.size > 60 ? "..." : "", expected);
}

static enum ux_code id_parse_gnu(struct ux_bytes value, struct ux_bytes text, struct ux_id *ret,
				 struct ux_error *err)
{
	uint8_t bytes[UX_ID_GNU_MAX];
	size_t n = 0;
	if (value.size > 2 * sizeof(bytes))
		return id_check_size(UX_ID_GNU, value.size / 2 + value.size % 2, err);
	if (value.size == 0 || !ux_hex_decode(value, bytes, sizeof(bytes), &n))
		return id_bad(text, "an even number of hexadecimal digits", err);
	return ux_id_make(UX_ID_GNU, ux_bytes(bytes, n), ret, err);
}

static enum ux_code id_parse_16(enum ux_id_type type, struct ux_bytes value, struct ux_bytes text,
				struct ux_id *ret, struct ux_error *err)
{
	uint8_t bytes[UX_ID_FILE_SIZE];
	if (!id_hex16(value, bytes) && !(type == UX_ID_FILE && id_base64_16(value, bytes)))
		return id_bad(text, "32 hexadecimal digits", err);
	return ux_id_make(type, ux_bytes(bytes, sizeof(bytes)), ret, err);
}

/* 0x and leading zeros are accepted, as profilers print them. */
static enum ux_code id_parse_cubin_crc(struct ux_bytes value, struct ux_bytes text,
				       struct ux_id *ret, struct ux_error *err)
{
	uint64_t crc = 0;
	if (!ux_hex_parse_u64(value, /* hex= */ true, &crc) || crc > UINT32_MAX)
		return id_bad(text, "up to 8 hexadecimal digits", err);
	*ret = ux_id_of_cubin_crc((uint32_t)crc);
	return UX_OK;
}

enum ux_code ux_id_parse(struct ux_bytes text, struct ux_id *ret, struct ux_error *err)
{
	const uint8_t *colon = text.size ? memchr(text.data, ':', text.size) : NULL;
	if (!colon)
		return id_parse_gnu(text, text, ret, err);
	struct ux_bytes prefix = ux_bytes(text.data, (size_t)(colon - text.data));
	struct ux_bytes value = ux_bytes(colon + 1, text.size - prefix.size - 1);
	if (ux_bytes_eq(prefix, UX_STR("gnu")))
		return id_parse_gnu(value, text, ret, err);
	if (ux_bytes_eq(prefix, UX_STR("go")))
		return ux_id_make(UX_ID_GO, value, ret, err);
	if (ux_bytes_eq(prefix, UX_STR("file")))
		return id_parse_16(UX_ID_FILE, value, text, ret, err);
	if (ux_bytes_eq(prefix, UX_STR("uuid")))
		return id_parse_16(UX_ID_UUID, value, text, ret, err);
	if (ux_bytes_eq(prefix, UX_STR("cubin-crc")))
		return id_parse_cubin_crc(value, text, ret, err);
	return id_bad(text, "the prefix gnu:, go:, file:, uuid: or cubin-crc:", err);
}

const char *ux_id_format(const struct ux_id *id, char *text)
{
	text[0] = '\0';
	if (id->size == 0)
		return text;
	char *at = stpcpy(text, ux_id_type_name((enum ux_id_type)id->type));
	*at++ = ':';
	if (id->type == UX_ID_GO) {
		memcpy(at, id->bytes, id->size);
		at[id->size] = '\0';
	} else {
		ux_hex_encode(ux_bytes(id->bytes, id->size), at);
	}
	return text;
}

struct ux_id ux_id_of_cubin_crc(uint32_t crc)
{
	struct ux_id id = {.type = UX_ID_CUBIN_CRC, .size = UX_ID_CUBIN_CRC_SIZE};
	for (int i = 0; i < UX_ID_CUBIN_CRC_SIZE; i++)
		id.bytes[i] = (uint8_t)(crc >> 8 * (UX_ID_CUBIN_CRC_SIZE - 1 - i));
	return id;
}

bool ux_id_eq(const struct ux_id *a, const struct ux_id *b)
{
	return ux_id_cmp(a, b) == 0;
}

/* Returns the inner two parts of a Go build ID of four; empty for another form. */
static struct ux_bytes id_go_package(struct ux_bytes text)
{
	size_t slashes = 0, first = 0, last = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] != '/')
			continue;
		first = slashes++ == 0 ? i : first;
		last = i;
	}
	return slashes == 3 ? ux_bytes(text.data + first, last - first) : UX_BYTES_NONE;
}

bool ux_id_go_differs(struct ux_bytes a, struct ux_bytes b)
{
	struct ux_bytes x = id_go_package(a), y = id_go_package(b);
	return x.size > 0 && y.size > 0 && !ux_bytes_eq(x, y);
}

int ux_id_cmp(const struct ux_id *a, const struct ux_id *b)
{
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return ux_bytes_cmp(ux_bytes(a->bytes, a->size), ux_bytes(b->bytes, b->size));
}

enum ux_code ux_id_of_note(struct ux_bytes owner, uint32_t type, struct ux_bytes desc,
			   struct ux_id *ret, struct ux_error *err)
{
	enum {
		GNU_BUILD_ID = 3,
		GO_BUILD_ID = 4,
	};
	if (desc.size == 0)
		return UX_ENOTFOUND;
	if (type == GNU_BUILD_ID && ux_bytes_eq(owner, UX_STR("GNU")))
		return ux_id_make(UX_ID_GNU, desc, ret, err);
	if (type == GO_BUILD_ID && ux_bytes_eq(owner, UX_STR("Go")) &&
	    ux_id_make(UX_ID_GO, desc, ret, NULL) == UX_OK)
		return UX_OK;
	return UX_ENOTFOUND;
}

enum ux_code ux_id_set_add(struct ux_id_set *set, const struct ux_id *id, struct ux_error *err)
{
	if (id->size == 0 || ux_id_set_has(set, id))
		return UX_OK;
	if (set->size == UX_ID_SET_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d IDs for one module",
				    UX_ID_SET_MAX);
	set->ids[set->size++] = *id;
	return UX_OK;
}

bool ux_id_set_has(const struct ux_id_set *set, const struct ux_id *id)
{
	for (size_t i = 0; i < set->size; i++)
		if (ux_id_eq(&set->ids[i], id))
			return true;
	return false;
}

static bool id_set_has_go_program(const struct ux_id_set *set, const struct ux_id *go)
{
	bool any = false;
	for (size_t i = 0; i < set->size; i++) {
		const struct ux_id *id = &set->ids[i];
		if (id->type != UX_ID_GO)
			continue;
		any = true;
		if (!ux_id_go_differs(ux_bytes(id->bytes, id->size), ux_bytes(go->bytes, go->size)))
			return true;
	}
	return !any;
}

const struct ux_id *ux_id_set_other_go(const struct ux_id_set *known, const struct ux_id_set *set)
{
	for (size_t i = 0; i < set->size; i++)
		if (set->ids[i].type == UX_ID_GO && !id_set_has_go_program(known, &set->ids[i]))
			return &set->ids[i];
	return NULL;
}

const struct ux_id *ux_id_set_find(const struct ux_id_set *set, enum ux_id_type type)
{
	for (size_t i = 0; i < set->size; i++)
		if (set->ids[i].type == type)
			return &set->ids[i];
	return NULL;
}
