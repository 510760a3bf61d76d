/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metadata: which files have that name. Source: debuginfod(8) of elfutils 0.192. */
#include "json_out.h"
#include "protocols.h"

enum {
	HITS_MOST = 1000, /* then "complete" is false */
	VALUE_MOST = 1024
};

static void put_file(struct ux_json *j, const struct ux_hit *hit, const char *type, const char *hex)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "type", type);
	ux_json_key_cstr(j, "buildid", hex);
	ux_json_key_cstr(j, "file", hit->file_name);
	ux_json_object_end(j);
}

/* Modules without a GNU build ID are no business of debuginfod's. */
static void put_hit(struct ux_json *j, const struct ux_hit *hit)
{
	static const char gnu[] = "gnu:";
	size_t n = sizeof(gnu) - 1;
	if (strncmp(hit->id, gnu, n) != 0)
		return;
	if ((hit->holds & UX_HOLDS_CODE) != 0)
		put_file(j, hit, "executable", hit->id + n);
	if ((hit->holds & UX_HOLDS_DEBUG) != 0)
		put_file(j, hit, "debuginfo", hit->id + n);
}

static enum ux_code read_query(struct ux_request *req, struct ux_search *ret)
{
	struct ux_bytes key, value;
	if (!ux_request_query(req, "key", &key) || !ux_request_query(req, "value", &value) ||
	    value.size == 0 || value.size > VALUE_MOST)
		return ux_error_set(&req->err, UX_EINVAL, "expected ?key=glob|file&value=...");
	bool glob = ux_bytes_eq(key, UX_STR("glob"));
	if (!glob && !ux_bytes_eq(key, UX_STR("file")))
		return ux_error_set(&req->err, UX_EINVAL, "key is '%.*s'; expected glob or file",
				    (int)ux_min(key.size, (size_t)32), (const char *)key.data);
	*ret = (struct ux_search){.by = glob ? UX_SEARCH_GLOB : UX_SEARCH_FILE,
				  .text = (const char *)value.data,
				  .limit = HITS_MOST};
	return UX_OK;
}

enum ux_code ux_handle_debuginfod_metadata(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_search what;
	struct ux_hits hits;
	UX_TRY(read_query(req, &what));
	UX_TRY(ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, &hits, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "results");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < hits.n; i++)
		put_hit(&j, &hits.hits[i]);
	ux_json_array_end(&j);
	ux_json_key_bool(&j, "complete", !hits.more);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
