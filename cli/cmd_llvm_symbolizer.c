/* SPDX-License-Identifier: Apache-2.0 */
/* unhex llvm-symbolizer: the command of LLVM, and its other name llvm-addr2line. */
#include "commands.h"

#include "hex.h"
#include "output.h"
#include "questions.h"
#include "response_file.h"
#include "symbolizer_modules.h"
#include "symbolizer_print.h"
#include "symbolizer_request.h"

#include <getopt.h>
#include <unistd.h>

enum {
	SOURCE_LINES_MOST = 1000,
};

/* One run of the command. */
struct run {
	const char *program;
	bool is_addr2line;
	const char *object;
	const char *build_id;
	bool inlines;
	uint64_t adjust;
	struct ux_symbolizer_print print;
	struct ux_symbolizer_modules modules;
	struct ux_questions questions;
	struct ux_out debug_dirs;
	struct ux_out out;
};

static void run_deinit(struct run *r)
{
	ux_symbolizer_modules_deinit(&r->modules);
	ux_out_deinit(&r->debug_dirs);
	ux_out_deinit(&r->out);
}

static void print_usage(FILE *to)
{
	fputs("Usage: llvm-symbolizer [options] [addresses...]\n"
	      "\n"
	      "Functions, files and lines at addresses, which are read from standard input when none\n"
	      "are given: `[CODE|DATA|FRAME] [FILE:|BUILDID:]FILE ADDRESS`, or ADDRESS with --obj.\n"
	      "Columns are not known and 0. The options are those of llvm-symbolizer:\n"
	      "  -a, --addresses, --print-address  print each address first\n"
	      "      --adjust-vma=OFFSET           subtract this from each address\n"
	      "  -s, --basenames                   names of files without their folders\n"
	      "      --build-id=HEX                the module by its build ID\n"
	      "  -C, --demangle, --no-demangle     demangle names [yes]\n"
	      "      --debug-file-directory=DIR    where separate debug files are\n"
	      "  -e, --obj=FILE, --exe=FILE        the module; then requests name none\n"
	      "  -f, --functions=none|short|linkage\n"
	      "                                    which names of functions [linkage]\n"
	      "  -i, --inlines, --no-inlines       frames of inlined calls, too [yes]\n"
	      "      --output-style=LLVM|GNU|JSON  how to print [LLVM]\n"
	      "  -p, --pretty-print                a frame a line\n"
	      "      --print-source-context-lines=N  text of the source around each line\n"
	      "      --verbose                     a fact a line\n"
	      "  -h, --help                        print this\n"
	      "  -v, --version                     print the version\n"
	      "      --default-arch=ARCH           slice of universal Mach-O files\n"
	      "      --dsym-hint, --dwp, --fallback-debug-path, --relativenames,\n"
	      "      --relative-address, --no-untag-addresses, --[no-]debuginfod, --cache-size, --dia\n"
	      "                                    taken and without effect\n",
	      to);
}

enum {
	OPTION_ADJUST = 256,
	OPTION_BUILD_ID,
	OPTION_NO_DEMANGLE,
	OPTION_DEBUG_DIR,
	OPTION_FUNCTIONS,
	OPTION_INLINING,
	OPTION_NO_INLINES,
	OPTION_STYLE,
	OPTION_CONTEXT,
	OPTION_VERBOSE,
	OPTION_DEMANGLE,
	OPTION_ARCH,
	OPTION_IGNORED,
};

