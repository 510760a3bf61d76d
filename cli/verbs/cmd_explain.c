/* SPDX-License-Identifier: Apache-2.0 */
/* unhex explain: the answer of each source for an address, and the chosen one. */
#include "commands.h"

#include "address_filter.h"
#include "common_options.h"
#include "dash_file.h"
#include "demangle.h"
#include "dsym.h"
#include "elf_file.h"
#include "function_names.h"
#include "gsym_reader.h"
#include "id.h"
#include "input.h"
#include "json_out.h"
#include "output.h"
#include "remote.h"
#include "remote_modules.h"
#include "sigbus.h"
#include "sources_out.h"
#include "stripped.h"
#include "text.h"
#include "vec.h"

#include <unistd.h>

struct explain_values {
	struct ux_answer_values answer;
	struct ux_find_values find;
	struct ux_server_values server;
	const char *arch;
	const char *gpu;
};

static const struct ux_option explain_options[] = {
	UX_ANSWER_OPTIONS(struct explain_values, answer),
	{"arch", 0, UX_OPTION_TEXT, offsetof(struct explain_values, arch), "NAME",
	 "slice of a universal Mach-O file: x86_64, arm64, ..."},
	{"gpu", 0, UX_OPTION_TEXT, offsetof(struct explain_values, gpu), "WHICH",
	 "a piece of its GPU code instead: sm_90, an ID, or a number that unhex id prints"},
	UX_FIND_OPTIONS(struct explain_values, find),
	UX_SERVER_OPTIONS(struct explain_values, server),
};

/* A path at which the search looked for a debug file. */
struct debug_candidate {
	char *path; /* malloc'ed */
	char *why;  /* malloc'ed: why it was rejected; NULL: it was used */
};

UX_VEC(debug_candidates, struct debug_candidate);
UX_VEC(explain_pcs, uint64_t);

/* An address that was requested. */
struct explain_arg {
	char *symbol; /* malloc'ed: FUNCTION or FUNCTION+OFFSET; NULL: use `pc` */
	uint64_t pc;
};

UX_VEC(explain_args, struct explain_arg);

/* A GSYM that is extracted from one source alone, or from all sources together. */
struct explain_view {
	struct ux_out built;
	struct ux_gsym gsym;
	struct ux_extract_stats stats;
	bool there;             /* the source has symbols */
	bool narrowed;          /* it has only the functions at the addresses */
	struct ux_error failed; /* code UX_OK: the source is not damaged */
};

/* The state of the command. */
struct explain {
	struct ux_dash_file input; /* the file "-" */
	struct ux_mapping file;
	struct ux_finder finder;
	struct ux_symbol_files files;
	struct debug_candidates tried;
	bool whole;                /* everything is extracted, and described as a whole */
	bool has[UX_SOURCE_COUNT]; /* the file has such a source, perhaps elsewhere */
	struct explain_view all;
	struct explain_view of[UX_SOURCE_COUNT];
	bool asked_server;       /* a server is named, and was queried for a stripped file */
	bool server_found;       /* the server has the module, and every address */
	struct ux_out of_server; /* the server's explanation */
	uint64_t bad_lines; /* lines of standard input that are not addresses, and unknown functions
			     */
	struct explain_args args;
	struct explain_pcs pcs; /* pcs of args, without unknown functions */
	enum ux_demangle_mode demangle;
	struct ux_out out;
};

/* The frames of a view at one address. */
struct explain_result {
	struct ux_frame frames[UX_FRAMES_MAX];
	size_t n;
};

static void cmd_explain_deinit(struct explain *e)
{
	for (size_t i = 0; i < e->tried.size; i++) {
		free(e->tried.data[i].path);
		free(e->tried.data[i].why);
	}
	debug_candidates_deinit(&e->tried);
	for (size_t i = 0; i < e->args.size; i++)
		free(e->args.data[i].symbol);
	explain_args_deinit(&e->args);
	explain_pcs_deinit(&e->pcs);
	for (size_t i = 0; i < UX_SOURCE_COUNT; i++)
		ux_out_deinit(&e->of[i].built);
	ux_out_deinit(&e->all.built);
	ux_symbol_files_close(&e->files);
	ux_find_close(&e->finder);
	ux_file_unmap(&e->file);
	ux_dash_file_close(&e->input);
	ux_out_deinit(&e->of_server);
	ux_out_deinit(&e->out);
}

