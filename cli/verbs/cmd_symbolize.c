/* SPDX-License-Identifier: Apache-2.0 */
/* unhex symbolize: adds names to a profile. */
#include "commands.h"

#include "crash_input.h"
#include "folded.h"
#include "gzip.h"
#include "otlp_names.h"
#include "otlp_sidecar.h"
#include "output.h"
#include "output_file.h"
#include "perf_script.h"
#include "profile_command.h"
#include "profile_text.h"
#include "profile_viewers.h"

#include <unistd.h>

struct symbolize_values {
	const char *output;
	const char *to;
	const char *value;
	const char *demangle;
	struct ux_profile_options profile;
	struct ux_otlp_values otlp;
	struct ux_option_each modules; /* modules of crash reports */
	bool force_module;
	bool follow;
};

static const struct ux_option symbolize_options[] = {
	{"output", 'o', UX_OPTION_TEXT, offsetof(struct symbolize_values, output), "FILE",
	 "output file [standard output]"},
	{"to", 0, UX_OPTION_TEXT, offsetof(struct symbolize_values, to), "FORMAT",
	 "output format: pprof, folded, speedscope or firefox [by the name of the output, else "
	 "the input's format]",
	 "pprof folded speedscope firefox"},
	{"value", 0, UX_OPTION_TEXT, offsetof(struct symbolize_values, value), "NAME",
	 "value of the samples to write as folded, speedscope or firefox: a name or its "
	 "number, from 1 [the last one]"},
	{"demangle", 0, UX_OPTION_TEXT, offsetof(struct symbolize_values, demangle), "MODE",
	 "how to print names in text: full, short (no parameters), templates-elided or none "
	 "[short]",
	 "full short templates-elided none"},
	{"module", 0, UX_OPTION_EACH, offsetof(struct symbolize_values, modules), "[NAME=]WHAT",
	 "in crash reports: file or ID of the module NAME, or of frames without a module; may "
	 "be repeated; not used if the text has another ID"},
	{"force-module", 0, UX_OPTION_FLAG, offsetof(struct symbolize_values, force_module), NULL,
	 "in crash reports: use --module even if the text has another ID"},
	{"follow", 0, UX_OPTION_FLAG, offsetof(struct symbolize_values, follow), NULL,
	 "crash reports from a pipe that stays open, such as journalctl -f: write each part "
	 "immediately"},
	UX_PROFILE_OPTIONS(struct symbolize_values, profile),
	UX_OTLP_OPTIONS(struct symbolize_values, otlp),
};

/* A format in which any profile can be written. */
struct symbolize_target {
	const char *word;   /* value of --to */
	const char *suffix; /* suffix of the output's name */
	bool binary;        /* not for a terminal */
	bool packed;        /* by gzip */
	enum ux_code (*write)(const struct ux_profile *p, const struct ux_viewer_options *options,
			      struct ux_stream *s, struct ux_error *err);
};

static enum ux_code symbolize_write_folded(const struct ux_profile *p,
					   const struct ux_viewer_options *options,
					   struct ux_stream *s, struct ux_error *err)
{
	return ux_folded_write(p, options->type, options->demangle, s, err);
}

static enum ux_code symbolize_write_pprof(const struct ux_profile *p,
					  const struct ux_viewer_options *options,
					  struct ux_stream *s, struct ux_error *err)
{
	(void)options; /* a function has both names, and a sample all values */
	return ux_pprof_write(p, s, err);
}

enum {
	SYMBOLIZE_FOLDED,
	SYMBOLIZE_PPROF,
};

static const struct symbolize_target symbolize_targets[] = {
	[SYMBOLIZE_FOLDED] = {"folded", ".folded", .write = symbolize_write_folded},
	[SYMBOLIZE_PPROF] = {"pprof", ".pb.gz", true, true, symbolize_write_pprof},
	{NULL, ".pprof", true, true, symbolize_write_pprof},
	{NULL, ".pb", .binary = true, .write = symbolize_write_pprof},
	{"speedscope", ".speedscope.json", .write = ux_speedscope_write},
	{"firefox", ".firefox.json", .write = ux_firefox_write},
};

