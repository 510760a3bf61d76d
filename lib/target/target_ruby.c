/* SPDX-License-Identifier: Apache-2.0 */
/* Finding Ruby's state in one file of a live process. */
#include "target_ruby.h"

#include "ruby_stack.h"

enum {
	VERSION_TEXT = 8 /* "3.1.2" and its NUL */
};

enum ux_code ux_target_ruby(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			    struct ux_interp_root *root, struct ux_error *err)
{
	struct ux_ruby ruby;
	uint64_t pc = 0;
	char text[VERSION_TEXT + 1] = "";
	unsigned major = 0, minor = 0, patch = 0;
	if (root->addr == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no ruby_current_vm_ptr in %.100s", e->path);
	if (ux_target_elf_symbol(e, "ruby_version", &pc) &&
	    memory->read(memory->ctx, e->bias + pc, text, VERSION_TEXT) &&
	    sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) == 3 && major <= 0xff &&
	    minor <= 0xff && patch <= 0xff)
		root->version = major << 16 | minor << 8 | patch;
	return ux_ruby_init(&ruby, memory, root, err);
}