/* --- looking up ------------------------------------------------------------------------------- */

static void explain_add_candidate(void *ctx, const char *path, const char *why)
{
	struct explain *e = ctx;
	struct debug_candidate t = {strdup(path), why ? strdup(why) : NULL};
	if (!t.path || !debug_candidates_append(&e->tried, t)) {
		free(t.path);
		free(t.why);
	}
}

static enum ux_code explain_write_gsym(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

/* Extracts all sources except those in `without`. With pcs only their functions are extracted;
 * NULL stands for all addresses. Only UX_ENOMEM is returned as a failure; all other failures are
 * stored in the view. */
static enum ux_code explain_view_open(struct explain *e, const char *path,
				      const struct explain_values *v, uint32_t without,
				      const struct explain_pcs *pcs, struct explain_view *ret,
				      struct ux_error *err)
{
	ux_cleanup(ux_address_filter_deinit) struct ux_address_filter filter = {0};
	struct ux_extract_options how = {
		.path = path,
		.arch = v->arch,
		.gpu = v->gpu,
		.debug_path = e->files.debug.path,
		.supplementary = e->files.supplementary.bytes,
		.without = without,
		.filter = pcs ? &filter : NULL,
	};
	if (pcs && !ux_address_filter_init(&filter, pcs->data, pcs->size))
		return ux_error_nomem(err);
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_extract(e->file.bytes, e->files.debug.file.bytes, &how,
				       explain_write_gsym, &ret->built, &ret->stats, &why);
	bool nothing = filter.narrowed && ret->built.size == 0;
	if (code == UX_OK && !nothing)
		code = ux_gsym_open(&ret->gsym, ux_out_bytes(&ret->built), &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	ret->there = code == UX_OK && !nothing;
	ret->narrowed = filter.narrowed;
	bool no_choice =
		v->gpu &&
		without ==
			0; /* the selected piece of GPU code does not exist or has no functions */
	ret->failed = code == UX_ENOTFOUND && !no_choice ? (struct ux_error)UX_ERROR_INIT : why;
	return UX_OK;
}

static void explain_view_lookup(const struct explain_view *v, uint64_t pc,
				struct explain_result *ret)
{
	ret->n = 0;
	if (v->there && ux_gsym_lookup(&v->gsym, pc, ret->frames, ux_countof(ret->frames), &ret->n,
				       NULL) != UX_OK)
		ret->n = 0;
}

static const struct ux_frame *explain_function(const struct explain_result *s)
{
	return s->n > 0 ? &s->frames[s->n - 1] : NULL;
}

static bool explain_same_name(const struct explain_result *a, const struct explain_result *b)
{
	const struct ux_frame *x = explain_function(a), *y = explain_function(b);
	return x && y && strcmp(x->function, y->function) == 0;
}

static bool explain_has_line(const struct explain_result *s)
{
	return s->n > 0 && *s->frames[0].base != '\0';
}

/* The sources of the name and the line in the answer. */
struct explain_choice {
	int name; /* enum ux_source; -1: none */
	int line;
	const char *why;
};

/* Returns whether a source describes the contents of functions, as DWARF and Go's tables do.
 * Symbols only name them. */
static bool explain_source_is_rich(int source)
{
	return source == UX_SOURCE_DWARF || source == UX_SOURCE_GOPCLNTAB;
}

static const char *explain_reason(const struct explain_result *of, int name)
{
	if (name == UX_SOURCE_PLT)
		return "this code jumps to a function of another module";
	if (name == UX_SOURCE_BOUNDS)
		return "no source names this function; unwind tables have only its range";
	if (explain_source_is_rich(name))
		return "debug information has the function and its inlined calls";
	if (of[UX_SOURCE_DWARF].n > 0 || of[UX_SOURCE_GOPCLNTAB].n > 0)
		return "the symbol has a more exact name for the function than debug information";
	return "no debug information here; best of the symbols that cover the address";
}

static struct explain_choice explain_choose(const struct explain_result *all,
					    const struct explain_result *of)
{
	struct explain_choice c = {-1, -1, "no source knows the address"};
	for (int i = 0; i < UX_SOURCE_COUNT && c.name < 0; i++)
		if (explain_same_name(all, &of[i]))
			c.name = i;
	if (c.name >= 0)
		c.why = explain_reason(of, c.name);
	else if (all->n > 0)
		c.why = "combined from several sources, because no single source has everything";
	if (!explain_has_line(all))
		return c;
	c.line = UX_SOURCE_DWARF;
	if (!explain_has_line(&of[UX_SOURCE_DWARF]) && explain_has_line(&of[UX_SOURCE_GOPCLNTAB]))
		c.line = UX_SOURCE_GOPCLNTAB;
	else if (!explain_has_line(&of[UX_SOURCE_DWARF]) && explain_has_line(&of[UX_SOURCE_PTX]))
		c.line = UX_SOURCE_PTX;
	return c;
}

/* --- output ----------------------------------------------------------------------------------- */

/* Returns why a source has no answer; NULL when it has one. The view may have extracted only a
 * part of the file. */
static const char *explain_silence(const struct explain *e, const struct explain_result *s,
				   int source)
{
	const struct explain_view *v = &e->of[source];
	if (v->failed.code != UX_OK)
		return "damaged";
	if (s->n > 0)
		return NULL;
	bool found = v->stats.found[source] + e->all.stats.found[source] > 0;
	if (!found && !e->has[source])
		return "not in the file";
	/* Symbols are read as a whole: this file has none. */
	if (!found && source == UX_SOURCE_DYNSYM)
		return "imports only, defines no functions";
	return !found && source == UX_SOURCE_SYMTAB ? "defines no functions" : "nothing here";
}

static void explain_name_text(struct explain *e, const char *name)
{
	ux_cleanup(ux_out_deinit) struct ux_out plain = {0};
	ux_demangle(ux_bytes_cstr(name), e->demangle, &plain);
	ux_text(&e->out, ux_out_bytes(&plain));
	e->out.failed = e->out.failed || plain.failed;
}

static void explain_frame_text(struct explain *e, const struct ux_frame *f)
{
	struct ux_out *out = &e->out;
	explain_name_text(e, f->function);
	if (f->offset > 0 && !f->inlined)
		ux_out_fmt(out, "+0x%" PRIx64, f->offset);
	if (*f->base == '\0')
		return;
	ux_out_cstr(out, " at ");
	ux_text(out, ux_bytes_cstr(f->dir));
	if (*f->dir && f->dir[strlen(f->dir) - 1] != '/')
		ux_out_u8(out, '/');
	ux_text(out, ux_bytes_cstr(f->base));
	ux_out_fmt(out, ":%" PRIu32, f->line);
}

static void explain_result_text(struct explain *e, const char *label,
				const struct explain_result *s, const char *nothing)
{
	ux_out_fmt(&e->out, "  %-13s  ", label);
	if (nothing)
		ux_out_cstr(&e->out, nothing);
	for (size_t i = 0; i < s->n && !nothing; i++) {
		if (i > 0)
			ux_out_fmt(&e->out, "\n  %-13s  (inlined by) ", "");
		explain_frame_text(e, &s->frames[i]);
	}
	ux_out_u8(&e->out, '\n');
}

static void explain_address_text(struct explain *e, uint64_t pc, const struct explain_result *all,
				 const struct explain_result *of)
{
	struct explain_choice c = explain_choose(all, of);
	ux_out_fmt(&e->out, "0x%" PRIx64 "\n", pc);
	for (int i = 0; i < UX_SOURCE_COUNT; i++)
		explain_result_text(e, ux_source_name((enum ux_source)i), &of[i],
				    explain_silence(e, &of[i], i));
	explain_result_text(e, "chosen", all, all->n > 0 ? NULL : "??");
	ux_out_fmt(&e->out, "  %-13s  ", "because");
	if (c.name >= 0)
		ux_out_fmt(&e->out, "%s: ", ux_source_name((enum ux_source)c.name));
	ux_out_cstr(&e->out, c.why);
	if (c.line >= 0 && c.line != c.name)
		ux_out_fmt(&e->out, "; the line is from %s",
			   ux_source_name((enum ux_source)c.line));
	ux_out_u8(&e->out, '\n');
}

/* Returns where DWARF was found outside of the file itself. */
static const char *explain_debug_origin(const struct explain *e)
{
	const struct ux_extract_stats *s = &e->all.stats;
	if (s->bundle)
		return "dSYM bundle";
	if (s->map_objects > s->map_missing + s->map_changed)
		return "object files";
	return ux_debug_how_name(e->files.debug.how);
}

/* Returns whether a debug file that was not found would help. */
static bool explain_lacks_debug_file(const struct explain *e)
{
	return !e->files.debug.path && !e->server_found && ux_stripped_is(e->file.bytes);
}

static void explain_put_help(const struct explain *e, struct ux_out *out, const char *path)
{
	ux_stripped_help(out, path, e->finder.server != NULL || e->asked_server);
}

static void explain_advice_text(struct explain *e, const char *path)
{
	if (!explain_lacks_debug_file(e))
		return;
	ux_out_cstr(&e->out, "  would help     ");
	explain_put_help(e, &e->out, path);
	ux_out_u8(&e->out, '\n');
}

static void explain_advice_json(const struct explain *e, struct ux_json *j, const char *path)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	if (!explain_lacks_debug_file(e))
		return;
	explain_put_help(e, &text, path);
	ux_json_key(j, "advice");
	ux_json_array_begin(j);
	ux_json_str(j, ux_out_bytes(&text));
	ux_json_array_end(j);
}

static void explain_file_text(struct explain *e, const char *path)
{
	struct ux_out *out = &e->out;
	ux_text(out, ux_bytes_cstr(path));
	ux_out_u8(out, '\n');
	if (e->whole) {
		ux_out_cstr(out, "  sources        ");
		ux_sources_text(out, &e->all.stats);
		ux_out_fmt(out, "\n  quality        %s\n  code           ",
			   ux_quality_name(e->all.stats.quality));
		ux_coverage_text(out, &e->all.stats);
		ux_out_u8(out, '\n');
	}
	ux_out_cstr(out, "  debug file     ");
	if (e->files.debug.path)
		ux_text(out, ux_bytes_cstr(e->files.debug.path));
	ux_out_fmt(out, e->files.debug.path ? " (%s)\n" : "%s\n", explain_debug_origin(e));
	for (size_t i = 0; i < e->tried.size; i++) {
		const struct debug_candidate *t = &e->tried.data[i];
		if (!t->why)
			continue;
		ux_out_cstr(out, "    tried        ");
		ux_text(out, ux_bytes_cstr(t->path));
		ux_out_cstr(out, ": ");
		ux_text(out, ux_bytes_cstr(t->why));
		ux_out_u8(out, '\n');
	}
	explain_advice_text(e, path);
	if (e->all.stats.bad_sources > 0) {
		char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
		ux_out_fmt(out, "  damaged        %s\n",
			   ux_error_format(&e->all.stats.first_bad_source, text, sizeof(text)));
	}
}

static void explain_frames_json(struct explain *e, struct ux_json *j,
				const struct explain_result *s)
{
	ux_json_key(j, "frames");
	ux_json_array_begin(j);
	for (size_t i = 0; i < s->n; i++) {
		const struct ux_frame *f = &s->frames[i];
		ux_cleanup(ux_out_deinit) struct ux_out plain = {0};
		ux_demangle(ux_bytes_cstr(f->function), e->demangle, &plain);
		ux_json_object_begin(j);
		ux_json_key_str(j, "function", ux_out_bytes(&plain));
		if (*f->base) {
			ux_json_key(j, "file");
			ux_json_path(j, ux_bytes_cstr(f->dir), ux_bytes_cstr(f->base));
			ux_json_key_u64(j, "line", f->line);
		}
		if (f->inlined)
			ux_json_key_bool(j, "inlined", true);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
}

static void explain_sources_json(struct explain *e, struct ux_json *j,
				 const struct explain_result *of)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_json_key(j, "sources");
	ux_json_array_begin(j);
	for (int i = 0; i < UX_SOURCE_COUNT; i++) {
		const char *nothing = explain_silence(e, &of[i], i);
		ux_json_object_begin(j);
		ux_json_key_cstr(j, "source", ux_source_name((enum ux_source)i));
		ux_json_key_cstr(j, "status", nothing ? nothing : "answers");
		if (e->of[i].failed.code != UX_OK)
			ux_json_key_cstr(j, "reason",
					 ux_error_format(&e->of[i].failed, text, sizeof(text)));
		if (!nothing)
			explain_frames_json(e, j, &of[i]);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
}

static void explain_address_json(struct explain *e, uint64_t pc, const struct explain_result *all,
				 const struct explain_result *of)
{
	struct ux_json j = ux_json_make(&e->out);
	struct explain_choice c = explain_choose(all, of);
	char address[32];
	snprintf(address, sizeof(address), "0x%" PRIx64, pc);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "address", address);
	explain_frames_json(e, &j, all);
	if (c.name >= 0)
		ux_json_key_cstr(&j, "name_from", ux_source_name((enum ux_source)c.name));
	if (c.line >= 0)
		ux_json_key_cstr(&j, "line_from", ux_source_name((enum ux_source)c.line));
	ux_json_key_cstr(&j, "why", c.why);
	explain_sources_json(e, &j, of);
	ux_json_object_end(&j);
	ux_out_u8(&e->out, '\n');
}

static void explain_file_json(struct explain *e, const char *path)
{
	struct ux_json j = ux_json_make(&e->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", path);
	if (e->whole) {
		ux_json_symbols(&j, e->all.stats.quality, &e->all.stats.counts);
		ux_json_key_u64(&j, "text_bytes", e->all.stats.text_bytes);
		ux_sources_json(&j, &e->all.stats);
	}
	if (e->files.debug.path) {
		ux_json_key(&j, "debug_file");
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "file", e->files.debug.path);
		ux_json_key_cstr(&j, "found", ux_debug_how_name(e->files.debug.how));
		ux_json_object_end(&j);
	}
	ux_json_key(&j, "tried");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < e->tried.size; i++) {
		ux_json_object_begin(&j);
		ux_json_key_cstr(&j, "path", e->tried.data[i].path);
		ux_json_key_cstr(&j, "outcome",
				 e->tried.data[i].why ? e->tried.data[i].why : "taken");
		ux_json_object_end(&j);
	}
	ux_json_array_end(&j);
	explain_advice_json(e, &j, path);
	ux_json_object_end(&j);
	ux_out_u8(&e->out, '\n');
}

