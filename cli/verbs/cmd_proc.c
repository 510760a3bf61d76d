/* SPDX-License-Identifier: Apache-2.0 */
/* unhex proc: prints the frames at addresses of a live process, or the stacks of its
 * interpreter. */
#include "commands.h"

#include "common_options.h"
#include "frames_out.h"
#include "hash.h"
#include "input.h"
#include "json_out.h"
#include "output.h"
#include "text.h"
#include "unhex/interp.h"
#include "unhex/module.h"
#include "unhex/process.h"
#include "vec.h"

#include <time.h>
#include <unistd.h>

enum {
	STACKS_FLUSH_BYTES = 1 << 20,
};

struct proc_stacks {
	struct ux_interp *interp;
	struct ux_out out;
	struct ux_error err; /* failure to write the output */
	bool json;
};

static void proc_stacks_deinit(struct proc_stacks *s)
{
	ux_interp_close(s->interp);
	ux_out_deinit(&s->out);
}

static void proc_stack_frame_json(struct ux_json *j, const struct ux_interp_frame *f)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "function", f->function);
	if (*f->file) {
		ux_json_key_cstr(j, "file", f->file);
		ux_json_key_u64(j, "line", f->line);
	}
	ux_json_object_end(j);
}

static void proc_stack_json(struct proc_stacks *s, const struct ux_interp_thread *t)
{
	static const char *const states[] = {
		[UX_INTERP_STACK_WHOLE] = "whole",
		[UX_INTERP_STACK_TORN] = "torn",
		[UX_INTERP_STACK_TOO_DEEP] = "too deep",
	};
	struct ux_json j = ux_json_make(&s->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "interpreter", ux_interp_version(s->interp));
	if (t->tid > 0)
		ux_json_key_u64(&j, "thread", (uint64_t)t->tid);
	ux_json_key_u64(&j, "handle", t->handle);
	if (t->interpreter > 0)
		ux_json_key_u64(&j, "subinterpreter", t->interpreter);
	ux_json_key_cstr(&j, "stack", states[t->state]);
	ux_json_key(&j, "frames");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < t->n; i++)
		proc_stack_frame_json(&j, &t->frames[i]);
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(&s->out, '\n');
}

static void proc_stack_text(struct proc_stacks *s, const struct ux_interp_thread *t)
{
	static const char *const states[] = {
		[UX_INTERP_STACK_WHOLE] = "",
		[UX_INTERP_STACK_TORN] = " (changed while it was read; inner frames are missing)",
		[UX_INTERP_STACK_TOO_DEEP] = " (too deep; outer frames are missing)",
	};
	struct ux_out *out = &s->out;
	if (t->tid > 0)
		ux_out_fmt(out, "thread %" PRId32, t->tid);
	else
		ux_out_fmt(out, "thread 0x%" PRIx64, t->handle);
	if (t->interpreter > 0)
		ux_out_fmt(out, " in subinterpreter %" PRIu64, t->interpreter);
	ux_out_fmt(out, "%s\n", states[t->state]);
	for (size_t i = 0; i < t->n; i++) {
		const struct ux_interp_frame *f = &t->frames[i];
		ux_out_cstr(out, "    ");
		ux_text(out, ux_bytes_cstr(*f->function ? f->function : "??"));
		if (*f->file) {
			ux_out_cstr(out, " at ");
			ux_text(out, ux_bytes_cstr(f->file));
			ux_out_fmt(out, ":%" PRIu32, f->line);
		}
		ux_out_u8(out, '\n');
	}
}

static bool proc_stack_write(void *ctx, const struct ux_interp_thread *t)
{
	struct proc_stacks *s = ctx;
	if (s->json)
		proc_stack_json(s, t);
	else
		proc_stack_text(s, t);
	return s->out.size < STACKS_FLUSH_BYTES || ux_flush(&s->out, &s->err) == UX_OK;
}

static int proc_stacks_print(const char *name, pid_t pid, enum ux_interp_kind kind, bool json)
{
	ux_cleanup(proc_stacks_deinit) struct proc_stacks s = {.json = json, .err = UX_ERROR_INIT};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_interp_open_process(pid, kind, &s.interp, &err);
	if (code == UX_OK && !json)
		ux_out_fmt(&s.out, "%s\n", ux_interp_version(s.interp));
	if (code == UX_OK)
		code = ux_interp_walk(s.interp, proc_stack_write, &s, &err);
	if (s.err.code != UX_OK)
		return ux_print_error(NULL, &s.err);
	if (code != UX_OK)
		return ux_finish(&s.out, ux_print_error(name, &err));
	return ux_finish(&s.out, UX_EXIT_DONE);
}

