/* SPDX-License-Identifier: Apache-2.0 */
/* capstone, loaded when code is to be read. */
#include "capstone_calls.h"

#include "library_calls.h"

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
	return ux_library_calls(SONAME, "no disassembler here", names, ux_countof(names), ret, err);
}
