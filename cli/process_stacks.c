/* SPDX-License-Identifier: Apache-2.0 */
/* Printing the stacks of an interpreter's threads. */
#include "process_stacks.h"

#include "json_out.h"
#include "output.h"

enum {
	FLUSH_BYTES = 1 << 20,
};

struct stacks {
	struct ux_interp *interp;
	struct ux_out out;
	struct ux_error err; /* of writing */
	bool json;
};

static void stacks_deinit(struct stacks *s)
{
	ux_interp_close(s->interp);
	ux_out_deinit(&s->out);
}

static void write_json_frame(struct ux_json *j, const struct ux_interp_frame *f)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "function", f->function);
	if (*f->file) {
		ux_json_key_cstr(j, "file", f->file);
		ux_json_key_u64(j, "line", f->line);
	}
	ux_json_object_end(j);
}

static void write_json(struct stacks *s, const struct ux_interp_thread *t)
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
	ux_json_key_cstr(&j, "stack", states[t->state]);
	ux_json_key(&j, "frames");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < t->n; i++)
		write_json_frame(&j, &t->frames[i]);
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(&s->out, '\n');
}

static void write_text(struct stacks *s, const struct ux_interp_thread *t)
{
	static const char *const states[] = {
		[UX_INTERP_STACK_WHOLE] = "",
		[UX_INTERP_STACK_TORN] = " (changed while it was read; inner frames are missing)",
		[UX_INTERP_STACK_TOO_DEEP] = " (too deep; outer frames are missing)",
	};
	struct ux_out *out = &s->out;
	if (t->tid > 0)
		ux_out_fmt(out, "thread %" PRId32 "%s\n", t->tid, states[t->state]);
	else
		ux_out_fmt(out, "thread 0x%" PRIx64 "%s\n", t->handle, states[t->state]);
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

static bool write_thread(void *ctx, const struct ux_interp_thread *t)
{
	struct stacks *s = ctx;
	if (s->json)
		write_json(s, t);
	else
		write_text(s, t);
	return s->out.size < FLUSH_BYTES || ux_flush(&s->out, &s->err) == UX_OK;
}

int ux_process_stacks(const char *name, pid_t pid, enum ux_interp_kind kind, bool json)
{
	ux_cleanup(stacks_deinit) struct stacks s = {.json = json, .err = UX_ERROR_INIT};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_interp_open_process(pid, kind, &s.interp, &err);
	if (code == UX_OK && !json)
		ux_out_fmt(&s.out, "%s\n", ux_interp_version(s.interp));
	if (code == UX_OK)
		code = ux_interp_walk(s.interp, write_thread, &s, &err);
	if (s.err.code != UX_OK)
		return ux_complain(NULL, &s.err);
	if (code != UX_OK)
		return ux_finish(&s.out, ux_complain(name, &err));
	return ux_finish(&s.out, UX_EXIT_DONE);
}
