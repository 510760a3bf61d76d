/* SPDX-License-Identifier: Apache-2.0 */
/* Abbreviated IDs of modules on a server. */
#include "remote_modules.h"

#include "http_client.h"
#include "id_prefix.h"
#include "output.h"
#include "server_answer.h"
#include "text.h"

enum {
	ARENA = 16 << 10,
	LISTED_MAX = 10, /* modules that an ambiguous ID lists */
};

/* Parses a whole ID. One byte without its type is more likely a slip. */
static bool remote_id_parse(const char *text, struct ux_id *ret)
{
	return ux_id_parse(ux_bytes_cstr(text), ret, NULL) == UX_OK &&
	       (strlen(text) >= UX_ID_PREFIX_MIN || strchr(text, ':'));
}

bool ux_remote_id_is_short(const char *text, struct ux_error *err)
{
	size_t n = 0;
	while (ux_hex_digit(text[n]) >= 0)
		n++;
	if (n == 0 || n >= UX_ID_PREFIX_MIN || text[n] != '\0')
		return false;
	(void)ux_error_set(err, UX_ENOTFOUND,
			   "no such file, and too short for an ID, which has at least %d digits",
			   UX_ID_PREFIX_MIN);
	return true;
}

bool ux_remote_id_is(const char *text)
{
	struct ux_id id;
	char prefix[UX_ID_TEXT];
	return remote_id_parse(text, &id) ||
	       ux_id_prefix_parse(ux_bytes_cstr(text), prefix, NULL) == UX_OK;
}

/* Requests the server's list of the modules with an ID that begins with the prefix. */
static enum ux_code remote_id_list(struct ux_http_client *client, const char *prefix, json_t **ret,
				   struct ux_error *err)
{
	UX_ARENA(arena, ARENA);
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(ux_free_ptr) char *path = NULL;
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(prefix));
	if (!coded || asprintf(&path, "/v1/modules?limit=%d&id=%s", LISTED_MAX + 1, coded) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	const struct ux_http_call call = {.path = path};
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	return ux_server_answer(&answer, ret, err);
}

/* Returns the module's ID that begins with the prefix; NULL: it has none, as when the server does
 * not know the query and lists any modules. */
static const char *remote_id_of(const json_t *module, const char *prefix)
{
	const json_t *ids = json_object_get(module, "ids");
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const char *id = json_string_value(json_array_get(ids, i));
		if (id && strncmp(id, prefix, strlen(prefix)) == 0)
			return id;
	}
	return NULL;
}

static void remote_id_print(const json_t *module, const char *id)
{
	const json_t *first = json_array_get(json_object_get(module, "candidates"), 0);
	const char *file = json_string_value(json_object_get(first, "file"));
	ux_print_message("  %s %s", id, file ? file : "");
}

static enum ux_code remote_id_ambiguous(const json_t *modules, const char *prefix,
					struct ux_error *err)
{
	size_t n = 0;
	for (size_t i = 0; i < json_array_size(modules) && n < LISTED_MAX; i++) {
		const json_t *module = json_array_get(modules, i);
		const char *id = remote_id_of(module, prefix);
		if (!id)
			continue;
		remote_id_print(module, id);
		n++;
	}
	return ux_error_set(err, UX_ECONFLICT,
			    "%s modules have IDs with this prefix; give more characters",
			    json_array_size(modules) > LISTED_MAX ? "many" : "these");
}

/* Finds the only module with such an ID. An ID that equals the prefix is preferred. */
static enum ux_code remote_id_choose(const json_t *modules, const char *prefix, char *ret,
				     bool *ret_found, struct ux_error *err)
{
	const char *only = NULL;
	size_t n = 0;
	*ret_found = false;
	for (size_t i = 0; i < json_array_size(modules); i++) {
		const char *id = remote_id_of(json_array_get(modules, i), prefix);
		if (!id)
			continue;
		n++;
		only = id;
		if (strcmp(id, prefix) == 0) {
			n = 1;
			break;
		}
	}
	if (n > 1)
		return remote_id_ambiguous(modules, prefix, err);
	*ret_found = n == 1;
	if (n == 1)
		(void)snprintf(ret, UX_ID_TEXT, "%s", only);
	return UX_OK;
}

enum ux_code ux_remote_id_resolve(struct ux_http_client *client, const char *text, char *ret,
				  struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	char prefix[UX_ID_TEXT];
	struct ux_id id;
	bool is_id = remote_id_parse(text, &id);
	if (is_id)
		(void)ux_id_format(&id, ret);
	if (is_id && ux_id_prefix_is_whole(ret))
		return UX_OK;
	if (ux_id_prefix_parse(ux_bytes_cstr(text), prefix, is_id ? NULL : err) != UX_OK)
		return is_id ? UX_OK : err->code;
	bool found = false;
	UX_TRY(remote_id_list(client, prefix, &doc, err));
	UX_TRY(remote_id_choose(json_object_get(doc, "modules"), prefix, ret, &found, err));
	if (found || is_id)
		return UX_OK;
	return ux_error_set(err, UX_ENOTFOUND,
			    "no module on the server has an ID with this prefix");
}
