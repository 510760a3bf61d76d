/* SPDX-License-Identifier: Apache-2.0 */
/* The identities that an ELF file carries. */
#ifndef UX_ELF_IDS_H
#define UX_ELF_IDS_H

#include "elf_file.h"
#include "id_set.h"

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
