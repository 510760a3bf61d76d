/* SPDX-License-Identifier: Apache-2.0 */
/* unhex id: prints the identities of files and which symbols they have. */
#include "commands.h"

#include "bytes.h"
#include "common_options.h"
#include "core_file.h"
#include "cubin.h"
#include "dash_file.h"
#include "dsym.h"
#include "error.h"
#include "extract.h"
#include "fatbin.h"
#include "file.h"
#include "id.h"
#include "json_out.h"
#include "module_facts.h"
#include "object.h"
#include "out.h"
#include "output.h"
#include "sigbus.h"
#include "sources_out.h"

/* How the list of pieces is printed. */
struct gpu_list_options {
	bool json;
	bool quick; /* identities only */
	bool all;   /* list every piece, however many there are */
};

enum {
	GPU_LIST_SHORT =
		16, /* if there are more pieces, only their number is printed unless `all` is set */
};

/* One piece of GPU code. */
struct gpu_piece {
	const struct ux_fatbin_entry *entry;
	size_t number; /* from 1 on */
	char arch[UX_FATBIN_ARCH_TEXT];
	struct ux_id_set ids;
	struct ux_extract_stats stats;
	struct ux_error damage; /* code UX_OK: the piece is not damaged */
};

static enum ux_code gpu_discard_gsym(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)ctx, (void)bytes, (void)err;
	return UX_OK;
}

/* Reads a cubin and measures its symbols. A cubin without symbols is not a failure; its quality is
 * "none". */
static enum ux_code gpu_read_cubin(struct gpu_piece *p, bool quick)
{
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	struct ux_extract_options how = {0};
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(ux_fatbin_unpack(p->entry, NULL, &content, &p->damage));
	UX_TRY(ux_cubin_ids(content.bytes, &p->ids, &p->damage));
	if (quick)
		return UX_OK;
	enum ux_code code = ux_extract(content.bytes, UX_BYTES_NONE, &how, gpu_discard_gsym, NULL,
				       &p->stats, &why);
	if (code != UX_OK)
		p->stats = (struct ux_extract_stats){.quality = UX_QUALITY_NONE};
	if (code != UX_OK && code != UX_ENOTFOUND)
		p->damage = why;
	return code;
}

static void gpu_write_json(struct ux_out *out, const char *path, const struct gpu_piece *p,
			   bool quick)
{
	struct ux_json j = ux_json_make(out);
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", path);
	ux_json_key_u64(&j, "gpu", p->number);
	ux_json_key_cstr(&j, "arch", p->arch);
	ux_json_key_cstr(&j, "kind", ux_fatbin_kind_name(p->entry->kind));
	ux_json_key_u64(&j, "size", p->entry->size);
	ux_json_key(&j, "name");
	ux_json_str(&j, p->entry->name);
	ux_json_key(&j, "ids");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < p->ids.size; i++)
		ux_json_cstr(&j, ux_id_format(&p->ids.ids[i], text));
	ux_json_array_end(&j);
	if (p->damage.code != UX_OK)
		ux_json_key_cstr(&j, "error", ux_error_format(&p->damage, text, sizeof(text)));
	else if (p->entry->kind == UX_FATBIN_CUBIN && !quick)
		ux_json_symbols(&j, p->stats.quality, &p->stats.counts);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static void gpu_write_text(struct ux_out *out, const struct gpu_piece *p, bool quick)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	const struct ux_fatbin_entry *e = p->entry;
	ux_out_fmt(out, "  gpu %zu: %s %s, ", p->number, p->arch, ux_fatbin_kind_name(e->kind));
	ux_text_size(out, e->size);
	if (e->name.size > 0) {
		ux_out_cstr(out, ", ");
		ux_text(out, e->name);
	}
	for (size_t i = 0; i < p->ids.size; i++)
		ux_out_fmt(out, ", %s", ux_id_format(&p->ids.ids[i], text));
	if (p->damage.code != UX_OK)
		ux_out_fmt(out, ", damaged: %s", ux_error_format(&p->damage, text, sizeof(text)));
	else if (e->kind == UX_FATBIN_PTX)
		ux_out_cstr(out, ", compiled by the driver at run time");
	else if (e->kind == UX_FATBIN_CUBIN && !quick)
		ux_out_fmt(out, ", symbols: %s, %" PRIu64 " functions",
			   ux_quality_name(p->stats.quality), p->stats.counts.functions);
	ux_out_u8(out, '\n');
}

