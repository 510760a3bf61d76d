/* SPDX-License-Identifier: Apache-2.0 */
/* unhex addr2line: replaces addr2line of binutils. Options and output are the same, byte for
 * byte. */
#include "commands.h"

#include "drop_in.h"
#include "elf_file.h"
#include "gsym_reader.h"
#include "input.h"
#include "output.h"
#include "sigbus.h"
#include "symbol_list.h"

#include <getopt.h>
#include <unistd.h>

struct addr2line_values {
	const char *exe;
	const char *section;
	bool addresses, functions, inlines, pretty, basenames;
	struct ux_demangle_how how;
};

/* The state of the command. */
struct addr2line {
	struct addr2line_values v;
	struct ux_drop_in_file file;
	struct ux_elf elf;             /* open only with -j SECTION */
	struct ux_symbol_list symbols; /* open only when a function has no source file */
	bool symbols_read;
	const struct ux_elf_section *section;
	struct ux_requests requests;
	bool unreadable; /* the failure occurred while the file was read */
	struct ux_out out;
};

static void addr2line_deinit(struct addr2line *r)
{
	ux_out_deinit(&r->out);
	ux_symbol_list_close(&r->symbols);
	ux_elf_close(&r->elf);
	ux_drop_in_close(&r->file);
}

static void addr2line_print_usage(FILE *to)
{
	fputs("Usage: addr2line [option(s)] [addr(s)]\n"
	      " Prints functions, files and lines at hexadecimal addresses of a binary. Without\n"
	      " addresses as arguments, reads them from standard input, one per line.\n"
	      " Takes the options of GNU addr2line:\n"
	      "  @FILE                    read options and addresses from FILE\n"
	      "  -a --addresses           print each address first\n"
	      "  -b --target=BFDNAME      format of the file; only ELF formats\n"
	      "  -e --exe=FILE            the binary, or a GSYM file [a.out]\n"
	      "  -i --inlines             print the callers of inlined code, too\n"
	      "  -j --section=NAME        addresses are offsets in this section\n"
	      "  -p --pretty-print        print one line per frame\n"
	      "  -s --basenames           print file names without folders\n"
	      "  -f --functions           print names of functions, too\n"
	      "  -C --demangle[=STYLE]    demangle them: auto, gnu-v3, rust, dlang, gnat, none\n"
	      "  -R --recurse-limit       ignored: demangling is always limited\n"
	      "  -r --no-recurse-limit    ignored, too\n"
	      "  -h --help                print this\n"
	      "  -v --version             print the version\n",
	      to);
}

static void addr2line_error(const char *subject, const char *what)
{
	ux_drop_in_complain("addr2line: %s%s%s", subject ? subject : "", subject ? ": " : "", what);
}

/* Selects a demangling style. Returns false when it is unknown. */
static bool addr2line_set_style(struct addr2line_values *v, const char *style)
{
	static const struct {
		const char *word;
		unsigned schemes;
	} styles[] = {
		{"none", 0},
		{"auto", UX_SCHEME_ITANIUM | UX_SCHEME_RUST},
		{"gnu-v3", UX_SCHEME_ITANIUM | UX_SCHEME_RUST},
		{"java", UX_SCHEME_ITANIUM},
		{"gnat", UX_SCHEME_ADA},
		{"dlang", UX_SCHEME_DLANG},
		{"rust", UX_SCHEME_RUST},
	};
	for (size_t i = 0; i < ux_countof(styles); i++) {
		if (strcmp(style, styles[i].word) != 0)
			continue;
		v->how.schemes = styles[i].schemes;
		return true;
	}
	ux_drop_in_complain("addr2line: unknown demangling style `%.64s'", style);
	return false;
}

static bool addr2line_check_target(const char *exe, const char *name)
{
	if (strncmp(name, "elf", 3) == 0 || strcmp(name, "default") == 0)
		return true;
	addr2line_error(exe, "invalid bfd target");
	return false;
}

static const struct option addr2line_options[] = {
	{"addresses", no_argument, NULL, 'a'},
	{"basenames", no_argument, NULL, 's'},
	{"demangle", optional_argument, NULL, 'C'},
	{"exe", required_argument, NULL, 'e'},
	{"functions", no_argument, NULL, 'f'},
	{"inlines", no_argument, NULL, 'i'},
	{"pretty-print", no_argument, NULL, 'p'},
	{"recurse-limit", no_argument, NULL, 'R'},
	{"recursion-limit", no_argument, NULL, 'R'},
	{"no-recurse-limit", no_argument, NULL, 'r'},
	{"no-recursion-limit", no_argument, NULL, 'r'},
	{"section", required_argument, NULL, 'j'},
	{"target", required_argument, NULL, 'b'},
	{"help", no_argument, NULL, 'H'},
	{"version", no_argument, NULL, 'V'},
	{0},
};

