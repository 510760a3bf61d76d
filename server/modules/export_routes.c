/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/export: the objects of a namespace, for copies of the store (unhex clone). */
#include "file_answer.h"
#include "index.h"
#include "json_out.h"
#include "manifest.h"
#include "modules.h"
#include "request_values.h"
#include "text.h"

enum {
	EXPORT_DEFAULT = 1000,
	EXPORT_MAX = 10000, /* objects on one page */
	PLACE_SIZE = 64
};

/* Formats a place as STORE.SEQUENCE.CANDIDATE; clients send it back unchanged. */
static const char *export_place_text(const struct ux_stored_place *p, char text[PLACE_SIZE])
{
	(void)snprintf(text, PLACE_SIZE, "%" PRId64 ".%" PRId64 ".%" PRId64, p->store, p->sequence,
		       p->candidate);
	return text;
}

static enum ux_code export_place_parse(struct ux_request *req, struct ux_stored_place *ret)
{
	struct ux_bytes text;
	uint64_t parts[3];
	*ret = (struct ux_stored_place){0};
	if (!ux_request_query(req, "since", &text) || text.size == 0)
		return UX_OK;
	for (size_t i = 0; i < ux_countof(parts); i++) {
		const uint8_t *dot = text.size > 0 ? memchr(text.data, '.', text.size) : NULL;
		size_t n = dot ? (size_t)(dot - text.data) : text.size;
		bool last = i == ux_countof(parts) - 1;
		if (!ux_decimal_parse(ux_bytes(text.data, n), &parts[i]) || parts[i] > INT64_MAX ||
		    last != !dot)
			return ux_error_set(&req->err, UX_EINVAL,
					    "\"since\" is not a \"next\" of an earlier response");
		text = dot ? ux_bytes(dot + 1, text.size - n - 1) : UX_BYTES_NONE;
	}
	*ret = (struct ux_stored_place){(int64_t)parts[0], (int64_t)parts[1], (int64_t)parts[2]};
	return UX_OK;
}

static enum ux_entry_kind export_kind(enum ux_kind kind)
{
	switch (kind) {
	case UX_KIND_GSYM:
		return UX_ENTRY_GSYM;
	case UX_KIND_EXECUTABLE:
		return UX_ENTRY_EXECUTABLE;
	case UX_KIND_DEBUGINFO:
		return UX_ENTRY_DEBUGINFO;
	case UX_KIND_DWO:
		return UX_ENTRY_DWO;
	case UX_KIND_DWP:
		return UX_ENTRY_DWP;
	case UX_KIND_SOURCES:
	case UX_KIND_COUNT:
		break;
	}
	return UX_ENTRY_SOURCES;
}

static unsigned export_holds(unsigned holds)
{
	return ((holds & UX_HOLDS_CODE) != 0 ? UX_ENTRY_CODE : 0U) |
	       ((holds & UX_HOLDS_DEBUG) != 0 ? UX_ENTRY_DEBUG : 0U) |
	       ((holds & UX_HOLDS_SECTIONS) != 0 ? UX_ENTRY_SECTIONS : 0U);
}

static void export_put_object(const struct ux_stored_object *from, const char *ns,
			      struct ux_json *j)
{
	const struct ux_candidate *c = &from->candidate;
	struct ux_entry o = {.path = "",
			     .size = c->size,
			     .ids = from->ids,
			     .n_ids = ux_min(from->n_ids, (size_t)UX_MANIFEST_IDS_MAX),
			     .kind = export_kind(c->kind),
			     .quality = c->quality,
			     .counts = c->counts,
			     .holds = export_holds(c->holds),
			     .ns = ns,
			     .description = c->description,
			     .file = c->file_name,
			     .provenance = ux_provenance_without_host(&c->provenance),
			     .trust = c->trust,
			     .time = c->created};
	static_assert(sizeof(o.hash) == sizeof(c->blob.bytes), "both are a SHA-256");
	memcpy(o.hash, c->blob.bytes, sizeof(o.hash));
	ux_entry_write(&o, ux_json_value(j));
}

enum ux_code ux_handle_export(struct ux_request *req, struct ux_response *res)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char *ns = ux_caller_of(req)->ns;
	struct ux_stored_place after;
	struct ux_stored_objects list = {0};
	uint64_t limit = EXPORT_DEFAULT;
	char place[PLACE_SIZE];
	UX_TRY(ux_query_number(req, "limit", 1, EXPORT_MAX, &limit));
	UX_TRY(export_place_parse(req, &after));
	UX_TRY(ix->objects.list(ix, ns, &after, (size_t)limit, &req->arena, &list, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "objects");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < list.n; i++)
		export_put_object(&list.objects[i], ns, &j);
	ux_json_array_end(&j);
	ux_json_key_cstr(&j, "next", export_place_text(&list.next, place));
	ux_json_key_bool(&j, "more", list.more);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* Sends an object. Its bytes never change, so an interrupted copy resumes with a range. */
enum ux_code ux_handle_export_object(struct ux_request *req, struct ux_response *res)
{
	struct ux_store *s = ux_server_of(req)->store;
	struct ux_blob_hash hash;
	uint64_t size = 0;
	int fd = -1;
	if (!ux_blob_hash_parse(req->params[0], &hash))
		return ux_error_set(&req->err, UX_EINVAL, "the SHA-256 is not 64 hex digits");
	UX_TRY(s->index->objects.find(s->index, ux_caller_of(req)->ns, &hash, &size, &req->err));
	char *tag = ux_arena_array(&req->arena, char, 2 * UX_BLOB_HASH_SIZE + 3);
	if (!tag)
		return ux_arena_fail(&req->arena, &req->err);
	tag[0] = '"';
	ux_blob_hash_text(&hash, tag + 1);
	tag[1 + 2 * UX_BLOB_HASH_SIZE] = '"';
	tag[2 + 2 * UX_BLOB_HASH_SIZE] = '\0';
	res->caching = UX_CACHING_CONTENT;
	if (ux_answer_tagged(req, res, ux_bytes_cstr(tag)))
		return UX_OK;
	UX_TRY(ux_blobs_open(s->blobs, &hash, size, &fd, &req->err));
	return ux_answer_file(req, res, fd, size, ux_bytes_cstr(tag), "application/octet-stream");
}
