/* SPDX-License-Identifier: Apache-2.0 */
/* unhex symbolize: gives a profile its names. */
#include "commands.h"

#include "folded.h"
#include "gzip.h"
#include "output.h"
#include "profile_input.h"
#include "sigbus.h"

#include <unistd.h>

struct symbolize_values {
	const char *output;
	const char *to;
	const char *demangle;
	struct ux_profile_options profile;
};

static const struct ux_option symbolize_options[] = {
	{"output", 'o', UX_OPTION_TEXT, offsetof(struct symbolize_values, output), "FILE",
	 "where to write [standard output]"},
	{"to", 0, UX_OPTION_TEXT, offsetof(struct symbolize_values, to), "FORMAT",
	 "pprof or folded [that of the input, or by the name of the output]", "pprof folded"},
	{"demangle", 0, UX_OPTION_TEXT, offsetof(struct symbolize_values, demangle), "MODE",
	 "of folded stacks: full, short, templates-elided or none [short]",
	 "full short templates-elided none"},
	UX_PROFILE_OPTIONS(struct symbolize_values, profile),
};

/* The state of the command. */
struct symbolize_job {
	struct ux_profile_input input;
	enum ux_profile_format to;
	enum ux_demangle_mode demangle;
	bool pack;
	struct ux_file_new file;
	struct ux_out bytes;
	struct ux_out packed;
};

static void symbolize_job_deinit(struct symbolize_job *job)
{
	ux_file_new_deinit(&job->file);
	ux_sigbus_remove(NULL);
	ux_profile_input_close(&job->input);
	ux_out_deinit(&job->bytes);
	ux_out_deinit(&job->packed);
}

static bool symbolize_ends(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n > m && strcmp(name + n - m, suffix) == 0;
}

/* Which format is written. False for an unknown word. */
static bool symbolize_format(struct symbolize_job *job, const struct symbolize_values *v)
{
	const char *name = v->output ? v->output : "";
	job->to = job->input.format;
	job->pack = job->input.packed;
	if (v->to && strcmp(v->to, "folded") != 0 && strcmp(v->to, "pprof") != 0)
		return false;
	if (v->to ? strcmp(v->to, "folded") == 0 : symbolize_ends(name, ".folded"))
		job->to = UX_PROFILE_FORMAT_FOLDED;
	else if (v->to || symbolize_ends(name, ".pb.gz") || symbolize_ends(name, ".pb"))
		job->to = UX_PROFILE_FORMAT_PPROF;
	if (job->to == UX_PROFILE_FORMAT_PPROF && job->input.format != job->to)
		job->pack = !symbolize_ends(name, ".pb");
	return true;
}

static enum ux_code symbolize_write(struct symbolize_job *job, struct ux_error *err)
{
	const struct ux_profile *p = &job->input.profile;
	if (job->to == UX_PROFILE_FORMAT_FOLDED)
		UX_TRY(ux_folded_write(p, 0, job->demangle, &job->bytes, err));
	else if (job->to == UX_PROFILE_FORMAT_OTLP)
		UX_TRY(ux_otlp_rewrite(&job->input.otlp, p, &job->bytes, err));
	else if (job->input.format == UX_PROFILE_FORMAT_PPROF)
		UX_TRY(ux_pprof_rewrite(&job->input.pprof, p, &job->bytes, err));
	else
		UX_TRY(ux_pprof_write(p, &job->bytes, err));
	if (job->to == UX_PROFILE_FORMAT_FOLDED || !job->pack)
		return UX_OK;
	UX_TRY(ux_gzip_write(ux_out_bytes(&job->bytes), &job->packed, err));
	struct ux_out plain = job->bytes;
	job->bytes = job->packed;
	job->packed = plain;
	return UX_OK;
}

