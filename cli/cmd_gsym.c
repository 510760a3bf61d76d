/* SPDX-License-Identifier: Apache-2.0 */
/* unhex gsym: GSYM files themselves. */
#include "commands.h"

#include "file.h"
#include "gsym_inspect.h"
#include "gsym_json.h"
#include "text.h"
#include "id.h"
#include "json_out.h"
#include "output.h"
#include "sigbus.h"

struct values {
	bool json;
};

static const struct ux_option options[] = {
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct values, json), NULL,
	 "one object a line: a file, or with dump a function"},
};

/* One file that a verb works on. */
struct opened {
	const char *path;
	struct ux_gsym gsym;
	bool json;
	struct ux_out *out;
};

enum {
	DUMP_BUDGET = 1 << 30 /* bytes of memory of one function */
};

static enum ux_code print_piece(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_flush(out, err);
}

static enum ux_code dump(const struct opened *o, struct ux_error *err)
{
	if (o->json)
		return ux_gsym_json(&o->gsym, o->out, err);
	return ux_gsym_dump(&o->gsym, DUMP_BUDGET, print_piece, o->out, err);
}

/* "line tables" as a key: line_tables. */
static void json_count(struct ux_json *j, const char *name, uint64_t n)
{
	char key[48];
	snprintf(key, sizeof(key), "%s", name);
	for (char *space = key; (space = strchr(space, ' ')) != NULL;)
		*space = '_';
	ux_json_key_u64(j, key, n);
}

static enum ux_code verify(const struct opened *o, struct ux_error *err)
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
			json_count(&j, ux_gsym_note_name(n), notes.count[n]);
	ux_json_object_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(o->out, '\n');
	return UX_OK;
}

/* What `stat` tells. */
struct facts {
	char uuid[2 * UX_ID_GNU_MOST + 1]; /* the first bytes of a longer one */
	struct ux_counts counts;
	struct ux_gsym_stat parts;
};

static void stat_json(const struct opened *o, const struct facts *f)
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
		json_count(&j, ux_gsym_part_name(p), f->parts.bytes[p]);
	ux_json_object_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(o->out, '\n');
}

static void stat_text(const struct opened *o, const struct facts *f)
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

static enum ux_code stat_file(const struct opened *o, struct ux_error *err)
{
	struct facts facts = {.uuid = ""};
	UX_TRY(ux_gsym_measure(&o->gsym, &facts.counts, err));
	UX_TRY(ux_gsym_stat(&o->gsym, &facts.parts, err));
	size_t uuid_size = ux_min(o->gsym.uuid.size, (size_t)UX_ID_GNU_MOST);
	ux_hex_encode(ux_bytes(o->gsym.uuid.data, uuid_size), facts.uuid);
	if (o->json)
		stat_json(o, &facts);
	else
		stat_text(o, &facts);
	return UX_OK;
}

typedef enum ux_code verb_fn(const struct opened *o, struct ux_error *err);

static verb_fn *verb_find(const char *name)
{
	static const struct {
		const char *name;
		verb_fn *fn;
	} verbs[] = {
		{"verify", verify},
		{"dump", dump},
		{"stat", stat_file},
	};
	for (size_t i = 0; i < ux_countof(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return verbs[i].fn;
	return NULL;
}

static enum ux_code do_file(verb_fn *verb, struct opened *o, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_sigbus_reading(o->path);
	UX_TRY(ux_file_map(o->path, &file, err));
	UX_TRY(ux_gsym_open(&o->gsym, file.bytes, err));
	UX_TRY(verb(o, err));
	return o->out->size > 0 ? ux_flush(o->out, err) : UX_OK;
}

static int run(const struct ux_command *cmd, int argc, char **argv)
{
	struct values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	verb_fn *verb = args.n > 0 ? verb_find(args.items[0]) : NULL;
	if (!verb)
		return ux_usage_error(cmd, "first comes verify, dump or stat");
	if (args.n < 2)
		return ux_usage_error(cmd, "no file given");
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t failed = 0;
	for (size_t i = 1; i < args.n; i++) {
		struct ux_error err = UX_ERROR_INIT;
		struct opened o = {.path = args.items[i], .json = v.json, .out = &out};
		if (do_file(verb, &o, &err) == UX_OK)
			continue;
		(void)ux_finish(&out, 0); /* what was good of it */
		ux_complain(args.items[i], &err);
		failed++;
	}
	if (failed > 0 && args.n > 2)
		ux_say("%zu of %zu files failed", failed, args.n - 1);
	return failed > 0 ? UX_EXIT_SOME : UX_EXIT_DONE;
}

const struct ux_command ux_cmd_gsym = {
	.name = "gsym",
	.usage = "verify|dump|stat FILE... [options]",
	.line = "check, print or measure GSYM files",
	.text = "verify reads every byte and names the first that is wrong, or what is odd but legal;\n"
		"dump prints every function with its lines and inlined calls, names as they are linked;\n"
		"stat adds up what there is and where the bytes are.",
	.options = options,
	.n_options = ux_countof(options),
	.run = run,
};
