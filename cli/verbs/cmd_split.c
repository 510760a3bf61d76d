/* SPDX-License-Identifier: Apache-2.0 */
/* unhex split: strips binaries and keeps the removed parts in debug files. */
#include "commands.h"

#include "json_out.h"
#include "output.h"
#include "push_scan.h"
#include "sigbus.h"
#include "split.h"
#include "text.h"

struct split_values {
	const char *strip;
	const char *compress;
	const char *output_dir;
	bool add_build_id;
	bool dry_run;
	bool json;
};

static const struct ux_option split_options[] = {
	{"strip", 's', UX_OPTION_TEXT, offsetof(struct split_values, strip), "WHAT",
	 "remove debug information (debug), also symbols (unneeded), also comments (all) [debug]",
	 "debug unneeded all"},
	{"compress", 0, UX_OPTION_TEXT, offsetof(struct split_values, compress), "HOW",
	 "compression of debug sections: zstd, zlib or none [unchanged]", "zstd zlib none", 'c'},
	{"output-dir", 'o', UX_OPTION_TEXT, offsetof(struct split_values, output_dir), "DIR",
	 "write debug files to DIR/.build-id/xx/yyyy.debug [FILE.debug]"},
	{"add-build-id", 0, UX_OPTION_FLAG, offsetof(struct split_values, add_build_id), NULL,
	 "add a build ID, a hash of the content, to files without one"},
	{"dry-run", 'n', UX_OPTION_FLAG, offsetof(struct split_values, dry_run), NULL,
	 "print the planned changes; write nothing"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct split_values, json), NULL,
	 "print one JSON object per file"},
};

/* The state of the command. */
struct split_run {
	const struct split_values *values;
	struct ux_split_options how;
	struct ux_out out;
	const char *archive;          /* the file that is being split */
	bool hinted_dwarf, hinted_id; /* the hints were printed */
	uint64_t done;
	int status;
};

static void split_run_deinit(struct split_run *run)
{
	ux_out_deinit(&run->out);
}

static void split_print_json(struct split_run *run, const char *path,
			     const struct ux_split_result *r)
{
	char id[UX_ID_TEXT];
	struct ux_json j = ux_json_make(&run->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", path);
	if (r->id.size > 0)
		ux_json_key_cstr(&j, "id", ux_id_format(&r->id, id));
	ux_json_key_cstr(&j, "status", run->values->dry_run ? "would-split" : "split");
	ux_json_key_cstr(&j, "debug", r->debug);
	ux_json_key_u64(&j, "before", r->before);
	ux_json_key_u64(&j, "after", r->after);
	ux_json_key_u64(&j, "debug_size", r->debug_bytes);
	ux_json_object_end(&j);
	ux_out_u8(&run->out, '\n');
}

static void split_print_text(struct split_run *run, const char *path,
			     const struct ux_split_result *r)
{
	char id[UX_ID_TEXT];
	struct ux_out *out = &run->out;
	ux_out_cstr(out, run->values->dry_run ? "would split  " : "split  ");
	ux_text(out, ux_bytes_cstr(path));
	if (r->id.size > 0)
		ux_out_fmt(out, "  %s", ux_id_format(&r->id, id));
	ux_out_cstr(out, "  ");
	ux_text_size(out, r->before);
	ux_out_cstr(out, " -> ");
	ux_text_size(out, r->after);
	ux_out_cstr(out, ", ");
	ux_text(out, ux_bytes_cstr(r->debug));
	ux_out_cstr(out, " ");
	ux_text_size(out, r->debug_bytes);
	ux_out_u8(out, '\n');
}

/* Hints are printed with the first file that they concern. */
static void split_warn(struct split_run *run, const char *path, const struct ux_split_result *r)
{
	if (!r->has_dwarf)
		ux_print_message("%s: has symbols but no debug information%s", path,
				 run->hinted_dwarf ? "" : " (compile with -g)");
	if (r->id.size == 0)
		ux_print_message(
			"%s: has no build ID: debuggers find its debug file only by name, in "
			"the same folder%s",
			path, run->hinted_id ? "" : " (add one with --add-build-id)");
	if (r->relative_alt)
		ux_print_message(
			"%s: the dwz link in its debug file is relative to another folder; "
			"debuggers find that file only by build ID",
			path);
	run->hinted_dwarf |= !r->has_dwarf;
	run->hinted_id |= r->id.size == 0;
}

static void split_print(struct split_run *run, const char *path, const struct ux_split_result *r)
{
	if (run->values->json)
		split_print_json(run, path, r);
	else
		split_print_text(run, path, r);
}

static void split_fail(struct split_run *run, const char *path, const struct ux_error *err)
{
	if (run->values->json)
		ux_json_failure(&run->out, path, err);
	run->status = ux_print_error(path, err);
}

/* A member of the archive run->archive. */
static void split_on_member(void *ctx, const char *member, const struct ux_split_result *result,
			    const struct ux_error *why)
{
	struct split_run *run = ctx;
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_fmt(&name, "%s: %s", run->archive, member);
	ux_out_u8(&name, 0);
	const char *path = name.failed ? member : (const char *)name.data;
	if (!result) {
		ux_print_error(path, why);
		return;
	}
	split_warn(run, path, result);
	split_print(run, path, result);
}

/* Returns whether an error is not a failure for a file found in a folder: it is neither a program
 * nor a library, or has nothing to split off. */
static bool split_is_passed(enum ux_code code)
{
	return code == UX_ENOTFOUND || code == UX_EUNSUPPORTED;
}

/* Returns whether a file in a folder is an object file of a build: its debug information is linked
 * into another file. */
static bool split_is_object(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot && strcmp(dot, ".o") == 0;
}

static void split_one(struct split_run *run, const struct ux_scan_file *file)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_split_result result;
	size_t before = run->out.size;
	if (!file->named && split_is_object(file->path))
		return;
	ux_sigbus_reading(file->path);
	run->archive = file->path;
	enum ux_code code = ux_dwo_file(file->path, &run->how, split_on_member, run, &result, &err);
	if (code != UX_OK) {
		run->out.size = before; /* the members were not split either */
		if (file->named || !split_is_passed(code))
			split_fail(run, file->path, &err);
		return;
	}
	if (!result.archive)
		split_warn(run, file->path, &result);
	split_print(run, file->path, &result);
	ux_split_result_deinit(&result);
	run->done++;
}

