/* SPDX-License-Identifier: Apache-2.0 */
/* Which modules the debuginfod servers of distributions have, so that they need not be uploaded. */
#include "agent_work.h"

#include "http_client.h"

enum {
	HEAD_MS = 10000, /* ms to wait for a server; without an answer the module is uploaded */
};

enum ux_code ux_agent_public_open(struct ux_agent *a, struct ux_error *err)
{
	for (size_t i = 0; i < a->o->n_debuginfod; i++) {
		const struct ux_http_client_options options = {.url = a->o->debuginfod[i],
							       .proxy = a->push.proxy};
		if (i == UX_AGENT_PUBLIC_MAX)
			return ux_error_set(err, UX_ELIMIT, "more than %d debuginfod servers",
					    UX_AGENT_PUBLIC_MAX);
		UX_TRY(ux_http_client_create(&a->public_servers[i], &options, err));
	}
	return UX_OK;
}

void ux_agent_public_close(struct ux_agent *a)
{
	for (size_t i = 0; i < UX_AGENT_PUBLIC_MAX; i++)
		if (a->public_servers[i])
			ux_http_client_destroy(a->public_servers[i]);
}

/* Sends only HEAD requests. A server that does not support HEAD counts as having nothing. */
static bool public_has(struct ux_http_client *server, const char *path)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	const struct ux_http_call call = {
		.method = UX_METHOD_HEAD, .path = path, .timeout_ms = HEAD_MS, .redirects = 3};
	return ux_http_client_call(server, &call, &answer, NULL) == UX_OK && answer.status == 200;
}

bool ux_agent_is_public(struct ux_agent *a, struct ux_push_work *w, const struct ux_push_module *m)
{
	char id[UX_ID_TEXT], path[UX_ID_TEXT + 32], reason[UX_PUSH_REASON];
	const struct ux_id *gnu = ux_id_set_find(&m->ids, UX_ID_GNU);
	if (!gnu || m->gpu > 0)
		return false;
	const char *hex = strchr(ux_id_format(gnu, id), ':');
	snprintf(path, sizeof(path), "/buildid/%s/debuginfo", hex ? hex + 1 : id);
	for (size_t i = 0; i < a->o->n_debuginfod; i++) {
		if (!public_has(a->public_servers[i], path))
			continue;
		snprintf(reason, sizeof(reason), "%.120s has its debug file", a->o->debuginfod[i]);
		ux_push_report(w, &(struct ux_push_result){.path = m->path,
							   .id = gnu,
							   .status = UX_PUSH_DONE_SKIPPED,
							   .reason = reason,
							   .quality = m->claim});
		return true;
	}
	return false;
}
