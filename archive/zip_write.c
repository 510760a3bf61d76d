/* SPDX-License-Identifier: Apache-2.0 */
/* Writes ZIP archives: new ones, and old ones with other members. */
#include "zip_file.h"

#include "cursor.h"
#include "zip_format.h"

#include <libdeflate.h>

enum {
	FLAG_UTF8 = 1 << 11,
	LEVEL = 9,
	VERSION = 20,               /* 2.0: deflate */
	MADE_BY = 3 << 8 | VERSION, /* Unix, so that the attributes have its modes */
	MODE = 0100644,
};

/* Returns a buffer that writes little-endian numbers on any machine. */
static struct ux_out zip_buffer(void)
{
	return (struct ux_out){.swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__};
}

static enum ux_code zip_deflate(struct ux_bytes content, struct ux_out *ret, struct ux_error *err)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
	size_t max = c ? libdeflate_deflate_compress_bound(c, content.size) : 0;
	uint8_t *room = c ? ux_out_room(ret, max) : NULL;
	size_t n = room ? libdeflate_deflate_compress(c, content.data, content.size, room, max) : 0;
	libdeflate_free_compressor(c);
	if (n == 0)
		return ux_error_nomem(err);
	ret->size = n;
	return UX_OK;
}

/* --- numbers in headers that exist -------------------------------------------------------------
 */

