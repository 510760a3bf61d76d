/* SPDX-License-Identifier: Apache-2.0 */
/* Target: packs of sources: the listed files are inside, sorted, canonical. */
#include "fuzz.h"

#include "path_canonical.h"
#include "source_pack.h"

FUZZ_TARGET(source_pack)(const uint8_t *data, size_t size)
{
	UX_ARENA(arena, 64 << 20);
	struct ux_bytes pack = ux_bytes(data, size), content = UX_BYTES_NONE;
	struct ux_packed_source *list = NULL;
	size_t n = 0;
	if (ux_source_pack_read(pack, &arena, &list, &n, NULL) != UX_OK)
		return 0;
	for (size_t i = 0; i < n; i++) {
		UX_ARENA(again, 1 << 20);
		const char *path = NULL;
		fuzz_truth(ux_bytes_sub(pack, list[i].off, list[i].size, &content));
		fuzz_truth(i == 0 || strcmp(list[i - 1].path, list[i].path) < 0);
		fuzz_truth(ux_path_canonical(ux_bytes_cstr(list[i].path), &again, &path, NULL) ==
			   UX_OK);
		fuzz_truth(strcmp(path, list[i].path) == 0);
	}
	return 0;
}
