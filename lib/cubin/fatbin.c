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

#include "cubin.h"
#include "cubin_crc.h"
#include "cursor.h"
#include "elf_file.h"
#include "text.h"

#include <lz4.h>
#include <zstd.h>

#define MAGIC UINT32_C(0xba55ed50)

enum {
	VERSION = 1,
	CONTAINER_HEADER = 16,
	ENTRY_HEADER = 64,
	ALIGN = 8,        /* alignment of containers */
	ARCHS_MAX = 64,   /* architectures of a file that are counted */
	ARCHS_TEXT = 112, /* bytes of the list in an error message */
	ARCHS_MORE = 16,  /* room for ", and 64 more" */
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
				   "entry claims %" PRIu32
				   " packed bytes, its payload has %" PRIu64,
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

/* --- content -----------------------------------------------------------------------------------
 */

static enum ux_code fatbin_refuse(const struct ux_fatbin_entry *e, enum ux_code code,
				  const char *what, struct ux_error *err)
{
	return ux_error_at(err, code, NULL, e->off,
			   "entry of %zu packed bytes %s; unpacked it has %" PRIu64 " bytes",
			   e->payload.size, what, e->size);
}

static bool fatbin_unpack_lz4(const struct ux_fatbin_entry *e, uint8_t *out)
{
	if (e->payload.size > LZ4_MAX_INPUT_SIZE || e->size > LZ4_MAX_INPUT_SIZE)
		return false;
	int made = LZ4_decompress_safe((const char *)e->payload.data, (char *)out,
				       (int)e->payload.size, (int)e->size);
	return made >= 0 && (uint64_t)made == e->size;
}

static bool fatbin_unpack_zstd(const struct ux_fatbin_entry *e, uint8_t *out)
{
	size_t made = ZSTD_decompress(out, e->size, e->payload.data, e->payload.size);
	return !ZSTD_isError(made) && made == e->size;
}

static void fatbin_unpack_free(uint8_t **out)
{
	ux_spill_free(*out);
}

enum ux_code ux_fatbin_unpack(const struct ux_fatbin_entry *entry, struct ux_spill *spill,
			      struct ux_fatbin_content *ret, struct ux_error *err)
{
	bool lz4 = (entry->flags & UX_FATBIN_LZ4) != 0, zstd = (entry->flags & UX_FATBIN_ZSTD) != 0;
	*ret = (struct ux_fatbin_content){0};
	if ((entry->flags & UX_FATBIN_OBSCURED) != 0)
		return fatbin_refuse(entry, UX_EUNSUPPORTED, "is obfuscated by its compiler", err);
	ret->bytes = entry->payload;
	if (!lz4 && !zstd)
		return UX_OK;
	ret->bytes = UX_BYTES_NONE;
	if (lz4 && zstd)
		return fatbin_refuse(entry, UX_EUNSUPPORTED, "is marked as both LZ4 and zstd", err);
	if (entry->size > UX_FATBIN_FREE + UX_FATBIN_RATIO * (uint64_t)entry->payload.size)
		return fatbin_refuse(entry, UX_ELIMIT, "states an impossible size", err);
	if (entry->size < UX_FATBIN_SPILL_MIN)
		spill = NULL;
	ux_cleanup(fatbin_unpack_free) uint8_t *out =
		ux_spill_realloc(spill, NULL, entry->size > 0 ? entry->size : 1);
	if (!out)
		return ux_error_nomem(err);
	if (!(lz4 ? fatbin_unpack_lz4(entry, out) : fatbin_unpack_zstd(entry, out)))
		return fatbin_refuse(entry, UX_ECORRUPT,
				     lz4 ? "has damaged LZ4 data" : "has damaged zstd data", err);
	ret->bytes = ux_bytes(out, entry->size);
	ret->owned = ux_take(&out);
	return UX_OK;
}

void ux_fatbin_content_free(struct ux_fatbin_content *content)
{
	ux_spill_free(content->owned);
	*content = (struct ux_fatbin_content){0};
}

/* --- the list of a file -------------------------------------------------------------------------
 */

void ux_fatbin_list_deinit(struct ux_fatbin_list *list)
{
	ux_fatbin_entry_vec_deinit(&list->entries);
}

static bool fatbin_section_is(const struct ux_elf_section *s)
{
	/* __nv_relfatbin has code that was compiled with -dc, before nvlink and after it. */
	return s->type != SHT_NOBITS &&
	       (strcmp(s->name, ".nv_fatbin") == 0 || strcmp(s->name, "__nv_relfatbin") == 0);
}

static void fatbin_note_bad(struct ux_fatbin_list *list, const struct ux_error *reason)
{
	if (list->bad++ == 0)
		list->reason = *reason;
}

/* Appends the entries in bytes, which begin at offset off of the file. */
static enum ux_code fatbin_read_bytes(struct ux_bytes bytes, uint64_t off, const char *section,
				      struct ux_fatbin_list *list, struct ux_error *err)
{
	struct ux_fatbin walk;
	ux_fatbin_open(&walk, bytes, section);
	for (;;) {
		struct ux_error reason = UX_ERROR_INIT;
		struct ux_fatbin_entry entry;
		enum ux_code code = ux_fatbin_next(&walk, &entry, &reason);
		if (code == UX_ENOTFOUND)
			return UX_OK;
		if (code != UX_OK) {
			fatbin_note_bad(list, &reason);
			continue;
		}
		entry.off += off;
		if (!ux_fatbin_entry_vec_append(&list->entries, entry))
			return ux_error_nomem(err);
	}
}

static enum ux_code fatbin_read_sections(const struct ux_elf *elf, struct ux_fatbin_list *list,
					 struct ux_error *err)
{
	/* This bounds the work. Sections of real files do not overlap. */
	uint64_t left = elf->file.size;
	for (size_t i = 1; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		struct ux_error reason = UX_ERROR_INIT;
		struct ux_bytes bytes = UX_BYTES_NONE;
		if (!fatbin_section_is(s))
			continue;
		if (ux_elf_section_raw(elf, s, &bytes, &reason) == UX_OK && bytes.size > left)
			ux_error_at(&reason, UX_ECORRUPT, s->name, 0, "overlaps another section");
		if (reason.code != UX_OK) {
			fatbin_note_bad(list, &reason);
			continue;
		}
		left -= bytes.size;
		UX_TRY(fatbin_read_bytes(bytes, s->off, s->name, list, err));
	}
	return UX_OK;
}

enum ux_code ux_fatbin_list_read(struct ux_bytes file, struct ux_fatbin_list *ret,
				 struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {.reason = UX_ERROR_INIT};
	if (ux_fatbin_is(file))
		UX_TRY(fatbin_read_bytes(file, 0, NULL, &list, err));
	else if (ux_elf_is(file) && ux_elf_open(&elf, file, NULL) == UX_OK)
		UX_TRY(fatbin_read_sections(&elf, &list, err));
	*ret = list;
	list.entries = (struct ux_fatbin_entry_vec){0};
	return UX_OK;
}

/* --- one cubin of the list ----------------------------------------------------------------------
 */

enum ux_code ux_cubin_ids(struct ux_bytes cubin, struct ux_id_set *ret, struct ux_error *err)
{
	struct ux_id file = ux_file_id(cubin), crc = ux_id_of_cubin_crc(ux_cubin_crc(cubin));
	UX_TRY(ux_id_set_add(ret, &file, err));
	return ux_id_set_add(ret, &crc, err);
}

/* Returns true when the cubin contains code. The linker of the CUDA runtime adds a cubin without
 * any code to each program. */
static bool fatbin_has_code(const struct ux_fatbin_entry *e)
{
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	if (ux_fatbin_unpack(e, NULL, &content, NULL) != UX_OK ||
	    ux_elf_open(&elf, content.bytes, NULL) != UX_OK)
		return true; /* the error is reported when the entry is extracted */
	for (size_t i = 1; i < elf.n_sections; i++)
		if (ux_cubin_section_name(&elf.sections[i]) && elf.sections[i].size > 0)
			return true;
	return false;
}

static bool fatbin_is_for(const struct ux_fatbin_entry *e, const char *arch)
{
	char text[UX_FATBIN_ARCH_TEXT];
	return e->kind == UX_FATBIN_CUBIN &&
	       (!arch || strcmp(ux_fatbin_arch(e, text), arch) == 0) && fatbin_has_code(e);
}

const char *ux_fatbin_archs(const struct ux_fatbin_list *list, char *text, size_t size)
{
	char names[ARCHS_MAX][UX_FATBIN_ARCH_TEXT], one[UX_FATBIN_ARCH_TEXT + 32];
	size_t n = 0, listed = 0, used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < list->entries.size && n < ARCHS_MAX; i++) {
		const struct ux_fatbin_entry *e = &list->entries.data[i];
		bool known = false;
		ux_fatbin_arch(e, names[n]);
		for (size_t k = 0; k < n; k++)
			known |= strcmp(names[k], names[n]) == 0;
		if (known)
			continue;
		int length = snprintf(one, sizeof(one), "%s%s%s", n > 0 ? ", " : "", names[n],
				      e->kind == UX_FATBIN_CUBIN ? "" : " (not compiled)");
		/* Once one did not fit, all others are counted. */
		if (listed == n++ && used + (size_t)length + ARCHS_MORE < size) {
			memcpy(text + used, one, (size_t)length + 1);
			used += (size_t)length;
			listed++;
		}
	}
	if (listed < n)
		snprintf(text + used, size - used, ", and %zu more", n - listed);
	return text;
}

