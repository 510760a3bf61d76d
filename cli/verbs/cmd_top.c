/* SPDX-License-Identifier: Apache-2.0 */
/* unhex top: the functions or lines of a profile as a table, and the lines of one function beside
 * their source. */
#include "commands.h"

#include "json_out.h"
#include "output.h"
#include "profile_command.h"
#include "profile_text.h"
#include "profile_top.h"
#include "sigbus.h"
#include "text.h"

#include <unistd.h>

enum {
	TOP_ROWS = 30,
	TOP_NUMBERS = 36,        /* columns of the numbers before a name */
	TOP_AROUND = 3,          /* lines of source around lines with samples */
	TOP_NAMES = 5,           /* functions that a message lists */
	TOP_SOURCE_LINE = 4096,  /* bytes of a line of source that are printed */
	TOP_PATH_MAX = 64 << 10, /* bytes of the path of a source file */
};

struct top_values {
	const char *value;
	const char *demangle;
	const char *annotate;
	const char *source;
	unsigned rows;
	bool lines;
	bool total;
	bool json;
	struct ux_record_values record;
	struct ux_profile_options profile;
};

static const struct ux_option top_options[] = {
	{"lines", 0, UX_OPTION_FLAG, offsetof(struct top_values, lines), NULL,
	 "print a row per line, not per function", NULL, 'l'},
	{"total", 0, UX_OPTION_FLAG, offsetof(struct top_values, total), NULL,
	 "sort by the total of a function and its callees"},
	{"rows", 'n', UX_OPTION_COUNT, offsetof(struct top_values, rows), "N",
	 "maximum number of rows [30]"},
	{"annotate", 0, UX_OPTION_TEXT, offsetof(struct top_values, annotate), "FUNCTION",
	 "print the lines of a function, with their source if the file is readable", NULL, 'a'},
	{"source", 0, UX_OPTION_TEXT, offsetof(struct top_values, source), "DIR",
	 "folder that contains the source files at their paths"},
	{"value", 0, UX_OPTION_TEXT, offsetof(struct top_values, value), "NAME",
	 "value of the samples to count: a name, such as cpu or inuse_space, or its number, "
	 "from 1 [the last one]"},
	{"demangle", 0, UX_OPTION_TEXT, offsetof(struct top_values, demangle), "MODE",
	 "how to print names: full, short (no parameters), templates-elided or none [short; "
	 "templates-elided on a terminal]",
	 "full short templates-elided none"},
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct top_values, json), NULL,
	 "print one JSON object per row"},
	UX_RECORD_OPTIONS(struct top_values, record, 0),
	UX_PROFILE_OPTIONS(struct top_values, profile),
};

/* The state of the command. */
struct top_job {
	const struct top_values *v;
	struct ux_profile_command c;
	struct ux_top top;
	size_t type;
	size_t width; /* columns of a line; 0: names are not cut */
	struct ux_colors colors;
	struct ux_out out;
};

static void top_job_deinit(struct top_job *job)
{
	ux_out_deinit(&job->out);
	ux_top_deinit(&job->top);
	ux_profile_command_deinit(&job->c);
}

static void top_values_deinit(struct top_values *v)
{
	ux_profile_options_free(&v->profile);
}

/* --- numbers and names ------------------------------------------------------------------------ */

struct top_text {
	char text[UX_PROFILE_AMOUNT];
};

/* Formats a value: "1.23 s", "12 MiB", "1234". */
static struct top_text top_amount(const struct top_job *job, int64_t value)
{
	const struct ux_profile *p = &job->c.input.profile;
	struct top_text t;
	struct ux_bytes unit = UX_BYTES_NONE;
	if (job->type < p->n_types)
		unit = ux_profile_text(p, p->types[job->type].unit);
	ux_profile_amount(unit, value, t.text);
	return t;
}

static struct top_text top_percent(const struct top_job *job, int64_t value)
{
	struct top_text t;
	double share = job->top.sum != 0 ? 100.0 * (double)value / (double)job->top.sum : 0;
	snprintf(t.text, sizeof(t.text), "%.1f %%", share);
	return t;
}

