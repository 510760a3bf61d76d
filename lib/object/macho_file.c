/* SPDX-License-Identifier: Apache-2.0 */
/* A Mach-O file: header, load commands, segments, sections, identities. */
#include "macho_file.h"

#include "cursor.h"
#include "id.h"
#include "vec.h"

/* --- header and load commands of a Mach-O file ------------------------------------------------ */

enum {
	SEGMENTS_MAX = 1 << 16, /* a fileset of a kernel has some hundreds */
};

UX_VEC(section_vec, struct ux_macho_section);
UX_VEC(segment_vec, struct ux_macho_segment);

/* The tables that are filled while load commands are read. */
struct tables {
	struct section_vec sections;
	struct segment_vec segments;
};

static void macho_tables_deinit(struct tables *t)
{
	section_vec_deinit(&t->sections);
	segment_vec_deinit(&t->segments);
}

static uint32_t macho_magic(struct ux_bytes file)
{
	if (file.size < 4)
		return 0;
	const uint8_t *p = file.data;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool ux_macho_is(struct ux_bytes file)
{
	uint32_t magic = macho_magic(file);
	return magic == MH_MAGIC || magic == MH_CIGAM || magic == MH_MAGIC_64 ||
	       magic == MH_CIGAM_64;
}

/* Reads an address or size of the file's width. */
static uint64_t macho_word(struct ux_cur *c, bool is64)
{
	return is64 ? ux_cur_u64(c) : ux_cur_u32(c);
}

/* Reads a name of 16 bytes, without a NUL when it has all of them. */
static void macho_read_name(struct ux_cur *c, char name[MACHO_NAME_SIZE + 1])
{
	struct ux_bytes text = ux_cur_take(c, MACHO_NAME_SIZE);
	memset(name, 0, MACHO_NAME_SIZE + 1);
	if (text.size > 0)
		memcpy(name, text.data, strnlen((const char *)text.data, MACHO_NAME_SIZE));
}

/* struct section, struct section_64 */
static struct ux_macho_section macho_read_section(const struct ux_macho *m, struct ux_cur *c)
{
	struct ux_macho_section s = {0};
	macho_read_name(c, s.name);
	macho_read_name(c, s.segment);
	s.addr = macho_word(c, m->is64);
	s.size = macho_word(c, m->is64);
	s.off = ux_cur_u32(c);
	ux_cur_skip(c, 4 + 4 + 4); /* align, reloff, nreloc */
	s.flags = ux_cur_u32(c);
	s.reserved1 = ux_cur_u32(c);
	s.reserved2 = ux_cur_u32(c);
	if (m->is64)
		ux_cur_skip(c, 4);
	return s;
}

/* struct segment_command, segment_command_64: its sections follow it in the command. */
static enum ux_code macho_read_segment(const struct ux_macho *m, struct ux_cur *c, struct tables *t,
				       struct ux_error *err)
{
	struct ux_macho_segment g = {0};
	macho_read_name(c, g.name);
	g.vmaddr = macho_word(c, m->is64);
	g.vmsize = macho_word(c, m->is64);
	g.off = macho_word(c, m->is64);
	g.filesize = macho_word(c, m->is64);
	ux_cur_skip(c, 4); /* maxprot */
	g.initprot = ux_cur_u32(c);
	uint32_t count = ux_cur_u32(c);
	ux_cur_skip(c, 4); /* flags */
	UX_TRY(ux_cur_status(c, err));
	if (t->segments.size == SEGMENTS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d segments", SEGMENTS_MAX);
	if (!segment_vec_append(&t->segments, g))
		return ux_error_nomem(err);
	for (uint32_t i = 0; i < count; i++) {
		struct ux_macho_section s = macho_read_section(m, c);
		UX_TRY(ux_cur_status(c, err));
		if (!section_vec_append(&t->sections, s))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* struct symtab_command */
static void macho_read_symtab(struct ux_macho *m, struct ux_cur *c)
{
	m->symbols.off = ux_cur_u32(c);
	m->symbols.count = ux_cur_u32(c);
	m->strings.off = ux_cur_u32(c);
	m->strings.count = ux_cur_u32(c);
	m->has_symtab = true;
}

/* struct dysymtab_command; only the indirect symbols are read */
static void macho_read_dysymtab(struct ux_macho *m, struct ux_cur *c)
{
	ux_cur_skip(c, 12 * 4);
	m->indirect.off = ux_cur_u32(c);
	m->indirect.count = ux_cur_u32(c);
}

static enum ux_code macho_read_uuid(struct ux_macho *m, struct ux_cur *c, struct ux_error *err)
{
	static const uint8_t none[MACHO_UUID_SIZE];
	struct ux_bytes bytes = ux_cur_take(c, MACHO_UUID_SIZE);
	UX_TRY(ux_cur_status(c, err));
	/*
	 * ld -no_uuid omits the command. Other linkers write a UUID of zeros, which is not an
	 * identity.
	 */
	if (m->id.size > 0 || memcmp(bytes.data, none, sizeof(none)) == 0)
		return UX_OK;
	return ux_id_make(UX_ID_UUID, bytes, &m->id, err);
}

static enum ux_code macho_read_command(struct ux_macho *m, uint32_t cmd, struct ux_cur *c,
				       struct tables *t, struct ux_error *err)
{
	switch (cmd) {
	case LC_SEGMENT:
	case LC_SEGMENT_64:
		if ((cmd == LC_SEGMENT_64) != m->is64)
			return UX_OK; /* the loader ignores it, too */
		return macho_read_segment(m, c, t, err);
	case LC_SYMTAB:
		macho_read_symtab(m, c);
		break;
	case LC_DYSYMTAB:
		macho_read_dysymtab(m, c);
		break;
	case LC_UUID:
		return macho_read_uuid(m, c, err);
	case LC_FUNCTION_STARTS:
		m->starts.off = ux_cur_u32(c);
		m->starts.count = ux_cur_u32(c);
		break;
	case LC_ENCRYPTION_INFO:
	case LC_ENCRYPTION_INFO_64:
		ux_cur_skip(c, 4 + 4); /* cryptoff, cryptsize */
		m->encrypted = m->encrypted || ux_cur_u32(c) != 0;
		break;
	default:
		break;
	}
	return ux_cur_status(c, err);
}

static enum ux_code macho_read_commands(struct ux_macho *m, uint32_t count, struct ux_cur c,
					struct tables *t, struct ux_error *err)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t cmd = ux_cur_u32(&c);
		uint32_t size = ux_cur_u32(&c);
		if (!c.failed && size < 8)
			ux_cur_bad(&c, "load command is shorter than 8 bytes");
		struct ux_cur body = ux_cur_sub(&c, size - 8);
		UX_TRY(ux_cur_status(&c, err));
		UX_TRY(macho_read_command(m, cmd, &body, t, err));
	}
	return UX_OK;
}

static enum ux_code macho_read_all(struct ux_macho *m, struct tables *t, struct ux_error *err)
{
	if (!ux_macho_is(m->file))
		return ux_error_set(err, UX_EUNSUPPORTED, "not a Mach-O file");
	uint32_t magic = macho_magic(m->file);
	bool big = magic == MH_MAGIC || magic == MH_MAGIC_64;
	m->is64 = magic == MH_MAGIC_64 || magic == MH_CIGAM_64;
	m->swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	struct ux_cur c = ux_cur_make(m->file, NULL, m->swap);
	ux_cur_skip(&c, 4);
	m->cpu = ux_cur_u32(&c);
	m->subtype = ux_cur_u32(&c);
	m->type = ux_cur_u32(&c);
	uint32_t count = ux_cur_u32(&c);
	uint32_t size = ux_cur_u32(&c);
	ux_cur_skip(&c, m->is64 ? 8 : 4); /* flags */
	struct ux_cur commands = ux_cur_sub(&c, size);
	UX_TRY(ux_cur_status(&c, err));
	return macho_read_commands(m, count, commands, t, err);
}

enum ux_code ux_macho_open(struct ux_macho *m, struct ux_bytes file, struct ux_error *err)
{
	ux_cleanup(macho_tables_deinit) struct tables t = {0};
	struct ux_macho made = {.file = file};
	UX_TRY(macho_read_all(&made, &t, err));
	made.sections = section_vec_steal(&t.sections, &made.n_sections);
	made.segments = segment_vec_steal(&t.segments, &made.n_segments);
	*m = made;
	return UX_OK;
}

void ux_macho_close(struct ux_macho *m)
{
	free(m->sections);
	free(m->segments);
	*m = (struct ux_macho){0};
}

const struct ux_macho_section *ux_macho_section_find(const struct ux_macho *m, const char *name)
{
	for (size_t i = 0; i < m->n_sections; i++)
		if (strncmp(m->sections[i].name, name, MACHO_NAME_SIZE) == 0)
			return &m->sections[i];
	return NULL;
}

const struct ux_macho_segment *ux_macho_segment_find(const struct ux_macho *m, const char *name)
{
	for (size_t i = 0; i < m->n_segments; i++)
		if (strncmp(m->segments[i].name, name, MACHO_NAME_SIZE) == 0)
			return &m->segments[i];
	return NULL;
}

bool ux_macho_section_has_content(const struct ux_macho_section *s)
{
	uint32_t type = s->flags & SECTION_TYPE;
	return s->size > 0 && s->off > 0 && type != S_ZEROFILL && type != S_GB_ZEROFILL &&
	       type != S_THREAD_LOCAL_ZEROFILL;
}

bool ux_macho_has_dwarf(const struct ux_macho *m)
{
	static const char *const names[] = {"__debug_info", "__zdebug_info"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		const struct ux_macho_section *s = ux_macho_section_find(m, names[i]);
		if (s && ux_macho_section_has_content(s))
			return true;
	}
	return false;
}

enum ux_code ux_macho_section_bytes(const struct ux_macho *m, const struct ux_macho_section *s,
				    struct ux_bytes *ret, struct ux_error *err)
{
	*ret = UX_BYTES_NONE;
	if (!ux_macho_section_has_content(s) || ux_bytes_sub(m->file, s->off, s->size, ret))
		return UX_OK;
	return ux_error_at(err, UX_ECORRUPT, s->name, UX_ERROR_NO_OFF,
			   "its %" PRIu64 " bytes at 0x%" PRIx32 " exceed the file of %zu bytes",
			   s->size, s->off, m->file.size);
}

enum ux_code ux_macho_extent_bytes(const struct ux_macho *m, const struct ux_macho_extent *extent,
				   size_t size, const char *what, struct ux_bytes *ret,
				   struct ux_error *err)
{
	*ret = UX_BYTES_NONE;
	/* Counts have 32 bits: no product of them wraps. */
	if (extent->count == 0 || ux_bytes_sub(m->file, extent->off, extent->count * size, ret))
		return UX_OK;
	return ux_error_set(err, UX_ECORRUPT,
			    "%s: %" PRIu64 " bytes at 0x%" PRIx64 " exceed the file of %zu bytes",
			    what, extent->count * size, extent->off, m->file.size);
}

const char *ux_macho_type_name(uint32_t type)
{
	static const char *const names[] = {
		[MH_OBJECT] = "object file",
		[MH_EXECUTE] = "executable",
		[MH_CORE] = "core dump",
		[MH_PRELOAD] = "preloaded executable",
		[MH_DYLIB] = "dylib",
		[MH_DYLINKER] = "dynamic linker",
		[MH_BUNDLE] = "bundle",
		[MH_DYLIB_STUB] = "dylib stub",
		[MH_DSYM] = "dSYM file",
		[MH_KEXT_BUNDLE] = "kernel extension",
		[MH_FILESET] = "kernel collection",
	};
	return type < ux_countof(names) && names[type] ? names[type] : "file of an unknown type";
}

/* --- the identities of a Mach-O file ---------------------------------------------------------- */

enum {
	GO_ID_WITHIN = 32 << 10 /* bytes of __text that are searched, as by the go command */
};

/*
 * Returns the text of "\xff Go build ID: "TEXT"
 *  \xff" at the start of the code; empty: it is not there.
 */
static struct ux_bytes macho_go_id(const struct ux_macho *macho)
{
	struct ux_bytes begin = UX_STR("\xff Go build ID: \""), end = UX_STR("\"\n \xff");
	const struct ux_macho_section *text = ux_macho_section_find(macho, "__text");
	struct ux_bytes code = UX_BYTES_NONE;
	if (!text || ux_macho_section_bytes(macho, text, &code, NULL) != UX_OK || code.size == 0)
		return UX_BYTES_NONE;
	code.size = ux_min(code.size, (size_t)GO_ID_WITHIN);
	const uint8_t *at = memmem(code.data, code.size, begin.data, begin.size);
	if (!at)
		return UX_BYTES_NONE;
	at += begin.size;
	size_t left = code.size - (size_t)(at - code.data);
	const uint8_t *stop = memmem(at, left, end.data, end.size);
	return ux_bytes(at, stop ? (size_t)(stop - at) : 0);
}

enum ux_code ux_macho_ids(const struct ux_macho *macho, struct ux_id_set *ret, struct ux_error *err)
{
	struct ux_id go;
	struct ux_bytes text = macho_go_id(macho);
	if (macho->id.size > 0)
		UX_TRY(ux_id_set_add(ret, &macho->id, err));
	/* A Go build ID without a text form is not an identity. */
	if (text.size > 0 && ux_id_make(UX_ID_GO, text, &go, NULL) == UX_OK)
		UX_TRY(ux_id_set_add(ret, &go, err));
	return UX_OK;
}
