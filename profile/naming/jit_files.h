/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files in which run-time compilers describe their code: jitdumps and perf maps. */
#ifndef UX_JIT_FILES_H
#define UX_JIT_FILES_H

#include "file.h"
#include "profile_symbolize.h"

/* Returns whether the file's name is a jitdump's: jit-PID.dump. */
bool ux_jitdump_path_is(struct ux_bytes path);

/*
 * Maps the jitdump of a process. An absolute path is the one that the process had mapped: it is
 * opened below a folder of --files, else on this machine. Of any other path only the name counts:
 * in a folder of --files and its tmp/, then where compilers leave it (the working folder,
 * ~/.debug/jit/, /tmp). A file that is found by its name has to belong to root, to this user, or to
 * the user of that process. *ret_path is malloc'ed. UX_ENOTFOUND, UX_EINVAL: with the reason.
 * UX_ENOMEM. Source: Linux, tools/perf/Documentation/jitdump-specification.txt.
 */
enum ux_code ux_jitdump_open(const struct ux_profile_sources *sources, const char *path,
			     uint32_t pid, struct ux_mapping *ret, char **ret_path,
			     struct ux_error *err) ux_must;

/* As above: perf-PID.map, in a folder of --files and its tmp/, else in /tmp. */
enum ux_code ux_perf_map_open(const struct ux_profile_sources *sources, uint32_t pid,
			      struct ux_mapping *ret, char **ret_path, struct ux_error *err)
	ux_must;

#endif
