/* SPDX-License-Identifier: Apache-2.0 */
/* Finds modules on a server by the names of their files. */
#include "remote.h"

#include "http_client.h"
#include "server_answer.h"

enum {
	ARENA = 64 << 10,
	RUNTIME_MAX = 1000, /* modules of one answer */
};

static void remote_client_guard(struct ux_http_client **c)
{
	if (*c)
		ux_http_client_destroy(*c);
}

/* Requests the server's list of the modules that have such a file. */
static enum ux_code remote_list_file(const struct ux_server_selection *server, const char *file,
				     size_t max, json_t **ret, struct ux_error *err)
{
	UX_ARENA(arena, ARENA);
	const struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	ux_cleanup(remote_client_guard) struct ux_http_client *client = NULL;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(ux_free_ptr) char *path = NULL;
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(file));
	if (!coded || asprintf(&path, "/v1/modules?limit=%zu&file=%s", max, coded) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	UX_TRY(ux_http_client_create(&client, &options, err));
	const struct ux_http_call call = {.path = path};
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	return ux_server_answer(&answer, ret, err);
}

/* Reads the first ID of a module in such a list. */
static bool remote_first_id(const json_t *module, struct ux_id *ret)
{
	const char *id = json_string_value(json_array_get(json_object_get(module, "ids"), 0));
	return id && ux_id_parse(ux_bytes_cstr(id), ret, NULL) == UX_OK;
}

enum ux_code ux_remote_find_file(const struct ux_server_selection *server, const char *file,
				 struct ux_id *ids, size_t max, size_t *ret_n, struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	*ret_n = 0;
	UX_TRY(remote_list_file(server, file, max, &doc, err));
	const json_t *modules = json_object_get(doc, "modules");
	for (size_t i = 0; i < json_array_size(modules) && *ret_n < max; i++)
		*ret_n += remote_first_id(json_array_get(modules, i), &ids[*ret_n]);
	return UX_OK;
}

enum ux_code ux_remote_find_runtime(const struct ux_server_selection *server, const char *host,
				    uint32_t pid, struct ux_runtime_list *ret, struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	char name[UX_RUNTIME_PATH_MAX];
	ux_runtime_name_format(host, pid, name);
	UX_TRY(remote_list_file(server, name, RUNTIME_MAX, &doc, err));
	const json_t *modules = json_object_get(doc, "modules");
	for (size_t i = 0; i < json_array_size(modules); i++) {
		const json_t *module = json_array_get(modules, i);
		const json_t *files = json_object_get(module, "candidates");
		struct ux_runtime_symbols s;
		for (size_t k = 0; k < json_array_size(files); k++) {
			const char *file = json_string_value(
				json_object_get(json_array_get(files, k), "file"));
			if (!file || !ux_runtime_path_parse(ux_bytes_cstr(file), &s.span) ||
			    s.span.pid != pid || !remote_first_id(module, &s.id))
				continue;
			if (!ux_runtime_list_append(ret, s))
				return ux_error_nomem(err);
			break;
		}
	}
	ux_runtime_list_sort(ret);
	return UX_OK;
}
