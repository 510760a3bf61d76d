/* SPDX-License-Identifier: Apache-2.0 */
/* A compressed .debug_info that is inflated while its front is read, and let go of behind that. */
#ifndef UX_INFO_STREAM_H
#define UX_INFO_STREAM_H

#include "elf_stream.h"

struct ux_info_stream;

/*
 * Opens the section; *ret_info is where its bytes will be, all of them: only what
 * ux_info_stream_fill() made may be read. UX_EUNSUPPORTED as of ux_elf_stream_open(). The file must
 * outlive the stream.
 */
enum ux_code ux_info_stream_open(const struct ux_elf *elf, const struct ux_elf_section *section,
				 uint64_t max_size, struct ux_info_stream **ret,
				 struct ux_bytes *ret_info, struct ux_error *err) ux_must;
void ux_info_stream_close(struct ux_info_stream *stream);

/* Inflates all in front of `end`, or to the end. One thread at a time; others may read what is
 * there. */
enum ux_code ux_info_stream_fill(struct ux_info_stream *stream, uint64_t end, struct ux_error *err)
	ux_must;

/* Nobody reads what is in front of `start` any more. Not beside ux_info_stream_fill(). */
void ux_info_stream_release(struct ux_info_stream *stream, uint64_t start);

#endif
