/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program was told to have its perf map, when that is not /tmp. */
#ifndef UX_JIT_FOLDERS_H
#define UX_JIT_FOLDERS_H

#include "bytes.h"

/*
 * The next folder that a variable of an environment (/proc/PID/environ: "NAME=VALUE", each with a
 * NUL behind) names for run-time compilers: DOTNET_PerfMapJitDumpPath of .NET, COMPlus_... before
 * .NET 6. A slice of it, absolute, without a '/' at its end but for the root. *at starts at 0;
 * false: no more.
 */
bool ux_jit_folder_next(struct ux_bytes environment, size_t *at, struct ux_bytes *ret);

#endif
