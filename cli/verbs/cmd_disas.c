/* SPDX-License-Identifier: Apache-2.0 */
/* unhex disas: the instructions of a function beside their source lines. */
#include "commands.h"

#include "common_options.h"
#include "disas_out.h"
#include "elf_file.h"
#include "gsym_names.h"
#include "output.h"
#include "sandbox.h"
#include "sigbus.h"
#include "sources_out.h"
#include "symbol_list.h"
#include "symbol_source.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct disas_values {
	struct ux_answer_values answer;
	struct ux_find_values find;
	struct ux_option_each maps;
	bool att;
};

static const struct ux_option disas_options[] = {
	{"source-map", 'm', UX_OPTION_EACH, offsetof(struct disas_values, maps), "FROM=TO",
	 "read source files of the folder FROM from TO; may be repeated"},
	{"att", 0, UX_OPTION_FLAG, offsetof(struct disas_values, att), NULL,
	 "print x86 in AT&T syntax, not in Intel's"},
	UX_ANSWER_OPTIONS(struct disas_values, answer),
	UX_FIND_OPTIONS(struct disas_values, find),
};

enum {
	CODE_MAX = 1 << 20, /* bytes of one function that are disassembled */
	CHILD_SECONDS = 20,
};

static const struct ux_sandbox_limits disas_limits = {
	.memory = 512 << 20, .output = 256 << 20, .seconds = CHILD_SECONDS};

/* The state of the command. */
struct disas {
	const struct disas_values *values;
	struct ux_finder finder;
	struct ux_symbol_source symbols;
	struct ux_symbol_list list; /* symbols with variables, which `symbols` lacks */
	int elf;                    /* descriptors of the file, and of the child's output */
	int text;
	struct ux_mapping written;
	struct ux_code_range range;
	struct ux_disas_out to;
};

static void disas_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void disas_deinit(struct disas *d)
{
	ux_file_unmap(&d->written);
	disas_close_fd(d->elf);
	disas_close_fd(d->text);
	ux_symbol_source_close(&d->symbols);
	ux_symbol_list_close(&d->list);
	ux_find_close(&d->finder);
	ux_disas_out_deinit(&d->to);
}

/* --- the function ------------------------------------------------------------------------------
 */

/* Returns whether the record is the start of the function of its name, and not another part of it.
 */
static bool disas_is_start(const struct ux_gsym *g, const struct ux_gsym_names *names,
			   const char *name, uint64_t pc)
{
	struct ux_gsym_starts starts;
	if (ux_gsym_names_search(names, g, ux_bytes_cstr(name), /* size= */ 0, &starts, NULL) !=
	    UX_OK)
		return false;
	for (size_t i = 0; i < starts.n; i++)
		if (starts.list[i] == pc)
			return true;
	return starts.more;
}

/* Finds the first function whose name is the text as people write it: with parameters or without.
 */
static void disas_find_demangled(struct disas *d, const struct ux_gsym_names *names,
				 struct ux_bytes text, uint64_t *ret, uint64_t *ret_count)
{
	const struct ux_gsym *g = &d->symbols.gsym;
	for (uint32_t i = 0; i < g->n_functions; i++) {
		const char *name = NULL;
		uint64_t size = 0, start = ux_gsym_start(g, i);
		if (!ux_gsym_function_read(g, i, &name, &size) ||
		    (!ux_bytes_eq(ux_disas_name(&d->to, name, UX_DEMANGLE_SHORT), text) &&
		     !ux_bytes_eq(ux_disas_name(&d->to, name, UX_DEMANGLE_FULL), text)) ||
		    !disas_is_start(g, names, name, start))
			continue;
		if ((*ret_count)++ == 0)
			*ret = start;
	}
}

