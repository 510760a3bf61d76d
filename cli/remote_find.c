/* SPDX-License-Identifier: Apache-2.0 */
/* Finds modules on a server by the names of their files. */
#include "remote.h"

#include "http_client.h"
#include "server_answer.h"

enum {
	ARENA = 64 << 10
};

static void remote_json_guard(json_t **doc)
{
	json_decref(*doc);
}

static void remote_client_guard(struct ux_http_client **c)
{
	if (*c)
		ux_http_client_destroy(*c);
}

enum ux_code ux_remote_find_file(const struct ux_server_selection *server, const char *file,
				 struct ux_id *ids, size_t max, size_t *ret_n, struct ux_error *err)
{
	UX_ARENA(arena, ARENA);
	const struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	ux_cleanup(remote_client_guard) struct ux_http_client *client = NULL;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(remote_json_guard) json_t *doc = NULL;
	ux_cleanup(ux_free_ptr) char *path = NULL;
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(file));
	*ret_n = 0;
	if (!coded || asprintf(&path, "/v1/modules?limit=%zu&file=%s", max, coded) < 0)
		return ux_error_nomem(err);
	UX_TRY(ux_http_client_create(&client, &options, err));
	const struct ux_http_call call = {.path = path};
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	UX_TRY(ux_server_answer(&answer, &doc, err));
	const json_t *modules = json_object_get(doc, "modules");
	for (size_t i = 0; i < json_array_size(modules) && *ret_n < max; i++) {
		const json_t *list = json_object_get(json_array_get(modules, i), "ids");
		const char *id = json_string_value(json_array_get(list, 0));
		if (id && ux_id_parse(ux_bytes_cstr(id), &ids[*ret_n], NULL) == UX_OK)
			++*ret_n;
	}
	return UX_OK;
}
