/* SPDX-License-Identifier: Apache-2.0 */
/* The options of llvm-symbolizer. */
#include "symbolizer_options.h"

#include "commands.h"
#include "text.h"
#include "output.h"

#include <getopt.h>

enum {
	SOURCE_LINES_MOST = 1000,
};

void ux_symbolizer_options_deinit(struct ux_symbolizer_options *o)
{
	ux_out_deinit(&o->debug_dirs);
}

void ux_symbolizer_usage(FILE *to)
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

static bool refuse(const struct ux_symbolizer_options *o, const char *option, const char *value)
{
	fprintf(stderr, "%s: error: %s: unknown value '%.64s'\n", o->program, option, value);
	return false;
}

static bool take_style(struct ux_symbolizer_options *o, const char *word)
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
	return refuse(o, "--output-style", word);
}

static bool take_functions(struct ux_symbolizer_options *o, const char *word)
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
	return refuse(o, "--functions", word);
}

/* A value that is left out, "true" and "false". */
static bool is_on(const char *word)
{
	return !word || strcmp(word, "false") != 0;
}

static bool take_number(struct ux_symbolizer_options *o, const char *option, const char *word,
			uint64_t *ret)
{
	return ux_hex_parse_u64(ux_bytes_cstr(word), /* hex= */ false, ret) ||
	       refuse(o, option, word);
}

static bool take_debug_dir(struct ux_symbolizer_options *o, const char *dir)
{
	if (o->debug_dirs.size > 0)
		o->debug_dirs.data[o->debug_dirs.size - 1] = ':';
	ux_out_cstr(&o->debug_dirs, dir);
	ux_out_u8(&o->debug_dirs, 0);
	return !o->debug_dirs.failed;
}

/* Options with a word behind them; false when it makes no sense. */
static bool take_value(struct ux_symbolizer_options *o, int option)
{
	uint64_t lines = 0;
	switch (option) {
	case OPTION_ADJUST:
		return take_number(o, "--adjust-vma", optarg, &o->adjust);
	case OPTION_BUILD_ID:
		o->build_id = optarg;
		return true;
	case OPTION_DEBUG_DIR:
		return take_debug_dir(o, optarg);
	case OPTION_FUNCTIONS:
		return take_functions(o, optarg);
	case OPTION_STYLE:
		return take_style(o, optarg);
	case OPTION_CONTEXT:
		if (!take_number(o, "--print-source-context-lines", optarg, &lines))
			return false;
		o->print.source_lines = (unsigned)ux_min(lines, (uint64_t)SOURCE_LINES_MOST);
		return true;
	case OPTION_ARCH: /* what a universal file has none of, it says when it is opened */
		o->arch = *optarg ? optarg : NULL;
		return true;
	case 'e':
		o->object = optarg;
		return true;
	default:
		return true;
	}
}

/* Takes one option; false ends the command with *ret_status. */
static bool take(struct ux_symbolizer_options *o, int option, int *ret_status)
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
		return take_functions(o, NULL);
	case OPTION_DEMANGLE:
		o->print.demangle = is_on(optarg);
		return true;
	case OPTION_NO_DEMANGLE:
		o->print.demangle = false;
		return true;
	case OPTION_INLINING:
		o->inlines = is_on(optarg);
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
		ux_symbolizer_usage(stdout);
		*ret_status = UX_EXIT_DONE;
		return false;
	case '?':
		return false;
	default:
		return take_value(o, option);
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

bool ux_symbolizer_options_parse(struct ux_symbolizer_options *o, int argc, char **argv,
				 int *ret_status)
{
	for (int i = 1; i < argc; i++)
		if (!spell_out(&argv[i]))
			return false;
	optind = 0; /* GNU: from the start, whoever used it before */
	for (int option = 0;
	     (option = getopt_long_only(argc, argv, "aspiCfe:vh", long_options, NULL)) != -1;)
		if (!take(o, option, ret_status))
			return false;
	if (o->is_addr2line && !o->object && !o->build_id)
		o->object = "a.out";
	return true;
}
