/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An rpm package as a stream: lead, header with signatures, main header, payload. libarchive
 * decompresses the payload, and its entries are read here, since libarchive knows only one of their
 * forms.
 */
#include "out.h"
#include "rpm_header.h"
#include "stream_reading.h"

enum {
	FILES_MEMORY = 512 << 20, /* bytes for the list of files */
	HEADER_PIECE = 16 << 10,
	SIGNATURE_ALIGN = 8, /* alignment of the main header */
};

/* The payload of a package. */
struct rpm_stream {
	struct ux_stream_reading *s;
	struct archive *archive;
	uint8_t *raw; /* compressed */
	struct ux_rpm_cpio cpio;
};

static void rpm_stream_close(struct rpm_stream *r)
{
	if (r->archive)
		(void)r->s->calls->archive_read_free(r->archive);
	free(r->raw);
}

static enum ux_code rpm_exactly(struct ux_stream_reading *s, void *to, size_t n)
{
	uint8_t *at = to;
	while (n > 0) {
		size_t got = 0;
		UX_TRY(ux_stream_source_read(s, at, n, &got));
		if (got == 0)
			return ux_error_set(
				s->err, UX_ECORRUPT,
				"the package ends in its headers, after %" PRIu64 " bytes", s->in);
		at += got;
		n -= got;
	}
	return UX_OK;
}

/* Reads a header, with its introduction. Memory grows with the bytes that arrive: the header's size
 * is not trusted. */
static enum ux_code rpm_read_header(struct ux_stream_reading *s, struct ux_out *ret)
{
	uint8_t intro[UX_RPM_INTRO_BYTES], piece[HEADER_PIECE];
	uint64_t rest = 0;
	UX_TRY(rpm_exactly(s, intro, sizeof(intro)));
	UX_TRY(ux_rpm_intro(ux_bytes(intro, sizeof(intro)), &rest, s->err));
	ux_out_put(ret, intro, sizeof(intro));
	while (rest > 0) {
		size_t n = (size_t)ux_min(rest, (uint64_t)sizeof(piece));
		UX_TRY(rpm_exactly(s, piece, n));
		ux_out_put(ret, piece, n);
		UX_TRY(ux_out_status(ret, s->err));
		rest -= n;
	}
	return ux_out_status(ret, s->err);
}

/* Skips to the main header. */
static enum ux_code rpm_skip_signature(struct ux_stream_reading *s)
{
	uint8_t lead[UX_RPM_LEAD_BYTES], pad[SIGNATURE_ALIGN];
	ux_cleanup(ux_out_deinit) struct ux_out signature = {0};
	UX_TRY(rpm_exactly(s, lead, sizeof(lead)));
	UX_TRY(rpm_read_header(s, &signature));
	return rpm_exactly(s, pad, -signature.size & (SIGNATURE_ALIGN - 1));
}

/* Called by libarchive for compressed bytes. */
static la_ssize_t rpm_on_read(struct archive *a, void *ctx, const void **ret)
{
	struct rpm_stream *r = ctx;
	size_t n = 0;
	(void)a;
	*ret = r->raw;
	if (r->s->code == UX_OK)
		r->s->code = ux_stream_source_read(r->s, r->raw, UX_STREAM_PIECE, &n);
	return r->s->code == UX_OK ? (la_ssize_t)n : -1;
}

static enum ux_code rpm_fail(const struct rpm_stream *r)
{
	if (r->s->code == UX_OK)
		r->s->code = ux_archive_failure(r->s->calls, r->archive, r->s->err);
	return r->s->code;
}

/* Reads bytes of the decompressed payload. */
static enum ux_code rpm_on_payload(void *ctx, void *to, size_t n, size_t *ret, struct ux_error *err)
{
	struct rpm_stream *r = ctx;
	(void)err; /* the reading has its own error */
	la_ssize_t got = r->s->calls->archive_read_data(r->archive, to, n);
	if (got < 0)
		return rpm_fail(r);
	*ret = (size_t)got;
	return ux_stream_count(r->s, (uint64_t)got);
}

/* Reads content of the current entry. */
static ssize_t rpm_on_content(void *ctx, void *to, size_t n)
{
	struct rpm_stream *r = ctx;
	size_t got = 0;
	r->s->code = ux_rpm_cpio_data(&r->cpio, to, n, &got, r->s->err);
	return r->s->code == UX_OK ? (ssize_t)got : -1;
}

static enum ux_code rpm_add(struct rpm_stream *r, const struct ux_rpm_entry *entry, uint8_t *piece)
{
	UX_ARENA(arena, 8 * UX_PATH_BYTES);
	enum ux_member_kind kind = UX_MEMBER_OTHER;
	struct ux_stream_content content = {
		.read = rpm_on_content, .ctx = r, .piece = piece, .size = entry->size};
	if (!entry->regular || entry->size == 0)
		return UX_OK;
	UX_TRY(ux_path_of_source(ux_bytes_cstr(entry->name), &arena, &content.path, r->s->err));
	UX_TRY(ux_stream_content_kind(r->s, &content, &kind));
	return ux_stream_content_pass(r->s, &content, kind);
}

static enum ux_code rpm_read_payload(struct rpm_stream *r, uint8_t *piece)
{
	const struct ux_archive_calls *c = r->s->calls;
	struct archive_entry *payload = NULL;
	struct ux_rpm_entry entry;
	bool more = true;
	if (c->archive_read_support_format_raw(r->archive) != ARCHIVE_OK ||
	    !ux_stream_open_archive(c, r->archive, r, rpm_on_read) ||
	    c->archive_read_next_header(r->archive, &payload) != ARCHIVE_OK)
		return rpm_fail(r);
	for (;;) {
		UX_TRY(ux_rpm_cpio_next(&r->cpio, &entry, &more, r->s->err));
		if (!more)
			return UX_OK;
		UX_TRY(ux_stream_count_member(r->s));
		UX_TRY(rpm_add(r, &entry, piece));
	}
}

enum ux_code ux_rpm_stream_read(struct ux_stream_reading *s)
{
	UX_ARENA(arena, FILES_MEMORY);
	ux_cleanup(ux_out_deinit) struct ux_out header = {0};
	ux_cleanup(ux_free_ptr) uint8_t *piece = malloc(UX_STREAM_PIECE);
	ux_cleanup(rpm_stream_close) struct rpm_stream r = {.s = s};
	struct ux_rpm_files files = {0};
	UX_TRY(rpm_skip_signature(s));
	UX_TRY(rpm_read_header(s, &header));
	UX_TRY(ux_rpm_files_read(ux_out_bytes(&header), &arena, &files, s->err));
	r.cpio = (struct ux_rpm_cpio){.read = rpm_on_payload, .ctx = &r, .files = &files};
	r.archive = s->calls->archive_read_new();
	r.raw = malloc(UX_STREAM_PIECE);
	if (!r.archive || !r.raw || !piece)
		return ux_error_nomem(s->err);
	return rpm_read_payload(&r, piece);
}
