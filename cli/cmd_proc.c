/* SPDX-License-Identifier: Apache-2.0 */
/* unhex proc: addresses of a live process to frames. */
#include "commands.h"

#include "address_reader.h"
#include "answer_options.h"
#include "find_options.h"
#include "frames_out.h"
#include "hash.h"
#include "text.h"
#include "output.h"
#include "process_stacks.h"
#include "unhex/module.h"
#include "unhex/process.h"
#include "vec.h"

#include <unistd.h>

struct values {
	struct ux_answer_values answer;
	bool no_inlines;
	bool return_addresses;
	bool python;
	bool php;
	bool ruby;
	const char *at;
	const char *vmlinux;
	const char *kernel_root;
	struct ux_find_values find;
};

static const struct ux_option options[] = {
	UX_ANSWER_OPTIONS(struct values, answer),
	{"no-inlines", 0, UX_OPTION_FLAG, offsetof(struct values, no_inlines), NULL,
	 "only the innermost frame of each address"},
	{"return-addresses", 0, UX_OPTION_FLAG, offsetof(struct values, return_addresses), NULL,
	 "addresses are where calls return to"},
	{"at", 0, UX_OPTION_TEXT, offsetof(struct values, at), "TIME",
	 "when they were, in seconds as perf script tells them [now]"},
	UX_FIND_OPTIONS(struct values, find),
	{"vmlinux", 0, UX_OPTION_TEXT, offsetof(struct values, vmlinux), "FILE",
	 "the running kernel's ELF file [where packages put it]"},
	{"kernel-root", 0, UX_OPTION_TEXT, offsetof(struct values, kernel_root), "DIR",
	 "the host's root, with proc, sys, boot and lib/modules [/]"},
	{"python", 0, UX_OPTION_FLAG, offsetof(struct values, python), NULL,
	 "the Python stack of every thread instead"},
	{"php", 0, UX_OPTION_FLAG, offsetof(struct values, php), NULL, "the PHP stack instead"},
	{"ruby", 0, UX_OPTION_FLAG, offsetof(struct values, ruby), NULL,
	 "the Ruby stack of every thread instead"},
};

enum {
	BATCH = 4096,
	FLUSH_BYTES = 1 << 16,
	LOST_MOST = 16, /* reasons that are said */
};

UX_VEC(address_list, uint64_t);

/* One run of the command. */
struct proc {
	struct ux_process *process;
	struct ux_finder finder;
	uint64_t lost[LOST_MOST]; /* hashes of what was said to be lost */
	size_t n_lost;
	struct address_list given; /* on the command line, or waiting */
	struct ux_frames_out frames;
	struct ux_out out;
	uint32_t flags;
	uint64_t time_ns;
	uint64_t bad_lines;
	uint64_t asked;
	uint64_t found;
};

static void proc_deinit(struct proc *p)
{
	ux_process_close(p->process);
	ux_find_close(&p->finder);
	address_list_deinit(&p->given);
	ux_frames_out_deinit(&p->frames);
	ux_out_deinit(&p->out);
}

static void free_answers(struct ux_process_answers **a)
{
	ux_process_answers_free(*a);
}

/* Whether the address has another number in its module. */
static bool has_pc(const struct ux_process_answer *a)
{
	if (a->kind == UX_PROCESS_KERNEL || !*a->build_id)
		return a->kind == UX_PROCESS_FILE || a->pc != a->addr;
	return true;
}

/* Says once each why lines are not told; JSON has it with each address. */
static void say_lost(struct proc *p, const struct ux_process_answer *a)
{
	uint64_t hash = ux_hash_bytes(ux_bytes_cstr(a->lost));
	if (p->frames.json || *a->lost == 0 || p->n_lost == LOST_MOST)
		return;
	for (size_t i = 0; i < p->n_lost; i++)
		if (p->lost[i] == hash)
			return;
	p->lost[p->n_lost++] = hash;
	ux_say("no lines of %.100s: %s", *a->module ? a->module : "what is mapped", a->lost);
}

/* Looks up what waits. */
static enum ux_code answer_waiting(struct proc *p, struct ux_error *err)
{
	ux_cleanup(free_answers) struct ux_process_answers *answers = NULL;
	size_t n = p->given.size;
	if (n == 0)
		return UX_OK;
	UX_TRY(ux_process_lookup(p->process, p->given.data, n, p->time_ns, p->flags, &answers,
				 err));
	for (size_t i = 0; i < n; i++) {
		const struct ux_process_answer *a = ux_process_answer_at(answers, i);
		struct ux_origin origin = {ux_process_kind_name(a->kind),
					   a->module,
					   a->build_id,
					   a->pc,
					   has_pc(a),
					   a->reason,
					   a->lost};
		p->found += a->n > 0;
		say_lost(p, a);
		ux_frames_out_write(
			&p->frames, a->addr,
			(struct ux_answer){.frames = a->frames, .n = a->n, .origin = &origin});
	}
	p->asked += n;
	p->given.size = 0;
	ux_frames_out_forget(&p->frames); /* the names end with the answers */
	return UX_OK;
}

