/* SPDX-License-Identifier: Apache-2.0 */
/* A server as the source or the target of a copy. */
#include "clone_endpoint.h"

#include "file.h"
#include "http_client.h"
#include "json_in.h"
#include "partition.h"
#include "push_work.h"
#include "server_answer.h"
#include "text.h"

#include <unistd.h>

#define SECTION "export"

enum {
	PAGE = 5000,            /* objects of one request */
	PAGE_BYTES = 256 << 20, /* bytes of its answer */
	PAGE_MS = 120000,
	UPLOAD_MS = 7 * 24 * 3600 * 1000, /* ms for the whole copy */
	RETRIES = 5,
};

struct clone_server {
	struct ux_clone_endpoint base;
	struct ux_clone_place place;
	const char *cacert;
	struct ux_push_options options; /* options of the pushes, which point to it */
	/* one for each worker, made when needed */
	struct ux_http_client *clients[UX_CLONE_JOBS_MAX];
	struct ux_push_client pushes[UX_CLONE_JOBS_MAX];
	const struct ux_clone_plan *plan;
};

static struct clone_server *clone_server_of(struct ux_clone_endpoint *e)
{
	return ux_container_of(e, struct clone_server, base);
}

static enum ux_code clone_server_client(struct clone_server *s, unsigned worker,
					struct ux_http_client **ret, struct ux_error *err)
{
	const struct ux_http_client_options options = {
		.url = s->place.where, .token = s->place.token, .cafile = s->cacert};
	if (!s->clients[worker])
		UX_TRY(ux_http_client_create(&s->clients[worker], &options, err));
	*ret = s->clients[worker];
	return UX_OK;
}

/* --- listing ---------------------------------------------------------------------------------- */

/* A page of the list. */
struct export_page {
	char next[UX_CLONE_NEXT];
	bool more;
};

static void export_read_next(struct ux_cur *c, struct export_page *ret)
{
	struct ux_bytes text = ux_json_read_text(c).raw;
	if (c->failed)
		return;
	bool good = text.size < sizeof(ret->next);
	for (size_t i = 0; good && i < text.size; i++)
		good = ux_is_digit(text.data[i]) || text.data[i] == '.';
	if (!good) {
		ux_json_expected(c, "expected a list position");
		return;
	}
	memcpy(ret->next, text.data, text.size);
	ret->next[text.size] = '\0';
}

