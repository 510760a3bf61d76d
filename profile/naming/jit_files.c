/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for jitdumps and perf maps. */
#include "jit_files.h"

#include "process.h"
#include "search_path.h"
#include "text.h"

#include <glob.h>

bool ux_jitdump_path_is(struct ux_bytes path)
{
	const uint8_t *slash = ux_bytes_find_last(path, '/');
	struct ux_bytes name = path;
	if (slash)
		name = ux_bytes(slash + 1, path.size - (size_t)(slash + 1 - path.data));
	struct ux_bytes prefix = UX_STR("jit-"), suffix = UX_STR(".dump");
	if (!ux_bytes_starts(name, prefix) || name.size <= prefix.size + suffix.size)
		return false;
	size_t digits = name.size - prefix.size - suffix.size;
	for (size_t i = 0; i < digits; i++)
		if (!ux_is_digit(name.data[prefix.size + i]))
			return false;
	return memcmp(name.data + prefix.size + digits, suffix.data, suffix.size) == 0;
}

/* Maps DIR/PATH; UX_ENOTFOUND: there is no such file, or it cannot be read. */
static enum ux_code jit_files_map_below(struct ux_bytes dir, const char *path,
					struct ux_mapping *ret, char **ret_path,
					struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *below = NULL;
	if (asprintf(&below, "%.*s/%s", (int)dir.size, (const char *)dir.data, path) < 0) {
		below = NULL;
		return ux_error_nomem(err);
	}
	if (ux_file_map(below, ret, NULL) != UX_OK)
		return UX_ENOTFOUND;
	*ret_path = ux_take(&below);
	return UX_OK;
}

/* Maps the file at `path` below each folder of a list, "DIR:DIR", and then below its `also`. */
static enum ux_code jit_files_map_in(const char *dirs, const char *path, const char *also,
				     struct ux_mapping *ret, char **ret_path, struct ux_error *err)
{
	const char *dir = NULL;
	size_t n = 0;
	for (const char *rest = dirs; ux_search_path_take(&rest, &dir, &n);) {
		struct ux_bytes folder = ux_bytes(dir, n);
		enum ux_code code = jit_files_map_below(folder, path, ret, ret_path, err);
		if (code == UX_ENOTFOUND && also)
			code = jit_files_map_below(folder, also, ret, ret_path, err);
		if (code != UX_ENOTFOUND)
			return code;
	}
	return UX_ENOTFOUND;
}

/* Maps a file of this machine that was found by its name alone. UX_EINVAL: it is not to be trusted.
 */
static enum ux_code jit_files_map_own(const char *path, uint32_t pid, struct ux_mapping *ret,
				      char **ret_path, struct ux_error *err)
{
	UX_TRY(ux_jit_file_map(path, (pid_t)pid, ret, err));
	*ret_path = strdup(path);
	return *ret_path ? UX_OK : ux_error_nomem(err);
}

/* Finds the jitdump of perf's compiler agents, which make a folder for each of their starts. If
 * several have the same name, the last folder is used: its name has the date. */
static enum ux_code jit_files_map_agent(const char *name, uint32_t pid, struct ux_mapping *ret,
					char **ret_path, struct ux_error *err)
{
	const char *home = getenv("JITDUMPDIR");
	ux_cleanup(ux_free_ptr) char *pattern = NULL;
	ux_cleanup(globfree) glob_t found = {0};
	home = home && *home ? home : getenv("HOME");
	if (!home || *home != '/')
		return UX_ENOTFOUND;
	if (asprintf(&pattern, "%s/.debug/jit/*/%s", home, name) < 0) {
		pattern = NULL;
		return ux_error_nomem(err);
	}
	if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc == 0)
		return UX_ENOTFOUND;
	return jit_files_map_own(found.gl_pathv[found.gl_pathc - 1], pid, ret, ret_path, err);
}

/* Finds a jitdump by its name. Any user can write to /tmp, so it is searched last. */
static enum ux_code jitdump_find(const struct ux_profile_sources *sources, uint32_t pid,
				 struct ux_mapping *ret, char **ret_path, struct ux_error *err)
{
	char name[64], in_tmp[80], here[80];
	(void)snprintf(name, sizeof(name), "jit-%" PRIu32 ".dump", pid);
	(void)snprintf(in_tmp, sizeof(in_tmp), "/tmp/%s", name);
	(void)snprintf(here, sizeof(here), "./%s", name);
	enum ux_code code =
		jit_files_map_in(sources->file_dirs, name, in_tmp + 1, ret, ret_path, err);
	if (code != UX_ENOTFOUND)
		return code;
	if (sources->no_local)
		return ux_error_set(err, UX_ENOTFOUND, "%s does not exist", name);
	code = jit_files_map_own(here, pid, ret, ret_path, NULL);
	if (code != UX_OK && code != UX_ENOMEM)
		code = jit_files_map_agent(name, pid, ret, ret_path, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	return code == UX_OK ? UX_OK : jit_files_map_own(in_tmp, pid, ret, ret_path, err);
}

enum ux_code ux_jitdump_open(const struct ux_profile_sources *sources, const char *path,
			     uint32_t pid, struct ux_mapping *ret, char **ret_path,
			     struct ux_error *err)
{
	if (*path != '/')
		return jitdump_find(sources, pid, ret, ret_path, err);
	enum ux_code code =
		jit_files_map_in(sources->file_dirs, path + 1, NULL, ret, ret_path, err);
	if (code != UX_ENOTFOUND)
		return code;
	if (sources->no_local)
		return ux_error_set(err, UX_ENOTFOUND, "the jitdump was not found");
	UX_TRY(ux_file_map(path, ret, err));
	*ret_path = strdup(path);
	return *ret_path ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_perf_map_open(const struct ux_profile_sources *sources, uint32_t pid,
			      struct ux_mapping *ret, char **ret_path, struct ux_error *err)
{
	char path[64];
	struct ux_error why = UX_ERROR_INIT;
	int tmp = (int)strlen("/tmp/");
	(void)snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", pid);
	enum ux_code code = UX_ENOTFOUND;
	if (pid != 0)
		code = jit_files_map_in(sources->file_dirs, path + tmp, path + 1, ret, ret_path,
					err);
	if (code == UX_ENOTFOUND && pid != 0 && !sources->no_local)
		code = jit_files_map_own(path, pid, ret, ret_path, &why);
	if (code == UX_OK || code == UX_ENOMEM)
		return code == UX_OK ? UX_OK : ux_error_nomem(err);
	if (code == UX_EINVAL)
		return ux_error_set(err, code, "run-time code; %s %s", path, why.text);
	return ux_error_set(err, UX_ENOTFOUND, "run-time code; %s does not exist", path);
}
