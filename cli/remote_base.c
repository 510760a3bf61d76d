/* SPDX-License-Identifier: Apache-2.0 */
/* Requests the lowest virtual address of a module from a server. */
#include "remote.h"

#include "gsym_reader.h"
#include "http_client.h"
#include "server_answer.h"

enum {
	ARENA = 64 << 10,
	OK = 200,
	PARTIAL = 206
};

static void remote_base_client_guard(struct ux_http_client **c)
{
	if (*c)
		ux_http_client_destroy(*c);
}

static void remote_base_json_guard(json_t **doc)
{
	json_decref(*doc);
}

enum ux_code ux_remote_image_base(const struct ux_server_selection *server, const char *id,
				  uint64_t *ret, struct ux_error *err)
{
	const struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	UX_ARENA(arena, ARENA);
	ux_cleanup(remote_base_client_guard) struct ux_http_client *client = NULL;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(remote_base_json_guard) json_t *doc = NULL;
	ux_cleanup(ux_free_ptr) char *path = NULL;
	char range[48];
	const char *const headers[] = {range, NULL};
	(void)snprintf(range, sizeof(range), "Range: bytes=0-%d", UX_GSYM_BASE_BYTES - 1);
	UX_TRY(ux_http_client_create(&client, &options, err));
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(id));
	if (!coded || asprintf(&path, "/v1/gsym/%s", coded) < 0)
		return ux_error_nomem(err);
	const struct ux_http_call call = {.path = path, .headers = headers};
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	if (answer.status != OK && answer.status != PARTIAL) {
		UX_TRY(ux_server_answer(&answer, &doc, err));
		return ux_error_set(err, UX_EUNSUPPORTED, "status %u is not that of a part",
				    answer.status);
	}
	return ux_gsym_image_base(ux_out_bytes(&answer.body), ret, err);
}