/* --- the command ------------------------------------------------------------------------------ */

/* Notes the sources whose content an extraction of a few addresses does not count: symbols are
 * always read as a whole. */
static void explain_find_sources(struct explain *e, struct ux_bytes file)
{
	struct ux_elf elf;
	if (file.size == 0 || ux_elf_open(&elf, file, NULL) != UX_OK)
		return;
	e->has[UX_SOURCE_DWARF] |= ux_elf_has_dwarf(&elf);
	e->has[UX_SOURCE_GOPCLNTAB] |= ux_elf_section_stored(&elf, ".gopclntab");
	e->has[UX_SOURCE_SYMTAB] |= ux_elf_section_stored(&elf, ".symtab");
	e->has[UX_SOURCE_DYNSYM] |= ux_elf_section_stored(&elf, ".dynsym");
	ux_elf_close(&elf);
}

/* Returns the first argument that is a function; NULL: all are numbers. */
static const char *explain_first_symbol(const struct explain *e)
{
	for (size_t i = 0; i < e->args.size; i++)
		if (e->args.data[i].symbol)
			return e->args.data[i].symbol;
	return NULL;
}

/* Finds the address of an argument. An unknown function is reported, and is not a failure. */
static enum ux_code explain_resolve_one(struct explain *e, const char *path, const char *symbol,
					struct ux_gsym_names *names, struct ux_error *err)
{
	struct ux_bytes text = ux_bytes_cstr(symbol);
	struct ux_error why = UX_ERROR_INIT;
	struct ux_function_text function;
	struct ux_gsym_starts starts;
	uint64_t pc = 0;
	(void)!ux_function_text_parse(text, &function); /* it was parsed before */
	enum ux_code code = ux_function_text_find(names, &e->all.gsym, e->file.bytes, &function,
						  &starts, &pc, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK) {
		ux_function_text_warn("explain", &function, &starts);
		return explain_pcs_append(&e->pcs, pc) ? UX_OK : ux_error_nomem(err);
	}
	ux_function_text_hint(text, &why);
	(void)ux_print_error(path, &why);
	e->bad_lines++;
	return UX_OK;
}

