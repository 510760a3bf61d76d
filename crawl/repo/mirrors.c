/* SPDX-License-Identifier: Apache-2.0 */
/* Which URLs and addresses the mirrors of a worker allow. */
#include "mirrors.h"

#include "repo_url.h"
#include "url.h"

#include <strings.h>

/* Copies a URL without "#part=...": a part of a local file lies where the file does. */
static bool mirrors_cut_part(const char *url, char *to, size_t size)
{
	const char *path = NULL;
	size_t n = strlen(url);
	uint64_t part_off = 0, part_size = 0;
	if (ux_repo_url_is_file(url, &path) && ux_repo_url_part(path, &n, &part_off, &part_size))
		url = path;
	if (n >= size)
		return false;
	memcpy(to, url, n);
	to[n] = '\0';
	return true;
}

enum ux_code ux_mirrors_check(const struct ux_mirrors *m, const char *url, struct ux_error *err)
{
	char whole[UX_HTTP_LOCATION_MAX];
	bool fits = m && mirrors_cut_part(url, whole, sizeof(whole)), below = !m;
	for (size_t i = 0; fits && i < m->n && !below; i++)
		below = ux_url_below(whole, m->items[i].url) != NULL;
	return below ? UX_OK
		     : ux_error_set(err, UX_EDENIED,
				    "%.200s is not below this worker's mirrors; --from names more",
				    url);
}

/* Tests for a variable that gives libcurl a proxy for this URL. */
static bool mirrors_have_proxy(const char *origin)
{
	static const char *const http[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
	static const char *const https[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
					    NULL};
	for (const char *const *name = strncasecmp(origin, "https:", 6) == 0 ? https : http; *name;
	     name++) {
		const char *value = getenv(*name);
		if (value && value[0] != '\0')
			return true;
	}
	return false;
}

enum ux_http_reach ux_mirrors_reach(const struct ux_mirrors *m, const char *origin, bool proxy)
{
	enum ux_http_reach reach = UX_HTTP_PUBLIC;
	if (!m || proxy || mirrors_have_proxy(origin))
		return UX_HTTP_ANYWHERE;
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].own_network && ux_url_below(m->items[i].url, origin))
			reach = UX_HTTP_OWN;
	return reach;
}
