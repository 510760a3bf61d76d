/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the file around the records. */
#include "gsym_encode.h"

#include "cursor.h"
#include "gsym_format.h"
#include "gsym_tree.h"
#include "out.h"

static void widen_name(struct ux_out *out, struct ux_cur *c, unsigned shift)
{
	ux_out_u64(out, (uint64_t)ux_cur_u32(c) << shift);
}

static void widen_copy(struct ux_out *out, struct ux_bytes bytes)
{
	ux_out_put(out, bytes.data, bytes.size);
}

static void widen_inlines(struct ux_out *out, struct ux_cur *c, unsigned shift)
{
	struct gsym_inlines it;
	struct gsym_inlines_range range;
	struct gsym_inlines_node node;
	const uint8_t *from = c->pos;
	gsym_inlines_start(&it);
	while (gsym_inlines_next(&it, c, GSYM_INLINES_STRICT)) {
		if (it.n_ranges == 0)
			continue;
		while (gsym_inlines_range(&it, c, &range, GSYM_INLINES_STRICT))
			;
		gsym_inlines_node(&it, c, GSYM1_OFFSET, &node, GSYM_INLINES_STRICT);
		if (c->failed)
			break;
		ux_out_put(out, from, (size_t)(node.name_pos - from));
		ux_out_u64(out, node.name << shift);
		from = node.name_pos + GSYM1_OFFSET;
	}
	ux_out_put(out, from, (size_t)(c->pos - from));
	if (ux_cur_more(c))
		ux_cur_bad(c, "inline tree ends before its block");
}

/*
 * Converts size, name and blocks up to the end tuple. Merged functions must not contain merged
 * functions, which the encoder never writes, so that the recursion is bounded.
 */
static void widen_function(struct ux_out *out, struct ux_cur *c, unsigned shift, bool nested);

static void widen_merged(struct ux_out *out, struct ux_cur *c, unsigned shift)
{
	uint32_t n = ux_cur_u32(c);
	ux_out_u32(out, n);
	for (uint32_t i = 0; i < n && !c->failed; i++) {
		struct ux_cur one = ux_cur_sub(c, ux_cur_u32(c));
		size_t start = out->size + sizeof(uint32_t);
		ux_out_u32(out, 0);
		widen_function(out, &one, shift, /* nested= */ true);
		ux_out_patch_u32(out, start - sizeof(uint32_t), (uint32_t)(out->size - start));
		if (one.failed)
			ux_cur_bad(c, "merged function is damaged");
	}
}

static void widen_block(struct ux_out *out, struct ux_cur *c, uint32_t type, unsigned shift)
{
	if (type == GSYM_INFO_INLINES)
		widen_inlines(out, c, shift);
	else if (type == GSYM_INFO_MERGED)
		widen_merged(out, c, shift);
	else if (type == GSYM_INFO_LINES || type == GSYM_INFO_END)
		widen_copy(out, ux_cur_take(c, ux_cur_left(c)));
	else
		ux_cur_bad(c, "block has an unsupported type");
}

static void widen_function(struct ux_out *out, struct ux_cur *c, unsigned shift, bool nested)
{
	ux_out_u32(out, ux_cur_u32(c));
	widen_name(out, c, shift);
	for (uint32_t type = GSYM_INFO_COUNT; type != GSYM_INFO_END && !c->failed;) {
		type = ux_cur_u32(c);
		ux_out_u32(out, type);
		struct ux_cur block = ux_cur_sub(c, ux_cur_u32(c));
		size_t start = out->size + sizeof(uint32_t);
		ux_out_u32(out, 0);
		if (type == GSYM_INFO_MERGED && nested)
			ux_cur_bad(&block, "merged functions in merged functions");
		else
			widen_block(out, &block, type, shift);
		ux_out_patch_u32(out, start - sizeof(uint32_t), (uint32_t)(out->size - start));
		if (block.failed)
			ux_cur_bad(c, "block is damaged");
	}
}

/*
 * Converts the record at c to version 2, which has wider offsets, and appends it to out, which is
 * 4-aligned before and afterwards; c moves to the next record. Names are multiplied by 2^shift. A
 * damaged record is a failure of c.
 *
 * Records are encoded before it is known whether version 1 can hold them all. The versions differ
 * little, so there is one encoder for version 1, and a second pass for files that need version 2.
 */
static void widen_record(struct ux_out *out, struct ux_cur *c, unsigned shift)
{
	assert(out->size % GSYM_RECORD_ALIGN == 0);
	widen_function(out, c, shift, /* nested= */ false);
	ux_cur_align(c, GSYM_RECORD_ALIGN);
	ux_out_align(out, GSYM_RECORD_ALIGN);
}

