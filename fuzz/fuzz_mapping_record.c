/* SPDX-License-Identifier: Apache-2.0 */
/* Target: a record of the kernel about a new mapping. */
#include "fuzz.h"

#include "mapping_events.h"

FUZZ_TARGET(mapping_record)(const uint8_t *data, size_t size)
{
	struct ux_proc_map map;
	char path[PATH_MAX];
	pid_t pid = -1;
	struct ux_error err = UX_ERROR_INIT;
	if (!ux_mapping_record_read(ux_bytes(data, size), &pid, &map, path, &err))
		return 0;
	fuzz_truth(pid >= 0 && map.path == path && strlen(path) < size);
	fuzz_truth(map.kind == UX_PROC_MAP_ANON ? map.ino == 0 : map.ino != 0);
	fuzz_truth(!map.deleted || strlen(path) + 10 < size);
	return 0;
}
