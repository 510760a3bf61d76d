/* SPDX-License-Identifier: Apache-2.0 */
/* Where CRuby's structs have their fields, by version. */
#include "ruby_layout.h"

/* Computed with offsetof; docs/formats/ruby.md says of which headers. */
static const struct ux_ruby_layout layouts[] = {
	{.version = 0x0301,
	 .ractor_node = 568,
	 .ractor_threads = 304,
	 .thread_context = 40,
	 .handle = 80,
	 .frame_size = 64,
	 .lines = 120},
	{.version = 0x0303,
	 .ractor_node = 432,
	 .ractor_threads = 256,
	 .thread_context = 48,
	 .thread_native = 40,
	 .handle = 16,
	 .thread_ractor = 24,
	 .frame_size = 56,
	 .lines = 112,
	 .length_near = true},
};

const struct ux_ruby_layout *ux_ruby_layout_find(uint32_t version)
{
	for (size_t i = 0; i < ux_countof(layouts); i++)
		if (layouts[i].version == version >> 8)
			return &layouts[i];
	return NULL;
}
