/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of sections. */
#include "section_content.h"

#include "cursor.h"
#include "elf_defs.h"
#include "file.h"
#include "region.h"

#include <libdeflate.h>
#include <zstd.h>

#ifdef UX_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

/* --- headers of packed sections --------------------------------------------------------------- */

enum {
	/*
	 * The highest compression ratios: deflate encodes 258 bytes in two bits at best; a zstd
	 * block of 128 KiB takes at least four bytes. A larger size in a header is wrong, which is
	 * found before memory is allocated.
	 */
	ZLIB_RATIO = 1032,
	ZSTD_RATIO = 32768,
};

/* A parsed compressed section: the fields of its header, and the stream after it. */
struct packed {
	const char *name;
	uint32_t type; /* ELFCOMPRESS_* */
	uint64_t size; /* decompressed size as the header states it */
	struct ux_bytes stream;
	uint64_t stream_off; /* offset in the section */
};

bool ux_section_is_gnu_packed(const char *name, struct ux_bytes raw)
{
	return ux_bytes_starts(ux_bytes_cstr(name), UX_STR(".zdebug_")) &&
	       ux_bytes_starts(raw, UX_STR("ZLIB"));
}

static enum ux_code packed_read(const struct ux_section_bytes *s, struct packed *p,
				struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(s->raw, s->name, s->swap);
	*p = (struct packed){.name = s->name, .type = ELFCOMPRESS_ZLIB};
	if (s->packing == UX_PACKING_GNU) {
		c.swap = __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__;
		ux_cur_skip(&c, 4); /* "ZLIB" */
		p->size = ux_cur_u64(&c);
	} else if (s->is64) {
		p->type = ux_cur_u32(&c);
		ux_cur_skip(&c, 4);
		p->size = ux_cur_u64(&c);
		ux_cur_skip(&c, 8);
	} else {
		p->type = ux_cur_u32(&c);
		p->size = ux_cur_u32(&c);
		ux_cur_skip(&c, 4);
	}
	p->stream_off = ux_cur_off(&c);
	p->stream = ux_cur_take(&c, ux_cur_left(&c));
	return ux_cur_status(&c, err);
}

/*
 * Checks the stated size: it must be possible for the stream, and not above max_size (UX_ELIMIT).
 */
static enum ux_code packed_check(const struct packed *p, uint64_t max_size, struct ux_error *err)
{
	uint64_t ratio = 0;
	switch (p->type) {
	case ELFCOMPRESS_ZLIB:
		ratio = ZLIB_RATIO;
		break;
	case ELFCOMPRESS_ZSTD:
		ratio = ZSTD_RATIO;
		break;
	default:
		return ux_error_at(err, UX_EUNSUPPORTED, p->name, 0,
				   "compression type %" PRIu32 ", expected 1 (zlib) or 2 (zstd)",
				   p->type);
	}
	if (p->size / ratio > p->stream.size)
		return ux_error_at(err, UX_ECORRUPT, p->name, 0,
				   "claims to inflate %zu bytes to %" PRIu64
				   ", more than its format can",
				   p->stream.size, p->size);
	if (p->size > max_size || p->size > SIZE_MAX)
		return ux_error_at(err, UX_ELIMIT, p->name, 0,
				   "inflates to %" PRIu64 " bytes, at most %" PRIu64 " are allowed",
				   p->size, max_size);
	return UX_OK;
}

/* Reports a stream that decompresses to `found` ("more", "less") than p->size bytes. */
static enum ux_code packed_wrong_size(const struct packed *p, const char *found,
				      struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, p->name, 0,
			   "inflates to %s than the %" PRIu64 " bytes of its header", found,
			   p->size);
}

/* --- whole sections --------------------------------------------------------------------------- */

static void content_zlib_free(struct libdeflate_decompressor **d)
{
	libdeflate_free_decompressor(*d);
}