static const struct option long_options[] = {
	{"addresses", no_argument, NULL, 'a'},
	{"print-address", no_argument, NULL, 'a'},
	{"adjust-vma", required_argument, NULL, OPTION_ADJUST},
	{"basenames", no_argument, NULL, 's'},
	{"build-id", required_argument, NULL, OPTION_BUILD_ID},
	{"demangle", optional_argument, NULL, OPTION_DEMANGLE},
	{"no-demangle", no_argument, NULL, OPTION_NO_DEMANGLE},
	{"debug-file-directory", required_argument, NULL, OPTION_DEBUG_DIR},
	{"exe", required_argument, NULL, 'e'},
	{"obj", required_argument, NULL, 'e'},
	{"functions", optional_argument, NULL, OPTION_FUNCTIONS},
	{"inlines", no_argument, NULL, 'i'},
	{"inlining", optional_argument, NULL, OPTION_INLINING},
	{"no-inlines", no_argument, NULL, OPTION_NO_INLINES},
	{"output-style", required_argument, NULL, OPTION_STYLE},
	{"pretty-print", no_argument, NULL, 'p'},
	{"print-source-context-lines", required_argument, NULL, OPTION_CONTEXT},
	{"verbose", no_argument, NULL, OPTION_VERBOSE},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'v'},
	{"default-arch", required_argument, NULL, OPTION_ARCH},
	{"dsym-hint", required_argument, NULL, OPTION_IGNORED},
	{"dwp", required_argument, NULL, OPTION_IGNORED},
	{"fallback-debug-path", required_argument, NULL, OPTION_IGNORED},
	{"relativenames", no_argument, NULL, OPTION_IGNORED},
	{"relative-address", no_argument, NULL, OPTION_IGNORED},
	{"no-untag-addresses", no_argument, NULL, OPTION_IGNORED},
	{"use-symbol-table", optional_argument, NULL, OPTION_IGNORED},
	{"debuginfod", no_argument, NULL, OPTION_IGNORED},
	{"no-debuginfod", no_argument, NULL, OPTION_IGNORED},
	{"cache-size", required_argument, NULL, OPTION_IGNORED},
	{"dia", no_argument, NULL, OPTION_IGNORED},
	{"color", optional_argument, NULL, OPTION_IGNORED},
	{0},
};

static bool refuse(const struct run *r, const char *option, const char *value)
{
	fprintf(stderr, "%s: error: %s: unknown value '%.64s'\n", r->program, option, value);
	return false;
}

static bool take_style(struct run *r, const char *word)
{
	static const char *const words[] = {
		[UX_SYMBOLIZER_LLVM] = "LLVM",
		[UX_SYMBOLIZER_GNU] = "GNU",
		[UX_SYMBOLIZER_JSON] = "JSON",
	};
	for (unsigned i = 0; i < ux_countof(words); i++) {
		if (strcmp(words[i], word) != 0)
			continue;
		r->print.style = (enum ux_symbolizer_style)i;
		return true;
	}
	return refuse(r, "--output-style", word);
}

static bool take_functions(struct run *r, const char *word)
{
	static const char *const words[] = {
		[UX_SYMBOLIZER_NO_NAMES] = "none",
		[UX_SYMBOLIZER_SHORT] = "short",
		[UX_SYMBOLIZER_LINKAGE] = "linkage",
	};
	for (unsigned i = 0; i < ux_countof(words); i++) {
		if (word && strcmp(words[i], word) != 0)
			continue;
		r->print.functions = word ? (enum ux_symbolizer_functions)i : UX_SYMBOLIZER_LINKAGE;
		return true;
	}
	return refuse(r, "--functions", word);
}

/* A value that is left out, "true" and "false". */
static bool is_on(const char *word)
{
	return !word || strcmp(word, "false") != 0;
}

static bool take_number(struct run *r, const char *option, const char *word, uint64_t *ret)
{
	return ux_hex_parse_u64(ux_bytes_cstr(word), /* hex= */ false, ret) ||
	       refuse(r, option, word);
}

static bool take_debug_dir(struct run *r, const char *dir)
{
	if (r->debug_dirs.size > 0)
		r->debug_dirs.data[r->debug_dirs.size - 1] = ':';
	ux_out_cstr(&r->debug_dirs, dir);
	ux_out_u8(&r->debug_dirs, 0);
	return !r->debug_dirs.failed;
}

/* Options with a word behind them; false when it makes no sense. */
static bool take_value(struct run *r, int option)
{
	uint64_t lines = 0;
	switch (option) {
	case OPTION_ADJUST:
		return take_number(r, "--adjust-vma", optarg, &r->adjust);
	case OPTION_BUILD_ID:
		r->build_id = optarg;
		return true;
	case OPTION_DEBUG_DIR:
		return take_debug_dir(r, optarg);
	case OPTION_FUNCTIONS:
		return take_functions(r, optarg);
	case OPTION_STYLE:
		return take_style(r, optarg);
	case OPTION_CONTEXT:
		if (!take_number(r, "--print-source-context-lines", optarg, &lines))
			return false;
		r->print.source_lines = (unsigned)ux_min(lines, (uint64_t)SOURCE_LINES_MOST);
		return true;
	case OPTION_ARCH: /* what a universal file has none of, it says when it is opened */
		r->modules.arch = *optarg ? optarg : NULL;
		return true;
	case 'e':
		r->object = optarg;
		return true;
	default:
		return true;
	}
}