static void answer_bad(struct proc *p, const struct ux_symbolize_request *asked)
{
	p->bad_lines++;
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	ux_text(&text, ux_bytes(asked->bad.data, ux_min(asked->bad.size, (size_t)64)));
	ux_out_u8(&text, 0);
	if (!text.failed)
		ux_say("standard input: line %" PRIu64 " is \"%s\"; expected an address",
		       asked->line, (const char *)text.data);
	ux_frames_out_bad(&p->frames, asked->bad);
}

static enum ux_code answer_stdin(struct proc *p, bool hex, struct ux_error *err)
{
	static struct ux_address_reader reader;
	struct ux_symbolize_request asked;
	ux_address_reader_init(&reader, STDIN_FILENO, hex);
	for (;;) {
		bool ready = ux_address_reader_ready(&reader);
		if (!ready || p->given.size == BATCH)
			UX_TRY(answer_waiting(p, err));
		if (p->out.size > 0 && (!ready || p->out.size >= FLUSH_BYTES))
			UX_TRY(ux_flush(&p->out, err));
		if (!ux_address_reader_next(&reader, &asked, err)) {
			UX_TRY(err->code);
			return answer_waiting(p, err);
		}
		if (asked.bad.size > 0) {
			UX_TRY(answer_waiting(p, err));
			answer_bad(p, &asked);
		} else if (!address_list_append(&p->given, asked.address)) {
			return ux_error_nomem(err);
		}
	}
}

static enum ux_code find_debug(void *ctx, const char *build_id, char **ret_path,
			       struct ux_error *err)
{
	struct ux_id id;
	UX_TRY(ux_id_parse(ux_bytes_cstr(build_id), &id, err));
	return ux_debuginfod_find(ctx, &id, UX_DEBUGINFOD_DEBUGINFO, ret_path, err);
}

static enum ux_code open_process(struct proc *p, pid_t pid, const struct values *v,
				 struct ux_error *err)
{
	struct ux_process_cache_opts find = {
		.size = sizeof(find), .debug_dirs = v->find.dirs, .kernel_root = v->kernel_root};
	struct ux_process_opts opts = {.size = sizeof(opts), .vmlinux = v->vmlinux};
	UX_TRY(ux_find_open(&p->finder, &v->find, err));
	find.find = p->finder.server ? find_debug : NULL;
	find.find_ctx = p->finder.server;
	UX_TRY(ux_process_cache_create(&find, &opts.cache, err));
	enum ux_code code = ux_process_open(pid, &opts, &p->process, err);
	ux_process_cache_free(opts.cache);
	return code;
}

static int proc_all(struct proc *p, const char *name, pid_t pid, const struct values *v)
{
	struct ux_error err = UX_ERROR_INIT;
	bool from_stdin = p->given.size == 0;
	enum ux_code code = open_process(p, pid, v, &err);
	if (code == UX_OK)
		code = from_stdin ? answer_stdin(p, v->answer.hex, &err) : answer_waiting(p, &err);
	if (code != UX_OK)
		return ux_finish(&p->out,
				 ux_complain(p->process || !v->vmlinux ? name : v->vmlinux, &err));
	bool all = p->bad_lines == 0 && (p->found > 0 || p->asked == 0);
	return ux_finish(&p->out, all ? UX_EXIT_DONE : UX_EXIT_SOME);
}

static int take_addresses(const struct ux_command *cmd, const struct ux_args *args, bool hex,
			  struct address_list *ret)
{
	for (size_t i = 1; i < args->n; i++) {
		uint64_t address = 0;
		if (!ux_hex_parse_u64(ux_bytes_cstr(args->items[i]), hex, &address))
			return ux_usage_error(
				cmd,
				"\"%.64s\" is no address; expected 0x..., decimal, or "
				"hexadecimal with --hex",
				args->items[i]);
		if (!address_list_append(ret, address))
			return ux_complain(NULL, &(struct ux_error){.code = UX_ENOMEM});
	}
	return UX_EXIT_DONE;
}