struct proc_values {
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

static const struct ux_option proc_options[] = {
	UX_ANSWER_OPTIONS(struct proc_values, answer),
	{"no-inlines", 0, UX_OPTION_FLAG, offsetof(struct proc_values, no_inlines), NULL,
	 "print only the innermost frame of each address"},
	{"return-addresses", 0, UX_OPTION_FLAG, offsetof(struct proc_values, return_addresses),
	 NULL, "treat addresses as return addresses"},
	{"at", 0, UX_OPTION_TEXT, offsetof(struct proc_values, at), "TIME",
	 "time of the addresses, in seconds as perf script prints them [now]"},
	UX_FIND_OPTIONS(struct proc_values, find),
	{"vmlinux", 0, UX_OPTION_TEXT, offsetof(struct proc_values, vmlinux), "FILE",
	 "ELF file of the running kernel [where packages install it]"},
	{"kernel-root", 0, UX_OPTION_TEXT, offsetof(struct proc_values, kernel_root), "DIR",
	 "root folder of the host, with proc, sys, boot and lib/modules [/]"},
	{"python", 0, UX_OPTION_FLAG, offsetof(struct proc_values, python), NULL,
	 "print the Python stack of every thread instead"},
	{"php", 0, UX_OPTION_FLAG, offsetof(struct proc_values, php), NULL,
	 "print the PHP stack instead"},
	{"ruby", 0, UX_OPTION_FLAG, offsetof(struct proc_values, ruby), NULL,
	 "print the Ruby stack of every thread instead"},
};

enum {
	BATCH = 4096,
	FLUSH_BYTES = 1 << 16,
	LOST_MAX = 16, /* distinct reasons that are reported */
};

UX_VEC(proc_addresses, uint64_t);

/* The state of the command. */
struct proc {
	struct ux_process *process;
	struct ux_finder finder;
	uint64_t lost[LOST_MAX]; /* hashes of the reasons that were reported */
	size_t n_lost;
	struct proc_addresses given; /* addresses of the command line, or the current batch */
	struct ux_frames_out frames;
	struct ux_out out;
	uint32_t flags;
	uint64_t time_ns;
	uint64_t bad_lines;
	uint64_t requested;
	uint64_t found;
};

static void proc_deinit(struct proc *p)
{
	ux_process_close(p->process);
	ux_find_close(&p->finder);
	proc_addresses_deinit(&p->given);
	ux_frames_out_deinit(&p->frames);
	ux_out_deinit(&p->out);
}

static void proc_answers_guard(struct ux_process_answers **a)
{
	ux_process_answers_free(*a);
}

/* Returns whether the pc in the module is printed beside the address. */
static bool proc_answer_has_pc(const struct ux_process_answer *a)
{
	if (a->kind == UX_PROCESS_KERNEL || !*a->build_id)
		return a->kind == UX_PROCESS_FILE || a->pc != a->addr;
	return true;
}

/* Reports each reason for missing lines once on stderr. In JSON the reason is part of each
 * answer. */
static void proc_report_lost(struct proc *p, const struct ux_process_answer *a)
{
	uint64_t hash = ux_hash_bytes(ux_bytes_cstr(a->lost));
	if (p->frames.json || *a->lost == 0 || p->n_lost == LOST_MAX)
		return;
	for (size_t i = 0; i < p->n_lost; i++)
		if (p->lost[i] == hash)
			return;
	p->lost[p->n_lost++] = hash;
	ux_print_message("%.100s: no lines: %s", *a->module ? a->module : "mapped code", a->lost);
}

/* Returns the ms to wait for JIT code that was just compiled; 0: no retry. */
static uint32_t proc_answers_retry(const struct ux_process_answers *answers, size_t n)
{
	uint32_t max = 0;
	for (size_t i = 0; i < n; i++) {
		const struct ux_process_answer *a = ux_process_answer_at(answers, i);
		if (a->reason_code == UX_PROCESS_REASON_RUNTIME_CODE)
			max = ux_max(max, a->retry_ms);
	}
	return max;
}

/* Looks up the current batch; looks it up again if its code may be newer than the symbols that were
 * read. */
static enum ux_code proc_lookup_pending(struct proc *p, struct ux_process_answers **ret,
					struct ux_error *err)
{
	ux_cleanup(proc_answers_guard) struct ux_process_answers *first = NULL;
	size_t n = p->given.size;
	UX_TRY(ux_process_lookup(p->process, p->given.data, n, p->time_ns, p->flags, &first, err));
	uint32_t ms = proc_answers_retry(first, n);
	if (ms == 0) {
		*ret = ux_take(&first);
		return UX_OK;
	}
	struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
	nanosleep(&pause, NULL);
	return ux_process_lookup(p->process, p->given.data, n, p->time_ns, p->flags, ret, err);
}

/* Looks up and prints the current batch. */
static enum ux_code proc_answer_pending(struct proc *p, struct ux_error *err)
{
	ux_cleanup(proc_answers_guard) struct ux_process_answers *answers = NULL;
	size_t n = p->given.size;
	if (n == 0)
		return UX_OK;
	UX_TRY(proc_lookup_pending(p, &answers, err));
	for (size_t i = 0; i < n; i++) {
		const struct ux_process_answer *a = ux_process_answer_at(answers, i);
		struct ux_origin origin = {
			ux_process_kind_name(a->kind), a->module, a->build_id, a->pc,
			proc_answer_has_pc(a),         a->reason, a->lost};
		p->found += a->n > 0;
		proc_report_lost(p, a);
		ux_frames_out_write(
			&p->frames, a->addr,
			(struct ux_answer){.frames = a->frames, .n = a->n, .origin = &origin});
	}
	p->requested += n;
	p->given.size = 0;
	ux_frames_out_reset(&p->frames); /* the answers own the cached strings */
	return UX_OK;
}

static enum ux_code proc_stdin(struct proc *p, bool hex, struct ux_error *err)
{
	static struct ux_address_reader reader;
	struct ux_address_line line;
	ux_address_reader_init(&reader, STDIN_FILENO, hex);
	for (;;) {
		bool ready = ux_address_reader_ready(&reader);
		if (!ready || p->given.size == BATCH)
			UX_TRY(proc_answer_pending(p, err));
		if (p->out.size > 0 && (!ready || p->out.size >= FLUSH_BYTES))
			UX_TRY(ux_flush(&p->out, err));
		if (!ux_address_reader_next(&reader, &line, err)) {
			UX_TRY(err->code);
			return proc_answer_pending(p, err);
		}
		if (line.bad.size > 0) {
			UX_TRY(proc_answer_pending(p, err));
			UX_TRY(ux_address_line_warn(&line, err));
			p->bad_lines++;
			ux_frames_out_bad(&p->frames, line.bad, "not an address");
		} else if (!proc_addresses_append(&p->given, line.address)) {
			return ux_error_nomem(err);
		}
	}
}

static enum ux_code proc_find_debug(void *ctx, const char *build_id, char **ret_path,
				    struct ux_error *err)
{
	struct ux_id id;
	UX_TRY(ux_id_parse(ux_bytes_cstr(build_id), &id, err));
	return ux_debuginfod_find(ctx, &id, UX_DEBUGINFOD_DEBUGINFO, ret_path, err);
}

static enum ux_code proc_open(struct proc *p, pid_t pid, const struct proc_values *v,
			      struct ux_error *err)
{
	struct ux_process_cache_opts find = {
		.size = sizeof(find), .debug_dirs = v->find.dirs, .kernel_root = v->kernel_root};
	struct ux_process_opts opts = {.size = sizeof(opts), .vmlinux = v->vmlinux};
	UX_TRY(ux_find_open(&p->finder, &v->find, err));
	find.find = p->finder.server ? proc_find_debug : NULL;
	find.find_ctx = p->finder.server;
	UX_TRY(ux_process_cache_create(&find, &opts.cache, err));
	enum ux_code code = ux_process_open(pid, &opts, &p->process, err);
	ux_process_cache_free(opts.cache);
	return code;
}

static int proc_lookup(struct proc *p, const char *name, pid_t pid, const struct proc_values *v)
{
	struct ux_error err = UX_ERROR_INIT;
	bool from_stdin = p->given.size == 0;
	if (from_stdin && isatty(STDIN_FILENO))
		ux_print_message(
			"proc: reading addresses from the terminal, one per line; press Ctrl-D "
			"to end");
	enum ux_code code = proc_open(p, pid, v, &err);
	if (code == UX_OK)
		code = from_stdin ? proc_stdin(p, v->answer.hex, &err)
				  : proc_answer_pending(p, &err);
	if (code != UX_OK)
		return ux_finish(
			&p->out,
			ux_print_error(p->process || !v->vmlinux ? name : v->vmlinux, &err));
	bool all = p->bad_lines == 0 && (p->found > 0 || p->requested == 0);
	return ux_finish(&p->out, all ? UX_EXIT_DONE : UX_EXIT_SOME);
}

static int proc_parse_args(const struct ux_command *cmd, const struct ux_args *args, bool hex,
			   struct proc_addresses *ret)
{
	for (size_t i = 1; i < args->n; i++) {
		uint64_t address = 0;
		if (!ux_hex_parse_u64(ux_bytes_cstr(args->items[i]), hex, &address))
			return ux_usage_error(
				cmd,
				"\"%.64s\" is not an address; expected 0x..., decimal, or "
				"hexadecimal with --hex",
				args->items[i]);
		if (!proc_addresses_append(ret, address))
			return ux_print_error(NULL, &(struct ux_error){.code = UX_ENOMEM});
	}
	return UX_EXIT_DONE;
}

/* Parses a time of CLOCK_MONOTONIC in seconds, with up to nine decimal places. */
static bool proc_parse_time(const char *text, uint64_t *ret)
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

static int proc_run(const struct ux_command *cmd, int argc, char **argv, struct proc_values *v)
{
	struct ux_args args;
	enum ux_demangle_mode mode = UX_DEMANGLE_FULL;
	uint64_t pid = 0;
	int status = 0;
	if (!ux_options_parse(cmd, argc, argv, v, &args, &status))
		return status;
	if (args.n == 0)
		return ux_usage_error(cmd, "no process given");
	if (!ux_decimal_parse(ux_bytes_cstr(args.items[0]), &pid) || pid == 0 || pid > INT_MAX)
		return ux_usage_error(cmd, "\"%.64s\" is not a process ID; expected a number",
				      args.items[0]);
	enum ux_interp_kind kind = v->python ? UX_INTERP_PYTHON
				   : v->php  ? UX_INTERP_PHP
				   : v->ruby ? UX_INTERP_RUBY
					     : UX_INTERP_ANY;
	if (v->python + v->php + v->ruby > 1)
		return ux_usage_error(cmd, "more than one of --python, --php and --ruby");
	if (kind != UX_INTERP_ANY && args.n > 1)
		return ux_usage_error(cmd, "--%s: unexpected address; it prints whole stacks",
				      v->python ? "python"
				      : v->php  ? "php"
						: "ruby");
	if (kind != UX_INTERP_ANY)
		return proc_stacks_print(args.items[0], (pid_t)pid, kind, v->answer.json);
	if (!ux_answer_mode(cmd, &v->answer, &mode, &status))
		return status;
	ux_cleanup(proc_deinit) struct proc p = {.time_ns = UX_PROCESS_NOW};
	if (v->at && !proc_parse_time(v->at, &p.time_ns))
		return ux_usage_error(cmd, "--at is \"%.32s\"; expected seconds, as 123.456789",
				      v->at);
	ux_frames_out_init(&p.frames, &p.out);
	p.frames.json = v->answer.json;
	p.frames.innermost = v->no_inlines;
	p.frames.demangle = mode;
	p.flags = v->return_addresses ? UX_LOOKUP_RETURN_ADDRESS : 0;
	status = proc_parse_args(cmd, &args, v->answer.hex, &p.given);
	return status == UX_EXIT_DONE ? proc_lookup(&p, args.items[0], (pid_t)pid, v) : status;
}

static int cmd_proc_run(const struct ux_command *cmd, int argc, char **argv)
{
	struct proc_values v = {0};
	int status = proc_run(cmd, argc, argv, &v);
	free(v.find.dirs);
	return status;
}

const struct ux_command ux_cmd_proc = {
	.name = "proc",
	.usage = "PID [ADDR...] [options]",
	.line = "print functions, files and lines in a live process",
	.text = "Prints the frames at each address of a process, innermost first, and the owner of the address:\n"
		"a mapped file (even if it is deleted, in memory only, or in another "
		"container), run-time code\n"
		"(perf maps and jitdumps), the vDSO, or the kernel, for addresses in the upper "
		"half. Without\n"
		"addresses, proc reads them from standard input, one per line, and answers "
		"each line before it\n"
		"reads the next. It does not stop the process.\n"
		"\n"
		"--python prints the stack of each thread of the CPython 3.7 to 3.15 in the "
		"process, innermost\n"
		"function first; --php prints the stack of PHP 8.2 or 8.4, --ruby the stacks "
		"of Ruby 3.1 or 3.3.\n"
		"If a stack changes while proc reads it, proc marks it and prints only its "
		"consistent part.\n"
		"\n"
		"Lines of the kernel and its modules need their debug files. proc finds them "
		"by build ID in\n"
		"/boot, /lib/modules and the folders of debug files, or on a debuginfod "
		"server. Lines of BPF\n"
		"programs need CAP_SYS_ADMIN.\n"
		"\n"
		"The command needs the right to trace the process, CAP_SYS_ADMIN for deleted "
		"files of other\n"
		"users, and for the kernel a kernel.kptr_restrict that shows its addresses.\n"
		"\n"
		"Exit status 1: no address was found, or an address is invalid.",
	.examples = "  unhex proc 4711 0x7f3a5c2d1d90\n"
		    "  unhex proc 4711 --python",
	.options = proc_options,
	.n_options = ux_countof(proc_options),
	.run = cmd_proc_run,
};
