/* SPDX-License-Identifier: Apache-2.0 */
/* unhex llvm-symbolizer: replaces llvm-symbolizer and llvm-addr2line of LLVM. */
#include "commands.h"

#include "drop_in.h"
#include "input.h"
#include "output.h"
#include "symbolizer.h"
#include "text.h"

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

/* The values of the options. Must be deinitialised. */
struct symbolizer_options {
	const char *program; /* the name in messages */
	bool columns;
	bool is_addr2line;    /* behave as llvm-addr2line */
	const char *object;   /* the module of all requests; NULL: each request names one */
	const char *build_id; /* build ID of the module of all requests, or NULL */
	const char *arch;     /* slice of universal files; NULL: the default one */
	bool inlines;
	uint64_t adjust; /* subtracted from each address */
	struct ux_symbolizer_print print;
	struct ux_out debug_dirs; /* "DIR:DIR"; empty: the default */
};

enum {
	SOURCE_LINES_MAX = 1000,
};

static void symbolizer_options_deinit(struct symbolizer_options *o)
{
	ux_out_deinit(&o->debug_dirs);
}

static void symbolizer_print_usage(FILE *to)
{
	fputs("Usage: llvm-symbolizer [options] [addresses...]\n"
	      "\n"
	      "Prints functions, files and lines at addresses. Without addresses as arguments, "
	      "reads\n"
	      "requests from standard input: `[CODE|DATA|FRAME] [FILE:|BUILDID:]FILE ADDRESS`, or\n"
	      "ADDRESS with --obj. Columns are 0 without --columns. Takes llvm-symbolizer's "
	      "options:\n"
	      "  -a, --addresses, --print-address  print each address first\n"
	      "      --adjust-vma=OFFSET           subtract this from each address\n"
	      "  -s, --basenames                   print file names without folders\n"
	      "      --build-id=HEX                the module by its build ID\n"
	      "      --columns                     print columns; slower: bypasses the cache\n"
	      "  -C, --demangle, --no-demangle     demangle names [yes]\n"
	      "      --debug-file-directory=DIR    folder of separate debug files\n"
	      "  -e, --obj=FILE, --exe=FILE        the module; requests then omit it\n"
	      "  -f, --functions=none|short|linkage\n"
	      "                                    how to print function names [linkage]\n"
	      "  -i, --inlines, --no-inlines       print frames of inlined calls [yes]\n"
	      "      --output-style=LLVM|GNU|JSON  output format [LLVM]\n"
	      "  -p, --pretty-print                print one line per frame\n"
	      "      --print-source-context-lines=N  print source text around each line\n"
	      "      --verbose                     print one value per line\n"
	      "  -h, --help                        print this\n"
	      "  -v, --version                     print the version\n"
	      "      --default-arch=ARCH           slice of universal Mach-O files\n"
	      "      --dsym-hint, --dwp, --fallback-debug-path, --relativenames,\n"
	      "      --relative-address, --no-untag-addresses, --[no-]debuginfod, "
	      "--cache-size, --dia\n"
	      "                                    ignored\n",
	      to);
}

