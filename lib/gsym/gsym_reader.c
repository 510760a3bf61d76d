/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a GSYM: header and tables. */
#include "gsym_reader.h"

#include "cursor.h"
#include "gsym_format.h"

bool ux_gsym_is(struct ux_bytes file)
{
	struct ux_cur c = ux_cur_make(file, NULL, false);
	uint32_t magic = ux_cur_u32(&c);
	return magic == GSYM_MAGIC || magic == __builtin_bswap32(GSYM_MAGIC);
}

/* Magic and version are the same in all versions. */
static enum ux_code open_version(struct ux_gsym *g, struct ux_cur *c, struct ux_error *err)
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
	if (g->version != GSYM_VERSION)
		return ux_error_at(err, UX_EUNSUPPORTED, NULL, sizeof(uint32_t),
				   "GSYM version %u found, %u expected", g->version,
				   (unsigned)GSYM_VERSION);
	return UX_OK;
}

static enum ux_code open_header(struct ux_gsym *g, struct ux_cur *c, struct ux_error *err)
{
	g->addr_size = ux_cur_u8(c);
	if (g->addr_size != 1 && g->addr_size != 2 && g->addr_size != 4 && g->addr_size != 8)
		ux_cur_bad(c, "address width is not 1, 2, 4 or 8");
	uint8_t uuid_size = ux_cur_u8(c);
	if (uuid_size > GSYM_HEADER_SIZE - GSYM_UUID_OFF)
		ux_cur_bad(c, "build ID is longer than 20 bytes");
	g->base = ux_cur_u64(c);
	g->n_functions = ux_cur_u32(c);
	uint32_t strings = ux_cur_u32(c);
	uint32_t strings_size = ux_cur_u32(c);
	struct ux_bytes uuid = ux_cur_take(c, GSYM_HEADER_SIZE - GSYM_UUID_OFF);
	UX_TRY(ux_cur_status(c, err));
	g->uuid = ux_bytes(uuid.data, uuid_size);
	if (!ux_bytes_sub(g->file, strings, strings_size, &g->strings))
		return ux_error_at(err, UX_ECORRUPT, NULL, 20,
				   "string table at 0x%" PRIx32 " with 0x%" PRIx32
				   " bytes leaves the file of 0x%zx",
				   strings, strings_size, g->file.size);
	if (strings_size == 0 || g->strings.data[strings_size - 1] != 0)
		return ux_error_at(err, UX_ECORRUPT, NULL, strings,
				   "string table does not end with a NUL");
	return UX_OK;
}

static enum ux_code open_tables(struct ux_gsym *g, struct ux_cur *c, struct ux_error *err)
{
	/* Counts have 32 bits, so none of the products wraps. */
	g->addrs = ux_cur_take(c, (uint64_t)g->n_functions * g->addr_size).data;
	ux_cur_align(c, sizeof(uint32_t));
	g->records = ux_cur_take(c, (uint64_t)g->n_functions * sizeof(uint32_t)).data;
	g->n_files = ux_cur_u32(c);
	g->files = ux_cur_take(c, (uint64_t)g->n_files * GSYM_FILE_SIZE).data;
	return ux_cur_status(c, err);
}

enum ux_code ux_gsym_open(struct ux_gsym *g, struct ux_bytes file, struct ux_error *err)
{
	struct ux_gsym made = {.file = file};
	struct ux_cur c = ux_cur_make(file, NULL, false);
	UX_TRY(open_version(&made, &c, err));
	UX_TRY(open_header(&made, &c, err));
	UX_TRY(open_tables(&made, &c, err));
	*g = made;
	return UX_OK;
}

uint64_t ux_gsym_start(const struct ux_gsym *g, uint32_t i)
{
	struct ux_bytes one = ux_bytes(g->addrs + (size_t)i * g->addr_size, g->addr_size);
	struct ux_cur c = ux_cur_make(one, NULL, g->swap);
	assert(i < g->n_functions);
	return g->base + ux_cur_uint(&c, g->addr_size);
}

uint32_t ux_gsym_record(const struct ux_gsym *g, uint32_t i)
{
	struct ux_bytes one = ux_bytes(g->records + i * sizeof(uint32_t), sizeof(uint32_t));
	struct ux_cur c = ux_cur_make(one, NULL, g->swap);
	assert(i < g->n_functions);
	return ux_cur_u32(&c);
}

bool ux_gsym_file(const struct ux_gsym *g, uint32_t file, const char **ret_dir,
		  const char **ret_base)
{
	if (file >= g->n_files)
		return false;
	struct ux_bytes entry = ux_bytes(g->files + (size_t)file * GSYM_FILE_SIZE, GSYM_FILE_SIZE);
	struct ux_cur c = ux_cur_make(entry, NULL, g->swap);
	const char *dir = ux_gsym_string(g, ux_cur_u32(&c));
	const char *base = ux_gsym_string(g, ux_cur_u32(&c));
	if (!dir || !base)
		return false;
	*ret_dir = dir;
	*ret_base = base;
	return true;
}
