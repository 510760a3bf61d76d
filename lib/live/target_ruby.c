/* SPDX-License-Identifier: Apache-2.0 */
/* Finding Ruby's state in one file of a live process. */
#include "target_ruby.h"

#include "ruby_stack.h"

enum {
	VERSION_TEXT = 8 /* "3.1.2" and its NUL */
};

static void read_version(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			 struct ux_interp_root *root)
{
	uint64_t pc = 0;
	char text[VERSION_TEXT + 1] = "";
	unsigned major = 0, minor = 0, patch = 0;
	if (ux_target_elf_symbol(e, "ruby_version", &pc) &&
	    memory->read(memory->ctx, e->bias + pc, text, VERSION_TEXT) &&
	    sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) == 3 && major <= 0xff &&
	    minor <= 0xff && patch <= 0xff)
		root->version = major << 16 | minor << 8 | patch;
}

/* Ruby exports no variable that leads to its machine since 3.3: it is looked for among all. */
static void search(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
		   struct ux_interp_root *root)
{
	for (size_t i = 0; i < e->elf.n_segments && root->addr == 0; i++) {
		const struct ux_elf_segment *s = &e->elf.segments[i];
		uint64_t found = 0;
		if (s->type == PT_LOAD && (s->flags & PF_W) != 0 &&
		    ux_ruby_search(memory, root->version, e->bias + s->vaddr, s->memsz, &found))
			root->addr = found;
	}
}

enum ux_code ux_target_ruby(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			    struct ux_interp_root *root, struct ux_error *err)
{
	struct ux_ruby ruby;
	read_version(e, memory, root);
	if (root->addr == 0 && root->version != 0)
		search(e, memory, root);
	if (root->addr == 0 && (root->version == 0 || ux_ruby_layout_find(root->version)))
		return ux_error_set(err, UX_ENOTFOUND, "no ruby_current_vm_ptr in %.100s", e->path);
	return ux_ruby_init(&ruby, memory, root, err);
}
