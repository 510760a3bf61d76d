/* SPDX-License-Identifier: Apache-2.0 */
/* unhex push: uploads symbols to a server. */
#include "commands.h"
#include "dash_file.h"

#include "common_options.h"
#include "git_revision.h"
#include "interrupt.h"
#include "json_out.h"
#include "output.h"
#include "path_list.h"
#include "push_out.h"
#include "push_run.h"
#include "sigbus.h"
#include "terminal.h"
#include "text.h"

#include <pthread.h>

enum {
	TIMEOUT_S = 600,
	RETRIES = 11, /* attempts; with the pauses between them, a minute */
	JOBS_MAX = 64,
	PATHS_MAX = 512 << 20, /* bytes of memory for the paths of --files-from */
};

struct push_values {
	struct ux_server_values server;
	const char *exe;
	const char *debug;
	struct ux_option_each pids;
	const char *files_from;
	struct ux_option_each images;
	const char *platform;
	char *debug_dir;
	const char *description;
	unsigned timeout_s;
	unsigned retries;
	bool no_retries;
	bool no_git;
	const char *proxy;
	unsigned jobs;
	uint64_t memory;
	bool force;
	bool dry_run;
	bool allow_mismatch;
	bool no_gpu;
	bool no_archives;
	bool with_debuginfo;
	bool sources;
	char *prefixes;
	bool json;
	bool verbose;
};

static const struct ux_option push_options[] = {
	UX_SERVER_OPTIONS(struct push_values, server),
	{"exe", 'e', UX_OPTION_TEXT, offsetof(struct push_values, exe), "EXE",
	 "push this file, under its identity"},
	{"debug", 'd', UX_OPTION_TEXT, offsetof(struct push_values, debug), "DEBUG",
	 "with -e: take the symbols from this unstripped or .debug file"},
	{"pid", 'p', UX_OPTION_EACH, offsetof(struct push_values, pids), "PID",
	 "push the files that this process has mapped; may be repeated"},
	{"image", 0, UX_OPTION_EACH, offsetof(struct push_values, images), "IMAGE",
	 "push the programs of a container image: an OCI layout folder, an output of docker "
	 "save, or a reference; may be repeated"},
	{"platform", 0, UX_OPTION_TEXT, offsetof(struct push_values, platform), "OS/ARCH",
	 "platform of a multi-platform image, or all [this machine's]"},
	{"files-from", 0, UX_OPTION_TEXT, offsetof(struct push_values, files_from), "FILE",
	 "push the paths in this file (- for standard input), one per line or separated by NUL"},
	UX_DEBUG_DIR_OPTION(struct push_values, debug_dir),
	{"force", 'f', UX_OPTION_FLAG, offsetof(struct push_values, force), NULL,
	 "upload even if the server already has the symbols"},
	{"allow-mismatch", 0, UX_OPTION_FLAG, offsetof(struct push_values, allow_mismatch), NULL,
	 "accept a debug file with another build ID"},
	{"with-debuginfo", 0, UX_OPTION_FLAG, offsetof(struct push_values, with_debuginfo), NULL,
	 "upload ELF files whole: the server extracts and serves them"},
	{"sources", 0, UX_OPTION_FLAG, offsetof(struct push_values, sources), NULL,
	 "also upload the source files that the symbols name, if they exist here"},
	{"source-prefix", 0, UX_OPTION_LIST, offsetof(struct push_values, prefixes), "FROM=TO",
	 "with --sources: read source files of the build folder FROM from TO"},
	{"no-gpu", 0, UX_OPTION_FLAG, offsetof(struct push_values, no_gpu), NULL,
	 "leave out the GPU code in programs"},
	{"no-archives", 0, UX_OPTION_FLAG, offsetof(struct push_values, no_archives), NULL,
	 "do not look into packages, wheels and other archives"},
	{"description", 0, UX_OPTION_TEXT, offsetof(struct push_values, description), "TEXT",
	 "text to store with the symbols, such as a release or commit"},
	{"no-git", 0, UX_OPTION_FLAG, offsetof(struct push_values, no_git), NULL,
	 "do not store the git revision and the CI run with the symbols"},
	{"timeout", 0, UX_OPTION_COUNT, offsetof(struct push_values, timeout_s), "SECONDS",
	 "timeout of the whole run [600]"},
	{"total-timeout", 0, UX_OPTION_COUNT, offsetof(struct push_values, timeout_s), "SECONDS",
	 "same as --timeout"},
	{"retries", 0, UX_OPTION_COUNT, offsetof(struct push_values, retries), "N",
	 "maximum retries of a failed request [11: about a minute]"},
	{"no-retries", 0, UX_OPTION_FLAG, offsetof(struct push_values, no_retries), NULL,
	 "do not retry a failed request"},
	{"proxy", 0, UX_OPTION_TEXT, offsetof(struct push_values, proxy), "URL",
	 "reach the server through this proxy [https_proxy, http_proxy, no_proxy]"},
	{"jobs", 0, UX_OPTION_COUNT, offsetof(struct push_values, jobs), "N",
	 "files to extract and upload in parallel [extract one per processor, upload 64]"},
	{"memory", 0, UX_OPTION_BYTES, offsetof(struct push_values, memory), "SIZE",
	 "maximum memory of all extractions together; the rest goes to files in /var/tmp"},
	{"dry-run", 'n', UX_OPTION_FLAG, offsetof(struct push_values, dry_run), NULL,
	 "ask the server which symbols it lacks; upload nothing"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct push_values, json), NULL,
	 "print one JSON object per file"},
	{"verbose", 'v', UX_OPTION_FLAG, offsetof(struct push_values, verbose), NULL,
	 "also print the files in folders that push skips"},
};

