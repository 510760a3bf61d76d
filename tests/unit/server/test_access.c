/* SPDX-License-Identifier: Apache-2.0 */
/* server: who sees and may do what, without a socket. */
#include "sweep.h"

#include "file.h"
#include "make_gsym.h"
#include "make_server.h"
#include "profile_keeper.h"
#include "recent.h"
#include "viewer_files.h"

#include <jansson.h>

/* The objects of namespace "theirs": a GSYM of functions _start, f and sq, and an ELF file. */
static const char their_id[] = "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";
static const char their_elf[] = "/bin/true";
static const char secret[] = "very-secret"; /* in names, descriptions and labels */

static int64_t fixed_clock(void *ctx)
{
	return *(int64_t *)ctx;
}

struct world {
	struct ux_viewer viewer; /* without files */
	struct make_server s;
	int64_t now_ns;
	struct ux_access access;
	char ours[UX_TOKEN_SIZE], theirs[UX_TOKEN_SIZE]; /* every scope but admin */
	char uid[UX_UPLOAD_UID_SIZE];                    /* an open upload of theirs */
};

static struct make_answer ask_as(struct world *w, const struct make_ask *a)
{
	return make_server_ask(&w->s, a);
}

/* Sends a request and checks the status. Returns the answer's JSON; NULL: it is not JSON. */
static json_t *ask(struct world *w, const char *token, const char *method, const char *target,
		   const char *body, unsigned status)
{
	struct make_answer a = ask_as(w, &(struct make_ask){.method = method,
							    .target = target,
							    .token = token,
							    .body = ux_bytes_cstr(body)});
	if (a.status != status)
		fail_msg("%s %s: %u, wanted %u: %.*s", method, target, a.status, status,
			 (int)a.body.size, (const char *)a.body.data);
	json_t *doc =
		json_loadb(a.body.data ? (const char *)a.body.data : "", a.body.size, 0, NULL);
	ux_out_deinit(&a.body);
	return doc;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *t = json_string_value(json_object_get(o, key));
	return t ? t : "";
}

static void refused(json_t *doc, const char *word, const char *message)
{
	const json_t *e = json_object_get(doc, "error");
	assert_string_equal(text_of(e, "code"), word);
	if (!strstr(text_of(e, "message"), message))
		fail_msg("'%s' does not say '%s'", text_of(e, "message"), message);
	json_decref(doc);
}

static const struct ux_who tester = {.key_id = "", .from = "test"};

static void put_namespace(struct world *w, struct ux_namespace ns)
{
	struct ux_index *ix = w->s.store.index;
	ns.retention_s = -1;
	ns.upstreams = "*";
	ns.description = "";
	assert_int_equal(ix->namespaces.put(ix, &ns, &tester, 1000, NULL), UX_OK);
	w->now_ns += UX_RECENT_NS; /* remembered answers expire */
}

static void announce(struct world *w, const char *token, const char *id, char *uid)
{
	char body[512], hash[65];
	struct ux_bytes file = ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
	struct ux_blob_hash h = ux_blob_hash_of(file);
	ux_blob_hash_text(&h, hash);
	snprintf(body, sizeof(body),
		 "{\"ids\":[\"%s\"],\"size\":%zu,\"sha256\":\"%s\",\"file\":\"%s\","
		 "\"description\":\"%s\"}",
		 id, file.size, hash, secret, secret);
	json_t *doc = ask(w, token, "POST", "/v1/uploads", body, 201);
	snprintf(uid, UX_UPLOAD_UID_SIZE, "%s", text_of(doc, "uid"));
	json_decref(doc);
}

static void upload(struct world *w, const char *token, const char *id)
{
	char target[96], uid[UX_UPLOAD_UID_SIZE];
	announce(w, token, id, uid);
	snprintf(target, sizeof(target), "/v1/uploads/%s", uid);
	struct make_answer a = ask_as(
		w, &(struct make_ask){.method = "PUT",
				      .target = target,
				      .token = token,
				      .body = ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE)});
	assert_int_equal(a.status, 200);
	ux_out_deinit(&a.body);
	snprintf(target, sizeof(target), "/v1/uploads/%s/finish", uid);
	json_decref(ask(w, token, "POST", target, "", 200));
}

/* Adds an ELF file as after its extraction. */
static void add_elf(struct world *w)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_blobs *b = w->s.store.blobs;
	struct ux_index *ix = w->s.store.index;
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	const char *ids[] = {their_id};
	struct ux_arrival what = {"theirs", ids, 1, false};
	struct ux_add_result r;
	assert_int_equal(ux_file_map(their_elf, &file, NULL), UX_OK);
	struct ux_candidate c = {.kind = UX_KIND_EXECUTABLE,
				 .blob = ux_blob_hash_of(file.bytes),
				 .size = file.bytes.size,
				 .holds = UX_HOLDS_CODE | UX_HOLDS_DEBUG | UX_HOLDS_SECTIONS,
				 .reason = "",
				 .origin_name = "",
				 .description = secret,
				 .file_name = secret,
				 .key_id = ""};
	assert_int_equal(b->part_open(b, "00000000000000000000000000000abc", &part, &size, NULL),
			 UX_OK);
	assert_int_equal(b->part_write(part, file.bytes, NULL), UX_OK);
	assert_int_equal(b->part_commit(part, &c.blob, NULL), UX_OK);
	b->part_close(part);
	assert_int_equal(ix->modules.add(ix, &what, &c, &tester, 1000, &r, NULL), UX_OK);
	const struct ux_source source = {
		.path = "/tmp/example/src/m.c", .blob = c.blob, .blob_size = c.size, .size = 16};
	assert_int_equal(ix->sources.put(ix, r.candidate, &source, 1, NULL), UX_OK);
}

/* Number 1. */
static void add_profile(struct world *w)
{
	const struct ux_profile_origin origin = {
		.ns = "theirs", .service = "svc", .host = secret, .build = "", .key_id = ""};
	assert_int_equal(ux_profile_keep_as(w->s.server.profiles, &origin,
					    UX_STR("main;_start 5\n"), NULL, NULL, NULL),
			 UX_OK);
}

