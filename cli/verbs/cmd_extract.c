/* SPDX-License-Identifier: Apache-2.0 */
/* unhex extract: makes a GSYM file from a binary. */
#include "commands.h"

#include "common_options.h"
#include "dash_file.h"
#include "dsym.h"
#include "elf_file.h"
#include "extract.h"
#include "extract_watch.h"
#include "file.h"
#include "json_out.h"
#include "output.h"
#include "output_file.h"
#include "path_base.h"
#include "pool.h"
#include "sigbus.h"
#include "sources_out.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Smallest memory limit that is accepted, in bytes. Data of one unit, the claims of functions and
 * the program's own memory are never on disk; a ceph-osd needs 20 MB for them. */
enum {
	MEMORY_MIN = 32 << 20
};

struct extract_values {
	const char *debug;
	struct ux_find_values find;
	const char *output;
	const char *arch;
	const char *gpu;
	unsigned threads;
	uint64_t memory;
	unsigned gsym_version;
	bool alternatives;
	bool no_dwarf;
	bool allow_mismatch;
	bool json;
};

static const struct ux_option extract_options[] = {
	{"debug", 'd', UX_OPTION_TEXT, offsetof(struct extract_values, debug), "FILE",
	 "take the symbols from this unstripped or .debug file, or dSYM bundle"},
	UX_FIND_OPTIONS(struct extract_values, find),
	{"output", 'o', UX_OPTION_TEXT, offsetof(struct extract_values, output), "FILE",
	 "output file, or - for standard output [name of the input + .gsym, in the current "
	 "folder]"},
	{"arch", 0, UX_OPTION_TEXT, offsetof(struct extract_values, arch), "NAME",
	 "slice of a universal Mach-O file [the only one, or this machine's]"},
	{"gpu", 0, UX_OPTION_TEXT, offsetof(struct extract_values, gpu), "WHICH",
	 "a piece of its GPU code instead: sm_90, an ID, or a number that unhex id prints"},
	{"threads", 0, UX_OPTION_COUNT, offsetof(struct extract_values, threads), "N",
	 "threads to use [one per processor]"},
	{"memory", 0, UX_OPTION_BYTES, offsetof(struct extract_values, memory), "SIZE",
	 "maximum memory, 32M or more; the rest goes to files in TMPDIR or /var/tmp [no limit]"},
	{"gsym-version", 0, UX_OPTION_COUNT, offsetof(struct extract_values, gsym_version), "1|2",
	 "format version of the output [1, or 2 if version 1 is too small]"},
	{"alternatives", 0, UX_OPTION_FLAG, offsetof(struct extract_values, alternatives), NULL,
	 "keep all names of each function"},
	{"no-dwarf", 0, UX_OPTION_FLAG, offsetof(struct extract_values, no_dwarf), NULL,
	 "read only symbol tables and Go's own tables"},
	{"allow-mismatch", 0, UX_OPTION_FLAG, offsetof(struct extract_values, allow_mismatch), NULL,
	 "accept a debug file with another build ID"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct extract_values, json), NULL,
	 "print a JSON object that describes the output"},
};

/* Where the GSYM is written. A failure to write concerns the output, any other one the input. */
struct extract_sink {
	int fd;
	bool failed;
};

static enum ux_code extract_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct extract_sink *sink = ctx;
	enum ux_code code = ux_file_write(sink->fd, bytes, err);
	sink->failed |= code != UX_OK;
	return code;
}

static enum ux_code extract_write_at(void *ctx, uint64_t off, struct ux_bytes bytes,
				     struct ux_error *err)
{
	struct extract_sink *sink = ctx;
	enum ux_code code = ux_file_write_at(sink->fd, off, bytes, err);
	sink->failed |= code != UX_OK;
	return code;
}

/* Returns the default output path, malloc'ed. It consists of the base name of the input, the
 * piece of GPU code, and ".gsym". */
static char *extract_output_name(const char *input, const char *gpu)
{
	struct ux_out name = {0};
	ux_out_cstr(&name, ux_path_base(input));
	if (gpu)
		ux_out_fmt(&name, ".%s", gpu);
	ux_out_cstr(&name, ".gsym");
	ux_out_u8(&name, 0);
	if (name.failed)
		ux_out_deinit(&name);
	return (char *)name.data;
}

