/* SPDX-License-Identifier: Apache-2.0 */
/* A crash report that a command reads, part by part, and writes with names. */
#include "crash_input.h"

#include "core_file.h"
#include "core_report.h"
#include "folded.h"
#include "otlp_json.h"
#include "output.h"
#include "output_file.h"
#include "perf_script.h"
#include "sigbus.h"
#include "stripped.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PART_BYTES = 16 << 20, /* bytes of text per read */
	READ_BYTES = 1 << 16,
	DETECT_BYTES = 256 << 10, /* bytes of standard input that decide whether it is a report */
	QUIET_MS = 200,           /* ms of silence after which a followed text is a part */
	MISSING_MAX = 10,         /* modules that the report lists without --verbose */
};

void ux_crash_input_close(struct ux_crash_input *in)
{
	ux_sigbus_reading(NULL);
	ux_file_unmap(&in->file);
	ux_dash_file_close(&in->dash);
	ux_out_deinit(&in->head);
	ux_out_deinit(&in->report);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Returns whether the text is a report and not a profile. Text profiles have lines like those in
 * reports, and reports begin with lines of any kind: one that ends with a number may be a folded
 * stack. */
static bool crash_input_is(struct ux_bytes text)
{
	struct ux_bytes frame;
	return !ux_perf_script_is(text) && !ux_otlp_json_is(text) && ux_crash_is(text, &frame) &&
	       !ux_folded_is(frame);
}

/* Reads the available bytes. Waits for the first byte. */
static enum ux_code crash_input_fill(struct ux_crash_input *in, struct ux_error *err)
{
	uint8_t *to = ux_out_room(&in->head, READ_BYTES);
	if (!to)
		return ux_error_nomem(err);
	in->head.size -= READ_BYTES;
	ssize_t n;
	do
		n = read(STDIN_FILENO, to, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return ux_error_os(err, errno, "cannot read");
	in->head.size += (size_t)n;
	in->at_end = n == 0;
	return UX_OK;
}

static enum ux_code crash_input_open_stream(struct ux_crash_input *in, bool *ret_is_report,
					    struct ux_error *err)
{
	in->is_stream = true;
	/* Examine the text again each time it has doubled, so that the work is proportional to its
	 * size. */
	for (size_t looked = 0; !*ret_is_report;) {
		UX_TRY(crash_input_fill(in, err));
		struct ux_bytes head = ux_out_bytes(&in->head);
		bool enough = in->at_end || head.size >= DETECT_BYTES;
		if (!enough && head.size < 2 * looked)
			continue;
		looked = head.size;
		const uint8_t *end = enough ? NULL : ux_bytes_find_last(head, '\n');
		if (enough || end)
			*ret_is_report = crash_input_is(
				enough ? head : ux_bytes(head.data, (size_t)(end + 1 - head.data)));
		if (enough)
			break;
	}
	return UX_OK;
}

enum ux_code ux_crash_input_open(struct ux_crash_input *in, const char *name, bool *ret_is_report,
				 struct ux_error *err)
{
	struct stat st;
	const char *path = NULL;
	*ret_is_report = false;
	if (ux_dash_is(name) && !isatty(STDIN_FILENO) &&
	    (fstat(STDIN_FILENO, &st) != 0 || !S_ISREG(st.st_mode)))
		return crash_input_open_stream(in, ret_is_report, err);
	UX_TRY(ux_dash_file_read(&in->dash, name, UX_BYTES_NONE, &path, err));
	ux_sigbus_reading(name);
	UX_TRY(ux_file_map(path, &in->file, err));
	in->left = in->file.bytes;
	in->is_core = ux_core_is(in->file.bytes);
	*ret_is_report = in->is_core || crash_input_is(in->left);
	return UX_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns whether no more comes soon. */
static bool crash_input_is_quiet(void)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&fd, 1, QUIET_MS) == 0;
}

/* Sets `left` to the available text; reads at most one part. */
static enum ux_code crash_input_more(struct ux_crash_input *in, struct ux_error *err)
{
	if (!in->is_stream)
		return UX_OK;
	while (!in->at_end && in->head.size < PART_BYTES) {
		if (in->follow && ux_bytes_find_last(ux_out_bytes(&in->head), '\n') &&
		    crash_input_is_quiet())
			break;
		UX_TRY(crash_input_fill(in, err));
	}
	in->left = ux_out_bytes(&in->head);
	return UX_OK;
}

/* Removes n bytes from the front. */
static void crash_input_use(struct ux_crash_input *in, size_t n)
{
	if (in->is_stream) {
		memmove(in->head.data, in->head.data + n, in->head.size - n);
		in->head.size -= n;
	} else {
		in->left = ux_bytes(in->left.data + n, in->left.size - n);
	}
}

/* Takes the next part: whole lines. *ret_is_lines is false for a piece of a line that is too long.
 */
static struct ux_bytes crash_input_part(struct ux_crash_input *in, bool *ret_is_lines)
{
	bool is_last = in->left.size <= PART_BYTES && (!in->is_stream || in->at_end);
	struct ux_bytes part = ux_bytes(in->left.data, ux_min(in->left.size, (size_t)PART_BYTES));
	*ret_is_lines = !in->cut;
	if (in->cut) { /* up to the end of the line that is too long */
		const uint8_t *end = part.size > 0 ? memchr(part.data, '\n', part.size) : NULL;
		in->cut = !end;
		part.size = end ? (size_t)(end + 1 - part.data) : part.size;
	} else if (!is_last) {
		const uint8_t *end = ux_bytes_find_last(part, '\n');
		*ret_is_lines = end != NULL;
		in->cut = !end;
		part.size = end ? (size_t)(end + 1 - part.data) : part.size;
	}
	return part;
}

enum ux_code ux_crash_input_symbolize(struct ux_crash_input *in, struct ux_crash_symbolizer *s,
				      struct ux_stream *out, struct ux_error *err)
{
	for (;;) {
		bool is_lines = false;
		UX_TRY(crash_input_more(in, err));
		if (in->left.size == 0)
			return ux_stream_flush(out, err);
		struct ux_bytes part = crash_input_part(in, &is_lines);
		if (is_lines)
			UX_TRY(ux_crash_symbolize(s, part, &out->out, err));
		else
			ux_out_put(&out->out, part.data, part.size);
		crash_input_use(in, part.size);
		UX_TRY(ux_stream_flush(out, err));
	}
}

/* --- the report ------------------------------------------------------------------------------- */

/* The module of a line: its name and its ID. */
static void crash_input_report_name(const struct ux_crash_build *b, struct ux_out *out)
{
	ux_text(out, ux_bytes_cstr(*b->name ? b->name : "frames without a module"));
	if (*b->found.id) {
		ux_out_u8(out, ' ');
		ux_text(out, ux_bytes_cstr(b->found.id));
	}
}

/* Where the symbols are from, how the file was found, and whether the choice was used. */
static void crash_input_report_source(const struct ux_crash_build *b, struct ux_out *out)
{
	const struct ux_crash_file *m = b->found.record;
	if (m && (m->source || m->path)) {
		ux_out_cstr(out, m->source ? "; symbols from " : "; file ");
		ux_text(out, ux_bytes_cstr(m->source ? m->source : m->path));
		ux_out_fmt(out, ", found %s", b->found.how);
	}
	if (b->note) {
		ux_out_cstr(out, "; ");
		ux_text(out, ux_bytes_cstr(b->note));
	}
}

/* Prints how to get better symbols, if the file is stripped. */
static void crash_input_report_advice(const struct ux_crash_file *m, bool server,
				      struct ux_stripped_told *told, struct ux_out *out)
{
	ux_cleanup(ux_out_deinit) struct ux_out advice = {0};
	if (!m || !m->source || !ux_stripped_advice(&advice, m->source, server, told))
		return;
	ux_out_cstr(out, "; it ");
	ux_out_put(out, advice.data, advice.size);
	out->failed = out->failed || advice.failed;
}

static void crash_input_report_module(const struct ux_crash_build *b, bool server,
				      struct ux_stripped_told *told, struct ux_out *out)
{
	uint64_t lacking = b->frames - b->named;
	ux_out_fmt(out, "  %" PRIu64 " of %" PRIu64 " frames named: ", b->named, b->frames);
	crash_input_report_name(b, out);
	crash_input_report_source(b, out);
	if (lacking > 0 && b->why) {
		ux_out_cstr(out, "; ");
		ux_text(out, ux_bytes_cstr(b->why));
	}
	if (lacking > 0)
		crash_input_report_advice(b->found.record, server, told, out);
	ux_out_u8(out, '\n');
}

static void crash_input_report_modules(const struct ux_crash_symbolizer *s, bool verbose,
				       struct ux_out *out)
{
	size_t shown = 0;
	struct ux_stripped_told told = {0};
	for (size_t i = 0; i < s->naming.builds.size; i++) {
		const struct ux_crash_build *b = &s->naming.builds.data[i];
		if (b->frames == 0 || (b->named == b->frames && !b->note && !verbose))
			continue;
		if (!verbose && shown++ == MISSING_MAX) {
			ux_out_cstr(out, "  more modules: list all with -v\n");
			return;
		}
		crash_input_report_module(b, s->sources->builds != NULL, &told, out);
	}
}

int ux_crash_input_report(const struct ux_crash_symbolizer *s, bool verbose, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const struct ux_crash_naming *n = &s->naming;
	uint64_t have = n->named + n->in_text;
	ux_out_fmt(&out, "unhex: %" PRIu64 " of %" PRIu64 " frames have names", have, n->frames);
	if (n->in_text > 0)
		ux_out_fmt(&out, ", %" PRIu64 " of them already in the text", n->in_text);
	ux_out_u8(&out, '\n');
	crash_input_report_modules(s, verbose, &out);
	enum ux_code code = ux_out_status(&out, err);
	if (code == UX_OK)
		code = ux_file_write(STDERR_FILENO, ux_out_bytes(&out), err);
	if (code != UX_OK)
		return ux_exit_of(code);
	return have > 0 || n->frames == 0 ? UX_EXIT_DONE : UX_EXIT_SOME;
}

/* --- the command ------------------------------------------------------------------------------ */

static enum ux_code crash_input_find(void *ctx, const char *name, struct ux_id *ids, size_t *ret_n,
				     struct ux_error *err)
{
	const struct ux_profile_input *opened = ctx;
	return ux_remote_find_file(&opened->server, name, ids, UX_CRASH_BUILDS_MAX, ret_n, err);
}

static enum ux_code crash_input_gsym(void *ctx, const struct ux_id *id, struct ux_out *ret,
				     struct ux_error *err)
{
	const struct ux_profile_input *opened = ctx;
	char text[UX_ID_TEXT];
	return ux_remote_gsym(&opened->server, ux_id_format(id, text), ret, err);
}

/* A report that is being written, and its inputs. */
struct crash_input_job {
	struct ux_profile_input opened;
	struct ux_profile_sources profile;
	struct ux_crash_sources sources;
	struct ux_crash_symbolizer s;
	struct ux_crash_choice *choices; /* malloc'ed */
	struct ux_output_file out;
};

static void crash_input_job_deinit(struct crash_input_job *job)
{
	ux_crash_naming_deinit(&job->s.naming);
	ux_crash_sources_deinit(&job->sources);
	free(job->choices);
	ux_output_file_deinit(&job->out);
	ux_profile_input_close(&job->opened);
}

/* Opens the sources of modules. */
static enum ux_code crash_input_job_open(struct crash_input_job *job,
					 const struct ux_crash_output *output,
					 struct ux_profile_options *options, struct ux_error *err)
{
	struct ux_crash_naming *n = &job->s.naming;
	job->s.demangle = output->demangle;
	job->s.verbose = options->verbose;
	job->choices = calloc(output->modules.n + 1, sizeof(*job->choices));
	if (!job->choices)
		return ux_error_nomem(err);
	for (size_t i = 0; i < output->modules.n; i++)
		job->choices[i] = ux_crash_choice_parse(ux_bytes_cstr(output->modules.items[i]));
	n->choices = job->choices;
	n->n_choices = output->modules.n;
	n->force = output->force;
	UX_TRY(ux_profile_input_sources(&job->opened, options, &job->profile, err));
	job->profile.progress = NULL; /* a report is short, or its parts are */
	job->sources.profile = &job->profile;
	job->sources.builds = job->profile.server ? crash_input_find : NULL;
	job->sources.gsym = job->profile.server ? crash_input_gsym : NULL;
	job->sources.server_ctx = &job->opened;
	return UX_OK;
}

int ux_crash_input_run(struct ux_crash_input *in, const char *name,
		       const struct ux_crash_output *output, struct ux_profile_options *options)
{
	ux_cleanup(crash_input_job_deinit) struct crash_input_job job = {
		.opened = UX_PROFILE_INPUT_INIT, .out = UX_OUTPUT_FILE_INIT};
	struct ux_error err = UX_ERROR_INIT;
	const char *subject = ux_dash_is(name) ? UX_DASH_INPUT : name;
	ux_crash_sources_init(&job.sources);
	job.s.sources = &job.sources;
	job.s.naming.source = &job.sources.source;
	job.s.naming.limits = ux_crash_symbolize_limits;
	if (ux_output_file_open(&job.out, output->path, &err) != UX_OK)
		return ux_print_error(output->path, &err);
	if (crash_input_job_open(&job, output, options, &err) != UX_OK)
		return ux_profile_input_fail(&job.opened, NULL, &err);
	if (in->is_core && ux_core_report(in->file.bytes, &job.profile, &in->report, &err) != UX_OK)
		return ux_print_error(subject, &err);
	if (in->is_core)
		in->left = ux_out_bytes(&in->report);
	if (job.out.file.path)
		subject = output->path;
	if (ux_crash_input_symbolize(in, &job.s, &job.out.stream, &err) != UX_OK ||
	    ux_output_file_commit(&job.out, &err) != UX_OK)
		return ux_print_error(subject, &err);
	int status = ux_crash_input_report(&job.s, options->verbose, &err);
	return err.code == UX_OK ? ux_profile_input_exit(&job.opened, status)
				 : ux_print_error(NULL, &err);
}