enum {
	PIECE = 1 << 16 /* bytes of tables that are passed to the sink in one call */
};

/*
 * The offsets of parts, in file order. The versions differ in the header, in the width of offsets,
 * and in the base of record offsets.
 */
struct layout {
	unsigned version;
	unsigned offset_size; /* size of the offset of a string or record */
	uint64_t base;
	unsigned addr_size;
	uint64_t uuid; /* version 2 */
	uint64_t starts;
	uint64_t records; /* table of record offsets */
	uint64_t files;
	uint64_t strings;
	uint64_t data;
	uint64_t end;
	uint64_t records_from; /* added to the records' offsets in `data` */
};

static uint64_t layout_align(uint64_t v, uint64_t n)
{
	return (v + n - 1) & ~(n - 1);
}

static unsigned layout_addr_size(uint64_t max)
{
	return max <= UINT8_MAX ? 1 : max <= UINT16_MAX ? 2 : max <= UINT32_MAX ? 4 : 8;
}

/* Returns the number of entries of the directory, including the last one. */
static unsigned layout_n_entries(const struct ux_gsym_image *image)
{
	return GSYM_SECTION_FUNCTIONS + (image->uuid.size > 0) + 1;
}

/*
 * A function below the base would wrap to a large offset and leave the table unsorted. The base of
 * such an image is therefore its first function, as in LLVM's files without a base.
 */
static struct layout layout_make(const struct ux_gsym_image *image, unsigned version,
				 uint64_t data_size)
{
	assert(image->n_functions > 0 && (version == 1 || version == 2));
	struct layout l = {.version = version, .base = ux_min(image->base, image->starts[0])};
	uint64_t n = image->n_functions, header = GSYM1_HEADER_SIZE;
	l.offset_size = version == 1 ? GSYM1_OFFSET : GSYM2_OFFSET;
	l.addr_size = layout_addr_size(image->starts[n - 1] - l.base);
	if (version != 1) {
		l.uuid = GSYM2_HEADER_SIZE + (uint64_t)layout_n_entries(image) * GSYM2_ENTRY_SIZE;
		header = l.uuid + image->uuid.size;
	}
	l.starts = layout_align(header, l.addr_size);
	l.records = layout_align(l.starts + n * l.addr_size, l.offset_size);
	l.files = l.records + n * l.offset_size;
	l.strings = l.files + sizeof(uint32_t) + (uint64_t)image->n_files * 2 * l.offset_size;
	l.data = layout_align(l.strings + image->strings.size, GSYM_RECORD_ALIGN);
	l.end = l.data + data_size;
	l.records_from = version == 1 ? l.data : 0;
	return l;
}

static uint64_t image_data_size(const struct ux_gsym_image *image)
{
	uint64_t size = image->placed;
	for (size_t i = 0; i < image->n_data; i++)
		size += image->data[i].size;
	return size;
}

/* UX_OK when version 1 can hold the image with that many bytes of records. */
static enum ux_code image_check_v1(const struct ux_gsym_image *image, uint64_t records,
				   struct ux_error *err)
{
	uint64_t max = image->v1_max ? image->v1_max : UINT32_MAX;
	if (image->uuid.size > UX_GSYM_UUID_MAX)
		return ux_error_set(err, UX_ELIMIT, "build ID has %zu bytes, GSYM 1 holds %d",
				    image->uuid.size, UX_GSYM_UUID_MAX);
	if (image->string_shift > 0)
		return ux_error_set(err, UX_ELIMIT,
				    "strings are numbered in steps, which GSYM 1 does not support");
	uint64_t end = layout_make(image, 1, records).end;
	if (end > max)
		return ux_error_set(err, UX_ELIMIT,
				    "GSYM 1 is limited to 4 GiB; %" PRIu64 " bytes needed", end);
	return UX_OK;
}

bool ux_gsym_image_records_off(const struct ux_gsym_image *image, uint64_t max, uint64_t *ret_off)
{
	bool fits = image->version != 2 && image->n_functions > 0 &&
		    image->n_functions <= UINT32_MAX && image->n_files <= UINT32_MAX &&
		    image_check_v1(image, max, NULL) == UX_OK;
	if (fits)
		*ret_off = layout_make(image, 1, max).data;
	return fits;
}

unsigned ux_gsym_image_version(const struct ux_gsym_image *image)
{
	assert(image->n_functions > 0);
	if (image->version != 0)
		return image->version;
	return image_check_v1(image, image_data_size(image), NULL) == UX_OK ? 1 : 2;
}

