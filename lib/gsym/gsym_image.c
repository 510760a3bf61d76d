/* SPDX-License-Identifier: Apache-2.0 */
/* The file around the records. */
#include "gsym_encode.h"

#include "gsym_format.h"

enum {
	PIECE = 1 << 16 /* bytes of tables handed to the sink at once */
};

/* Where things lie in the file, in file order. */
struct layout {
	uint64_t base;
	unsigned addr_size;
	uint64_t records; /* table of record offsets */
	uint64_t files;
	uint64_t strings;
	uint64_t data;
	uint64_t end;
};

static uint64_t align4(uint64_t v)
{
	return (v + 3) & ~(uint64_t)3;
}

static unsigned addr_size(uint64_t most)
{
	return most <= UINT8_MAX ? 1 : most <= UINT16_MAX ? 2 : most <= UINT32_MAX ? 4 : 8;
}

/*
 * A function below the base would wrap to a huge offset and leave the table unsorted, so such an
 * image counts from its first function, as LLVM does where nothing names a base.
 */
static struct layout layout_make(const struct ux_gsym_image *image)
{
	struct layout l = {.base = ux_min(image->base, image->starts[0])};
	l.addr_size = addr_size(image->starts[image->n_functions - 1] - l.base);
	l.records = align4(GSYM_HEADER_SIZE + (uint64_t)image->n_functions * l.addr_size);
	l.files = l.records + (uint64_t)image->n_functions * sizeof(uint32_t);
	l.strings = l.files + sizeof(uint32_t) + (uint64_t)image->n_files * GSYM_FILE_SIZE;
	l.data = align4(l.strings + image->strings.size);
	l.end = l.data;
	for (size_t i = 0; i < image->n_data; i++)
		l.end += image->data[i].size;
	return l;
}

static enum ux_code check(const struct ux_gsym_image *image, struct ux_error *err)
{
	struct ux_bytes s = image->strings;
	if (image->n_functions == 0)
		return ux_error_set(err, UX_EINVAL, "a GSYM needs at least one function");
	if (image->uuid.size > UX_GSYM_UUID_MOST)
		return ux_error_set(err, UX_EINVAL, "build ID has %zu bytes, GSYM holds %d",
				    image->uuid.size, UX_GSYM_UUID_MOST);
	if (s.size == 0 || s.data[0] != 0 || s.data[s.size - 1] != 0)
		return ux_error_set(err, UX_EINVAL, "string table lacks its NULs");
	/* Counts are bounded first, so that the sums below cannot wrap. */
	if (image->n_functions > UINT32_MAX || image->n_files > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "more functions or files than GSYM counts");
	uint64_t end = layout_make(image).end;
	if (end > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "GSYM 1 ends at 4 GiB, %" PRIu64 " bytes needed", end);
	return UX_OK;
}

/* A ux_out that is emptied into the sink whenever it holds a piece. */
struct stream {
	struct ux_out out;
	ux_gsym_sink_fn *sink;
	void *ctx;
};

static void stream_deinit(struct stream *s)
{
	ux_out_deinit(&s->out);
}

static enum ux_code stream_flush(struct stream *s, size_t least, struct ux_error *err)
{
	UX_TRY(ux_out_status(&s->out, err));
	if (s->out.size < least || s->out.size == 0)
		return UX_OK;
	UX_TRY(s->sink(s->ctx, ux_out_bytes(&s->out), err));
	ux_out_reset(&s->out);
	return UX_OK;
}

static void put_header(struct ux_out *out, const struct ux_gsym_image *image,
		       const struct layout *l)
{
	static const uint8_t zeros[UX_GSYM_UUID_MOST];
	ux_out_u32(out, GSYM_MAGIC);
	ux_out_u16(out, GSYM_VERSION);
	ux_out_u8(out, (uint8_t)l->addr_size);
	ux_out_u8(out, (uint8_t)image->uuid.size);
	ux_out_u64(out, l->base);
	ux_out_u32(out, (uint32_t)image->n_functions);
	ux_out_u32(out, (uint32_t)l->strings);
	ux_out_u32(out, (uint32_t)image->strings.size);
	ux_out_put(out, image->uuid.data, image->uuid.size);
	ux_out_put(out, zeros, sizeof(zeros) - image->uuid.size);
}

static enum ux_code put_starts(struct stream *s, const struct ux_gsym_image *image,
			       const struct layout *l, struct ux_error *err)
{
	for (size_t i = 0; i < image->n_functions; i++) {
		ux_out_uint(&s->out, image->starts[i] - l->base, l->addr_size);
		UX_TRY(stream_flush(s, PIECE, err));
	}
	/* Pieces are multiples of 4 long but for the last, so this pads the file too. */
	ux_out_align(&s->out, sizeof(uint32_t));
	return UX_OK;
}

static enum ux_code put_records(struct stream *s, const struct ux_gsym_image *image,
				const struct layout *l, struct ux_error *err)
{
	for (size_t i = 0; i < image->n_functions; i++) {
		assert(image->records[i] < l->end - l->data);
		ux_out_u32(&s->out, (uint32_t)(l->data + image->records[i]));
		UX_TRY(stream_flush(s, PIECE, err));
	}
	return UX_OK;
}

static enum ux_code put_files(struct stream *s, const struct ux_gsym_image *image,
			      struct ux_error *err)
{
	ux_out_u32(&s->out, (uint32_t)image->n_files);
	for (size_t i = 0; i < image->n_files; i++) {
		ux_out_u32(&s->out, image->files[i].dir);
		ux_out_u32(&s->out, image->files[i].base);
		UX_TRY(stream_flush(s, PIECE, err));
	}
	return stream_flush(s, 0, err);
}

enum ux_code ux_gsym_image_write(const struct ux_gsym_image *image, ux_gsym_sink_fn *sink,
				 void *ctx, struct ux_error *err)
{
	static const uint8_t zeros[GSYM_RECORD_ALIGN];
	UX_TRY(check(image, err));
	struct layout l = layout_make(image);
	ux_cleanup(stream_deinit) struct stream s = {
		.out = {.swap = image->swap}, .sink = sink, .ctx = ctx};
	put_header(&s.out, image, &l);
	UX_TRY(put_starts(&s, image, &l, err));
	UX_TRY(put_records(&s, image, &l, err));
	UX_TRY(put_files(&s, image, err));
	UX_TRY(sink(ctx, image->strings, err));
	uint64_t pad = l.data - l.strings - image->strings.size;
	if (pad > 0)
		UX_TRY(sink(ctx, ux_bytes(zeros, (size_t)pad), err));
	for (size_t i = 0; i < image->n_data; i++)
		if (image->data[i].size > 0)
			UX_TRY(sink(ctx, image->data[i], err));
	return UX_OK;
}
