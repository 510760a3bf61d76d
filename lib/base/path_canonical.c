/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical paths of source files. */
#include "path_canonical.h"

/* Cuts the last component off; false at the root. */
static bool path_cut_last(char *path, size_t *n)
{
	if (*n == 0)
		return false;
	while (path[--*n] != '/')
		;
	return true;
}

enum {
	SHOWN = 80 /* bytes of a path in a message */
};

enum ux_code ux_path_canonical(struct ux_bytes path, struct ux_arena *arena, const char **ret,
			       struct ux_error *err)
{
	if (path.size == 0 || path.data[0] != '/')
		return ux_error_set(err, UX_EINVAL, "source path does not begin with /");
	if (path.size >= UX_PATH_BYTES || memchr(path.data, 0, path.size))
		return ux_error_set(err, UX_EINVAL, "source path has a NUL or more than %d bytes",
				    UX_PATH_BYTES - 1);
	char *out = ux_arena_array(arena, char, path.size + 1);
	size_t n = 0; /* bytes of out: none, or "/" and components without a '/' at the end */
	if (!out)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < path.size;) {
		const uint8_t *from = path.data + i + 1;
		const uint8_t *end = memchr(from, '/', path.size - i - 1);
		size_t len = end ? (size_t)(end - from) : path.size - i - 1;
		if (len == 2 && memcmp(from, "..", 2) == 0) {
			if (!path_cut_last(out, &n))
				return ux_error_set(err, UX_EINVAL,
						    "path leads above its root: %.*s",
						    (int)ux_min(path.size, (size_t)SHOWN),
						    (const char *)path.data);
		} else if (len > 0 && !(len == 1 && from[0] == '.')) {
			out[n++] = '/';
			memcpy(out + n, from, len);
			n += len;
		}
		i += len + 1;
	}
	if (n == 0)
		return ux_error_set(err, UX_EINVAL, "source path names the root, not a file");
	out[n] = '\0';
	*ret = out;
	return UX_OK;
}

enum ux_code ux_path_of_source(struct ux_bytes name, struct ux_arena *arena, const char **ret,
			       struct ux_error *err)
{
	if (name.size > 0 && name.data[0] == '/')
		return ux_path_canonical(name, arena, ret, err);
	if (name.size >= UX_PATH_BYTES)
		return ux_error_set(err, UX_EINVAL, "source path has more than %d bytes",
				    UX_PATH_BYTES - 1);
	char *rooted = ux_arena_array(arena, char, name.size + 1);
	if (!rooted)
		return ux_arena_fail(arena, err);
	rooted[0] = '/';
	if (name.size > 0)
		memcpy(rooted + 1, name.data, name.size);
	return ux_path_canonical(ux_bytes(rooted, name.size + 1), arena, ret, err);
}
