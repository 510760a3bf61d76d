/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a CPython in the memory of another program: their types and their text. */
#include "python_object.h"

#include "hash.h"
#include "text.h"

enum {
	FINGERPRINT_BYTES = 128 /* bytes of the text from which a fingerprint is computed */
};

static const char *const type_names[UX_PYTHON_TYPES] = {
	[UX_PYTHON_CODE] = "code",         [UX_PYTHON_STR] = "str",
	[UX_PYTHON_BYTES] = "bytes",       [UX_PYTHON_FRAME] = "frame",
	[UX_PYTHON_FUNCTION] = "function", [UX_PYTHON_METHOD] = "method",
};

bool ux_python_type_is(struct ux_python *p, uint64_t type_addr, enum ux_python_type type)
{
	uint64_t name = 0;
	if (p->types[type] != 0)
		return p->types[type] == type_addr;
	if (!ux_memory_plausible(type_addr) ||
	    !ux_memory_read(&p->memory, type_addr + p->layout.type_name, &name, sizeof(name)) ||
	    !ux_memory_is_text(&p->memory, name, type_names[type]))
		return false;
	p->types[type] = type_addr;
	return true;
}

bool ux_python_is(struct ux_python *p, uint64_t addr, enum ux_python_type type)
{
	uint64_t at = 0;
	return ux_memory_plausible(addr) &&
	       ux_memory_pointer(&p->memory, addr + p->layout.object_type, &at) &&
	       ux_python_type_is(p, at, type);
}

/* The header of a str (PyASCIIObject): where and how its characters are stored. */
struct python_text {
	uint64_t at; /* address of the first character */
	uint32_t length;
	unsigned width; /* bytes of a character: 1, 2 or 4 */
	bool ascii;
};

/* PyASCIIObject.state: interned 2 bits, kind 3, compact 1, ascii 1; the higher bits vary.
 */
static bool python_text_read_head(struct ux_python *p, uint64_t addr, struct python_text *ret)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t length = 0;
	uint32_t state = 0;
	if (!ux_python_is(p, addr, UX_PYTHON_STR) ||
	    !ux_memory_read(&p->memory, addr + l->str_length, &length, sizeof(length)) ||
	    !ux_memory_read(&p->memory, addr + l->str_state, &state, sizeof(state)))
		return false;
	unsigned kind = state >> 2 & 7;
	bool compact = (state >> 5 & 1) != 0, ascii = (state >> 6 & 1) != 0;
	if (!compact || length > UX_PYTHON_TEXT_MAX || (kind != 1 && kind != 2 && kind != 4) ||
	    (ascii && kind != 1))
		return false;
	*ret = (struct python_text){addr + (ascii ? l->str_ascii : l->str_wide), (uint32_t)length,
				    kind, ascii};
	return true;
}

/* Encodes the characters to `to`, which must be large enough. Returns NULL when a character is
 * invalid. */
static char *python_text_to_utf8(const struct python_text *t, const uint8_t *raw, char *to)
{
	for (uint32_t i = 0; i < t->length; i++) {
		uint32_t c = 0;
		memcpy(&c, raw + (size_t)i * t->width, t->width);
		if (c > 0x10ffff || (t->ascii && c > 0x7f))
			return NULL;
		if (c >= 0xdc80 && c <= 0xdcff)
			*to++ = (char)(uint8_t)c;
		else
			to += ux_utf8_encode(c, to);
	}
	return to;
}

enum ux_code ux_python_text(struct ux_python *p, uint64_t addr, struct ux_arena *a,
			    const char **ret, struct ux_error *err)
{
	struct python_text t;
	*ret = "";
	if (!python_text_read_head(p, addr, &t) || t.length == 0)
		return UX_OK;
	size_t size = (size_t)t.length * t.width;
	struct ux_arena_mark mark = ux_arena_mark(a);
	uint8_t *raw = ux_arena_array(a, uint8_t, size);
	/* The size is for the worst case, also of ASCII text, where a NUL becomes more than
	 * one byte. */
	char *text = ux_arena_array(a, char, (size_t)t.length *UX_UTF8_MAX + 1);
	if (!raw || !text)
		return ux_arena_fail(a, err);
	char *end = ux_memory_read(&p->memory, t.at, raw, size) ? python_text_to_utf8(&t, raw, text)
								: NULL;
	if (!end) {
		ux_arena_rewind(a, mark);
		return UX_OK;
	}
	*end = '\0';
	*ret = text;
	return UX_OK;
}

uint64_t ux_python_text_fingerprint(struct ux_python *p, uint64_t addr)
{
	struct python_text t;
	uint8_t begin[FINGERPRINT_BYTES];
	if (!python_text_read_head(p, addr, &t))
		return 0;
	size_t size = ux_min((size_t)t.length * t.width, sizeof(begin));
	if (!ux_memory_read(&p->memory, t.at, begin, size))
		return 0;
	return ux_hash_bytes(ux_bytes(begin, size)) ^ ux_hash_u64(t.length * 8 + t.width);
}

enum ux_code ux_python_bytes(struct ux_python *p, uint64_t addr, struct ux_arena *a,
			     struct ux_bytes *ret, struct ux_error *err)
{
	uint64_t size = 0;
	*ret = UX_BYTES_NONE;
	if (!ux_python_is(p, addr, UX_PYTHON_BYTES) ||
	    !ux_memory_read(&p->memory, addr + p->layout.var_size, &size, sizeof(size)) ||
	    size == 0 || size > UX_PYTHON_BYTES_MAX)
		return UX_OK;
	struct ux_arena_mark mark = ux_arena_mark(a);
	uint8_t *data = ux_arena_array(a, uint8_t, size);
	if (!data)
		return ux_arena_fail(a, err);
	if (ux_memory_read(&p->memory, addr + p->layout.bytes_data, data, size))
		*ret = ux_bytes(data, size);
	else
		ux_arena_rewind(a, mark);
	return UX_OK;
}
