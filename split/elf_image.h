/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file that is being made: bytes by offset. */
#ifndef UX_ELF_IMAGE_H
#define UX_ELF_IMAGE_H

#include "bytes.h"
#include "elf_file.h"
#include "error.h"
#include "out.h"
#include "vec.h"

/* Takes the next bytes of the output. */
typedef enum ux_code ux_image_sink_fn(void *ctx, struct ux_bytes bytes, struct ux_error *err);

/* Borrowed bytes, whose owner outlives the image. */
struct ux_image_span {
	uint64_t off;
	struct ux_bytes bytes;
};

UX_VEC(ux_image_spans, struct ux_image_span);
UX_VEC(ux_image_buffers, uint8_t *);

/* Zeroed is empty. Gaps between spans are zeros. */
struct ux_elf_image {
	struct ux_image_spans spans;   /* in ascending order, none overlaps another */
	struct ux_image_buffers owned; /* malloc'ed, freed with the image */
	uint64_t size;                 /* end of the last span */
};

/* Appends bytes at off, which is not before image->size; UX_ENOMEM. */
enum ux_code ux_elf_image_put(struct ux_elf_image *image, uint64_t off, struct ux_bytes bytes,
			      struct ux_error *err) ux_must;

/* Moves the content of a buffer into the image's ownership and returns it. UX_ENOMEM. */
enum ux_code ux_elf_image_own(struct ux_elf_image *image, struct ux_out *out, struct ux_bytes *ret,
			      struct ux_error *err) ux_must;

/* Allocates n bytes, zeros, which the caller fills and the image owns. UX_ENOMEM. */
enum ux_code ux_elf_image_reserve(struct ux_elf_image *image, size_t n, uint8_t **ret,
				  struct ux_error *err) ux_must;

/* Writes the image from front to back. Codes of the sink. */
enum ux_code ux_elf_image_write(const struct ux_elf_image *image, ux_image_sink_fn *sink, void *ctx,
				struct ux_error *err) ux_must;
void ux_elf_image_deinit(struct ux_elf_image *image);

/* --- records of an ELF file ------------------------------------------------------------------- */

/* The fields of the header that locate the tables (gABI, "ELF Header"). */
struct ux_elf_tables {
	uint64_t segments_off;
	uint16_t segment_size; /* bytes of a record in the file */
	uint64_t sections_off;
	uint16_t section_size;
	uint32_t names; /* index of the section with the names of sections */
};

/* Reads these fields from an open file, whose tables were checked. */
void ux_elf_tables_read(const struct ux_elf *elf, struct ux_elf_tables *ret);

/* A section header as it is written; the content may be elsewhere. */
struct ux_elf_section_record {
	uint32_t name; /* offset in the table of names */
	uint32_t type;
	uint64_t flags;
	uint64_t addr;
	uint64_t off;
	uint64_t size;
	uint32_t link;
	uint32_t info;
	uint64_t align;
	uint64_t entsize;
};

UX_VEC(ux_elf_section_records, struct ux_elf_section_record);

/* Reads record i unchanged from the file: ux_elf_open() changes addresses of an ET_REL. */
struct ux_elf_section_record ux_elf_section_record_read(const struct ux_elf *elf,
							const struct ux_elf_tables *t, uint32_t i);

static inline size_t ux_elf_header_size(const struct ux_elf *elf)
{
	return elf->is64 ? ELF64_EHDR_SIZE : ELF32_EHDR_SIZE;
}

/* Appends an address, offset or size; the file's class decides the width. */
static inline void ux_elf_put_word(struct ux_out *out, const struct ux_elf *elf, uint64_t v)
{
	ux_out_uint(out, v, elf->is64 ? 8 : 4);
}

/* Rounds up to a multiple of align, if that is a power of two up to 4096; larger alignments apply
 * to addresses, not to offsets. */
uint64_t ux_elf_image_align(uint64_t off, uint64_t align);

/*
 * Appends the table of sections to the image and writes the input's ELF header with the new offsets
 * to `header`, which has ux_elf_header_size() bytes. records[0] is the null section, which takes
 * counts that do not fit the header. UX_ENOMEM; UX_ELIMIT: over 4 GiB in a 32-bit file.
 */
enum ux_code ux_elf_image_finish(struct ux_elf_image *image, const struct ux_elf *elf,
				 const struct ux_elf_tables *tables,
				 struct ux_elf_section_records *records, uint8_t *header,
				 struct ux_error *err) ux_must;

#endif
