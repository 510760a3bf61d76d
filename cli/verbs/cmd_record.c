/* SPDX-License-Identifier: Apache-2.0 */
/* unhex record: samples programs, and writes a profile. */
#include "commands.h"

#include "gzip.h"
#include "output.h"
#include "output_file.h"
#include "profile_input.h"
#include "record_input.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

struct record_values {
	const char *output;
	const char *to;
	struct ux_record_values record;
	struct ux_profile_options profile;
};

static const struct ux_option record_options[] = {
	{"output", 'o', UX_OPTION_TEXT, offsetof(struct record_values, output), "FILE",
	 "output file; - is standard output [profile.pb.gz]"},
	{"to", 0, UX_OPTION_TEXT, offsetof(struct record_values, to), "FORMAT",
	 "output format: pprof or perf.data [perf.data if the name of the output ends in "
	 ".data, else pprof]",
	 "pprof perf.data"},
	UX_RECORD_OPTIONS(struct record_values, record, 'a'),
	UX_PROFILE_OPTIONS(struct record_values, profile),
};

static const char record_default_output[] = "profile.pb.gz";

/* The state of the command. */
struct record_job {
	const struct record_values *v;
	struct ux_record_options options;
	struct ux_record_result result;
	const char *output;
	bool perf;                     /* perf.data is written */
	bool output_failed;            /* opening the output failed */
	struct ux_dash_file recording; /* perf.data for standard output */
	struct ux_output_file out;
	struct ux_profile_input input;
};

static void record_job_deinit(struct record_job *job)
{
	ux_output_file_deinit(&job->out);
	ux_profile_input_close(&job->input);
	ux_dash_file_close(&job->recording);
}

static void record_values_deinit(struct record_values *v)
{
	ux_profile_options_free(&v->profile);
}

/* Sets the output format. False for an unknown word. */
static bool record_set_format(struct record_job *job)
{
	const char *to = job->v->to;
	const char *output = job->v->output;
	job->output = output ? output : to ? to : record_default_output;
	job->perf = to ? strcmp(to, "perf.data") == 0 : ux_profile_name_ends(job->output, ".data");
	if (to && !job->perf && strcmp(to, "pprof") != 0)
		return false;
	if (!output)
		job->output = job->perf ? "perf.data" : record_default_output;
	return true;
}

/* Records directly into the output. */
static enum ux_code record_to_file(struct record_job *job, struct ux_error *err)
{
	UX_TRY(ux_record(&job->options, job->out.file.fd, &job->result, err));
	return job->result.samples > 0 ? ux_output_file_commit(&job->out, err) : UX_OK;
}

/* Records, and writes the recording with names as pprof. */
static enum ux_code record_write_pprof(struct record_job *job, struct ux_error *err)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream plain = {0};
	ux_cleanup(ux_out_deinit) struct ux_out packed = {0};
	struct ux_profile_options options = job->v->profile;
	UX_TRY(ux_record_read(&job->options, &job->v->profile, &job->input, &job->result, err));
	if (job->result.samples == 0 && !ux_dash_is(job->output))
		return UX_OK;
	UX_TRY(ux_profile_input_symbolize(&job->input, &options, err));
	UX_TRY(ux_pprof_write(&job->input.profile, &plain, err));
	if (!ux_profile_name_ends(job->output, ".pb"))
		UX_TRY(ux_gzip_write(ux_out_bytes(&plain.out), &packed, err));
	struct ux_out *out = packed.size > 0 ? &packed : &plain.out;
	if (ux_dash_is(job->output))
		return ux_flush(out, err);
	UX_TRY(ux_file_write(job->out.file.fd, ux_out_bytes(out), err));
	return ux_output_file_commit(&job->out, err);
}

/* Opens the output before recording starts, so that no recording is lost because of an unwritable
 * folder. */
static enum ux_code record_open_output(struct record_job *job, struct ux_error *err)
{
	enum ux_code code = ux_output_file_open(&job->out, job->output, err);
	/* A recording contains copies of stacks, which may hold secrets. */
	if (code == UX_OK && job->perf && fchmod(job->out.file.fd, 0600) != 0)
		code = ux_error_os(err, errno, "cannot restrict who may read it");
	job->output_failed = code != UX_OK;
	return code;
}

