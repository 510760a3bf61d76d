/* SPDX-License-Identifier: Apache-2.0 */
/* unhex lookup: prints the frames at addresses of a file, or of a module on a server. */
#include "commands.h"

#include "common_options.h"
#include "dash_file.h"
#include "frames_out.h"
#include "function_names.h"
#include "gsym_reader.h"
#include "id.h"
#include "input.h"
#include "output.h"
#include "remote.h"
#include "remote_modules.h"
#include "sigbus.h"
#include "sources_out.h"
#include "stripped.h"
#include "symbol_source.h"
#include "text.h"
#include "vec.h"

#include <unistd.h>

struct lookup_values {
	struct ux_answer_values answer;
	bool no_inlines;
	bool alternatives;
	bool columns;
	bool no_cache;
	struct ux_find_values find;
	const char *arch;
	const char *gpu;
	struct ux_server_values server;
};

static const struct ux_option lookup_options[] = {
	UX_ANSWER_OPTIONS(struct lookup_values, answer),
	{"no-inlines", 0, UX_OPTION_FLAG, offsetof(struct lookup_values, no_inlines), NULL,
	 "print only the innermost frame of each address"},
	{"alternatives", 0, UX_OPTION_FLAG, offsetof(struct lookup_values, alternatives), NULL,
	 "also print other names of the function, if the file has them"},
	{"columns", 0, UX_OPTION_FLAG, offsetof(struct lookup_values, columns), NULL,
	 "also print columns, if the file's DWARF has them; bypasses the cache"},
	{"no-cache", 0, UX_OPTION_FLAG, offsetof(struct lookup_values, no_cache), NULL,
	 "do not use the cache of extracted symbols (UNHEX_CACHE=off)"},
	UX_FIND_OPTIONS(struct lookup_values, find),
	{"arch", 0, UX_OPTION_TEXT, offsetof(struct lookup_values, arch), "NAME",
	 "slice of a universal Mach-O file [the only one, or this machine's]"},
	{"gpu", 0, UX_OPTION_TEXT, offsetof(struct lookup_values, gpu), "WHICH",
	 "a piece of its GPU code instead: sm_90, an ID, or a number that unhex id prints"},
	UX_SERVER_OPTIONS(struct lookup_values, server),
};

enum {
	LOCAL_BATCH = 131072,  /* addresses that are sorted, so that each record is read once */
	LOCAL_FRAMES = 4,      /* room for frames of an address; more are allocated when needed */
	ALTERNATIVES_MAX = 64, /* alternative names of one function that are printed */
	FLUSH_BYTES = 1 << 16,
	TEXTS_MAX = 64 << 20, /* bytes of symbols in the batch for the server */
};

UX_VEC(lookup_requests, struct ux_remote_address);

/* An address on the command line. */
struct lookup_arg {
	const char *symbol; /* NAME or NAME+OFFSET; NULL: use `address` */
	uint64_t address;
	bool has_hex; /* the text has decimal digits alone, and may be meant as hexadecimal */
	uint64_t hex;
};

UX_VEC(lookup_args, struct lookup_arg);

/* A batch of lookups in a GSYM. The arrays are malloc'ed. */
struct lookup_batch {
	uint64_t *pcs;
	struct ux_frame_span *spans;
	struct ux_frame *frames;
	size_t max; /* room in frames */
};

/* The state of the command. */
struct lookup {
	struct ux_symbol_source local;
	struct ux_remote remote;
	bool is_remote;
	char id[UX_ID_TEXT]; /* ID of the module on the server */
	bool selecting;      /* the server's URL and token are being read */
	bool alternatives;
	bool hinted_hex;
	bool asked_server;              /* a server was queried for the debug file or its names */
	bool of_gpu;                    /* a piece of GPU code was selected */
	bool server_is_poor;            /* the server's symbols are not better than the file's */
	struct ux_error server_why;     /* why the server gave no names; code UX_OK: it gave some */
	struct lookup_args given;       /* addresses on the command line */
	struct ux_gsym_names names;     /* index of function names, built at the first use */
	struct lookup_requests waiting; /* the batch: addresses not answered yet */
	struct lookup_batch batch;      /* buffers of a local batch */
	struct ux_arena texts;          /* symbols in the batch */
	struct ux_frames_out frames;
	struct ux_out out;
	struct ux_error first_bad; /* the first damaged record or missing module */
	uint64_t bad_lines;
	uint64_t requested;
	uint64_t found;
};

