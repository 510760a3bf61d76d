/* SPDX-License-Identifier: Apache-2.0 */
/* unhex lookup: addresses to frames. */
#include "commands.h"

#include "address_reader.h"
#include "answer_options.h"
#include "cubin.h"
#include "find_options.h"
#include "frames_out.h"
#include "gsym_reader.h"
#include "gsym_names.h"
#include "text.h"
#include "id.h"
#include "output.h"
#include "remote_lookup.h"
#include "server_options.h"
#include "sigbus.h"
#include "symbol_source.h"
#include "vec.h"

#include <unistd.h>

struct values {
	struct ux_answer_values answer;
	bool no_inlines;
	bool alternatives;
	struct ux_find_values find;
	const char *arch;
	const char *gpu;
	struct ux_server_values server;
};

static const struct ux_option options[] = {
	UX_ANSWER_OPTIONS(struct values, answer),
	{"no-inlines", 0, UX_OPTION_FLAG, offsetof(struct values, no_inlines), NULL,
	 "only the innermost frame of each address"},
	{"alternatives", 0, UX_OPTION_FLAG, offsetof(struct values, alternatives), NULL,
	 "also other names of the function, where the file keeps them"},
	UX_FIND_OPTIONS(struct values, find),
	{"arch", 0, UX_OPTION_TEXT, offsetof(struct values, arch), "NAME",
	 "slice of a universal Mach-O file [the only one, or this machine's]"},
	{"gpu", 0, UX_OPTION_TEXT, offsetof(struct values, gpu), "WHICH",
	 "its GPU code instead: sm_90, an ID, or a number that unhex id tells"},
	UX_SERVER_OPTIONS(struct values, server),
};

enum {
	BATCH = UX_REMOTE_BATCH,
	ALTERNATIVES_MOST = 64, /* names that are told of one function */
	FLUSH_BYTES = 1 << 16,
	TEXTS_MOST = 64 << 20, /* bytes of places that wait for the server */
};

UX_VEC(places, struct ux_remote_place);

/* What the command line asks for. */
struct word {
	const char *place; /* NAME+OFFSET; NULL: the address */
	uint64_t address;
};

UX_VEC(words, struct word);

/* One run of the command. */
struct lookup {
	struct ux_symbol_source local;
	struct ux_remote remote;
	bool is_remote;
	bool alternatives;
	struct words given;         /* on the command line */
	struct ux_gsym_names names; /* of the functions, once one was asked for */
	struct places waiting;      /* for the server */
	struct ux_arena texts;      /* of their names */
	struct ux_frames_out frames;
	struct ux_out out;
	struct ux_error first_bad; /* a record that could not be read, a module that is not there */
	uint64_t bad_lines;
	uint64_t asked;
	uint64_t found;
};

static void lookup_deinit(struct lookup *l)
{
	ux_symbol_source_close(&l->local);
	ux_remote_close(&l->remote);
	words_deinit(&l->given);
	ux_gsym_names_deinit(&l->names);
	places_deinit(&l->waiting);
	ux_arena_deinit(&l->texts);
	ux_frames_out_deinit(&l->frames);
	ux_out_deinit(&l->out);
}

static void answer_local(struct lookup *l, uint64_t pc)
{
	struct ux_frame frames[UX_GSYM_DEPTH_MOST + 1];
	size_t n = 0;
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_gsym *gsym = &l->local.gsym;
	enum ux_code code = UX_ENOTFOUND;
	if (gsym->n_functions > 0)
		code = ux_gsym_lookup(gsym, pc, frames, ux_countof(frames), &n, &err);
	if (code != UX_OK && code != UX_ENOTFOUND && l->first_bad.code == UX_OK)
		l->first_bad = err;
	const char *others[ALTERNATIVES_MOST];
	struct ux_answer answer = {.frames = frames, .n = code == UX_OK ? n : 0, .others = others};
	if (l->alternatives && answer.n > 0 &&
	    ux_gsym_alternatives(&l->local.gsym, pc, others, ALTERNATIVES_MOST, &n, NULL) == UX_OK)
		answer.n_others = ux_min(n, (size_t)ALTERNATIVES_MOST);
	l->found += answer.n > 0;
	ux_frames_out_write(&l->frames, pc, answer);
}

