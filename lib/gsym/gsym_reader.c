/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a GSYM: header, directory and tables. */
#include "gsym_reader.h"

#include "gsym_format.h"
#include "gsym_record.h"

struct gsym_directory gsym_directory_open(struct ux_bytes file, bool swap)
{
	struct gsym_directory d = {.file = file, .c = ux_cur_make(file, NULL, swap)};
	ux_cur_seek(&d.c, GSYM2_HEADER_SIZE);
	return d;
}

bool gsym_directory_next(struct gsym_directory *d, struct gsym_section *ret)
{
	struct ux_cur *c = &d->c;
	ret->type = ux_cur_u32(c);
	ret->off = ux_cur_u64(c);
	uint64_t size = ux_cur_u64(c);
	ret->content = UX_BYTES_NONE;
	if (c->failed)
		return false;
	if (ret->type == GSYM_SECTION_END) {
		if ((ret->off | size) != 0)
			ux_cur_bad(c, "end of the directory is not all zeros");
		return false;
	}
	if (size == 0)
		ux_cur_bad(c, "section is empty");
	else if (!ux_bytes_sub(d->file, ret->off, size, &ret->content))
		ux_cur_bad(c, "section exceeds the file");
	else if (++d->n > GSYM_SECTIONS_MAX)
		ux_cur_bad(c, "directory has more than 1024 sections");
	return !c->failed;
}

bool ux_gsym_is(struct ux_bytes file)
{
	struct ux_cur c = ux_cur_make(file, NULL, false);
	uint32_t magic = ux_cur_u32(&c);
	return magic == GSYM_MAGIC || magic == __builtin_bswap32(GSYM_MAGIC);
}

/* Magic and version are the same in all versions. */
static enum ux_code reader_open_version(struct ux_gsym *g, struct ux_cur *c, struct ux_error *err)
{
	if (!ux_gsym_is(g->file)) {
		uint32_t found = ux_cur_u32(c);
		UX_TRY(ux_cur_status(c, err));
		return ux_error_at(err, UX_EUNSUPPORTED, NULL, 0,
				   "not a GSYM: magic 0x%08" PRIx32 " found, 0x%08x expected",
				   found, (unsigned)GSYM_MAGIC);
	}
	c->swap = ux_cur_u32(c) != GSYM_MAGIC;
	g->swap = c->swap;
	g->version = ux_cur_u16(c);
	UX_TRY(ux_cur_status(c, err));
	if (g->version == 0 || g->version > GSYM_VERSION_MAX)
		return ux_error_at(err, UX_EUNSUPPORTED, NULL, sizeof(uint32_t),
				   "GSYM version %u found, 1 or %d expected", g->version,
				   GSYM_VERSION_MAX);
	g->addr_size = ux_cur_u8(c);
	if (g->addr_size != 1 && g->addr_size != 2 && g->addr_size != 4 && g->addr_size != 8)
		ux_cur_bad(c, "address width is not 1, 2, 4 or 8");
	return ux_cur_status(c, err);
}

static enum ux_code reader_check_strings(const struct ux_gsym *g, struct ux_error *err)
{
	struct ux_bytes s = g->strings;
	if (s.size > 0 && s.data[s.size - 1] == 0)
		return UX_OK;
	return ux_error_at(err, UX_ECORRUPT, NULL, s.data ? (uint64_t)(s.data - g->file.data) : 0,
			   "string table does not end with a NUL");
}

/* --- version 1 -------------------------------------------------------------------------------- */