/* Takes one option; false ends the command with *ret_status. */
static bool take(struct run *r, int option, int *ret_status)
{
	*ret_status = UX_EXIT_SOME;
	switch (option) {
	case 'a':
		return r->print.addresses = true;
	case 's':
		return r->print.basenames = true;
	case 'p':
		return r->print.pretty = true;
	case 'i':
		return r->inlines = true;
	case 'C':
		return r->print.demangle = true;
	case 'f':
		return take_functions(r, NULL);
	case OPTION_DEMANGLE:
		r->print.demangle = is_on(optarg);
		return true;
	case OPTION_NO_DEMANGLE:
		r->print.demangle = false;
		return true;
	case OPTION_INLINING:
		r->inlines = is_on(optarg);
		return true;
	case OPTION_NO_INLINES:
		r->inlines = false;
		return true;
	case OPTION_VERBOSE:
		return r->print.verbose = true;
	case 'v':
		printf("%s stand-in (unhex " UX_VERSION ")\n",
		       r->is_addr2line ? "llvm-addr2line" : "llvm-symbolizer");
		*ret_status = UX_EXIT_DONE;
		return false;
	case 'h':
		print_usage(stdout);
		*ret_status = UX_EXIT_DONE;
		return false;
	case '?':
		return false;
	default:
		return take_value(r, option);
	}
}

/* "-f=short", "-e=FILE": getopt knows a value behind "=" of long names only. */
static bool spell_out(char **word)
{
	const char *name = strncmp(*word, "-f=", 3) == 0   ? "functions"
			   : strncmp(*word, "-e=", 3) == 0 ? "obj"
							   : NULL;
	char *spelled = NULL;
	if (!name)
		return true;
	if (asprintf(&spelled, "--%s=%s", name, *word + 3) < 0)
		return false;
	free(*word);
	*word = spelled;
	return true;
}

static bool parse(struct run *r, int argc, char **argv, int *ret_status)
{
	for (int i = 1; i < argc; i++)
		if (!spell_out(&argv[i]))
			return false;
	optind = 0; /* GNU: from the start, whoever used it before */
	for (int option = 0;
	     (option = getopt_long_only(argc, argv, "aspiCfe:vh", long_options, NULL)) != -1;)
		if (!take(r, option, ret_status))
			return false;
	if (r->is_addr2line && !r->object && !r->build_id)
		r->object = "a.out";
	r->modules.debug_dirs = (const char *)r->debug_dirs.data;
	return true;
}

static void complain(const struct run *r, struct ux_bytes subject, const char *what)
{
	fprintf(stderr, "%s: error: '%.*s': %s\n", r->program, (int)subject.size,
		(const char *)subject.data, what);
}

static const char *words_of(const struct ux_error *failure, char *text, size_t size)
{
	if (failure->code == UX_ENOTFOUND && failure->os_errno != 0)
		return "No such file or directory";
	if (failure->code == UX_EUNSUPPORTED)
		return "The file was not recognized as a valid object file";
	return ux_error_format(failure, text, size);
}

/* What is printed of a request that cannot be answered. */
static void answer_nothing(struct run *r, const struct ux_symbolizer_request *request,
			   const struct ux_symbolizer_question *q, const char *what)
{
	if (r->print.style == UX_SYMBOLIZER_JSON && what)
		ux_symbolizer_print_error(&r->print, q, what);
	else if (request->verb == UX_SYMBOLIZER_DATA)
		ux_symbolizer_print_data(&r->print, q, NULL, NULL);
	else if (request->verb == UX_SYMBOLIZER_FRAME)
		ux_symbolizer_print_locals(&r->print, q);
	else
		ux_symbolizer_print_code(&r->print, q, NULL, 0);
}