static void gpu_write_summary(struct ux_out *out, const char *path,
			      const struct ux_fatbin_list *list, bool json)
{
	char archs[256];
	if (json) {
		struct ux_json j = ux_json_make(out);
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "file", path);
		ux_json_key_u64(&j, "gpu_pieces", list->entries.size);
		ux_json_object_end(&j);
		ux_out_u8(out, '\n');
		return;
	}
	ux_out_fmt(out, "  gpu: %zu pieces of code for %s; --gpu lists them\n", list->entries.size,
		   ux_fatbin_archs(list, archs, sizeof(archs)));
}

/*
 * Appends a line for each piece of GPU code in the file at path: its number, architecture, kind,
 * size and name, and for a cubin its IDs and the quality of its symbols. Damaged pieces are marked.
 * Nothing is appended for a file without GPU code. UX_ENOMEM.
 */
static enum ux_code gpu_list_write(struct ux_out *out, const char *path, struct ux_bytes file,
				   const struct gpu_list_options *options, struct ux_error *err)
{
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {0};
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	UX_TRY(ux_fatbin_list_read(file, &list, err));
	if (list.bad > 0)
		ux_print_message("%s: %" PRIu64 " GPU code containers are damaged, the first: %s",
				 path, list.bad, ux_error_format(&list.reason, text, sizeof(text)));
	if (list.entries.size > GPU_LIST_SHORT && !options->all) {
		gpu_write_summary(out, path, &list, options->json);
		return UX_OK;
	}
	for (size_t i = 0; i < list.entries.size; i++) {
		struct gpu_piece p = {
			.entry = &list.entries.data[i], .number = i + 1, .damage = UX_ERROR_INIT};
		ux_fatbin_arch(p.entry, p.arch);
		if (p.entry->kind == UX_FATBIN_CUBIN &&
		    gpu_read_cubin(&p, options->quick) == UX_ENOMEM)
			return ux_error_nomem(err);
		if (options->json)
			gpu_write_json(out, path, &p, options->quick);
		else
			gpu_write_text(out, &p, options->quick);
		UX_TRY(ux_flush(out, err));
	}
	return UX_OK;
}

struct id_values {
	struct ux_find_values find;
	bool json;
	bool quick;
	bool gpu;
};

static const struct ux_option id_options[] = {
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct id_values, json), NULL,
	 "print one JSON object per line"},
	{"quick", 'q', UX_OPTION_FLAG, offsetof(struct id_values, quick), NULL,
	 "print only identities; do not read the symbols"},
	{"gpu", 0, UX_OPTION_FLAG, offsetof(struct id_values, gpu), NULL,
	 "list every piece of GPU code in programs"},
	UX_FIND_OPTIONS(struct id_values, find),
};

/* The facts about one file, or about one slice of a universal file. */
struct id_facts {
	char arch[UX_OBJECT_ARCH_TEXT]; /* architecture of a Mach-O file or a cubin; else "" */
	bool encrypted;                 /* the code is encrypted */
	struct ux_id_set ids;
	struct ux_extract_stats stats;
	struct ux_symbol_files files;       /* debug files that were found for the file */
	struct ux_extract_stats with_debug; /* figures for the file together with its debug file */
};

static void id_facts_deinit(struct id_facts *k)
{
	ux_symbol_files_close(&k->files);
}

static enum ux_code id_discard_gsym(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)ctx, (void)bytes, (void)err;
	return UX_OK;
}

/* Measures the symbols of a file. A file without symbols is not a failure; its quality is "none".
 */
static enum ux_code id_extract_stats(const char *path, struct ux_bytes file,
				     const struct ux_debug_file *debug,
				     struct ux_bytes supplementary, struct ux_extract_stats *ret,
				     struct ux_error *err)
{
	struct ux_extract_options how = {
		.path = path, .debug_path = debug->path, .supplementary = supplementary};
	struct ux_error none = UX_ERROR_INIT;
	enum ux_code code =
		ux_extract(file, debug->file.bytes, &how, id_discard_gsym, NULL, ret, &none);
	if (code == UX_OK)
		return UX_OK;
	*ret = (struct ux_extract_stats){.quality = UX_QUALITY_NONE};
	if (code == UX_ENOTFOUND)
		return UX_OK;
	*err = none;
	return code;
}