static enum ux_code reader_open_header1(struct ux_gsym *g, struct ux_cur *c, struct ux_error *err)
{
	uint8_t uuid_size = ux_cur_u8(c);
	if (uuid_size > GSYM1_HEADER_SIZE - GSYM1_UUID_OFF)
		ux_cur_bad(c, "build ID is longer than 20 bytes");
	g->base = ux_cur_u64(c);
	g->n_functions = ux_cur_u32(c);
	uint32_t strings = ux_cur_u32(c);
	uint32_t strings_size = ux_cur_u32(c);
	struct ux_bytes uuid = ux_cur_take(c, GSYM1_HEADER_SIZE - GSYM1_UUID_OFF);
	UX_TRY(ux_cur_status(c, err));
	g->uuid = ux_bytes(uuid.data, uuid_size);
	if (!ux_bytes_sub(g->file, strings, strings_size, &g->strings))
		return ux_error_at(err, UX_ECORRUPT, NULL, 20,
				   "string table at 0x%" PRIx32 " with 0x%" PRIx32
				   " bytes exceeds the file of 0x%zx",
				   strings, strings_size, g->file.size);
	return UX_OK;
}

/* Reads the file table, beginning with its count. */
static void reader_open_files(struct ux_gsym *g, struct ux_cur *c)
{
	g->n_files = ux_cur_u32(c);
	g->files = ux_cur_take(c, (uint64_t)g->n_files * 2 * g->offset_size).data;
}

static enum ux_code reader_open1(struct ux_gsym *g, struct ux_cur *c, struct ux_error *err)
{
	g->offset_size = GSYM1_OFFSET;
	g->body = g->file;
	UX_TRY(reader_open_header1(g, c, err));
	/* Counts have 32 bits, so none of the products wraps. */
	g->addrs = ux_cur_take(c, (uint64_t)g->n_functions * g->addr_size).data;
	ux_cur_align(c, sizeof(uint32_t));
	g->records = ux_cur_take(c, (uint64_t)g->n_functions * GSYM1_OFFSET).data;
	reader_open_files(g, c);
	return ux_cur_status(c, err);
}

/* --- version 2 -------------------------------------------------------------------------------- */

static const char *const section_names[GSYM_SECTION_COUNT] = {
	[GSYM_SECTION_STARTS] = "address table", [GSYM_SECTION_RECORDS] = "record offsets",
	[GSYM_SECTION_STRINGS] = "string table", [GSYM_SECTION_FILES] = "file table",
	[GSYM_SECTION_FUNCTIONS] = "records",    [GSYM_SECTION_UUID] = "build ID",
};

/* Reads the directory's sections of known types. Others are ignored, as LLVM does. */
static enum ux_code reader_read_directory(const struct ux_gsym *g, struct gsym_section *found,
					  struct ux_error *err)
{
	struct gsym_directory d = gsym_directory_open(g->file, g->swap);
	struct gsym_section s;
	while (gsym_directory_next(&d, &s)) {
		if (s.type >= GSYM_SECTION_COUNT)
			continue;
		if (found[s.type].content.size > 0)
			ux_cur_bad(&d.c, "two sections of one type");
		found[s.type] = s;
	}
	UX_TRY(ux_cur_status(&d.c, err));
	for (unsigned i = GSYM_SECTION_STARTS; i <= GSYM_SECTION_FUNCTIONS; i++)
		if (found[i].content.size == 0)
			return ux_error_at(err, UX_ECORRUPT, NULL, GSYM2_HEADER_SIZE,
					   "section %u (%s) is missing", i, section_names[i]);
	return UX_OK;
}

static enum ux_code section_check_size(const struct gsym_section *s, uint64_t want,
				       struct ux_error *err)
{
	if (s->content.size == want)
		return UX_OK;
	return ux_error_at(err, UX_ECORRUPT, NULL, s->off,
			   "section %" PRIu32 " (%s) has 0x%zx bytes, 0x%" PRIx64 " expected",
			   s->type, section_names[s->type], s->content.size, want);
}

