/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the memory of a process with a Ruby, which may change while it is read. */
#include "fuzz_interp.h"

#include "make_ruby.h"
#include "ruby_stack.h"

static bool check_thread(void *ctx, const struct ux_interp_thread *t)
{
	size_t *threads = ctx;
	fuzz_truth(t->n <= UX_INTERP_FRAMES_MAX);
	for (size_t i = 0; i < t->n; i++)
		fuzz_truth(strlen(t->frames[i].function) <= 1 << 16 &&
			   strlen(t->frames[i].file) <= 1 << 16);
	return ++*threads < 64; /* enough to detect a cycle */
}

static void walk(struct fuzz_memory *memory, uint32_t version)
{
	struct ux_memory_reader reader = {fuzz_memory_read, NULL, memory};
	struct ux_interp_root root = {UX_INTERP_RUBY, MAKE_INTERP_BASE, version};
	struct ux_ruby r;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_ruby_init(&r, &reader, &root, &err);
	fuzz_truth(code == err.code);
	if (code != UX_OK)
		return;
	size_t threads = 0;
	ux_cleanup(ux_stack_walker_deinit) struct ux_stack_walker t;
	ux_stack_walker_init(&t, check_thread, &threads);
	code = ux_ruby_walk(&r, &t, &err);
	fuzz_truth(code == err.code);
	for (size_t i = 0; i < t.chain.frames.size && i < 64; i++) {
		struct ux_interp_frame f;
		code = ux_ruby_resolve(&r, t.chain.frames.data[i].code, 32, &t.arena, &f, NULL);
		fuzz_truth(code != UX_OK || (f.function && f.file));
	}
}

FUZZ_TARGET(interp_ruby)(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = {0x030102, 0x030308};
	for (size_t i = 0; i < ux_countof(versions); i++) {
		ux_cleanup(fuzz_memory_deinit) struct fuzz_memory memory = {0};
		if (!fuzz_memory_init(&memory, data, size))
			return 0;
		walk(&memory, versions[i]);
		struct ux_memory_reader reader = {fuzz_memory_read, NULL, &memory};
		uint64_t at = 0;
		fuzz_truth(
			!ux_ruby_search(&reader, versions[i], MAKE_INTERP_BASE + 3, size, &at) ||
			(at % 8 == 0 && at > MAKE_INTERP_BASE && at < MAKE_INTERP_BASE + 3 + size));
	}
	return 0;
}
