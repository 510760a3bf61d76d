/* SPDX-License-Identifier: Apache-2.0 */
/* unhex crawl work: extracts packages to symbols on a server, and prints a line for each. */
#include "commands.h"

#include "common_options.h"
#include "crawl_worker.h"
#include "json_out.h"
#include "output.h"
#include "path_base.h"

#include <stdlib.h>

enum {
	ENDING_MAX = 16
};

struct crawl_work_output {
	struct ux_out out;
	bool json;
};

static uint64_t crawl_work_modules(const struct ux_push_summary *s)
{
	uint64_t n = 0;
	for (int i = 0; i < UX_PUSH_STATUS_COUNT; i++)
		n += s->counts[i];
	return n;
}

static void crawl_work_json(struct crawl_work_output *o, const struct ux_package *package,
			    const struct ux_crawl_result *r)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	struct ux_json j = ux_json_make(&o->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "package", package->url);
	ux_json_key_cstr(&j, "outcome", ux_crawl_outcome_name(r->outcome));
	if (r->why.code != UX_OK) {
		ux_json_key_cstr(&j, "cause", r->cause);
		ux_json_key_cstr(&j, "reason", ux_error_format(&r->why, text, sizeof(text)));
	}
	ux_json_key_u64(&j, "members", r->members);
	ux_json_key(&j, "passed_over");
	ux_json_object_begin(&j);
	for (int i = 0; i < UX_PASSED_COUNT; i++)
		ux_json_key_u64(&j, ux_crawl_passed_name((enum ux_crawl_passed)i), r->passed[i]);
	ux_json_object_end(&j);
	ux_json_key_u64(&j, "bad", r->bad);
	if (r->bad > 0)
		ux_json_key_cstr(&j, "first_bad",
				 ux_error_format(&r->first_bad, text, sizeof(text)));
	for (int i = 0; i < UX_PUSH_STATUS_COUNT; i++)
		ux_json_key_u64(&j, ux_push_status_name((enum ux_push_status)i),
				r->modules.counts[i]);
	ux_json_key_u64(&j, "bytes_fetched", r->bytes_fetched);
	ux_json_key_u64(&j, "bytes_unpacked", r->bytes_unpacked);
	ux_json_key_u64(&j, "bytes_stored", r->bytes_stored);
	ux_json_object_end(&j);
	ux_out_u8(&o->out, '\n');
}

/* Appends ", passed over: N object files, N ..."; nothing if all files were used. */
static void crawl_work_passed(struct ux_out *out, const uint64_t passed[UX_PASSED_COUNT])
{
	static const char *const kinds[] = {
		[UX_PASSED_UNLINKED] = "object files that no program maps",
		[UX_PASSED_FOREIGN] = "other files",
		[UX_PASSED_NO_SYMBOLS] = "without symbols",
	};
	const char *before = ", passed over: ";
	for (int i = 0; i < UX_PASSED_COUNT; i++) {
		if (passed[i] == 0)
			continue;
		ux_out_fmt(out, "%s%" PRIu64 " %s", before, passed[i], kinds[i]);
		before = ", ";
	}
}

static void crawl_work_text(struct crawl_work_output *o, const struct ux_package *package,
			    const struct ux_crawl_result *r)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_text(&o->out, ux_bytes_cstr(package->url));
	ux_out_fmt(&o->out, ": %s", ux_crawl_outcome_name(r->outcome));
	if (r->why.code != UX_OK) {
		ux_out_fmt(&o->out, ", %s: ", r->cause);
		ux_text(&o->out, ux_bytes_cstr(ux_error_format(&r->why, text, sizeof(text))));
		ux_out_u8(&o->out, '\n');
		return;
	}
	ux_out_fmt(&o->out,
		   ", %" PRIu64 " modules (%" PRIu64 " uploaded, %" PRIu64 " already there), ",
		   crawl_work_modules(&r->modules), r->modules.counts[UX_PUSH_DONE_UPLOADED],
		   r->modules.counts[UX_PUSH_DONE_ALREADY_THERE]);
	ux_text_size(&o->out, r->bytes_fetched);
	ux_out_cstr(&o->out, " read, ");
	ux_text_size(&o->out, r->bytes_unpacked);
	ux_out_cstr(&o->out, " unpacked, ");
	ux_text_size(&o->out, r->bytes_stored);
	ux_out_cstr(&o->out, " stored");
	crawl_work_passed(&o->out, r->passed);
	if (r->bad > 0) {
		ux_out_fmt(&o->out, ", %" PRIu64 " unreadable files, the first: ", r->bad);
		ux_text(&o->out, ux_bytes_cstr(ux_error_format(&r->first_bad, text, sizeof(text))));
	}
	ux_out_u8(&o->out, '\n');
}

