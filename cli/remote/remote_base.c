/* SPDX-License-Identifier: Apache-2.0 */
/* Requests facts from the server about the place of a module's file in memory. */
#include "remote.h"

#include "gsym_reader.h"
#include "http_client.h"
#include "server_answer.h"
#include "text.h"

enum {
	ARENA = 64 << 10,
	GSYM_TIMEOUT_MS = 600000,
	GSYM_SILENCE_MS = 30000,
	OK = 200,
	PARTIAL = 206
};

static void remote_base_client_guard(struct ux_http_client **c)
{
	if (*c)
		ux_http_client_destroy(*c);
}

/* Requests a part of the document at a path: "0-63" are its first bytes, "-64" the last ones. */
static enum ux_code remote_base_request(const struct ux_server_selection *server, const char *path,
					const char *part, struct ux_http_answer *answer,
					struct ux_error *err)
{
	const struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	ux_cleanup(remote_base_client_guard) struct ux_http_client *client = NULL;
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	char range[48];
	const char *const headers[] = {range, NULL};
	const struct ux_http_call call = {.path = path, .headers = headers};
	(void)snprintf(range, sizeof(range), "Range: bytes=%s", part);
	UX_TRY(ux_http_client_create(&client, &options, err));
	UX_TRY(ux_http_client_call(client, &call, answer, err));
	if (answer->status == OK || answer->status == PARTIAL)
		return UX_OK;
	UX_TRY(ux_server_answer(answer, &doc, err));
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "unexpected status %u; expected 206 for a byte range", answer->status);
}

/* Requests a part of a module's GSYM. */
static enum ux_code remote_base_request_gsym(const struct ux_server_selection *server,
					     const char *id, const char *query, const char *part,
					     struct ux_http_answer *answer, struct ux_error *err)
{
	UX_ARENA(arena, ARENA);
	ux_cleanup(ux_free_ptr) char *path = NULL;
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(id));
	if (!coded || asprintf(&path, "/v1/gsym/%s%s", coded, query) < 0)
		return ux_error_nomem(err);
	return remote_base_request(server, path, part, answer, err);
}

enum ux_code ux_remote_image_base(const struct ux_server_selection *server, const char *id,
				  uint64_t *ret, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	char part[32];
	(void)snprintf(part, sizeof(part), "0-%d", UX_GSYM_BASE_BYTES - 1);
	UX_TRY(remote_base_request_gsym(server, id, "", part, &answer, err));
	return ux_gsym_image_base(ux_out_bytes(&answer.body), ret, err);
}

enum ux_code ux_remote_segments(const struct ux_server_selection *server, const char *id,
				struct ux_gsym_segments *ret, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	char part[32];
	(void)snprintf(part, sizeof(part), "-%d", UX_GSYM_SEGMENTS_BYTES);
	UX_TRY(remote_base_request_gsym(server, id, "?segments=true", part, &answer, err));
	if (ux_gsym_segments_read(ux_out_bytes(&answer.body), ret) > 0)
		return UX_OK;
	return ux_error_set(err, UX_ENOTFOUND,
			    "the server's symbols have no segments; push the file again");
}

enum ux_code ux_remote_gsym(const struct ux_server_selection *server, const char *id,
			    struct ux_out *ret, struct ux_error *err)
{
	UX_ARENA(arena, ARENA);
	const struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	ux_cleanup(remote_base_client_guard) struct ux_http_client *client = NULL;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	ux_cleanup(ux_free_ptr) char *path = NULL;
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(id));
	if (!coded || asprintf(&path, "/v1/gsym/%s", coded) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	const struct ux_http_call call = {.path = path,
					  .timeout_ms = GSYM_TIMEOUT_MS,
					  .silence_ms = GSYM_SILENCE_MS,
					  .answer_max = UX_REMOTE_GSYM_MAX};
	UX_TRY(ux_http_client_create(&client, &options, err));
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	if (answer.status != OK) {
		UX_TRY(ux_server_answer(&answer, &doc, err));
		return ux_error_set(err, UX_EUNSUPPORTED, "unexpected status %u", answer.status);
	}
	ux_out_deinit(ret);
	*ret = answer.body;
	answer.body = (struct ux_out){0};
	return UX_OK;
}

enum ux_code ux_remote_executable_head(const struct ux_server_selection *server,
				       const struct ux_id *id, struct ux_out *ret,
				       struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	char hex[2 * UX_ID_GNU_MAX + 1], path[sizeof(hex) + 32], part[32];
	if (id->type != UX_ID_GNU)
		return ux_error_set(err, UX_ENOTFOUND,
				    "the server finds executables only by GNU build ID");
	ux_hex_encode(ux_bytes(id->bytes, ux_min(id->size, UX_ID_GNU_MAX)), hex);
	(void)snprintf(path, sizeof(path), "/buildid/%s/executable", hex);
	(void)snprintf(part, sizeof(part), "0-%d", UX_REMOTE_HEAD - 1);
	UX_TRY(remote_base_request(server, path, part, &answer, err));
	ux_out_put(ret, answer.body.data, ux_min(answer.body.size, (size_t)UX_REMOTE_HEAD));
	return ux_out_status(ret, err);
}
