/* SPDX-License-Identifier: Apache-2.0 */
/* unhex modules: lists, describes and deletes the modules of a server. */
#include "commands.h"

#include "common_options.h"
#include "http_client.h"
#include "json_out.h"
#include "output.h"
#include "remote_modules.h"
#include "server_answer.h"

enum {
	ARENA = 64 << 10,
	PAGE = 1000,           /* modules of an answer: the server's limit */
	ANSWER_MAX = 64 << 20, /* bytes of a page */
	NO_CONTENT = 204,
};

struct modules_values {
	struct ux_server_values server;
	const char *id;
	const char *file;
	const char *git;
	const char *ci_run;
	const char *package;
	unsigned limit;
	bool dry_run;
	bool json;
};

static const struct ux_option modules_options[] = {
	{"id", 0, UX_OPTION_TEXT, offsetof(struct modules_values, id), "PREFIX",
	 "list: only modules with an ID that starts with PREFIX", .verbs = "list"},
	{"file", 0, UX_OPTION_TEXT, offsetof(struct modules_values, file), "NAME",
	 "list: only modules whose file has this path, or this name if NAME has no slash",
	 .verbs = "list"},
	{"git", 0, UX_OPTION_TEXT, offsetof(struct modules_values, git), "REVISION",
	 "list: only modules built from a revision that starts with REVISION, newest first",
	 .verbs = "list"},
	{"ci-run", 0, UX_OPTION_TEXT, offsetof(struct modules_values, ci_run), "URL",
	 "list: only modules that this CI run built, newest first", .verbs = "list"},
	{"package", 0, UX_OPTION_TEXT, offsetof(struct modules_values, package), "NAME",
	 "list: only modules from a package of this name, newest first", .verbs = "list"},
	{"limit", 0, UX_OPTION_COUNT, offsetof(struct modules_values, limit), "N",
	 "list: maximum number of modules [all]", .verbs = "list"},
	{"dry-run", 'n', UX_OPTION_FLAG, offsetof(struct modules_values, dry_run), NULL,
	 "delete: only print the modules to delete", .verbs = "delete"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct modules_values, json), NULL,
	 "print one JSON object per module"},
	UX_SERVER_OPTIONS(struct modules_values, server),
};

/* The state of the command. */
struct modules_job {
	const struct modules_values *values;
	struct ux_server_selection server; /* its key is dropped once the client is open */
	struct ux_http_client *client;
	struct ux_out out;
};

static void modules_job_deinit(struct modules_job *job)
{
	if (job->client)
		ux_http_client_destroy(job->client);
	ux_out_deinit(&job->out);
}

/* Requests a document. `method` may be DELETE, whose answer has no document. */
static enum ux_code modules_request(struct modules_job *job, enum ux_method method,
				    const char *path, json_t **ret, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	const struct ux_http_call call = {.method = method, .path = path, .answer_max = ANSWER_MAX};
	UX_TRY(ux_http_client_call(job->client, &call, &answer, err));
	return answer.status == NO_CONTENT ? UX_OK : ux_server_answer(&answer, ret, err);
}

/* --- list ------------------------------------------------------------------------------------- */

/* The filters of the command line, as the query needs them. */
struct modules_filter {
	const char *key;
	const char *text;
	bool paged; /* the server has further pages */
};

/* Finds the only filter that is given; its text is NULL if no filter is given. */
static enum ux_code modules_filter_select(const struct modules_values *v,
					  struct modules_filter *ret, struct ux_error *err)
{
	const struct modules_filter filters[] = {{"id", v->id, true},
						 {"file", v->file, false},
						 {"git", v->git, false},
						 {"ci_run", v->ci_run, false},
						 {"package", v->package, false}};
	*ret = (struct modules_filter){.paged = true};
	for (size_t i = 0; i < ux_countof(filters); i++) {
		if (!filters[i].text)
			continue;
		if (ret->text)
			return ux_error_set(err, UX_EINVAL,
					    "more than one of --id, --file, --git, --ci-run and "
					    "--package; expected one");
		*ret = filters[i];
	}
	return UX_OK;
}