/* The state of the command. */
struct push {
	const struct push_values *values;
	struct ux_out out;
	bool broken; /* standard output is closed */
	struct ux_progress progress;
	struct ux_push_summary done; /* counts so far */
	struct ux_push_unlisted unlisted;
	uint64_t unreached;          /* failed files that a connection error caused */
	char retried[UX_ERROR_TEXT]; /* the last cause of a retry that was printed; "": none */
	pthread_mutex_t lock; /* protects output and counts: on a signal, another thread prints the
				 summary */
};

static void cmd_push_deinit(struct push *push)
{
	ux_out_deinit(&push->out);
}

static pthread_mutex_t *push_lock(struct push *push)
{
	(void)pthread_mutex_lock(&push->lock);
	return &push->lock;
}

static void push_unlock(pthread_mutex_t **lock)
{
	(void)pthread_mutex_unlock(*lock);
}

static void push_on_progress(void *ctx, const struct ux_push_progress *progress)
{
	struct push *push = ctx;
	ux_cleanup(push_unlock) pthread_mutex_t *lock = push_lock(push);
	(void)lock; /* held to the end of the scope */
	push->progress.files = progress->files;
	push->progress.files_total = progress->files_total;
	push->progress.bytes = progress->bytes;
	push->progress.work = progress->work;
	push->progress.work_total = progress->work_total;
	ux_progress_show(&push->progress);
}

static void push_on_result(void *ctx, const struct ux_push_result *r)
{
	struct push *push = ctx;
	ux_cleanup(push_unlock) pthread_mutex_t *lock = push_lock(push);
	(void)lock; /* held to the end of the scope */
	push->done.counts[r->status]++;
	push->done.planned += r->planned;
	push->unreached += r->unreached;
	if (r->quiet && !push->values->verbose) {
		ux_push_unlisted_add(&push->unlisted, r->reason);
		return;
	}
	if (r->unreached && !push->values->json) /* the error itself is printed once */
		return;
	ux_progress_clear(&push->progress);
	if (push->values->json)
		ux_push_result_json(&push->out, r);
	else
		ux_push_result_text(&push->out, r);
	if (r->warning && !push->values->json)
		ux_print_message("%s: %s", r->path, r->warning);
	struct ux_error err = UX_ERROR_INIT;
	if (ux_flush(&push->out, &err) != UX_OK && !push->broken) {
		ux_print_error("standard output", &err);
		push->broken = true;
	}
}

/* Prints the cause once, however many files wait for the server. */
static void push_on_retrying(void *ctx, const struct ux_error *why)
{
	struct push *push = ctx;
	ux_cleanup(push_unlock) pthread_mutex_t *lock = push_lock(push);
	(void)lock; /* held to the end of the scope */
	if (strcmp(push->retried, why->text) == 0)
		return;
	snprintf(push->retried, sizeof(push->retried), "%s", why->text);
	ux_progress_clear(&push->progress);
	ux_print_message("push: %s; retrying", why->text);
}

static void push_on_reading(void *ctx, const char *path)
{
	(void)ctx;
	ux_sigbus_reading(path);
}

