/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ZIP archives. */
#include "zip_file.h"

#include "cursor.h"
#include "order.h"
#include "zip_format.h"

#include <libdeflate.h>

enum {
	END64_MAGIC = 0x06064b50,
	LOCATOR_MAGIC = 0x07064b50,
	END_SIZE = 22,
	END64_SIZE = 56,
	LOCATOR_SIZE = 20,
	COMMENT_MAX = 65535,
	FLAG_ENCRYPTED = 1 << 0,
	FLAG_HIDDEN = 1 << 13, /* the directory is encrypted */
	DEFLATE_RATIO = 1032,  /* deflate encodes 258 bytes in two bits at best */
};

bool ux_zip_is(struct ux_bytes file)
{
	return ux_bytes_starts(file, UX_STR("PK\3\4"));
}

static struct ux_cur zip_cursor(struct ux_bytes bytes)
{
	return ux_cur_make(bytes, NULL, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static struct ux_cur zip_cursor_at(struct ux_bytes file, uint64_t off)
{
	struct ux_cur c = zip_cursor(file);
	ux_cur_seek(&c, off);
	return c;
}

/* --- the records of the end --------------------------------------------------------------------
 */

/* The directory's numbers in the records. */
struct directory {
	uint64_t off;
	uint64_t size;
	uint64_t count;
};

/* Finds the record of the end; only a comment of the stated size may follow it. */
static enum ux_code zip_find_end(struct ux_zip_file *zip, struct ux_error *err)
{
	size_t max = ux_min(zip->file.size, (size_t)END_SIZE + COMMENT_MAX);
	for (size_t back = END_SIZE; back <= max; back++) {
		const uint8_t *at = zip->file.data + zip->file.size - back;
		size_t comment = at[20] | (size_t)at[21] << 8;
		if (memcmp(at, "PK\5\6", 4) == 0 && comment == back - END_SIZE) {
			zip->end = zip->file.size - back;
			return UX_OK;
		}
	}
	return ux_error_set(err, UX_ECORRUPT,
			    "has no ZIP directory at its end: truncated, or not a ZIP archive");
}

/* The locator of the ZIP64 record precedes the record of the end. */
static enum ux_code zip_read_end64(struct ux_zip_file *zip, struct directory *ret,
				   struct ux_error *err)
{
	if (zip->end < LOCATOR_SIZE + END64_SIZE)
		return UX_OK;
	struct ux_cur c = zip_cursor_at(zip->file, zip->end - LOCATOR_SIZE);
	if (ux_cur_u32(&c) != LOCATOR_MAGIC)
		return UX_OK;
	ux_cur_skip(&c, 4);
	uint64_t off = ux_cur_u64(&c);
	c = zip_cursor_at(zip->file, off);
	if (ux_cur_u32(&c) != END64_MAGIC)
		ux_cur_bad(&c, "the ZIP64 record of the end is not where its locator says");
	ux_cur_skip(&c, 8 + 2 + 2 + 4 + 4);
	uint64_t here = ux_cur_u64(&c);
	ret->count = ux_cur_u64(&c);
	ret->size = ux_cur_u64(&c);
	ret->off = ux_cur_u64(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (here != ret->count)
		return ux_error_set(err, UX_EUNSUPPORTED, "is one part of a multi-volume archive");
	if (off > zip->end - LOCATOR_SIZE - END64_SIZE)
		return ux_error_at(err, UX_ECORRUPT, NULL, off,
				   "the ZIP64 record of the end overlaps its locator");
	zip->end64 = off;
	return UX_OK;
}

static enum ux_code zip_read_end(struct ux_zip_file *zip, struct directory *ret,
				 struct ux_error *err)
{
	UX_TRY(zip_find_end(zip, err));
	struct ux_cur c = zip_cursor_at(zip->file, zip->end + 4);
	uint32_t disk = ux_cur_u16(&c), first = ux_cur_u16(&c);
	uint32_t here = ux_cur_u16(&c);
	ret->count = ux_cur_u16(&c);
	ret->size = ux_cur_u32(&c);
	ret->off = ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	if ((disk != 0 && disk != 0xffff) || (first != 0 && first != 0xffff) || here != ret->count)
		return ux_error_set(err, UX_EUNSUPPORTED, "is one part of a multi-volume archive");
	UX_TRY(zip_read_end64(zip, ret, err));
	uint64_t limit = zip->end64 ? zip->end64 : zip->end;
	if (ret->off > limit || ret->size > limit - ret->off)
		return ux_error_set(err, UX_ECORRUPT,
				    "the directory (%" PRIu64 " bytes at 0x%" PRIx64
				    ") exceeds the file",
				    ret->size, ret->off);
	if (ret->count > UX_ZIP_MEMBERS_MAX)
		return ux_error_set(err, UX_ELIMIT, "%" PRIu64 " members; the limit is %d",
				    ret->count, UX_ZIP_MEMBERS_MAX);
	zip->directory = ret->off;
	zip->directory_end = ret->off + ret->size;
	return UX_OK;
}

/* --- members -----------------------------------------------------------------------------------
 */

/* Reads numbers that are too large for their fields from the ZIP64 extra field. */
static void zip_read_extra(struct ux_bytes extra, uint64_t *size, uint64_t *packed, uint64_t *off)
{
	struct ux_cur c = zip_cursor(extra);
	while (ux_cur_left(&c) >= 4) {
		uint16_t id = ux_cur_u16(&c), n = ux_cur_u16(&c);
		struct ux_cur field = ux_cur_sub(&c, n);
		if (id != ZIP_EXTRA_ZIP64 || field.failed)
			continue;
		uint64_t *const values[] = {size, packed, off};
		for (size_t i = 0; i < ux_countof(values); i++)
			if (*values[i] == UINT32_MAX)
				*values[i] = ux_cur_u64(&field);
		return;
	}
}

static enum ux_code zip_check_name(struct ux_bytes name, struct ux_error *err)
{
	for (size_t i = 0; i < name.size; i++)
		if (name.data[i] < ' ' || name.data[i] == 0x7f)
			return ux_error_set(err, UX_ECORRUPT,
					    "a name of a member has the control character 0x%02x",
					    name.data[i]);
	return UX_OK;
}

static enum ux_code zip_read_central(struct ux_cur *c, struct ux_zip_member *m,
				     uint64_t *ret_packed, struct ux_error *err)
{
	const uint8_t *start = c->pos;
	if (ux_cur_u32(c) != ZIP_CENTRAL_MAGIC)
		ux_cur_bad(c, "not a member header");
	ux_cur_skip(c, 4); /* versions */
	m->flags = ux_cur_u16(c);
	m->method = ux_cur_u16(c);
	m->time = ux_cur_u16(c);
	m->date = ux_cur_u16(c);
	m->crc = ux_cur_u32(c);
	*ret_packed = ux_cur_u32(c);
	m->size = ux_cur_u32(c);
	uint16_t name = ux_cur_u16(c), extra = ux_cur_u16(c), comment = ux_cur_u16(c);
	uint16_t disk = ux_cur_u16(c);
	ux_cur_skip(c, 2); /* internal attributes */
	m->attributes = ux_cur_u32(c);
	m->off = ux_cur_u32(c);
	m->name = ux_cur_take(c, name);
	struct ux_bytes fields = ux_cur_take(c, extra);
	ux_cur_skip(c, comment);
	UX_TRY(ux_cur_status(c, err));
	m->header = ux_bytes(start, (size_t)(c->pos - start));
	zip_read_extra(fields, &m->size, ret_packed, &m->off);
	if (disk != 0 && disk != 0xffff)
		return ux_error_set(err, UX_EUNSUPPORTED, "is one part of a multi-volume archive");
	if ((m->flags & (FLAG_ENCRYPTED | FLAG_HIDDEN)) != 0)
		return ux_error_set(err, UX_EUNSUPPORTED, "has encrypted members");
	return zip_check_name(m->name, err);
}

/* Finds the data after the local header, whose name must equal the central one's. */
static enum ux_code zip_read_local(const struct ux_zip_file *zip, struct ux_zip_member *m,
				   uint64_t packed, struct ux_error *err)
{
	struct ux_cur c = zip_cursor_at(zip->file, m->off);
	if (ux_cur_u32(&c) != ZIP_LOCAL_MAGIC)
		ux_cur_bad(&c, "not a local member header");
	ux_cur_skip(&c, ZIP_LOCAL_SIZE - 4 - 4);
	uint16_t name = ux_cur_u16(&c), extra = ux_cur_u16(&c);
	struct ux_bytes bytes = ux_cur_take(&c, name);
	ux_cur_skip(&c, extra);
	m->data = ux_cur_take(&c, packed);
	m->end = ux_cur_off(&c);
	UX_TRY(ux_cur_status(&c, err));
	if (!ux_bytes_eq(bytes, m->name))
		return ux_error_at(err, UX_ECORRUPT, NULL, m->off,
				   "a member has two names: %.*s and %.*s",
				   (int)ux_min(m->name.size, (size_t)48), m->name.data,
				   (int)ux_min(bytes.size, (size_t)48), bytes.data);
	return UX_OK;
}

struct zip_order {
	uint64_t off;
	size_t member;
};

static int zip_order_by_member(const void *a, const void *b)
{
	const struct zip_order *x = a, *y = b;
	UX_ORDER(x->member, y->member);
	return 0;
}

/*
 * A member ends where the next one begins: data descriptors and padding between them belong to the
 * first of the two. Bytes before the first member (a program that unpacks itself) are refused: they
 * would have offsets of their own.
 */
static enum ux_code zip_find_ends(struct ux_zip_file *zip, struct ux_error *err)
{
	size_t n = zip->members.size;
	ux_cleanup(ux_free_ptr) struct zip_order *order = calloc(n + 1, sizeof(*order));
	if (!order)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		order[i] = (struct zip_order){zip->members.data[i].off, i};
	ux_sort_by_start(order, n, sizeof(*order), zip_order_by_member);
	order[n].off = zip->directory;
	if (order[0].off != 0)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "begins with %" PRIu64 " bytes that belong to no member",
				    order[0].off);
	zip->by_offset = calloc(n + 1, sizeof(*zip->by_offset));
	if (!zip->by_offset)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++) {
		struct ux_zip_member *m = &zip->members.data[order[i].member];
		zip->by_offset[i] = order[i].member;
		if (m->end > order[i + 1].off)
			return ux_error_at(err, UX_ECORRUPT, NULL, order[i + 1].off,
					   "members overlap: %.*s ends at 0x%" PRIx64,
					   (int)ux_min(m->name.size, (size_t)64), m->name.data,
					   m->end);
		m->end = order[i + 1].off;
	}
	return UX_OK;
}

static enum ux_code zip_read_members(struct ux_zip_file *zip, const struct directory *d,
				     struct ux_error *err)
{
	struct ux_bytes bytes = UX_BYTES_NONE;
	if (!ux_bytes_sub(zip->file, d->off, d->size, &bytes))
		return ux_error_set(err, UX_ECORRUPT, "the directory exceeds the file");
	struct ux_cur c = zip_cursor(bytes);
	for (uint64_t i = 0; i < d->count; i++) {
		struct ux_zip_member m = {.off = 0};
		uint64_t packed = 0;
		UX_TRY(zip_read_central(&c, &m, &packed, err));
		UX_TRY(zip_read_local(zip, &m, packed, err));
		if (!ux_zip_members_append(&zip->members, m))
			return ux_error_nomem(err);
	}
	if (ux_cur_more(&c))
		return ux_error_at(err, UX_ECORRUPT, NULL, d->off + ux_cur_off(&c),
				   "%zu bytes of the directory belong to no member",
				   ux_cur_left(&c));
	return zip_find_ends(zip, err);
}

enum ux_code ux_zip_open(struct ux_zip_file *zip, struct ux_bytes file, struct ux_error *err)
{
	struct directory directory = {0};
	*zip = (struct ux_zip_file){.file = file};
	enum ux_code code = zip_read_end(zip, &directory, err);
	if (code == UX_OK)
		code = zip_read_members(zip, &directory, err);
	if (code != UX_OK)
		ux_zip_close(zip);
	return code;
}

void ux_zip_close(struct ux_zip_file *zip)
{
	ux_zip_members_deinit(&zip->members);
	free(zip->by_offset);
	*zip = (struct ux_zip_file){0};
}

/* --- contents ----------------------------------------------------------------------------------
 */

static enum ux_code zip_inflate(const struct ux_zip_member *m, struct ux_out *to,
				struct ux_error *err)
{
	if (m->size / DEFLATE_RATIO > m->data.size)
		return ux_error_set(err, UX_ECORRUPT,
				    "%zu bytes cannot inflate to the stated %" PRIu64, m->data.size,
				    m->size);
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint8_t *room = d && m->size > 0 ? ux_out_room(to, (size_t)m->size) : NULL;
	size_t n = 0;
	enum libdeflate_result r = LIBDEFLATE_BAD_DATA;
	static uint8_t none;
	if (room || (d && m->size == 0))
		r = libdeflate_deflate_decompress(d, m->data.data, m->data.size,
						  room ? room : &none, (size_t)m->size, &n);
	bool memory = d && !to->failed;
	libdeflate_free_decompressor(d);
	if (!memory)
		return ux_error_nomem(err);
	if (r != LIBDEFLATE_SUCCESS || n != m->size)
		return ux_error_set(err, UX_ECORRUPT, "the compressed data is damaged");
	return UX_OK;
}

enum ux_code ux_zip_read(const struct ux_zip_member *member, struct ux_out *to,
			 struct ux_error *err)
{
	size_t before = to->size;
	if (member->size > UX_ZIP_MEMBER_MAX)
		return ux_error_set(err, UX_ELIMIT, "%" PRIu64 " bytes; the limit is %" PRIu64,
				    member->size, UX_ZIP_MEMBER_MAX);
	if (member->method == UX_ZIP_DEFLATED) {
		UX_TRY(zip_inflate(member, to, err));
	} else if (member->method == UX_ZIP_STORED) {
		if (member->data.size != member->size)
			return ux_error_set(err, UX_ECORRUPT, "the two sizes of a member differ");
		ux_out_put(to, member->data.data, member->data.size);
		UX_TRY(ux_out_status(to, err));
	} else {
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "compression method %u; expected 0 or 8 (deflate)",
				    member->method);
	}
	size_t n = to->size - before;
	if (libdeflate_crc32(0, n > 0 ? to->data + before : NULL, n) != member->crc)
		return ux_error_set(err, UX_ECORRUPT, "the CRC of a member is wrong");
	return UX_OK;
}