static void lookup_deinit(struct lookup *l)
{
	ux_symbol_source_close(&l->local);
	ux_remote_close(&l->remote);
	lookup_args_deinit(&l->given);
	ux_gsym_names_deinit(&l->names);
	lookup_requests_deinit(&l->waiting);
	free(l->batch.pcs);
	free(l->batch.spans);
	free(l->batch.frames);
	ux_arena_deinit(&l->texts);
	ux_frames_out_deinit(&l->frames);
	ux_out_deinit(&l->out);
}

static enum ux_code lookup_batch_reserve(struct lookup_batch *b, size_t n, size_t n_frames,
					 struct ux_error *err)
{
	uint64_t *pcs = reallocarray(b->pcs, n, sizeof(*b->pcs));
	if (pcs)
		b->pcs = pcs;
	struct ux_frame_span *spans = reallocarray(b->spans, n, sizeof(*b->spans));
	if (spans)
		b->spans = spans;
	if (!pcs || !spans)
		return ux_error_nomem(err);
	if (n_frames <= b->max)
		return UX_OK;
	free(b->frames);
	b->frames = calloc(n_frames, sizeof(*b->frames));
	b->max = b->frames ? n_frames : 0;
	return b->frames ? UX_OK : ux_error_nomem(err);
}

/* Looks up all waiting addresses. *why describes the first damaged record. */
static enum ux_code lookup_batch_read(struct lookup *l, struct ux_error *why, struct ux_error *err)
{
	struct lookup_batch *b = &l->batch;
	size_t n = l->waiting.size;
	UX_TRY(lookup_batch_reserve(b, n, n * LOCAL_FRAMES, err));
	for (size_t i = 0; i < n; i++)
		b->pcs[i] = l->waiting.data[i].address;
	struct ux_gsym_batch batch = {.pcs = b->pcs, .n = n, .spans = b->spans};
	enum ux_code code = UX_OK;
	do {
		*why = (struct ux_error)UX_ERROR_INIT;
		UX_TRY(lookup_batch_reserve(b, n, batch.n_frames, err));
		batch.frames = b->frames;
		batch.max = b->max;
		code = ux_gsym_batch(&l->local.gsym, &batch, why);
	} while (code == UX_ELIMIT && batch.n_frames > b->max);
	return code == UX_ECORRUPT || code == UX_OK ? UX_OK
						    : ux_error_set(err, code, "%s", why->text);
}

static void lookup_write_local(struct lookup *l, uint64_t pc, const struct ux_frame *frames,
			       size_t n)
{
	const char *others[ALTERNATIVES_MAX];
	struct ux_answer answer = {.frames = frames, .n = n, .others = others};
	if (l->alternatives && answer.n > 0 &&
	    ux_gsym_alternatives(&l->local.gsym, pc, others, ALTERNATIVES_MAX, &n, NULL) == UX_OK)
		answer.n_others = ux_min(n, (size_t)ALTERNATIVES_MAX);
	l->found += answer.n > 0;
	ux_frames_out_write(&l->frames, pc, answer);
}

/* Answers the batch from the local GSYM. */
static enum ux_code lookup_local(struct lookup *l, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(lookup_batch_read(l, &why, err));
	if (why.code != UX_OK && l->first_bad.code == UX_OK)
		l->first_bad = why;
	for (size_t i = 0; i < l->waiting.size; i++) {
		struct ux_frame_span s = l->batch.spans[i];
		lookup_write_local(l, l->batch.pcs[i], l->batch.frames + s.first, s.n);
		if (l->out.size >= FLUSH_BYTES)
			UX_TRY(ux_flush(&l->out, err));
	}
	l->waiting.size = 0;
	return UX_OK;
}

/* Sends the batch to the server and prints the answers. It is not a failure if the server does
 * not have the module. */
