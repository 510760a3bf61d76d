/* SPDX-License-Identifier: Apache-2.0 */
/* libarchive, loaded when an archive is at hand. */
#include "archive_calls.h"

#include "library_calls.h"

/* The name of the library that the header is of: all of version 3 are compatible. */
#define SONAME "libarchive.so.13"
static_assert(ARCHIVE_VERSION_NUMBER / 1000000 == 3, "another version has another name");

enum ux_code ux_archive_load(struct ux_archive_calls *ret, struct ux_error *err)
{
	static const char *const names[] = {
#define NAME(name) #name,
		UX_ARCHIVE_CALLS(NAME)
#undef NAME
	};
	static_assert(sizeof(*ret) == sizeof(names), "a name for each call");
	return ux_library_calls(SONAME, "no archives here", names, ux_countof(names), ret, err);
}
