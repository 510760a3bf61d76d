/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a plan to a server. */
#include "plan_announce.h"

#include "text.h"

#include <jansson.h>

enum {
	BATCH_PACKAGES = 1000,
	BATCH_IDS = 20000, /* build IDs of one request: about a megabyte */
	PAGE = 1000,       /* repositories of one answer */
	PAGES_MAX = 100,   /* answers */
	PLANNER = 3,       /* version of the default choice; a new one reads everything again */
	PATH_BYTES_MAX = 4096,
};

/* --- states ----------------------------------------------------------------------------------- */

/* Returns whether all packages of some roles are chosen. Then the state of the repository is kept
 * with the roles. */
static bool announce_is_whole(const struct ux_crawl_choice *choice)
{
	return choice->names.n == 0 && choice->since == 0 && choice->size_max == 0;
}

/*
 * Returns whether a crawl with this state announced everything that is chosen now. Packages
 * announced as work are also known by their build IDs, but not the other way round.
 */
static bool announce_covers(const json_t *state, const struct ux_crawl_choice *choice)
{
	const json_t *roles = json_object_get(state, "roles");
	if (!choice->only_index && !json_is_true(json_object_get(state, "crawl")))
		return false;
	for (unsigned i = 0; i < UX_PACKAGE_ROLE_COUNT; i++) {
		const char *name = ux_package_role_name((enum ux_package_role)i);
		bool there = false;
		for (size_t k = 0; k < json_array_size(roles) && !there; k++) {
			const char *one = json_string_value(json_array_get(roles, k));
			there = one && strcmp(one, name) == 0;
		}
		if ((ux_crawl_roles(choice) >> i & 1) && !there)
			return false;
	}
	return true;
}

static json_t *announce_roles(const struct ux_crawl_choice *choice)
{
	json_t *list = json_array();
	for (unsigned i = 0; list && i < UX_PACKAGE_ROLE_COUNT; i++) {
		const char *name = ux_package_role_name((enum ux_package_role)i);
		if ((ux_crawl_roles(choice) >> i & 1) &&
		    json_array_append_new(list, json_string(name)) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *announce_state(const struct ux_crawl_repository *r,
			      const struct ux_crawl_choice *choice)
{
	char hex[2 * sizeof(r->result.state.sha256) + 1];
	ux_hex_encode(ux_bytes(r->result.state.sha256, sizeof(r->result.state.sha256)), hex);
	/* "o" takes over the list; if that is NULL, the result is NULL */
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:i, s:b, s:o}", "mirror", r->what.mirror,
			 "etag", r->result.state.validators.etag, "modified",
			 r->result.state.validators.modified, "sha256", hex, "date",
			 (json_int_t)r->result.state.date, "planner", PLANNER, "crawl",
			 !choice->only_index, "roles", announce_roles(choice));
}

static void announce_copy(char *to, size_t size, const json_t *text)
{
	const char *s = json_string_value(text);
	snprintf(to, size, "%s", s && strlen(s) < size ? s : "");
}

static void announce_read_state(const json_t *doc, const struct ux_crawl_repository *r,
				const struct ux_crawl_choice *choice,
				struct ux_repository_state *ret)
{
	const char *mirror = json_string_value(json_object_get(doc, "mirror"));
	const char *hex = json_string_value(json_object_get(doc, "sha256"));
	size_t n = 0;
	ret->date = json_integer_value(json_object_get(doc, "date"));
	if (!announce_is_whole(choice) || !mirror || strcmp(mirror, r->what.mirror) != 0 || !hex ||
	    json_integer_value(json_object_get(doc, "planner")) != PLANNER ||
	    !announce_covers(doc, choice) ||
	    !ux_hex_decode(ux_bytes_cstr(hex), ret->sha256, sizeof(ret->sha256), &n) ||
	    n != sizeof(ret->sha256))
		return;
	announce_copy(ret->validators.etag, sizeof(ret->validators.etag),
		      json_object_get(doc, "etag"));
	announce_copy(ret->validators.modified, sizeof(ret->validators.modified),
		      json_object_get(doc, "modified"));
	ret->known = true;
}

static void announce_match(const json_t *one, const struct ux_crawl_plan *plan,
			   const struct ux_crawl_choice *choice, struct ux_repository_state *known)
{
	const char *label = json_string_value(json_object_get(one, "repository"));
	for (size_t i = 0; label && i < plan->repositories.size; i++)
		if (strcmp(plan->repositories.data[i].label, label) == 0)
			announce_read_state(json_object_get(one, "state"),
					    &plan->repositories.data[i], choice, &known[i]);
}

/* Writes the path of the page after a name. False: the name is too long. */
static bool announce_page_path(const char *after, char *path)
{
	UX_ARENA(arena, 64 << 10);
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(after));
	int n = !coded ? -1
		: after[0] == '\0'
			? snprintf(path, PATH_BYTES_MAX, "/v1/crawl/repositories?limit=%d", PAGE)
			: snprintf(path, PATH_BYTES_MAX, "/v1/crawl/repositories?limit=%d&after=%s",
				   PAGE, coded);
	return n > 0 && n < PATH_BYTES_MAX;
}