/* Seconds of CLOCK_MONOTONIC, with up to nine digits behind a point. */
static bool parse_time(const char *text, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned point = 0;
	for (const char *c = text; *c; c++) {
		if (*c == '.' && point == 0 && c > text) {
			point = 1;
			continue;
		}
		if (*c < '0' || *c > '9' || v > (UINT64_MAX - 9) / 10 || point > 9)
			return false;
		v = v * 10 + (uint64_t)(*c - '0');
		point += point > 0;
	}
	for (unsigned digits = point > 0 ? point - 1 : 0; digits < 9; digits++)
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	*ret = v;
	return *text != 0;
}

static int run_values(const struct ux_command *cmd, int argc, char **argv, struct values *v)
{
	struct ux_args args;
	enum ux_demangle_mode mode = UX_DEMANGLE_FULL;
	uint64_t pid = 0;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, v, &args, &status))
		return status;
	if (args.n == 0)
		return ux_usage_error(cmd, "no process given");
	if (!ux_hex_parse_u64(ux_bytes_cstr(args.items[0]), /* hex= */ false, &pid) || pid == 0 ||
	    pid > INT_MAX)
		return ux_usage_error(cmd, "\"%.64s\" is no process number", args.items[0]);
	enum ux_interp_kind kind = v->python ? UX_INTERP_PYTHON
				   : v->php  ? UX_INTERP_PHP
				   : v->ruby ? UX_INTERP_RUBY
					     : UX_INTERP_ANY;
	if (v->python + v->php + v->ruby > 1)
		return ux_usage_error(cmd, "more than one of --python, --php and --ruby");
	if (kind != UX_INTERP_ANY && args.n > 1)
		return ux_usage_error(cmd, "addresses with --%s; it takes the process alone",
				      v->python ? "python"
				      : v->php  ? "php"
						: "ruby");
	if (kind != UX_INTERP_ANY)
		return ux_process_stacks(args.items[0], (pid_t)pid, kind, v->answer.json);
	if (!ux_answer_mode(cmd, &v->answer, &mode, &status))
		return status;
	ux_cleanup(proc_deinit) struct proc p = {.time_ns = UX_PROCESS_NOW};
	if (v->at && !parse_time(v->at, &p.time_ns))
		return ux_usage_error(cmd, "--at is \"%.32s\"; expected seconds, as 123.456789",
				      v->at);
	ux_frames_out_init(&p.frames, &p.out);
	p.frames.json = v->answer.json;
	p.frames.innermost = v->no_inlines;
	p.frames.demangle = mode;
	p.flags = v->return_addresses ? UX_LOOKUP_RETURN_ADDRESS : 0;
	status = take_addresses(cmd, &args, v->answer.hex, &p.given);
	return status == UX_EXIT_DONE ? proc_all(&p, args.items[0], (pid_t)pid, v) : status;
}

static int run(const struct ux_command *cmd, int argc, char **argv)
{
	struct values v = {0};
	int status = run_values(cmd, argc, argv, &v);
	free(v.find.dirs);
	return status;
}

const struct ux_command ux_cmd_proc = {
	.name = "proc",
	.usage = "PID [ADDR...] [options]",
	.line = "functions, files and lines at addresses of a live process",
	.text = "Prints the frames at each address of a process, innermost first, and what the address\n"
		"belongs to: a file it has mapped (deleted, in memory, or of another container, too),\n"
		"code made at run time (perf maps and jitdumps), the vDSO, or the kernel, for addresses\n"
		"in the upper half. Without addresses they are read from standard input, one a line,\n"
		"and answered as they come, while the process goes on.\n"
		"\n"
		"With --python, what each thread of the Python in it (CPython 3.7 to 3.15) runs, innermost\n"
		"function first; with --php the same of a PHP 8.2 or 8.4, with --ruby of a Ruby 3.1 or 3.3.\n"
		"The process is not stopped: a stack that changed while it was read says so, and has\n"
		"only what did not.\n"
		"\n"
		"Lines of the kernel and of its modules are told where their debug files are: by build ID\n"
		"below /boot, /lib/modules and the folders of debug files, or from a debuginfod server;\n"
		"those of BPF programs where CAP_SYS_ADMIN lets the kernel be asked.\n"
		"\n"
		"Takes the right to trace the process; for deleted files of others CAP_SYS_ADMIN, for\n"
		"the kernel that kernel.kptr_restrict does not hide its addresses.\n"
		"\n"
		"Exit status 1 when no address was found, or one made no sense.",
	.options = options,
	.n_options = ux_countof(options),
	.run = run,
};
