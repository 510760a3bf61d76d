/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files with the symbols of a binary are looked for. */
#include "find_options.h"

#include "output.h"

enum ux_code ux_find_open(struct ux_finder *ret, const struct ux_find_values *values,
			  struct ux_error *err)
{
	struct ux_debuginfod_options options = ux_debuginfod_environment();
	if (values->debuginfod)
		options.urls = values->debuginfod;
	*ret = (struct ux_finder){.search.dirs = values->dirs};
	return ux_debuginfod_create(&ret->server, &options, err);
}

void ux_find_close(struct ux_finder *finder)
{
	ux_debuginfod_destroy(finder->server);
	*finder = (struct ux_finder){0};
}

void ux_find_warn(const char *path, const struct ux_error *lost)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	if (lost->code != UX_OK)
		ux_say("%s: %s; what is in it stays unknown", path,
		       ux_error_format(lost, text, sizeof(text)));
}
