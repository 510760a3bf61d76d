/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the memory of a process with a CPython, which may change while it is read. */
#include "fuzz_interp.h"

#include "make_python.h"
#include "python_stack.h"

enum {
	THREADS_MAX = 64, /* enough to detect a cycle */
};

static bool check_thread(void *ctx, const struct ux_interp_thread *t)
{
	size_t *threads = ctx;
	fuzz_truth(t->n <= UX_INTERP_FRAMES_MAX && t->tid >= 0);
	for (size_t i = 0; i < t->n; i++) {
		const struct ux_interp_frame *f = &t->frames[i];
		fuzz_truth(strlen(f->function) <= (size_t)UX_PYTHON_TEXT_MAX * 4);
		fuzz_truth(strlen(f->file) <= (size_t)UX_PYTHON_TEXT_MAX * 4);
		fuzz_truth(f->code % 8 == 0 && f->code >= MAKE_INTERP_BASE);
	}
	return ++*threads < THREADS_MAX;
}

static void resolve(struct ux_python *p, uint64_t code, struct ux_arena *arena)
{
	struct ux_interp_frame f;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code got = ux_python_resolve(p, code, 4, arena, &f, &err);
	fuzz_truth(got == err.code);
	if (got == UX_OK)
		fuzz_truth(f.function && f.file && f.code == code);
}

/* A byte of the version, then the memory. */
FUZZ_TARGET(interp_python)(const uint8_t *data, size_t size)
{
	ux_cleanup(fuzz_memory_deinit) struct fuzz_memory memory = {0};
	if (size < 1 || !fuzz_memory_init(&memory, data + 1, size - 1))
		return 0;
	struct ux_memory_reader reader = {fuzz_memory_read, NULL, &memory};
	struct ux_interp_root root = {UX_INTERP_PYTHON, MAKE_INTERP_BASE,
				      0x030000 | (uint32_t)(data[0] & 0xf) << 8};
	struct ux_python p;
	struct ux_error err = UX_ERROR_INIT;
	uint32_t hex = 0;
	enum ux_code code = ux_python_init(&p, &reader, &root, &hex, &err);
	fuzz_truth(code == err.code);
	if (code != UX_OK)
		return 0;
	size_t threads = 0;
	ux_cleanup(ux_stack_walker_deinit) struct ux_stack_walker t;
	ux_stack_walker_init(&t, check_thread, &threads);
	code = ux_python_walk(&p, &t, &err);
	fuzz_truth(code == err.code);
	for (size_t i = 0; i < t.chain.frames.size; i++)
		resolve(&p, t.chain.frames.data[i].code, &t.arena);
	return 0;
}
