/* SPDX-License-Identifier: Apache-2.0 */
/* GnuTLS, loaded on demand. */
#include "gnutls_calls.h"

#include "library_calls.h"

#ifdef UX_GNUTLS_SONAME

struct ux_gnutls_calls ux_gnutls;

static const char *const gnutls_names[] = {
#define NAME(name) #name,
	UX_GNUTLS_CALLS(NAME)
#undef NAME
};
static_assert(sizeof(ux_gnutls) == sizeof(gnutls_names), "a name for each call");

static struct ux_library gnutls_loaded =
	UX_LIBRARY(UX_GNUTLS_SONAME,
		   "signatures and TLS certificates need GnuTLS (Debian: apt install libgnutls30)",
		   gnutls_names, &ux_gnutls);

enum ux_code ux_gnutls_load(struct ux_error *err)
{
	return ux_library_load(&gnutls_loaded, err);
}

#else

enum ux_code ux_gnutls_load(struct ux_error *err)
{
	(void)err;
	return UX_OK;
}

#endif