/* Reports a path that cannot be scanned; only a named one may be outside of a folder. */
static void split_on_left_out(void *ctx, const char *path, bool named, const struct ux_error *err)
{
	struct split_run *run = ctx;
	if (named || err->code != UX_EINVAL)
		split_fail(run, path, err);
}

/* Splits the files of the command line, and the files in its folders. */
static int split_all(struct split_run *run, const struct ux_args *args)
{
	ux_cleanup(ux_scan_deinit) struct ux_scan scan = {
		.no_links = true, .left_out = split_on_left_out, .ctx = run};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = UX_OK;
	for (size_t i = 0; code == UX_OK && i < args->n; i++)
		code = ux_scan_path(&scan, args->items[i], &err);
	for (size_t i = 0; code == UX_OK && i < scan.files.size; i++) {
		split_one(run, &scan.files.data[i]);
		code = ux_flush(&run->out, &err);
	}
	if (code != UX_OK)
		return ux_print_error("split", &err);
	if (run->done == 0 && run->status == UX_EXIT_DONE) {
		ux_print_message("split: found no file with debug information");
		return UX_EXIT_SOME;
	}
	return run->status;
}

static int cmd_split_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct split_values v = {0};
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds = 0;
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	ux_cleanup(split_run_deinit) struct split_run run = {.values = &v};
	run.how = (struct ux_split_options){.output_dir = v.output_dir, .dry_run = v.dry_run};
	run.how.pair.add_build_id = v.add_build_id;
	if (v.strip && !ux_strip_parse(v.strip, &run.how.pair.strip))
		return ux_usage_error(cmd, "--strip is \"%.32s\"; expected debug, unneeded or all",
				      v.strip);
	if (v.compress && !ux_compress_parse(v.compress, &run.how.pair.compress))
		return ux_usage_error(cmd, "--compress is \"%.32s\"; expected zstd, zlib or none",
				      v.compress);
	if (epoch && !ux_decimal_parse(ux_bytes_cstr(epoch), &seconds))
		return ux_usage_error(
			cmd, "SOURCE_DATE_EPOCH is \"%.32s\"; expected seconds since 1970", epoch);
	run.how.epoch = (int64_t)ux_min(seconds, (uint64_t)INT64_MAX);
	if (args.n == 0)
		return ux_usage_error(cmd, "no file given");
	return ux_finish(&run.out, split_all(&run, &args));
}

const struct ux_command ux_cmd_split = {
	.name = "split",
	.usage = "PATH... [options]",
	.line = "strip binaries and keep their debug files",
	.text = "Strips each ELF file and writes the removed parts to a debug file that gdb, lldb, perf and\n"
		"unhex find by name or build ID. Replaces objcopy --only-keep-debug, strip and "
		"objcopy\n"
		"--add-gnu-debuglink. For a folder, split strips the programs and libraries in "
		"it. It puts the\n"
		"debug files of the libraries in a wheel, JAR or other ZIP archive into\n"
		"NAME-debug-symbols.zip beside it, and updates the hashes in the RECORD of a "
		"wheel. split\n"
		"writes both files to temporary names, compares them with the input and "
		"renames them, the\n"
		"debug file first; a failure leaves the input unchanged. Owner, mode, times "
		"and extended\n"
		"attributes stay.",
	.examples = "  unhex split build/app build/libapp.so\n"
		    "  unhex split dist/*.whl\n"
		    "  unhex split --strip=unneeded --compress=zstd -o debug/ build/app",
	.options = split_options,
	.n_options = ux_countof(split_options),
	.run = cmd_split_run,
};
