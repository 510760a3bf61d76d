/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands share: the output format, where debug files are searched, and
 * which server is used. */
#include "common_options.h"

#include "bytes.h"
#include "file.h"
#include "http_client.h"
#include "output.h"
#include "text.h"

#include <unistd.h>

bool ux_answer_mode(const struct ux_command *cmd, const struct ux_answer_values *values,
		    enum ux_demangle_mode *ret, int *ret_status)
{
	/* A program that reads the output gets whole names; a person reads short lines better. */
	*ret = !values->json && isatty(STDOUT_FILENO) ? UX_DEMANGLE_ELIDED : UX_DEMANGLE_FULL;
	if (!values->demangle || ux_demangle_mode_parse(ux_bytes_cstr(values->demangle), ret))
		return true;
	*ret_status = ux_usage_error(
		cmd, "--demangle is \"%.32s\"; expected full, short, templates-elided or none",
		values->demangle);
	return false;
}

enum ux_code ux_find_open(struct ux_finder *ret, const struct ux_find_values *values,
			  struct ux_error *err)
{
	struct ux_debuginfod_options options = ux_debuginfod_environment();
	if (values->debuginfod)
		options.urls = values->debuginfod;
	*ret = (struct ux_finder){.search.dirs = values->dirs};
	return ux_debuginfod_create(&ret->server, &options, err);
}

void ux_find_close(struct ux_finder *finder)
{
	ux_debuginfod_destroy(finder->server);
	*finder = (struct ux_finder){0};
}

void ux_find_warn(const char *path, const struct ux_error *lost)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	if (lost->code != UX_OK)
		ux_print_message("%s: %s; continuing without that file", path,
				 ux_error_format(lost, text, sizeof(text)));
}

static enum ux_code server_set_token(struct ux_bytes token, struct ux_server_selection *ret,
				     struct ux_error *err)
{
	if (token.size >= sizeof(ret->token))
		return ux_error_set(err, UX_ELIMIT, "token of %zu bytes; expected at most %zu",
				    token.size, sizeof(ret->token) - 1);
	if (token.size > 0)
		memcpy(ret->token, token.data, token.size);
	ret->token[token.size] = 0;
	return UX_OK;
}

static enum ux_code server_read_token(const char *path, struct ux_server_selection *ret,
				      struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping m = {0};
	UX_TRY(ux_file_map(path, &m, err));
	struct ux_bytes text = m.bytes, line = UX_BYTES_NONE;
	(void)ux_text_take_line(&text, &line);
	while (line.size > 0 && strchr(" \t\r", line.data[line.size - 1]))
		line.size--;
	while (line.size > 0 && strchr(" \t", line.data[0]))
		line = ux_bytes(line.data + 1, line.size - 1);
	if (line.size == 0)
		return ux_error_set(err, UX_EINVAL, "first line is empty; expected a key");
	return server_set_token(line, ret, err);
}

/* Checks the URL, and rejects one with a user name or password, because messages contain it. */
static enum ux_code server_check_url(const char *url, struct ux_error *err)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	if (!memchr(host, '@', strcspn(host, "/?#")))
		return ux_http_url_check(url, err);
	return ux_error_set(
		err, UX_EINVAL,
		"the URL holds a user name; a key goes into --token-file or UNHEX_TOKEN");
}

static enum ux_code server_select_token(struct ux_server_values *values,
					struct ux_server_selection *ret, struct ux_error *err)
{
	if (values->token && values->token_file)
		return ux_error_set(err, UX_EINVAL, "--token and --token-file are both given");
	if (values->token_file)
		return server_read_token(values->token_file, ret, err);
	if (!values->token)
		return server_set_token(ux_bytes_cstr(getenv("UNHEX_TOKEN")), ret, err);
	enum ux_code code = server_set_token(ux_bytes_cstr(values->token), ret, err);
	memset(values->token, '*', strlen(values->token));
	return code;
}

