/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program was told to have its perf map, when that is not /tmp. */
#include "jit_folders.h"

static bool folder_of(struct ux_bytes variable, struct ux_bytes *ret)
{
	static const char *const names[] = {"DOTNET_PerfMapJitDumpPath=",
					    "COMPlus_PerfMapJitDumpPath="};
	for (size_t i = 0; i < ux_countof(names); i++) {
		size_t n = strlen(names[i]);
		if (!ux_bytes_starts(variable, ux_bytes(names[i], n)))
			continue;
		struct ux_bytes folder = ux_bytes(variable.data + n, variable.size - n);
		while (folder.size > 1 && folder.data[folder.size - 1] == '/')
			folder.size--;
		*ret = folder;
		return folder.size > 0 && folder.data[0] == '/';
	}
	return false;
}

bool ux_jit_folder_next(struct ux_bytes environment, size_t *at, struct ux_bytes *ret)
{
	while (*at < environment.size) {
		const uint8_t *start = environment.data + *at;
		const uint8_t *nul = memchr(start, 0, environment.size - *at);
		size_t n = nul ? (size_t)(nul - start) : environment.size - *at;
		*at += nul ? n + 1 : n;
		/* What has no end was cut off, and may be another folder. */
		if (nul && folder_of(ux_bytes(start, n), ret))
			return true;
	}
	return false;
}