/* Applies one option. Returns false if the command must end with *ret_status. */
static bool addr2line_set_option(struct addr2line_values *v, int option, int *ret_status)
{
	*ret_status = UX_EXIT_SOME;
	switch (option) {
	case 'a':
		return v->addresses = true;
	case 'b':
		return addr2line_check_target(v->exe, optarg);
	case 'C':
		v->how.mode = UX_DEMANGLE_FULL;
		return !optarg || addr2line_set_style(v, optarg);
	case 'e':
		v->exe = optarg;
		return true;
	case 'f':
		return v->functions = true;
	case 'i':
		return v->inlines = true;
	case 'j':
		v->section = optarg;
		return true;
	case 'p':
		return v->pretty = true;
	case 'r':
	case 'R':
		return true;
	case 's':
		return v->basenames = true;
	case 'v':
	case 'V':
		puts("GNU addr2line stand-in (unhex " UX_VERSION ")");
		*ret_status = UX_EXIT_DONE;
		return false;
	case 'h':
	case 'H':
		addr2line_print_usage(stdout);
		*ret_status = UX_EXIT_DONE;
		return false;
	default:
		addr2line_print_usage(stderr);
		return false;
	}
}

static bool addr2line_parse_options(struct addr2line_values *v, struct ux_command_line *line,
				    int *ret_status)
{
	optind = 0; /* GNU extension: resets the parser */
	for (int option = 0;
	     (option = getopt_long(line->argc, line->argv.data, "ab:Ce:rRsfHhij:pVv",
				   addr2line_options, NULL)) != -1;)
		if (!addr2line_set_option(v, option, ret_status))
			return false;
	return true;
}

static void addr2line_write_function(struct addr2line *r, const char *name)
{
	size_t before = r->out.size;
	if (!*name)
		ux_out_cstr(&r->out, "??");
	else
		ux_demangle_as(ux_bytes_cstr(name), &r->v.how, &r->out);
	ux_drop_in_clean(&r->out, before);
}

static void addr2line_write_frame(struct addr2line *r, const struct ux_frame *f)
{
	if (r->v.functions) {
		addr2line_write_function(r, f->function);
		ux_out_cstr(&r->out, r->v.pretty ? " at " : "\n");
	}
	size_t before = r->out.size;
	if (*f->base)
		ux_drop_in_write_path(&r->out, f, r->v.basenames);
	else
		ux_out_cstr(&r->out, "??");
	ux_drop_in_clean(&r->out, before);
	if (f->line > 0)
		ux_out_fmt(&r->out, ":%" PRIu32 "\n", f->line);
	else
		ux_out_cstr(&r->out, ":?\n");
}

static void addr2line_write_unknown(struct addr2line *r)
{
	if (r->v.functions)
		ux_out_cstr(&r->out, r->v.pretty ? "?? " : "??\n");
	ux_out_cstr(&r->out, "??:0\n");
}

/* Converts an address of a request to a pc. With -j addresses are relative to the start of the
 * section. */
static bool addr2line_pc(const struct addr2line *r, uint64_t address, uint64_t *ret)
{
	if (r->section && address >= r->section->size)
		return false;
	*ret = r->section ? r->section->addr - r->elf.bias + address : address;
	return true;
}

/* Returns the source file of a local function from the symbol table, which has it even without
 * debug information. */
static const char *addr2line_symbol_file(struct addr2line *r, uint64_t pc)
{
	if (!r->symbols_read && ux_symbol_list_open(&r->symbols, r->v.exe, NULL) != UX_OK)
		ux_symbol_list_close(&r->symbols);
	r->symbols_read = true;
	const struct ux_listed_symbol *symbol = ux_symbol_list_at(&r->symbols, pc);
	return symbol ? symbol->file : "";
}

/* Parses an address as strtoul() does: text that is not a number is 0, and a number that is too
 * large becomes the largest one. */
static uint64_t addr2line_parse_address(const struct addr2line *r, struct ux_bytes request)
{
	char text[100];
	snprintf(text, sizeof(text), "%.*s", (int)ux_min(request.size, sizeof(text)),
		 (const char *)request.data);
	uint64_t address = strtoull(text, NULL, 16);
	return r->file.is_elf32 ? address & UINT32_MAX : address;
}

/* Loads the symbols at pc and at the addresses of the requests that have been read ahead.
 * Address 0 is always included: after each request perf sends a line that is not a number, which is
 * parsed as 0, to find the end of the answer. */
static enum ux_code addr2line_load(struct addr2line *r, uint64_t pc, struct ux_error *err)
{
	uint64_t pcs[UX_DROP_IN_AHEAD] = {pc};
	struct ux_bytes request;
	size_t n = 1, at = 0;
	n += addr2line_pc(r, 0, &pcs[n]);
	if (ux_symbol_source_has(&r->file.source, pc))
		return UX_OK;
	while (n < ux_countof(pcs) && ux_requests_ahead(&r->requests, &at, &request))
		n += addr2line_pc(r, addr2line_parse_address(r, request), &pcs[n]);
	enum ux_code code = ux_drop_in_load(&r->file, pcs, n, err);
	r->unreadable = code != UX_OK;
	return code;
}