static enum ux_code reader_open2(struct ux_gsym *g, struct ux_cur *c, struct ux_error *err)
{
	struct gsym_section found[GSYM_SECTION_COUNT] = {0};
	uint8_t encoding = ux_cur_u8(c);
	g->offset_size = GSYM2_OFFSET;
	g->base = ux_cur_u64(c);
	g->n_functions = ux_cur_u32(c);
	UX_TRY(ux_cur_status(c, err));
	if (encoding != 0)
		return ux_error_at(err, UX_EUNSUPPORTED, NULL, 7,
				   "strings have encoding %u, expected 0", encoding);
	UX_TRY(reader_read_directory(g, found, err));
	const struct gsym_section *files = &found[GSYM_SECTION_FILES];
	uint64_t n = g->n_functions;
	UX_TRY(section_check_size(&found[GSYM_SECTION_STARTS], n * g->addr_size, err));
	UX_TRY(section_check_size(&found[GSYM_SECTION_RECORDS], n * GSYM2_OFFSET, err));
	g->addrs = found[GSYM_SECTION_STARTS].content.data;
	g->records = found[GSYM_SECTION_RECORDS].content.data;
	g->body = found[GSYM_SECTION_FUNCTIONS].content;
	g->strings = found[GSYM_SECTION_STRINGS].content;
	g->uuid = found[GSYM_SECTION_UUID].content;
	struct ux_cur table = ux_cur_make(files->content, NULL, g->swap);
	table.base = files->off;
	reader_open_files(g, &table);
	return ux_cur_status(&table, err);
}

enum ux_code ux_gsym_image_base(struct ux_bytes head, uint64_t *ret, struct ux_error *err)
{
	struct ux_gsym g = {.file = head};
	struct ux_cur c = ux_cur_make(head, NULL, false);
	UX_TRY(reader_open_version(&g, &c, err));
	ux_cur_skip(&c, 1); /* size of the build ID, or encoding of strings */
	uint64_t base = ux_cur_u64(&c);
	uint32_t n_functions = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	bool known = base == 0;
	if (!known && g.version == 1 && n_functions > 0) {
		ux_cur_seek(&c, GSYM1_HEADER_SIZE);
		known = ux_cur_uint(&c, g.addr_size) >
			0; /* the first function's offset from the base */
		UX_TRY(ux_cur_status(&c, err));
	}
	if (!known)
		return ux_error_set(err, UX_ENOTFOUND,
				    "its symbols do not record where the file's image begins");
	*ret = base;
	return UX_OK;
}

enum ux_code ux_gsym_open(struct ux_gsym *g, struct ux_bytes file, struct ux_error *err)
{
	struct ux_gsym made = {.file = file};
	struct ux_cur c = ux_cur_make(file, NULL, false);
	UX_TRY(reader_open_version(&made, &c, err));
	UX_TRY(made.version == 1 ? reader_open1(&made, &c, err) : reader_open2(&made, &c, err));
	UX_TRY(reader_check_strings(&made, err));
	*g = made;
	return UX_OK;
}

uint64_t ux_gsym_start(const struct ux_gsym *g, uint32_t i)
{
	assert(i < g->n_functions);
	return g->base + gsym_table_at(g->addrs, i, g->addr_size, g->swap);
}

bool ux_gsym_image_start(const struct ux_gsym *g, uint64_t *ret)
{
	bool known = g->base == 0 || (g->n_functions > 0 && ux_gsym_start(g, 0) > g->base);
	if (known)
		*ret = g->base;
	return known;
}

uint64_t ux_gsym_record(const struct ux_gsym *g, uint32_t i)
{
	assert(i < g->n_functions);
	return gsym_offset_at(g, g->records, i);
}

bool ux_gsym_file(const struct ux_gsym *g, uint32_t file, const char **ret_dir,
		  const char **ret_base)
{
	if (file >= g->n_files)
		return false;
	size_t i = (size_t)file * 2;
	const char *dir = ux_gsym_string(g, gsym_offset_at(g, g->files, i));
	const char *base = ux_gsym_string(g, gsym_offset_at(g, g->files, i + 1));
	if (!dir || !base)
		return false;
	*ret_dir = dir;
	*ret_base = base;
	return true;
}
