/* SPDX-License-Identifier: Apache-2.0 */
/* .debug_info as a stream. */
#include "info_stream.h"

#include "window.h"

struct ux_info_stream {
	struct ux_elf_stream *in;
	struct ux_window window;
	uint64_t filled;
};

enum ux_code ux_info_stream_open(const struct ux_elf *elf, const struct ux_elf_section *section,
				 uint64_t max_size, struct ux_info_stream **ret,
				 struct ux_bytes *ret_info, struct ux_error *err)
{
	uint64_t size = 0;
	struct ux_info_stream *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	enum ux_code code = ux_elf_stream_open(elf, section, max_size, &s->in, &size, err);
	if (code == UX_OK)
		code = ux_window_open(&s->window, size, err);
	if (code != UX_OK) {
		ux_info_stream_close(s);
		return code;
	}
	*ret = s;
	*ret_info = ux_bytes(s->window.data, size);
	return UX_OK;
}

void ux_info_stream_close(struct ux_info_stream *stream)
{
	if (!stream)
		return;
	ux_elf_stream_close(stream->in);
	ux_window_close(&stream->window);
	free(stream);
}

enum ux_code ux_info_stream_fill(struct ux_info_stream *s, uint64_t end, struct ux_error *err)
{
	end = ux_min(end, (uint64_t)s->window.size);
	if (end <= s->filled)
		return UX_OK;
	ux_window_advance(&s->window, end);
	UX_TRY(ux_elf_stream_read(s->in, s->window.data + s->filled, end - s->filled, err));
	s->filled = end;
	return UX_OK;
}

void ux_info_stream_release(struct ux_info_stream *s, uint64_t start)
{
	ux_window_release(&s->window, start);
}
