/* SPDX-License-Identifier: Apache-2.0 */
/* capstone, loaded when code is to be read. */
#include "capstone_calls.h"

#include <dlfcn.h>

/* The name of the library that the header is of: layouts differ between versions. */
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define SONAME   "libcapstone.so." TEXT(CS_API_MAJOR)

enum ux_code ux_capstone_load(struct ux_capstone_calls *ret, struct ux_error *err)
{
	static const char *const names[] = {
#define NAME(name) #name,
		UX_CAPSTONE_CALLS(NAME)
#undef NAME
	};
	static_assert(sizeof(*ret) == sizeof(names), "a name for each call");
	void *calls[ux_countof(names)];
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return ux_error_set(err, UX_EUNSUPPORTED, "no disassembler here: %.100s",
				    dlerror());
	for (size_t i = 0; i < ux_countof(names); i++) {
		calls[i] = dlsym(library, names[i]);
		if (!calls[i])
			return ux_error_set(err, UX_EUNSUPPORTED, "%s has no %s", SONAME, names[i]);
	}
	memcpy(ret, calls, sizeof(*ret));
	return UX_OK;
}