static void cmd_extract_report(struct ux_out *out, const char *path, bool json,
			       const struct ux_extract_stats *s)
{
	if (!json) {
		ux_text(out, ux_bytes_cstr(path));
		ux_out_fmt(out, ": %s, %" PRIu64 " functions, ", ux_quality_name(s->quality),
			   s->counts.functions);
		ux_text_size(out, s->gsym_bytes);
		ux_out_u8(out, '\n');
		return;
	}
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "output", path);
	ux_json_key_u64(&j, "size", s->gsym_bytes);
	ux_json_symbols(&j, s->quality, &s->counts);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static void extract_warn_map(const char *path, const struct ux_extract_stats *s)
{
	if (s->map_missing + s->map_changed > 0)
		ux_print_message(
			"%s: DWARF of %" PRIu64 " of %" PRIu64
			" object files is not linked, and the files are missing or newer, so "
			"lines stay unknown; run dsymutil on the build machine",
			path, s->map_missing + s->map_changed, s->map_objects);
}

static void extract_warn_sources(const char *path, const struct ux_extract_stats *s)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	if (s->bad_sources > 0)
		ux_print_message("%s: skipped damaged parts: %s", path,
				 ux_error_format(&s->first_bad_source, text, sizeof(text)));
}

/* Warns of missing files of split units. The functions of such units get their names only from
 * symbols. */
static void extract_warn_split(const char *path, const struct ux_extract_stats *s)
{
	if (s->split_missing > 0)
		ux_print_message("%s: %" PRIu64 " of %" PRIu64
				 " .dwo files are missing; their inlined calls stay unknown",
				 path, s->split_missing, s->split_units);
	if (s->split_mismatched > 0)
		ux_print_message(
			"%s: %" PRIu64 " of %" PRIu64
			" .dwo files belong to another build; their inlined calls stay unknown",
			path, s->split_mismatched, s->split_units);
}

enum {
	MAPPED_MIN = 4 << 20, /* only decompressed sections are this large */
	KEPT_MAX = 64 << 20,
	GROWTH = 2 << 20,
};

/* Makes malloc() keep freed memory instead of returning it to the system. Tables of some megabytes
 * are allocated and freed often, and the kernel would have to clear their pages each time. */
static void extract_tune_malloc(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
	(void)mallopt(M_TOP_PAD, GROWTH);
}

/*
 * Makes the kernel refuse anonymous memory over the limit, so that the limit holds for any file.
 * The stacks of threads are added: the kernel counts their whole size, although they use little of
 * it. A process that already has more memory (with a sanitizer) gets no limit.
 */