/* Prints the summary when a signal ends the command. The process ends with the lock held, so that
 * nothing is printed afterwards. */
static void push_on_interrupt(void *ctx)
{
	struct push *push = ctx;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	(void)push_lock(push);
	ux_progress_clear(&push->progress);
	ux_out_cstr(&out, "interrupted: ");
	ux_push_summary_write(&out, &push->done, push->values->dry_run);
	if (!push->values->json)
		(void)!ux_flush(&out, &err);
	ux_print_message("push: interrupted; run push again to upload the rest");
}

/* Prints the summary and computes the exit status of a finished run. */
static int push_finish(struct push *push, const struct ux_push_summary *s)
{
	uint64_t reported = 0;
	for (size_t i = 0; i < UX_PUSH_STATUS_COUNT; i++)
		reported += s->counts[i];
	if (!push->values->json) {
		ux_push_unlisted_write(&push->out, &push->unlisted);
		ux_push_summary_write(&push->out, s, push->values->dry_run);
	}
	if (reported == s->quiet)
		ux_print_message("push: found no executables or shared objects");
	bool good = s->counts[UX_PUSH_DONE_FAILED] == 0 && reported > s->quiet && !push->broken;
	return ux_finish(&push->out, good ? UX_EXIT_DONE : UX_EXIT_SOME);
}

/* The inputs of a push: operands, listed files, and processes. */
struct push_inputs {
	struct ux_arena arena;
	struct ux_path_list paths;
	pid_t pids[UX_OPTION_EACH_MAX];
	size_t n_pids;
};

static void push_inputs_deinit(struct push_inputs *in)
{
	ux_path_list_deinit(&in->paths);
	ux_arena_deinit(&in->arena);
}

/* Reads the inputs. False: a message was printed, and *ret_status is the exit status. */
static bool push_inputs_read(const struct ux_command *cmd, const struct ux_args *args,
			     const struct push_values *v, struct push_inputs *in, int *ret_status)
{
	struct ux_error err = UX_ERROR_INIT;
	ux_arena_init(&in->arena, PATHS_MAX);
	for (size_t i = 0; i < v->pids.n; i++) {
		uint64_t pid = 0;
		if (!ux_decimal_parse(ux_bytes_cstr(v->pids.items[i]), &pid) || pid == 0 ||
		    pid > INT_MAX) {
			*ret_status = ux_usage_error(
				cmd, "--pid: \"%s\" is not a process ID; expected a number",
				v->pids.items[i]);
			return false;
		}
		in->pids[in->n_pids++] = (pid_t)pid;
	}
	for (size_t i = 0; i < args->n; i++)
		if (!ux_path_list_append(&in->paths, args->items[i]))
			ux_error_nomem(&err);
	if (err.code != UX_OK || (v->files_from && ux_path_list_read(&in->paths, v->files_from,
								     &in->arena, &err) != UX_OK)) {
		ux_print_error(v->files_from, &err);
		*ret_status = err.code == UX_ENOMEM ? UX_EXIT_SOME : UX_EXIT_USAGE;
		return false;
	}
	return true;
}

static int push_run(struct push *push, const struct push_inputs *in, struct push_values *v)
{
	static struct ux_server_selection server;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_push_summary summary;
	if (ux_server_select(&v->server, &server, &err) != UX_OK) {
		ux_print_error(server.subject, &err);
		return UX_EXIT_USAGE;
	}
	static struct ux_git_origin origin;
	if (!v->no_git)
		ux_git_find_origin(v->exe               ? v->exe
				   : in->paths.size > 0 ? in->paths.data[0]
							: NULL,
				   &origin);
	struct ux_push_options how = {
		.url = server.url,
		.cacert = server.cacert,
		.token = server.token,
		.debug_dirs = v->debug_dir,
		.description = v->description,
		.provenance = origin.known,
		.describes = v->description != NULL,
		.exe = v->exe,
		.debug = v->debug,
		.pids = in->pids,
		.n_pids = in->n_pids,
		.images = v->images.items,
		.n_images = v->images.n,
		.platform = v->platform,
		.force = v->force,
		.dry_run = v->dry_run,
		.allow_mismatch = v->allow_mismatch,
		.no_gpu = v->no_gpu,
		.no_archives = v->no_archives,
		.with_debuginfo = v->with_debuginfo,
		.sources = v->sources,
		.prefixes = v->prefixes,
		.timeout_ms = v->timeout_s * INT64_C(1000),
		.retries = v->no_retries ? 0 : v->retries,
		.proxy = v->proxy,
		.jobs = v->jobs,
		.memory = v->memory,
		.names_at_least = v->memory > 0,
		.result = push_on_result,
		.retrying = push_on_retrying,
		.reading = push_on_reading,
		.progress = push_on_progress,
		.ctx = push,
	};
	ux_progress_init(&push->progress, v->dry_run ? "push (dry run)" : "push");
	ux_interrupt_begin(push_on_interrupt, push);
	enum ux_code code = ux_push_run(&how, in->paths.data, in->paths.size, &summary, &err);
	(void)push_lock(push);
	ux_progress_clear(&push->progress);
	(void)pthread_mutex_unlock(&push->lock);
	if (code == UX_OK)
		return push_finish(push, &summary);
	bool named = strstr(err.text, "://"); /* "cannot reach URL: why" */
	ux_server_print_error(&server, named ? NULL : server.url, &err);
	if (push->unreached > 1 && !v->json)
		ux_print_message("push: %" PRIu64
				 " files were not pushed; run push again to upload the rest",
				 push->unreached);
	return code == UX_ENOMEM || code == UX_ELIMIT ? UX_EXIT_SOME
	       : code == UX_EINVAL                    ? UX_EXIT_USAGE
						      : UX_EXIT_SERVER;
}

