/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/modules/ID/pins/LABEL: what retention is to leave alone. */
#include "handlers.h"
#include "module_ids.h"

enum {
	LABEL_MOST = 256 /* bytes */
};

static enum ux_code read_pin(struct ux_request *req, const char **ret_id, const char **ret_label)
{
	UX_TRY(ux_module_id(req->params[0], &req->arena, ret_id, &req->err));
	if (req->params[1].size > LABEL_MOST)
		return ux_error_set(&req->err, UX_EINVAL, "a label has at most %d bytes",
				    LABEL_MOST);
	*ret_label = (const char *)req->params[1].data; /* decoded, so with a NUL */
	return UX_OK;
}

/* Doing it again changes nothing, and is noted all the same. */
enum ux_code ux_handle_pin(struct ux_request *req, struct ux_response *res)
{
	struct ux_store *s = ux_server_of(req)->store;
	const struct ux_who who = ux_who_of(req);
	const char *id = NULL, *label = NULL;
	UX_TRY(read_pin(req, &id, &label));
	UX_TRY(s->index->modules.pin(s->index, ux_caller_of(req)->ns, id, label, &who,
				     ux_store_now(s), &req->err));
	res->status = 204;
	return UX_OK;
}

enum ux_code ux_handle_unpin(struct ux_request *req, struct ux_response *res)
{
	struct ux_store *s = ux_server_of(req)->store;
	const struct ux_who who = ux_who_of(req);
	const char *id = NULL, *label = NULL;
	UX_TRY(read_pin(req, &id, &label));
	UX_TRY(s->index->modules.unpin(s->index, ux_caller_of(req)->ns, id, label, &who,
				       ux_store_now(s), &req->err));
	res->status = 204;
	return UX_OK;
}