static enum ux_code image_check(const struct ux_gsym_image *image, struct ux_error *err)
{
	struct ux_bytes s = image->strings;
	if (image->n_functions == 0)
		return ux_error_set(err, UX_EINVAL, "a GSYM needs at least one function");
	if (s.size == 0 || s.data[0] != 0 || s.data[s.size - 1] != 0)
		return ux_error_set(err, UX_EINVAL, "string table lacks its NULs");
	/* Counts are checked first, so that sums cannot wrap. */
	if (image->n_functions > UINT32_MAX || image->n_files > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "too many functions or files for a GSYM");
	if (image->version > GSYM_VERSION_MAX)
		return ux_error_set(err, UX_EINVAL,
				    "GSYM version %u is requested; %d is the latest",
				    image->version, GSYM_VERSION_MAX);
	return image->version == 1 ? image_check_v1(image, image_data_size(image), err) : UX_OK;
}

/* --- the file, front to back ------------------------------------------------------------------ */

/* A ux_out that is emptied into the sink whenever it holds a piece. */
struct stream {
	struct ux_out out;
	ux_gsym_sink_fn *sink;
	void *ctx;
};

static void image_stream_deinit(struct stream *s)
{
	ux_out_deinit(&s->out);
}

static enum ux_code image_stream_flush(struct stream *s, size_t min, struct ux_error *err)
{
	UX_TRY(ux_out_status(&s->out, err));
	if (s->out.size < min || s->out.size == 0)
		return UX_OK;
	UX_TRY(s->sink(s->ctx, ux_out_bytes(&s->out), err));
	ux_out_reset(&s->out);
	return UX_OK;
}

/* Writes padding from the end of one part to the start of the next. */
static void image_put_padding(struct stream *s, uint64_t from, uint64_t to)
{
	assert(from <= to);
	static const uint8_t zeros[sizeof(uint64_t)];
	ux_out_put(&s->out, zeros, (size_t)(to - from));
}

static void image_put_header1(struct ux_out *out, const struct ux_gsym_image *image,
			      const struct layout *l)
{
	static const uint8_t zeros[UX_GSYM_UUID_MAX];
	ux_out_u8(out, (uint8_t)image->uuid.size);
	ux_out_u64(out, l->base);
	ux_out_u32(out, (uint32_t)image->n_functions);
	ux_out_u32(out, (uint32_t)l->strings);
	ux_out_u32(out, (uint32_t)image->strings.size);
	ux_out_put(out, image->uuid.data, image->uuid.size);
	ux_out_put(out, zeros, sizeof(zeros) - image->uuid.size);
}

static void image_put_entry(struct ux_out *out, uint32_t type, uint64_t from, uint64_t to)
{
	assert(from <= to);
	ux_out_u32(out, type);
	ux_out_u64(out, from);
	ux_out_u64(out, to - from);
}

static void image_put_header2(struct ux_out *out, const struct ux_gsym_image *image,
			      const struct layout *l)
{
	uint64_t n = image->n_functions;
	ux_out_u8(out, 0); /* strings as in version 1 */
	ux_out_u64(out, l->base);
	ux_out_u32(out, (uint32_t)n);
	if (image->uuid.size > 0)
		image_put_entry(out, GSYM_SECTION_UUID, l->uuid, l->uuid + image->uuid.size);
	image_put_entry(out, GSYM_SECTION_STARTS, l->starts, l->starts + n * l->addr_size);
	image_put_entry(out, GSYM_SECTION_RECORDS, l->records, l->files);
	image_put_entry(out, GSYM_SECTION_FILES, l->files, l->strings);
	image_put_entry(out, GSYM_SECTION_STRINGS, l->strings, l->strings + image->strings.size);
	image_put_entry(out, GSYM_SECTION_FUNCTIONS, l->data, l->end);
	image_put_entry(out, GSYM_SECTION_END, 0, 0);
	ux_out_put(out, image->uuid.data, image->uuid.size);
}

/* Writes everything before the address table. */
static void image_put_header(struct stream *s, const struct ux_gsym_image *image,
			     const struct layout *l)
{
	struct ux_out *out = &s->out;
	ux_out_u32(out, GSYM_MAGIC);
	ux_out_u16(out, (uint16_t)l->version);
	ux_out_u8(out, (uint8_t)l->addr_size);
	if (l->version == 1)
		image_put_header1(out, image, l);
	else
		image_put_header2(out, image, l);
	image_put_padding(s, out->size, l->starts);
}