/* Writes the name of a function; on a terminal, cuts it to the columns that `used` leaves. */
static void top_put_name(struct top_job *job, struct ux_bytes name, size_t used)
{
	size_t room = job->width > used + 8 ? job->width - used : 8;
	if (job->width > 0 && name.size > room && ux_text_cut(&name, room)) {
		ux_text(&job->out, name);
		ux_out_cstr(&job->out, "...");
		return;
	}
	ux_text(&job->out, name);
}

static void top_put_place(const struct top_job *job, const struct ux_top_row *row,
			  struct ux_out *out)
{
	ux_text(out, ux_profile_text(&job->c.input.profile, row->file));
	if (row->line != 0)
		ux_out_fmt(out, ":%" PRIu32, row->line);
}

/* --- the table -------------------------------------------------------------------------------- */

static void top_put_row(struct top_job *job, const struct ux_top_row *row)
{
	const struct ux_functions *fs = &job->top.functions;
	struct ux_bytes module = ux_strings_get(&fs->strings, fs->list.data[row->function].module);
	ux_cleanup(ux_out_deinit) struct ux_out rest = {0};
	ux_out_cstr(&rest, "  ");
	if (row->file != 0)
		top_put_place(job, row, &rest);
	else
		ux_text(&rest, module);
	ux_out_fmt(&job->out, "%10s %7s %10s %7s  %s", top_amount(job, row->self).text,
		   top_percent(job, row->self).text, top_amount(job, row->total).text,
		   top_percent(job, row->total).text, job->colors.name);
	top_put_name(job, ux_function_name(fs, row->function), TOP_NUMBERS + rest.size);
	ux_out_cstr(&job->out, job->colors.none);
	ux_out_cstr(&job->out, job->colors.dim);
	ux_out_put(&job->out, rest.data, rest.size);
	ux_out_cstr(&job->out, job->colors.none);
	ux_out_u8(&job->out, '\n');
	job->out.failed |= rest.failed;
}

static void top_put_json(struct top_job *job, const struct ux_top_row *row)
{
	const struct ux_functions *fs = &job->top.functions;
	const struct ux_function *f = &fs->list.data[row->function];
	struct ux_json j = ux_json_make(&job->out);
	ux_json_object_begin(&j);
	ux_json_key_str(&j, "function", ux_function_name(fs, row->function));
	ux_json_key_bool(&j, "named", f->named);
	if (f->module != 0)
		ux_json_key_str(&j, "module", ux_strings_get(&fs->strings, f->path));
	if (row->file != 0)
		ux_json_key_str(&j, "file", ux_profile_text(&job->c.input.profile, row->file));
	if (row->line != 0)
		ux_json_key_u64(&j, "line", row->line);
	ux_json_key(&j, "self");
	ux_json_i64(&j, row->self);
	ux_json_key(&j, "total");
	ux_json_i64(&j, row->total);
	ux_json_object_end(&j);
	ux_out_u8(&job->out, '\n');
}

static enum ux_code top_put_table(struct top_job *job, struct ux_error *err)
{
	const struct ux_profile *p = &job->c.input.profile;
	size_t max = job->v->rows ? job->v->rows : TOP_ROWS, n = 0, more = 0;
	if (!job->v->json) {
		ux_text(&job->out, job->type < p->n_types
					   ? ux_profile_text(p, p->types[job->type].name)
					   : UX_STR("no values"));
		ux_out_fmt(&job->out, ": %s\n%10s %7s %10s %7s  %s\n",
			   top_amount(job, job->top.sum).text, "self", "", "total", "",
			   job->v->lines ? "line" : "function");
	}
	for (size_t i = 0; i < job->top.rows.size; i++) {
		const struct ux_top_row *row = &job->top.rows.data[i];
		if (row->self == 0 && row->total == 0)
			continue;
		if (n++ >= max) {
			more++;
			continue;
		}
		if (job->v->json)
			top_put_json(job, row);
		else
			top_put_row(job, row);
		if (job->out.size >= 1 << 16)
			UX_TRY(ux_flush(&job->out, err));
	}
	if (more > 0 && !job->v->json)
		ux_out_fmt(&job->out, "%*s and %zu more; set the number of rows with -n\n",
			   TOP_NUMBERS - 1, "", more);
	return ux_flush(&job->out, err);
}

/* --- the source of one function --------------------------------------------------------------- */