/* Asks the server for what is waiting. A module that it does not have is an answer, too. */
static enum ux_code answer_remote(struct lookup *l, struct ux_error *err)
{
	if (l->waiting.size == 0)
		return UX_OK;
	struct ux_error missing = UX_ERROR_INIT;
	enum ux_code code = ux_remote_ask(&l->remote, l->waiting.data, l->waiting.size, &missing);
	if (code != UX_OK && code != UX_ENOTFOUND) {
		*err = missing;
		return code;
	}
	if (code == UX_ENOTFOUND && l->first_bad.code == UX_OK)
		l->first_bad = missing;
	for (size_t i = 0; i < l->waiting.size; i++) {
		struct ux_frame frames[UX_GSYM_DEPTH_MOST + 1];
		size_t n = code == UX_OK
				   ? ux_remote_frames(&l->remote, i, frames, ux_countof(frames))
				   : 0;
		l->found += n > 0;
		ux_frames_out_write(&l->frames, l->waiting.data[i].address,
				    (struct ux_answer){.frames = frames,
						       .n = n,
						       .place = l->waiting.data[i].name});
	}
	l->waiting.size = 0;
	ux_arena_deinit(&l->texts);
	ux_frames_out_forget(&l->frames);
	return UX_OK;
}

static enum ux_code wait_for_server(struct lookup *l, struct ux_remote_place place,
				    struct ux_error *err)
{
	l->asked++;
	if (!places_append(&l->waiting, place))
		return ux_error_nomem(err);
	return l->waiting.size < BATCH ? UX_OK : answer_remote(l, err);
}

static enum ux_code answer(struct lookup *l, uint64_t address, struct ux_error *err)
{
	if (l->is_remote)
		return wait_for_server(l, (struct ux_remote_place){.address = address}, err);
	l->asked++;
	answer_local(l, address);
	return UX_OK;
}

/* Byte off of the function with that name, or with the number of "%21" in the symbol table of a
 * cubin: CUPTI's records have both. */
static enum ux_code find_place(struct lookup *l, struct ux_bytes name, uint64_t off, uint64_t *ret,
			       struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	uint64_t index = 0;
	if (name.data[0] == '%' && ux_cubin_is(l->local.file.bytes) &&
	    ux_hex_parse_u64(ux_bytes(name.data + 1, name.size - 1), false, &index)) {
		UX_TRY(ux_elf_open(&elf, l->local.file.bytes, err));
		return ux_cubin_pc(&elf, (uint32_t)ux_min(index, (uint64_t)UINT32_MAX), off, ret,
				   err);
	}
	if (!l->names.list)
		UX_TRY(ux_gsym_names_build(&l->names, &l->local.gsym, err));
	UX_TRY(ux_gsym_names_find(&l->names, &l->local.gsym, name, ret, err));
	*ret += off;
	return UX_OK;
}

static enum ux_code answer_remote_place(struct lookup *l, struct ux_bytes text,
					struct ux_error *err)
{
	char *kept = ux_arena_strndup(&l->texts, text.data, text.size);
	if (!kept)
		return ux_arena_fail(&l->texts, err);
	return wait_for_server(l, (struct ux_remote_place){.name = ux_bytes(kept, text.size)}, err);
}

static bool parse_place(struct ux_bytes text, struct ux_bytes *ret_name, uint64_t *ret_off)
{
	return ux_gsym_symbol_parse(text, '+', ret_name, ret_off);
}

/* NAME+OFFSET. One that is not known is an answer. */
static enum ux_code answer_place(struct lookup *l, struct ux_bytes text, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	struct ux_bytes name = UX_BYTES_NONE;
	uint64_t off = 0, pc = 0;
	if (l->is_remote)
		return answer_remote_place(l, text, err);
	(void)!parse_place(text, &name, &off); /* it was, before */
	enum ux_code code = find_place(l, name, off, &pc, &why);
	if (code == UX_OK)
		return answer(l, pc, err);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (l->first_bad.code == UX_OK)
		l->first_bad = why;
	l->asked++;
	ux_frames_out_bad(&l->frames, text);
	return UX_OK;
}

