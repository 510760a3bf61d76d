/* SPDX-License-Identifier: Apache-2.0 */
/* Packing a profile as pprof's tools expect it. */
#include "gzip.h"

#include <libdeflate.h>
#ifdef UX_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum {
	GZIP_LEVEL =
		4 /* profiles are read once or twice: speed counts more than the last percent */
};

enum ux_code ux_gzip_write(struct ux_bytes bytes, struct ux_out *out, struct ux_error *err)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(GZIP_LEVEL);
	if (!c)
		return ux_error_nomem(err);
	size_t start = out->size;
	size_t max = libdeflate_gzip_compress_bound(c, bytes.size);
	uint8_t *to = ux_out_room(out, max);
	size_t n = to ? libdeflate_gzip_compress(c, bytes.data, bytes.size, to, max) : 0;
	libdeflate_free_compressor(c);
	UX_TRY(ux_out_status(out, err));
	if (n == 0)
		return ux_error_set(err, UX_EIO, "cannot compress %zu bytes", bytes.size);
	out->size = start + n;
	return UX_OK;
}

/* --- piece by piece --------------------------------------------------------------------------- */

#ifdef UX_HAVE_ISAL

enum {
	GZIP_PIECE = 1 << 30 /* the packer counts bytes in 32 bits */
};

struct gzip_packer {
	struct isal_zstream state;
	/* Level 3 takes a third of the time of libdeflate's level 4, for a twentieth more bytes. */
	uint8_t level[ISAL_DEF_LVL3_DEFAULT];
};

/* Packs at most GZIP_PIECE bytes; `last`: nothing follows. */
static enum ux_code gzip_pack(struct ux_gzip *z, struct ux_bytes bytes, bool last,
			      struct ux_error *err)
{
	assert(bytes.size <= GZIP_PIECE);
	struct isal_zstream *s = &((struct gzip_packer *)z->packer)->state;
	s->next_in = (uint8_t *)(uintptr_t)bytes.data; /* it is only read */
	s->avail_in = (uint32_t)bytes.size;
	s->end_of_stream = last;
	do {
		s->next_out = ux_out_room(&z->to->out, UX_STREAM_PIECE);
		s->avail_out = UX_STREAM_PIECE;
		if (!s->next_out)
			return ux_out_status(&z->to->out, err);
		int code = isal_deflate(s);
		z->to->out.size -= s->avail_out;
		if (code != COMP_OK)
			return ux_error_set(err, UX_EIO,
					    "cannot compress %zu bytes: ISA-L error %d", bytes.size,
					    code);
		UX_TRY(ux_stream_pass(z->to, err));
	} while (s->avail_out == 0);
	return UX_OK;
}

static enum ux_code gzip_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	for (size_t at = 0, n = 0; at < bytes.size; at += n) {
		n = ux_min(bytes.size - at, (size_t)GZIP_PIECE);
		UX_TRY(gzip_pack(ctx, ux_bytes(bytes.data + at, n), /* last= */ false, err));
	}
	return UX_OK;
}

enum ux_code ux_gzip_open(struct ux_gzip *z, struct ux_stream *to, struct ux_error *err)
{
	struct gzip_packer *p = malloc(sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	isal_deflate_init(&p->state);
	p->state.level = 3;
	p->state.level_buf = p->level;
	p->state.level_buf_size = sizeof(p->level);
	p->state.gzip_flag = IGZIP_GZIP;
	*z = (struct ux_gzip){.plain = {.write = gzip_take, .ctx = z}, .to = to, .packer = p};
	return UX_OK;
}

enum ux_code ux_gzip_finish(struct ux_gzip *z, struct ux_error *err)
{
	UX_TRY(ux_stream_flush(&z->plain, err));
	return gzip_pack(z, UX_BYTES_NONE, /* last= */ true, err);
}

#else

enum ux_code ux_gzip_open(struct ux_gzip *z, struct ux_stream *to, struct ux_error *err)
{
	(void)err;
	*z = (struct ux_gzip){.to = to};
	return UX_OK;
}

enum ux_code ux_gzip_finish(struct ux_gzip *z, struct ux_error *err)
{
	UX_TRY(ux_gzip_write(ux_out_bytes(&z->plain.out), &z->to->out, err));
	return ux_stream_pass(z->to, err);
}

#endif

void ux_gzip_close(struct ux_gzip *z)
{
	ux_stream_deinit(&z->plain);
	free(z->packer);
	*z = (struct ux_gzip){0};
}