static enum ux_code lookup_remote(struct lookup *l, struct ux_error *err)
{
	struct ux_error missing = UX_ERROR_INIT;
	enum ux_code code = ux_remote_send(&l->remote, l->waiting.data, l->waiting.size, &missing);
	if (code != UX_OK && code != UX_ENOTFOUND) {
		*err = missing;
		return code;
	}
	if (code == UX_ENOTFOUND && l->first_bad.code == UX_OK)
		(void)ux_error_set(&l->first_bad, code,
				   "the server has no symbols for it; unhex explain %.60s says "
				   "what would help",
				   l->id);
	for (size_t i = 0; i < l->waiting.size; i++) {
		struct ux_frame frames[UX_GSYM_DEPTH_MAX + 1];
		size_t n = code == UX_OK
				   ? ux_remote_frames(&l->remote, i, frames, ux_countof(frames))
				   : 0;
		l->found += n > 0;
		ux_frames_out_write(&l->frames, l->waiting.data[i].address,
				    (struct ux_answer){.frames = frames,
						       .n = n,
						       .symbol = l->waiting.data[i].name});
	}
	l->waiting.size = 0;
	ux_arena_deinit(&l->texts);
	ux_frames_out_reset(&l->frames);
	return UX_OK;
}

/* Prints the answers of the batch. */
static enum ux_code lookup_send(struct lookup *l, struct ux_error *err)
{
	if (l->waiting.size == 0)
		return UX_OK;
	return l->is_remote ? lookup_remote(l, err) : lookup_local(l, err);
}

static enum ux_code lookup_queue(struct lookup *l, struct ux_remote_address request,
				 struct ux_error *err)
{
	l->requested++;
	if (!lookup_requests_append(&l->waiting, request))
		return ux_error_nomem(err);
	size_t max = l->is_remote ? UX_REMOTE_BATCH : LOCAL_BATCH;
	return l->waiting.size < max ? UX_OK : lookup_send(l, err);
}

static enum ux_code lookup_address(struct lookup *l, uint64_t address, struct ux_error *err)
{
	return lookup_queue(l, (struct ux_remote_address){.address = address}, err);
}

static enum ux_code lookup_find_symbol(struct lookup *l, const struct ux_function_text *text,
				       struct ux_gsym_starts *ret_starts, uint64_t *ret,
				       struct ux_error *err)
{
	return ux_function_text_find(&l->names, &l->local.gsym, l->local.file.bytes, text,
				     ret_starts, ret, err);
}

static enum ux_code lookup_queue_symbol(struct lookup *l, struct ux_bytes text,
					struct ux_error *err)
{
	struct ux_bytes name = UX_BYTES_NONE;
	uint64_t off = 0, size = 0;
	bool bare = !ux_gsym_symbol_parse_sized(text, '+', &name, &off, &size);
	char *copy = ux_arena_alloc(&l->texts, text.size + sizeof("+0"), 1);
	if (!copy)
		return ux_arena_fail(&l->texts, err);
	int n = snprintf(copy, text.size + sizeof("+0"), "%.*s%s", (int)text.size,
			 (const char *)text.data, bare ? "+0" : "");
	return lookup_queue(l, (struct ux_remote_address){.name = ux_bytes(copy, (size_t)n)}, err);
}

/* Returns whether a line of standard input is the name of a function of the file, or, for a module
 * on a server, may be one. */
static bool lookup_line_is_symbol(struct lookup *l, struct ux_bytes text)
{
	struct ux_function_text symbol;
	struct ux_gsym_starts starts;
	uint64_t pc;
	if (!ux_function_text_parse(text, &symbol))
		return false;
	return symbol.name.size < text.size || l->is_remote ||
	       lookup_find_symbol(l, &symbol, &starts, &pc, NULL) == UX_OK;
}

/* Looks up NAME+OFFSET or NAME. An unknown name is not a failure. */
static enum ux_code lookup_symbol(struct lookup *l, struct ux_bytes text, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	struct ux_function_text symbol;
	struct ux_gsym_starts starts;
	uint64_t pc = 0;
	if (l->is_remote)
		return lookup_queue_symbol(l, text, err);
	(void)!ux_function_text_parse(
		text, &symbol); /* cannot fail, because the caller has checked the text */
	enum ux_code code = lookup_find_symbol(l, &symbol, &starts, &pc, &why);
	if (code == UX_OK) {
		ux_function_text_warn("lookup", &symbol, &starts);
		return lookup_address(l, pc, err);
	}
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	ux_function_text_hint(text, &why);
	UX_TRY(lookup_send(l, err));
	if (l->first_bad.code == UX_OK)
		l->first_bad = why;
	l->requested++;
	ux_frames_out_bad(&l->frames, text,
			  code == UX_ECONFLICT ? "the function has another size"
					       : "no function has this name");
	return UX_OK;
}

