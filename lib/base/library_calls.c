/* SPDX-License-Identifier: Apache-2.0 */
/* Loading functions of a shared library. */
#include "library_calls.h"

#ifdef UX_STATIC

/* A static program would load a second C library along with the shared one. */
enum ux_code ux_library_calls(const char *soname, const char *missing, const char *const *names,
			      size_t n, void *calls, struct ux_error *err)
{
	(void)missing, (void)names, (void)n, (void)calls;
	return ux_error_set(err, UX_EUNSUPPORTED, "this static build cannot load %.40s", soname);
}

#else

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

#endif

enum ux_code ux_library_load(struct ux_library *library, struct ux_error *err)
{
	pthread_mutex_lock(&library->lock);
	if (!library->tried)
		library->code = ux_library_calls(library->soname, library->missing, library->names,
						 library->n, library->calls, &library->error);
	library->tried = true;
	pthread_mutex_unlock(&library->lock);
	if (library->code != UX_OK && err && err->code == UX_OK)
		*err = library->error;
	return library->code;
}