/* Decompresses the concatenated streams into out; they must fill it exactly. */
static enum ux_code content_inflate_zlib(const struct packed *p, uint8_t *out, struct ux_error *err)
{
	ux_cleanup(content_zlib_free) struct libdeflate_decompressor *d =
		libdeflate_alloc_decompressor();
	if (!d)
		return ux_error_nomem(err);
	struct ux_bytes in = p->stream;
	uint64_t left = p->size;
	do {
		size_t taken = 0, made = 0;
		enum libdeflate_result r = libdeflate_zlib_decompress_ex(
			d, in.data, in.size, out + (p->size - left), left, &taken, &made);
		if (r == LIBDEFLATE_INSUFFICIENT_SPACE)
			return packed_wrong_size(p, "more", err);
		if (r != LIBDEFLATE_SUCCESS && left < p->size)
			return packed_wrong_size(p, "less", err);
		if (r != LIBDEFLATE_SUCCESS)
			return ux_error_at(err, UX_ECORRUPT, p->name, p->stream_off,
					   "not a valid zlib stream");
		in = ux_bytes(in.data + taken, in.size - taken);
		left -= made;
	} while (in.size > 0);
	return left > 0 ? packed_wrong_size(p, "less", err) : UX_OK;
}

static void content_zstd_free(ZSTD_DCtx **d)
{
	ZSTD_freeDCtx(*d);
}

static enum ux_code content_inflate_zstd(const struct packed *p, uint8_t *out, struct ux_error *err)
{
	ux_cleanup(content_zstd_free) ZSTD_DCtx *d = ZSTD_createDCtx();
	if (!d)
		return ux_error_nomem(err);
	size_t n = ZSTD_decompressDCtx(d, out, p->size, p->stream.data, p->stream.size);
	if (ZSTD_isError(n))
		return ux_error_at(err, UX_ECORRUPT, p->name, p->stream_off,
				   "not a valid zstd stream of %" PRIu64 " bytes: %s", p->size,
				   ZSTD_getErrorName(n));
	return n < p->size ? packed_wrong_size(p, "less", err) : UX_OK;
}

uint64_t ux_content_size(const struct ux_section_bytes *section)
{
	struct packed p;
	if (section->packing == UX_PACKING_NONE)
		return section->raw.size;
	return packed_read(section, &p, NULL) == UX_OK ? p.size : 0;
}

/* Allocates memory for the decompressed bytes. */
static enum ux_code content_allocate(struct ux_content *content, size_t size,
				     struct ux_spill *spill, struct ux_error *err)
{
	void *region = NULL;
	size = ux_max(size, (size_t)1);
	if (spill) {
		UX_TRY(ux_spill_map(spill, size, &region, err));
		content->spilled = true;
	} else {
		region = malloc(size);
		if (!region)
			return ux_error_nomem(err);
	}
	content->owned = region;
	content->bytes = ux_bytes(region, size);
	return UX_OK;
}

enum ux_code ux_content_load(const struct ux_section_bytes *section, uint64_t max_size,
			     struct ux_spill *spill, struct ux_content *ret, struct ux_error *err)
{
	if (section->packing == UX_PACKING_NONE) {
		*ret = (struct ux_content){.bytes = section->raw};
		return UX_OK;
	}
	struct packed p;
	UX_TRY(packed_read(section, &p, err));
	UX_TRY(packed_check(&p, max_size, err));
	ux_cleanup(ux_content_free) struct ux_content made = {0};
	UX_TRY(content_allocate(&made, p.size, spill, err));
	UX_TRY(p.type == ELFCOMPRESS_ZLIB ? content_inflate_zlib(&p, made.owned, err)
					  : content_inflate_zstd(&p, made.owned, err));
	made.bytes.size = p.size;
	if (section->mapped)
		ux_file_release(p.stream);
	*ret = made;
	made = (struct ux_content){0};
	return UX_OK;
}

enum ux_code ux_content_load_copy(const struct ux_section_bytes *section, uint64_t max_size,
				  struct ux_spill *spill, struct ux_content *ret,
				  struct ux_error *err)
{
	struct ux_content loaded = {0};
	UX_TRY(ux_content_load(section, max_size, spill, &loaded, err));
	if (!loaded.owned) {
		struct ux_bytes raw = loaded.bytes;
		UX_TRY(content_allocate(&loaded, raw.size, spill, err));
		if (raw.size > 0)
			memcpy(loaded.owned, raw.data, raw.size);
		loaded.bytes.size = raw.size;
	}
	*ret = loaded;
	return UX_OK;
}