static enum ux_code fatbin_choose_arch(const struct ux_fatbin_list *list, const char *arch,
				       size_t *ret, struct ux_error *err)
{
	char archs[ARCHS_TEXT];
	size_t n = 0, first = 0;
	for (size_t i = 0; i < list->entries.size; i++) {
		if (!fatbin_is_for(&list->entries.data[i], arch))
			continue;
		first = n++ == 0 ? i : first;
	}
	if (n == 1) {
		*ret = first;
		return UX_OK;
	}
	ux_fatbin_archs(list, archs, sizeof(archs));
	if (n == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no GPU code%s%.32s; the file has %s",
				    arch ? " for " : "", arch ? arch : "",
				    archs[0] ? archs : "none");
	return ux_error_set(err, UX_ECONFLICT,
			    "%zu pieces of GPU code%s%.32s, %s; choose one by its number", n,
			    arch ? " for " : "", arch ? arch : "", archs);
}

static enum ux_code fatbin_choose_number(const struct ux_fatbin_list *list, uint64_t number,
					 size_t *ret, struct ux_error *err)
{
	if (number == 0 || number > list->entries.size)
		return ux_error_set(err, UX_ENOTFOUND,
				    "no GPU code has number %" PRIu64 "; there are %zu pieces",
				    number, list->entries.size);
	const struct ux_fatbin_entry *e = &list->entries.data[number - 1];
	if (e->kind != UX_FATBIN_CUBIN)
		return ux_error_set(err, UX_ENOTFOUND,
				    "GPU code %" PRIu64 " is %s: it is compiled at run time and "
				    "has no addresses yet",
				    number, ux_fatbin_kind_name(e->kind));
	*ret = number - 1;
	return UX_OK;
}

