/* SPDX-License-Identifier: Apache-2.0 */
/* Finds source files of a module by the requested path. */
#include "upstream_set.h"

#include "debian_source.h"
#include "path_canonical.h"
#include "source_names.h"

/* Tries the path and its shorter and shorter ends below the folder of a source package. */
static enum ux_code lookup_below(struct ux_store *s, const struct ux_source_request *r,
				 const char *root, const char *name, struct ux_arena *arena,
				 struct ux_source *ret, struct ux_error *err)
{
	struct ux_index *ix = s->index;
	char path[UX_PATH_BYTES];
	enum ux_code code = UX_ENOTFOUND;
	for (bool whole = true; name && code == UX_ENOTFOUND; whole = false) {
		const char *next = strchr(name + 1, '/');
		int n = snprintf(path, sizeof(path), "%s%s", root, name);
		/* stop before the bare file name: it is ambiguous */
		if (n < 0 || n >= (int)sizeof(path) || (!next && !whole))
			break;
		*err = (struct ux_error)UX_ERROR_INIT;
		code = ix->sources.find(ix, r->ns, r->id, path, arena, ret, err);
		name = next;
	}
	return code;
}

enum ux_code ux_source_lookup(struct ux_store *s, const struct ux_source_request *r,
			      struct ux_arena *arena, struct ux_source *ret, struct ux_error *err)
{
	struct ux_index *ix = s->index;
	struct ux_module m;
	char root[UX_DEBIAN_SOURCE_NAME];
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->sources.find(ix, r->ns, r->id, r->path, arena, ret, &why);
	const char *name = r->relative ? r->path : ux_source_name_of(r->path);
	if (code != UX_ENOTFOUND)
		return code == UX_OK ? code : ux_error_pass(err, code, &why);
	UX_TRY(ix->modules.find(ix, r->ns, r->id, arena, &m, err));
	for (size_t i = 0; name && i < m.n_candidates && code == UX_ENOTFOUND; i++)
		if (m.candidates[i].kind == UX_KIND_SOURCES &&
		    ux_debian_source_root(m.candidates[i].file_name, root))
			code = lookup_below(s, r, root, name, arena, ret, &why);
	for (size_t i = 0; i < m.n_candidates && code == UX_ENOTFOUND; i++)
		if (m.candidates[i].kind == UX_KIND_SOURCES &&
		    m.candidates[i].state == UX_CANDIDATE_PENDING)
			return ux_error_set(err, UX_EUNAVAILABLE,
					    "source files of %.80s are being unpacked; retry later",
					    r->id);
	return code == UX_OK ? code : ux_error_pass(err, code, &why);
}

/* Returns the name of a source package that the module has already; NULL: none. */
static const char *source_package_received(struct ux_index *ix, const struct ux_source_request *w,
					   struct ux_arena *arena)
{
	struct ux_module m;
	char root[UX_DEBIAN_SOURCE_NAME];
	if (ix->modules.find(ix, w->ns, w->id, arena, &m, NULL) != UX_OK)
		return NULL;
	for (size_t i = 0; i < m.n_candidates; i++)
		if (m.candidates[i].kind == UX_KIND_SOURCES &&
		    ux_debian_source_root(m.candidates[i].file_name, root))
			return m.candidates[i].file_name;
	return NULL;
}

/* A fetch of a source package ends only after the package was added to the module and unpacked. */
enum ux_source_package_state ux_source_package_state(struct ux_server *s,
						     const struct ux_source_request *w,
						     struct ux_arena *arena,
						     const char **ret_package)
{
	struct ux_index *ix = s->store->index;
	struct ux_package_jobs jobs = {0};
	const struct ux_fetch_request request = {
		.ns = w->ns, .id = w->id, .want = UX_FETCH_SOURCE, .source = w->path};
	*ret_package = NULL;
	if (!s->fetcher || ix->packages.sources(ix, w->ns, w->id, 1, arena, &jobs, NULL) != UX_OK)
		return UX_SOURCE_PACKAGE_NONE;
	if (jobs.n == 0) {
		*ret_package = source_package_received(ix, w, arena);
		return *ret_package && ux_fetcher_is_running(s->fetcher, &request)
			       ? UX_SOURCE_PACKAGE_UNPACKED
			       : UX_SOURCE_PACKAGE_NONE;
	}
	*ret_package = jobs.items[0].package.name;
	enum ux_fetching state = ux_fetcher_begin(s->fetcher, &request, NULL);
	return state == UX_FETCHING_QUEUED || state == UX_FETCHING_RECEIVING
		       ? UX_SOURCE_PACKAGE_FETCHED
		       : UX_SOURCE_PACKAGE_NONE;
}
