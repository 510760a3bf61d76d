/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the header of pclntab. */
#include "gosym.h"

#include "cursor.h"

static const struct {
	uint32_t magic;
	enum ux_gosym_layout layout;
} magics[] = {
	{0xfffffffb, UX_GOSYM_GO12},
	{0xfffffffa, UX_GOSYM_GO116},
	{0xfffffff0, UX_GOSYM_GO118},
	{0xfffffff1, UX_GOSYM_GO120},
};

static bool find_layout(uint32_t magic, enum ux_gosym_layout *ret)
{
	for (size_t i = 0; i < ux_countof(magics); i++) {
		if (magics[i].magic != magic)
			continue;
		*ret = magics[i].layout;
		return true;
	}
	return false;
}

/* Reads the magic number, two zeros, quantum and word size. */
static bool read_head(struct ux_cur *c, struct ux_gosym_table *t)
{
	uint32_t magic = ux_cur_u32(c);
	uint16_t zeros = ux_cur_u16(c);
	t->quantum = ux_cur_u8(c);
	t->word = ux_cur_u8(c);
	return !c->failed && find_layout(magic, &t->layout) && zeros == 0 &&
	       (t->quantum == 1 || t->quantum == 2 || t->quantum == 4) &&
	       (t->word == 4 || t->word == 8);
}

bool ux_gosym_table_begins(struct ux_bytes bytes, bool swap)
{
	struct ux_gosym_table t;
	struct ux_cur c = ux_cur_make(bytes, NULL, swap);
	return read_head(&c, &t);
}

/* Returns true when the index of n functions is in bounds: n pairs, and the end of the last
 * function. *ret_behind is a cursor after it. */
static bool index_fits(const struct ux_gosym_table *t, uint64_t n, struct ux_cur *ret_behind)
{
	unsigned field = ux_gosym_table_field(t);
	struct ux_cur c = ux_cur_make(t->functions, ".gopclntab", t->swap);
	if (n == 0 || n > UX_GOSYM_FUNCTIONS_MAX)
		return false;
	ux_cur_skip(&c, t->index_off);
	ux_cur_skip(&c, n * 2 * field + field);
	*ret_behind = c;
	return !c.failed;
}

static enum ux_code corrupt(uint64_t off, const char *what, struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, ".gopclntab", off, "%s", what);
}

/* Layout of Go 1.2: offsets of names, files and programs count from the start of the one table. The
 * field after the index is the offset of the array of offsets of file names. */
static enum ux_code read_go12(struct ux_cur *c, struct ux_gosym_table *t, struct ux_error *err)
{
	uint64_t n = ux_cur_uint(c, t->word);
	struct ux_cur behind;
	t->names = t->files = t->programs = t->functions = t->bytes;
	t->index_off = UX_GOSYM_HEAD + t->word;
	if (c->failed || !index_fits(t, n, &behind))
		return corrupt(UX_GOSYM_HEAD, "function count exceeds the table", err);
	t->n_functions = (uint32_t)n;
	uint32_t off = ux_cur_u32(&behind);
	struct ux_cur files = ux_cur_make(t->bytes, ".gopclntab", t->swap);
	ux_cur_seek(&files, off);
	t->n_files = ux_cur_u32(&files);
	if (behind.failed || files.failed ||
	    !ux_bytes_sub(t->bytes, off, 4 * t->n_files, &t->units))
		return corrupt(off, "file table is out of bounds", err);
	return UX_OK;
}

/* Layouts of Go 1.16 and later: the sub-tables are in the order of their offsets, and each ends
 * where the next one begins. */
static enum ux_code read_go116(struct ux_cur *c, struct ux_gosym_table *t, struct ux_error *err)
{
	struct ux_bytes *parts[] = {&t->names, &t->units, &t->files, &t->programs, &t->functions};
	uint64_t offs[ux_countof(parts) + 1];
	uint64_t n = ux_cur_uint(c, t->word), behind_head;
	struct ux_cur behind;
	t->n_files = ux_cur_uint(c, t->word);
	if (t->layout >= UX_GOSYM_GO118) {
		t->text_at = t->pc + ux_cur_off(c);
		(void)ux_cur_uint(c, t->word);
	}
	for (size_t i = 0; i < ux_countof(parts); i++)
		offs[i] = ux_cur_uint(c, t->word);
	UX_TRY(ux_cur_status(c, err));
	behind_head = ux_cur_off(c);
	offs[ux_countof(parts)] = t->bytes.size;
	for (size_t i = 0; i < ux_countof(parts); i++)
		if (offs[i] < behind_head || offs[i] > offs[i + 1] ||
		    !ux_bytes_sub(t->bytes, offs[i], offs[i + 1] - offs[i], parts[i]))
			return corrupt(behind_head, "tables are out of order or out of bounds",
				       err);
	t->functions_off = offs[ux_countof(parts) - 1];
	if (!index_fits(t, n, &behind))
		return corrupt(UX_GOSYM_HEAD, "function count exceeds the table", err);
	t->n_functions = (uint32_t)n;
	return UX_OK;
}

enum ux_code ux_gosym_table_read(const struct ux_gosym_image *image, uint64_t pc, uint64_t size,
				 struct ux_gosym_table *ret, struct ux_error *err)
{
	struct ux_gosym_table t = {.pc = pc, .swap = image->swap};
	t.bytes = ux_gosym_image_at(image, pc);
	if (size > 0 && size < t.bytes.size)
		t.bytes.size = (size_t)size;
	struct ux_cur c = ux_cur_make(t.bytes, ".gopclntab", t.swap);
	if (!read_head(&c, &t))
		return ux_error_at(err, UX_EUNSUPPORTED, ".gopclntab", 0,
				   "no header of a known Go version");
	UX_TRY(t.layout == UX_GOSYM_GO12 ? read_go12(&c, &t, err) : read_go116(&c, &t, err));
	*ret = t;
	return UX_OK;
}

const char *ux_gosym_text(struct ux_bytes table, uint64_t off)
{
	if (off >= table.size)
		return NULL;
	size_t max = ux_min(table.size - (size_t)off, (size_t)UX_GOSYM_NAME_MAX);
	const uint8_t *text = table.data + off;
	return memchr(text, 0, max) ? (const char *)text : NULL;
}