/* Adds one that failed, and one that waits. */
static void add_packages(struct world *w)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_index *ix = w->s.store.index;
	struct ux_packages_announced announced;
	struct ux_package_jobs jobs;
	enum ux_package_state after;
	ux_time next = 0, now = ux_store_now(&w->s.store);
	struct ux_package_row rows[2];
	for (size_t i = 0; i < ux_countof(rows); i++)
		rows[i] = (struct ux_package_row){.key = i == 0 ? "a" : "b",
						  .name = secret,
						  .version = "",
						  .arch = "",
						  .source = "",
						  .distribution = "",
						  .suite = "",
						  .component = "",
						  .kind = "deb",
						  .role = "debug",
						  .url = "/a",
						  .host = "",
						  .sha256 = "",
						  .crawl = true};
	assert_int_equal(ix->packages.announce(ix, "theirs", secret, rows, ux_countof(rows), 1, now,
					       &announced, NULL),
			 UX_OK);
	const struct ux_package_take take = {.worker = "w", .max = 1, .lease_s = 60, .of_host = 1};
	assert_int_equal(ix->packages.take(ix, "theirs", &take, now, &arena, &jobs, &next, NULL),
			 UX_OK);
	const struct ux_package_end end = {.lease = jobs.items[0].lease,
					   .outcome = UX_PACKAGE_ENDS_QUARANTINED,
					   .cause = "bomb",
					   .reason = secret};
	assert_int_equal(
		ix->packages.end(ix, "theirs", jobs.items[0].number, &end, now, &after, NULL),
		UX_OK);
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	make_server_open(&w->s, NULL, /* open_reading= */ true);
	w->s.server.viewer = &w->viewer;
	w->access = ux_access_default;
	w->now_ns = INT64_C(1000000000000);
	w->s.server.access = &w->access;
	w->s.server.clock_ns = fixed_clock;
	w->s.server.clock_ctx = &w->now_ns;
	const unsigned all_but_admin = UX_SCOPES_NAMESPACE & ~(unsigned)UX_SCOPE_ADMIN;
	make_server_key(&w->s, all_but_admin, "ours", w->ours);
	make_server_key(&w->s, all_but_admin, "theirs", w->theirs);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;
	make_server_close(&w->s);
	free(w);
	return 0;
}

/*
 * The request to each route for an object of the namespace "theirs". target: "@" stands for the UID
 * of the upload. shows: text that only the owner's answer has; NULL: only the owner gets a 2xx.
 * Routes that show nothing of any namespace, or the same of all, have no target. The order is the
 * one in which the owner asks.
 */
static const struct recipe {
	enum ux_method method;
	const char *pattern;
	const char *target;
	const char *body;
	const char *shows;
	const char *type; /* NULL, or a header line */
} recipes[] = {
#define HEX "1b700ab56bff4136b7c92cfe7a92fa17ef09d874"
#define ID  "gnu:" HEX
	{UX_METHOD_GET, "/", NULL, "", NULL},
	{UX_METHOD_GET, "/healthz", NULL, "", NULL},
	{UX_METHOD_GET, "/readyz", NULL, "", NULL},
	{UX_METHOD_GET, "/metrics", NULL, "", NULL}, /* sums of all */
	{UX_METHOD_GET, "/v1/whoami", "/v1/whoami", "", "\"theirs\""},
	{UX_METHOD_POST, "/v1/query", "/v1/query", "{\"ids\":[\"" ID "\"]}", "already-there"},
	/* an announcement reveals nothing about existing objects; the test of uploads below checks
	 * that */
	{UX_METHOD_POST, "/v1/uploads", NULL, "", NULL},
	{UX_METHOD_GET, "/v1/uploads/{uid}", "/v1/uploads/@", "", NULL},
	{UX_METHOD_PUT, "/v1/uploads/{uid}", "/v1/uploads/@", "x", NULL},
	{UX_METHOD_POST, "/v1/uploads/{uid}/finish", "/v1/uploads/@/finish", "", "is incomplete"},
	{UX_METHOD_POST, "/v1/symbolize", "/v1/symbolize",
	 "{\"modules\":[{\"id\":\"" ID "\",\"addresses\":[\"0x401007\"]}]}", "_start"},
	{UX_METHOD_GET, "/v1/symbolize/{id}", "/v1/symbolize/" ID "?addr=0x401007", "", "_start"},
	{UX_METHOD_GET, "/v1/modules", "/v1/modules", "", ID},
	{UX_METHOD_GET, "/v1/export", "/v1/export", "", ID},
	/* by the hash of the content; the suite of the index requests one of another namespace */
	{UX_METHOD_GET, "/v1/export/{sha256}", NULL, "", NULL},
	{UX_METHOD_GET, "/v1/modules/{id}", "/v1/modules/" ID, "", secret},
	{UX_METHOD_PUT, "/v1/modules/{id}/pins/{label}", "/v1/modules/" ID "/pins/very-secret", "",
	 NULL},
	{UX_METHOD_GET, "/buildid/{id}/debuginfo",
	 "/buildid/1b700ab56bff4136b7c92cfe7a92fa17ef09d874/debuginfo", "", NULL},
	{UX_METHOD_GET, "/buildid/{id}/executable",
	 "/buildid/1b700ab56bff4136b7c92cfe7a92fa17ef09d874/executable", "", NULL},
	{UX_METHOD_GET, "/buildid/{id}/section/{name}",
	 "/buildid/1b700ab56bff4136b7c92cfe7a92fa17ef09d874/section/.text", "", NULL},
	{UX_METHOD_GET, "/buildid/{id}/source/{path...}",
	 "/buildid/1b700ab56bff4136b7c92cfe7a92fa17ef09d874/source/tmp/example/src/m.c", "", NULL},
	{UX_METHOD_GET, "/metadata", "/metadata?key=glob&value=*", "", secret},
	{UX_METHOD_POST, "/symbolicate/v5", "/symbolicate/v5",
	 "{\"memoryMap\":[[\"m\",\"B50A701BFF6B3641B7C92CFE7A92FA170\"]],"
	 "\"stacks\":[[[0,4103]]]}",
	 "_start"},
	{UX_METHOD_POST, "/v1development/profiles", NULL, "", NULL}, /* the answer is empty */
	/* a mapping with an ID, and a location in it */
	{UX_METHOD_POST, "/v1/symbolize/otlp", "/v1/symbolize/otlp",
	 "\x12\x6a"
	 "*\x01x*\x1fprocess.executable.build_id.gnu"
	 "\x32\x02\x08\x01"
	 "\x32\x2e\x08\x01\x12\x2a\n\x28" HEX "\n\x02\x08\x01\n\x03*\x01\x01"
	 "\x12\x07\x08\x01\x10\x87\xa0\x80\x02",
	 "_start", "Content-Type: application/x-protobuf"},
	{UX_METHOD_POST, "/source/v1", "/source/v1",
	 "{\"debugId\":\"B50A701BFF6B3641B7C92CFE7A92FA170\",\"moduleOffset\":\"0x1007\","
	 "\"file\":\"/tmp/example/src/m.c\"}",
	 NULL},
	{UX_METHOD_POST, "/asm/v1", "/asm/v1",
	 "{\"debugId\":\"B50A701BFF6B3641B7C92CFE7A92FA170\",\"startAddress\":\"0xfffffff0\","
	 "\"size\":\"0x10\"}",
	 "no code at"},
	{UX_METHOD_GET, "/pprof/{id}/symbol", "/pprof/" ID "/symbol", "", NULL},
	{UX_METHOD_POST, "/pprof/{id}/symbol", "/pprof/" ID "/symbol", "0x401007", "_start"},
	{UX_METHOD_GET, "/v1/explain/{id}", "/v1/explain/" ID, "", secret},
	{UX_METHOD_GET, "/v1/gsym/{id}", "/v1/gsym/" ID, "", NULL},
	{UX_METHOD_POST, "/v1/crawl/packages", NULL, "", NULL}, /* into one's own namespace */
	{UX_METHOD_GET, "/v1/crawl/repositories", "/v1/crawl/repositories", "", secret},
	{UX_METHOD_POST, "/v1/crawl/jobs/take", "/v1/crawl/jobs/take", "{\"worker\":\"w\"}",
	 secret},
	/* whoever has the lease; index_suite_packages.c tests jobs of other namespaces */
	{UX_METHOD_POST, "/v1/crawl/jobs/{id}/renew", NULL, "", NULL},
	{UX_METHOD_POST, "/v1/crawl/jobs/{id}/end", NULL, "", NULL},
	{UX_METHOD_GET, "/v1/crawl/status", "/v1/crawl/status", "", secret},
	{UX_METHOD_POST, "/v1/profiles", NULL, "", NULL}, /* into one's own namespace */
	{UX_METHOD_GET, "/v1/profiles", "/v1/profiles", "", secret},
	{UX_METHOD_GET, "/v1/profiles/services", "/v1/profiles/services", "", "\"svc\""},
	{UX_METHOD_GET, "/v1/profiles/merged", "/v1/profiles/merged?service=svc&format=folded", "",
	 "_start"},
	{UX_METHOD_GET, "/v1/profiles/{id}", "/v1/profiles/1", "", secret},
	{UX_METHOD_GET, "/p/{id}/pprof/profile", "/p/1/pprof/profile", "", NULL},
	{UX_METHOD_GET, "/p/{id}/pprof/symbol", "/p/1/pprof/symbol", "", NULL},
	{UX_METHOD_POST, "/p/{id}/pprof/symbol", "/p/1/pprof/symbol", "0x0", NULL},
	{UX_METHOD_GET, "/profiles", "/profiles", "", "/profiles/svc"},
	{UX_METHOD_GET, "/profiles/{service}", "/profiles/svc", "", "/profiles/svc/flame"},
	{UX_METHOD_GET, "/profiles/{service}/flame", "/profiles/svc/flame", "", "_start"},
	{UX_METHOD_GET, "/profiles/{service}/picture", "/profiles/svc/picture", "", "_start"},
	{UX_METHOD_GET, "/profiles/{service}/speedscope", "/profiles/svc/speedscope", "",
	 "svc in speedscope"},
	{UX_METHOD_GET, "/modules", "/modules", "", "1b700ab5"},
	{UX_METHOD_GET, "/modules/{id}", "/modules/" ID, "", secret},
	{UX_METHOD_GET, "/modules/{id}/functions", "/modules/" ID "/functions", "", "_start"},
	{UX_METHOD_GET, "/modules/{id}/sources", "/modules/" ID "/sources", "", NULL},
	{UX_METHOD_GET, "/modules/{id}/source/{path...}",
	 "/modules/" ID "/source/tmp/example/src/m.c", "", NULL},
	{UX_METHOD_GET, "/search", "/search?q=very-*", "", "1b700ab5"},
	{UX_METHOD_GET, "/symbolize", "/symbolize?stack=" ID "%40401007", "", "_start"},
	{UX_METHOD_POST, "/symbolize", "/symbolize",
	 "id=1b700ab56bff4136b7c92cfe7a92fa17ef09d874&text=0x401007", "_start"},
	{UX_METHOD_GET, "/frame", "/frame?id=" ID "&addr=0x401007", "", "_start"},
	{UX_METHOD_GET, "/explain", "/explain?id=" ID "&addr=0x401007", "", "_start"},
	{UX_METHOD_GET, "/uploads", "/uploads", "", "go:open"},
	{UX_METHOD_GET, "/crawl", "/crawl", "", secret},
	{UX_METHOD_GET, "/status", NULL, "", NULL},
	/* keys: tests/e2e/test_keys.py tests the rights of their admins */
	{UX_METHOD_GET, "/v1/keys", "/v1/keys?namespace=theirs", "", "\"namespace\":\"theirs\""},
	{UX_METHOD_POST, "/v1/keys", NULL, "", NULL},
	{UX_METHOD_POST, "/v1/keys/{id}/rotate", NULL, "", NULL},
	{UX_METHOD_DELETE, "/v1/keys/{id}", NULL, "", NULL},
	{UX_METHOD_GET, "/keys", "/keys", "", "of theirs"},
	{UX_METHOD_POST, "/keys", NULL, "", NULL},
	{UX_METHOD_POST, "/keys/{id}/rotate", NULL, "", NULL},
	{UX_METHOD_POST, "/keys/{id}/revoke", NULL, "", NULL},
	{UX_METHOD_GET, "/sign-in", NULL, "", NULL},
	{UX_METHOD_POST, "/sign-in", NULL, "", NULL},
	{UX_METHOD_POST, "/sign-out", NULL, "", NULL},
	{UX_METHOD_GET, "/assets/{name}", NULL, "", NULL},
	{UX_METHOD_GET, "/viewers/speedscope/{name}", NULL, "", NULL},
	{UX_METHOD_GET, "/v1/audit", "/v1/audit", "", ID}, /* of admins */
	{UX_METHOD_DELETE, "/v1/modules/{id}/pins/{label}", "/v1/modules/" ID "/pins/very-secret",
	 "", NULL},
	{UX_METHOD_DELETE, "/v1/modules/{id}", "/v1/modules/" ID, "", NULL},
	{UX_METHOD_DELETE, "/v1/profiles/{id}", "/v1/profiles/1", "", NULL},
#undef ID
};