static enum ux_code lookup_bad_line(struct lookup *l, const struct ux_address_line *line,
				    struct ux_error *err)
{
	if (lookup_line_is_symbol(l, line->bad))
		return lookup_symbol(l, line->bad, err);
	UX_TRY(lookup_send(l, err));
	l->bad_lines++;
	UX_TRY(ux_address_line_warn(line, err));
	ux_frames_out_bad(&l->frames, line->bad, "not an address");
	return UX_OK;
}

/* Writes all answers so far, because the client may wait for them before it sends more. */
static enum ux_code lookup_flush(struct lookup *l, struct ux_error *err)
{
	UX_TRY(lookup_send(l, err));
	return l->out.size > 0 ? ux_flush(&l->out, err) : UX_OK;
}

static enum ux_code lookup_stdin(struct lookup *l, bool hex, struct ux_error *err)
{
	static struct ux_address_reader reader;
	struct ux_address_line line;
	ux_address_reader_init(&reader, STDIN_FILENO, hex);
	for (;;) {
		if (l->out.size >= FLUSH_BYTES)
			UX_TRY(ux_flush(&l->out, err));
		if (!ux_address_reader_ready(&reader))
			UX_TRY(lookup_flush(l, err));
		if (!ux_address_reader_next(&reader, &line, err))
			return err->code;
		UX_TRY(line.bad.size > 0 ? lookup_bad_line(l, &line, err)
					 : lookup_address(l, line.address, err));
	}
}

static bool lookup_looks_like_id(const char *name)
{
	static const char *const kinds[] = {"gnu:", "go:", "file:", "uuid:", "cubin-crc:"};
	for (size_t i = 0; i < ux_countof(kinds); i++)
		if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

/* Returns whether a partial extraction may be faster: all requests are addresses on the command
 * line, and there are few of them. */
static bool lookup_is_small(const struct lookup *l)
{
	for (size_t i = 0; i < l->given.size; i++)
		if (l->given.data[i].symbol)
			return false;
	return l->given.size > 0 && l->given.size <= UX_SYMBOL_PART_PCS;
}

/* Loads the symbols at the addresses of the command line. */
static enum ux_code lookup_load(struct lookup *l, struct ux_error *err)
{
	uint64_t pcs[UX_SYMBOL_PART_PCS];
	size_t n = 0;
	for (size_t i = 0; i < l->given.size; i++)
		pcs[n++] = l->given.data[i].address;
	for (size_t i = 0; i < l->given.size && n < UX_SYMBOL_PART_PCS; i++)
		if (l->given.data[i].has_hex) /* for lookup_hint_hex() */
			pcs[n++] = l->given.data[i].hex;
	return ux_symbol_source_load(&l->local, pcs, n, err);
}

static enum ux_code lookup_select(struct lookup *l, struct lookup_values *v,
				  struct ux_server_selection *server, struct ux_error *err)
{
	l->selecting = true;
	UX_TRY(ux_server_select(&v->server, server, err));
	l->selecting = false;
	return ux_remote_open(&l->remote, server, l->id, l->frames.demangle, err);
}

/* Switches to the server: from here on it answers. */
static void lookup_go_remote(struct lookup *l)
{
	l->is_remote = true;
	l->frames.demangle = UX_DEMANGLE_NONE; /* the server has demangled the names already */
}

/* Asks the server, if one is named, about a stripped file without a debug file. If it has nothing
 * better, the file itself answers. */
static enum ux_code lookup_try_server(struct lookup *l, struct lookup_values *v,
				      struct ux_server_selection *server, struct ux_error *err)
{
	if (!ux_server_is_named(&v->server) || v->gpu || v->columns || v->alternatives ||
	    l->local.files.debug.path || !ux_stripped_id(l->local.file.bytes, l->id))
		return UX_OK;
	UX_TRY(lookup_select(l, v, server, err));
	l->asked_server = true;
	enum ux_code code = ux_remote_send(&l->remote, NULL, 0, &l->server_why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	l->server_is_poor = code == UX_OK && ux_remote_quality(&l->remote) < UX_QUALITY_SYMTAB;
	if (code == UX_OK && !l->server_is_poor)
		lookup_go_remote(l);
	return UX_OK;
}

static enum ux_code lookup_open_file(struct lookup *l, const char *name,
				     const struct lookup_values *v, struct ux_error *err)
{
	ux_cleanup(ux_find_close) struct ux_finder finder = {0};
	UX_TRY(ux_find_open(&finder, &v->find, err));
	l->asked_server = finder.server != NULL;
	struct ux_symbol_options choice = {.finder = finder,
					   .arch = v->arch,
					   .gpu = v->gpu,
					   .no_cache = v->no_cache,
					   .lazy = lookup_is_small(l),
					   .columns = v->columns,
					   .alternatives = v->alternatives};
	ux_sigbus_reading(name);
	UX_TRY(ux_symbol_source_open(&l->local, name, &choice, err));
	enum ux_code code = choice.lazy ? lookup_load(l, err) : UX_OK;
	ux_find_warn(name, &l->local.lost);
	ux_damage_warn(name, &l->local.stats);
	return code;
}

/* Opens a file of that name; if there is no such file, takes the name as the ID of a module on the
 * server. */
static enum ux_code lookup_open(struct lookup *l, const char *name, struct lookup_values *v,
				struct ux_server_selection *server, struct ux_error *err)
{
	struct ux_id id;
	struct ux_error why = UX_ERROR_INIT;
	bool is_file = access(name, F_OK) == 0;
	bool is_id = !is_file && ux_remote_id_is(name);
	if (!is_file && !is_id && lookup_looks_like_id(name)) {
		(void)!ux_id_parse(ux_bytes_cstr(name), &id, &why);
		*err = why;
		return why.code;
	}
	if (!is_file && ux_remote_id_is_short(name, err))
		return err->code;
	if (!is_id) {
		enum ux_code code = lookup_open_file(l, name, v, &why);
		if (code == UX_OK || code == UX_ENOTFOUND) /* it has no symbols at all */
			UX_TRY(lookup_try_server(l, v, server, err));
		if (code == UX_OK || l->is_remote)
			return UX_OK;
		*err = why;
		return code;
	}
	if (v->columns)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "--columns: expected a file; a server has no columns");
	if (v->alternatives)
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"--alternatives: expected a file; a server does not return other names");
	UX_TRY(lookup_select(l, v, server, err));
	lookup_go_remote(l);
	return ux_remote_id_resolve(l->remote.client, name, l->id, err);
}

