/* SPDX-License-Identifier: Apache-2.0 */
/* Loading functions of a shared library. */
#include "library_calls.h"

#include <dlfcn.h>
#include <string.h>

enum ux_code ux_library_calls(const char *soname, const char *missing, const char *const *names,
			      size_t n, void *calls, struct ux_error *err)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return ux_error_set(err, UX_EUNSUPPORTED, "%s: %.100s", missing, dlerror());
	for (size_t i = 0; i < n; i++) {
		void *call = dlsym(library, names[i]);
		if (!call)
			return ux_error_set(err, UX_EUNSUPPORTED, "%s has no %s", soname, names[i]);
		memcpy((char *)calls + i * sizeof(call), &call, sizeof(call));
	}
	return UX_OK;
}
