/* SPDX-License-Identifier: Apache-2.0 */
/* BTF, the kernel's compact type information: as much of it as names functions and files. */
#include "btf.h"

#include "cursor.h"

enum {
	MAGIC = 0xeb9f,
	VERSION = 1,
	HEADER_LEAST = 24,
	KIND_SHIFT = 24,
	KIND_MASK = 31,
	COUNT_MASK = 0xffff,
};

/* include/uapi/linux/btf.h */
enum kind {
	BTF_KIND_INT = 1,
	BTF_KIND_PTR = 2,
	BTF_KIND_ARRAY = 3,
	BTF_KIND_STRUCT = 4,
	BTF_KIND_UNION = 5,
	BTF_KIND_ENUM = 6,
	BTF_KIND_FWD = 7,
	BTF_KIND_TYPEDEF = 8,
	BTF_KIND_VOLATILE = 9,
	BTF_KIND_CONST = 10,
	BTF_KIND_RESTRICT = 11,
	BTF_KIND_FUNC = 12,
	BTF_KIND_FUNC_PROTO = 13,
	BTF_KIND_VAR = 14,
	BTF_KIND_DATASEC = 15,
	BTF_KIND_FLOAT = 16,
	BTF_KIND_DECL_TAG = 17,
	BTF_KIND_TYPE_TAG = 18,
	BTF_KIND_ENUM64 = 19,
};

/* How many bytes stand behind the twelve of a type; false: nobody knows. */
static bool size_behind(uint32_t info, uint64_t *ret)
{
	uint64_t n = info & COUNT_MASK;
	*ret = 0;
	switch (info >> KIND_SHIFT & KIND_MASK) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		*ret = 4;
		return true;
	case BTF_KIND_ARRAY:
		*ret = 12;
		return true;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		*ret = 12 * n;
		return true;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		*ret = 8 * n;
		return true;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return true;
	default:
		return false;
	}
}

static enum ux_code read_types(struct ux_btf *b, struct ux_bytes types, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(types, "BTF types", /* swap= */ false);
	if (!ux_btf_offsets_append(&b->names, 0)) /* type 0 is void */
		return ux_error_nomem(err);
	while (ux_cur_more(&c)) {
		uint64_t behind = 0;
		size_t left = ux_cur_left(&c);
		uint32_t name = ux_cur_u32(&c);
		uint32_t info = ux_cur_u32(&c);
		ux_cur_skip(&c, 4);
		if (!c.failed && !size_behind(info, &behind)) {
			b->unread = left;
			return UX_OK;
		}
		ux_cur_skip(&c, behind);
		UX_TRY(ux_cur_status(&c, err));
		bool is_function = (info >> KIND_SHIFT & KIND_MASK) == BTF_KIND_FUNC;
		if (!ux_btf_offsets_append(&b->names, is_function ? name : 0))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code open(struct ux_btf *b, struct ux_bytes btf, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(btf, "BTF", /* swap= */ false);
	uint16_t magic = ux_cur_u16(&c);
	uint8_t version = ux_cur_u8(&c);
	ux_cur_skip(&c, 1);
	uint32_t header = ux_cur_u32(&c);
	uint32_t types_off = ux_cur_u32(&c), types_size = ux_cur_u32(&c);
	uint32_t strings_off = ux_cur_u32(&c), strings_size = ux_cur_u32(&c);
	struct ux_bytes types = UX_BYTES_NONE;
	UX_TRY(ux_cur_status(&c, err));
	if (magic != MAGIC || version != VERSION)
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"BTF begins with 0x%04x, version %u; expected 0x%04x, version %d", magic,
			version, MAGIC, VERSION);
	if (header < HEADER_LEAST ||
	    !ux_bytes_sub(btf, (uint64_t)header + types_off, types_size, &types) ||
	    !ux_bytes_sub(btf, (uint64_t)header + strings_off, strings_size, &b->strings))
		return ux_error_set(err, UX_ECORRUPT, "types or strings leave the BTF");
	if (strings_size > 0 && b->strings.data[strings_size - 1] != 0)
		return ux_error_set(err, UX_ECORRUPT, "the last string of the BTF has no end");
	return read_types(b, types, err);
}

enum ux_code ux_btf_open(struct ux_btf *ret, struct ux_bytes btf, struct ux_error *err)
{
	struct ux_btf b = {0};
	enum ux_code code = open(&b, btf, err);
	if (code != UX_OK)
		ux_btf_close(&b);
	*ret = b;
	return code;
}

void ux_btf_close(struct ux_btf *b)
{
	ux_btf_offsets_deinit(&b->names);
	*b = (struct ux_btf){0};
}

const char *ux_btf_string(const struct ux_btf *b, uint32_t off)
{
	return off < b->strings.size ? (const char *)b->strings.data + off : "";
}

const char *ux_btf_function(const struct ux_btf *b, uint32_t type)
{
	return type < b->names.size && b->names.data[type] != 0
		       ? ux_btf_string(b, b->names.data[type])
		       : "";
}
