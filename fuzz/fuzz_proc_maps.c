/* SPDX-License-Identifier: Apache-2.0 */
/* Target: a list of mappings; the same bytes are also read as an environment. */
#include "fuzz.h"

#include "proc_maps.h"
#include "process.h"

FUZZ_TARGET(proc_maps)(const uint8_t *data, size_t size)
{
	struct ux_proc_maps m = {0};
	fuzz_truth(ux_proc_maps_parse(ux_bytes(data, size), &m, NULL) == UX_OK);
	fuzz_truth(m.list.size + m.skipped <= size);
	for (size_t i = 0; i < m.list.size; i++) {
		const struct ux_proc_map *map = &m.list.data[i];
		size_t found = 0;
		fuzz_truth(map->end > map->start && map->path);
		fuzz_truth(i == 0 || map->start >= m.list.data[i - 1].end);
		fuzz_truth(ux_proc_maps_find(&m, map->start, &found) && found == i);
		fuzz_truth(ux_proc_maps_find(&m, map->end - 1, &found) && found == i);
		fuzz_truth(!memchr(map->path, 0, strlen(map->path)) && strlen(map->path) < size);
	}
	ux_proc_maps_deinit(&m);
	struct ux_bytes folder, all = ux_bytes(data, size);
	for (size_t at = 0; ux_jit_folder_next(all, &at, &folder);)
		fuzz_truth(fuzz_inside(folder, all) && folder.data[0] == '/' && at <= size);
	return 0;
}
