/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the memory of a process with a PHP, which may change while it is read. */
#include "fuzz.h"

#include "make_php.h"
#include "php_stack.h"

enum {
	HEAD = 4, /* version, and three bytes that say how the memory changes */
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
	return make_php_read(&m->image, addr, buf, size);
}

static bool check_thread(void *ctx, const struct ux_interp_thread *t)
{
	size_t *frames = ctx;
	fuzz_truth(t->n <= UX_INTERP_FRAMES_MOST);
	for (size_t i = 0; i < t->n; i++)
		*frames += strlen(t->frames[i].function) + strlen(t->frames[i].file);
	return true;
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
	struct ux_interp_root root = {UX_INTERP_PHP, MAKE_PHP_BASE,
				      0x080000 | (uint32_t)(data[0] & 7) << 8};
	struct ux_php p;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_php_init(&p, &reader, &root, &err);
	fuzz_truth(code == err.code);
	if (code != UX_OK)
		return 0;
	size_t text = 0;
	ux_cleanup(ux_interp_teller_deinit) struct ux_interp_teller t;
	ux_interp_teller_init(&t, check_thread, &text);
	code = ux_php_walk(&p, &t, &err);
	fuzz_truth(code == err.code);
	for (size_t i = 0; i < t.chain.frames.size && i < 64; i++) {
		struct ux_interp_frame f;
		code = ux_php_resolve(&p, t.chain.frames.data[i].code, 32, &t.arena, &f, NULL);
		fuzz_truth(code != UX_OK || (f.function && f.file));
	}
	return 0;
}