/* The state of the command. */
struct symbolize_job {
	struct ux_profile_command c;
	const struct symbolize_target
		*to; /* NULL: the input's format, which keeps everything else */
	struct ux_viewer_options options;
	struct ux_output_file out;
};

static void symbolize_job_deinit(struct symbolize_job *job)
{
	ux_output_file_deinit(&job->out);
	ux_profile_command_deinit(&job->c);
}

/* Sets the format selected by --to or by the output's name. False for an unknown word. */
static bool symbolize_select(const struct symbolize_values *v, const struct symbolize_target **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < ux_countof(symbolize_targets); i++) {
		const struct symbolize_target *t = &symbolize_targets[i];
		if (v->to ? t->word && strcmp(v->to, t->word) == 0
			  : v->output && ux_profile_name_ends(v->output, t->suffix)) {
			*ret = t;
			return true;
		}
	}
	return v->to == NULL;
}

/* Returns whether the output has the format of the input: then everything else is kept, packed or
 * not. */
static bool symbolize_keeps_format(const struct symbolize_job *job)
{
	return !job->to || (job->to->write == symbolize_write_pprof &&
			    job->c.input.document.format == UX_PROFILE_FORMAT_PPROF);
}

/* Writes a message of OTLP, as protobuf or as JSON. */
static enum ux_code symbolize_write_otlp(const struct ux_profile_input *in, struct ux_out *out,
					 struct ux_error *err)
{
	const struct ux_otlp *message = &in->document.otlp;
	ux_cleanup(ux_otlp_names_deinit) struct ux_otlp_names n = {.bytes = message->bytes};
	UX_TRY(ux_otlp_names_read(&n, err));
	UX_TRY(ux_otlp_names_take(&n, &in->profile, message->first_location, err));
	return in->document.format == UX_PROFILE_FORMAT_OTLP
		       ? ux_otlp_names_write(&n, out, err)
		       : ux_otlp_json_write(&n, in->file.bytes, out, err);
}

/* Writes the format of the input. */
static enum ux_code symbolize_write_same(struct symbolize_job *job, struct ux_stream *s,
					 struct ux_error *err)
{
	struct ux_profile_input *in = &job->c.input;
	switch (in->document.format) {
	case UX_PROFILE_FORMAT_PPROF:
		return ux_pprof_rewrite(&in->document.pprof, &in->profile, s, err);
	case UX_PROFILE_FORMAT_OTLP:
	case UX_PROFILE_FORMAT_OTLP_JSON:
		return symbolize_write_otlp(in, &s->out, err);
	case UX_PROFILE_FORMAT_FIREFOX:
		return ux_firefox_rewrite(&in->document.firefox, &in->profile, &s->out, err);
	case UX_PROFILE_FORMAT_PERF_SCRIPT:
		return ux_perf_script_rewrite(in->file.bytes, &in->jit, &in->profile,
					      job->options.demangle, &s->out, err);
	case UX_PROFILE_FORMAT_PERF_DATA: /* has no room for names: see symbolize_run() */
	case UX_PROFILE_FORMAT_FOLDED:
	case UX_PROFILE_FORMAT_NONE:
		break;
	}
	return ux_folded_write(&in->profile, job->options.type, job->options.demangle, s, err);
}

static enum ux_code symbolize_write_plain(struct symbolize_job *job, struct ux_stream *s,
					  struct ux_error *err)
{
	return symbolize_keeps_format(job)
		       ? symbolize_write_same(job, s, err)
		       : job->to->write(&job->c.input.profile, &job->options, s, err);
}

/* Writes the output, packed as its name tells, or as the input was. */
static enum ux_code symbolize_write(struct symbolize_job *job, struct ux_error *err)
{
	ux_cleanup(ux_gzip_close) struct ux_gzip packed = {0};
	if (!(job->to ? job->to->packed : job->c.input.packed))
		return symbolize_write_plain(job, &job->out.stream, err);
	UX_TRY(ux_gzip_open(&packed, &job->out.stream, err));
	UX_TRY(symbolize_write_plain(job, &packed.plain, err));
	return ux_gzip_finish(&packed, err);
}