void ux_content_free(struct ux_content *content)
{
	if (content->spilled)
		ux_spill_unmap(content->owned, ux_max(content->bytes.size, (size_t)1));
	else
		free(content->owned);
	*content = (struct ux_content){0};
}

/* --- front to back ---------------------------------------------------------------------------- */

#ifdef UX_HAVE_ISAL

enum {
	CHUNK_MAX = 1 << 30,    /* ISA-L counts bytes in 32 bits */
	CHUNK_MAPPED = 1 << 20, /* bytes of pages that are given back in one call */
};

struct ux_section_stream {
	struct packed packed;
	struct ux_bytes in;    /* input that was not passed to ISA-L yet */
	struct ux_bytes chunk; /* input that was passed to it last */
	bool mapped;           /* as in struct ux_section_bytes */
	uint64_t left;         /* bytes that are still to be returned */
	struct inflate_state state;
};

enum ux_code ux_section_stream_open(const struct ux_section_bytes *section, uint64_t max_size,
				    struct ux_section_stream **ret, uint64_t *ret_size,
				    struct ux_error *err)
{
	struct packed packed;
	if (section->packing == UX_PACKING_NONE)
		return ux_error_at(err, UX_EUNSUPPORTED, section->name, 0, "is not compressed");
	UX_TRY(packed_read(section, &packed, err));
	UX_TRY(packed_check(&packed, max_size, err));
	if (packed.type != ELFCOMPRESS_ZLIB)
		return ux_error_at(err, UX_EUNSUPPORTED, section->name, 0,
				   "is not compressed by zlib");
	struct ux_section_stream *s = malloc(sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	*s = (struct ux_section_stream){.packed = packed,
					.in = packed.stream,
					.mapped = section->mapped,
					.left = packed.size};
	isal_inflate_init(&s->state);
	s->state.crc_flag = ISAL_ZLIB;
	*ret = s;
	*ret_size = packed.size;
	return UX_OK;
}

struct ux_section_stream *ux_section_stream_close(struct ux_section_stream *stream)
{
	free(stream);
	return NULL;
}

void ux_section_stream_rewind(struct ux_section_stream *s)
{
	s->in = s->packed.stream;
	s->chunk = (struct ux_bytes){0};
	s->left = s->packed.size;
	isal_inflate_init(&s->state);
	s->state.crc_flag = ISAL_ZLIB;
}

static bool stream_is_finished(const struct ux_section_stream *s)
{
	return s->state.block_state == ISAL_BLOCK_FINISH;
}

/* Begins the next of several streams. Input that ISA-L has buffered is put back. */
static void stream_begin_next(struct inflate_state *state)
{
	uint32_t taken = (uint32_t)state->read_in_length / 8;
	state->next_in -= taken;
	state->avail_in += taken;
	isal_inflate_reset(state);
	state->crc_flag = ISAL_ZLIB;
}

/* Gives ISA-L input when it has none. */
static void stream_feed(struct ux_section_stream *s)
{
	if (stream_is_finished(s) &&
	    (s->state.avail_in > 0 || s->in.size > 0 || s->state.read_in_length >= 8))
		stream_begin_next(&s->state);
	if (s->state.avail_in > 0 || s->in.size == 0)
		return;
	/* A stream that begins anew may go back into the chunk; reading it maps its pages again. */
	if (s->mapped)
		ux_file_release(s->chunk);
	size_t n = ux_min(s->in.size, (size_t)(s->mapped ? CHUNK_MAPPED : CHUNK_MAX));
	s->chunk = ux_bytes(s->in.data, n);
	s->state.next_in = (uint8_t *)(uintptr_t)s->in.data; /* it is only read */
	s->state.avail_in = (uint32_t)n;
	s->in = ux_bytes(s->in.data + n, s->in.size - n);
}

/* Decompresses at most n bytes to `to`; *ret_made is how many. 0: the streams have ended. */
static enum ux_code stream_inflate(struct ux_section_stream *s, uint8_t *to, size_t n,
				   size_t *ret_made, struct ux_error *err)
{
	uint32_t room = (uint32_t)ux_min(n, (size_t)CHUNK_MAX);
	*ret_made = 0;
	while (*ret_made == 0) {
		stream_feed(s);
		uint32_t before = s->state.avail_in;
		if (stream_is_finished(s))
			return UX_OK;
		s->state.next_out = to;
		s->state.avail_out = room;
		int r = isal_inflate(&s->state);
		*ret_made = room - s->state.avail_out;
		bool stuck = *ret_made == 0 && before == s->state.avail_in && s->in.size == 0 &&
			     !stream_is_finished(s);
		if (r < 0 || r == ISAL_NEED_DICT || stuck)
			return ux_error_at(err, UX_ECORRUPT, s->packed.name, s->packed.stream_off,
					   "not a valid zlib stream");
	}
	return UX_OK;
}

/* Called when all bytes were returned: the streams must have ended, too, with correct checksums. */
static enum ux_code stream_check_end(struct ux_section_stream *s, struct ux_error *err)
{
	uint8_t more[1];
	size_t made = 0;
	UX_TRY(stream_inflate(s, more, sizeof(more), &made, err));
	return made > 0 ? packed_wrong_size(&s->packed, "more", err) : UX_OK;
}

enum ux_code ux_section_stream_read(struct ux_section_stream *s, uint8_t *to, size_t n,
				    struct ux_error *err)
{
	while (n > 0) {
		size_t made = 0;
		UX_TRY(stream_inflate(s, to, n, &made, err));
		if (made == 0)
			return packed_wrong_size(&s->packed, "less", err);
		to += made;
		n -= made;
		s->left -= made;
	}
	return s->left == 0 ? stream_check_end(s, err) : UX_OK;
}

#else

enum ux_code ux_section_stream_open(const struct ux_section_bytes *section, uint64_t max_size,
				    struct ux_section_stream **ret, uint64_t *ret_size,
				    struct ux_error *err)
{
	(void)max_size, (void)ret, (void)ret_size;
	return ux_error_at(err, UX_EUNSUPPORTED, section->name, 0,
			   "this build cannot inflate zlib: it lacks ISA-L");
}

struct ux_section_stream *ux_section_stream_close(struct ux_section_stream *stream)
{
	(void)stream;
	return NULL;
}

void ux_section_stream_rewind(struct ux_section_stream *stream)
{
	(void)stream;
}

enum ux_code ux_section_stream_read(struct ux_section_stream *stream, uint8_t *to, size_t n,
				    struct ux_error *err)
{
	(void)stream, (void)to, (void)n;
	return ux_error_set(err, UX_EUNSUPPORTED, "this build cannot inflate zlib: it lacks ISA-L");
}

#endif

struct ux_section_window {
	struct ux_section_stream *in;
	struct ux_window window;
	uint64_t filled;
};

enum ux_code ux_section_window_open(const struct ux_section_bytes *section, uint64_t max_size,
				    struct ux_spill *spill, struct ux_section_window **ret,
				    struct ux_bytes *ret_bytes, struct ux_error *err)
{
	uint64_t size = 0;
	struct ux_section_window *w = calloc(1, sizeof(*w));
	if (!w)
		return ux_error_nomem(err);
	enum ux_code code = ux_section_stream_open(section, max_size, &w->in, &size, err);
	if (code == UX_OK)
		code = ux_window_open(&w->window, size, spill, err);
	if (code != UX_OK) {
		ux_section_window_close(w);
		return code;
	}
	*ret = w;
	*ret_bytes = ux_bytes(w->window.data, size);
	return UX_OK;
}

void ux_section_window_close(struct ux_section_window *w)
{
	if (!w)
		return;
	ux_section_stream_close(w->in);
	ux_window_close(&w->window);
	free(w);
}

void ux_section_window_rewind(struct ux_section_window *w)
{
	ux_section_stream_rewind(w->in);
	ux_window_rewind(&w->window);
	w->filled = 0;
}

enum ux_code ux_section_window_fill(struct ux_section_window *w, uint64_t end, struct ux_error *err)
{
	end = ux_min(end, (uint64_t)w->window.size);
	if (end <= w->filled)
		return UX_OK;
	ux_window_advance(&w->window, end);
	UX_TRY(ux_section_stream_read(w->in, w->window.data + w->filled, end - w->filled, err));
	w->filled = end;
	return UX_OK;
}

void ux_section_window_release(struct ux_section_window *w, uint64_t start)
{
	ux_window_release(&w->window, start);
}
