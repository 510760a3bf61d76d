/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of folders like "DIR:DIR". */
#ifndef UX_SEARCH_PATH_H
#define UX_SEARCH_PATH_H

#include "base.h"

#include <string.h>

/*
 * Takes the next entry off a list; NULL is an empty list. *ret is its start in the list, *ret_size
 * its bytes, at least 1, as empty entries are passed over. False: no more entries.
 */
static inline bool ux_search_path_take(const char **list, const char **ret, size_t *ret_size)
{
	while (*list && **list) {
		size_t n = strcspn(*list, ":");
		*ret = *list;
		*ret_size = n;
		*list += n + ((*list)[n] == ':');
		if (n > 0)
			return true;
	}
	return false;
}

#endif
