/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of an ELF file and the identities in them. */
#ifndef UX_ELF_IDS_H
#define UX_ELF_IDS_H

#include "cursor.h"
#include "elf_file.h"
#include "id.h"

struct ux_elf_note {
	struct ux_bytes owner; /* "GNU", "Go", ...: without its NUL */
	uint32_t type;         /* means something only with its owner */
	struct ux_bytes desc;
};

/* On the caller's stack; holds nothing that needs freeing. */
struct ux_elf_notes {
	struct ux_cur cur;
	size_t align;
	struct ux_elf_note note; /* what next returned last */
};

/*
 * Starts at the first note of bytes. align is the section's or the segment's: 8 pads owner and
 * content to 8 bytes, anything else to 4, whatever the class. section is for messages and outlives
 * the walk; may be NULL.
 */
void ux_elf_notes_init(struct ux_elf_notes *it, struct ux_bytes bytes, uint64_t align, bool swap,
		       const char *section);

/* The next note, valid until the next call; NULL at the end or at a damaged note. */
const struct ux_elf_note *ux_elf_notes_next(struct ux_elf_notes *it);

/* After next gave NULL: UX_OK at the end, UX_ECORRUPT with offset and reason at a damaged note. */
enum ux_code ux_elf_notes_status(const struct ux_elf_notes *it, struct ux_error *err) ux_must;

/*
 * Starts at the notes of a section or of a segment of elf, whatever its type says. UX_ECORRUPT when
 * its content leaves the file.
 */
enum ux_code ux_elf_notes_of_section(const struct ux_elf *elf, const struct ux_elf_section *section,
				     struct ux_elf_notes *ret, struct ux_error *err) ux_must;
enum ux_code ux_elf_notes_of_segment(const struct ux_elf *elf, const struct ux_elf_segment *segment,
				     struct ux_elf_notes *ret, struct ux_error *err) ux_must;

/*
 * Adds the GNU build ID and the Go build ID to *ret, at most one of each; the File ID is the
 * caller's business. Looked for in this order, the first of its type wins: the sections
 * .note.gnu.build-id, .note.go.buildid and .notes (vmlinux), then all SHT_NOTE sections, then all
 * PT_NOTE segments.
 *
 * UX_OK also when there is none. UX_ECORRUPT: no GNU build ID, and a note section that may have
 * held it is damaged. (Damage in a segment says nothing: in a separate debug file the segments
 * describe another file.) UX_ELIMIT: a GNU build ID longer than we keep.
 */
enum ux_code ux_elf_ids(const struct ux_elf *elf, struct ux_id_set *ret, struct ux_error *err)
	ux_must;

#endif