/* Called with a lock of the worker. */
static void crawl_work_on_end(void *ctx, const struct ux_package *package,
			      const struct ux_crawl_result *r)
{
	struct crawl_work_output *o = ctx;
	(o->json ? crawl_work_json : crawl_work_text)(o, package, r);
	(void)!ux_flush(&o->out, NULL); /* the work goes on if the reader of the output has gone */
}

static void crawl_work_summary(struct crawl_work_output *o, const struct ux_crawl_work_summary *s)
{
	ux_out_fmt(&o->out,
		   "packages: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64 " later; modules: "
		   "%" PRIu64 " uploaded, %" PRIu64 " already there; ",
		   s->outcomes[UX_CRAWL_DONE], s->outcomes[UX_CRAWL_FAILED],
		   s->outcomes[UX_CRAWL_LATER], s->modules.counts[UX_PUSH_DONE_UPLOADED],
		   s->modules.counts[UX_PUSH_DONE_ALREADY_THERE]);
	ux_text_size(&o->out, s->bytes_fetched);
	ux_out_cstr(&o->out, " read, ");
	ux_text_size(&o->out, s->bytes_stored);
	ux_out_cstr(&o->out, " stored");
	crawl_work_passed(&o->out, s->passed);
	ux_out_u8(&o->out, '\n');
}

/* Returns the kind of a package, by the ending of its name. A layer is any other archive. */
static enum ux_package_kind crawl_work_kind(const char *name)
{
	static const struct {
		char ending[ENDING_MAX];
		enum ux_package_kind kind;
	} known[] = {
		{".deb", UX_PACKAGE_DEB},           {".udeb", UX_PACKAGE_DEB},
		{".ddeb", UX_PACKAGE_DEB},          {".rpm", UX_PACKAGE_RPM},
		{".apk", UX_PACKAGE_APK},           {".pkg.tar.zst", UX_PACKAGE_PACMAN},
		{".pkg.tar.xz", UX_PACKAGE_PACMAN},
	};
	size_t n = strlen(name);
	for (size_t i = 0; i < ux_countof(known); i++) {
		size_t e = strlen(known[i].ending);
		if (n > e && strcmp(name + n - e, known[i].ending) == 0)
			return known[i].kind;
	}
	return UX_PACKAGE_LAYER;
}

/* Makes a package from only its place. *path is malloc'ed if the place was relative. */
static bool crawl_work_package(const char *place, struct ux_package *ret, char **path)
{
	bool remote = strstr(place, "://") != NULL;
	*path = remote ? NULL : realpath(place, NULL);
	const char *url = *path ? *path : place;
	*ret = (struct ux_package){.key = "",
				   .distribution = "",
				   .suite = "",
				   .component = "",
				   .arch = "",
				   .name = ux_path_base(url),
				   .version = "",
				   .source = "",
				   .url = url,
				   .kind = crawl_work_kind(url),
				   .role = UX_PACKAGE_DEBUG};
	return remote || *path;
}

static int crawl_work_finish(struct crawl_work_output *o, enum ux_code code,
			     const struct ux_crawl_work_summary *s,
			     const struct ux_server_selection *server, const struct ux_error *err)
{
	if (!o->json)
		crawl_work_summary(o, s);
	bool failed = s->outcomes[UX_CRAWL_FAILED] + s->outcomes[UX_CRAWL_LATER] > 0;
	int status = ux_finish(&o->out, failed ? UX_EXIT_SOME : UX_EXIT_DONE);
	if (code == UX_OK)
		return status;
	(void)ux_server_print_error(server, "crawl", err);
	return UX_EXIT_SERVER;
}

int ux_crawl_work_run(const struct ux_server_selection *server,
		      const struct ux_crawl_work_options *options, char *const *packages, size_t n,
		      bool json)
{
	struct crawl_work_output o = {.json = json};
	struct ux_crawl_work_options all = *options;
	struct ux_crawl_work_summary s = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_package *list = calloc(n + 1, sizeof(*list));
	char **paths = calloc(n + 1, sizeof(*paths));
	int status = UX_EXIT_USAGE;
	bool there = list && paths;
	for (size_t i = 0; i < n && there; i++) {
		there = crawl_work_package(packages[i], &list[i], &paths[i]);
		if (!there)
			ux_print_message("crawl: %s: no such file or folder", packages[i]);
	}
	if (there) {
		all.packages = list;
		all.n_packages = n;
		all.takes = n == 0;
		all.ended = crawl_work_on_end;
		all.ctx = &o;
		enum ux_code code = ux_crawl_work(&all, &s, &err);
		status = crawl_work_finish(&o, code, &s, server, &err);
	}
	for (size_t i = 0; paths && i < n; i++)
		free(paths[i]);
	free(paths);
	free(list);
	ux_out_deinit(&o.out);
	return status;
}