static void zip_patch(uint8_t *at, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t zip_load(const uint8_t *at, size_t n)
{
	uint32_t v = 0;
	for (size_t i = 0; i < n; i++)
		v |= (uint32_t)at[i] << (8 * i);
	return v;
}

/* Returns the ZIP64 field among the extra fields of a header; size 0: none. */
static struct ux_bytes zip_field64(struct ux_bytes extra)
{
	struct ux_cur c = ux_cur_make(extra, NULL, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	while (ux_cur_left(&c) >= 4) {
		uint16_t id = ux_cur_u16(&c), n = ux_cur_u16(&c);
		struct ux_bytes field = ux_cur_take(&c, n);
		if (id == ZIP_EXTRA_ZIP64)
			return field;
	}
	return UX_BYTES_NONE;
}

/* Numbers of a header, in the order in which the ZIP64 field lists the ones that are too large. */
struct zip_number {
	size_t at; /* position of its 32-bit field; 0: the header has none */
	uint64_t value;
};

/* Sets the numbers in place: numbers of the ZIP64 field stay there. */
static enum ux_code zip_set_numbers(uint8_t *header, struct ux_bytes extra,
				    const struct zip_number *numbers, size_t n,
				    struct ux_error *err)
{
	struct ux_bytes field = zip_field64(extra);
	size_t used = 0;
	for (size_t i = 0; i < n; i++) {
		uint8_t *at = header + numbers[i].at;
		if (numbers[i].at == 0)
			continue;
		if (zip_load(at, 4) == UINT32_MAX && field.size - used >= 8) {
			zip_patch(header + (field.data - header) + used, numbers[i].value, 8);
			used += 8;
		} else if (numbers[i].value >= UINT32_MAX) {
			return ux_error_set(err, UX_ELIMIT, "%" PRIu64 " does not fit 32 bits",
					    numbers[i].value);
		} else {
			zip_patch(at, numbers[i].value, 4);
		}
	}
	return UX_OK;
}

/* --- rewriting ---------------------------------------------------------------------------------
 */

/* Facts about a member after it was written. */
struct zip_written {
	uint64_t off;
	uint64_t packed;
	uint64_t size;
	uint32_t crc;
	bool changed;
};

/* The state of one archive. */
struct zip_rewrite {
	const struct ux_zip_file *zip;
	ux_zip_sink_fn *sink;
	void *ctx;
	uint64_t off;
	struct zip_written *written; /* malloc'ed */
};

static void zip_rewrite_deinit(struct zip_rewrite *r)
{
	free(r->written);
}

static enum ux_code zip_put(struct zip_rewrite *r, struct ux_bytes bytes, struct ux_error *err)
{
	r->off += bytes.size;
	return r->sink(r->ctx, bytes, err);
}

/*
 * Writes the local header with its new numbers. The data descriptor is left out: the header has its
 * numbers.
 */
static enum ux_code zip_put_local(struct zip_rewrite *r, const struct ux_zip_member *m,
				  const struct zip_written *w, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const uint8_t *old = r->zip->file.data + m->off;
	size_t name = zip_load(old + 26, 2), extra = zip_load(old + 28, 2);
	ux_out_put(&out, old, ZIP_LOCAL_SIZE + name + extra);
	UX_TRY(ux_out_status(&out, err));
	zip_patch(out.data + 6, m->flags & ~(unsigned)ZIP_FLAG_DESCRIPTOR, 2);
	zip_patch(out.data + 14, w->crc, 4);
	const struct zip_number numbers[] = {{22, w->size}, {18, w->packed}};
	UX_TRY(zip_set_numbers(out.data, ux_bytes(out.data + ZIP_LOCAL_SIZE + name, extra), numbers,
			       ux_countof(numbers), err));
	return zip_put(r, ux_out_bytes(&out), err);
}

static enum ux_code zip_put_changed(struct zip_rewrite *r, size_t i, struct ux_bytes content,
				    struct ux_error *err)
{
	const struct ux_zip_member *m = &r->zip->members.data[i];
	struct zip_written *w = &r->written[i];
	ux_cleanup(ux_out_deinit) struct ux_out packed = {0};
	struct ux_bytes data = content;
	if (m->method == UX_ZIP_DEFLATED) {
		UX_TRY(zip_deflate(content, &packed, err));
		data = ux_out_bytes(&packed);
	}
	*w = (struct zip_written){.off = r->off,
				  .packed = data.size,
				  .size = content.size,
				  .crc = libdeflate_crc32(0, content.data, content.size),
				  .changed = true};
	UX_TRY(zip_put_local(r, m, w, err));
	return zip_put(r, data, err);
}

static enum ux_code zip_put_central(struct zip_rewrite *r, size_t i, struct ux_error *err)
{
	const struct ux_zip_member *m = &r->zip->members.data[i];
	const struct zip_written *w = &r->written[i];
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_put(&out, m->header.data, m->header.size);
	UX_TRY(ux_out_status(&out, err));
	size_t extra = zip_load(out.data + 30, 2);
	if (w->changed) {
		zip_patch(out.data + 8, m->flags & ~(unsigned)ZIP_FLAG_DESCRIPTOR, 2);
		zip_patch(out.data + 16, w->crc, 4);
	}
	const struct zip_number numbers[] = {
		{24, w->changed ? w->size : m->size},
		{20, w->changed ? w->packed : m->data.size},
		{42, w->off},
	};
	UX_TRY(zip_set_numbers(out.data,
			       ux_bytes(out.data + ZIP_CENTRAL_SIZE + m->name.size, extra), numbers,
			       ux_countof(numbers), err));
	return zip_put(r, ux_out_bytes(&out), err);
}

/* Writes the records of the end, with the new place of the directory. */
static enum ux_code zip_put_end(struct zip_rewrite *r, uint64_t directory, struct ux_error *err)
{
	const struct ux_zip_file *zip = r->zip;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	uint64_t from = zip->directory_end, size = r->off - directory;
	ux_out_put(&out, zip->file.data + from, zip->file.size - (size_t)from);
	UX_TRY(ux_out_status(&out, err));
	uint8_t *end = out.data + (zip->end - from);
	if (zip->end64) {
		uint8_t *end64 = out.data + (zip->end64 - from);
		zip_patch(end64 + 40, size, 8);
		zip_patch(end64 + 48, directory, 8);
		/* The locator precedes the record of the end. */
		zip_patch(end - 12, r->off + (zip->end64 - from), 8);
	}
	bool in64 = zip->end64 && zip_load(end + 16, 4) == UINT32_MAX;
	if (!in64 && directory >= UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "the archive exceeds 4 GiB");
	if (!in64)
		zip_patch(end + 16, directory, 4);
	if (!zip->end64 || zip_load(end + 12, 4) != UINT32_MAX)
		zip_patch(end + 12, size, 4);
	return zip_put(r, ux_out_bytes(&out), err);
}

enum ux_code ux_zip_rewrite(const struct ux_zip_file *zip, const struct ux_zip_change *changes,
			    ux_zip_sink_fn *sink, void *ctx, struct ux_error *err)
{
	ux_cleanup(zip_rewrite_deinit) struct zip_rewrite r = {
		.zip = zip, .sink = sink, .ctx = ctx};
	r.written = calloc(zip->members.size + 1, sizeof(*r.written));
	if (!r.written)
		return ux_error_nomem(err);
	for (size_t done = 0; done < zip->members.size; done++) {
		size_t i = zip->by_offset[done];
		const struct ux_zip_member *m = &zip->members.data[i];
		r.written[i].off = r.off;
		if (changes[i].is)
			UX_TRY(zip_put_changed(&r, i, changes[i].content, err));
		else
			UX_TRY(zip_put(&r,
				       ux_bytes(zip->file.data + m->off, (size_t)(m->end - m->off)),
				       err));
	}
	uint64_t directory = r.off;
	for (size_t i = 0; i < zip->members.size; i++)
		UX_TRY(zip_put_central(&r, i, err));
	return zip_put_end(&r, directory, err);
}

/* --- new archives ------------------------------------------------------------------------------
 */

static void zip_writer_header(struct ux_out *out, struct ux_bytes name, const struct zip_written *w,
			      uint16_t time, uint16_t date)
{
	ux_out_u16(out, VERSION);
	ux_out_u16(out, FLAG_UTF8);
	ux_out_u16(out, UX_ZIP_DEFLATED);
	ux_out_u16(out, time);
	ux_out_u16(out, date);
	ux_out_u32(out, w->crc);
	ux_out_u32(out, (uint32_t)w->packed);
	ux_out_u32(out, (uint32_t)w->size);
	ux_out_u16(out, (uint16_t)name.size);
	ux_out_u16(out, 0); /* extra fields */
}

enum ux_code ux_zip_writer_add(struct ux_zip_writer *w, struct ux_bytes name,
			       struct ux_bytes content, uint16_t time, uint16_t date,
			       struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out head = zip_buffer();
	ux_cleanup(ux_out_deinit) struct ux_out packed = {0};
	UX_TRY(zip_deflate(content, &packed, err));
	struct zip_written m = {.off = w->off,
				.packed = packed.size,
				.size = content.size,
				.crc = libdeflate_crc32(0, content.data, content.size)};
	uint64_t after = w->off + ZIP_LOCAL_SIZE + name.size + packed.size + w->directory.size +
			 ZIP_CENTRAL_SIZE + name.size;
	if (after >= UINT32_MAX || content.size >= UINT32_MAX || name.size > UINT16_MAX ||
	    w->count + 1 >= UINT16_MAX)
		return ux_error_set(
			err, UX_ELIMIT,
			"the archive of debug files exceeds 4 GiB or %u members; make them "
			"smaller with --compress=zstd",
			UINT16_MAX - 1);
	ux_out_u32(&head, ZIP_LOCAL_MAGIC);
	zip_writer_header(&head, name, &m, time, date);
	ux_out_put(&head, name.data, name.size);
	UX_TRY(ux_out_status(&head, err));
	UX_TRY(w->sink(w->ctx, ux_out_bytes(&head), err));
	UX_TRY(w->sink(w->ctx, ux_out_bytes(&packed), err));
	w->off += head.size + packed.size;
	w->count++;
	w->directory.swap = head.swap;
	ux_out_u32(&w->directory, ZIP_CENTRAL_MAGIC);
	ux_out_u16(&w->directory, MADE_BY);
	zip_writer_header(&w->directory, name, &m, time, date);
	ux_out_u16(&w->directory, 0); /* comment */
	ux_out_u16(&w->directory, 0); /* disk */
	ux_out_u16(&w->directory, 0); /* internal attributes */
	ux_out_u32(&w->directory, (uint32_t)MODE << 16);
	ux_out_u32(&w->directory, (uint32_t)m.off);
	ux_out_put(&w->directory, name.data, name.size);
	return ux_out_status(&w->directory, err);
}

enum ux_code ux_zip_writer_end(struct ux_zip_writer *w, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out end = zip_buffer();
	ux_out_u32(&end, ZIP_END_MAGIC);
	ux_out_u16(&end, 0); /* disk */
	ux_out_u16(&end, 0); /* disk of the directory */
	ux_out_u16(&end, (uint16_t)w->count);
	ux_out_u16(&end, (uint16_t)w->count);
	ux_out_u32(&end, (uint32_t)w->directory.size);
	ux_out_u32(&end, (uint32_t)w->off);
	ux_out_u16(&end, 0); /* comment */
	UX_TRY(ux_out_status(&end, err));
	UX_TRY(w->sink(w->ctx, ux_out_bytes(&w->directory), err));
	return w->sink(w->ctx, ux_out_bytes(&end), err);
}

void ux_zip_writer_deinit(struct ux_zip_writer *w)
{
	ux_out_deinit(&w->directory);
}

/* Days are counted from 1 March, so that the leap day is the last one of its year. */
void ux_zip_time(int64_t seconds, uint16_t *ret_time, uint16_t *ret_date)
{
	const int64_t first = 315532800, last = 4102444799; /* 1980-01-01 to 2099-12-31 */
	seconds = ux_max(first, ux_min(seconds, last));
	int64_t day = seconds / 86400, of_day = seconds % 86400;
	int64_t shifted = day + 671, /* days since 1968-03-01 */
		year = (4 * shifted + 3) / 1461, of_year = shifted - 1461 * year / 4;
	int64_t month = (5 * of_year + 2) / 153, of_month = of_year - (153 * month + 2) / 5 + 1;
	month = month < 10 ? month + 3 : month - 9;
	year += 1968 + (month <= 2);
	*ret_time = (uint16_t)(of_day / 3600 << 11 | of_day / 60 % 60 << 5 | of_day % 60 / 2);
	*ret_date = (uint16_t)((year - 1980) << 9 | month << 5 | of_month);
}