static void lookup_put_advice(const struct lookup *l, const struct ux_server_selection *server,
			      struct ux_out *out)
{
	ux_cleanup(ux_out_deinit) struct ux_out advice = {0};
	ux_server_put_advice(server, &l->server_why, &advice);
	if (advice.size > 0)
		ux_out_cstr(out, "; ");
	ux_text(out, ux_out_bytes(&advice));
}

/* Appends advice that would give the file's functions their names and lines. Returns false, and
 * appends nothing, if the file is not stripped, or its debug file was found. */
static bool lookup_put_help(const struct lookup *l, const struct ux_server_selection *server,
			    const char *before, struct ux_out *out)
{
	char why[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	if (l->is_remote || l->of_gpu || l->local.files.debug.path ||
	    !ux_stripped_is(l->local.file.bytes))
		return false;
	ux_out_cstr(out, before);
	if (l->server_why.code != UX_OK && l->server_why.code != UX_ENOTFOUND) {
		ux_text(out, ux_bytes_cstr(ux_error_format(&l->server_why, why, sizeof(why))));
		lookup_put_advice(l, server, out);
		return true;
	}
	if (l->server_why.code == UX_ENOTFOUND)
		ux_out_cstr(out, "the server has no symbols for it; ");
	if (l->server_is_poor)
		ux_out_cstr(out, "so is the server's copy; ");
	ux_stripped_help(out, l->local.path, l->asked_server);
	return true;
}

/* Prints the failure to open a file, and advice. */
static int lookup_failed_local(const struct lookup *l, const char *subject,
			       const struct ux_server_selection *server, const struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out note = {0};
	if (err->code == UX_ENOTFOUND && subject)
		(void)lookup_put_help(l, server, "", &note);
	ux_out_u8(&note, 0);
	return ux_print_error_note(subject, err, note.failed ? NULL : (const char *)note.data);
}

static int lookup_failed(struct lookup *l, const char *subject,
			 const struct ux_server_selection *server, const struct ux_error *err)
{
	int status = l->selecting   ? (ux_print_error(server->subject, err), UX_EXIT_USAGE)
		     : l->is_remote ? ux_server_print_error(server, subject, err)
				    : lookup_failed_local(l, subject, server, err);
	if (l->frames.json && subject)
		ux_json_failure(&l->out, strcmp(subject, UX_DASH_INPUT) == 0 ? "-" : subject, err);
	return ux_finish(&l->out, status);
}

static void lookup_hint_stripped(const struct lookup *l, const char *subject,
				 const struct ux_server_selection *server)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	if (lookup_put_help(l, server, "is stripped; ", &text) &&
	    ux_out_status(&text, NULL) == UX_OK)
		ux_print_message("%s: %.*s", subject, (int)text.size, (const char *)text.data);
}