/* Finds the first function with that name: a symbol, or as people write it. */
static enum ux_code disas_find_name(struct disas *d, struct ux_bytes text, uint64_t *ret,
				    uint64_t *ret_count, struct ux_error *err)
{
	const struct ux_gsym *g = &d->symbols.gsym;
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names names = {0};
	struct ux_gsym_starts starts;
	UX_TRY(ux_gsym_names_build(&names, g, /* work= */ NULL, err));
	struct ux_error none = UX_ERROR_INIT;
	enum ux_code code = ux_gsym_names_search(&names, g, text, /* size= */ 0, &starts, &none);
	*ret_count = starts.n;
	*ret = starts.list[0];
	if (code == UX_ENOTFOUND)
		disas_find_demangled(d, &names, text, ret, ret_count);
	return *ret_count > 0 ? UX_OK : ux_error_set(err, code, "%s", none.text);
}

static enum ux_code disas_find(struct disas *d, const char *path, const char *what,
			       struct ux_error *err)
{
	struct ux_bytes text = ux_bytes_cstr(what);
	uint64_t pc = 0, start = 0, size = 0, count = 1;
	if (ux_hex_parse_u64(text, d->values->answer.hex, &pc))
		d->to.marked = pc;
	else
		UX_TRY(disas_find_name(d, text, &pc, &count, err));
	if (count > 1)
		ux_print_message("%s: %" PRIu64
				 " functions have this name; showing the one at 0x%" PRIx64,
				 path, count, pc);
	UX_TRY(ux_gsym_extent(&d->symbols.gsym, pc, &start, &size, err));
	if (size == 0)
		return ux_error_set(err, UX_ENOTFOUND,
				    "the function at 0x%" PRIx64
				    " has no known end; unhex cannot disassemble it",
				    start);
	if (size > CODE_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "the function has %" PRIu64
				    " bytes; unhex disassembles at most %d",
				    size, CODE_MAX);
	d->range = (struct ux_code_range){.pc = start, .size = size, .att = d->values->att};
	return UX_OK;
}

/* --- the instructions --------------------------------------------------------------------------
 */

/* An odd address marks Thumb code, and only the symbol has it: nothing is guessed for ARM. */
static enum ux_code disas_run_child(struct disas *d, const char *path, struct ux_error *err)
{
	d->elf = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (d->elf < 0)
		return ux_error_os(err, errno, "cannot open");
	d->text = memfd_create("unhex-disas", MFD_CLOEXEC);
	if (d->text < 0)
		return ux_error_os(err, errno, "cannot create a file in memory");
	UX_TRY(ux_sandbox_disassemble(d->elf, &d->range, d->text, &disas_limits, NULL, err));
	return ux_file_map_fd(d->text, &d->written, err);
}

/* --- the output --------------------------------------------------------------------------------
 */

/* Returns whether the name names a part of the function, such as main.cold. */
static bool disas_is_part(struct ux_bytes name, const char *function)
{
	size_t n = strlen(function);
	return name.size > n && name.data[n] == '.' && ux_bytes_starts(name, ux_bytes(function, n));
}

/* Finds the function or variable at an address: functions by the names of lookups, but their parts
 * and variables by the symbol table. `text` holds the name. */
static struct ux_disas_target disas_target(const struct disas *d, uint64_t pc, struct ux_out *text)
{
	struct ux_disas_target t = {.pc = pc};
	struct ux_frame f;
	size_t n = 0;
	if (pc == 0)
		return t;
	if (ux_gsym_lookup(&d->symbols.gsym, pc, &f, 1, &n, NULL) == UX_OK && n > 0 &&
	    strcmp(f.function, UX_NO_NAME) != 0) {
		t.name = f.function;
		t.offset = f.offset;
	}
	const struct ux_listed_symbol *s = ux_symbol_list_at(&d->list, pc);
	struct ux_bytes name = s ? ux_listed_symbol_name(s) : UX_BYTES_NONE;
	if (name.size == 0 || s->size == 0 ||
	    (t.name && s->start == pc - t.offset && !disas_is_part(name, t.name)))
		return t;
	ux_out_reset(text);
	ux_out_put(text, name.data, name.size);
	ux_out_u8(text, 0);
	if (!text->failed) {
		t.name = (const char *)text->data;
		t.offset = pc - s->start;
	}
	return t;
}