static void extract_limit_memory(const struct extract_values *v)
{
	enum {
		PROBE = 1 << 20
	};
	struct rlimit stack, before, data;
	if (v->memory == 0 || getrlimit(RLIMIT_STACK, &stack) != 0 ||
	    getrlimit(RLIMIT_DATA, &before) != 0)
		return;
	uint64_t each = stack.rlim_cur == RLIM_INFINITY ? (uint64_t)MAPPED_MIN : stack.rlim_cur;
	unsigned threads = v->threads != 0 ? v->threads : ux_pool_cpus();
	data = before;
	data.rlim_cur = (rlim_t)ux_min(v->memory + each * threads, (uint64_t)before.rlim_max);
	if (setrlimit(RLIMIT_DATA, &data) != 0)
		return;
	void *probe = mmap(NULL, PROBE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (probe == MAP_FAILED)
		(void)setrlimit(RLIMIT_DATA, &before);
	else
		munmap(probe, PROBE);
}

/* The state of the command. */
struct extract_job {
	struct ux_mapping exe;
	struct ux_mapping debug;
	struct ux_finder finder;
	struct ux_symbol_files files; /* found by a search, not given on the command line */
	struct ux_output_file out;
	struct ux_dash_file stdin_file;  /* the input "-" */
	struct ux_dash_file stdout_file; /* the output "-" */
	struct ux_extract_stats stats;
};

static void extract_job_deinit(struct extract_job *job)
{
	ux_output_file_deinit(&job->out);
	ux_dash_file_close(&job->stdin_file);
	ux_dash_file_close(&job->stdout_file);
	ux_file_unmap(&job->exe);
	ux_file_unmap(&job->debug);
	ux_symbol_files_close(&job->files);
	ux_find_close(&job->finder);
}

/* Finds the debug file, unless it was given on the command line, and the supplementary file.
 * Prints a message if they are missing. */
static enum ux_code extract_find_debug(struct extract_job *job, const struct extract_values *v,
				       const char *input, struct ux_error *err)
{
	UX_TRY(ux_find_open(&job->finder, &v->find, err));
	UX_TRY(v->debug ? ux_symbol_files_supplement(&job->files, &job->finder, job->debug.bytes,
						     v->debug, err)
			: ux_symbol_files_find(&job->files, &job->finder, job->exe.bytes, input,
					       err));
	ux_find_warn(v->debug ? v->debug : input, &job->files.lost);
	return UX_OK;
}

static bool extract_is_same_file(const struct ux_mapping *m, const struct stat *st)
{
	return m->bytes.data && m->dev == st->st_dev && m->ino == st->st_ino;
}

/* Checks that the output is not one of the inputs, which would be overwritten. */
static enum ux_code extract_check_output(const struct extract_job *job, const char *output,
					 struct ux_error *err)
{
	struct stat st;
	if (stat(output, &st) == 0 &&
	    (extract_is_same_file(&job->exe, &st) || extract_is_same_file(&job->debug, &st) ||
	     extract_is_same_file(&job->files.debug.file, &st)))
		return ux_error_set(err, UX_EINVAL,
				    "output is the input itself; expected another file");
	return UX_OK;
}

/* Opens the file that is written: beside the output, to be renamed, or without a name, to be copied
 * to standard output when it is complete. */
static enum ux_code extract_open_output(struct extract_job *job, const char *output,
					struct ux_error *err)
{
	if (ux_dash_is(output))
		return ux_dash_file_create(&job->stdout_file, err);
	UX_TRY(extract_check_output(job, output, err));
	return ux_output_file_open(&job->out, output, err);
}

/* Extracts the input to the output. After a failure *ret_subject is the file that it concerns. */
static enum ux_code cmd_extract_file(struct extract_job *job, const struct extract_values *v,
				     const char *input, const char *output,
				     const char **ret_subject, struct ux_error *err)
{
	struct ux_spill spill = {.folder = ux_spill_folder()};
	struct ux_extract_options how = {
		.threads = v->threads,
		.memory = v->memory,
		.gsym_version = v->gsym_version,
		.alternatives = v->alternatives,
		.no_dwarf = v->no_dwarf,
		.allow_mismatch = v->allow_mismatch,
		.arch = v->arch,
		.gpu = v->gpu,
		.spill = &spill,
		.place = extract_write_at,
		.path = input,
		.debug_path = v->debug,
	};
	*ret_subject = input;
	UX_TRY(ux_dash_file_read(&job->stdin_file, input, UX_BYTES_NONE, &how.path, err));
	ux_sigbus_reading(v->debug ? v->debug : input);
	UX_TRY(ux_dsym_map(how.path, UX_BYTES_NONE, &job->exe, err));
	if (v->debug) {
		*ret_subject = v->debug;
		UX_TRY(ux_dsym_map(v->debug, job->exe.bytes, &job->debug, err));
		UX_TRY(ux_extract_check(job->debug.bytes, err));
	}
	*ret_subject = input;
	UX_TRY(ux_extract_check(job->exe.bytes, err));
	*ret_subject = output;
	UX_TRY(extract_open_output(job, output, err));
	*ret_subject = input;
	if (!v->no_dwarf && !v->gpu)
		UX_TRY(extract_find_debug(job, v, input, err));
	how.supplementary = job->files.supplementary.bytes;
	if (job->files.debug.path)
		how.debug_path = job->files.debug.path;
	struct ux_bytes debug = v->debug ? job->debug.bytes : job->files.debug.file.bytes;
	how.mapped = !job->exe.unpacked && !job->debug.unpacked;
	*ret_subject = output;
	UX_TRY(extract_check_output(job, output, err)); /* the debug file that was found */
	struct extract_sink sink = {ux_dash_is(output) ? job->stdout_file.fd : job->out.file.fd};
	*ret_subject = input;
	struct ux_extract_watch watch;
	how.progress = ux_extract_watch_begin(&watch, "extract");
	enum ux_code code =
		ux_extract(job->exe.bytes, debug, &how, extract_write, &sink, &job->stats, err);
	ux_extract_watch_end(&watch);
	if (code == UX_ENOMEM && v->memory > 0) {
		*err = (struct ux_error)UX_ERROR_INIT;
		return ux_error_set(err, UX_ELIMIT,
				    "needs more memory than --memory allows, %" PRIu64 " bytes",
				    v->memory);
	}
	if (code == UX_OK || sink.failed)
		*ret_subject = output;
	UX_TRY(code);
	return ux_dash_is(output) ? ux_dash_file_print(&job->stdout_file, err)
				  : ux_output_file_commit(&job->out, err);
}

static void extract_values_deinit(struct extract_values *v)
{
	free(v->find.dirs);
}

static int cmd_extract_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(extract_values_deinit) struct extract_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n != 1)
		return ux_usage_error(cmd,
				      args.n == 0 ? "no file given" : "more than one file given");
	if (v.memory != 0 && v.memory < MEMORY_MIN)
		return ux_usage_error(cmd, "--memory: %" PRIu64 " bytes, expected at least %dM",
				      v.memory, MEMORY_MIN >> 20);
	if (v.gsym_version > 2)
		return ux_usage_error(cmd, "--gsym-version is %u; expected 1 or 2", v.gsym_version);
	if (!v.output && ux_dash_is(args.items[0]))
		return ux_usage_error(cmd,
				      "standard input has no name for the output; expected -o");
	bool to_stdout = v.output && ux_dash_is(v.output);
	if (to_stdout && v.json)
		return ux_usage_error(
			cmd, "--json and the output cannot both go to standard output; write to a "
			     "file with -o");
	extract_tune_malloc();
	extract_limit_memory(&v);
	ux_cleanup(ux_free_ptr) char *name =
		v.output ? strdup(v.output) : extract_output_name(args.items[0], v.gpu);
	ux_cleanup(extract_job_deinit) struct extract_job job = {.out = UX_OUTPUT_FILE_INIT,
								 .stdin_file = UX_DASH_FILE_INIT,
								 .stdout_file = UX_DASH_FILE_INIT};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	const char *subject = NULL;
	enum ux_code code = name ? cmd_extract_file(&job, &v, args.items[0], name, &subject, &err)
				 : ux_error_nomem(&err);
	if (code != UX_OK && v.json)
		ux_json_failure(&out, args.items[0], &err);
	if (code != UX_OK)
		return ux_finish(&out, ux_print_error(subject, &err));
	ux_damage_warn(args.items[0], &job.stats);
	extract_warn_map(args.items[0], &job.stats);
	extract_warn_sources(args.items[0], &job.stats);
	extract_warn_split(args.items[0], &job.stats);
	if (!to_stdout)
		cmd_extract_report(&out, name, v.json, &job.stats);
	return ux_finish(&out, UX_EXIT_DONE);
}

const struct ux_command ux_cmd_extract = {
	.name = "extract",
	.usage = "FILE [-d DEBUG] [-o OUT] [options]",
	.line = "create a GSYM file from an ELF or Mach-O file",
	.text = "Writes functions, files, lines and inlined calls of an ELF or Mach-O file to a GSYM file.\n"
		"With -d it reads them from the unstripped or .debug file of a stripped FILE, "
		"or from the\n"
		"dSYM bundle of a Mach-O FILE, and keeps the identity of FILE; it refuses a "
		"pair with\n"
		"different build IDs or UUIDs. Without -d it searches the debug file of an ELF "
		"file as gdb\n"
		"does (--debug-dir \"\" disables the search), and X.dSYM beside a Mach-O file "
		"X. --gpu selects\n"
		"a piece of GPU code in a program or fat binary; a cubin has only one. After a "
		"failure no\n"
		"partial output is left.",
	.examples = "  unhex extract /usr/lib/x86_64-linux-gnu/libc.so.6 -o libc.gsym\n"
		    "  unhex extract stripped -d stripped.debug\n"
		    "  unhex extract big.so --memory 256M --threads 2",
	.options = extract_options,
	.n_options = ux_countof(extract_options),
	.run = cmd_extract_run,
};
