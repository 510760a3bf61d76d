/* SPDX-License-Identifier: Apache-2.0 */
/* Debug IDs. */
#include "debug_id.h"

#include "text.h"

/* Reverses the fields of a GUID that are numbers: 4, 2 and 2 bytes. */
static void debug_id_swap(const uint8_t *in, uint8_t *out)
{
	static const uint8_t from[UX_DEBUG_ID_SIZE] = {3, 2, 1,  0,  5,  4,  7,  6,
						       8, 9, 10, 11, 12, 13, 14, 15};
	for (size_t i = 0; i < UX_DEBUG_ID_SIZE; i++)
		out[i] = in[from[i]];
}

static enum ux_code debug_id_bad(struct ux_bytes text, struct ux_error *err)
{
	return ux_error_set(err, UX_EINVAL,
			    "'%.*s' is not a debug ID; expected 32 hexadecimal digits and an age",
			    (int)ux_min(text.size, (size_t)48), (const char *)text.data);
}

/* Returns true for the offsets of the dashes in a GUID, and of the dash before its age. */
static bool debug_id_is_dash(size_t at)
{
	return at == 8 || at == 13 || at == 18 || at == 23 || at == 36;
}

/* Copies the digits without dashes, at most `size` of them. 0 when there is any other character. */
static size_t debug_id_digits(struct ux_bytes text, uint8_t *digits, size_t size)
{
	bool dashed = text.size > 8 && text.data[8] == '-';
	size_t n = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (dashed && debug_id_is_dash(i)) {
			if (text.data[i] != '-')
				return 0;
			continue;
		}
		int v = ux_hex_digit((char)text.data[i]);
		if (v < 0 || n == size)
			return 0;
		digits[n++] = (uint8_t)v;
	}
	return n;
}

enum ux_code ux_debug_id_parse(struct ux_bytes text, struct ux_debug_id *ret, struct ux_error *err)
{
	uint8_t digits[UX_DEBUG_ID_TEXT - 1];
	size_t n = debug_id_digits(text, digits, sizeof(digits));
	if (n < (size_t)2 * UX_DEBUG_ID_SIZE)
		return debug_id_bad(text, err);
	*ret = (struct ux_debug_id){0};
	for (size_t i = 0; i < UX_DEBUG_ID_SIZE; i++)
		ret->bytes[i] = (uint8_t)(digits[2 * i] << 4 | digits[2 * i + 1]);
	for (size_t i = (size_t)2 * UX_DEBUG_ID_SIZE; i < n; i++)
		ret->age = ret->age << 4 | digits[i];
	return UX_OK;
}

void ux_debug_id_gnu(const struct ux_debug_id *id, uint8_t ret[UX_DEBUG_ID_SIZE])
{
	debug_id_swap(id->bytes, ret);
}

struct ux_id ux_debug_id_uuid(const struct ux_debug_id *id)
{
	struct ux_id uuid = {.type = UX_ID_UUID, .size = UX_DEBUG_ID_SIZE};
	memcpy(uuid.bytes, id->bytes, UX_DEBUG_ID_SIZE);
	return uuid;
}

bool ux_debug_id_format(const struct ux_id *id, char *text)
{
	uint8_t guid[UX_DEBUG_ID_SIZE];
	if (id->type != UX_ID_GNU && id->type != UX_ID_UUID)
		return false;
	if (id->type == UX_ID_GNU)
		debug_id_swap(id->bytes, guid); /* the bytes after a short build ID are 0 */
	else
		memcpy(guid, id->bytes, sizeof(guid));
	for (size_t i = 0; i < sizeof(guid); i++)
		snprintf(text + 2 * i, 3, "%02X", guid[i]);
	memcpy(text + 2 * sizeof(guid), "0", 2);
	return true;
}