static enum ux_code id_read_quality(const char *path, struct ux_bytes file,
				    const struct ux_finder *finder, struct id_facts *ret,
				    struct ux_error *err)
{
	const struct ux_debug_file *debug = &ret->files.debug, none = {0};
	UX_TRY(ux_symbol_files_find(&ret->files, finder, file, path, err));
	struct ux_bytes sup = ret->files.supplementary.bytes;
	ux_find_warn(path, &ret->files.lost);
	UX_TRY(id_extract_stats(path, file, &none, debug->path ? UX_BYTES_NONE : sup, &ret->stats,
				err));
	if (!debug->path)
		return UX_OK;
	return id_extract_stats(path, file, debug, sup, &ret->with_debug, err);
}

/* Reads the facts about a slice. Its File ID is computed as for a file with only this slice. */
static enum ux_code id_read_slice(const char *path, const struct ux_object_slice *slice,
				  const struct ux_finder *finder, bool quick, struct id_facts *ret,
				  struct ux_error *err)
{
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	UX_TRY(ux_object_open_headers(slice->bytes, &object, err));
	snprintf(ret->arch, sizeof(ret->arch), "%s", slice->arch);
	ret->encrypted = object->encrypted;
	UX_TRY(ux_object_ids(object, &ret->ids, err));
	if (ux_cubin_is(slice->bytes)) {
		snprintf(ret->arch, sizeof(ret->arch), "sm_%" PRIu32,
			 ux_cubin_sm(ux_elf_of(object)));
		UX_TRY(ux_cubin_ids(slice->bytes, &ret->ids, err));
	}
	return quick ? UX_OK : id_read_quality(path, slice->bytes, finder, ret, err);
}

static void id_symbols_json(struct ux_json *j, const struct id_facts *k)
{
	ux_json_symbols(j, k->stats.quality, &k->stats.counts);
	ux_json_key_u64(j, "text_bytes", k->stats.text_bytes);
	ux_sources_json(j, &k->stats);
	if (!k->files.debug.path)
		return;
	ux_json_key(j, "debug_file");
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "file", k->files.debug.path);
	ux_json_key_cstr(j, "found", ux_debug_how_name(k->files.debug.how));
	ux_json_symbols(j, k->with_debug.quality, &k->with_debug.counts);
	ux_sources_json(j, &k->with_debug);
	ux_json_object_end(j);
}

static void id_write_json(struct ux_out *out, const char *path, const struct id_facts *k,
			  bool quick)
{
	struct ux_json j = ux_json_make(out);
	char text[UX_ID_TEXT];
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", path);
	if (k->arch[0] != '\0')
		ux_json_key_cstr(&j, "arch", k->arch);
	if (k->encrypted)
		ux_json_key_bool(&j, "encrypted", true);
	ux_json_key(&j, "ids");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < k->ids.size; i++)
		ux_json_cstr(&j, ux_id_format(&k->ids.ids[i], text));
	ux_json_array_end(&j);
	if (!quick)
		id_symbols_json(&j, k);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static void id_symbols_text(struct ux_out *out, const char *lead, const struct ux_extract_stats *s)
{
	const struct ux_counts *c = &s->counts;
	ux_out_fmt(out, "  %ssymbols: %s", lead, ux_quality_name(s->quality));
	if (s->quality == UX_QUALITY_NONE)
		ux_out_cstr(out, "; expected " UX_MODULE_SYMBOLS);
	else
		ux_out_fmt(out, ", %" PRIu64 " functions", c->functions);
	if (c->rows > 0)
		ux_out_fmt(out, ", %" PRIu64 " lines, %" PRIu64 " inlined calls", c->rows,
			   c->inlines);
	ux_out_fmt(out, "\n  %ssources: ", lead);
	ux_sources_text(out, s);
	ux_out_fmt(out, "\n  %scode: ", lead);
	ux_coverage_text(out, s);
	ux_out_u8(out, '\n');
}

