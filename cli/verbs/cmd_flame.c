/* SPDX-License-Identifier: Apache-2.0 */
/* unhex flame: a flame graph of a profile, or its samples for another viewer. */
#include "commands.h"

#include "flame.h"
#include "folded.h"
#include "output.h"
#include "output_file.h"
#include "profile_command.h"
#include "profile_viewers.h"

#include <unistd.h>

struct flame_values {
	const char *output;
	const char *to;
	const char *diff;
	const char *value;
	const char *demangle;
	unsigned limit;
	bool threads;
	struct ux_record_values record;
	struct ux_profile_options profile;
};

static const struct ux_option flame_options[] = {
	{"output", 'o', UX_OPTION_TEXT, offsetof(struct flame_values, output), "FILE",
	 "output file [standard output; for a recorded command, its name + .html]"},
	{"to", 0, UX_OPTION_TEXT, offsetof(struct flame_values, to), "FORMAT",
	 "output format: html, svg, folded, speedscope or firefox [by the name of the output, "
	 "else html]",
	 "html svg folded speedscope firefox"},
	{"diff", 0, UX_OPTION_TEXT, offsetof(struct flame_values, diff), "PROFILE",
	 "show the changes since this earlier profile (html, svg)", NULL, 'd'},
	{"value", 0, UX_OPTION_TEXT, offsetof(struct flame_values, value), "NAME",
	 "value of the samples to show: a name, such as cpu or inuse_space, or its number, "
	 "from 1 [the last one]"},
	{"threads", 0, UX_OPTION_FLAG, offsetof(struct flame_values, threads), NULL,
	 "show a tree per thread"},
	{"limit", 0, UX_OPTION_COUNT, offsetof(struct flame_values, limit), "N",
	 "maximum frames in an html graph; smaller frames are merged [500000]"},
	{"demangle", 0, UX_OPTION_TEXT, offsetof(struct flame_values, demangle), "MODE",
	 "how to print names: full, short (no parameters), templates-elided or none [short]",
	 "full short templates-elided none"},
	UX_RECORD_OPTIONS(struct flame_values, record, 'a'),
	UX_PROFILE_OPTIONS(struct flame_values, profile),
};

enum flame_format {
	FLAME_HTML,
	FLAME_SVG,
	FLAME_FOLDED,
	FLAME_SPEEDSCOPE,
	FLAME_FIREFOX,
};

static const struct {
	const char *name;
	const char *suffix;
} flame_formats[] = {
	[FLAME_HTML] = {"html", ".html"},
	[FLAME_SVG] = {"svg", ".svg"},
	[FLAME_FOLDED] = {"folded", ".folded"},
	[FLAME_SPEEDSCOPE] = {"speedscope", ".speedscope.json"},
	[FLAME_FIREFOX] = {"firefox", ".firefox.json"},
};

/* Least share of a frame in a picture: half a pixel. */
static const double flame_svg_min = 0.0004;

/* The state of the command. */
struct flame_job {
	const struct flame_values *v;
	struct ux_profile_command c;
	const char *output;             /* NULL: standard output */
	char named[NAME_MAX];           /* output of a recording without -o */
	struct ux_profile_input before; /* --diff */
	enum flame_format to;
	struct ux_call_tree tree;
	struct ux_output_file out;
	bool empty; /* nothing was sampled: the output is unchanged */
};

static void flame_job_deinit(struct flame_job *job)
{
	ux_output_file_deinit(&job->out);
	ux_call_tree_deinit(&job->tree);
	ux_profile_input_close(&job->before);
	ux_profile_command_deinit(&job->c);
}

static void flame_values_deinit(struct flame_values *v)
{
	ux_profile_options_free(&v->profile);
}

