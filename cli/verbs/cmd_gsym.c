/* SPDX-License-Identifier: Apache-2.0 */
/* unhex gsym: checks, prints and measures GSYM files. */
#include "commands.h"
#include "dash_file.h"

#include "file.h"
#include "gsym_decode.h"
#include "gsym_inspect.h"
#include "id.h"
#include "json_out.h"
#include "output.h"
#include "sigbus.h"
#include "text.h"

enum {
	ARENA_BUDGET = 1 << 30, /* bytes of one decoded function */
	FLUSH_BYTES = 1 << 16,
};

static const char *gsym_json_string(const struct ux_gsym *g, uint64_t off)
{
	const char *s = ux_gsym_string(g, off);
	return s ? s : "";
}

/* The directory and base name of a source file. Both are "" when it is unknown. */
struct gsym_source {
	struct ux_bytes dir;
	struct ux_bytes base;
};

static struct gsym_source gsym_source(const struct ux_gsym *g, uint32_t file)
{
	const char *dir = "";
	const char *base = "";
	if (file == 0 || !ux_gsym_file(g, file, &dir, &base))
		dir = base = "";
	return (struct gsym_source){ux_bytes_cstr(dir), ux_bytes_cstr(base)};
}

static void gsym_json_address(struct ux_json *j, uint64_t pc)
{
	char text[19];
	snprintf(text, sizeof(text), "0x%" PRIx64, pc);
	ux_json_cstr(j, text);
}

static void gsym_json_source(struct ux_json *j, const struct ux_gsym *g, uint32_t file,
			     const char *file_key, uint32_t line, const char *line_key)
{
	struct gsym_source s = gsym_source(g, file);
	if (s.base.size > 0) {
		ux_json_key(j, file_key);
		ux_json_path(j, s.dir, s.base);
	}
	ux_json_key_u64(j, line_key, line);
}

static void gsym_json_inline(struct ux_json *j, const struct ux_gsym *g,
			     const struct ux_gsym_decoded *f, const struct ux_gsym_node *n)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "function", gsym_json_string(g, n->name));
	ux_json_key_u64(j, "depth", n->depth);
	gsym_json_source(j, g, n->call_file, "call_file", n->call_line, "call_line");
	ux_json_key(j, "ranges");
	ux_json_array_begin(j);
	for (uint32_t k = 0; k < n->range_count; k++) {
		ux_json_array_begin(j);
		gsym_json_address(j, f->start + f->ranges[n->range_first + k].lo);
		gsym_json_address(j, f->start + f->ranges[n->range_first + k].hi);
		ux_json_array_end(j);
	}
	ux_json_array_end(j);
	ux_json_object_end(j);
}

static void gsym_json_function(const struct ux_gsym *g, const struct ux_gsym_decoded *f,
			       struct ux_out *out)
{
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "address");
	gsym_json_address(&j, f->start);
	ux_json_key_u64(&j, "size", f->size);
	ux_json_key_cstr(&j, "function", gsym_json_string(g, f->name));
	ux_json_key(&j, "lines");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < f->n_rows; i++) {
		ux_json_object_begin(&j);
		ux_json_key(&j, "address");
		gsym_json_address(&j, f->start + f->rows[i].off);
		gsym_json_source(&j, g, f->rows[i].file, "file", f->rows[i].line, "line");
		ux_json_object_end(&j);
	}
	ux_json_array_end(&j);
	ux_json_key(&j, "inlines");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < f->n_inlines; i++)
		gsym_json_inline(&j, g, f, &f->inlines[i]);
	ux_json_array_end(&j);
	if (f->n_merged > 0) {
		ux_json_key(&j, "alternatives");
		ux_json_array_begin(&j);
		for (size_t i = 0; i < f->n_merged; i++)
			ux_json_cstr(&j, gsym_json_string(g, f->merged[i]));
		ux_json_array_end(&j);
	}
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static enum ux_code gsym_dump_json(const struct ux_gsym *g, struct ux_out *out,
				   struct ux_error *err)
{
	UX_ARENA(arena, ARENA_BUDGET);
	struct ux_arena_mark start = ux_arena_mark(&arena);
	for (uint32_t i = 0; i < g->n_functions; i++) {
		struct ux_gsym_decoded f;
		ux_arena_rewind(&arena, start);
		UX_TRY(ux_gsym_decode(g, i, &arena, &f, err));
		gsym_json_function(g, &f, out);
		if (out->size >= FLUSH_BYTES)
			UX_TRY(ux_flush(out, err));
	}
	return UX_OK;
}