enum ux_code ux_crawl_known(struct ux_crawl_client *c, const struct ux_crawl_plan *plan,
			    const struct ux_crawl_choice *choice, struct ux_repository_state *known,
			    struct ux_error *err)
{
	char path[PATH_BYTES_MAX], after[512] = "";
	memset(known, 0, plan->repositories.size * sizeof(*known));
	for (unsigned page = 0; page < PAGES_MAX && announce_page_path(after, path); page++) {
		ux_cleanup(json_decrefp) json_t *doc = NULL;
		UX_TRY(ux_crawl_client_call(c, UX_METHOD_GET, path, NULL, &doc, err));
		const json_t *list = json_object_get(doc, "repositories");
		size_t n = json_array_size(list);
		for (size_t i = 0; i < n; i++)
			announce_match(json_array_get(list, i), plan, choice, known);
		const char *last = json_string_value(
			json_object_get(json_array_get(list, n - 1), "repository"));
		if (!json_is_true(json_object_get(doc, "more")) || n == 0 || !last ||
		    strlen(last) >= sizeof(after))
			break;
		snprintf(after, sizeof(after), "%s", last);
	}
	return UX_OK;
}

/* --- packages --------------------------------------------------------------------------------- */

static json_t *announce_ids(const struct ux_package *p)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < p->n_build_ids; i++) {
		char hex[2 * UX_ID_BYTES_MAX + 1];
		ux_hex_encode(ux_bytes(p->build_ids[i].bytes, p->build_ids[i].size), hex);
		if (json_array_append_new(list, json_string(hex)) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *announce_files(const struct ux_package *p)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < p->n_files; i++) {
		const struct ux_package_file *f = &p->files[i];
		json_t *one = json_pack("{s:s, s:s, s:I}", "key", f->key, "url", f->url, "size",
					(json_int_t)ux_min(f->size, (uint64_t)INT64_MAX));
		if (json_array_append_new(list, one) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *announce_package(const struct ux_package *p, const struct ux_crawl_choice *choice)
{
	json_t *o = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:b}",
		"key", p->key, "name", p->name, "version", p->version, "arch", p->arch, "source",
		p->source, "source_version", p->source_version, "distribution", p->distribution,
		"suite", p->suite, "component", p->component, "url", p->url, "size",
		(json_int_t)ux_min(p->size, (uint64_t)INT64_MAX), "installed",
		(json_int_t)ux_min(p->installed, (uint64_t)INT64_MAX), "kind",
		ux_package_kind_name(p->kind), "role", ux_package_role_name(p->role), "crawl",
		!choice->only_index && p->role != UX_PACKAGE_SOURCE);
	bool failed = !o;
	if (!failed && p->n_build_ids > 0)
		failed = json_object_set_new(o, "build_ids", announce_ids(p)) != 0;
	if (!failed && p->n_files > 0)
		failed = json_object_set_new(o, "files", announce_files(p)) != 0;
	if (!failed)
		return o;
	json_decref(o);
	return NULL;
}

static enum ux_code announce_send(struct ux_crawl_client *c, const struct ux_crawl_repository *r,
				  json_t *packages, json_t *state, struct ux_crawl_announced *sum,
				  struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *answer = NULL;
	/* "O" adds a reference, which the document then owns */
	ux_cleanup(json_decrefp) json_t *doc =
		json_pack("{s:s, s:O, s:b}", "repository", r->label, "packages", packages,
			  "complete", state != NULL);
	if (!doc || (state && json_object_set(doc, "state", state) != 0))
		return ux_error_nomem(err);
	UX_TRY(ux_crawl_client_call(c, UX_METHOD_POST, "/v1/crawl/packages", doc, &answer, err));
	sum->fresh += (uint64_t)json_integer_value(json_object_get(answer, "new"));
	sum->known += (uint64_t)json_integer_value(json_object_get(answer, "known"));
	sum->again += (uint64_t)json_integer_value(json_object_get(answer, "again"));
	return UX_OK;
}

/* Announces all packages of a repository; the last request includes its state. */
static enum ux_code announce_repository(struct ux_crawl_client *c, const struct ux_crawl_plan *plan,
					size_t number, const struct ux_crawl_choice *choice,
					struct ux_crawl_announced *sum, struct ux_error *err)
{
	const struct ux_crawl_repository *r = &plan->repositories.data[number];
	ux_cleanup(json_decrefp) json_t *batch = json_array();
	ux_cleanup(json_decrefp) json_t *state = NULL;
	size_t ids = 0;
	for (size_t i = 0; batch && i < plan->packages.size; i++) {
		const struct ux_crawl_package *one = &plan->packages.data[i];
		bool useless = choice->only_index && one->package.n_build_ids == 0 &&
			       one->package.role != UX_PACKAGE_SOURCE;
		if (one->repository != number || useless)
			continue;
		ids += one->package.n_build_ids;
		if (json_array_size(batch) == BATCH_PACKAGES ||
		    (ids > BATCH_IDS && json_array_size(batch) > 0)) {
			UX_TRY(announce_send(c, r, batch, NULL, sum, err));
			(void)json_array_clear(batch);
			ids = one->package.n_build_ids;
		}
		if (json_array_append_new(batch, announce_package(&one->package, choice)) != 0)
			return ux_error_nomem(err);
	}
	if (announce_is_whole(choice)) {
		state = announce_state(r, choice);
		if (!state)
			return ux_error_nomem(err);
	}
	if (!batch)
		return ux_error_nomem(err);
	return state || json_array_size(batch) > 0 ? announce_send(c, r, batch, state, sum, err)
						   : UX_OK;
}

enum ux_code ux_crawl_announce(struct ux_crawl_client *c, const struct ux_crawl_plan *plan,
			       const struct ux_crawl_choice *choice, struct ux_crawl_announced *ret,
			       struct ux_error *err)
{
	struct ux_crawl_announced sum = {0};
	for (size_t i = 0; i < plan->repositories.size; i++) {
		const struct ux_crawl_repository *r = &plan->repositories.data[i];
		if (r->err.code == UX_OK && !r->result.unchanged)
			UX_TRY(announce_repository(c, plan, i, choice, &sum, err));
	}
	*ret = sum;
	return UX_OK;
}