/* Writes the addresses of all arguments to e->pcs. For functions, e->all has the whole file. */
static enum ux_code explain_resolve(struct explain *e, const char *path, struct ux_error *err)
{
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names names = {0};
	for (size_t i = 0; i < e->args.size; i++) {
		const struct explain_arg *a = &e->args.data[i];
		if (a->symbol)
			UX_TRY(explain_resolve_one(e, path, a->symbol, &names, err));
		else if (!explain_pcs_append(&e->pcs, a->pc))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Extracts all sources together, and finds the addresses. */
static enum ux_code explain_open_all(struct explain *e, const char *name, const char *path,
				     const struct explain_values *v, struct ux_error *err)
{
	bool symbols = explain_first_symbol(e) != NULL;
	if (!symbols)
		UX_TRY(explain_resolve(e, name, err));
	UX_TRY(explain_view_open(e, path, v, 0, e->pcs.size > 0 ? &e->pcs : NULL, &e->all, err));
	e->whole = !e->all.narrowed;
	return symbols && e->all.failed.code == UX_OK ? explain_resolve(e, name, err) : UX_OK;
}

static enum ux_code explain_open(struct explain *e, const char *name,
				 const struct explain_values *v, struct ux_error *err)
{
	const char *path = NULL;
	if (access(name, F_OK) != 0 && ux_remote_id_is_short(name, err))
		return err->code;
	UX_TRY(ux_dash_file_read(&e->input, name, UX_BYTES_NONE, &path, err));
	ux_sigbus_reading(name);
	UX_TRY(ux_dsym_map(path, UX_BYTES_NONE, &e->file, err));
	UX_TRY(ux_extract_check(e->file.bytes, err));
	UX_TRY(ux_find_open(&e->finder, &v->find, err));
	e->finder.search.tried = explain_add_candidate;
	e->finder.search.ctx = e;
	UX_TRY(ux_symbol_files_find(&e->files, &e->finder, e->file.bytes, path, err));
	ux_find_warn(name, &e->files.lost);
	UX_TRY(explain_open_all(e, name, path, v, err));
	explain_find_sources(e, e->file.bytes);
	explain_find_sources(e, e->files.debug.file.bytes);
	if (e->all.failed.code != UX_OK) {
		*err = e->all.failed;
		return err->code;
	}
	for (unsigned i = 0; i < UX_SOURCE_COUNT && e->pcs.size > 0; i++)
		UX_TRY(explain_view_open(e, path, v, ~(1u << i), &e->pcs, &e->of[i], err));
	return UX_OK;
}

/* Explains one address. Returns true when it has frames. */
static bool explain_address(struct explain *e, uint64_t pc, bool json)
{
	static struct explain_result all, of[UX_SOURCE_COUNT];
	explain_view_lookup(&e->all, pc, &all);
	for (size_t i = 0; i < UX_SOURCE_COUNT; i++) {
		of[i].n = 0;
		if (e->of[i].stats.found[i] > 0) /* otherwise the view has only names of sections */
			explain_view_lookup(&e->of[i], pc, &of[i]);
	}
	if (json)
		explain_address_json(e, pc, &all, of);
	else
		explain_address_text(e, pc, &all, of);
	return all.n > 0;
}

/* Asks the server, if one is named, about a stripped file without a debug file. Returns false after
 * a failure to select the server, with the exit status. After other failures only the server's
 * explanation is missing. */
static bool explain_ask_server(struct explain *e, const char *name, struct explain_values *v,
			       int *ret_status)
{
	char id[UX_ID_TEXT];
	struct ux_error err = UX_ERROR_INIT;
	struct ux_server_selection server = {0};
	if (!ux_server_is_named(&v->server) || v->gpu || e->files.debug.path ||
	    !ux_stripped_id(e->file.bytes, id))
		return true;
	if (ux_server_select(&v->server, &server, &err) != UX_OK) {
		ux_print_error(server.subject, &err);
		*ret_status = UX_EXIT_USAGE;
		return false;
	}
	e->asked_server = true;
	if (ux_explain_remote(&server, id, e->pcs.data, e->pcs.size, v->answer.json, &e->of_server,
			      &e->server_found, &err) == UX_OK)
		return true;
	(void)ux_server_print_error(&server, name, &err);
	e->of_server.size = 0;
	e->server_found = false;
	return true;
}

static int explain_file(struct explain *e, const struct ux_args *args, struct explain_values *v)
{
	int status = UX_EXIT_DONE;
	struct ux_error err = UX_ERROR_INIT;
	size_t known = 0;
	const char *name = ux_dash_is(args->items[0]) ? UX_DASH_INPUT : args->items[0];
	if (explain_open(e, args->items[0], v, &err) != UX_OK) {
		if (v->answer.json)
			ux_json_failure(&e->out, args->items[0], &err);
		return ux_finish(&e->out, ux_print_error(name, &err));
	}
	if (!explain_ask_server(e, name, v, &status))
		return status;
	if (v->answer.json)
		explain_file_json(e, args->items[0]);
	else
		explain_file_text(e, args->items[0]);
	for (size_t i = 0; i < e->pcs.size; i++)
		known += explain_address(e, e->pcs.data[i], v->answer.json);
	ux_out_put(&e->out, e->of_server.data, e->of_server.size);
	bool all = (known == e->pcs.size || e->server_found) && e->bad_lines == 0;
	return ux_finish(&e->out, all ? UX_EXIT_DONE : UX_EXIT_SOME);
}

/* Explains a module on a server. */
static int explain_id(struct explain *e, const struct ux_command *cmd, const char *id,
		      struct explain_values *v)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_server_selection server = {0};
	bool found = false;
	const char *symbol = explain_first_symbol(e);
	if (symbol)
		return ux_usage_error(cmd,
				      "a server explains addresses, not functions: \"%.64s\"; "
				      "unhex lookup %.60s finds functions",
				      symbol, id);
	enum ux_code code = explain_resolve(e, id, &err);
	if (code != UX_OK)
		return ux_print_error(id, &err);
	code = ux_server_select(&v->server, &server, &err);
	bool selected = code == UX_OK;
	if (selected)
		code = ux_explain_remote(&server, id, e->pcs.data, e->pcs.size, v->answer.json,
					 &e->out, &found, &err);
	if (code == UX_OK)
		return ux_finish(&e->out, found && e->bad_lines == 0 ? UX_EXIT_DONE : UX_EXIT_SOME);
	int status = selected ? ux_server_print_error(&server, id, &err)
			      : (ux_print_error(server.subject, &err), UX_EXIT_USAGE);
	if (v->answer.json)
		ux_json_failure(&e->out, id, &err);
	return ux_finish(&e->out, status);
}

/* Returns whether name is an ID, or begins like one. If a file of that name exists, it is taken as
 * a file. */
static bool explain_is_id(const char *name)
{
	return access(name, F_OK) != 0 && ux_remote_id_is(name);
}

static void explain_values_deinit(struct explain_values *v)
{
	free(v->find.dirs);
	if (v->server.token)
		explicit_bzero(v->server.token, strlen(v->server.token));
}

static bool explain_is_symbol(struct ux_bytes text)
{
	struct ux_function_text function;
	return ux_function_text_parse(text, &function);
}

/* Adds a function, or, if symbol is empty, an address. */
static enum ux_code explain_add_arg(struct explain *e, struct ux_bytes symbol, uint64_t pc,
				    struct ux_error *err)
{
	struct explain_arg a = {.pc = pc};
	if (symbol.size > 0)
		a.symbol = strndup((const char *)symbol.data, symbol.size);
	if ((symbol.size == 0 || a.symbol) && explain_args_append(&e->args, a))
		return UX_OK;
	free(a.symbol);
	return ux_error_nomem(err);
}

/* Reads the addresses of standard input, up to its end, because all of them are explained together.
 */
static enum ux_code explain_read_addresses(struct explain *e, bool hex, struct ux_error *err)
{
	static struct ux_address_reader reader;
	struct ux_address_line line;
	if (isatty(STDIN_FILENO))
		ux_print_message(
			"explain: reading addresses from the terminal, one per line; press "
			"Ctrl-D to end");
	ux_address_reader_init(&reader, STDIN_FILENO, hex);
	while (ux_address_reader_next(&reader, &line, err)) {
		bool bad = line.bad.size > 0 && !explain_is_symbol(line.bad);
		e->bad_lines += bad;
		UX_TRY(bad ? ux_address_line_warn(&line, err)
			   : explain_add_arg(e, line.bad, line.address, err));
	}
	if (err->code == UX_OK && e->args.size == 0)
		return ux_error_set(err, UX_EINVAL, "no address; expected one per line");
	return err->code;
}

/* Parses the arguments after the name of the file; "-" stands for the lines of standard input. */
static int explain_parse_args(struct explain *e, const struct ux_command *cmd,
			      const struct ux_args *args, bool hex)
{
	struct ux_error err = UX_ERROR_INIT;
	if (args->n == 2 && ux_dash_is(args->items[1])) {
		if (ux_dash_is(args->items[0]))
			return ux_usage_error(
				cmd, "standard input is the file; pass the addresses as arguments");
		return explain_read_addresses(e, hex, &err) == UX_OK
			       ? UX_EXIT_DONE
			       : ux_print_error(UX_DASH_INPUT, &err);
	}
	for (size_t i = 1; i < args->n; i++) {
		struct ux_bytes text = ux_bytes_cstr(args->items[i]);
		uint64_t pc = 0;
		bool number = ux_hex_parse_u64(text, hex, &pc);
		if (!number && !explain_is_symbol(text))
			return ux_usage_error(cmd,
					      "\"%.64s\" is not an address; expected 0x..., "
					      "decimal, hexadecimal with --hex, FUNCTION or "
					      "FUNCTION+OFFSET",
					      args->items[i]);
		if (explain_add_arg(e, number ? UX_BYTES_NONE : text, pc, &err) != UX_OK)
			return ux_print_error(NULL, &err);
	}
	return UX_EXIT_DONE;
}

static int cmd_explain_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(explain_values_deinit) struct explain_values v = {0};
	ux_cleanup(cmd_explain_deinit) struct explain e = {.input = UX_DASH_FILE_INIT};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n == 0)
		return ux_usage_error(cmd, "no file given");
	if (!ux_answer_mode(cmd, &v.answer, &e.demangle, &status))
		return status;
	status = explain_parse_args(&e, cmd, &args, v.answer.hex);
	if (status != UX_EXIT_DONE)
		return status;
	if (explain_is_id(args.items[0]))
		return explain_id(&e, cmd, args.items[0], &v);
	return explain_file(&e, &args, &v);
}

const struct ux_command ux_cmd_explain = {
	.name = "explain",
	.usage = "FILE|ID [ADDR...|-] [options]",
	.line = "show what each symbol source knows, and the choice",
	.text = "Without addresses, prints the symbols of FILE, an ELF or Mach-O file, and how much of its code\n"
		"they cover. Prints where unhex searched the debug file, and for each address "
		"the answer of\n"
		"each symbol source, the chosen answer, and the reason. Takes the same "
		"addresses and\n"
		"functions as unhex lookup; with -, reads them from standard input, one per line. FILE - is "
		"standard input, too.\n"
		"For an ID, the server describes its candidates, the upstreams that it queried "
		"and when, and\n"
		"what would help. So does a server in --url or UNHEX_URL for a stripped file "
		"without a debug\n"
		"file, by its build ID.\n"
		"\n"
		"Exit status 1: an address, a function or the ID is unknown.",
	.examples = "  unhex explain /usr/bin/python3 0x5a1c40\n"
		    "  unhex explain a.out main+0x12\n"
		    "  unhex explain gnu:93ac61ec5a8eb1396f9fbd350e3169a558528a40",
	.options = explain_options,
	.n_options = ux_countof(explain_options),
	.run = cmd_explain_run,
};
