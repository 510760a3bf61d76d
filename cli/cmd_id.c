/* SPDX-License-Identifier: Apache-2.0 */
/* unhex id: identities of files, and what symbols they hold. */
#include "commands.h"

#include "cubin.h"
#include "cubin_crc.h"
#include "dsym.h"
#include "elf_file.h"
#include "elf_ids.h"
#include "extract.h"
#include "file.h"
#include "fatbin.h"
#include "id.h"
#include "find_options.h"
#include "gpu_list.h"
#include "json_out.h"
#include "macho_fat.h"
#include "macho_file.h"
#include "output.h"
#include "sigbus.h"
#include "sources_out.h"

struct values {
	struct ux_find_values find;
	bool json;
	bool quick;
	bool gpu;
};

static const struct ux_option options[] = {
	{"json", 'j', UX_OPTION_FLAG, offsetof(struct values, json), NULL, "one object a line"},
	{"quick", 'q', UX_OPTION_FLAG, offsetof(struct values, quick), NULL,
	 "identities only: do not read the symbols"},
	{"gpu", 0, UX_OPTION_FLAG, offsetof(struct values, gpu), NULL,
	 "each piece of GPU code in programs, however many there are"},
	UX_FIND_OPTIONS(struct values, find),
};

/* What there is to tell about one file, or one slice of a universal file. */
struct known {
	char arch[UX_MACHO_ARCH_TEXT]; /* of a Mach-O file, or a cubin; else "" */
	bool encrypted;                /* its code is */
	struct ux_id_set ids;
	struct ux_extract_stats stats;
	struct ux_symbol_files files;       /* that were found beside it */
	struct ux_extract_stats with_debug; /* what it has together with its debug file */
};

static void known_deinit(struct known *k)
{
	ux_symbol_files_close(&k->files);
}

static enum ux_code drop(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	(void)ctx, (void)bytes, (void)err;
	return UX_OK;
}

/* No symbols at all is an answer: quality none. */
static enum ux_code read_symbols(const char *path, struct ux_bytes file,
				 const struct ux_debug_file *debug, struct ux_bytes supplementary,
				 struct ux_extract_stats *ret, struct ux_error *err)
{
	struct ux_extract_options how = {
		.path = path, .debug_path = debug->path, .supplementary = supplementary};
	struct ux_error none = UX_ERROR_INIT;
	enum ux_code code = ux_extract(file, debug->file.bytes, &how, drop, NULL, ret, &none);
	if (code == UX_OK)
		return UX_OK;
	*ret = (struct ux_extract_stats){.quality = UX_QUALITY_NONE};
	if (code == UX_ENOTFOUND)
		return UX_OK;
	*err = none;
	return code;
}

static enum ux_code measure(const char *path, struct ux_bytes file, const struct ux_finder *finder,
			    struct known *ret, struct ux_error *err)
{
	const struct ux_debug_file *debug = &ret->files.debug, none = {0};
	UX_TRY(ux_symbol_files_find(&ret->files, finder, file, path, err));
	struct ux_bytes sup = ret->files.supplementary.bytes;
	ux_find_warn(path, &ret->files.lost);
	UX_TRY(read_symbols(path, file, &none, debug->path ? UX_BYTES_NONE : sup, &ret->stats,
			    err));
	if (!debug->path)
		return UX_OK;
	return read_symbols(path, file, debug, sup, &ret->with_debug, err);
}

static enum ux_code identify(const char *path, struct ux_bytes file, const struct ux_finder *finder,
			     bool quick, struct known *ret, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, file, err));
	UX_TRY(ux_elf_ids(&elf, &ret->ids, err));
	struct ux_id content = ux_file_id(file);
	UX_TRY(ux_id_set_add(&ret->ids, &content, err));
	if (ux_cubin_is(file)) {
		struct ux_id crc = ux_id_of_cubin_crc(ux_cubin_crc(file));
		snprintf(ret->arch, sizeof(ret->arch), "sm_%" PRIu32, ux_cubin_sm(&elf));
		UX_TRY(ux_id_set_add(&ret->ids, &crc, err));
	}
	return quick ? UX_OK : measure(path, file, finder, ret, err);
}

/* A slice's File ID is that of the file it would be alone. */
static enum ux_code identify_slice(const char *path, const struct ux_macho_slice *slice, bool quick,
				   struct known *ret, struct ux_error *err)
{
	ux_cleanup(ux_macho_close) struct ux_macho macho = {0};
	UX_TRY(ux_macho_open(&macho, slice->bytes, err));
	ux_macho_arch_name(slice->cpu, slice->subtype, ret->arch);
	ret->encrypted = macho.encrypted;
	UX_TRY(ux_macho_ids(&macho, &ret->ids, err));
	const struct ux_debug_file none = {0};
	return quick ? UX_OK
		     : read_symbols(path, slice->bytes, &none, UX_BYTES_NONE, &ret->stats, err);
}

static void symbols_json(struct ux_json *j, const struct known *k)
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

static void write_json(struct ux_out *out, const char *path, const struct known *k, bool quick)
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
		symbols_json(&j, k);
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

