/* SPDX-License-Identifier: Apache-2.0 */
/* The identities of a Mach-O file. */
#include "macho_ids.h"

#include "file_id.h"

enum ux_code ux_macho_ids(const struct ux_macho *macho, struct ux_id_set *ret, struct ux_error *err)
{
	struct ux_id content = ux_file_id(macho->file);
	if (macho->id.size > 0)
		UX_TRY(ux_id_set_add(ret, &macho->id, err));
	return ux_id_set_add(ret, &content, err);
}
