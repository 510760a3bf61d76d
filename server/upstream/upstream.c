/* SPDX-License-Identifier: Apache-2.0 */
/* Upstreams from text. */
#include "upstream.h"

#include <errno.h>
#include <strings.h>

static const char *const kinds[] = {"unhex", "debuginfod", "bucket", "dir"};

const char *ux_upstream_kind_name(enum ux_upstream_kind kind)
{
	return kinds[kind];
}

const char *ux_artifact_name(enum ux_artifact artifact)
{
	static const char *const names[] = {"gsym", "debuginfo", "executable", "source"};
	return names[artifact];
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static enum ux_code set_name(struct ux_upstream *up, const char *text, size_t n,
			     struct ux_error *err)
{
	bool fits = n > 0 && n < sizeof(up->name) && text[0] != '.';
	for (size_t i = 0; i < n && fits; i++)
		fits = is_name_byte(text[i]);
	if (!fits)
		return ux_error_set(err, UX_EINVAL,
				    "an upstream's name is '%.*s'; expected 1 to %zu of a-z, 0-9, "
				    "'-', '_', '.'",
				    (int)ux_min(n, (size_t)40), text, sizeof(up->name) - 1);
	memcpy(up->name, text, n);
	up->name[n] = '\0';
	return UX_OK;
}

/* Its host, or the last component of its path, as a name. */
static void default_name(struct ux_upstream *up)
{
	const char *from = strstr(up->url, "://");
	size_t n = 0;
	from = from ? from + 3 : strrchr(up->url, '/') + 1;
	for (; from[n] && from[n] != '/' && n < sizeof(up->name) - 1; n++) {
		char c = from[n];
		c = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
		up->name[n] = is_name_byte(c) && (n > 0 || c != '.') ? c : '-';
	}
	up->name[n] = '\0';
}

static enum ux_code read_token(struct ux_upstream *up, const char *path, struct ux_error *err)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return ux_error_os(err, errno, "cannot read the token file %.80s", path);
	bool read = fgets(up->token, sizeof(up->token), f) != NULL;
	fclose(f);
	size_t n = read ? strcspn(up->token, "\r\n") : 0;
	if (n == 0 || n == sizeof(up->token) - 1)
		return ux_error_set(err, UX_EINVAL, "the token file %.80s has no token", path);
	up->token[n] = '\0';
	return UX_OK;
}

static enum ux_code set_word(struct ux_upstream *up, const char *word, struct ux_error *err)
{
	if (strncmp(word, "name=", 5) == 0)
		return set_name(up, word + 5, strlen(word + 5), err);
	if (strncmp(word, "token-file=", 11) == 0)
		return read_token(up, word + 11, err);
	if (strcmp(word, "private") == 0) {
		up->own_network = true;
		return UX_OK;
	}
	return ux_error_set(err, UX_EINVAL,
			    "an upstream has the word '%.40s'; expected name=, token-file= or "
			    "private",
			    word);
}

/* With a host. */
static bool is_http(const char *url)
{
	size_t n = strncasecmp(url, "http://", 7) == 0    ? 7
		   : strncasecmp(url, "https://", 8) == 0 ? 8
							  : 0;
	return n > 0 && url[n] != '\0' && url[n] != '/' && url[n] != ':';
}

static bool has_controls(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 127)
			return true;
	return false;
}

/* A user name in a URL would be a secret in logs. */
static enum ux_code set_url(struct ux_upstream *up, const char *text, struct ux_error *err)
{
	for (int i = 0; i < UX_UPSTREAM_FOLDER; i++) {
		size_t n = strlen(kinds[i]);
		if (strncmp(text, kinds[i], n) != 0 || text[n] != '+' || !is_http(text + n + 1))
			continue;
		up->kind = (enum ux_upstream_kind)i;
		snprintf(up->url, sizeof(up->url), "%s", text + n + 1);
		if (strpbrk(up->url, "@?#"))
			return ux_error_set(err, UX_EINVAL,
					    "the URL of an upstream has a user name or a query");
		return UX_OK;
	}
	if (strncmp(text, "dir:/", 5) != 0)
		return ux_error_set(err, UX_EINVAL,
				    "an upstream is '%.60s'; expected unhex+URL, debuginfod+URL, "
				    "bucket+URL or dir:/PATH",
				    text);
	up->kind = UX_UPSTREAM_FOLDER;
	snprintf(up->url, sizeof(up->url), "%s", text + 4);
	return UX_OK;
}

static void cut_slashes(char *url)
{
	for (size_t n = strlen(url); n > 1 && url[n - 1] == '/'; n--)
		url[n - 1] = '\0';
}

enum ux_code ux_upstream_parse(struct ux_upstream *ret, const char *text, struct ux_error *err)
{
	static const char commas[] = ",";
	ux_cleanup(ux_free_ptr) char *words = strdup(text);
	struct ux_upstream up = {0};
	char *rest = words;
	if (!words)
		return ux_error_nomem(err);
	char *word = strtok_r(words, commas, &rest);
	if (!word || strlen(word) >= sizeof(up.url))
		return ux_error_set(err, UX_EINVAL, "an upstream is empty, or over %zu bytes",
				    sizeof(up.url) - 1);
	if (has_controls(word))
		return ux_error_set(err, UX_EINVAL, "an upstream has a blank or a control in it");
	UX_TRY(set_url(&up, word, err));
	cut_slashes(up.url);
	while ((word = strtok_r(NULL, commas, &rest)))
		UX_TRY(set_word(&up, word, err));
	if (up.name[0] == '\0')
		default_name(&up);
	if (up.name[0] == '\0')
		return ux_error_set(err, UX_EINVAL, "the upstream %.60s needs name=", text);
	*ret = up;
	return UX_OK;
}