static enum ux_code modules_list_page(struct modules_job *job, const struct modules_filter *filter,
				      const char *after, unsigned limit, json_t **ret,
				      struct ux_error *err)
{
	UX_ARENA(arena, ARENA);
	ux_cleanup(ux_free_ptr) char *path = NULL;
	const char *text =
		ux_percent_encode(&arena, ux_bytes_cstr(filter->text ? filter->text : ""));
	const char *from = ux_percent_encode(&arena, ux_bytes_cstr(after));
	if (!text || !from ||
	    asprintf(&path, "/v1/modules?limit=%u%s%s%s%s%s%s", limit, *after ? "&after=" : "",
		     from, filter->text ? "&" : "", filter->text ? filter->key : "",
		     filter->text ? "=" : "", text) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	return modules_request(job, UX_METHOD_GET, path, ret, err);
}

/* Prints a page, and returns how many modules it has. */
static enum ux_code modules_list_put(struct modules_job *job, const json_t *doc, size_t *ret_n,
				     struct ux_error *err)
{
	const json_t *modules = json_object_get(doc, "modules");
	*ret_n = json_array_size(modules);
	for (size_t i = 0; i < *ret_n; i++) {
		const json_t *module = json_array_get(modules, i);
		if (!job->values->json)
			ux_module_line(&job->out, module);
		else
			UX_TRY(ux_server_answer_line(module, &job->out, err));
	}
	return ux_flush(&job->out, err);
}

static enum ux_code modules_list(struct modules_job *job, struct ux_error *err)
{
	struct modules_filter filter;
	char after[64] = "";
	unsigned left = job->values->limit ? job->values->limit : UINT32_MAX;
	UX_TRY(modules_filter_select(job->values, &filter, err));
	for (;;) {
		ux_cleanup(json_decrefp) json_t *doc = NULL;
		unsigned max = ux_min(left, (unsigned)PAGE);
		size_t n = 0;
		UX_TRY(modules_list_page(job, &filter, after, max, &doc, err));
		UX_TRY(modules_list_put(job, doc, &n, err));
		left -= (unsigned)ux_min(n, (size_t)left);
		const char *next = json_string_value(json_object_get(doc, "next"));
		if (!filter.paged && n == PAGE && left > 0)
			ux_print_message(
				"modules: the list may be incomplete; the server returns at "
				"most %d modules",
				PAGE);
		if (!next || n == 0 || left == 0 || strlen(next) >= sizeof(after))
			return UX_OK;
		(void)snprintf(after, sizeof(after), "%s", next);
	}
}

/* --- show and delete -------------------------------------------------------------------------- */

/* Sets the path of the module whose ID begins with the text; ret_id is that ID. */
static enum ux_code modules_path(struct modules_job *job, const char *text, char *ret_id,
				 char **ret, struct ux_error *err)
{
	UX_ARENA(arena, ARENA);
	UX_TRY(ux_remote_id_resolve(job->client, text, ret_id, err));
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(ret_id));
	if (coded && asprintf(ret, "/v1/modules/%s", coded) >= 0)
		return UX_OK;
	*ret = NULL;
	return ux_error_nomem(err);
}

static enum ux_code modules_show(struct modules_job *job, const char *text, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	char id[UX_ID_TEXT];
	UX_TRY(modules_path(job, text, id, &path, err));
	UX_TRY(modules_request(job, UX_METHOD_GET, path, &doc, err));
	if (job->values->json)
		return ux_server_answer_line(doc, &job->out, err);
	ux_module_text(&job->out, doc);
	return UX_OK;
}

static void modules_delete_put(struct modules_job *job, const char *id, const json_t *module)
{
	const char *status = job->values->dry_run ? "would-delete" : "deleted";
	if (!job->values->json) {
		ux_out_fmt(&job->out, "%s ", job->values->dry_run ? "would delete" : "deleted");
		ux_module_line(&job->out, module);
		return;
	}
	struct ux_json j = ux_json_make(&job->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "id", id);
	ux_json_key_cstr(&j, "status", status);
	ux_json_object_end(&j);
	ux_out_u8(&job->out, '\n');
}

/* Requests the module first: it is printed, and a missing one is not a success. */
static enum ux_code modules_delete(struct modules_job *job, const char *text, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	ux_cleanup(json_decrefp) json_t *none = NULL;
	char id[UX_ID_TEXT];
	UX_TRY(modules_path(job, text, id, &path, err));
	UX_TRY(modules_request(job, UX_METHOD_GET, path, &doc, err));
	if (!job->values->dry_run)
		UX_TRY(modules_request(job, UX_METHOD_DELETE, path, &none, err));
	modules_delete_put(job, id, doc);
	return ux_flush(&job->out, err);
}

/* --- the command ------------------------------------------------------------------------------ */

