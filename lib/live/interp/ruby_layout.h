/* SPDX-License-Identifier: Apache-2.0 */
/* Where CRuby's structs have their fields, by version. */
#ifndef UX_RUBY_LAYOUT_H
#define UX_RUBY_LAYOUT_H

#include "base.h"

/* Offsets in bytes, of 64-bit processes; what is the same in all versions is with its reader. */
struct ux_ruby_layout {
	uint32_t version;        /* major << 8 | minor */
	uint16_t ractor_node;    /* rb_ractor_t: vmlr_node */
	uint16_t ractor_threads; /* threads.set */
	uint16_t thread_context; /* rb_thread_t: ec */
	uint16_t thread_native;  /* nt, which has the handle; 0: the thread has it */
	uint16_t handle;         /* thread_id, of either */
	uint16_t thread_ractor;  /* rb_thread_t: ractor; 0: not known, so there is no search */
	uint16_t frame_size;     /* rb_control_frame_t */
	uint16_t lines;          /* body of rb_iseq_t: insns_info.body; size and index behind */
	bool length_near;        /* RString: the length stands in front of a near text, too */
};

/* The layout of a version, major << 16 | minor << 8 | patch; NULL: it is not known. */
const struct ux_ruby_layout *ux_ruby_layout_find(uint32_t version);

#endif