/* Returns whether a name equals `word`, or unless `whole`, contains it. */
static bool top_matches(struct ux_bytes name, struct ux_bytes word, bool whole)
{
	return whole ? ux_bytes_eq(name, word)
		     : memmem(name.data, name.size, word.data, word.size) != NULL;
}

/* Sets the function that --annotate names. UX_ENOTFOUND; UX_EINVAL: there are several. */
static enum ux_code top_find(const struct top_job *job, uint32_t *ret, struct ux_error *err)
{
	const struct ux_functions *fs = &job->top.functions;
	struct ux_bytes word = ux_bytes_cstr(job->v->annotate);
	for (int whole = 1; whole >= 0; whole--) {
		char list[96] = "";
		size_t n = 0, used = 0;
		for (uint32_t i = 0; i < fs->list.size; i++) {
			struct ux_bytes name = ux_function_name(fs, i);
			if (!fs->list.data[i].named || !top_matches(name, word, whole))
				continue;
			*ret = n == 0 ? i : *ret;
			n += n == 0 || !ux_bytes_eq(name, ux_function_name(fs, *ret));
			if (n > TOP_NAMES)
				break;
			int wrote = snprintf(list + used, sizeof(list) - used, "%s%.*s",
					     used ? ", " : "", (int)ux_min(name.size, (size_t)40),
					     (const char *)name.data);
			used = ux_min(used + (size_t)ux_max(wrote, 0), sizeof(list) - 1);
		}
		if (n > 1)
			return ux_error_set(err, UX_EINVAL, "several functions match: %s%s", list,
					    n > TOP_NAMES ? ", ..." : "");
		if (n == 1)
			return UX_OK;
	}
	return ux_error_set(err, UX_ENOTFOUND, "no function of the profile has this name");
}