static enum ux_code answer_bad(struct lookup *l, const struct ux_symbolize_request *asked,
			       struct ux_error *err)
{
	struct ux_bytes name;
	uint64_t off;
	if (parse_place(asked->bad, &name, &off))
		return answer_place(l, asked->bad, err);
	UX_TRY(answer_remote(l, err));
	l->bad_lines++;
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	ux_text(&text, ux_bytes(asked->bad.data, ux_min(asked->bad.size, (size_t)64)));
	ux_out_u8(&text, 0); /* NUL bytes of the line are \x00 by now */
	if (text.failed)
		return ux_error_nomem(err);
	ux_say("standard input: line %" PRIu64 " is \"%s\"; expected an address", asked->line,
	       (const char *)text.data);
	ux_frames_out_bad(&l->frames, asked->bad);
	return UX_OK;
}

/* Everything that was asked so far gets out, for whoever waits for it before asking more. */
static enum ux_code flush(struct lookup *l, struct ux_error *err)
{
	UX_TRY(answer_remote(l, err));
	return l->out.size > 0 ? ux_flush(&l->out, err) : UX_OK;
}

static enum ux_code answer_stdin(struct lookup *l, bool hex, struct ux_error *err)
{
	static struct ux_address_reader reader;
	struct ux_symbolize_request asked;
	ux_address_reader_init(&reader, STDIN_FILENO, hex);
	for (;;) {
		if (l->out.size >= FLUSH_BYTES)
			UX_TRY(ux_flush(&l->out, err));
		if (!ux_address_reader_ready(&reader))
			UX_TRY(flush(l, err));
		if (!ux_address_reader_next(&reader, &asked, err))
			return err->code;
		UX_TRY(asked.bad.size > 0 ? answer_bad(l, &asked, err)
					  : answer(l, asked.address, err));
	}
}

static bool is_meant_as_id(const char *name)
{
	static const char *const kinds[] = {"gnu:", "go:", "file:", "uuid:", "cubin-crc:"};
	for (size_t i = 0; i < ux_countof(kinds); i++)
		if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

/* True when the command line has all that is asked, and it is addresses. */
static bool asks_few(const struct lookup *l)
{
	for (size_t i = 0; i < l->given.size; i++)
		if (l->given.data[i].place)
			return false;
	return l->given.size > 0 && l->given.size <= UX_SYMBOL_PART_PCS;
}

/* Has the file read for what asks_few(). */
static enum ux_code read_few(struct lookup *l, struct ux_error *err)
{
	uint64_t pcs[UX_SYMBOL_PART_PCS];
	for (size_t i = 0; i < l->given.size; i++)
		pcs[i] = l->given.data[i].address;
	return ux_symbol_source_need(&l->local, pcs, l->given.size, err);
}

/* A file if there is one of that name, else an ID to ask the server for. */
static enum ux_code open_symbols(struct lookup *l, const char *name, struct values *v,
				 struct ux_server_choice *server, struct ux_error *err)
{
	struct ux_id id;
	struct ux_error why = UX_ERROR_INIT;
	bool is_file = access(name, F_OK) == 0;
	bool is_id = !is_file && ux_id_parse(ux_bytes_cstr(name), &id, &why) == UX_OK;
	if (!is_file && !is_id && is_meant_as_id(name)) {
		*err = why;
		return why.code;
	}
	if (!is_id) {
		ux_cleanup(ux_find_close) struct ux_finder finder = {0};
		UX_TRY(ux_find_open(&finder, &v->find, err));
		struct ux_symbol_choice choice = {.finder = finder,
						  .arch = v->arch,
						  .gpu = v->gpu,
						  .by_need = asks_few(l),
						  .alternatives = v->alternatives};
		ux_sigbus_reading(name);
		UX_TRY(ux_symbol_source_open(&l->local, name, &choice, err));
		ux_find_warn(name, &l->local.lost);
		return choice.by_need ? read_few(l, err) : UX_OK;
	}
	if (v->alternatives)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "--alternatives: a server does not tell them; expected a file");
	l->is_remote = true;
	UX_TRY(ux_server_choose(&v->server, server, err));
	UX_TRY(ux_remote_open(&l->remote, server, name, l->frames.demangle, err));
	l->frames.demangle = UX_DEMANGLE_NONE; /* the server does it */
	return UX_OK;
}

static int failed(struct lookup *l, const char *subject, const struct ux_error *err)
{
	int status = ux_complain(subject, err);
	if (l->is_remote && err->code == UX_EDENIED)
		status = UX_EXIT_SERVER;
	return ux_finish(&l->out, status);
}