static const struct recipe *recipe_of(const struct ux_route *route)
{
	for (size_t i = 0; i < ux_countof(recipes); i++)
		if (recipes[i].method == route->method &&
		    strcmp(recipes[i].pattern, route->pattern) == 0)
			return &recipes[i];
	fail_msg("%s %s is not in `recipes`: how would somebody else's module show there?",
		 ux_method_name(route->method), route->pattern);
	return NULL;
}

static struct make_answer follow(struct world *w, const struct recipe *r, const char *token,
				 const char *prefix, const char *header)
{
	char target[256];
	const char *const headers[] = {r->type ? r->type : header, header, NULL};
	const char *at = strchr(r->target, '@');
	snprintf(target, sizeof(target), "%s%.*s%s%s", prefix,
		 (int)(at ? (size_t)(at - r->target) : strlen(r->target)), r->target,
		 at ? w->uid : "", at ? at + 1 : "");
	return ask_as(w, &(struct make_ask){.method = ux_method_name(r->method),
					    .target = target,
					    .token = token,
					    .headers = headers,
					    .body = ux_bytes_cstr(r->body)});
}

static bool shows(const struct make_answer *a, const char *text)
{
	return a->body.size > 0 && memmem(a->body.data, a->body.size, text, strlen(text)) != NULL;
}

static void sees_nothing(struct world *w, const struct recipe *r, const char *token,
			 const char *prefix, const char *header)
{
	struct make_answer a = follow(w, r, token, prefix, header);
	bool reported = r->shows ? shows(&a, r->shows) : a.status < 300;
	if (reported || shows(&a, secret) || shows(&a, "_start"))
		fail_msg("%s %s%s is seen by strangers: %u %.*s", ux_method_name(r->method), prefix,
			 r->target, a.status, (int)a.body.size, (const char *)a.body.data);
	if (a.status >= 500)
		fail_msg("%s %s: %u", ux_method_name(r->method), r->target, a.status);
	ux_out_deinit(&a.body);
}

