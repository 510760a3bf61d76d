/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the memory of a process with a CPython, which may change while it is read. */
#include "fuzz.h"

#include "make_python.h"
#include "python_stack.h"

enum {
	HEAD = 4,          /* version, and three bytes that say how the memory changes */
	THREADS_MOST = 64, /* enough of a circle */
};

/* The input's bytes as memory; every so many reads one of them is another. */
struct memory {
	uint8_t *data;
	size_t size;
	struct ux_bytes image;
	uint8_t every;
	uint8_t step;
	uint8_t flip;
	size_t reads;
};

static bool read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct memory *m = ctx;
	m->reads++;
	if (m->every > 0 && m->size > 0 && m->reads % m->every == 0)
		m->data[m->reads * m->step % m->size] ^= m->flip;
	return make_python_read(&m->image, addr, buf, size);
}

static bool check_thread(void *ctx, const struct ux_interp_thread *t)
{
	size_t *threads = ctx;
	fuzz_truth(t->n <= UX_INTERP_FRAMES_MOST && t->tid >= 0);
	for (size_t i = 0; i < t->n; i++) {
		const struct ux_interp_frame *f = &t->frames[i];
		fuzz_truth(strlen(f->function) <= (size_t)UX_PYTHON_TEXT_MOST * 4);
		fuzz_truth(strlen(f->file) <= (size_t)UX_PYTHON_TEXT_MOST * 4);
		fuzz_truth(f->code % 8 == 0 && f->code >= MAKE_PYTHON_BASE);
	}
	return ++*threads < THREADS_MOST;
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

int fuzz_input(const uint8_t *data, size_t size)
{
	if (size < HEAD)
		return 0;
	struct memory memory = {
		.size = size - HEAD, .every = data[1], .step = data[2], .flip = data[3]};
	ux_cleanup(ux_free_ptr) uint8_t *copy = malloc(memory.size + 1);
	if (!copy)
		return 0;
	memcpy(copy, data + HEAD, memory.size);
	memory.data = copy;
	memory.image = ux_bytes(copy, memory.size);
	struct ux_memory_reader reader = {read_memory, NULL, &memory};
	struct ux_interp_root root = {UX_INTERP_PYTHON, MAKE_PYTHON_BASE,
				      0x030000 | (uint32_t)(data[0] & 0xf) << 8};
	struct ux_python p;
	struct ux_error err = UX_ERROR_INIT;
	uint32_t hex = 0;
	enum ux_code code = ux_python_init(&p, &reader, &root, &hex, &err);
	fuzz_truth(code == err.code);
	if (code != UX_OK)
		return 0;
	size_t threads = 0;
	ux_cleanup(ux_interp_teller_deinit) struct ux_interp_teller t;
	ux_interp_teller_init(&t, check_thread, &threads);
	code = ux_python_walk(&p, &t, &err);
	fuzz_truth(code == err.code);
	for (size_t i = 0; i < t.chain.frames.size; i++)
		resolve(&p, t.chain.frames.data[i].code, &t.arena);
	return 0;
}
