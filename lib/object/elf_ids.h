/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the notes of an ELF file, and the identities in them. */
#ifndef UX_ELF_IDS_H
#define UX_ELF_IDS_H

#include "cursor.h"
#include "elf_file.h"
#include "id.h"

struct ux_elf_note {
	struct ux_bytes owner; /* "GNU", "Go", ..., without its NUL */
	uint32_t type;         /* its meaning depends on the owner */
	struct ux_bytes desc;
};

/* An iterator over notes. It needs no release. */
struct ux_elf_notes {
	struct ux_cur cur;
	size_t align;
	struct ux_elf_note note; /* the last result of ux_elf_notes_next() */
};

/*
 * Starts at the first note of bytes. `align` is the alignment of the section or segment: with 8,
 * owner and content are padded to 8 bytes, with any other value to 4, for both ELF classes.
 * `section` is for messages and must outlive the iterator; it may be NULL.
 */
void ux_elf_notes_init(struct ux_elf_notes *it, struct ux_bytes bytes, uint64_t align, bool swap,
		       const char *section);

/* Returns the next note, valid until the next call; NULL at the end or at a damaged note. */
const struct ux_elf_note *ux_elf_notes_next(struct ux_elf_notes *it);

/*
 * To be called after ux_elf_notes_next() returned NULL: UX_OK at the end of the notes, UX_ECORRUPT
 * with offset and reason at a damaged note.
 */
enum ux_code ux_elf_notes_status(const struct ux_elf_notes *it, struct ux_error *err) ux_must;

/*
 * Starts at the notes of a section or of a segment of elf, whatever its type is. UX_ECORRUPT: its
 * content exceeds the file.
 */
enum ux_code ux_elf_notes_of_section(const struct ux_elf *elf, const struct ux_elf_section *section,
				     struct ux_elf_notes *ret, struct ux_error *err) ux_must;
enum ux_code ux_elf_notes_of_segment(const struct ux_elf *elf, const struct ux_elf_segment *segment,
				     struct ux_elf_notes *ret, struct ux_error *err) ux_must;

/*
 * Adds the GNU build ID and the Go build ID to *ret, at most one of each; it does not add the File
 * ID. These places are searched in this order, and the first ID of each type is used: the sections
 * .note.gnu.build-id, .note.go.buildid and .notes (vmlinux), then all SHT_NOTE sections, then all
 * PT_NOTE segments.
 *
 * UX_OK also when the file has no ID. UX_ECORRUPT: no GNU build ID was found, and a note section
 * that may have contained it is damaged. (Damage in a segment is ignored: in a separate debug file
 * the segments describe another file.) UX_ELIMIT: the GNU build ID is longer than UX_ID_GNU_MAX.
 */
enum ux_code ux_elf_ids(const struct ux_elf *elf, struct ux_id_set *ret, struct ux_error *err)
	ux_must;

#endif