static bool symbolize_is_binary(const struct symbolize_job *job)
{
	return job->to ? job->to->binary
		       : job->c.input.packed ||
				 job->c.input.document.format == UX_PROFILE_FORMAT_PPROF ||
				 job->c.input.document.format == UX_PROFILE_FORMAT_OTLP;
}

/* Writes the output, whole or not at all. */
static enum ux_code symbolize_put(struct symbolize_job *job, const char *output,
				  struct ux_error *err)
{
	bool file = output && !ux_dash_is(output);
	if (!file && symbolize_is_binary(job) && isatty(STDOUT_FILENO))
		return ux_error_set(
			err, UX_EINVAL,
			"standard output is a terminal; expected -o FILE, or --to folded for text");
	UX_TRY(symbolize_write(job, err));
	return ux_output_file_commit(&job->out, err);
}

/* Reads the profile. A crash report or a core dump was read earlier. */
static enum ux_code symbolize_read(struct symbolize_job *job, struct symbolize_values *v,
				   struct ux_error *err)
{
	enum ux_code code = ux_profile_command_read(&job->c, &v->profile, err);
	if (code != UX_EUNSUPPORTED || job->c.input.document.format != UX_PROFILE_FORMAT_NONE)
		return code;
	*err = (struct ux_error)UX_ERROR_INIT;
	return ux_error_set(err, code,
			    "not a profile or crash report: expected pprof, OTLP, perf.data, "
			    "perf script, folded stacks, Firefox Profiler, a core dump, or a "
			    "backtrace");
}

/* After a failure *ret_subject is the file that it concerns. */
static enum ux_code symbolize_run(struct symbolize_job *job, struct symbolize_values *v,
				  const char **ret_subject, struct ux_error *err)
{
	*ret_subject = v->output ? v->output : UX_DASH_OUTPUT;
	UX_TRY(ux_output_file_open(&job->out, v->output, err));
	*ret_subject = ux_profile_command_subject(&job->c);
	job->options.title = ux_profile_base_name(ux_bytes_cstr(*ret_subject));
	job->c.input.keep_times = job->to && (job->to->write == ux_firefox_write ||
					      job->to->write == ux_speedscope_write);
	UX_TRY(symbolize_read(job, v, err));
	job->c.input.keep_starts =
		job->to ? job->to->write == ux_firefox_write
			: job->c.input.document.format == UX_PROFILE_FORMAT_FIREFOX;
	UX_TRY(ux_profile_type_find(&job->c.input.profile, ux_bytes_cstr(v->value),
				    &job->options.type, err));
	if (!job->to && job->c.input.document.format == UX_PROFILE_FORMAT_PERF_DATA)
		job->to =
			&symbolize_targets[v->output && !ux_dash_is(v->output) ? SYMBOLIZE_PPROF
									       : SYMBOLIZE_FOLDED];
	UX_TRY(ux_profile_input_symbolize(&job->c.input, &v->profile, err));
	*ret_subject = v->output ? v->output : UX_DASH_OUTPUT;
	return symbolize_put(job, v->output, err);
}

static void symbolize_values_deinit(struct symbolize_values *v)
{
	ux_profile_options_free(&v->profile);
}

/* Writes a crash report. The text of a crash stays text. */
static int symbolize_report(const struct ux_command *cmd, struct symbolize_values *v,
			    enum ux_demangle_mode demangle, struct ux_crash_input *report,
			    const char *input)
{
	const struct ux_crash_output output = {.path = v->output,
					       .demangle = demangle,
					       .modules = v->modules,
					       .force = v->force_module};
	if (v->to)
		return ux_usage_error(
			cmd, "--to %s: expected a profile; a crash report has no samples", v->to);
	report->follow = v->follow;
	return ux_crash_input_run(report, input, &output, &v->profile);
}