static enum ux_code image_put_starts(struct stream *s, const struct ux_gsym_image *image,
				     const struct layout *l, struct ux_error *err)
{
	for (size_t i = 0; i < image->n_functions; i++) {
		ux_out_uint(&s->out, image->starts[i] - l->base, l->addr_size);
		UX_TRY(image_stream_flush(s, PIECE, err));
	}
	image_put_padding(s, l->starts + (uint64_t)image->n_functions * l->addr_size, l->records);
	return UX_OK;
}

static enum ux_code image_put_records(struct stream *s, const struct ux_gsym_image *image,
				      const struct layout *l, const uint64_t *records,
				      struct ux_error *err)
{
	for (size_t i = 0; i < image->n_functions; i++) {
		assert(records[i] < l->end - l->data);
		ux_out_uint(&s->out, l->records_from + records[i], l->offset_size);
		UX_TRY(image_stream_flush(s, PIECE, err));
	}
	return UX_OK;
}

static enum ux_code image_put_files(struct stream *s, const struct ux_gsym_image *image,
				    const struct layout *l, struct ux_error *err)
{
	unsigned shift = image->string_shift;
	ux_out_u32(&s->out, (uint32_t)image->n_files);
	for (size_t i = 0; i < image->n_files; i++) {
		ux_out_uint(&s->out, (uint64_t)image->files[i].dir << shift, l->offset_size);
		ux_out_uint(&s->out, (uint64_t)image->files[i].base << shift, l->offset_size);
		UX_TRY(image_stream_flush(s, PIECE, err));
	}
	return image_stream_flush(s, 0, err);
}

static enum ux_code image_put_tables(struct stream *s, const struct ux_gsym_image *image,
				     const struct layout *l, const uint64_t *records,
				     struct ux_error *err)
{
	image_put_header(s, image, l);
	UX_TRY(image_put_starts(s, image, l, err));
	UX_TRY(image_put_records(s, image, l, records, err));
	UX_TRY(image_put_files(s, image, l, err));
	UX_TRY(s->sink(s->ctx, image->strings, err));
	image_put_padding(s, l->strings + image->strings.size, l->data);
	return image_stream_flush(s, 0, err);
}

/* --- version 1 -------------------------------------------------------------------------------- */

static enum ux_code image_write1(struct stream *s, const struct ux_gsym_image *image,
				 struct ux_error *err)
{
	struct layout l = layout_make(image, 1, image_data_size(image));
	UX_TRY(image_put_tables(s, image, &l, image->records, err));
	for (size_t i = 0; i < image->n_data; i++)
		if (image->data[i].size > 0)
			UX_TRY(s->sink(s->ctx, image->data[i], err));
	return UX_OK;
}

/* --- version 2 -------------------------------------------------------------------------------- */

/*
 * Converts all records to version 2, counted into out or written to the stream. When records is not
 * NULL, records[i] is set to the offset of record i.
 */
static enum ux_code widen_all(struct stream *s, const struct ux_gsym_image *image,
			      uint64_t *records, struct ux_error *err)
{
	size_t n = 0;
	for (size_t i = 0; i < image->n_data; i++) {
		struct ux_cur c = ux_cur_make(image->data[i], NULL, image->swap);
		for (; ux_cur_more(&c); n++) {
			if (records && n < image->n_functions)
				records[n] = s->out.size;
			widen_record(&s->out, &c, image->string_shift);
			UX_TRY(ux_cur_status(&c, err));
			if (!s->out.counting)
				UX_TRY(image_stream_flush(s, PIECE, err));
		}
	}
	if (n != image->n_functions)
		return ux_error_set(err, UX_EINVAL, "%zu records for %zu functions", n,
				    image->n_functions);
	return s->out.counting ? UX_OK : image_stream_flush(s, 0, err);
}

static enum ux_code image_write2(struct stream *s, const struct ux_gsym_image *image,
				 struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) uint64_t *records = calloc(image->n_functions, sizeof(*records));
	struct stream counter = {.out = {.swap = image->swap, .counting = true}};
	if (!records)
		return ux_error_nomem(err);
	UX_TRY(widen_all(&counter, image, records, err));
	struct layout l = layout_make(image, 2, counter.out.size);
	UX_TRY(image_put_tables(s, image, &l, records, err));
	return widen_all(s, image, NULL, err);
}

enum ux_code ux_gsym_image_write(const struct ux_gsym_image *image, ux_gsym_sink_fn *sink,
				 void *ctx, struct ux_error *err)
{
	UX_TRY(image_check(image, err));
	ux_cleanup(image_stream_deinit) struct stream s = {
		.out = {.swap = image->swap}, .sink = sink, .ctx = ctx};
	return ux_gsym_image_version(image) == 1 ? image_write1(&s, image, err)
						 : image_write2(&s, image, err);
}