static void strangers_ask(struct world *w, const char *admin)
{
	char by_path[UX_TOKEN_SIZE + 8], of_default[UX_TOKEN_SIZE];
	make_server_key(&w->s, UX_SCOPE_ADMIN, NULL, of_default);
	snprintf(by_path, sizeof(by_path), "/k/%s", admin);
	for (size_t i = 0; i < ux_server_route_count; i++) {
		const struct recipe *r = recipe_of(&ux_server_routes[i]);
		if (!r->target)
			continue;
		sees_nothing(w, r, NULL, "", NULL);
		sees_nothing(w, r, w->ours, "", NULL);
		sees_nothing(w, r, admin, "", NULL);
		sees_nothing(w, r, of_default, "", NULL);
		sees_nothing(w, r, NULL, by_path, NULL);
		/* a caller of their namespace must be one of them */
		if (strcmp(r->pattern, "/v1/whoami") == 0)
			continue;
		sees_nothing(w, r, NULL, "/n/theirs", NULL);
		sees_nothing(w, r, admin, "/n/theirs", NULL);
		sees_nothing(w, r, admin, "", "Unhex-Namespace: theirs");
		sees_nothing(w, r, NULL, by_path, "Unhex-Namespace: theirs");
	}
}

/* Sends each recipe as the owner; requests that end things come last. */
static void owner_asks(struct world *w, const char *owner, bool last)
{
	for (size_t i = 0; i < ux_countof(recipes); i++) {
		const struct recipe *r = &recipes[i];
		if (!r->target || (r->method == UX_METHOD_DELETE) != last)
			continue;
		struct make_answer a = follow(w, r, owner, "/n/theirs", NULL);
		if (r->shows ? !shows(&a, r->shows) : a.status >= 300)
			fail_msg("%s %s does not show it: %u %.*s", ux_method_name(r->method),
				 r->target, a.status, (int)a.body.size, (const char *)a.body.data);
		ux_out_deinit(&a.body);
	}
}

static void every_route_shows_a_module_to_keys_of_its_namespace_alone(void **state)
{
	struct world *w = *state;
	char admin[UX_TOKEN_SIZE], owner[UX_TOKEN_SIZE];
	make_server_key(&w->s, UX_SCOPE_ADMIN, "ours", admin);
	make_server_key(&w->s, UX_SCOPE_ADMIN, "theirs", owner);
	upload(w, w->theirs, their_id);
	add_elf(w);
	add_profile(w);
	add_packages(w);
	announce(w, w->theirs, "go:open", w->uid);
	strangers_ask(w, admin);
	owner_asks(w, owner, /* last= */ false);
	strangers_ask(w, admin); /* the remembered answers are not for them */
	owner_asks(w, owner, /* last= */ true);
}

static void namespace_says_who_may_read_it(void **state)
{
	struct world *w = *state;
	upload(w, w->theirs, their_id);
	upload(w, w->s.admin, "go:default");
	refused(ask(w, NULL, "GET", "/n/theirs/v1/modules", "", 401), "unauthorized", "scope read");
	put_namespace(w, (struct ux_namespace){.name = "theirs", .reading = UX_NS_OPEN});
	json_t *doc = ask(w, NULL, "GET", "/n/theirs/v1/modules", "", 200);
	assert_int_equal(json_array_size(json_object_get(doc, "modules")), 1);
	json_decref(doc);
	/* a key of another namespace allows what everybody may do, and no more */
	json_decref(ask(w, w->ours, "GET", "/n/theirs/v1/modules", "", 200));
	refused(ask(w, w->ours, "POST", "/n/theirs/v1/query", "{\"ids\":[]}", 403), "denied",
		"no scope upload");
	refused(ask(w, w->s.admin, "DELETE", "/n/theirs/v1/modules/go:x", "", 403), "denied",
		"no scope delete");
	/* the namespace's "keyed" overrides an open server, also on the machine itself */
	json_decref(ask(w, NULL, "GET", "/v1/modules", "", 200));
	put_namespace(w, (struct ux_namespace){.name = "default", .reading = UX_NS_KEYED});
	refused(ask(w, NULL, "GET", "/v1/modules", "", 401), "unauthorized", "scope read");
	json_decref(ask(w, w->s.admin, "GET", "/v1/modules", "", 200));
	/* and "open" overrides a keyed server */
	w->s.server.open_reading = false;
	put_namespace(w, (struct ux_namespace){.name = "default", .reading = UX_NS_OPEN});
	json_decref(ask(w, NULL, "GET", "/v1/modules", "", 200));
	refused(ask(w, NULL, "GET", "/n/UPPER/v1/modules", "", 400), "invalid", "namespace");
	refused(ask(w, NULL, "GET", "/n/a%2Fb/v1/modules", "", 400), "invalid", "namespace");
	refused(ask(w, NULL, "GET", "/n/nowhere/v1/modules", "", 401), "unauthorized", "scope");
}

static void what_another_process_changes_is_seen_after_a_second(void **state)
{
	struct world *w = *state;
	json_decref(ask(w, NULL, "GET", "/v1/modules", "", 200));
	put_namespace(w, (struct ux_namespace){.name = "default", .reading = UX_NS_KEYED});
	w->now_ns -= 1;
	json_decref(ask(w, NULL, "GET", "/v1/modules", "", 200));
	w->now_ns += 1;
	json_decref(ask(w, NULL, "GET", "/v1/modules", "", 401));
}

static void token_in_a_path_only_reads(void **state)
{
	struct world *w = *state;
	char target[256];
	upload(w, w->theirs, their_id);
	snprintf(target, sizeof(target), "/k/%s/v1/symbolize/%s?addr=0x401007", w->theirs,
		 their_id);
	json_t *doc = ask(w, NULL, "GET", target, "", 200);
	assert_string_equal(text_of(doc, "status"), "found");
	json_decref(doc);
	snprintf(target, sizeof(target), "/k/%s/pprof/%s/symbol", w->theirs, their_id);
	json_decref(ask(w, NULL, "POST", target, "0x401007", 200));
	snprintf(target, sizeof(target), "/k/%s/v1/uploads", w->theirs);
	refused(ask(w, NULL, "POST", target, "{}", 403), "denied",
		"no scope upload,agent in a path");
	snprintf(target, sizeof(target), "/k/%s/v1/modules/%s", w->theirs, their_id);
	refused(ask(w, NULL, "DELETE", target, "", 403), "denied", "in a path");
	snprintf(target, sizeof(target), "/k/%s/v1/audit", w->s.admin);
	refused(ask(w, NULL, "GET", target, "", 403), "denied", "no scope admin");
	/* a header goes first */
	snprintf(target, sizeof(target), "/k/%s/v1/modules", w->theirs);
	doc = ask(w, w->ours, "GET", target, "", 200);
	assert_int_equal(json_array_size(json_object_get(doc, "modules")), 0);
	json_decref(doc);
	refused(ask(w, NULL, "GET", "/k/ux_wrong/v1/modules", "", 401), "unauthorized",
		"not a token");
	struct make_answer a = ask_as(w, &(struct make_ask){.method = "GET", .target = target});
	assert_non_null(strstr(a.fields, "Referrer-Policy: no-referrer\n"));
	ux_out_deinit(&a.body);
}

