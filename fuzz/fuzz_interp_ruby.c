/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the memory of a process with a Ruby, which may change while it is read. */
#include "fuzz.h"

#include "make_ruby.h"
#include "ruby_stack.h"

enum {
	HEAD = 3, /* bytes that say how the memory changes */
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
	return make_ruby_read(&m->image, addr, buf, size);
}

static bool check_thread(void *ctx, const struct ux_interp_thread *t)
{
	size_t *threads = ctx;
	fuzz_truth(t->n <= UX_INTERP_FRAMES_MOST);
	for (size_t i = 0; i < t->n; i++)
		fuzz_truth(strlen(t->frames[i].function) <= 1 << 16 &&
			   strlen(t->frames[i].file) <= 1 << 16);
	return ++*threads < 64; /* enough of a circle */
}

int fuzz_input(const uint8_t *data, size_t size)
{
	if (size < HEAD)
		return 0;
	struct memory memory = {
		.size = size - HEAD, .every = data[0], .step = data[1], .flip = data[2]};
	ux_cleanup(ux_free_ptr) uint8_t *copy = malloc(memory.size + 1);
	if (!copy)
		return 0;
	memcpy(copy, data + HEAD, memory.size);
	memory.data = copy;
	memory.image = ux_bytes(copy, memory.size);
	struct ux_memory_reader reader = {read_memory, NULL, &memory};
	struct ux_interp_root root = {UX_INTERP_RUBY, MAKE_RUBY_BASE, 0x030102};
	struct ux_ruby r;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_ruby_init(&r, &reader, &root, &err);
	fuzz_truth(code == err.code);
	if (code != UX_OK)
		return 0;
	size_t threads = 0;
	ux_cleanup(ux_interp_teller_deinit) struct ux_interp_teller t;
	ux_interp_teller_init(&t, check_thread, &threads);
	code = ux_ruby_walk(&r, &t, &err);
	fuzz_truth(code == err.code);
	for (size_t i = 0; i < t.chain.frames.size && i < 64; i++) {
		struct ux_interp_frame f;
		code = ux_ruby_resolve(&r, t.chain.frames.data[i].code, 32, &t.arena, &f, NULL);
		fuzz_truth(code != UX_OK || (f.function && f.file));
	}
	return 0;
}