static int cmd_symbolize_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(symbolize_values_deinit) struct symbolize_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (v.otlp.listen && args.n == 0)
		return ux_otlp_sidecar_run(cmd, &v.otlp, &v.profile);
	ux_cleanup(symbolize_job_deinit) struct symbolize_job job = {.c = UX_PROFILE_COMMAND_INIT,
								     .out = UX_OUTPUT_FILE_INIT};
	const struct ux_profile_command_values values = {
		.profile = &v.profile, .demangle = v.demangle, .hint = ""};
	job.c.demangle = UX_DEMANGLE_SHORT;
	if (!ux_profile_command_begin(&job.c, cmd, &values, &args, &status))
		return status;
	job.options.demangle = job.c.demangle;
	if (!symbolize_select(&v, &job.to))
		return ux_usage_error(cmd, "--to %s: expected pprof, folded, speedscope or firefox",
				      v.to);
	struct ux_error err = UX_ERROR_INIT;
	const char *subject = ux_profile_command_subject(&job.c);
	ux_cleanup(ux_crash_input_close) struct ux_crash_input report = UX_CRASH_INPUT_INIT;
	bool is_report = false;
	if (ux_crash_input_open(&report, job.c.name, &is_report, &err) != UX_OK)
		return ux_profile_input_fail(&job.c.input, subject, &err);
	if (is_report)
		return symbolize_report(cmd, &v, job.options.demangle, &report, job.c.name);
	job.c.input.head = ux_out_bytes(&report.head);
	if (symbolize_run(&job, &v, &subject, &err) != UX_OK)
		return ux_profile_input_fail(&job.c.input, subject, &err);
	return ux_profile_command_report(&job.c, v.output, v.profile.verbose);
}

const struct ux_command ux_cmd_symbolize = {
	.name = "symbolize",
	.usage = "PROFILE [-o OUT] [options]",
	.line = "add names to a profile (perf.data, pprof, OTLP) or crash report",
	.text = "Reads a profile, detects its format, and writes it with the names of its addresses; inlined\n"
		"calls become frames. If the format stays the same, everything else stays the "
		"same byte for\n"
		"byte. Frames that already have names keep them. Symbols come from the files "
		"at the profile's\n"
		"paths if their build IDs match, from build-ID folders and perf's cache, from "
		"the running\n"
		"kernel, from perf maps, and from the server in --url or UNHEX_URL. Addresses "
		"without a name\n"
		"stay MODULE+0xADDRESS; stderr reports their share and the missing files. - "
		"reads standard\n"
		"input.\n"
		"\n"
		"A crash report is the text of backtrace(3), sanitizers, gdb, "
		"systemd-coredump, eu-stack, Go,\n"
		"Rust, Java (hs_err), the kernel, Android or macOS. For a core dump, symbolize "
		"writes the stacks\n"
		"of all threads. It copies the text byte for byte, and adds below each frame "
		"its functions,\n"
		"innermost first. Mappings (/proc/PID/maps) in the text locate the modules. "
		"symbolize does not\n"
		"guess: it reports modules with several candidates; choose one with --module.",
	.examples =
		"  unhex symbolize crash.txt\n"
		"  unhex symbolize core\n"
		"  dmesg | unhex symbolize --module vmlinux=vmlinux.debug -\n"
		"  unhex symbolize perf.data > perf.folded\n"
		"  unhex symbolize cpu.pb.gz -o named.pb.gz\n"
		"  unhex symbolize perf.data -o cpu.firefox.json\n"
		"  unhex symbolize cpu.pb.gz --to folded | flamegraph.pl > cpu.svg\n"
		"  unhex symbolize --no-local --url https://symbols.example.com cpu.pb.gz -o -\n"
		"  unhex symbolize --otlp-listen 127.0.0.1:4318 --otlp-queue "
		"/var/lib/unhex-otlp \\\n"
		"      --otlp-forward https://profiles.example.com",
	.options = symbolize_options,
	.n_options = ux_countof(symbolize_options),
	.run = cmd_symbolize_run,
};