static enum ux_code fatbin_choose_id(const struct ux_fatbin_list *list, const struct ux_id *id,
				     size_t *ret, struct ux_error *err)
{
	for (size_t i = 0; i < list->entries.size; i++) {
		ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
		struct ux_id_set ids = {0};
		if (list->entries.data[i].kind != UX_FATBIN_CUBIN ||
		    ux_fatbin_unpack(&list->entries.data[i], NULL, &content, NULL) != UX_OK)
			continue;
		UX_TRY(ux_cubin_ids(content.bytes, &ids, err));
		if (ux_id_set_has(&ids, id)) {
			*ret = i;
			return UX_OK;
		}
	}
	return ux_error_set(err, UX_ENOTFOUND, "no GPU code has that identity");
}

enum ux_code ux_fatbin_choose(const struct ux_fatbin_list *list, const char *text, size_t *ret,
			      struct ux_error *err)
{
	uint64_t number = 0;
	struct ux_id id;
	if (text && strchr(text, ':')) {
		UX_TRY(ux_id_parse(ux_bytes_cstr(text), &id, err));
		return fatbin_choose_id(list, &id, ret, err);
	}
	if (text && ux_decimal_parse(ux_bytes_cstr(text), &number))
		return fatbin_choose_number(list, number, ret, err);
	return fatbin_choose_arch(list, text, ret, err);
}