/* The status of a GET of /v1/modules with these lines; wait and more in *ret. */
static unsigned lines_get(struct world *w, const char *peer, const char *const *headers,
			  const char *target, const char *token, struct make_answer *ret)
{
	struct make_ask a = {.method = "GET", .target = target, .token = token, .headers = headers};
	if (peer && !ux_address_parse(ux_bytes_cstr(peer), &a.peer))
		fail_msg("%s", peer);
	*ret = ask_as(w, &a);
	ux_out_deinit(&ret->body);
	return ret->status;
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})
static const char *const no_lines[] = {NULL};

static void what_comes_through_a_proxy_is_not_of_this_machine(void **state)
{
	struct world *w = *state;
	struct make_answer a;
	w->s.server.local_only = true;
	assert_int_equal(lines_get(w, "127.0.0.1", no_lines, "/v1/modules", NULL, &a), 200);
	assert_int_equal(lines_get(w, "::1", no_lines, "/v1/modules", NULL, &a), 200);
	assert_int_equal(lines_get(w, "192.0.2.1", no_lines, "/v1/modules", NULL, &a), 401);
	static const char *const tells[] = {"X-Forwarded-For: 127.0.0.1", "Via: 1.1 x",
					    "Forwarded: for=127.0.0.1", "X-Real-IP: 127.0.0.1"};
	for (size_t trusted = 0; trusted < 2; trusted++) {
		for (size_t i = 0; i < ux_countof(tells); i++)
			assert_int_equal(
				lines_get(w, "127.0.0.1", LINES(tells[i]), "/v1/modules", NULL, &a),
				401);
		assert_int_equal(ux_networks_add(&w->access.proxies, "127.0.0.1", NULL), UX_OK);
	}
	w->s.server.local_only = false; /* configured to be open */
	assert_int_equal(lines_get(w, "127.0.0.1", LINES(tells[0]), "/v1/modules", NULL, &a), 200);
}

/* Data that a machine's own processes may read without a key is not for keys of other namespaces.
 */
static void key_of_another_namespace_is_refused_where_this_machine_may_read(void **state)
{
	struct world *w = *state;
	struct make_answer a;
	const char *const header[] = {"Unhex-Namespace: default", NULL};
	w->s.server.local_only = true;
	assert_int_equal(lines_get(w, "127.0.0.1", no_lines, "/v1/modules", NULL, &a), 200);
	assert_int_equal(lines_get(w, "127.0.0.1", header, "/v1/modules", NULL, &a), 200);
	assert_int_equal(lines_get(w, "127.0.0.1", header, "/v1/modules", w->s.admin, &a), 200);
	assert_int_equal(lines_get(w, "127.0.0.1", header, "/v1/modules", w->ours, &a), 403);
	assert_int_equal(lines_get(w, "127.0.0.1", no_lines, "/n/default/v1/modules", w->ours, &a),
			 403);
	w->s.server.local_only = false; /* open to everyone, so also to every key */
	assert_int_equal(lines_get(w, "127.0.0.1", header, "/v1/modules", w->ours, &a), 200);
}

/* So nobody gets more turns in the work queue by reading many namespaces. */
static void work_counts_for_the_namespace_of_the_key_whatever_it_reads(void **state)
{
	struct world *w = *state;
	struct make_answer own, open, second, other, none, far;
	char token[UX_TOKEN_SIZE];
	make_server_key(&w->s, UX_SCOPE_READ, "ours", token);
	assert_int_equal(lines_get(w, NULL, no_lines, "/v1/modules", w->ours, &own), 200);
	assert_int_equal(lines_get(w, NULL, no_lines, "/n/default/v1/modules", w->ours, &open),
			 200);
	assert_int_equal(lines_get(w, NULL, no_lines, "/v1/modules", token, &second), 200);
	assert_int_equal(lines_get(w, NULL, no_lines, "/v1/modules", w->theirs, &other), 200);
	assert_int_equal(lines_get(w, "192.0.2.1", no_lines, "/v1/modules", NULL, &none), 200);
	assert_int_equal(lines_get(w, "192.0.2.2", no_lines, "/v1/modules", NULL, &far), 200);
	assert_true(own.group == open.group && own.client == open.client);
	assert_true(own.group == second.group && own.client != second.client);
	assert_true(own.group != other.group && own.client != other.client);
	assert_true(none.group != own.group && none.group != other.group);
	assert_true(none.group == far.group && none.client != far.client);
}

static void address_of_the_client_is_what_the_audit_keeps(void **state)
{
	struct world *w = *state;
	char target[128];
	assert_int_equal(ux_networks_add(&w->access.proxies, "10.0.0.0/8", NULL), UX_OK);
	upload(w, w->s.admin, their_id);
	snprintf(target, sizeof(target), "/v1/modules/%s/pins/r1", their_id);
	struct make_ask a = {.method = "PUT",
			     .target = target,
			     .token = w->s.admin,
			     .headers = LINES("X-Forwarded-For: 1.2.3.4, 192.0.2.33")};
	assert_true(ux_address_parse(UX_STR("10.0.0.9"), &a.peer));
	struct make_answer got = ask_as(w, &a);
	assert_int_equal(got.status, 204);
	json_t *doc = ask(w, w->s.admin, "GET", "/v1/audit", "", 200);
	json_t *lines = json_object_get(doc, "lines");
	size_t n = json_array_size(lines);
	json_t *last = json_array_get(lines, n - 1);
	assert_string_equal(text_of(last, "what"), "pin");
	assert_string_equal(text_of(last, "from"), "192.0.2.33");
	assert_string_equal(text_of(last, "subject"), their_id);
	assert_string_equal(text_of(last, "detail"), "r1");
	assert_int_equal(strlen(text_of(last, "key")), 12);
	assert_null(json_object_get(doc, "next"));
	json_decref(doc);
	doc = ask(w, w->s.admin, "GET", "/v1/audit?limit=1", "", 200);
	assert_int_equal(json_array_size(json_object_get(doc, "lines")), 1);
	snprintf(target, sizeof(target), "/v1/audit?after=%s", text_of(doc, "next"));
	json_decref(doc);
	doc = ask(w, w->s.admin, "GET", target, "", 200);
	assert_int_equal(json_array_size(json_object_get(doc, "lines")), n - 1);
	json_decref(doc);
	refused(ask(w, w->ours, "GET", "/v1/audit", "", 403), "denied", "admin");
}

static void pins_are_shown_and_taken_away(void **state)
{
	struct world *w = *state;
	char target[512];
	upload(w, w->theirs, their_id);
	snprintf(target, sizeof(target), "/v1/modules/%s/pins/release%%201%%2F2", their_id);
	json_decref(ask(w, w->theirs, "PUT", target, "", 204));
	json_decref(ask(w, w->theirs, "PUT", target, "", 204));
	snprintf(target, sizeof(target), "/v1/modules/%s", their_id);
	json_t *doc = ask(w, w->theirs, "GET", target, "", 200);
	assert_true(json_is_true(json_object_get(doc, "pinned")));
	json_t *pins = json_object_get(doc, "pins");
	assert_int_equal(json_array_size(pins), 1);
	assert_string_equal(text_of(json_array_get(pins, 0), "label"), "release 1/2");
	json_decref(doc);
	snprintf(target, sizeof(target), "/v1/modules/%s/pins/release%%201%%2F2", their_id);
	json_decref(ask(w, w->theirs, "DELETE", target, "", 204));
	refused(ask(w, w->theirs, "DELETE", target, "", 404), "not_found", "release 1/2");
	refused(ask(w, w->theirs, "PUT", "/v1/modules/gnu:00/pins/x", "", 404), "not_found", "");
	snprintf(target, sizeof(target), "/v1/modules/%s/pins/%0300d", their_id, 1);
	refused(ask(w, w->theirs, "PUT", target, "", 400), "invalid", "256");
}

