/* SPDX-License-Identifier: Apache-2.0 */
/* A compressed section taken apart: what it says of itself, and the stream in it. */
#ifndef UX_ELF_PACKED_H
#define UX_ELF_PACKED_H

#include "elf_file.h"

struct ux_elf_packed {
	const char *name;
	uint32_t type; /* ELFCOMPRESS_* */
	uint64_t size; /* inflated, as the header claims */
	struct ux_bytes stream;
	uint64_t stream_off; /* in the section */
};

/* Reads the header of a section that ux_elf_section_compressed() holds for one; raw is all of it.
 */
enum ux_code ux_elf_packed_read(const struct ux_elf *elf, const struct ux_elf_section *section,
				struct ux_bytes raw, struct ux_elf_packed *p, struct ux_error *err)
	ux_must;

/* Refuses a size that the stream cannot have, then one above max_size (UX_ELIMIT). */
enum ux_code ux_elf_packed_check(const struct ux_elf_packed *p, uint64_t max_size,
				 struct ux_error *err) ux_must;

/* The failure of a stream that inflates to `found` ("more", "less") than p->size bytes. */
enum ux_code ux_elf_packed_wrong_size(const struct ux_elf_packed *p, const char *found,
				      struct ux_error *err);

#endif
