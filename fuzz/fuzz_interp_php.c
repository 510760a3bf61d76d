/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the memory of a process with a PHP, which may change while it is read. */
#include "fuzz_interp.h"

#include "make_php.h"
#include "php_stack.h"

static bool check_thread(void *ctx, const struct ux_interp_thread *t)
{
	size_t *frames = ctx;
	fuzz_truth(t->n <= UX_INTERP_FRAMES_MAX);
	for (size_t i = 0; i < t->n; i++)
		*frames += strlen(t->frames[i].function) + strlen(t->frames[i].file);
	return true;
}

/* A byte of the version, then the memory. */
FUZZ_TARGET(interp_php)(const uint8_t *data, size_t size)
{
	ux_cleanup(fuzz_memory_deinit) struct fuzz_memory memory = {0};
	if (size < 1 || !fuzz_memory_init(&memory, data + 1, size - 1))
		return 0;
	struct ux_memory_reader reader = {fuzz_memory_read, NULL, &memory};
	struct ux_interp_root root = {UX_INTERP_PHP, MAKE_INTERP_BASE,
				      0x080000 | (uint32_t)(data[0] & 7) << 8};
	struct ux_php p;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_php_init(&p, &reader, &root, &err);
	fuzz_truth(code == err.code);
	if (code != UX_OK)
		return 0;
	size_t text = 0;
	ux_cleanup(ux_stack_walker_deinit) struct ux_stack_walker t;
	ux_stack_walker_init(&t, check_thread, &text);
	code = ux_php_walk(&p, &t, &err);
	fuzz_truth(code == err.code);
	for (size_t i = 0; i < t.chain.frames.size && i < 64; i++) {
		struct ux_interp_frame f;
		code = ux_php_resolve(&p, t.chain.frames.data[i].code, 32, &t.arena, &f, NULL);
		fuzz_truth(code != UX_OK || (f.function && f.file));
	}
	return 0;
}
