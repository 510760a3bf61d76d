/* SPDX-License-Identifier: Apache-2.0 */
/* libarchive, loaded when an archive is at hand. */
#include "archive_calls.h"

#include <dlfcn.h>

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
	void *calls[ux_countof(names)];
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return ux_error_set(err, UX_EUNSUPPORTED, "no archives here: %.100s", dlerror());
	for (size_t i = 0; i < ux_countof(names); i++) {
		calls[i] = dlsym(library, names[i]);
		if (!calls[i])
			return ux_error_set(err, UX_EUNSUPPORTED, "%s has no %s", SONAME, names[i]);
	}
	memcpy(ret, calls, sizeof(*ret));
	return UX_OK;
}