static int top_compare_lines(const void *pa, const void *pb)
{
	const struct ux_top_row *a = pa, *b = pb;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* Keeps the rows of functions with that name, and orders them by file and line. Rows of functions
 * with the same name in several modules are added up. */
static void top_keep(struct top_job *job, uint32_t function)
{
	struct ux_top_rows *rows = &job->top.rows;
	struct ux_bytes name = ux_function_name(&job->top.functions, function);
	size_t n = 0, last = 0;
	for (size_t i = 0; i < rows->size; i++)
		if (ux_bytes_eq(ux_function_name(&job->top.functions, rows->data[i].function),
				name))
			rows->data[n++] = rows->data[i];
	if (n > 0)
		qsort(rows->data, n, sizeof(*rows->data), top_compare_lines);
	for (size_t i = 1; i < n; i++) {
		struct ux_top_row *to = &rows->data[last];
		if (top_compare_lines(to, &rows->data[i]) != 0) {
			rows->data[++last] = rows->data[i];
			continue;
		}
		to->self += rows->data[i].self;
		to->total += rows->data[i].total;
	}
	rows->size = n > 0 ? last + 1 : 0;
}

/* Maps a source file: below --source, or at its own path. */
static enum ux_code top_open_source(const struct top_job *job, uint32_t file,
				    struct ux_mapping *ret, struct ux_error *err)
{
	struct ux_bytes path = ux_profile_text(&job->c.input.profile, file);
	if (memchr(path.data, 0, path.size) || path.size > TOP_PATH_MAX)
		return ux_error_set(err, UX_EINVAL, "not the path of a file");
	if (job->v->source) {
		char *joined = NULL;
		if (asprintf(&joined, "%s/%s", job->v->source, (const char *)path.data) < 0)
			return ux_error_nomem(err);
		enum ux_code code = ux_file_map(joined, ret, err);
		free(joined);
		if (code == UX_OK || job->v->profile.no_local)
			return code;
		*err = (struct ux_error)UX_ERROR_INIT;
	}
	if (job->v->profile.no_local)
		return ux_error_set(err, UX_ENOTFOUND, "--no-local is given without --source");
	if (path.data[0] != '/')
		return ux_error_set(err, UX_ENOTFOUND,
				    "the path is relative; name its folder with --source");
	return ux_file_map((const char *)path.data, ret, err);
}

/* Takes the next line of a source; false at its end. */
static bool top_next_line(struct ux_bytes *source, struct ux_bytes *ret)
{
	if (!ux_text_take_line(source, ret))
		return false;
	ret->size = ux_min(ret->size, (size_t)TOP_SOURCE_LINE);
	return true;
}

/* Writes text with its tabs as spaces. */
static void top_put_text(struct ux_out *out, struct ux_bytes text)
{
	for (size_t i = 0, column = 0, n = 0; i < text.size; i += n) {
		n = 1;
		if (text.data[i] == '\t') {
			size_t spaces = 8 - column % 8;
			ux_out_fmt(out, "%*s", (int)spaces, "");
			column += spaces;
			continue;
		}
		while (i + n < text.size && text.data[i + n] != '\t')
			n++;
		ux_text(out, ux_bytes(text.data + i, n));
		column += n;
	}
}

static void top_put_shares(struct top_job *job, const struct ux_top_row *row)
{
	if (row)
		ux_out_fmt(&job->out, "%10s %7s %10s %7s", top_amount(job, row->self).text,
			   top_percent(job, row->self).text, top_amount(job, row->total).text,
			   top_percent(job, row->total).text);
	else
		ux_out_fmt(&job->out, "%*s", TOP_NUMBERS + 1, "");
}

/* Prints the n lines of one file that have samples, with the lines around them. */
static enum ux_code top_put_source(struct top_job *job, const struct ux_top_row *rows, size_t n,
				   struct ux_bytes source, struct ux_error *err)
{
	struct ux_bytes text = UX_BYTES_NONE;
	uint32_t line = 0;
	bool gap = false;
	size_t at = 0; /* the first row that is not far above the line */
	while (at < n && rows[at].line == 0)
		at++;
	while (top_next_line(&source, &text) && ++line != 0) {
		while (at < n && (uint64_t)rows[at].line + TOP_AROUND < line)
			at++;
		if (at == n)
			break;
		if ((uint64_t)line + TOP_AROUND < rows[at].line) {
			gap = true;
			continue;
		}
		const struct ux_top_row *row = NULL;
		for (size_t i = at; i < n && rows[i].line <= line; i++)
			row = rows[i].line == line ? &rows[i] : row;
		if (gap)
			ux_out_fmt(&job->out, "%*s ...\n", TOP_NUMBERS + 1, "");
		gap = false;
		top_put_shares(job, row);
		ux_out_fmt(&job->out, " %s%6" PRIu32 "%s%s", job->colors.dim, line,
			   job->colors.none, text.size > 0 ? "  " : "");
		top_put_text(&job->out, text);
		ux_out_u8(&job->out, '\n');
		if (job->out.size >= 1 << 16)
			UX_TRY(ux_flush(&job->out, err));
	}
	for (; at < n; at++) {
		if (rows[at].line <= line)
			continue;
		top_put_shares(job, &rows[at]);
		ux_out_fmt(&job->out, " %6" PRIu32 "  (after the end of the file)\n",
			   rows[at].line);
	}
	return ux_flush(&job->out, err);
}

/* Prints the rows of one file. Without the source only the lines are listed. */
static enum ux_code top_put_file(struct top_job *job, const struct ux_top_row *rows, size_t n,
				 struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping source = {0};
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_out_fmt(&job->out, "%s", job->colors.source);
	ux_text(&job->out, rows->file ? ux_profile_text(&job->c.input.profile, rows->file)
				      : UX_STR("unknown file"));
	ux_out_cstr(&job->out, job->colors.none);
	if (rows->file == 0)
		why.code = UX_ENOTFOUND;
	else if (top_open_source(job, rows->file, &source, &why) != UX_OK)
		ux_out_fmt(&job->out, " (not shown: %s)",
			   ux_error_format(&why, text, sizeof(text)));
	ux_out_u8(&job->out, '\n');
	for (size_t i = 0; i < n && (why.code != UX_OK || rows[i].line == 0); i++) {
		top_put_shares(job, &rows[i]);
		if (rows[i].line != 0)
			ux_out_fmt(&job->out, " %6" PRIu32 "\n", rows[i].line);
		else
			ux_out_cstr(&job->out, " without a line\n");
	}
	if (why.code != UX_OK)
		return ux_flush(&job->out, err);
	ux_sigbus_reading((const char *)ux_profile_text(&job->c.input.profile, rows->file).data);
	enum ux_code code = top_put_source(job, rows, n, source.bytes, err);
	ux_sigbus_reading(NULL);
	return code;
}

static enum ux_code top_annotate(struct top_job *job, struct ux_error *err)
{
	uint32_t function = 0;
	UX_TRY(top_find(job, &function, err));
	top_keep(job, function);
	const struct ux_top_rows *rows = &job->top.rows;
	ux_out_cstr(&job->out, job->colors.name);
	ux_text(&job->out, ux_function_name(&job->top.functions, function));
	ux_out_fmt(&job->out, "%s\n%10s %7s %10s %7s   line\n", job->colors.none, "self", "",
		   "total", "");
	for (size_t i = 0, end = 0; i < rows->size; i = end) {
		while (end < rows->size && rows->data[end].file == rows->data[i].file)
			end++;
		UX_TRY(top_put_file(job, rows->data + i, end - i, err));
	}
	return UX_OK;
}

/* --- the command ------------------------------------------------------------------------------ */

static enum ux_code top_run(struct top_job *job, struct ux_error *err)
{
	const struct top_values *v = job->v;
	const struct ux_profile *p = &job->c.input.profile;
	struct ux_profile_options options = v->profile;
	UX_TRY(ux_profile_command_read(&job->c, &v->profile, err));
	UX_TRY(ux_profile_type_find(p, ux_bytes_cstr(v->value), &job->type, err));
	UX_TRY(ux_profile_input_symbolize(&job->c.input, &options, err));
	const struct ux_top_options how = {
		.type = job->type,
		.level = v->lines || v->annotate ? UX_TOP_LINES : UX_TOP_FUNCTIONS,
		.demangle = job->c.demangle,
	};
	UX_TRY(ux_top_make(&job->top, p, &how, err));
	if (v->annotate)
		return top_annotate(job, err);
	if (v->total)
		ux_top_order_by_total(&job->top);
	return top_put_table(job, err);
}

static int cmd_top_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(top_values_deinit) struct top_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	bool terminal = isatty(STDOUT_FILENO);
	ux_cleanup(top_job_deinit) struct top_job job = {
		.v = &v,
		.c = UX_PROFILE_COMMAND_INIT,
		.width = terminal ? ux_terminal_width(STDOUT_FILENO) : 0,
		.colors = ux_colors_of(STDOUT_FILENO),
	};
	const struct ux_profile_command_values values = {
		.record = &v.record, .profile = &v.profile, .demangle = v.demangle, .hint = ""};
	job.c.demangle = terminal ? UX_DEMANGLE_ELIDED : UX_DEMANGLE_SHORT;
	if (v.annotate && v.json)
		return ux_usage_error(cmd, "--annotate: expected --lines with --json");
	if (!ux_profile_command_begin(&job.c, cmd, &values, &args, &status))
		return status;
	struct ux_error err = UX_ERROR_INIT;
	if (top_run(&job, &err) != UX_OK)
		return ux_profile_command_fail(&job.c,
					       v.annotate && job.top.rows.size > 0
						       ? v.annotate
						       : ux_profile_command_subject(&job.c),
					       &err);
	return ux_profile_command_report(&job.c, NULL, v.profile.verbose);
}

const struct ux_command ux_cmd_top = {
	.name = "top",
	.usage = "PROFILE [options]\n"
		 "[options] -- COMMAND [ARGUMENT...]",
	.line = "print a profile's functions or lines as a table",
	.text = "Reads a profile as unhex symbolize does and prints its functions, sorted by samples. self\n"
		"counts samples in the function itself, total also samples in its callees; "
		"inlined functions\n"
		"count as functions. --annotate prints the source of a function with the share "
		"of each line. -\n"
		"reads standard input. With a command after --, or with --pid or --all, it "
		"records the profile\n"
		"first, as unhex record does.",
	.examples = "  unhex top cpu.pb.gz\n"
		    "  unhex top -- ./program --its-option\n"
		    "  unhex top cpu.pb.gz --lines -n 50\n"
		    "  unhex top cpu.pb.gz --annotate main.parse",
	.options = top_options,
	.n_options = ux_countof(top_options),
	.run = cmd_top_run,
};
