/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a static web server, as the source of a copy. */
#include "clone_endpoint.h"

#include "http_client.h"
#include "server_answer.h"

enum {
	MANIFEST_MS = 10 * 60 * 1000
};

struct clone_web {
	struct ux_clone_endpoint base;
	struct ux_http_client_options options;
	struct ux_http_client *clients[UX_CLONE_JOBS_MAX]; /* made when needed */
};

static struct clone_web *clone_web_of(struct ux_clone_endpoint *e)
{
	return ux_container_of(e, struct clone_web, base);
}

static enum ux_code clone_web_client(struct clone_web *w, unsigned worker,
				     struct ux_http_client **ret, struct ux_error *err)
{
	if (!w->clients[worker])
		UX_TRY(ux_http_client_create(&w->clients[worker], &w->options, err));
	*ret = w->clients[worker];
	return UX_OK;
}

static enum ux_code clone_web_read(struct clone_web *w, const char *path, size_t max,
				   struct ux_out *ret, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	struct ux_http_client *client = NULL;
	json_t *doc = NULL;
	const struct ux_http_call call = {
		.path = path, .timeout_ms = MANIFEST_MS, .answer_max = max};
	UX_TRY(clone_web_client(w, 0, &client, err));
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	if (answer.status == 200) {
		ux_out_deinit(ret);
		*ret = answer.body; /* a manifest may be large: it is not copied */
		answer.body = (struct ux_out){0};
		return ux_out_status(ret, err);
	}
	if (answer.status == 404 || answer.status == 403 || answer.status == 410)
		return ux_error_set(err, UX_ENOTFOUND, "%s does not exist (HTTP status %u)",
				    path + 1, answer.status);
	enum ux_code code = ux_server_answer(&answer, &doc, err);
	json_decref(doc);
	return code != UX_OK ? code
			     : ux_error_set(err, UX_EUNSUPPORTED,
					    "unexpected HTTP status %u for a file", answer.status);
}

static enum ux_code clone_web_list(struct ux_clone_endpoint *e, const char *since,
				   struct ux_clone_list *ret, struct ux_error *err)
{
	struct clone_web *w = clone_web_of(e);
	struct ux_error why = UX_ERROR_INIT;
	(void)since; /* the manifest lists everything */
	UX_TRY(clone_web_read(w, "/" UX_MANIFEST_NAME, UX_MANIFEST_SIZE_MAX, &ret->text, err));
	enum ux_code code = clone_web_read(w, "/" UX_MANIFEST_SIGNATURE, UX_MANIFEST_LINE_MAX,
					   &ret->signature, &why);
	if (code == UX_OK || code == UX_ENOTFOUND)
		return UX_OK;
	*err = why;
	return code;
}

/* Paths of objects have no character that has to be escaped. */
static enum ux_code clone_web_get(struct ux_clone_endpoint *e, unsigned worker,
				  const struct ux_entry *o, int fd, uint64_t have,
				  struct ux_error *err)
{
	struct ux_http_client *client = NULL;
	char path[UX_MANIFEST_PATH_MAX + 1];
	UX_TRY(clone_web_client(clone_web_of(e), worker, &client, err));
	(void)snprintf(path, sizeof(path), "/%s", o->path);
	return ux_clone_download(client, path, o, fd, have, err);
}

static void clone_web_close(struct ux_clone_endpoint *e)
{
	struct clone_web *w = clone_web_of(e);
	for (size_t i = 0; i < UX_CLONE_JOBS_MAX; i++)
		if (w->clients[i])
			ux_http_client_destroy(w->clients[i]);
	free(w);
}

enum ux_code ux_clone_web_open(const struct ux_clone_place *place, const char *cacert,
			       struct ux_clone_endpoint **ret, struct ux_error *err)
{
	static const char prefix[] = "bucket+";
	const char *url = place->where + sizeof(prefix) - 1;
	UX_TRY(ux_http_url_check(url, err));
	struct clone_web *w = calloc(1, sizeof(*w));
	if (!w)
		return ux_error_nomem(err);
	*w = (struct clone_web){
		.base = {.list = clone_web_list, .get = clone_web_get, .close = clone_web_close},
		.options = {.url = url, .token = place->token, .cafile = cacert},
	};
	*ret = &w->base;
	return UX_OK;
}