static int lookup_finish(struct lookup *l, const char *subject,
			 const struct ux_server_selection *server)
{
	if (l->first_bad.code != UX_OK)
		ux_print_error(subject, &l->first_bad);
	if (l->requested > 0)
		lookup_hint_stripped(l, subject, server);
	bool all = l->first_bad.code == UX_OK && l->bad_lines == 0 &&
		   (l->found > 0 || l->requested == 0);
	return ux_finish(&l->out, all ? UX_EXIT_DONE : UX_EXIT_SOME);
}

static bool lookup_has_function(const struct lookup *l, uint64_t pc)
{
	struct ux_frame frames[UX_GSYM_DEPTH_MAX + 1];
	size_t n = 0;
	return ux_gsym_lookup(&l->local.gsym, pc, frames, ux_countof(frames), &n, NULL) == UX_OK;
}

/* Prints one hint, for the first address without a function that would have one as a hexadecimal
 * number: listings of disassemblers and profilers have no 0x. */
static void lookup_hint_hex(struct lookup *l, const struct lookup_arg *a)
{
	if (l->is_remote || l->hinted_hex || !a->has_hex || l->local.gsym.n_functions == 0 ||
	    lookup_has_function(l, a->address) || !lookup_has_function(l, a->hex))
		return;
	l->hinted_hex = true;
	ux_print_message("%" PRIu64 " was read as decimal, and has no symbol; for 0x%" PRIx64
			 " write 0x or use --hex",
			 a->address, a->hex);
}

static enum ux_code lookup_given(struct lookup *l, struct ux_error *err)
{
	for (size_t i = 0; i < l->given.size; i++) {
		const struct lookup_arg *a = &l->given.data[i];
		UX_TRY(a->symbol ? lookup_symbol(l, ux_bytes_cstr(a->symbol), err)
				 : lookup_address(l, a->address, err));
		lookup_hint_hex(l, a);
	}
	return UX_OK;
}

static int lookup_run(struct lookup *l, const char *name, struct lookup_values *v)
{
	static struct ux_server_selection server;
	ux_cleanup(ux_dash_file_close) struct ux_dash_file input = UX_DASH_FILE_INIT;
	struct ux_error err = UX_ERROR_INIT;
	const char *path = NULL;
	if (ux_dash_file_read(&input, name, UX_BYTES_NONE, &path, &err) != UX_OK)
		return lookup_failed(l, NULL, &server, &err);
	if (lookup_open(l, path, v, &server, &err) != UX_OK)
		return lookup_failed(l, path == name ? name : UX_DASH_INPUT, &server, &err);
	enum ux_code code = lookup_given(l, &err);
	if (l->given.size == 0) {
		if (isatty(STDIN_FILENO))
			ux_print_message(
				"lookup: reading addresses from the terminal, one per line; "
				"press Ctrl-D to end");
		code = lookup_stdin(l, v->answer.hex, &err);
	}
	if (code == UX_OK)
		code = lookup_send(l, &err);
	return code == UX_OK ? lookup_finish(l, name, &server)
			     : lookup_failed(l, name, &server, &err);
}