static void id_write_text(struct ux_out *out, const char *path, const struct id_facts *k,
			  bool quick)
{
	char text[UX_ID_TEXT];
	ux_text(out, ux_bytes_cstr(path));
	if (k->arch[0] != '\0')
		ux_out_fmt(out, " (%s)", k->arch);
	ux_out_u8(out, '\n');
	for (size_t i = 0; i < k->ids.size; i++)
		ux_out_fmt(out, "  %s\n", ux_id_format(&k->ids.ids[i], text));
	if (k->encrypted)
		ux_out_fmt(out, "  code: encrypted\n");
	if (quick)
		return;
	id_symbols_text(out, "", &k->stats);
	if (!k->files.debug.path)
		return;
	ux_out_cstr(out, "  debug file: ");
	ux_text(out, ux_bytes_cstr(k->files.debug.path));
	ux_out_fmt(out, " (%s)\n", ux_debug_how_name(k->files.debug.how));
	id_symbols_text(out, "with it, ", &k->with_debug);
}

static enum ux_code id_write(struct ux_out *out, const char *path, const struct id_facts *k,
			     const struct id_values *v, struct ux_error *err)
{
	if (v->json)
		id_write_json(out, path, k, v->quick);
	else
		id_write_text(out, path, k, v->quick);
	return ux_flush(out, err);
}

static enum ux_code id_slices(const char *path, struct ux_bytes file, const struct id_values *v,
			      const struct ux_finder *finder, struct ux_out *out,
			      struct ux_error *err)
{
	ux_cleanup(ux_object_slices_deinit) struct ux_object_slices slices = {0};
	UX_TRY(ux_object_slices(file, &slices, err));
	for (size_t i = 0; i < slices.size; i++) {
		ux_cleanup(id_facts_deinit) struct id_facts known = {0};
		UX_TRY(id_read_slice(path, &slices.data[i], finder, v->quick, &known, err));
		UX_TRY(id_write(out, path, &known, v, err));
	}
	return UX_OK;
}

/* Prints the GPU code in a file, after the facts about the file itself. */
static enum ux_code id_gpu(const char *path, struct ux_bytes file, const struct id_values *v,
			   struct ux_out *out, struct ux_error *err)
{
	struct gpu_list_options how = {.json = v->json, .quick = v->quick, .all = v->gpu};
	UX_TRY(gpu_list_write(out, path, file, &how, err));
	return ux_flush(out, err);
}

/* Prints a fat binary, which is not a module itself. */
static enum ux_code id_fatbin(const char *path, struct ux_bytes file, const struct id_values *v,
			      struct ux_out *out, struct ux_error *err)
{
	struct id_values quick = *v;
	struct id_facts known = {0};
	struct ux_id content = ux_file_id(file);
	UX_TRY(ux_id_set_add(&known.ids, &content, err));
	quick.quick = true;
	UX_TRY(id_write(out, path, &known, &quick, err));
	return id_gpu(path, file, v, out, err);
}

static void id_core_module(struct ux_out *out, const struct ux_core_module *m)
{
	char text[UX_ID_TEXT];
	ux_out_fmt(out, "  0x%" PRIx64 "-0x%" PRIx64 " ", m->start, m->end);
	ux_text(out, ux_bytes_cstr(m->path));
	if (m->gnu.size > 0)
		ux_out_fmt(out, " %s", ux_id_format(&m->gnu, text));
	ux_out_u8(out, '\n');
}

static void id_core_module_json(struct ux_json *j, const struct ux_core_module *m)
{
	char text[UX_ID_TEXT];
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "file", m->path);
	ux_json_key(j, "ids");
	ux_json_array_begin(j);
	if (m->gnu.size > 0)
		ux_json_cstr(j, ux_id_format(&m->gnu, text));
	ux_json_array_end(j);
	snprintf(text, sizeof(text), "0x%" PRIx64, m->start);
	ux_json_key_cstr(j, "start", text);
	snprintf(text, sizeof(text), "0x%" PRIx64, m->end);
	ux_json_key_cstr(j, "end", text);
	ux_json_object_end(j);
}

