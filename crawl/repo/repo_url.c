/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of files in a repository. */
#include "repo_url.h"

#include "http_client.h"
#include "text.h"

#include <strings.h>

enum {
	TEXT_MAX = 4096, /* bytes of a name, version or path in metadata */
};

bool ux_repo_url_is_file(const char *url, const char **ret_path)
{
	static const char scheme[] = "file://";
	if (strncasecmp(url, scheme, strlen(scheme)) == 0)
		url += strlen(scheme);
	*ret_path = url;
	return url[0] == '/';
}

bool ux_repo_url_part(const char *path, size_t *ret_path_size, uint64_t *ret_off,
		      uint64_t *ret_size)
{
	static const char mark[] = "#part=";
	const char *hash = strrchr(path, '#');
	if (!hash || strncmp(hash, mark, strlen(mark)) != 0)
		return false;
	struct ux_bytes text = ux_bytes_cstr(hash + strlen(mark));
	size_t n = ux_digits_parse(text, 10, ret_off);
	if (n == 0 || n == text.size || text.data[n] != '+')
		return false;
	*ret_path_size = (size_t)(hash - path);
	return ux_decimal_parse(ux_bytes(text.data + n + 1, text.size - n - 1), ret_size);
}

enum ux_code ux_repo_url_check(const char *url, struct ux_error *err)
{
	const char *path = NULL;
	if (strlen(url) > UX_REPO_URL_MAX)
		return ux_error_set(err, UX_EINVAL, "the mirror URL exceeds %u bytes",
				    (unsigned)UX_REPO_URL_MAX);
	if (ux_repo_url_is_file(url, &path))
		return UX_OK;
	UX_TRY(ux_http_url_check(url, err));
	const char *host = strstr(url, "://") + 3;
	if (memchr(host, '@', strcspn(host, "/")))
		return ux_error_set(
			err, UX_EINVAL,
			"the mirror URL has a user name, which would be stored with each "
			"package; remove it");
	return UX_OK;
}

static bool repo_path_is_inside(struct ux_bytes path)
{
	if (path.size == 0 || path.data[0] == '/')
		return false;
	for (size_t i = 0; i < path.size; i++)
		if (path.data[i] <= ' ' || path.data[i] >= 0x7f || path.data[i] == '\\')
			return false;
	for (size_t at = 0; at <= path.size;) {
		const uint8_t *slash =
			at < path.size ? memchr(path.data + at, '/', path.size - at) : NULL;
		size_t n = slash ? (size_t)(slash - path.data) - at : path.size - at;
		if (ux_bytes_eq(ux_bytes(path.data + at, n), UX_STR("..")))
			return false;
		at += n + 1;
	}
	return true;
}

enum ux_code ux_repo_url_join(struct ux_arena *arena, const char *base, struct ux_bytes path,
			      const char **ret, struct ux_error *err)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *local = NULL;
	bool escape = !ux_repo_url_is_file(base, &local);
	base = escape ? base : local; /* a path is kept without its file:// */
	size_t n = strlen(base);
	while (path.size > 2 && path.data[0] == '.' && path.data[1] == '/')
		path = ux_bytes(path.data + 2, path.size - 2);
	if (!repo_path_is_inside(path))
		return ux_error_set(err, UX_ECORRUPT,
				    "\"%.*s\" is not a path inside the repository",
				    (int)ux_min(path.size, (size_t)80), (const char *)path.data);
	while (n > 0 && base[n - 1] == '/')
		n--;
	if (n + 1 + 3 * path.size > UX_REPO_URL_MAX)
		return ux_error_set(err, UX_ELIMIT, "a repository path is too long: %zu bytes",
				    path.size);
	char *url = ux_arena_array(arena, char, n + 1 + 3 * path.size + 1);
	if (!url)
		return ux_arena_fail(arena, err);
	memcpy(url, base, n);
	url[n++] = '/';
	for (size_t i = 0; i < path.size; i++) {
		uint8_t c = path.data[i];
		if (!escape || ux_is_letter(c) || ux_is_digit(c) || strchr("-._~/:@=,", c)) {
			url[n++] = (char)c;
			continue;
		}
		url[n++] = '%';
		url[n++] = digits[c >> 4];
		url[n++] = digits[c & 15];
	}
	url[n] = '\0';
	*ret = url;
	return UX_OK;
}

enum ux_code ux_repo_text(struct ux_arena *arena, struct ux_bytes text, const char *what,
			  const char **ret, struct ux_error *err)
{
	if (text.size > TEXT_MAX)
		return ux_error_set(err, UX_ELIMIT, "%s is too long: %zu bytes", what, text.size);
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] < ' ' || text.data[i] == 0x7f)
			return ux_error_set(err, UX_ECORRUPT, "%s has the control character %#x",
					    what, text.data[i]);
	*ret = ux_arena_strndup(arena, text.data, text.size);
	return *ret ? UX_OK : ux_arena_fail(arena, err);
}
