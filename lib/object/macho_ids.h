/* SPDX-License-Identifier: Apache-2.0 */
/* The identities of a Mach-O file. */
#ifndef UX_MACHO_IDS_H
#define UX_MACHO_IDS_H

#include "id_set.h"
#include "macho_file.h"

/*
 * Adds the UUID and the Go build ID, when there are any, and the File ID of the slice: that of the
 * file which it would be alone, since a universal file's own would be several modules'. UX_ELIMIT
 * as of ux_id_set_add().
 */
enum ux_code ux_macho_ids(const struct ux_macho *macho, struct ux_id_set *ret, struct ux_error *err)
	ux_must;

#endif