typedef enum ux_code modules_verb_fn(struct modules_job *job, const char *text,
				     struct ux_error *err);

/* Runs the verb for each ID. Refusals and unreachable servers end the command: the next ID would
 * fail in the same way. */
static int modules_each(struct modules_job *job, modules_verb_fn *verb, char *const *ids, size_t n)
{
	int status = UX_EXIT_DONE;
	for (size_t i = 0; i < n; i++) {
		struct ux_error err = UX_ERROR_INIT;
		if (verb(job, ids[i], &err) == UX_OK)
			continue;
		status = ux_max(status, ux_server_print_error(&job->server, ids[i], &err));
		if (job->values->json)
			ux_json_failure(&job->out, ids[i], &err);
		if (status == UX_EXIT_SERVER)
			break;
	}
	return ux_finish(&job->out, status);
}

static int modules_all(struct modules_job *job)
{
	struct ux_error err = UX_ERROR_INIT;
	if (modules_list(job, &err) == UX_OK)
		return ux_finish(&job->out, UX_EXIT_DONE);
	int status = ux_server_print_error(&job->server, "modules", &err);
	return ux_finish(&job->out, err.code == UX_EINVAL ? UX_EXIT_USAGE : status);
}

/* Opens the server. No request is sent yet. */
static enum ux_code modules_open(struct modules_job *job, struct modules_values *v,
				 struct ux_error *err)
{
	struct ux_server_selection *server = &job->server;
	UX_TRY(ux_server_select(&v->server, server, err));
	const struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	enum ux_code code = ux_http_client_create(&job->client, &options, err);
	explicit_bzero(server->token, sizeof(server->token));
	return code;
}

/* Checks that the verb takes these operands. */
static int modules_check(const struct ux_command *cmd, const struct ux_args *args)
{
	const char *word = args->n > 0 ? args->items[0] : NULL;
	bool list = word && strcmp(word, "list") == 0;
	bool show = word && strcmp(word, "show") == 0;
	bool delete = word && strcmp(word, "delete") == 0;
	if (!list && !show && !delete)
		return ux_usage_verb(cmd, word, "list show delete");
	if (list && args->n > 1)
		return ux_usage_error(cmd,
				      "unexpected argument \"%.64s\"; filter with --id or --file",
				      args->items[1]);
	if (!list && args->n < 2)
		return ux_usage_error(cmd, "%s needs an ID", word);
	return UX_EXIT_DONE;
}

static int cmd_modules_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct modules_values v = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	status = modules_check(cmd, &args);
	if (status != UX_EXIT_DONE)
		return status;
	ux_cleanup(modules_job_deinit) struct modules_job job = {.values = &v};
	if (modules_open(&job, &v, &err) != UX_OK) {
		(void)ux_print_error(job.client ? "modules" : job.server.subject, &err);
		return UX_EXIT_USAGE;
	}
	if (strcmp(args.items[0], "list") == 0)
		return modules_all(&job);
	modules_verb_fn *verb = strcmp(args.items[0], "show") == 0 ? modules_show : modules_delete;
	return modules_each(&job, verb, args.items + 1, args.n - 1);
}

const struct ux_command ux_cmd_modules = {
	.name = "modules",
	.usage = "list [options]\nshow ID... [options]\ndelete ID... [options]",
	.line = "list, describe and delete modules of a server",
	.text = "list prints a line per module of the server: its ID, the best quality of its symbols, the\n"
		"time of its last change, and its file. show prints all IDs of a module, its "
		"pins, and its\n"
		"candidates, best first: their kind, quality and size, their sender and time. "
		"delete removes\n"
		"modules with all IDs and candidates, and prints them.\n"
		"\n"
		"An ID may be abbreviated to 4 characters or more after its type, if only one\n"
		"module has such an ID: 93ac61, gnu:93ac61. If several modules match, unhex "
		"lists them and\n"
		"changes nothing.\n"
		"\n"
		"Reading needs a key with the scope read, unless the server is configured "
		"otherwise;\n"
		"delete needs the scope delete.\n"
		"\n"
		"Exit status 1: an ID is unknown or ambiguous. 3: the server cannot be "
		"reached, or refuses\n"
		"the key.",
	.examples = "  unhex modules list --file libc.so.6\n"
		    "  unhex modules show 93ac61\n"
		    "  unhex modules delete --dry-run gnu:93ac61",
	.options = modules_options,
	.n_options = ux_countof(modules_options),
	.run = cmd_modules_run,
};
