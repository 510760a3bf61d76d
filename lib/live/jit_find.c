/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the perf maps and jitdumps that the run-time compilers of a process write. */
#include "process.h"

#include "path_base.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

enum {
	ENVIRONMENT_MAX = 8 << 20,
	MAP_NAME_MAX = 32, /* "/perf-PID.map" */
};

/* The receiver of the files. */
struct jit_finder {
	ux_jit_found_fn *fn;
	void *ctx;
};

int64_t ux_jit_file_mtime(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static bool jit_folder_of_variable(struct ux_bytes variable, struct ux_bytes *ret)
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
		/* The text of a variable without its NUL was truncated, so its path may be
		 * incomplete. */
		if (nul && jit_folder_of_variable(ux_bytes(start, n), ret))
			return true;
	}
	return false;
}

static enum ux_code jit_find_map(const struct jit_finder *s, const struct ux_proc *p, bool in_root,
				 struct ux_bytes folder, pid_t pid, struct ux_error *err)
{
	char path[PATH_MAX];
	UX_FD(fd);
	struct stat st;
	if (folder.size > PATH_MAX - MAP_NAME_MAX)
		return UX_OK;
	snprintf(path, sizeof(path), "%.*s/perf-%d.map", (int)folder.size,
		 (const char *)folder.data, (int)pid);
	if (ux_proc_open_in_root(p, in_root, path, &fd, NULL) != UX_OK || fstat(fd, &st) != 0)
		return UX_OK;
	if (st.st_uid != p->uid && st.st_uid != p->real_uid && st.st_uid != 0)
		return UX_OK; /* any user can create such a name in /tmp */
	if (ux_jit_file_mtime(&st) + UX_JIT_SLACK_NS < p->started_ns)
		return UX_OK; /* left by an earlier process with the same ID */
	return s->fn(s->ctx, &(struct ux_jit_found){fd, path, in_root, /* is_dump= */ false, st},
		     err);
}

static bool jitdump_name_matches(const char *path)
{
	const char *name = ux_path_base(path);
	size_t n = strlen(name);
	return n > 9 && strncmp(name, "jit-", 4) == 0 && strcmp(name + n - 5, ".dump") == 0;
}

static enum ux_code jit_find_dumps(const struct jit_finder *s, const struct ux_proc *p,
				   const struct ux_proc_maps *maps, struct ux_error *err)
{
	for (size_t i = 0; i < maps->list.size; i++) {
		const struct ux_proc_map *m = &maps->list.data[i];
		UX_FD(fd);
		struct stat st;
		if (m->kind != UX_PROC_MAP_FILE || m->off != 0 || !jitdump_name_matches(m->path) ||
		    ux_proc_open_mapped(p, m, &fd, NULL) != UX_OK || fstat(fd, &st) != 0)
			continue;
		UX_TRY(s->fn(s->ctx,
			     &(struct ux_jit_found){fd, m->path, /* in_root= */ true,
						    /* is_dump= */ true, st},
			     err));
	}
	return UX_OK;
}

/* Reads perf maps in a directory of the process. They may be named by its PID in its own
 * namespace or in ours. */
static enum ux_code jit_find_folder(const struct jit_finder *s, const struct ux_proc *p,
				    struct ux_bytes folder, struct ux_error *err)
{
	UX_TRY(jit_find_map(s, p, /* in_root= */ true, folder, p->own_pid, err));
	if (p->own_pid == p->pid)
		return UX_OK;
	return jit_find_map(s, p, /* in_root= */ true, folder, p->pid, err);
}

/* Reads perf maps in directories that are set in the environment of the process. */
static enum ux_code jit_find_named_folders(const struct jit_finder *s, const struct ux_proc *p,
					   struct ux_error *err)
{
	ux_cleanup(ux_read_deinit) struct ux_read environment = {0};
	struct ux_bytes folder;
	size_t at = 0;
	if (ux_proc_read(p->dir, "environ", ENVIRONMENT_MAX, &environment, NULL) != UX_OK)
		return UX_OK;
	while (ux_jit_folder_next(environment.bytes, &at, &folder))
		UX_TRY(jit_find_folder(s, p, folder, err));
	return UX_OK;
}

enum ux_code ux_jit_files_find(const struct ux_proc *p, const struct ux_proc_maps *maps,
			       ux_jit_found_fn *fn, void *ctx, struct ux_error *err)
{
	const struct jit_finder finder = {fn, ctx}, *s = &finder;
	UX_TRY(jit_find_dumps(s, p, maps, err));
	UX_TRY(jit_find_folder(s, p, UX_STR("/tmp"), err));
	UX_TRY(jit_find_named_folders(s, p, err));
	return jit_find_map(s, p, /* in_root= */ false, UX_STR("/tmp"), p->pid, err);
}