/* Writes the output, whole or not at all. */
static enum ux_code symbolize_put(struct symbolize_job *job, const char *output,
				  struct ux_error *err)
{
	if (!output || ux_dash_is(output)) {
		if (job->to != UX_PROFILE_FORMAT_FOLDED && isatty(STDOUT_FILENO))
			return ux_error_set(
				err, UX_EINVAL,
				"a protobuf message is not written to a terminal; expected "
				"-o FILE or --to folded");
		return ux_flush(&job->bytes, err);
	}
	UX_TRY(ux_file_new_open(&job->file, output, err));
	ux_sigbus_remove(job->file.temp);
	UX_TRY(ux_file_write(job->file.fd, ux_out_bytes(&job->bytes), err));
	return ux_file_new_commit(&job->file, /* sync= */ false, err);
}

/* After a failure *ret_subject is the file that it concerns. */
static enum ux_code symbolize_run(struct symbolize_job *job, struct symbolize_values *v,
				  const char *input, const char **ret_subject, struct ux_error *err)
{
	*ret_subject = ux_dash_is(input) ? UX_DASH_INPUT : input;
	UX_TRY(ux_profile_input_read(&job->input, input, err));
	if (!symbolize_format(job, v))
		return ux_error_set(err, UX_EINVAL, "--to %s: expected pprof or folded", v->to);
	UX_TRY(ux_profile_input_symbolize(&job->input, &v->profile, err));
	*ret_subject = v->output ? v->output : UX_DASH_OUTPUT;
	UX_TRY(symbolize_write(job, err));
	return symbolize_put(job, v->output, err);
}

static void symbolize_values_deinit(struct symbolize_values *v)
{
	ux_profile_options_free(&v->profile);
}

static int cmd_symbolize_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(symbolize_values_deinit) struct symbolize_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n != 1)
		return ux_usage_error(cmd, args.n == 0 ? "no profile given"
						       : "more than one profile given");
	ux_cleanup(symbolize_job_deinit) struct symbolize_job job = {.input = UX_PROFILE_INPUT_INIT,
								     .demangle = UX_DEMANGLE_SHORT,
								     .file = UX_FILE_NEW_INIT};
	if (v.demangle && !ux_demangle_mode_parse(ux_bytes_cstr(v.demangle), &job.demangle))
		return ux_usage_error(cmd,
				      "--demangle %s: expected full, short, templates-elided "
				      "or none",
				      v.demangle);
	struct ux_error err = UX_ERROR_INIT;
	const char *subject = NULL;
	if (symbolize_run(&job, &v, args.items[0], &subject, &err) != UX_OK)
		return ux_print_error(subject, &err);
	status = ux_profile_input_report(&job.input, v.profile.verbose, &err);
	return err.code == UX_OK ? status : ux_print_error(NULL, &err);
}

const struct ux_command ux_cmd_symbolize = {
	.name = "symbolize",
	.usage = "PROFILE [-o OUT] [options]",
	.line = "names in a profile: pprof, OTLP, folded stacks",
	.text = "Reads a profile, finds out which format it has, and writes it with the names of its\n"
		"addresses; inlined calls become frames. A profile that keeps its format keeps\n"
		"everything else byte for byte, and frames that have names already keep these.\n"
		"Symbols are from the files to which the profile's paths lead, if they have its build\n"
		"IDs, from build-ID folders and perf's cache, from the running kernel, perf maps, and\n"
		"from the server in --url or UNHEX_URL. What cannot be named stays MODULE+0xADDRESS,\n"
		"and stderr says how much that is and what is missing. - reads standard input.",
	.examples = "  unhex symbolize cpu.pb.gz -o named.pb.gz\n"
		    "  unhex symbolize cpu.pb.gz --to folded | flamegraph.pl > cpu.svg\n"
		    "  unhex symbolize --no-local --url https://symbols.example.com cpu.pb.gz -o -",
	.options = symbolize_options,
	.n_options = ux_countof(symbolize_options),
	.run = cmd_symbolize_run,
};