/* Prints the error. Keeps the recording, unless it went directly to the output. */
static int record_fail(const struct record_job *job, const struct ux_error *err)
{
	bool output = job->output_failed || job->result.bytes > 0;
	int status = ux_profile_input_fail(
		&job->input, output ? job->output : ux_record_subject(&job->options), err);
	if (job->result.samples > 0)
		ux_record_keep(job->perf ? job->recording.fd : job->input.dash.fd);
	return status;
}

static enum ux_code record_run(struct record_job *job, struct ux_error *err)
{
	bool print = ux_dash_is(job->output);
	if (print && isatty(STDOUT_FILENO))
		return ux_error_set(
			err, UX_EINVAL,
			"standard output is a terminal; write the profile to a file with -o FILE");
	if (!print)
		UX_TRY(record_open_output(job, err));
	if (job->perf && !print)
		return record_to_file(job, err);
	if (!job->perf)
		return record_write_pprof(job, err);
	UX_TRY(ux_dash_file_create(&job->recording, err));
	UX_TRY(ux_record(&job->options, job->recording.fd, &job->result, err));
	return ux_dash_file_print(&job->recording, err);
}

static int cmd_record_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(record_values_deinit) struct record_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	ux_cleanup(record_job_deinit) struct record_job job = {.v = &v,
							       .recording = UX_DASH_FILE_INIT,
							       .input = UX_PROFILE_INPUT_INIT,
							       .out = UX_OUTPUT_FILE_INIT};
	if (!ux_record_options_parse(cmd, &v.record, &args, &v.profile, &job.options, &status))
		return status;
	if (!record_set_format(&job))
		return ux_usage_error(cmd, "--to %.64s: expected pprof or perf.data", v.to);
	struct ux_error err = UX_ERROR_INIT;
	if (record_run(&job, &err) != UX_OK)
		return record_fail(&job, &err);
	ux_record_report(&job.options, &job.result);
	if (job.result.samples == 0 && !ux_dash_is(job.output))
		return ux_record_empty(&job.result, job.output);
	if (!job.perf)
		(void)ux_profile_input_report(&job.input, v.profile.verbose, &err);
	if (!ux_dash_is(job.output))
		ux_print_message("wrote %s", job.output);
	return err.code == UX_OK ? ux_record_exit(&job.result) : ux_print_error(NULL, &err);
}

const struct ux_command ux_cmd_record = {
	.name = "record",
	.usage = "[-o OUT] [options] -- COMMAND [ARGUMENT...]\n"
		 "--pid PID [-o OUT] [options]\n"
		 "--all [-o OUT] [options]",
	.line = "record a profile of a program, as pprof or perf.data",
	.text = "Samples a command, a process or the whole machine until it ends, for --duration, or until\n"
		"Ctrl-C. Writes a profile with names, or a recording that perf reads. unhex "
		"flame and unhex\n"
		"top can record, too, and show the result immediately. If the machine has no "
		"cycle counter,\n"
		"like most virtual machines, record uses a timer. It copies the top of each "
		"stack and unwinds\n"
		"it with the tables for exceptions. --call-graph fp follows frame pointers "
		"instead, if the\n"
		"program keeps them; with --all that is the default, because the stack copies "
		"of many\n"
		"processors are large.\n"
		"\n"
		"record creates the output first. Without samples, it leaves an existing "
		"output unchanged; if\n"
		"it cannot write the output, it keeps the recording in TMPDIR or /tmp.\n"
		"\n"
		"Exits with the status of the command. If the machine denies something, the "
		"error names the\n"
		"setting that allows it.",
	.examples = "  unhex record -- ./server --port 8080\n"
		    "  unhex record --pid 1234 --duration 10 -o server.pb.gz\n"
		    "  unhex record --all --call-graph dwarf --duration 5 -o perf.data",
	.options = record_options,
	.n_options = ux_countof(record_options),
	.run = cmd_record_run,
};