struct gsym_values {
	bool json;
};

static const struct ux_option gsym_options[] = {
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct gsym_values, json), NULL,
	 "print one JSON object per file; with dump, one per function"},
};

/* The GSYM file that a verb works on. */
struct gsym_file {
	const char *path;
	struct ux_gsym gsym;
	bool json;
	struct ux_out *out;
};

enum {
	DUMP_BUDGET = 1 << 30 /* bytes of memory for one function */
};

static enum ux_code gsym_write_stdout(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_flush(out, err);
}

static enum ux_code gsym_dump(const struct gsym_file *o, struct ux_error *err)
{
	if (o->json)
		return gsym_dump_json(&o->gsym, o->out, err);
	return ux_gsym_dump(&o->gsym, DUMP_BUDGET, gsym_write_stdout, o->out, err);
}

/* Writes a count as a JSON member, whose key is made from a name: "line tables" becomes
 * line_tables. */
static void gsym_count_json(struct ux_json *j, const char *name, uint64_t n)
{
	char key[48];
	snprintf(key, sizeof(key), "%s", name);
	for (char *space = key; (space = strchr(space, ' ')) != NULL;)
		*space = '_';
	ux_json_key_u64(j, key, n);
}

static enum ux_code gsym_verify(const struct gsym_file *o, struct ux_error *err)
{
	struct ux_gsym_notes notes = {0};
	UX_TRY(ux_gsym_verify(&o->gsym, &notes, err));
	if (!o->json) {
		ux_text(o->out, ux_bytes_cstr(o->path));
		ux_out_fmt(o->out, ": valid, %" PRIu32 " functions\n", o->gsym.n_functions);
		for (enum ux_gsym_note n = 0; n < UX_GSYM_NOTE_COUNT; n++)
			if (notes.count[n] > 0)
				ux_out_fmt(o->out, "  %" PRIu64 " %s\n", notes.count[n],
					   ux_gsym_note_name(n));
		return UX_OK;
	}
	struct ux_json j = ux_json_make(o->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", o->path);
	ux_json_key_bool(&j, "valid", true);
	ux_json_key(&j, "notes");
	ux_json_object_begin(&j);
	for (enum ux_gsym_note n = 0; n < UX_GSYM_NOTE_COUNT; n++)
		if (notes.count[n] > 0)
			gsym_count_json(&j, ux_gsym_note_name(n), notes.count[n]);
	ux_json_object_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(o->out, '\n');
	return UX_OK;
}

/* The output of `stat`. */
struct gsym_stats {
	char uuid[2 * UX_ID_GNU_MAX + 1]; /* a longer UUID is truncated */
	struct ux_counts counts;
	struct ux_gsym_stat parts;
};

static void gsym_stat_json(const struct gsym_file *o, const struct gsym_stats *f)
{
	const struct ux_gsym *g = &o->gsym;
	char base[19];
	snprintf(base, sizeof(base), "0x%" PRIx64, g->base);
	struct ux_json j = ux_json_make(o->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", o->path);
	ux_json_key_u64(&j, "version", g->version);
	ux_json_key_cstr(&j, "uuid", f->uuid);
	ux_json_key_cstr(&j, "base", base);
	ux_json_key_u64(&j, "address_size", g->addr_size);
	ux_json_key_u64(&j, "files", g->n_files);
	ux_json_counts(&j, &f->counts);
	ux_json_key_u64(&j, "size", g->file.size);
	ux_json_key(&j, "parts");
	ux_json_object_begin(&j);
	for (enum ux_gsym_part p = 0; p < UX_GSYM_PART_COUNT; p++)
		gsym_count_json(&j, ux_gsym_part_name(p), f->parts.bytes[p]);
	ux_json_object_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(o->out, '\n');
}

static void gsym_stat_text(const struct gsym_file *o, const struct gsym_stats *f)
{
	const struct ux_gsym *g = &o->gsym;
	const struct ux_counts *c = &f->counts;
	ux_text(o->out, ux_bytes_cstr(o->path));
	ux_out_fmt(o->out, "\n  version %u, uuid %s, base 0x%" PRIx64 ", addresses of %u bytes\n",
		   g->version, *f->uuid ? f->uuid : "none", g->base, g->addr_size);
	ux_out_fmt(o->out,
		   "  %" PRIu64 " functions on %" PRIu64 " bytes of code, %" PRIu64
		   " of them with a line\n",
		   c->functions, c->code_bytes, c->line_bytes);
	ux_out_fmt(o->out, "  %" PRIu64 " lines, %" PRIu64 " inlined calls, %" PRIu32 " files\n",
		   c->rows, c->inlines, g->n_files);
	ux_out_fmt(o->out, "  %zu bytes\n", g->file.size);
	for (enum ux_gsym_part p = 0; p < UX_GSYM_PART_COUNT; p++)
		if (f->parts.bytes[p] > 0)
			ux_out_fmt(o->out, "  %12" PRIu64 "  %s\n", f->parts.bytes[p],
				   ux_gsym_part_name(p));
}

static enum ux_code gsym_stat(const struct gsym_file *o, struct ux_error *err)
{
	struct gsym_stats facts = {.uuid = ""};
	UX_TRY(ux_gsym_measure(&o->gsym, &facts.counts, err));
	UX_TRY(ux_gsym_stat(&o->gsym, &facts.parts, err));
	size_t uuid_size = ux_min(o->gsym.uuid.size, (size_t)UX_ID_GNU_MAX);
	ux_hex_encode(ux_bytes(o->gsym.uuid.data, uuid_size), facts.uuid);
	if (o->json)
		gsym_stat_json(o, &facts);
	else
		gsym_stat_text(o, &facts);
	return UX_OK;
}

typedef enum ux_code gsym_verb_fn(const struct gsym_file *o, struct ux_error *err);

static gsym_verb_fn *gsym_verb_find(const char *name)
{
	static const struct {
		const char *name;
		gsym_verb_fn *fn;
	} verbs[] = {
		{"verify", gsym_verify},
		{"dump", gsym_dump},
		{"stat", gsym_stat},
	};
	for (size_t i = 0; i < ux_countof(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return verbs[i].fn;
	return NULL;
}

static enum ux_code gsym_file_run(gsym_verb_fn *verb, struct gsym_file *o, struct ux_error *err)
{
	ux_cleanup(ux_dash_file_close) struct ux_dash_file input = UX_DASH_FILE_INIT;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	const char *path = NULL;
	UX_TRY(ux_dash_file_read(&input, o->path, UX_BYTES_NONE, &path, err));
	ux_sigbus_reading(o->path);
	UX_TRY(ux_file_map(path, &file, err));
	UX_TRY(ux_gsym_open(&o->gsym, file.bytes, err));
	UX_TRY(verb(o, err));
	return o->out->size > 0 ? ux_flush(o->out, err) : UX_OK;
}

static int cmd_gsym_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct gsym_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	gsym_verb_fn *verb = args.n > 0 ? gsym_verb_find(args.items[0]) : NULL;
	if (!verb)
		return ux_usage_verb(cmd, args.n > 0 ? args.items[0] : NULL, "verify dump stat");
	if (args.n < 2)
		return ux_usage_error(cmd, "no file given");
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t failed = 0;
	for (size_t i = 1; i < args.n; i++) {
		struct ux_error err = UX_ERROR_INIT;
		struct gsym_file o = {.path = args.items[i], .json = v.json, .out = &out};
		if (gsym_file_run(verb, &o, &err) == UX_OK)
			continue;
		if (v.json)
			ux_json_failure(&out, args.items[i], &err);
		(void)ux_finish(&out, 0); /* writes the output that precedes the failure */
		ux_print_error(args.items[i], &err);
		failed++;
	}
	if (failed > 0 && args.n > 2)
		ux_print_message("%zu of %zu files failed", failed, args.n - 1);
	return failed > 0 ? UX_EXIT_SOME : UX_EXIT_DONE;
}

const struct ux_command ux_cmd_gsym = {
	.name = "gsym",
	.usage = "verify|dump|stat FILE... [options]",
	.line = "verify, print or measure GSYM files",
	.text = "verify reads every byte, and prints the first error, or unusual but valid content. dump prints\n"
		"every function by its linkage name, with its lines and inlined calls. stat "
		"prints the number\n"
		"of functions and the size of each part.",
	.examples = "  unhex gsym verify libc.gsym\n"
		    "  unhex gsym stat libc.gsym\n"
		    "  unhex gsym dump libc.gsym | less",
	.options = gsym_options,
	.n_options = ux_countof(gsym_options),
	.run = cmd_gsym_run,
};