static int finished(struct lookup *l, const char *subject)
{
	if (l->first_bad.code != UX_OK)
		ux_complain(subject, &l->first_bad);
	bool all =
		l->first_bad.code == UX_OK && l->bad_lines == 0 && (l->found > 0 || l->asked == 0);
	return ux_finish(&l->out, all ? UX_EXIT_DONE : UX_EXIT_SOME);
}

static int lookup_all(struct lookup *l, const char *name, struct values *v)
{
	static struct ux_server_choice server;
	struct ux_error err = UX_ERROR_INIT;
	if (open_symbols(l, name, v, &server, &err) != UX_OK)
		return failed(l, name, &err);
	enum ux_code code = UX_OK;
	for (size_t i = 0; i < l->given.size && code == UX_OK; i++) {
		const struct word *w = &l->given.data[i];
		code = w->place ? answer_place(l, ux_bytes_cstr(w->place), &err)
				: answer(l, w->address, &err);
	}
	if (l->given.size == 0)
		code = answer_stdin(l, v->answer.hex, &err);
	if (code == UX_OK)
		code = answer_remote(l, &err);
	return code == UX_OK ? finished(l, name) : failed(l, name, &err);
}

/* Reads the words that follow the name before anything is opened. */
static int take_addresses(const struct ux_command *cmd, const struct ux_args *args, bool hex,
			  struct words *ret)
{
	for (size_t i = 1; i < args->n; i++) {
		struct ux_bytes text = ux_bytes_cstr(args->items[i]), name;
		struct word word = {0};
		uint64_t off;
		if (parse_place(text, &name, &off))
			word.place = args->items[i];
		else if (!ux_hex_parse_u64(text, hex, &word.address))
			return ux_usage_error(cmd,
					      "\"%.64s\" is no address; expected 0x..., decimal, "
					      "hexadecimal with --hex, or FUNCTION+OFFSET",
					      args->items[i]);
		if (!words_append(ret, word))
			return ux_complain(NULL, &(struct ux_error){.code = UX_ENOMEM});
	}
	return UX_EXIT_DONE;
}

static void values_deinit(struct values *v)
{
	free(v->find.dirs);
}

static int run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(values_deinit) struct values v = {0};
	struct ux_args args;
	enum ux_demangle_mode mode = UX_DEMANGLE_FULL;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n == 0)
		return ux_usage_error(cmd, "no file or ID given");
	if (!ux_answer_mode(cmd, &v.answer, &mode, &status))
		return status;
	ux_cleanup(lookup_deinit) struct lookup l = {.first_bad = UX_ERROR_INIT,
						     .texts = {.budget = TEXTS_MOST}};
	ux_frames_out_init(&l.frames, &l.out);
	l.alternatives = v.alternatives;
	l.frames.json = v.answer.json;
	l.frames.innermost = v.no_inlines;
	l.frames.demangle = mode;
	status = take_addresses(cmd, &args, v.answer.hex, &l.given);
	return status == UX_EXIT_DONE ? lookup_all(&l, args.items[0], &v) : status;
}

const struct ux_command ux_cmd_lookup = {
	.name = "lookup",
	.usage = "FILE|GSYM|ID [ADDR...] [options]",
	.line = "functions, files and lines at addresses",
	.text = "Prints the frames at each address, innermost first. Addresses are virtual addresses\n"
		"as the file has them: 0x..., decimal, or bare hexadecimal with --hex; or a function's\n"
		"linkage name and an offset: main+0x12. Without any they are read from standard input,\n"
		"one a line, and answered as they come.\n"
		"\n"
		"FILE is an ELF file, whose separate debug file is found by build ID or link, a Mach-O file\n"
		"(--arch chooses a slice), whose dSYM bundle is found beside it, a cubin, a program with\n"
		"GPU code (--gpu chooses it), or a GSYM file. A name that is no file but an ID (gnu:HEX,\n"
		"go:TEXT, file:HEX, uuid:HEX, cubin-crc:HEX) is asked of the server, which knows functions\n"
		"by name, too.\n"
		"\n"
		"Exit status 1 when no address was found, or one made no sense.",
	.options = options,
	.n_options = ux_countof(options),
	.run = run,
};