static enum ux_code disas_print(struct disas *d, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	struct ux_bytes left = d->written.bytes;
	struct ux_instruction now, next;
	size_t n = 0;
	if (ux_gsym_lookup(&d->symbols.gsym, d->range.pc, d->to.frames, UX_FRAMES_MAX, &n, NULL) ==
	    UX_OK)
		ux_disas_out_head(&d->to, d->range.pc, d->range.size, n);
	for (bool more = ux_instruction_next(&left, &now, err); more; now = next) {
		uint64_t pc = d->range.pc + now.offset;
		more = ux_instruction_next(&left, &next, err);
		if (ux_gsym_lookup(&d->symbols.gsym, pc, d->to.frames, UX_FRAMES_MAX, &n, NULL) !=
		    UX_OK)
			n = 0;
		uint64_t end = d->range.pc + (more ? next.offset : d->range.size);
		struct ux_disas_target target = disas_target(d, now.target, &name);
		ux_disas_out_instruction(&d->to, pc, end, now.text, &target, n);
		UX_TRY(ux_flush(&d->to.out, err));
	}
	return err->code;
}

/* --- the command -------------------------------------------------------------------------------
 */

static enum ux_code cmd_disas_file(struct disas *d, const char *path, const char *what,
				   struct ux_error *err)
{
	UX_TRY(ux_disas_out_init(&d->to, &d->values->maps, err));
	ux_sigbus_reading(path);
	UX_TRY(ux_find_open(&d->finder, &d->values->find, err));
	struct ux_symbol_options choice = {.finder = d->finder};
	UX_TRY(ux_symbol_source_open(&d->symbols, path, &choice, err));
	ux_find_warn(path, &d->symbols.lost);
	ux_damage_warn(path, &d->symbols.stats);
	/* Without the list only functions are named. */
	const char *debug = d->symbols.files.debug.path;
	(void)!ux_symbol_list_open(&d->list, debug ? debug : path, NULL);
	UX_TRY(disas_find(d, path, what, err));
	UX_TRY(disas_run_child(d, path, err));
	return disas_print(d, err);
}

static void disas_values_deinit(struct disas_values *v)
{
	free(v->find.dirs);
}

static int cmd_disas_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(disas_values_deinit) struct disas_values v = {0};
	struct ux_args args;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	ux_cleanup(disas_deinit) struct disas d = {.values = &v, .elf = -1, .text = -1};
	struct ux_error err = UX_ERROR_INIT;
	if (!ux_answer_mode(cmd, &v.answer, &d.to.mode, &status))
		return status;
	if (args.n != 2)
		return ux_usage_error(cmd, args.n < 2
						   ? "expected a file, and a function or an address"
						   : "more than one function given");
	for (size_t i = 0; i < v.maps.n; i++)
		if (!ux_source_map_is_valid(v.maps.items[i]))
			return ux_usage_error(cmd, "--source-map is \"%.64s\"; expected FROM=TO",
					      v.maps.items[i]);
	d.to.json = v.answer.json;
	if (cmd_disas_file(&d, args.items[0], args.items[1], &err) != UX_OK)
		return ux_finish(&d.to.out, ux_print_error(args.items[0], &err));
	return ux_finish(&d.to.out, UX_EXIT_DONE);
}

const struct ux_command ux_cmd_disas = {
	.name = "disas",
	.usage = "FILE FUNCTION|ADDR [options]",
	.line = "print instructions with their source lines",
	.text = "Disassembles one function of an ELF file: prints each source line, then its instructions.\n"
		"A bar per level marks inlined calls, with their names. Name the function by "
		"its linkage\n"
		"name, by its source name, with or without parameters, or by an address in it; "
		"=> marks the\n"
		"instruction at that address. If a source file is missing, its name and line "
		"number replace\n"
		"the text.",
	.examples = "  unhex disas build/app main\n"
		    "  unhex disas build/app 0x1165 --source-map /builddir/app=$PWD",
	.options = disas_options,
	.n_options = ux_countof(disas_options),
	.run = cmd_disas_run,
};