static void whoami_tells_what_a_key_may(void **state)
{
	struct world *w = *state;
	json_t *doc = ask(w, w->theirs, "GET", "/v1/whoami", "", 200);
	assert_string_equal(text_of(doc, "namespace"), "theirs");
	assert_int_equal(strlen(text_of(doc, "key")), 12);
	assert_int_equal(json_array_size(json_object_get(doc, "scopes")), 6);
	assert_true(json_is_false(json_object_get(doc, "open_reading")));
	json_decref(doc);
	doc = ask(w, NULL, "GET", "/v1/whoami", "", 200);
	assert_string_equal(text_of(doc, "key"), "");
	assert_string_equal(text_of(doc, "namespace"), "default");
	assert_int_equal(json_array_size(json_object_get(doc, "scopes")), 2);
	json_decref(doc);
	w->s.server.open_reading = false;
	json_decref(ask(w, NULL, "GET", "/v1/whoami", "", 401));
}

static void who_asks_too_often_hears_when_to_come_again(void **state)
{
	struct world *w = *state;
	struct make_answer a;
	w->access.address_rate = (struct ux_rate){.a_second = 1, .burst = 2};
	const char *const peers[] = {"192.0.2.1", "2001:db8::1"};
	for (size_t i = 0; i < ux_countof(peers); i++) {
		assert_int_equal(lines_get(w, peers[i], no_lines, "/v1/modules", NULL, &a), 200);
		assert_int_equal(lines_get(w, peers[i], no_lines, "/v1/modules", w->ours, &a), 200);
		assert_int_equal(lines_get(w, peers[i], no_lines, "/v1/modules", NULL, &a), 429);
		assert_string_equal(a.retry, "1");
		assert_false(a.reset);
	}
	/* of a network, of another; this machine; probes */
	assert_int_equal(lines_get(w, "2001:db8::2", no_lines, "/v1/modules", NULL, &a), 429);
	assert_int_equal(lines_get(w, "2001:db8:0:1::1", no_lines, "/v1/modules", NULL, &a), 200);
	assert_int_equal(lines_get(w, "192.0.2.2", no_lines, "/v1/modules", NULL, &a), 200);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(lines_get(w, "127.0.0.1", no_lines, "/v1/modules", NULL, &a), 200);
		assert_int_equal(lines_get(w, "192.0.2.1", no_lines, "/healthz", NULL, &a), 200);
	}
	w->now_ns += 1000000000;
	assert_int_equal(lines_get(w, "192.0.2.1", no_lines, "/v1/modules", NULL, &a), 200);
	/* clients of a trusted proxy are distinguished; this machine's proxy has no excuse */
	assert_int_equal(ux_networks_add(&w->access.proxies, "127.0.0.1", NULL), UX_OK);
	for (int i = 0; i < 3; i++)
		assert_int_equal(lines_get(w, "127.0.0.1", LINES("X-Forwarded-For: 192.0.2.50"),
					   "/v1/modules", NULL, &a),
				 i < 2 ? 200 : 429);
	assert_int_equal(lines_get(w, "127.0.0.1", LINES("X-Forwarded-For: 192.0.2.51"),
				   "/v1/modules", NULL, &a),
			 200);
}

static void key_has_its_own_rate_wherever_it_is(void **state)
{
	struct world *w = *state;
	struct make_answer a;
	char own[UX_TOKEN_SIZE];
	struct ux_error err = UX_ERROR_INIT;
	struct ux_key spec = {.scopes = UX_SCOPE_READ, .ns = "ours", .rate = 5};
	assert_int_equal(ux_key_create(w->s.store.index, &spec, &tester, 1, own, &err), UX_OK);
	w->access.key_rate = (struct ux_rate){.a_second = 2, .burst = 2};
	for (int i = 0; i < 3; i++)
		assert_int_equal(lines_get(w, "127.0.0.1", no_lines, "/v1/modules", w->ours, &a),
				 i < 2 ? 200 : 429);
	for (int i = 0; i < 6; i++)
		assert_int_equal(lines_get(w, i % 2 ? "192.0.2.1" : "192.0.2.2", no_lines,
					   "/v1/modules", own, &a),
				 i < 5 ? 200 : 429);
	assert_int_equal(lines_get(w, "127.0.0.1", no_lines, "/v1/modules", NULL, &a), 200);
}

static void clients_of_debuginfod_wait_for_their_turn(void **state)
{
	struct world *w = *state;
	struct make_answer a;
	static const char target[] = "/buildid/00/debuginfo";
	w->access.address_rate = (struct ux_rate){.a_second = 2, .burst = 1};
	w->access.wait_max_ms = 1500;
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(lines_get(w, "192.0.2.1", no_lines, target, NULL, &a), 404);
		assert_int_equal(a.wait_ms, 500 * i);
		assert_false(a.reset);
	}
	/* where that takes too long, a text that they would take for an answer is not sent */
	assert_int_equal(lines_get(w, "192.0.2.1", no_lines, target, NULL, &a), 429);
	assert_true(a.reset);
	assert_int_equal(lines_get(w, "192.0.2.1", no_lines, "/v1/modules", NULL, &a), 429);
	assert_string_equal(a.retry, "2");
	assert_false(a.reset);
}

static void uploads_that_are_open_are_bounded(void **state)
{
	struct world *w = *state;
	char body[256], uid[UX_UPLOAD_UID_SIZE];
	static const char form[] =
		"{\"ids\":[\"go:x\"],\"size\":%u,\"sha256\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\"}";
	w->access.uploads_key = 2;
	w->access.uploads_all = 3;
	announce(w, w->ours, "go:a", uid);
	announce(w, w->ours, "go:b", uid);
	snprintf(body, sizeof(body), form, 100);
	struct make_answer a = ask_as(w, &(struct make_ask){.method = "POST",
							    .target = "/v1/uploads",
							    .token = w->ours,
							    .body = ux_bytes_cstr(body)});
	assert_int_equal(a.status, 429);
	assert_string_equal(a.retry, "5");
	assert_true(shows(&a, "too_many_uploads") && shows(&a, "2 of 2"));
	ux_out_deinit(&a.body);
	announce(w, w->theirs, "go:c", uid);
	refused(ask(w, w->theirs, "POST", "/v1/uploads", body, 429), "too_many_uploads", "3 of 3");
	char target[96];
	snprintf(target, sizeof(target), "/v1/uploads/%s/finish", uid);
	json_decref(ask(w, w->theirs, "POST", target, "", 409)); /* incomplete: still open */
	struct ux_index *ix = w->s.store.index;
	assert_int_equal(ix->uploads.give_up(ix, uid, "failed", "x", 1, NULL), UX_OK);
	w->access.upload_bytes_key = 100;
	json_decref(ask(w, w->theirs, "POST", "/v1/uploads", body, 201));
	w->access.uploads_all = 0;
	w->access.upload_bytes_all = 1000;
	refused(ask(w, w->theirs, "POST", "/v1/uploads", body, 429), "too_many_uploads",
		"100 of 100");
	w->access.upload_bytes_key = 0;
	snprintf(body, sizeof(body), form, 900);
	refused(ask(w, w->theirs, "POST", "/v1/uploads", body, 429), "too_many_uploads", "of 1000");
}