/* Prints the files that were mapped in the process of a core dump. */
static enum ux_code id_core(const char *path, struct ux_bytes file, const struct id_values *v,
			    struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf core = {0};
	ux_cleanup(ux_core_modules_deinit) struct ux_core_modules modules = {0};
	UX_TRY(ux_elf_open(&core, file, err));
	UX_TRY(ux_core_read_modules(&core, &modules, err));
	if (v->json) {
		struct ux_json j = ux_json_make(out);
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "file", path);
		ux_json_key_cstr(&j, "kind", "core");
		ux_json_key(&j, "modules");
		ux_json_array_begin(&j);
		for (size_t i = 0; i < modules.size; i++)
			id_core_module_json(&j, &modules.data[i]);
		ux_json_array_end(&j);
		ux_json_object_end(&j);
		ux_out_u8(out, '\n');
		return ux_flush(out, err);
	}
	ux_text(out, ux_bytes_cstr(path));
	ux_out_fmt(out, "\n  core dump, mapped files: %zu\n", modules.size);
	size_t known = 0;
	for (size_t i = 0; i < modules.size; i++)
		known += modules.data[i].gnu.size > 0;
	for (size_t i = 0; i < modules.size; i++)
		if (modules.data[i].gnu.size > 0 || known == 0)
			id_core_module(out, &modules.data[i]);
	if (known > 0 && known < modules.size)
		ux_out_fmt(out, "  and %zu files without a build ID (--json lists them)\n",
			   modules.size - known);
	return ux_flush(out, err);
}

static enum ux_code id_file(const char *path, const struct id_values *v,
			    const struct ux_finder *finder, struct ux_out *out,
			    struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_dash_file_close) struct ux_dash_file input = UX_DASH_FILE_INIT;
	const char *readable = NULL;
	UX_TRY(ux_dash_file_read(&input, path, UX_BYTES_NONE, &readable, err));
	ux_sigbus_reading(path);
	UX_TRY(ux_dsym_map(readable, UX_BYTES_NONE, &file, err));
	if (ux_core_is(file.bytes))
		return id_core(path, file.bytes, v, out, err);
	if (ux_fatbin_is(file.bytes))
		return id_fatbin(path, file.bytes, v, out, err);
	UX_TRY(id_slices(path, file.bytes, v, finder, out, err));
	return id_gpu(path, file.bytes, v, out, err);
}

static void id_values_deinit(struct id_values *v)
{
	free(v->find.dirs);
}

static int cmd_id_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(id_values_deinit) struct id_values v = {0};
	ux_cleanup(ux_find_close) struct ux_finder finder = {0};
	struct ux_error bad = UX_ERROR_INIT;
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n == 0)
		return ux_usage_error(cmd, "no file given");
	if (ux_find_open(&finder, &v.find, &bad) != UX_OK)
		return ux_print_error(NULL, &bad);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t failed = 0;
	for (size_t i = 0; i < args.n; i++) {
		struct ux_error err = UX_ERROR_INIT;
		if (id_file(args.items[i], &v, &finder, &out, &err) == UX_OK)
			continue;
		ux_print_error(args.items[i], &err);
		if (v.json)
			ux_json_failure(&out, args.items[i], &err);
		failed++;
	}
	if (failed > 0 && args.n > 1)
		ux_print_message("%zu of %zu files failed", failed, args.n);
	return ux_finish(&out, failed > 0 ? UX_EXIT_SOME : UX_EXIT_DONE);
}

const struct ux_command ux_cmd_id = {
	.name = "id",
	.usage = "FILE... [options]",
	.line = "print identities of files and their symbol quality",
	.text = "Prints the identities of ELF and Mach-O files: the GNU build ID (gnu:), the Go build ID\n"
		"(go:), the UUID (uuid:) and the File ID (file:, a hash of the content). Also "
		"measures the\n"
		"quality of their symbols: none, dynsym, symtab, lines or inlines; prints the "
		"number of\n"
		"functions, the share of the code with a function or a line, and the symbol "
		"sources. If unhex\n"
		"finds a separate debug file, it prints its path, and measures both files "
		"together. It\n"
		"describes each slice of a universal Mach-O file or dSYM bundle, and each "
		"piece of GPU code in\n"
		"a program or fat binary. A cubin has an alias (cubin-crc:), the name that "
		"CUPTI uses. For a\n"
		"core dump, prints the mapped files with their build IDs.",
	.examples = "  unhex id /usr/bin/python3\n"
		    "  unhex id --json a.out | jq -r '.ids[]'",
	.options = id_options,
	.n_options = ux_countof(id_options),
	.run = cmd_id_run,
};
