/* SPDX-License-Identifier: Apache-2.0 */
/* The last component of a path. */
#ifndef UX_PATH_BASE_H
#define UX_PATH_BASE_H

#include <string.h>

/* Returns the part after the last slash; the whole path if it has none. */
static inline const char *ux_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

#endif