bool ux_server_is_named(const struct ux_server_values *values)
{
	const char *url = getenv("UNHEX_URL");
	return values->url || (url && *url);
}

enum ux_code ux_server_select(struct ux_server_values *values, struct ux_server_selection *ret,
			      struct ux_error *err)
{
	const char *url = values->url ? values->url : getenv("UNHEX_URL");
	ret->url = url && *url ? url : UX_URL_DEFAULT;
	const char *cacert = values->cacert ? values->cacert : getenv("UNHEX_CACERT");
	ret->cacert = cacert && *cacert ? cacert : NULL;
	ret->subject = values->url ? "--url" : "UNHEX_URL";
	ret->url_source = url && *url ? ret->subject : NULL;
	UX_TRY(server_check_url(ret->url, err));
	ret->subject = values->token_file ? values->token_file
		       : values->token    ? "--token"
					  : "UNHEX_TOKEN";
	UX_TRY(server_select_token(values, ret, err));
	ret->key_source = ret->token[0] != '\0' ? ret->subject : NULL;
	return UX_OK;
}

bool ux_server_is_refusal(const struct ux_error *err)
{
	/* A denied file has a number of the system's error; a denied request has none. */
	return err->code == UX_EUNAVAILABLE || (err->code == UX_EDENIED && err->os_errno == 0);
}

/* Returns whether the error means that the selected server, and not another one, cannot be reached.
 */
static bool server_is_away(const struct ux_server_selection *server, const struct ux_error *err)
{
	struct ux_bytes text = ux_bytes_cstr(err->text), before = UX_STR("cannot reach ");
	if (err->code != UX_EUNAVAILABLE || !server->url || !ux_bytes_starts(text, before))
		return false;
	const char *url = err->text + before.size;
	return strncmp(url, server->url, strcspn(url, " ") - 1) == 0;
}

/* Returns whether another program answers at the URL, without routes of unhex. */
static bool server_is_other(const struct ux_error *err)
{
	return strncmp(err->text, "not an unhex server", strlen("not an unhex server")) == 0 ||
	       strstr(err->text, "no such route (HTTP 404)") ||
	       strstr(err->text, "answered HTTP 404");
}

void ux_server_put_advice(const struct ux_server_selection *server, const struct ux_error *err,
			  struct ux_out *out)
{
	bool refused = err->code == UX_EDENIED && err->os_errno == 0;
	if (refused && server->key_source)
		ux_out_fmt(out, "the key is from %s", server->key_source);
	if (refused && server->key_source && strstr(err->text, "(HTTP 401)"))
		ux_out_cstr(out, "; unhex key create on the server makes a new one");
	bool away = server_is_away(server, err), other = server_is_other(err);
	if (away && !server->url_source)
		ux_out_cstr(out,
			    "start a server with unhex serve, or name one: --url or UNHEX_URL");
	else if (away)
		ux_out_cstr(out, "is unhex serve running there?");
	if (other && server->url)
		ux_out_fmt(out, "is %s the URL of an unhex server?", server->url);
	if ((away || other) && server->url_source && strcmp(server->url_source, "--url") != 0)
		ux_out_fmt(out, " The URL is from %s", server->url_source);
	if (strstr(err->text, "no module has the ID"))
		ux_out_cstr(out, "unhex explain with this ID says what would help");
}

int ux_server_print_error(const struct ux_server_selection *server, const char *subject,
			  const struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out note = {0};
	ux_server_put_advice(server, err, &note);
	ux_out_u8(&note, 0);
	int status =
		ux_print_error_note(subject, err, note.failed ? NULL : (const char *)note.data);
	return ux_server_is_refusal(err) ? UX_EXIT_SERVER : status;
}

void ux_server_print_key_source(const struct ux_server_selection *server)
{
	if (server->key_source)
		ux_print_message("the server refused the key from %s", server->key_source);
}