static void key_has_its_own_number_of_uploads(void **state)
{
	struct world *w = *state;
	char own[UX_TOKEN_SIZE], uid[UX_UPLOAD_UID_SIZE];
	struct ux_key spec = {.scopes = UX_SCOPE_UPLOAD, .ns = "ours", .uploads = 1};
	assert_int_equal(ux_key_create(w->s.store.index, &spec, &tester, 1, own, NULL), UX_OK);
	announce(w, own, "go:a", uid);
	refused(ask(w, own, "POST", "/v1/uploads",
		    "{\"ids\":[\"go:x\"],\"size\":1,\"sha256\":"
		    "\"0000000000000000000000000000000000000000000000000000000000000000\"}",
		    429),
		"too_many_uploads", "1 of 1");
	announce(w, w->ours, "go:a", uid);
}

static void quota_is_kept_and_said(void **state)
{
	struct world *w = *state;
	char uid[UX_UPLOAD_UID_SIZE], second[UX_UPLOAD_UID_SIZE], target[96];
	put_namespace(w, (struct ux_namespace){.name = "ours", .quota_bytes = 300});
	announce(w, w->ours, "go:second", second); /* there is room for either, not for both */
	upload(w, w->ours, "go:first");
	struct make_answer a = ask_as(
		w, &(struct make_ask){.method = "POST",
				      .target = "/v1/uploads",
				      .token = w->ours,
				      .body = UX_STR("{\"ids\":[\"go:x\"],\"size\":100,\"sha256\":"
						     "\"00000000000000000000000000000000000000000"
						     "00000000000000000000000\"}")});
	assert_int_equal(a.status, 413);
	assert_true(shows(&a, "over_quota") && shows(&a, "has 214 of 300 bytes"));
	ux_out_deinit(&a.body);
	snprintf(target, sizeof(target), "/v1/uploads/%s", second);
	a = ask_as(w,
		   &(struct make_ask){.method = "PUT",
				      .target = target,
				      .token = w->ours,
				      .body = ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE)});
	assert_int_equal(a.status, 200);
	ux_out_deinit(&a.body);
	snprintf(target, sizeof(target), "/v1/uploads/%s/finish", second);
	refused(ask(w, w->ours, "POST", target, "", 413), "over_quota", "has 214 of 300");
	put_namespace(w, (struct ux_namespace){.name = "theirs", .quota_modules = 1});
	upload(w, w->theirs, "go:first");
	announce(w, w->theirs, "go:other", uid);
	snprintf(target, sizeof(target), "/v1/uploads/%s", uid);
	a = ask_as(w,
		   &(struct make_ask){.method = "PUT",
				      .target = target,
				      .token = w->theirs,
				      .body = ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE)});
	ux_out_deinit(&a.body);
	snprintf(target, sizeof(target), "/v1/uploads/%s/finish", uid);
	refused(ask(w, w->theirs, "POST", target, "", 413), "over_quota", "1 of 1 modules");
}

static const char profiler[] = "Origin: https://profiler.firefox.com";
static const char stranger[] = "Origin: https://evil.example";

/* Checks whether a page of that origin may read a route. */
static void expect_origin(struct world *w, const char *token, const char *origin,
			  const char *target, const char *want)
{
	struct make_answer a;
	lines_get(w, "127.0.0.1", LINES(origin), target, token, &a);
	if (strcmp(a.origin, want) != 0)
		fail_msg("%s of %s: '%s', wanted '%s'", target, origin, a.origin, want);
	assert_null(strstr(a.fields, "Allow-Credentials"));
}

static void pages_read_where_everybody_does(void **state)
{
	struct world *w = *state;
	expect_origin(w, NULL, stranger, "/v1/modules", "*");
	expect_origin(w, NULL, stranger, "/v1/symbolize/gnu:00?addr=1",
		      "*"); /* a 404, to be read */
	expect_origin(w, NULL, stranger, "/v1/audit", "");
	expect_origin(w, w->ours, stranger, "/v1/modules", "");
	expect_origin(w, w->ours, profiler, "/v1/modules", "");
	/* on this machine: only the profiler */
	w->s.server.local_only = true;
	expect_origin(w, NULL, stranger, "/v1/modules", "");
	expect_origin(w, NULL, profiler, "/v1/modules", "https://profiler.firefox.com");
	expect_origin(w, NULL, "Origin: null", "/v1/modules", "");
	expect_origin(w, NULL, "Origin: https://profiler.firefox.com.evil.example", "/v1/modules",
		      "");
	put_namespace(w, (struct ux_namespace){.name = "default", .reading = UX_NS_KEYED});
	expect_origin(w, NULL, profiler, "/v1/modules", "");
	expect_origin(w, w->s.admin, profiler, "/v1/modules", "");
	/* configured ones, with a key; their errors too */
	const char *const origins[] = {"https://a.example", "https://b.example:8443"};
	w->access.origins = origins;
	w->access.n_origins = 2;
	expect_origin(w, w->s.admin, "Origin: https://b.example:8443", "/v1/modules",
		      "https://b.example:8443");
	expect_origin(w, NULL, "Origin: https://a.example", "/v1/modules", "https://a.example");
	expect_origin(w, w->s.admin, "Origin: https://b.example", "/v1/modules", "");
	expect_origin(w, w->s.admin, "Origin: https://a.example", "/v1/audit", "");
	expect_origin(w, NULL, "Origin: https://a.example", "/healthz", "");
	const char *const any[] = {"*"};
	w->access.origins = any;
	w->access.n_origins = 1;
	expect_origin(w, w->ours, stranger, "/v1/modules", "*");
}

static struct make_answer preflight(struct world *w, const char *target, const char *origin,
				    const char *method)
{
	char line[64];
	snprintf(line, sizeof(line), "Access-Control-Request-Method: %s", method);
	struct make_answer a = ask_as(
		w, &(struct make_ask){
			   .method = "OPTIONS",
			   .target = target,
			   .headers = LINES(origin, line,
					    "Access-Control-Request-Headers: user-agent, x-y",
					    "Access-Control-Request-Private-Network: true")});
	ux_out_deinit(&a.body);
	return a;
}

