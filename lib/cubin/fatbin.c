/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads fat binaries.
 *
 * The format is not documented. This is the layout that nvcc and fatbinary of CUDA 12 and 13 write
 * (docs/formats/cuda.md); it is always little-endian:
 *   container   magic (4), version (2), size of this header (2), size of the entries (8)
 *   entry       kind (2), 0x0101 (2), size of this header (4), size of the payload with its padding
 *               (8), packed size or 0 (4), offset of options or 0 (4), minor (2), major (2), arch
 *               (4), offset and size of the name (4, 4), flags (8), 0 (8), unpacked size or 0 (8);
 *               then name and options
 */
#include "fatbin.h"

#include "cursor.h"

#define MAGIC UINT32_C(0xba55ed50)

enum {
	VERSION = 1,
	CONTAINER_HEADER = 16,
	ENTRY_HEADER = 64,
	ALIGN = 8, /* alignment of containers */
};

static struct ux_cur container_cur(const struct ux_fatbin *walk, uint64_t off)
{
	bool swap = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
	struct ux_cur c = ux_cur_make(walk->bytes, walk->section, swap);
	ux_cur_seek(&c, off);
	return c;
}

static bool magic_at(struct ux_bytes bytes, uint64_t off)
{
	struct ux_bytes four = UX_BYTES_NONE;
	return ux_bytes_sub(bytes, off, 4, &four) && ux_bytes_eq(four, UX_STR("\x50\xed\x55\xba"));
}

bool ux_fatbin_is(struct ux_bytes file)
{
	return magic_at(file, 0);
}

void ux_fatbin_open(struct ux_fatbin *walk, struct ux_bytes bytes, const char *section)
{
	*walk = (struct ux_fatbin){.bytes = bytes, .section = section};
}

/* Moves to the first entry of the next container. UX_ENOTFOUND: no more containers. */
static enum ux_code next_container(struct ux_fatbin *walk, struct ux_error *err)
{
	uint64_t at = (walk->next + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	walk->end = 0;
	while (at < walk->bytes.size && !magic_at(walk->bytes, at))
		at += ALIGN;
	if (at >= walk->bytes.size) {
		walk->next = walk->bytes.size;
		return UX_ENOTFOUND;
	}
	walk->next = at + ALIGN; /* where the search continues when this container is damaged */
	struct ux_cur c = container_cur(walk, at);
	ux_cur_skip(&c, 4);
	uint16_t version = ux_cur_u16(&c), header = ux_cur_u16(&c);
	uint64_t size = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (version != VERSION || header < CONTAINER_HEADER)
		return ux_error_at(err, UX_ECORRUPT, walk->section, at,
				   "fat binary of version %u with a header of %u bytes, expected "
				   "version %d",
				   version, header, VERSION);
	c = container_cur(walk, at);
	ux_cur_skip(&c, header);
	uint64_t first = ux_cur_off(&c);
	ux_cur_skip(&c, size);
	UX_TRY(ux_cur_status(&c, err));
	walk->next = first;
	walk->end = first + size;
	return UX_OK;
}

/* Reads the entry with its header at c. c ends where the container ends. */
static enum ux_code read_entry(struct ux_cur *c, struct ux_fatbin_entry *e, struct ux_error *err)
{
	struct ux_cur body = *c;
	*e = (struct ux_fatbin_entry){.off = ux_cur_off(c)};
	e->kind = ux_cur_u16(c);
	ux_cur_skip(c, 2);
	uint32_t header = ux_cur_u32(c);
	uint64_t padded = ux_cur_u64(c);
	uint32_t packed = ux_cur_u32(c);
	ux_cur_skip(c, 4); /* offset of the PTX options */
	e->minor = ux_cur_u16(c);
	e->major = ux_cur_u16(c);
	e->arch = ux_cur_u32(c);
	uint32_t name = ux_cur_u32(c), name_size = ux_cur_u32(c);
	e->flags = ux_cur_u64(c);
	ux_cur_skip(c, 8);
	e->size = ux_cur_u64(c);
	if (!c->failed && header < ENTRY_HEADER)
		ux_cur_bad(c, "header of a fat binary entry is shorter than 64 bytes");
	UX_TRY(ux_cur_status(c, err));
	struct ux_bytes head = ux_cur_take(&body, header), payload = ux_cur_take(&body, padded);
	UX_TRY(ux_cur_status(&body, err));
	*c = body;
	bool is_packed = (e->flags & (UX_FATBIN_LZ4 | UX_FATBIN_ZSTD)) != 0;
	if (!ux_bytes_sub(payload, 0, is_packed ? packed : padded, &e->payload))
		return ux_error_at(err, UX_ECORRUPT, c->section, e->off,
				   "entry has %" PRIu32 " packed bytes in a payload of %" PRIu64,
				   packed, padded);
	if (!is_packed)
		e->size = padded;
	if (name == 0 || !ux_bytes_sub(head, name, name_size, &e->name))
		e->name = UX_BYTES_NONE;
	while (e->name.size > 0 && e->name.data[e->name.size - 1] <= ' ')
		e->name.size--; /* nvlink pads the name */
	return UX_OK;
}

enum ux_code ux_fatbin_next(struct ux_fatbin *walk, struct ux_fatbin_entry *ret,
			    struct ux_error *err)
{
	while (walk->next >= walk->end)
		UX_TRY(next_container(walk, err));
	struct ux_cur c = container_cur(walk, walk->next);
	c.end = c.start + walk->end;
	struct ux_fatbin_entry entry;
	enum ux_code code = read_entry(&c, &entry, err);
	if (code != UX_OK) {
		walk->next = walk->end;
		return code;
	}
	walk->next = ux_cur_off(&c);
	*ret = entry;
	return UX_OK;
}

const char *ux_fatbin_arch(const struct ux_fatbin_entry *entry, char *text)
{
	const char *suffix = (entry->flags & UX_FATBIN_ARCH_SPECIFIC) != 0 ? "a"
			     : (entry->flags & UX_FATBIN_ARCH_FAMILY) != 0 ? "f"
									   : "";
	snprintf(text, UX_FATBIN_ARCH_TEXT, "%s_%" PRIu32 "%s",
		 entry->kind == UX_FATBIN_CUBIN ? "sm" : "compute", entry->arch, suffix);
	return text;
}

const char *ux_fatbin_kind_name(uint16_t kind)
{
	switch (kind) {
	case UX_FATBIN_PTX:
		return "ptx";
	case UX_FATBIN_CUBIN:
		return "cubin";
	case UX_FATBIN_LTO_IR:
		return "lto-ir";
	default:
		return "unknown";
	}
}
