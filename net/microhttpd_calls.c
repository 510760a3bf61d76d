/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd, loaded on demand. */
#include "microhttpd_calls.h"

#include "library_calls.h"

#ifdef UX_MICROHTTPD_SONAME

struct ux_microhttpd_calls ux_microhttpd;

static const char *const microhttpd_names[] = {
#define NAME(name) #name,
	UX_MICROHTTPD_CALLS(NAME)
#undef NAME
};
static_assert(sizeof(ux_microhttpd) == sizeof(microhttpd_names), "a name for each call");

static struct ux_library microhttpd_loaded =
	UX_LIBRARY(UX_MICROHTTPD_SONAME,
		   "the server needs libmicrohttpd (Debian: apt install libmicrohttpd12)",
		   microhttpd_names, &ux_microhttpd);

enum ux_code ux_microhttpd_load(struct ux_error *err)
{
	return ux_library_load(&microhttpd_loaded, err);
}

#else

enum ux_code ux_microhttpd_load(struct ux_error *err)
{
	(void)err;
	return UX_OK;
}

#endif