/* A variable, and where it is declared. */
static void answer_data(struct run *r, struct ux_symbolizer_module *module,
			const struct ux_symbolizer_question *q)
{
	const struct ux_listed_symbol *symbol =
		ux_symbol_list_at(ux_symbolizer_symbols(module), q->pc);
	struct ux_declaration declared;
	bool known = symbol && r->print.style != UX_SYMBOLIZER_JSON &&
		     ux_symbolizer_declaration(module, symbol, &declared);
	ux_symbolizer_print_data(&r->print, q, symbol, known ? &declared : NULL);
}

/*
 * LLVM lets the symbol table name the function that was compiled, which decides between aliases,
 * and variables, which have no frames. Gives the number of frames.
 */
static size_t name_by_symbol(struct run *r, const struct ux_listed_symbol *symbol, uint64_t pc,
			     struct ux_frame *frames, size_t n, struct ux_out *name)
{
	struct ux_bytes plain = ux_listed_symbol_name(symbol);
	ux_out_put(name, plain.data, plain.size);
	ux_out_u8(name, 0);
	if (name->failed) {
		r->out.failed = true;
		return n;
	}
	if (n == 0)
		frames[n++] =
			(struct ux_frame){.dir = "", .base = "", .offset = pc - symbol->start};
	frames[n - 1].function = (const char *)name->data;
	if (n == 1 && !*frames[0].base)
		frames[0].base = symbol->file;
	return n;
}

static void answer_code(struct run *r, struct ux_symbolizer_module *module,
			const struct ux_symbolizer_question *q)
{
	struct ux_frame frames[UX_GSYM_DEPTH_MOST + 1];
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	size_t n = ux_drop_in_frames(&module->file, q->pc, frames, ux_countof(frames));
	const struct ux_listed_symbol *symbol =
		ux_symbol_list_at(ux_symbolizer_symbols(module), q->pc);
	if (symbol && r->print.functions == UX_SYMBOLIZER_LINKAGE)
		n = name_by_symbol(r, symbol, q->pc, frames, n, &name);
	/* Without inlined calls LLVM's own style names the function that was compiled, and GNU's
	 * the one that was inlined. */
	bool inlines = r->inlines && q->symbol.size == 0;
	if (n > 0 && !inlines && r->print.style != UX_SYMBOLIZER_GNU) {
		frames[0].function = frames[n - 1].function;
		frames[0].offset = frames[n - 1].offset;
		frames[0].inlined = false;
	}
	ux_symbolizer_print_code(&r->print, q, frames, inlines ? n : ux_min(n, (size_t)1));
}

static const char *parse_request(const struct run *r, struct ux_bytes line,
				 struct ux_symbolizer_request *ret)
{
	const char *bad =
		ux_symbolizer_request_parse(line, r->object || r->build_id, r->is_addr2line, ret);
	if (r->object || r->build_id) {
		ret->is_build_id = !r->object;
		ret->module = ux_bytes_cstr(r->object ? r->object : r->build_id);
	}
	return bad;
}

/* True when it asks for code of the same module, by address. */
static bool asks_alike(const struct ux_symbolizer_request *a, const struct ux_symbolizer_request *b)
{
	return b->verb == UX_SYMBOLIZER_CODE && b->symbol.size == 0 &&
	       a->is_build_id == b->is_build_id && ux_bytes_eq(a->module, b->module);
}

/* Has the module read for pc, and for the requests that come behind; false when that fails. */
static bool need(struct run *r, struct ux_symbolizer_module *module,
		 const struct ux_symbolizer_request *request, uint64_t pc)
{
	uint64_t pcs[UX_DROP_IN_AHEAD] = {pc};
	struct ux_bytes line;
	size_t n = 1, at = 0;
	if (ux_symbol_source_has(&module->file.source, pc))
		return true;
	while (n < ux_countof(pcs) && ux_questions_ahead(&r->questions, &at, &line)) {
		struct ux_symbolizer_request next;
		if (!parse_request(r, line, &next) && asks_alike(request, &next))
			pcs[n++] = next.offset - r->adjust;
	}
	return ux_drop_in_need(&module->file, pcs, n, &module->failure) == UX_OK;
}

