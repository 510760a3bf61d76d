/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing server and key. */
#include "server_options.h"

#include "file.h"

static enum ux_code keep(struct ux_bytes token, struct ux_server_choice *ret, struct ux_error *err)
{
	if (token.size >= sizeof(ret->token))
		return ux_error_set(err, UX_ELIMIT, "token of %zu bytes; expected at most %zu",
				    token.size, sizeof(ret->token) - 1);
	if (token.size > 0)
		memcpy(ret->token, token.data, token.size);
	ret->token[token.size] = 0;
	return UX_OK;
}

static enum ux_code keep_from_file(const char *path, struct ux_server_choice *ret,
				   struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping m = {0};
	UX_TRY(ux_file_map(path, &m, err));
	struct ux_bytes line = m.bytes;
	const uint8_t *newline = line.size ? memchr(line.data, '\n', line.size) : NULL;
	if (newline)
		line.size = (size_t)(newline - line.data);
	while (line.size > 0 && strchr(" \t\r", line.data[line.size - 1]))
		line.size--;
	while (line.size > 0 && strchr(" \t", line.data[0]))
		line = ux_bytes(line.data + 1, line.size - 1);
	if (line.size == 0)
		return ux_error_set(err, UX_EINVAL, "has no key on its first line");
	return keep(line, ret, err);
}

/* Messages name the server by its URL: a password in it would be in all of them. */
static enum ux_code check_url(const char *url, struct ux_error *err)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	if (!memchr(host, '@', strcspn(host, "/?#")))
		return UX_OK;
	return ux_error_set(
		err, UX_EINVAL,
		"the URL holds a user name; a key goes into --token-file or UNHEX_TOKEN");
}

enum ux_code ux_server_choose(struct ux_server_values *values, struct ux_server_choice *ret,
			      struct ux_error *err)
{
	const char *url = values->url ? values->url : getenv("UNHEX_URL");
	ret->url = url && *url ? url : UX_URL_DEFAULT;
	const char *cacert = values->cacert ? values->cacert : getenv("UNHEX_CACERT");
	ret->cacert = cacert && *cacert ? cacert : NULL;
	UX_TRY(check_url(ret->url, err));
	if (values->token && values->token_file)
		return ux_error_set(err, UX_EINVAL, "--token and --token-file are both given");
	if (values->token_file)
		return keep_from_file(values->token_file, ret, err);
	if (!values->token)
		return keep(ux_bytes_cstr(getenv("UNHEX_TOKEN")), ret, err);
	enum ux_code code = keep(ux_bytes_cstr(values->token), ret, err);
	memset(values->token, '*', strlen(values->token));
	return code;
}
