/* SPDX-License-Identifier: Apache-2.0 */
/* A section inflated a part at a time. */
#include "elf_stream.h"

#include "elf_packed.h"

#ifdef UX_HAVE_ISAL

#include <isa-l/igzip_lib.h>

enum {
	CHUNK_MOST = 1 << 30, /* ISA-L counts bytes in 32 bits */
};

struct ux_elf_stream {
	struct ux_elf_packed packed;
	struct ux_bytes in; /* what ISA-L was not given yet */
	uint64_t left;      /* to be given out */
	struct inflate_state state;
};

enum ux_code ux_elf_stream_open(const struct ux_elf *elf, const struct ux_elf_section *section,
				uint64_t max_size, struct ux_elf_stream **ret, uint64_t *ret_size,
				struct ux_error *err)
{
	struct ux_bytes raw = UX_BYTES_NONE;
	struct ux_elf_packed packed;
	UX_TRY(ux_elf_section_raw(elf, section, &raw, err));
	if (!ux_elf_section_compressed(elf, section))
		return ux_error_at(err, UX_EUNSUPPORTED, section->name, 0, "is not compressed");
	UX_TRY(ux_elf_packed_read(elf, section, raw, &packed, err));
	UX_TRY(ux_elf_packed_check(&packed, max_size, err));
	if (packed.type != ELFCOMPRESS_ZLIB)
		return ux_error_at(err, UX_EUNSUPPORTED, section->name, 0,
				   "is not compressed by zlib");
	struct ux_elf_stream *s = malloc(sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	*s = (struct ux_elf_stream){.packed = packed, .in = packed.stream, .left = packed.size};
	isal_inflate_init(&s->state);
	s->state.crc_flag = ISAL_ZLIB;
	*ret = s;
	*ret_size = packed.size;
	return UX_OK;
}

struct ux_elf_stream *ux_elf_stream_close(struct ux_elf_stream *stream)
{
	free(stream);
	return NULL;
}

static bool stream_is_finished(const struct ux_elf_stream *s)
{
	return s->state.block_state == ISAL_BLOCK_FINISH;
}

/* Begins the next of several streams; what ISA-L took of it already is given back. */
static void stream_begin_next(struct inflate_state *state)
{
	uint32_t taken = (uint32_t)state->read_in_length / 8;
	state->next_in -= taken;
	state->avail_in += taken;
	isal_inflate_reset(state);
	state->crc_flag = ISAL_ZLIB;
}

/* Gives ISA-L input when it has none. */
static void stream_feed(struct ux_elf_stream *s)
{
	if (stream_is_finished(s) &&
	    (s->state.avail_in > 0 || s->in.size > 0 || s->state.read_in_length >= 8))
		stream_begin_next(&s->state);
	if (s->state.avail_in > 0 || s->in.size == 0)
		return;
	size_t n = ux_min(s->in.size, (size_t)CHUNK_MOST);
	s->state.next_in = (uint8_t *)(uintptr_t)s->in.data; /* it is only read */
	s->state.avail_in = (uint32_t)n;
	s->in = ux_bytes(s->in.data + n, s->in.size - n);
}

/* Inflates at most n bytes to `to`; *ret_made is how many. None: the streams are at their end. */
static enum ux_code stream_inflate(struct ux_elf_stream *s, uint8_t *to, size_t n, size_t *ret_made,
				   struct ux_error *err)
{
	uint32_t room = (uint32_t)ux_min(n, (size_t)CHUNK_MOST);
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
					   "is no valid zlib stream");
	}
	return UX_OK;
}

/* All is given out: the streams must be at their end, too, and their checksums right. */
static enum ux_code stream_check_end(struct ux_elf_stream *s, struct ux_error *err)
{
	uint8_t more[1];
	size_t made = 0;
	UX_TRY(stream_inflate(s, more, sizeof(more), &made, err));
	return made > 0 ? ux_elf_packed_wrong_size(&s->packed, "more", err) : UX_OK;
}

enum ux_code ux_elf_stream_read(struct ux_elf_stream *s, uint8_t *to, size_t n,
				struct ux_error *err)
{
	while (n > 0) {
		size_t made = 0;
		UX_TRY(stream_inflate(s, to, n, &made, err));
		if (made == 0)
			return ux_elf_packed_wrong_size(&s->packed, "less", err);
		to += made;
		n -= made;
		s->left -= made;
	}
	return s->left == 0 ? stream_check_end(s, err) : UX_OK;
}

#else

enum ux_code ux_elf_stream_open(const struct ux_elf *elf, const struct ux_elf_section *section,
				uint64_t max_size, struct ux_elf_stream **ret, uint64_t *ret_size,
				struct ux_error *err)
{
	(void)elf, (void)max_size, (void)ret, (void)ret_size;
	return ux_error_at(err, UX_EUNSUPPORTED, section->name, 0, "built without ISA-L");
}

struct ux_elf_stream *ux_elf_stream_close(struct ux_elf_stream *stream)
{
	(void)stream;
	return NULL;
}

enum ux_code ux_elf_stream_read(struct ux_elf_stream *stream, uint8_t *to, size_t n,
				struct ux_error *err)
{
	(void)stream, (void)to, (void)n;
	return ux_error_set(err, UX_EUNSUPPORTED, "built without ISA-L");
}

#endif
