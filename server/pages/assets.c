/* SPDX-License-Identifier: Apache-2.0 */
/* GET /assets/{name}. */
#include "page.h"

#include "file_answer.h"
#include "pages.h"

static const struct ux_asset *asset_find(struct ux_bytes name)
{
	static const struct ux_asset *const all[] = {&ux_asset_style, &ux_asset_upload,
						     &ux_asset_icon, &ux_asset_viewer,
						     &ux_asset_copy};
	for (size_t i = 0; i < ux_countof(all); i++)
		if (ux_bytes_eq(name, ux_bytes_cstr(all[i]->name)))
			return all[i];
	return NULL;
}

enum ux_code ux_web_asset(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes version;
	char tag[UX_ETAG_SIZE];
	const struct ux_asset *a = asset_find(req->params[0]);
	if (!a)
		return ux_error_set(&req->err, UX_ENOTFOUND, "no such file");
	int n = snprintf(tag, sizeof(tag), "\"%s\"", a->tag);
	char *kept = ux_arena_strndup(&req->arena, tag, (size_t)n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	/* Do not let a cache keep this version's content under the URL of another version. */
	bool same =
		ux_request_query(req, "v", &version) && ux_bytes_eq(version, ux_bytes_cstr(a->tag));
	res->caching = same ? UX_CACHING_IMMUTABLE : UX_CACHING_STATIC;
	ux_response_field(res, "Cross-Origin-Resource-Policy", UX_STR("same-origin"));
	if (ux_answer_tagged(req, res, ux_bytes(kept, (size_t)n)))
		return UX_OK;
	return ux_answer_bytes(req, res, ux_bytes(a->data, a->size), ux_bytes(kept, (size_t)n),
			       a->type);
}
