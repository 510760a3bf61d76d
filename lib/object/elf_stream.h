/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A zlib section inflated front to back, a part at a time: somebody can read what is there while
 * the rest is made, and let go of it afterwards. ux_elf_section_load() is a twelfth faster where
 * all of it is wanted at once.
 */
#ifndef UX_ELF_STREAM_H
#define UX_ELF_STREAM_H

#include "elf_file.h"

struct ux_elf_stream;

/*
 * Opens the section; *ret_size is how many bytes it will give. UX_EUNSUPPORTED: it is not
 * compressed by zlib, or the library was built without ISA-L. Its header's lies and max_size are as
 * of ux_elf_section_load(). The file must outlive the stream.
 */
enum ux_code ux_elf_stream_open(const struct ux_elf *elf, const struct ux_elf_section *section,
				uint64_t max_size, struct ux_elf_stream **ret, uint64_t *ret_size,
				struct ux_error *err) ux_must;
struct ux_elf_stream *ux_elf_stream_close(struct ux_elf_stream *stream);

/*
 * The next n bytes, not more than are left, to `to`. UX_ECORRUPT: the stream is damaged, or ends
 * elsewhere than its header says. One thread at a time.
 */
enum ux_code ux_elf_stream_read(struct ux_elf_stream *stream, uint8_t *to, size_t n,
				struct ux_error *err) ux_must;

#endif