static enum ux_code export_read_objects(struct ux_cur *c, struct ux_manifest *m,
					struct ux_error *err)
{
	size_t n = 0;
	while (ux_json_read_element(c, &n)) {
		struct ux_entry o;
		ux_json_peek(c);
		const uint64_t off = ux_cur_off(c);
		struct ux_bytes value = ux_json_skip(c);
		if (c->failed)
			break;
		if (m->objects.size >= UX_MANIFEST_OBJECTS_MAX)
			return ux_error_set(err, UX_ELIMIT, "more than %d objects",
					    UX_MANIFEST_OBJECTS_MAX);
		UX_TRY(ux_entry_read(value, off, &m->arena, &o, err));
		if (!ux_entries_append(&m->objects, o))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code export_read(struct ux_bytes text, struct ux_manifest *m,
				struct export_page *ret, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(text, SECTION, false);
	struct ux_json_text key;
	size_t n = 0;
	*ret = (struct export_page){0};
	while (ux_json_read_member(&c, &n, &key)) {
		if (ux_json_text_eq(key, "objects"))
			UX_TRY(export_read_objects(&c, m, err));
		else if (ux_json_text_eq(key, "next"))
			export_read_next(&c, ret);
		else if (ux_json_text_eq(key, "more"))
			ret->more = ux_json_read_bool(&c);
		else
			(void)ux_json_skip(&c);
	}
	ux_json_read_end(&c);
	return ux_cur_status(&c, err);
}

static enum ux_code export_page_get(struct ux_http_client *client, const char *since,
				    struct ux_manifest *m, struct export_page *ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	char path[UX_CLONE_NEXT + 64];
	json_t *doc = NULL;
	(void)snprintf(path, sizeof(path), "/v1/export?limit=%d&since=%s", PAGE, since);
	const struct ux_http_call call = {
		.path = path, .timeout_ms = PAGE_MS, .answer_max = PAGE_BYTES};
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	if (answer.status == 200)
		return export_read(ux_out_bytes(&answer.body), m, ret, err);
	if (answer.status == 404)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "this server is not unhex, or too old for unhex clone");
	enum ux_code code = ux_server_answer(&answer, &doc, err);
	json_decref(doc);
	return code != UX_OK ? code
			     : ux_error_set(err, UX_EUNSUPPORTED,
					    "unexpected HTTP status %u for a list", answer.status);
}

static enum ux_code clone_server_list(struct ux_clone_endpoint *e, const char *since,
				      struct ux_clone_list *ret, struct ux_error *err)
{
	struct ux_http_client *client = NULL;
	struct export_page page = {.more = true};
	UX_TRY(clone_server_client(clone_server_of(e), 0, &client, err));
	(void)snprintf(ret->next, sizeof(ret->next), "%s", since);
	while (page.more) {
		const size_t before = ret->manifest.objects.size;
		UX_TRY(export_page_get(client, ret->next, &ret->manifest, &page, err));
		if (page.more && ret->manifest.objects.size == before)
			return ux_error_set(err, UX_ECORRUPT,
					    "the server's list makes no progress");
		(void)snprintf(ret->next, sizeof(ret->next), "%s", page.next);
	}
	return UX_OK;
}

static enum ux_code clone_server_get(struct ux_clone_endpoint *e, unsigned worker,
				     const struct ux_entry *o, int fd, uint64_t have,
				     struct ux_error *err)
{
	static const char route[] = "/v1/export/";
	struct ux_http_client *client = NULL;
	char path[sizeof(route) + 2 * UX_MANIFEST_HASH];
	UX_TRY(clone_server_client(clone_server_of(e), worker, &client, err));
	memcpy(path, route, sizeof(route));
	ux_hex_encode(ux_bytes(o->hash, sizeof(o->hash)), path + sizeof(route) - 1);
	return ux_clone_download(client, path, o, fd, have, err);
}

/* --- a server as the target ------------------------------------------------------------------- */

static enum ux_code clone_server_begin(struct ux_clone_endpoint *e,
				       const struct ux_clone_plan *plan, struct ux_error *err)
{
	clone_server_of(e)->plan = plan;
	/* sorted by folder, for clone_server_has() */
	return plan->had ? ux_manifest_name(&plan->had->manifest, err) : UX_OK;
}

/* Finds the first object of a folder in a sorted list. */
static size_t clone_server_find_folder(const struct ux_manifest *m, const char *folder)
{
	return ux_partition_point(i, 0, m->objects.size,
				  strcmp(m->objects.data[i].path, folder) < 0);
}

static bool clone_server_beats(const struct ux_entry *there, const struct ux_entry *o)
{
	bool ranked = o->kind == UX_ENTRY_GSYM || o->kind == UX_ENTRY_EXECUTABLE ||
		      o->kind == UX_ENTRY_DEBUGINFO;
	return ranked && there->kind == o->kind && (there->holds & o->holds) == o->holds &&
	       ux_entry_cmp(there, o) > 0;
}

/*
 * Sets whether the server need not get an object: it accepts no poorer candidate than it has. An
 * object of another namespace at the source becomes one of the key's namespace.
 */
static enum ux_code clone_server_has(struct ux_clone_endpoint *e, const struct ux_entry *o,
				     enum ux_clone_outcome *ret, struct ux_error *err)
{
	const struct ux_clone_plan *plan = clone_server_of(e)->plan;
	char folder[UX_MANIFEST_PATH_MAX];
	*ret = UX_CLONE_COPIED;
	if (!plan->had || plan->had->manifest.objects.size == 0)
		return UX_OK;
	const struct ux_manifest *m = &plan->had->manifest;
	UX_TRY(ux_manifest_folder(m->objects.data[0].ns, o->ids[0], folder, err));
	size_t n = strlen(folder);
	for (size_t i = clone_server_find_folder(m, folder);
	     i < m->objects.size && strncmp(m->objects.data[i].path, folder, n) == 0 &&
	     m->objects.data[i].path[n] <= '/';
	     i++) {
		const struct ux_entry *there = &m->objects.data[i];
		if (there->path[n] != '/')
			continue;
		if (memcmp(there->hash, o->hash, sizeof(o->hash)) == 0) {
			*ret = UX_CLONE_THERE;
			return UX_OK;
		}
		if (clone_server_beats(there, o))
			*ret = UX_CLONE_BETTER;
	}
	return UX_OK;
}

static enum ux_code clone_server_open_push(struct clone_server *s, unsigned worker,
					   struct ux_error *err)
{
	return s->pushes[worker].http ? UX_OK
				      : ux_push_client_open(&s->pushes[worker], &s->options, err);
}

static enum ux_clone_outcome clone_server_outcome(enum ux_push_verdict verdict)
{
	switch (verdict) {
	case UX_PUSH_UPLOADED:
	case UX_PUSH_PENDING:
		return UX_CLONE_COPIED;
	case UX_PUSH_ALREADY_THERE:
		return UX_CLONE_THERE;
	case UX_PUSH_BETTER_THERE:
		return UX_CLONE_BETTER;
	case UX_PUSH_WANTED:
	case UX_PUSH_REFUSED:
		break;
	}
	return UX_CLONE_FAILED;
}

static enum ux_code clone_server_upload(struct clone_server *s, unsigned worker,
					const struct ux_clone_part *p, struct ux_push_answer *ret,
					struct ux_error *err)
{
	const struct ux_entry *o = p->object;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_id_set ids = {0};
	for (size_t i = 0; i < o->n_ids && ids.size < UX_ID_SET_MAX; i++) {
		struct ux_id id;
		UX_TRY(ux_id_parse(ux_bytes_cstr(o->ids[i]), &id, err));
		UX_TRY(ux_id_set_add(&ids, &id, err));
	}
	UX_TRY(ux_file_map_fd(p->fd, &file, err));
	UX_TRY(clone_server_open_push(s, worker, err));
	const struct ux_push_upload upload = {.ids = &ids,
					      .quality = o->quality,
					      .bytes = file.bytes,
					      .kind = ux_entry_kind_name(o->kind),
					      .description = o->description,
					      .provenance = &o->provenance,
					      .trust = o->trust,
					      .file = o->file};
	return ux_push_upload(&s->pushes[worker], &upload, ret, err);
}

static int clone_server_compare_parts(const void *a, const void *b)
{
	const struct ux_clone_part *const *x = a, *const *y = b;
	int by = ux_entry_cmp((*x)->object, (*y)->object);
	return by != 0 ? by : strcmp((*x)->object->path, (*y)->object->path);
}

/* Send poorer candidates first, since a server refuses candidates that are poorer than its best. */
static enum ux_code clone_server_put(struct ux_clone_endpoint *e, unsigned worker,
				     struct ux_clone_part *parts, size_t n,
				     ux_clone_report_fn *report, void *ctx, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) struct ux_clone_part **order = calloc(n, sizeof(*order));
	if (!order)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		order[i] = &parts[i];
	qsort(order, n, sizeof(*order), clone_server_compare_parts);
	for (size_t i = 0; i < n; i++) {
		struct ux_push_answer answer = {0};
		order[i]->done = true;
		if (order[i]->fd < 0) { /* the same candidate under a second path */
			report(ctx, order[i]->object, UX_CLONE_THERE, "");
			continue;
		}
		UX_TRY(clone_server_upload(clone_server_of(e), worker, order[i], &answer, err));
		report(ctx, order[i]->object, clone_server_outcome(answer.verdict), answer.reason);
	}
	return UX_OK;
}

static void clone_server_close(struct ux_clone_endpoint *e)
{
	struct clone_server *s = clone_server_of(e);
	for (size_t i = 0; i < UX_CLONE_JOBS_MAX; i++) {
		if (s->clients[i])
			ux_http_client_destroy(s->clients[i]);
		ux_push_client_close(&s->pushes[i]);
	}
	free(s);
}

enum ux_code ux_clone_server_open(const struct ux_clone_place *place, const char *cacert,
				  struct ux_clone_endpoint **ret, struct ux_error *err)
{
	UX_TRY(ux_http_url_check(place->where, err));
	struct clone_server *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	s->place = *place;
	s->cacert = cacert;
	s->options = (struct ux_push_options){.url = s->place.where,
					      .token = s->place.token,
					      .cacert = cacert,
					      .retries = RETRIES,
					      .timeout_ms = UPLOAD_MS};
	s->base = (struct ux_clone_endpoint){
		.list = clone_server_list,
		.get = clone_server_get,
		.begin = clone_server_begin,
		.has = clone_server_has,
		.part = ux_clone_temporary_part,
		.put = clone_server_put,
		.close = clone_server_close,
	};
	*ret = &s->base;
	return UX_OK;
}