static void pages_are_announced_beforehand(void **state)
{
	struct world *w = *state;
	struct make_answer a = preflight(w, "/symbolicate/v5", stranger, "POST");
	assert_int_equal(a.status, 204);
	assert_string_equal(a.allow, "POST");
	assert_string_equal(a.origin, "*");
	assert_non_null(strstr(a.fields, "Access-Control-Allow-Headers: user-agent, x-y\n"));
	assert_non_null(strstr(a.fields, "Access-Control-Allow-Methods: GET, HEAD, POST\n"));
	assert_non_null(strstr(a.fields, "Access-Control-Max-Age: 86400\n"));
	assert_non_null(strstr(a.fields, "Access-Control-Allow-Private-Network: true\n"));
	assert_null(strstr(a.fields, "Credentials"));
	/* no route that changes anything, no unknown route, no caller without the right */
	a = preflight(w, "/v1/uploads", stranger, "POST");
	assert_int_equal(a.status, 204);
	assert_string_equal(a.origin, "");
	a = preflight(w, "/v1/modules/gnu:00", stranger, "DELETE");
	assert_string_equal(a.origin, "");
	assert_string_equal(a.allow, "GET, HEAD, DELETE");
	a = preflight(w, "/v1/modules/gnu:00", stranger, "BREW");
	assert_string_equal(a.origin, "");
	assert_int_equal(preflight(w, "/nowhere", stranger, "GET").status, 404);
	w->s.server.local_only = true;
	assert_string_equal(preflight(w, "/v1/modules", stranger, "GET").origin, "");
	assert_string_equal(preflight(w, "/v1/modules", profiler, "GET").origin,
			    "https://profiler.firefox.com");
	assert_string_equal(preflight(w, "/n/theirs/v1/modules", profiler, "GET").origin, "");
	put_namespace(w, (struct ux_namespace){.name = "theirs", .reading = UX_NS_OPEN});
	assert_string_equal(preflight(w, "/n/theirs/v1/modules", stranger, "GET").origin, "*");
	char target[128];
	snprintf(target, sizeof(target), "/k/%s/v1/modules", w->theirs);
	assert_string_equal(preflight(w, target, stranger, "GET").origin, "*");
	snprintf(target, sizeof(target), "/k/%s/v1/modules", w->ours);
	assert_string_equal(preflight(w, target, stranger, "GET").origin, "");
	assert_string_equal(preflight(w, "/k/ux_bad/v1/modules", stranger, "GET").origin, "");
	assert_int_equal(preflight(w, "/k/ux_bad/v1/modules", stranger, "GET").status, 204);
	/* without an Origin, it is an ordinary request */
	a = ask_as(w, &(struct make_ask){.method = "OPTIONS", .target = "/v1/uploads/x"});
	assert_int_equal(a.status, 204);
	assert_string_equal(a.allow, "GET, HEAD, PUT");
	ux_out_deinit(&a.body);
}

/* The routes with another method than GET that only read. All others write. */
static const char *const reading[] = {
	"/v1/symbolize", "/v1/symbolize/otlp", "/symbolicate/v5",      "/source/v1",
	"/asm/v1",       "/pprof/{id}/symbol", "/p/{id}/pprof/symbol", "/symbolize",
};

static bool route_writes(const struct ux_route *route)
{
	for (size_t i = 0; i < ux_countof(reading); i++)
		if (strcmp(reading[i], route->pattern) == 0)
			return false;
	return route->method != UX_METHOD_GET;
}

/* A path of the route, with an ID for each placeholder. */
static void target_of(const struct ux_route *route, char *ret, size_t size)
{
	size_t n = 0;
	for (const char *p = route->pattern; *p && n + 8 < size; p++)
		if (*p == '{') {
			n += (size_t)snprintf(ret + n, size - n, "gnu:00");
			p = strchr(p, '}');
		} else {
			ret[n++] = *p;
		}
	ret[n] = '\0';
}

static unsigned status_for(struct world *w, const struct ux_route *route, const char *token,
			   const char *line)
{
	char target[128];
	target_of(route, target, sizeof(target));
	struct make_answer a = ask_as(w, &(struct make_ask){.method = ux_method_name(route->method),
							    .target = target,
							    .token = token,
							    .headers = LINES(line),
							    .body = UX_STR("x")});
	ux_out_deinit(&a.body);
	if (a.origin[0] != '\0')
		fail_msg("%s shows its answer to %s", target, a.origin);
	return a.status;
}

/* On a server that is open to its machine: any page that is open there can send requests to it. */
static void pages_of_other_sites_write_nothing(void **state)
{
	struct world *w = *state;
	static const char *const foreign[] = {stranger, profiler, "Origin: null",
					      "Sec-Fetch-Site: cross-site"};
	size_t n = 0;
	w->s.server.local_only = true;
	for (size_t i = 0; i < ux_server_route_count; i++) {
		const struct ux_route *route = &ux_server_routes[i];
		char target[128];
		if (!route_writes(route))
			continue;
		n++;
		target_of(route, target, sizeof(target));
		for (size_t k = 0; k < ux_countof(foreign); k++) {
			unsigned status = status_for(w, route, NULL, foreign[k]);
			if (status != 401 && status != 403)
				fail_msg("%s %s with %s: %u", ux_method_name(route->method), target,
					 foreign[k], status);
		}
		assert_string_equal(
			preflight(w, target, profiler, ux_method_name(route->method)).origin, "");
		/* it is the page that is refused: programs without a key and own pages are not */
		if (!route->keeps)
			continue;
		assert_int_equal(status_for(w, route, NULL, profiler), 403);
		assert_int_equal(status_for(w, route, NULL, "Accept: x"), 415);
		assert_int_equal(status_for(w, route, NULL, "Sec-Fetch-Site: same-origin"), 415);
		assert_int_equal(status_for(w, route, w->s.admin, profiler), 415);
	}
	assert_true(n > 20);
}

#define ACCESS_TEST(fn) cmocka_unit_test_setup_teardown(fn, open_world, close_world)

UX_SUITE(access)
{
	const struct CMUnitTest tests[] = {
		ACCESS_TEST(every_route_shows_a_module_to_keys_of_its_namespace_alone),
		ACCESS_TEST(namespace_says_who_may_read_it),
		ACCESS_TEST(what_another_process_changes_is_seen_after_a_second),
		ACCESS_TEST(token_in_a_path_only_reads),
		ACCESS_TEST(what_comes_through_a_proxy_is_not_of_this_machine),
		ACCESS_TEST(key_of_another_namespace_is_refused_where_this_machine_may_read),
		ACCESS_TEST(work_counts_for_the_namespace_of_the_key_whatever_it_reads),
		ACCESS_TEST(address_of_the_client_is_what_the_audit_keeps),
		ACCESS_TEST(pins_are_shown_and_taken_away),
		ACCESS_TEST(whoami_tells_what_a_key_may),
		ACCESS_TEST(who_asks_too_often_hears_when_to_come_again),
		ACCESS_TEST(key_has_its_own_rate_wherever_it_is),
		ACCESS_TEST(clients_of_debuginfod_wait_for_their_turn),
		ACCESS_TEST(uploads_that_are_open_are_bounded),
		ACCESS_TEST(key_has_its_own_number_of_uploads),
		ACCESS_TEST(quota_is_kept_and_said),
		ACCESS_TEST(pages_read_where_everybody_does),
		ACCESS_TEST(pages_are_announced_beforehand),
		ACCESS_TEST(pages_of_other_sites_write_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