/* Parses the arguments after the name of the file. This is done before any file is opened. */
static int lookup_parse_args(const struct ux_command *cmd, const struct ux_args *args, bool hex,
			     struct lookup_args *ret)
{
	for (size_t i = 1; i < args->n; i++) {
		struct ux_bytes text = ux_bytes_cstr(args->items[i]);
		struct lookup_arg word = {0};
		struct ux_function_text symbol;
		if (ux_hex_parse_u64(text, hex, &word.address))
			word.has_hex = !hex && ux_hex_parse_u64(text, true, &word.hex) &&
				       word.hex != word.address;
		else if (ux_function_text_parse(text, &symbol))
			word.symbol = args->items[i];
		else
			return ux_usage_error(
				cmd,
				"\"%.64s\" is not an address; expected 0x..., decimal, "
				"hexadecimal with --hex, FUNCTION or FUNCTION+OFFSET",
				args->items[i]);
		if (!lookup_args_append(ret, word))
			return ux_print_error(NULL, &(struct ux_error){.code = UX_ENOMEM});
	}
	return UX_EXIT_DONE;
}

static void lookup_values_deinit(struct lookup_values *v)
{
	free(v->find.dirs);
}

static int cmd_lookup_run(const struct ux_command *cmd, int argc, char **argv)
{
	ux_cleanup(lookup_values_deinit) struct lookup_values v = {0};
	struct ux_args args;
	enum ux_demangle_mode mode = UX_DEMANGLE_FULL;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, &v, &args, &status))
		return status;
	if (args.n == 0)
		return ux_usage_error(cmd, "no file or ID given");
	if (args.n == 2 && ux_dash_is(args.items[1]))
		args.n = 1; /* addresses are read from standard input anyway */
	if (args.n == 1 && ux_dash_is(args.items[0]))
		return ux_usage_error(
			cmd, "standard input is the file; pass the addresses as arguments");
	if (!ux_answer_mode(cmd, &v.answer, &mode, &status))
		return status;
	ux_cleanup(lookup_deinit) struct lookup l = {.first_bad = UX_ERROR_INIT,
						     .server_why = UX_ERROR_INIT,
						     .texts = {.budget = TEXTS_MAX}};
	ux_frames_out_init(&l.frames, &l.out);
	l.alternatives = v.alternatives;
	l.of_gpu = v.gpu != NULL;
	l.frames.json = v.answer.json;
	l.frames.innermost = v.no_inlines;
	l.frames.demangle = mode;
	status = lookup_parse_args(cmd, &args, v.answer.hex, &l.given);
	return status == UX_EXIT_DONE ? lookup_run(&l, args.items[0], &v) : status;
}

const struct ux_command ux_cmd_lookup = {
	.name = "lookup",
	.usage = "FILE|GSYM|ID [ADDR...] [options]",
	.line = "print functions, files and lines at addresses",
	.text = "Prints the frames at each address, innermost first. An address is a virtual address in the\n"
		"file: 0x..., decimal, or bare hexadecimal with --hex. It can also be a "
		"function's linkage\n"
		"name or any other symbol of it, or name and offset: main, main+0x12, and as Linux "
		"prints it with\n"
		"the size: vfs_read+0x9e/0x300. With --hex, a name of hexadecimal digits only, such\n"
		"as add, is a number: write add+0 for the function. Without addresses, or with "
		"-, lookup reads\n"
		"them from standard input, one per line, and answers each line before it reads "
		"the next.\n"
		"\n"
		"FILE is an ELF file, a Mach-O file (--arch selects a slice), a cubin, a "
		"program with GPU code\n"
		"(--gpu selects a piece), or a GSYM file; - is standard input. lookup finds "
		"the separate debug\n"
		"file of an ELF file by build ID or link, and the dSYM bundle beside a Mach-O "
		"file. If no such\n"
		"file exists and the name is an ID (gnu:HEX, go:TEXT, file:HEX, uuid:HEX, "
		"cubin-crc:HEX), lookup\n"
		"asks the server, which also finds functions by name. With --url or "
		"UNHEX_URL, lookup\n"
		"also asks that server for the names of a stripped file without a debug file, by "
		"build ID.\n"
		"\n"
		"On a terminal, names omit template arguments; --demangle full prints them.\n"
		"\n"
		"Exit status 1: no address was found, or an address is invalid.",
	.examples = "  unhex lookup a.out 0x1129\n"
		    "  unhex lookup a.out main main+0x12\n"
		    "  echo 1129 | unhex lookup --hex --json a.out\n"
		    "  unhex lookup gnu:93ac61ec5a8eb1396f9fbd350e3169a558528a40 0x29d90",
	.options = lookup_options,
	.n_options = ux_countof(lookup_options),
	.run = cmd_lookup_run,
};