/* Sets the output format. False for an unknown word. */
static bool flame_set_format(struct flame_job *job)
{
	for (size_t i = 0; i < ux_countof(flame_formats); i++)
		if (job->v->to ? strcmp(job->v->to, flame_formats[i].name) == 0
			       : ux_profile_name_ends(job->output ? job->output : "",
						      flame_formats[i].suffix)) {
			job->to = (enum flame_format)i;
			return true;
		}
	return job->v->to == NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static const char *flame_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static const char *flame_subject(const char *name)
{
	return ux_dash_is(name) ? UX_DASH_INPUT : name;
}

static enum ux_code flame_read(struct flame_job *job, struct ux_profile_input *input,
			       const char *name, struct ux_error *err)
{
	struct ux_profile_options options = job->v->profile;
	input->keep_starts = job->to == FLAME_FIREFOX;
	input->keep_times = job->to == FLAME_FIREFOX || job->to == FLAME_SPEEDSCOPE;
	UX_TRY(input == &job->c.input ? ux_profile_command_read(&job->c, &job->v->profile, err)
				      : ux_profile_input_read(input, name, &job->v->profile, err));
	return ux_profile_input_symbolize(input, &options, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The server may get a module after the page was made, and it reports if it has none. */
static bool flame_has_pages(void *ctx, const struct ux_id *id)
{
	(void)ctx;
	return id->size > 0;
}

/*
 * Writes the URL of the pages about frames on the server that names were requested from. Writes
 * nothing if no server was used, or if its URL has a token, which must not be in a file that others
 * may get.
 */
static enum ux_code flame_put_url(const struct flame_job *job, struct ux_out *out,
				  struct ux_error *err)
{
	struct ux_bytes url = ux_bytes_cstr(job->c.input.server.url);
	if (url.size == 0 || strstr(job->c.input.server.url, "/k/"))
		return UX_OK;
	while (url.size > 0 && url.data[url.size - 1] == '/')
		url.size--;
	ux_out_put(out, url.data, url.size);
	ux_out_cstr(out, "/frame");
	return ux_out_status(out, err);
}

static enum ux_code flame_put_graph(struct flame_job *job, const char *name, struct ux_error *err)
{
	const struct flame_values *v = job->v;
	struct ux_call_options options = {.demangle = job->c.demangle, .threads = v->threads};
	struct ux_flame_options how = {
		.title = ux_bytes_cstr(flame_base_name(flame_subject(name))),
		.other = ux_bytes_cstr(v->diff ? flame_base_name(flame_subject(v->diff)) : ""),
	};
	if (job->to == FLAME_SVG)
		options.min = flame_svg_min;
	ux_cleanup(ux_out_deinit) struct ux_out frame_url = {0};
	if (job->to == FLAME_HTML)
		UX_TRY(flame_put_url(job, &frame_url, err));
	how.frame_url = ux_out_bytes(&frame_url);
	if (how.frame_url.size > 0)
		options.has_pages = flame_has_pages;
	options.max = v->limit ? v->limit : UX_FLAME_NODES_MAX;
	UX_TRY(ux_call_tree_make(&job->tree, &job->c.input.profile,
				 v->diff ? &job->before.profile : NULL, &options, err));
	UX_TRY(ux_call_tree_type(&job->tree, ux_bytes_cstr(v->value), &how.type, err));
	return job->to == FLAME_SVG ? ux_flame_svg(&job->tree, &how, &job->out.stream, err)
				    : ux_flame_html(&job->tree, &how, &job->out.stream, err);
}

static enum ux_code flame_put_samples(struct flame_job *job, const char *name, struct ux_error *err)
{
	const struct ux_profile *p = &job->c.input.profile;
	struct ux_viewer_options options = {
		.title = ux_bytes_cstr(flame_base_name(flame_subject(name))),
		.demangle = job->c.demangle,
	};
	UX_TRY(ux_profile_type_find(p, ux_bytes_cstr(job->v->value), &options.type, err));
	switch (job->to) {
	case FLAME_FOLDED:
		UX_TRY(ux_folded_write(p, options.type, job->c.demangle, &job->out.stream, err));
		return ux_stream_flush(&job->out.stream, err);
	case FLAME_SPEEDSCOPE:
		return ux_speedscope_write(p, &options, &job->out.stream, err);
	case FLAME_FIREFOX:
		return ux_firefox_write(p, &options, &job->out.stream, err);
	case FLAME_HTML:
	case FLAME_SVG:
		break;
	}
	return flame_put_graph(job, name, err);
}

/* Opens the output before anything is read or recorded. */
static enum ux_code flame_open(struct flame_job *job, struct ux_error *err)
{
	const char *output = job->output;
	bool file = output && !ux_dash_is(output);
	if (!file && isatty(STDOUT_FILENO) && job->to != FLAME_FOLDED)
		return ux_error_set(
			err, UX_EINVAL,
			"standard output is a terminal; write the graph to a file with -o "
			"FILE.html");
	return ux_output_file_open(&job->out, output, err);
}

/* After a failure *ret_subject is the file that it concerns. */
static enum ux_code flame_run(struct flame_job *job, const char *name, const char **ret_subject,
			      struct ux_error *err)
{
	*ret_subject = job->output ? job->output : UX_DASH_OUTPUT;
	UX_TRY(flame_open(job, err));
	*ret_subject = flame_subject(name);
	UX_TRY(flame_read(job, &job->c.input, name, err));
	job->empty = job->c.records && job->c.recorded.samples == 0 && job->out.file.path;
	if (job->empty)
		return UX_OK;
	if (job->v->diff) {
		*ret_subject = flame_subject(job->v->diff);
		UX_TRY(flame_read(job, &job->before, job->v->diff, err));
	}
	*ret_subject = job->output ? job->output : UX_DASH_OUTPUT;
	UX_TRY(flame_put_samples(job, name, err));
	return ux_output_file_commit(&job->out, err);
}

/* Sets the output name of a recording without -o. */
static void flame_name_output(struct flame_job *job)
{
	const char *name = job->c.record.command ? job->c.record.command[0] : "flame";
	if (!job->c.records || job->output || job->v->to)
		return;
	(void)snprintf(job->named, sizeof(job->named), "%.200s.html", flame_base_name(name));
	job->output = job->named;
}

static int cmd_flame_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(flame_values_deinit) struct flame_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	ux_cleanup(flame_job_deinit) struct flame_job job = {.v = &v,
							     .output = v.output,
							     .c = UX_PROFILE_COMMAND_INIT,
							     .before = UX_PROFILE_INPUT_INIT,
							     .out = UX_OUTPUT_FILE_INIT};
	const struct ux_profile_command_values values = {
		.record = &v.record,
		.profile = &v.profile,
		.demangle = v.demangle,
		.hint = "; to compare two profiles, use --diff"};
	job.c.demangle = UX_DEMANGLE_SHORT;
	if (!ux_profile_command_begin(&job.c, cmd, &values, &args, &status))
		return status;
	flame_name_output(&job);
	if (!flame_set_format(&job))
		return ux_usage_error(
			cmd, "--to %s: expected html, svg, folded, speedscope or firefox", v.to);
	if (v.diff && job.to != FLAME_HTML && job.to != FLAME_SVG)
		return ux_usage_error(cmd, "--diff: expected html or svg as the output's format");
	if (v.diff && ux_dash_is(v.diff) && !job.c.records && ux_dash_is(job.c.name))
		return ux_usage_error(cmd, "standard input can be only one of the two profiles");
	struct ux_error err = UX_ERROR_INIT;
	const char *subject = NULL;
	if (flame_run(&job, job.c.name, &subject, &err) != UX_OK)
		return ux_profile_command_fail(&job.c, subject, &err);
	if (job.empty) {
		ux_record_report(&job.c.record, &job.c.recorded);
		return ux_record_empty(&job.c.recorded, job.output);
	}
	return ux_profile_command_report(&job.c, job.output, v.profile.verbose);
}

const struct ux_command ux_cmd_flame = {
	.name = "flame",
	.usage = "PROFILE [-o OUT] [options]\n"
		 "[-o OUT] [options] -- COMMAND [ARGUMENT...]",
	.line = "write a flame graph of a profile or of a program",
	.text = "Reads a profile as unhex symbolize does, adds missing names, and writes a flame graph: one\n"
		"HTML file that needs no network, with search, zoom, an inverted view, and "
		"colours by module\n"
		"and by source. For code without a name it shows the reason. --diff shows the "
		"changes since\n"
		"another profile. The end of the output's name selects the format: .svg is a "
		"picture without\n"
		"scripts, .folded is text, .speedscope.json and .firefox.json are for "
		"www.speedscope.app and\n"
		"profiler.firefox.com. PROFILE - is standard input.\n"
		"\n"
		"With a command after --, or with --pid or --all, it records the profile "
		"first, as unhex\n"
		"record does.",
	.examples = "  unhex flame -- ./program --its-option\n"
		    "  unhex flame cpu.pb.gz -o cpu.html\n"
		    "  unhex flame after.pb.gz --diff before.pb.gz -o diff.html\n"
		    "  unhex flame heap.pb.gz --value inuse_space -o heap.svg",
	.options = flame_options,
	.n_options = ux_countof(flame_options),
	.run = cmd_flame_run,
};