static void push_values_deinit(struct push_values *v)
{
	free(v->debug_dir);
	free(v->prefixes);
}

static int cmd_push_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(push_values_deinit) struct push_values v = {.timeout_s = TIMEOUT_S,
							       .retries = RETRIES};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (v.debug && !v.exe)
		return ux_usage_error(cmd, "-d needs -e: name the file that the symbols belong to");
	struct ux_error err = UX_ERROR_INIT;
	if (ux_push_prefixes_check(v.prefixes, &err) != UX_OK)
		return ux_usage_error(cmd, "--source-prefix: %s", err.text);
	for (size_t i = 0; i < args.n; i++)
		if (ux_dash_is(args.items[i]))
			return ux_usage_error(
				cmd, "cannot push standard input: expected the path of a file or "
				     "folder");
	if (v.platform && v.images.n == 0)
		return ux_usage_error(cmd, "--platform needs --image");
	if (v.prefixes && !v.sources)
		return ux_usage_error(cmd, "--source-prefix needs --sources");
	if (args.n == 0 && !v.exe && v.pids.n == 0 && v.images.n == 0 && !v.files_from)
		return ux_usage_error(cmd, "no file or folder given");
	ux_cleanup(push_inputs_deinit) struct push_inputs in = {0};
	if (!push_inputs_read(cmd, &args, &v, &in, &status))
		return status;
	ux_cleanup(cmd_push_deinit) struct push push = {.values = &v,
							.lock = PTHREAD_MUTEX_INITIALIZER};
	return push_run(&push, &in, &v);
}

const struct ux_command ux_cmd_push = {
	.name = "push",
	.usage = "PATH... [options]\n-e EXE [-d DEBUG] [options]\n--pid PID... | --image IMAGE... "
		 "[options]",
	.line = "upload symbols of binaries",
	.text = "Uploads the symbols that the server does not have yet. Reads ELF and Mach-O files, also in\n"
		"folders, packages, wheels and other archives, running processes and container "
		"images. A\n"
		"confined child reads archives and images. push extracts the symbols on this "
		"machine and\n"
		"uploads no binaries without --with-debuginfo. It finds the debug file of a "
		"stripped binary by\n"
		"its build ID, or takes the file in -d. --sources uploads source files, too, "
		"for debuggers and\n"
		"profilers: those of the git trees, or else the folders, of the pushed files and "
		"of the working\n"
		"folder, those below TO of --source-prefix, and those of /usr; no link leads out "
		"of them.\n"
		"Prints a line per file: uploaded, already-there, better-there, skipped or failed. "
		"For files in\n"
		"folders that are not programs it prints one line, with their number by reason.",
	.examples = "  unhex push build/ --token-file ~/.unhex-token\n"
		    "  unhex push -e app -d app.debug --description \"release 1.4\"\n"
		    "  unhex push dist/app-1.0.whl app_1.0_amd64.deb\n"
		    "  unhex push --image registry.example.com/team/app:1.4\n"
		    "  unhex push --dry-run /usr/bin",
	.options = push_options,
	.n_options = ux_countof(push_options),
	.run = cmd_push_run,
};