static enum ux_code addr2line_find_frames(struct addr2line *r, uint64_t address,
					  struct ux_frame *frames, size_t max, size_t *ret_n,
					  struct ux_error *err)
{
	uint64_t pc = 0;
	*ret_n = 0;
	if (!addr2line_pc(r, address, &pc))
		return UX_OK;
	UX_TRY(addr2line_load(r, pc, err));
	*ret_n = ux_drop_in_frames(&r->file, pc, frames, max);
	if (*ret_n == 1 && !*frames[0].base)
		frames[0].base = addr2line_symbol_file(r, pc);
	return UX_OK;
}

static enum ux_code addr2line_answer(void *ctx, struct ux_bytes request, struct ux_error *err)
{
	struct addr2line *r = ctx;
	struct ux_frame frames[UX_GSYM_DEPTH_MAX + 1];
	uint64_t address = addr2line_parse_address(r, request);
	size_t n = 0;
	UX_TRY(addr2line_find_frames(r, address, frames, ux_countof(frames), &n, err));
	if (r->v.addresses)
		ux_out_fmt(&r->out, "0x%0*" PRIx64 "%s", r->file.is_elf32 ? 8 : 16, address,
			   r->v.pretty ? ": " : "\n");
	if (n == 0)
		addr2line_write_unknown(r);
	for (size_t i = 0; i < (r->v.inlines ? n : ux_min(n, (size_t)1)); i++) {
		if (i > 0 && r->v.pretty)
			ux_out_cstr(&r->out, " (inlined by) ");
		addr2line_write_frame(r, &frames[i]);
	}
	return UX_OK;
}

static bool addr2line_open_section(struct addr2line *r)
{
	if (!r->v.section)
		return true;
	struct ux_bytes file = r->file.source.file.bytes;
	if (ux_elf_is(file) && ux_elf_open(&r->elf, file, NULL) == UX_OK)
		r->section = ux_elf_section_find(&r->elf, r->v.section);
	if (!r->section)
		ux_drop_in_complain("addr2line: %s: cannot find section %s", r->v.exe,
				    r->v.section);
	return r->section != NULL;
}

/* Reports a file that cannot be read. */
static void addr2line_file_error(const struct addr2line *r, const struct ux_error *err)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	if (err->code == UX_ENOTFOUND)
		ux_drop_in_complain("addr2line: '%s': No such file", r->v.exe);
	else if (err->code == UX_EUNSUPPORTED)
		addr2line_error(r->v.exe, "file format not recognized");
	else
		addr2line_error(r->v.exe, ux_error_format(err, text, sizeof(text)));
}

static bool addr2line_open_file(struct addr2line *r)
{
	struct ux_error err = UX_ERROR_INIT;
	ux_sigbus_reading(r->v.exe);
	if (ux_drop_in_open(&r->file, r->v.exe, NULL, NULL, false, &err) == UX_OK)
		return addr2line_open_section(r);
	addr2line_file_error(r, &err);
	return false;
}

static int addr2line_answer_all(struct addr2line *r, struct ux_command_line *line)
{
	static struct ux_line_reader reader;
	struct ux_error err = UX_ERROR_INIT;
	if (!addr2line_open_file(r))
		return UX_EXIT_SOME;
	ux_requests_init(&r->requests, line->argv.data, (size_t)line->argc, (size_t)optind, &reader,
			 STDIN_FILENO);
	if (ux_requests_answer(&r->requests, addr2line_answer, r, &r->out, &err) == UX_OK)
		return ux_finish(&r->out, UX_EXIT_DONE);
	if (!r->unreadable)
		return ux_print_error(NULL, &err);
	addr2line_file_error(r, &err);
	return UX_EXIT_SOME;
}

static int cmd_addr2line_run(const struct ux_command *cmd, int argc, char **argv)
{
	(void)cmd;
	struct ux_error err = UX_ERROR_INIT;
	int status = 0;
	ux_cleanup(ux_command_line_deinit) struct ux_command_line line = {0};
	ux_cleanup(addr2line_deinit) struct addr2line r = {
		.v = {.exe = "a.out",
		      .how = {.mode = UX_DEMANGLE_NONE,
			      .schemes = UX_SCHEME_ITANIUM | UX_SCHEME_RUST}}};
	if (ux_command_line_expand(&line, argc, argv, &err) != UX_OK)
		return ux_print_error(NULL, &err);
	return addr2line_parse_options(&r.v, &line, &status) ? addr2line_answer_all(&r, &line)
							     : status;
}

const struct ux_command ux_cmd_addr2line = {
	.name = "addr2line",
	.line = "replace GNU addr2line, with its options and output",
	.help = addr2line_print_usage,
	.examples = "  unhex addr2line -e a.out -fiC 0x1129\n"
		    "  nm a.out | cut -d ' ' -f 1 | unhex addr2line -e a.out\n"
		    "  ln -s $(command -v unhex) ~/bin/addr2line; ~/bin/addr2line -e a.out 0x1129",
	.run = cmd_addr2line_run,
};
