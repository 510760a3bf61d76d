/* SPDX-License-Identifier: Apache-2.0 */
/* unhex llvm-symbolizer: the command of LLVM, and its other name llvm-addr2line. */
#include "commands.h"

#include "output.h"
#include "questions.h"
#include "response_file.h"
#include "symbolizer_modules.h"
#include "symbolizer_options.h"
#include "symbolizer_request.h"

#include <getopt.h>
#include <unistd.h>

/* One run of the command. */
struct run {
	struct ux_symbolizer_options options;
	struct ux_symbolizer_modules modules;
	struct ux_questions questions;
	struct ux_out out;
};

static void run_deinit(struct run *r)
{
	ux_symbolizer_modules_deinit(&r->modules);
	ux_symbolizer_options_deinit(&r->options);
	ux_out_deinit(&r->out);
}

static void complain(const struct run *r, struct ux_bytes subject, const char *what)
{
	fprintf(stderr, "%s: error: '%.*s': %s\n", r->options.program, (int)subject.size,
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
	if (r->options.print.style == UX_SYMBOLIZER_JSON && what)
		ux_symbolizer_print_error(&r->options.print, q, what);
	else if (request->verb == UX_SYMBOLIZER_DATA)
		ux_symbolizer_print_data(&r->options.print, q, NULL, NULL);
	else if (request->verb == UX_SYMBOLIZER_FRAME)
		ux_symbolizer_print_locals(&r->options.print, q);
	else
		ux_symbolizer_print_code(&r->options.print, q, NULL, 0);
}

/* A variable, and where it is declared. */
static void answer_data(struct run *r, struct ux_symbolizer_module *module,
			const struct ux_symbolizer_question *q)
{
	const struct ux_listed_symbol *symbol =
		ux_symbol_list_at(ux_symbolizer_symbols(module), q->pc);
	struct ux_declaration declared;
	bool known = symbol && r->options.print.style != UX_SYMBOLIZER_JSON &&
		     ux_symbolizer_declaration(module, symbol, &declared);
	ux_symbolizer_print_data(&r->options.print, q, symbol, known ? &declared : NULL);
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
	if (symbol && r->options.print.functions == UX_SYMBOLIZER_LINKAGE)
		n = name_by_symbol(r, symbol, q->pc, frames, n, &name);
	/* Without inlined calls LLVM's own style names the function that was compiled, and GNU's
	 * the one that was inlined. */
	bool inlines = r->options.inlines && q->symbol.size == 0;
	if (n > 0 && !inlines && r->options.print.style != UX_SYMBOLIZER_GNU) {
		frames[0].function = frames[n - 1].function;
		frames[0].offset = frames[n - 1].offset;
		frames[0].inlined = false;
	}
	ux_symbolizer_print_code(&r->options.print, q, frames, inlines ? n : ux_min(n, (size_t)1));
}

static const char *parse_request(const struct run *r, struct ux_bytes line,
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
			pcs[n++] = next.offset - r->options.adjust;
	}
	return ux_drop_in_need(&module->file, pcs, n, &module->failure) == UX_OK;
}

/* False: the module cannot be read, and says why. */
static bool answer_module(struct run *r, struct ux_symbolizer_module *module,
			  const struct ux_symbolizer_request *request,
			  struct ux_symbolizer_question *q)
{
	q->pc = request->offset - r->options.adjust;
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
		ux_symbolizer_print_locals(&r->options.print, q);
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
	if (fresh && r->options.print.style != UX_SYMBOLIZER_JSON)
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
	r->options.print.out = &r->out;
	r->options.print.listed = optind < argc;
	ux_questions_init(&r->questions, argv, (size_t)argc, (size_t)optind, &reader, STDIN_FILENO);
	ux_symbolizer_print_begin(&r->options.print);
	if (ux_questions_answer(&r->questions, answer, r, &r->out, &err) != UX_OK)
		return ux_complain(NULL, &err);
	ux_symbolizer_print_end(&r->options.print);
	return ux_finish(&r->out, UX_EXIT_DONE);
}

static int run_as(bool is_addr2line, int argc, char **argv)
{
	int status = 0;
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(ux_command_line_deinit) struct ux_command_line line = {0};
	ux_cleanup(run_deinit) struct run r = {
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
		return ux_complain(NULL, &err);
	if (!ux_symbolizer_options_parse(&r.options, line.argc, line.argv.data, &status))
		return status;
	r.modules.debug_dirs = (const char *)r.options.debug_dirs.data;
	r.modules.arch = r.options.arch;
	return answer_all(&r, line.argc, line.argv.data);
}

static int run(const struct ux_command *cmd, int argc, char **argv)
{
	(void)cmd;
	return run_as(ux_drop_in_of(argv[0]) == UX_DROP_IN_LLVM_ADDR2LINE, argc, argv);
}

const struct ux_command ux_cmd_llvm_symbolizer = {
	.name = "llvm-symbolizer",
	.line = "llvm-symbolizer's options, requests and output, drop-in",
	.help = ux_symbolizer_usage,
	.run = run,
};