static void symbols_text(struct ux_out *out, const char *lead, const struct ux_extract_stats *s)
{
	const struct ux_counts *c = &s->counts;
	ux_out_fmt(out, "  %ssymbols: %s", lead, ux_quality_name(s->quality));
	if (s->quality != UX_QUALITY_NONE)
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

static void write_text(struct ux_out *out, const char *path, const struct known *k, bool quick)
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
	symbols_text(out, "", &k->stats);
	if (!k->files.debug.path)
		return;
	ux_out_cstr(out, "  debug file: ");
	ux_text(out, ux_bytes_cstr(k->files.debug.path));
	ux_out_fmt(out, " (%s)\n", ux_debug_how_name(k->files.debug.how));
	symbols_text(out, "with it, ", &k->with_debug);
}

static enum ux_code write_known(struct ux_out *out, const char *path, const struct known *k,
				const struct values *v, struct ux_error *err)
{
	if (v->json)
		write_json(out, path, k, v->quick);
	else
		write_text(out, path, k, v->quick);
	return ux_flush(out, err);
}

static enum ux_code tell_slices(const char *path, struct ux_bytes file, const struct values *v,
				struct ux_out *out, struct ux_error *err)
{
	struct ux_macho_slices slices;
	UX_TRY(ux_macho_slices(file, &slices, err));
	for (size_t i = 0; i < slices.size; i++) {
		struct known known = {0};
		UX_TRY(identify_slice(path, &slices.list[i], v->quick, &known, err));
		UX_TRY(write_known(out, path, &known, v, err));
	}
	return UX_OK;
}

/* The GPU code in the file, behind what was told of itself. */
static enum ux_code tell_gpu(const char *path, struct ux_bytes file, const struct values *v,
			     struct ux_out *out, struct ux_error *err)
{
	struct ux_gpu_list_options how = {.json = v->json, .quick = v->quick, .all = v->gpu};
	UX_TRY(ux_gpu_list_write(out, path, file, &how, err));
	return ux_flush(out, err);
}

/* A fat binary is no module itself. */
static enum ux_code tell_fatbin(const char *path, struct ux_bytes file, const struct values *v,
				struct ux_out *out, struct ux_error *err)
{
	struct values quick = *v;
	struct known known = {0};
	struct ux_id content = ux_file_id(file);
	UX_TRY(ux_id_set_add(&known.ids, &content, err));
	quick.quick = true;
	UX_TRY(write_known(out, path, &known, &quick, err));
	return tell_gpu(path, file, v, out, err);
}

static enum ux_code tell(const char *path, const struct values *v, const struct ux_finder *finder,
			 struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(known_deinit) struct known known = {0};
	ux_sigbus_reading(path);
	UX_TRY(ux_dsym_map(path, UX_BYTES_NONE, &file, err));
	if (ux_macho_any(file.bytes))
		return tell_slices(path, file.bytes, v, out, err);
	if (ux_fatbin_is(file.bytes))
		return tell_fatbin(path, file.bytes, v, out, err);
	UX_TRY(ux_extract_check(file.bytes, err));
	UX_TRY(identify(path, file.bytes, finder, v->quick, &known, err));
	UX_TRY(write_known(out, path, &known, v, err));
	return tell_gpu(path, file.bytes, v, out, err);
}

static void values_deinit(struct values *v)
{
	free(v->find.dirs);
}

static int run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(values_deinit) struct values v = {0};
	ux_cleanup(ux_find_close) struct ux_finder finder = {0};
	struct ux_error bad = UX_ERROR_INIT;
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n == 0)
		return ux_usage_error(cmd, "no file given");
	if (ux_find_open(&finder, &v.find, &bad) != UX_OK)
		return ux_complain(NULL, &bad);
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t failed = 0;
	for (size_t i = 0; i < args.n; i++) {
		struct ux_error err = UX_ERROR_INIT;
		if (tell(args.items[i], &v, &finder, &out, &err) == UX_OK)
			continue;
		ux_complain(args.items[i], &err);
		failed++;
	}
	if (failed > 0 && args.n > 1)
		ux_say("%zu of %zu files failed", failed, args.n);
	return failed > 0 ? UX_EXIT_SOME : UX_EXIT_DONE;
}

const struct ux_command ux_cmd_id = {
	.name = "id",
	.usage = "FILE... [options]",
	.line = "identities of files, and what symbols they hold",
	.text = "Prints the GNU build ID (gnu:), the Go build ID (go:), the UUID (uuid:) and the File ID\n"
		"(file:, a hash of the content) of ELF and Mach-O files, and what their symbols are good\n"
		"for: none, dynsym, symtab, lines or inlines, as measured: how many functions, how much\n"
		"of the code is in a function or has a line, and which sources there are. When a separate\n"
		"debug file is found, it is named, and the same is told of both together. Of a universal\n"
		"Mach-O file or a dSYM bundle each slice is told. A cubin has an alias (cubin-crc:), by\n"
		"which CUPTI names it; of a program with GPU code, and of a fat binary, each piece of it\n"
		"is told.",
	.options = options,
	.n_options = ux_countof(options),
	.run = run,
};