enum {
	OPTION_ADJUST = 256,
	OPTION_BUILD_ID,
	OPTION_COLUMNS,
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

static const struct option symbolizer_long_options[] = {
	{"addresses", no_argument, NULL, 'a'},
	{"print-address", no_argument, NULL, 'a'},
	{"adjust-vma", required_argument, NULL, OPTION_ADJUST},
	{"basenames", no_argument, NULL, 's'},
	{"build-id", required_argument, NULL, OPTION_BUILD_ID},
	{"columns", no_argument, NULL, OPTION_COLUMNS},
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

static bool symbolizer_bad_value(const struct symbolizer_options *o, const char *option,
				 const char *value)
{
	ux_drop_in_complain("%s: error: %s: unknown value '%.64s'", o->program, option, value);
	return false;
}

static bool symbolizer_set_style(struct symbolizer_options *o, const char *word)
{
	static const char *const words[] = {
		[UX_SYMBOLIZER_LLVM] = "LLVM",
		[UX_SYMBOLIZER_GNU] = "GNU",
		[UX_SYMBOLIZER_JSON] = "JSON",
	};
	for (unsigned i = 0; i < ux_countof(words); i++) {
		if (strcmp(words[i], word) != 0)
			continue;
		o->print.style = (enum ux_symbolizer_style)i;
		return true;
	}
	return symbolizer_bad_value(o, "--output-style", word);
}

static bool symbolizer_set_functions(struct symbolizer_options *o, const char *word)
{
	static const char *const words[] = {
		[UX_SYMBOLIZER_NO_NAMES] = "none",
		[UX_SYMBOLIZER_SHORT] = "short",
		[UX_SYMBOLIZER_LINKAGE] = "linkage",
	};
	for (unsigned i = 0; i < ux_countof(words); i++) {
		if (word && strcmp(words[i], word) != 0)
			continue;
		o->print.functions = word ? (enum ux_symbolizer_functions)i : UX_SYMBOLIZER_LINKAGE;
		return true;
	}
	return symbolizer_bad_value(o, "--functions", word);
}

/* Returns whether a flag is on. Its value may be missing, "true" or "false". */
static bool symbolizer_flag_is_on(const char *word)
{
	return !word || strcmp(word, "false") != 0;
}

static bool symbolizer_parse_count(struct symbolizer_options *o, const char *option,
				   const char *word, uint64_t *ret)
{
	return ux_hex_parse_u64(ux_bytes_cstr(word), /* hex= */ false, ret) ||
	       symbolizer_bad_value(o, option, word);
}

static bool symbolizer_add_debug_dir(struct symbolizer_options *o, const char *dir)
{
	if (o->debug_dirs.size > 0)
		o->debug_dirs.data[o->debug_dirs.size - 1] = ':';
	ux_out_cstr(&o->debug_dirs, dir);
	ux_out_u8(&o->debug_dirs, 0);
	return !o->debug_dirs.failed;
}

/* Applies an option with a value. Returns false when the value is invalid. */
static bool symbolizer_set_value(struct symbolizer_options *o, int option)
{
	uint64_t lines = 0;
	switch (option) {
	case OPTION_ADJUST:
		return symbolizer_parse_count(o, "--adjust-vma", optarg, &o->adjust);
	case OPTION_BUILD_ID:
		o->build_id = optarg;
		return true;
	case OPTION_DEBUG_DIR:
		return symbolizer_add_debug_dir(o, optarg);
	case OPTION_FUNCTIONS:
		return symbolizer_set_functions(o, optarg);
	case OPTION_STYLE:
		return symbolizer_set_style(o, optarg);
	case OPTION_CONTEXT:
		if (!symbolizer_parse_count(o, "--print-source-context-lines", optarg, &lines))
			return false;
		o->print.source_lines = (unsigned)ux_min(lines, (uint64_t)SOURCE_LINES_MAX);
		return true;
	case OPTION_ARCH: /* a missing slice is reported when the file is opened */
		o->arch = *optarg ? optarg : NULL;
		return true;
	case 'e':
		o->object = optarg;
		return true;
	default:
		return true;
	}
}

/* Applies one option. Returns false if the command must end with *ret_status. */
static bool symbolizer_set_option(struct symbolizer_options *o, int option, int *ret_status)
{
	*ret_status = UX_EXIT_SOME;
	switch (option) {
	case 'a':
		return o->print.addresses = true;
	case 's':
		return o->print.basenames = true;
	case 'p':
		return o->print.pretty = true;
	case 'i':
		return o->inlines = true;
	case 'C':
		return o->print.demangle = true;
	case 'f':
		return symbolizer_set_functions(o, NULL);
	case OPTION_COLUMNS:
		return o->columns = true;
	case OPTION_DEMANGLE:
		o->print.demangle = symbolizer_flag_is_on(optarg);
		return true;
	case OPTION_NO_DEMANGLE:
		o->print.demangle = false;
		return true;
	case OPTION_INLINING:
		o->inlines = symbolizer_flag_is_on(optarg);
		return true;
	case OPTION_NO_INLINES:
		o->inlines = false;
		return true;
	case OPTION_VERBOSE:
		return o->print.verbose = true;
	case 'v':
		printf("%s stand-in (unhex " UX_VERSION ")\n",
		       o->is_addr2line ? "llvm-addr2line" : "llvm-symbolizer");
		*ret_status = UX_EXIT_DONE;
		return false;
	case 'h':
		symbolizer_print_usage(stdout);
		*ret_status = UX_EXIT_DONE;
		return false;
	case '?':
		return false;
	default:
		return symbolizer_set_value(o, option);
	}
}

/* Rewrites "-f=short" and "-e=FILE" to long options, since getopt accepts "=" only after long
 * names. */
static bool symbolizer_expand_option(char **word)
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

/*
 * Parses the options of the command line; optind is then the index of the first operand. Returns
 * false if the command must end with *ret_status, because a message was printed to stderr or help
 * was requested.
 */
static bool symbolizer_options_parse(struct symbolizer_options *o, int argc, char **argv,
				     int *ret_status)
{
	for (int i = 1; i < argc; i++)
		if (!symbolizer_expand_option(&argv[i]))
			return false;
	optind = 0; /* GNU extension: resets the parser */
	for (int option = 0; (option = getopt_long_only(argc, argv, "aspiCfe:vh",
							symbolizer_long_options, NULL)) != -1;)
		if (!symbolizer_set_option(o, option, ret_status))
			return false;
	if (o->is_addr2line && !o->object && !o->build_id)
		o->object = "a.out";
	return true;
}

/* The state of the command. */
struct symbolizer {
	struct symbolizer_options options;
	struct ux_symbolizer_modules modules;
	struct ux_requests requests;
	struct ux_out out;
};

static void symbolizer_deinit(struct symbolizer *r)
{
	ux_symbolizer_modules_deinit(&r->modules);
	symbolizer_options_deinit(&r->options);
	ux_out_deinit(&r->out);
}

static void symbolizer_error(const struct symbolizer *r, struct ux_bytes subject, const char *what)
{
	ux_drop_in_complain("%s: error: '%.*s': %s", r->options.program, (int)subject.size,
			    (const char *)subject.data, what);
}

static const char *symbolizer_error_text(const struct ux_error *failure, char *text, size_t size)
{
	if (failure->code == UX_ENOTFOUND && failure->os_errno != 0)
		return "No such file or directory";
	if (failure->code == UX_EUNSUPPORTED)
		return "The file was not recognized as a valid object file";
	return ux_error_format(failure, text, size);
}

/* Prints the answer to a request for which there are no symbols. */
static void symbolizer_answer_unknown(struct symbolizer *r,
				      const struct ux_symbolizer_request *request,
				      const struct ux_symbolizer_query *q, const char *what)
{
	if (r->options.print.style == UX_SYMBOLIZER_JSON && what)
		ux_symbolizer_print_error(&r->options.print, q, what);
	else if (request->verb == UX_SYMBOLIZER_DATA)
		ux_symbolizer_print_data(&r->options.print, q, NULL, NULL);
	else if (request->verb == UX_SYMBOLIZER_FRAME)
		ux_symbolizer_print_locals(&r->options.print, q);
	else
		ux_symbolizer_print_code(&r->options.print, q, NULL, 0);
}

/* Prints a variable and its declaration. */
static void symbolizer_answer_data(struct symbolizer *r, struct ux_symbolizer_module *module,
				   const struct ux_symbolizer_query *q)
{
	const struct ux_listed_symbol *symbol =
		ux_symbol_list_data_at(ux_symbolizer_symbols(module), q->pc);
	struct ux_declaration declared;
	bool known = symbol && r->options.print.style != UX_SYMBOLIZER_JSON &&
		     ux_symbolizer_declaration(module, symbol, &declared);
	ux_symbolizer_print_data(&r->options.print, q, symbol, known ? &declared : NULL);
}

/*
 * Changes the frames to LLVM's output. LLVM takes the name of the outermost function from the
 * symbol table, which selects one of several aliases, and it names variables, for which there are
 * no frames. Returns the number of frames.
 */
static size_t symbolizer_apply_symbol(struct symbolizer *r, const struct ux_listed_symbol *symbol,
				      uint64_t pc, struct ux_frame *frames, size_t n,
				      struct ux_out *name)
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

static void symbolizer_answer_code(struct symbolizer *r, struct ux_symbolizer_module *module,
				   const struct ux_symbolizer_query *q)
{
	struct ux_frame frames[UX_GSYM_DEPTH_MAX + 1];
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	size_t n = ux_drop_in_frames(&module->file, q->pc, frames, ux_countof(frames));
	const struct ux_symbol_list *list = ux_symbolizer_symbols(module);
	const struct ux_listed_symbol *symbol = ux_symbol_list_at(list, q->pc);
	/* the same number is an offset in a data section of a relocatable file */
	if (symbol && !symbol->is_code && n > 0 && list->elf.type == ET_REL)
		symbol = NULL;
	if (symbol && r->options.print.functions == UX_SYMBOLIZER_LINKAGE)
		n = symbolizer_apply_symbol(r, symbol, q->pc, frames, n, &name);
	/* Without inlined calls LLVM's own style prints the outermost function's name, and the GNU
	 * style the innermost one's. */
	bool inlines = r->options.inlines && q->symbol.size == 0;
	if (n > 0 && !inlines && r->options.print.style != UX_SYMBOLIZER_GNU) {
		frames[0].function = frames[n - 1].function;
		frames[0].offset = frames[n - 1].offset;
		frames[0].inlined = false;
	}
	ux_symbolizer_print_code(&r->options.print, q, frames, inlines ? n : ux_min(n, (size_t)1));
}

static const char *symbolizer_parse_request(const struct symbolizer *r, struct ux_bytes line,
					    struct ux_symbolizer_request *ret)
{
	const char *bad = ux_symbolizer_request_parse(
		line, r->options.object || r->options.build_id, r->options.is_addr2line, ret);
	if (r->options.object || r->options.build_id) {
		ret->is_build_id = !r->options.object;
		ret->module =
			ux_bytes_cstr(r->options.object ? r->options.object : r->options.build_id);
	}
	return bad;
}

/* Returns whether b is a request for code by address in the same module as a. */
static bool symbolizer_requests_match(const struct ux_symbolizer_request *a,
				      const struct ux_symbolizer_request *b)
{
	return b->verb == UX_SYMBOLIZER_CODE && b->symbol.size == 0 &&
	       a->is_build_id == b->is_build_id && ux_bytes_eq(a->module, b->module);
}

/* Loads the symbols at pc and at the addresses of the requests that have been read ahead.
 * Returns false when that fails. */
static bool symbolizer_load(struct symbolizer *r, struct ux_symbolizer_module *module,
			    const struct ux_symbolizer_request *request, uint64_t pc)
{
	uint64_t pcs[UX_DROP_IN_AHEAD] = {pc};
	struct ux_bytes line;
	size_t n = 1, at = 0;
	if (ux_symbol_source_has(&module->file.source, pc))
		return true;
	while (n < ux_countof(pcs) && ux_requests_ahead(&r->requests, &at, &line)) {
		struct ux_symbolizer_request next;
		if (!symbolizer_parse_request(r, line, &next) &&
		    symbolizer_requests_match(request, &next))
			pcs[n++] = next.offset - r->options.adjust;
	}
	return ux_drop_in_load(&module->file, pcs, n, &module->failure) == UX_OK;
}

/* Answers a request about a module. Returns false when the module cannot be read;
 * module->failure then has the reason. */
static bool symbolizer_answer_module(struct symbolizer *r, struct ux_symbolizer_module *module,
				     const struct ux_symbolizer_request *request,
				     struct ux_symbolizer_query *q)
{
	q->pc = request->offset - r->options.adjust;
	if (request->symbol.size > 0) {
		const struct ux_listed_symbol *symbol =
			ux_symbol_list_named(ux_symbolizer_symbols(module), request->symbol);
		if (!symbol || request->verb != UX_SYMBOLIZER_CODE || !symbol->is_code) {
			symbolizer_answer_unknown(r, request, q, NULL);
			return true;
		}
		q->pc = symbol->start + request->offset;
	}
	if (request->verb == UX_SYMBOLIZER_CODE && !symbolizer_load(r, module, request, q->pc))
		return false;
	if (request->verb == UX_SYMBOLIZER_DATA)
		symbolizer_answer_data(r, module, q);
	else if (request->verb == UX_SYMBOLIZER_FRAME)
		ux_symbolizer_print_locals(&r->options.print, q);
	else
		symbolizer_answer_code(r, module, q);
	return true;
}

static void symbolizer_answer_line(struct symbolizer *r, struct ux_bytes line)
{
	struct ux_symbolizer_request request;
	const char *bad = symbolizer_parse_request(r, line, &request);
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	ux_out_put(&name, request.module.data, request.module.size);
	ux_out_u8(&name, 0);
	if (name.failed) {
		r->out.failed = true;
		return;
	}
	struct ux_symbolizer_query q = {
		.module = (const char *)name.data,
		.symbol = request.symbol,
		.address = request.offset,
		.pc = request.offset,
		.has_address = !bad && request.symbol.size == 0,
	};
	if (bad) {
		request.verb = UX_SYMBOLIZER_CODE;
		if (line.size > 0)
			symbolizer_error(r, line, bad);
		symbolizer_answer_unknown(r, &request, &q, NULL);
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
		if (symbolizer_answer_module(r, module, &request, &q))
			return;
		fresh = true;
	}
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	const char *what = symbolizer_error_text(&module->failure, text, sizeof(text));
	if (fresh && r->options.print.style != UX_SYMBOLIZER_JSON)
		symbolizer_error(r, request.module, what);
	symbolizer_answer_unknown(r, &request, &q, what);
}

static enum ux_code symbolizer_answer(void *ctx, struct ux_bytes line, struct ux_error *err)
{
	(void)err;
	symbolizer_answer_line(ctx, line);
	return UX_OK;
}

static int symbolizer_answer_all(struct symbolizer *r, int argc, char **argv)
{
	static struct ux_line_reader reader;
	struct ux_error err = UX_ERROR_INIT;
	r->options.print.out = &r->out;
	r->options.print.listed = optind < argc;
	ux_requests_init(&r->requests, argv, (size_t)argc, (size_t)optind, &reader, STDIN_FILENO);
	ux_symbolizer_print_begin(&r->options.print);
	if (ux_requests_answer(&r->requests, symbolizer_answer, r, &r->out, &err) != UX_OK)
		return ux_print_error(NULL, &err);
	ux_symbolizer_print_end(&r->options.print);
	return ux_finish(&r->out, UX_EXIT_DONE);
}

static int symbolizer_run(bool is_addr2line, int argc, char **argv)
{
	int status = 0;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_command_line_deinit) struct ux_command_line line = {0};
	ux_cleanup(symbolizer_deinit) struct symbolizer r = {
		.options = {
			.program = argv[0],
			.is_addr2line = is_addr2line,
			.inlines = !is_addr2line,
			.print = {.style = is_addr2line ? UX_SYMBOLIZER_GNU : UX_SYMBOLIZER_LLVM,
				  .functions = is_addr2line ? UX_SYMBOLIZER_NO_NAMES
							    : UX_SYMBOLIZER_LINKAGE,
				  .demangle = !is_addr2line},
		}};
	if (ux_command_line_expand(&line, argc, argv, &err) != UX_OK)
		return ux_print_error(NULL, &err);
	if (!symbolizer_options_parse(&r.options, line.argc, line.argv.data, &status))
		return status;
	r.modules.debug_dirs = (const char *)r.options.debug_dirs.data;
	r.modules.arch = r.options.arch;
	r.modules.columns = r.options.columns;
	return symbolizer_answer_all(&r, line.argc, line.argv.data);
}

static int cmd_llvm_symbolizer_run(const struct ux_command *cmd, int argc, char **argv)
{
	(void)cmd;
	return symbolizer_run(ux_drop_in_of(argv[0]) == UX_DROP_IN_LLVM_ADDR2LINE, argc, argv);
}

const struct ux_command ux_cmd_llvm_symbolizer = {
	.name = "llvm-symbolizer",
	.line = "replace llvm-symbolizer, with its options and output",
	.help = symbolizer_print_usage,
	.examples = "  unhex llvm-symbolizer --obj=a.out 0x1129\n"
		    "  echo 'CODE a.out 0x1129' | unhex llvm-symbolizer --output-style=JSON\n"
		    "  ASAN_SYMBOLIZER_PATH=~/bin/llvm-symbolizer ./a.out  # a link to unhex",
	.run = cmd_llvm_symbolizer_run,
};
