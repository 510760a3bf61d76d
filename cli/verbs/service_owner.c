/* SPDX-License-Identifier: Apache-2.0 */
/* The service of this machine: its folder and configuration, and root as the owner of a folder. */
#include "store_folder.h"

#include "file.h"
#include "text.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	VARIABLES_BYTES_MAX = 64 << 10, /* maximum bytes of the file with the service's variables */
};

void ux_service_deinit(struct ux_service *s)
{
	free(s->dir);
	free(s->config);
	*s = (struct ux_service){0};
}

/* Removes the quotes around a value. */
static struct ux_bytes variable_unquote(struct ux_bytes v)
{
	bool quoted = v.size >= 2 && (v.data[0] == '"' || v.data[0] == '\'') &&
		      v.data[v.size - 1] == v.data[0];
	return quoted ? ux_bytes(v.data + 1, v.size - 2) : v;
}

/* Returns the last value of a variable, as systemd reads an EnvironmentFile=; no data: it is not
 * set. */
static struct ux_bytes variable_find(struct ux_bytes text, const char *name)
{
	struct ux_bytes found = UX_BYTES_NONE, line;
	size_t n = strlen(name);
	while (ux_text_take_line(&text, &line)) {
		line = ux_trim(line);
		if (line.size > n && memcmp(line.data, name, n) == 0 && line.data[n] == '=')
			found = variable_unquote(
				ux_trim(ux_bytes(line.data + n + 1, line.size - n - 1)));
	}
	return found;
}

/* Reads UNHEX_CONFIG from the file; a missing file is not an error. */
static enum ux_code service_read_variables(const char *path, struct ux_service *ret, bool *ret_any,
					   struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (access(path, F_OK) != 0)
		return UX_OK;
	*ret_any = true;
	UX_TRY(ux_file_map(path, &file, err));
	if (file.bytes.size > VARIABLES_BYTES_MAX)
		return ux_error_set(err, UX_ELIMIT, "%s: %zu bytes; expected at most %d", path,
				    file.bytes.size, VARIABLES_BYTES_MAX);
	struct ux_bytes value = variable_find(file.bytes, "UNHEX_CONFIG");
	if (value.size == 0)
		return UX_OK;
	ret->config = strndup((const char *)value.data, value.size);
	return ret->config ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_service_find(struct ux_service *ret, bool *ret_found, struct ux_error *err)
{
	const char *root = getenv("UNHEX_SERVICE_ROOT");
	ux_cleanup(ux_free_ptr) char *variables = NULL;
	ux_cleanup(ux_service_deinit) struct ux_service s = {0};
	struct stat st;
	*ret = (struct ux_service){0};
	*ret_found = false;
	if (asprintf(&variables, "%s/etc/default/unhex", root ? root : "") < 0)
		variables = NULL;
	if (asprintf(&s.dir, "%s/var/lib/unhex", root ? root : "") < 0)
		s.dir = NULL;
	if (!variables || !s.dir)
		return ux_error_nomem(err);
	bool any = stat(s.dir, &st) == 0 && S_ISDIR(st.st_mode);
	UX_TRY(service_read_variables(variables, &s, &any, err));
	*ret_found = any;
	if (any) {
		*ret = s;
		s = (struct ux_service){0};
	}
	return UX_OK;
}

/* The kernel clears effective capabilities with the user; the permitted ones stay. */
static bool owner_keep_access(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
	const uint32_t access = (uint32_t)1 << CAP_DAC_OVERRIDE | (uint32_t)1
									  << CAP_DAC_READ_SEARCH;
	if (syscall(SYS_capget, &header, sets) != 0)
		return false;
	sets[0].effective = sets[0].permitted & access;
	return syscall(SYS_capset, &header, sets) == 0;
}

enum ux_code ux_service_become_owner(const char *dir, struct ux_error *err)
{
	struct stat st;
	if (geteuid() != 0 || stat(dir, &st) != 0 || st.st_uid == 0)
		return UX_OK;
	if (setgroups(0, NULL) != 0 || setegid(st.st_gid) != 0 || seteuid(st.st_uid) != 0 ||
	    !owner_keep_access())
		return ux_error_os(err, errno, "cannot switch to user %u, who owns %s",
				   (unsigned)st.st_uid, dir);
	return UX_OK;
}