/* False: the module cannot be read, and says why. */
static bool answer_module(struct run *r, struct ux_symbolizer_module *module,
			  const struct ux_symbolizer_request *request,
			  struct ux_symbolizer_question *q)
{
	q->pc = request->offset - r->adjust;
	if (request->symbol.size > 0) {
		const struct ux_listed_symbol *symbol =
			ux_symbol_list_named(ux_symbolizer_symbols(module), request->symbol);
		if (!symbol || request->verb != UX_SYMBOLIZER_CODE || !symbol->is_code) {
			answer_nothing(r, request, q, NULL);
			return true;
		}
		q->pc = symbol->start + request->offset;
	}
	if (request->verb == UX_SYMBOLIZER_CODE && !need(r, module, request, q->pc))
		return false;
	if (request->verb == UX_SYMBOLIZER_DATA)
		answer_data(r, module, q);
	else if (request->verb == UX_SYMBOLIZER_FRAME)
		ux_symbolizer_print_locals(&r->print, q);
	else
		answer_code(r, module, q);
	return true;
}

static void answer_request(struct run *r, struct ux_bytes line)
{
	struct ux_symbolizer_request request;
	const char *bad = parse_request(r, line, &request);
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_put(&name, request.module.data, request.module.size);
	ux_out_u8(&name, 0);
	if (name.failed) {
		r->out.failed = true;
		return;
	}
	struct ux_symbolizer_question q = {
		.module = (const char *)name.data,
		.symbol = request.symbol,
		.address = request.offset,
		.pc = request.offset,
		.has_address = !bad && request.symbol.size == 0,
	};
	if (bad) {
		request.verb = UX_SYMBOLIZER_CODE;
		if (line.size > 0)
			complain(r, line, bad);
		answer_nothing(r, &request, &q, NULL);
		return;
	}
	bool fresh = false;
	struct ux_symbolizer_module *module =
		ux_symbolizer_module_find(&r->modules, request.module, request.is_build_id, &fresh);
	if (!module) {
		r->out.failed = true;
		return;
	}
	if (module->failure.code == UX_OK) {
		if (answer_module(r, module, &request, &q))
			return;
		fresh = true;
	}
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	const char *what = words_of(&module->failure, text, sizeof(text));
	if (fresh && r->print.style != UX_SYMBOLIZER_JSON)
		complain(r, request.module, what);
	answer_nothing(r, &request, &q, what);
}

static enum ux_code answer(void *ctx, struct ux_bytes question, struct ux_error *err)
{
	(void)err;
	answer_request(ctx, question);
	return UX_OK;
}

static int answer_all(struct run *r, int argc, char **argv)
{
	static struct ux_line_reader reader;
	struct ux_error err = UX_ERROR_INIT;
	r->print.out = &r->out;
	r->print.listed = optind < argc;
	ux_questions_init(&r->questions, argv, (size_t)argc, (size_t)optind, &reader, STDIN_FILENO);
	ux_symbolizer_print_begin(&r->print);
	if (ux_questions_answer(&r->questions, answer, r, &r->out, &err) != UX_OK)
		return ux_complain(NULL, &err);
	ux_symbolizer_print_end(&r->print);
	return ux_finish(&r->out, UX_EXIT_DONE);
}

static int run_as(bool is_addr2line, int argc, char **argv)
{
	int status = 0;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_command_line_deinit) struct ux_command_line line = {0};
	ux_cleanup(run_deinit) struct run r = {
		.program = argv[0],
		.is_addr2line = is_addr2line,
		.inlines = !is_addr2line,
		.print = {.style = is_addr2line ? UX_SYMBOLIZER_GNU : UX_SYMBOLIZER_LLVM,
			  .functions =
				  is_addr2line ? UX_SYMBOLIZER_NO_NAMES : UX_SYMBOLIZER_LINKAGE,
			  .demangle = !is_addr2line},
	};
	if (ux_command_line_expand(&line, argc, argv, &err) != UX_OK)
		return ux_complain(NULL, &err);
	return parse(&r, line.argc, line.argv.data, &status)
		       ? answer_all(&r, line.argc, line.argv.data)
		       : status;
}

static int run(const struct ux_command *cmd, int argc, char **argv)
{
	(void)cmd;
	return run_as(ux_drop_in_of(argv[0]) == UX_DROP_IN_LLVM_ADDR2LINE, argc, argv);
}

const struct ux_command ux_cmd_llvm_symbolizer = {
	.name = "llvm-symbolizer",
	.line = "llvm-symbolizer's options, requests and output, drop-in",
	.help = print_usage,
	.run = run,
};
