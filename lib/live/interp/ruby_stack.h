/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a CRuby, their stacks and their instruction sequences. */
#ifndef UX_RUBY_STACK_H
#define UX_RUBY_STACK_H

#include "arena.h"
#include "base.h"
#include "interp_memory.h"
#include "interp_stack.h"

/* Offsets in bytes that differ between versions, for 64-bit processes. Offsets that do not
 * differ are constants in the .c files. */
struct ux_ruby_layout {
	uint32_t version;        /* major << 8 | minor */
	uint16_t ractor_node;    /* rb_ractor_t: vmlr_node */
	uint16_t ractor_threads; /* threads.set */
	uint16_t thread_context; /* rb_thread_t: ec */
	uint16_t thread_native;  /* nt, the struct with the handle; 0: the handle is in the
				    rb_thread_t */
	uint16_t handle;         /* thread_id, in nt or in the rb_thread_t */
	uint16_t thread_ractor;  /* rb_thread_t: ractor; 0: unknown, the VM cannot be searched */
	uint16_t frame_size;     /* rb_control_frame_t */
	uint16_t lines;   /* body of rb_iseq_t: insns_info.body, followed by size and index */
	bool length_near; /* RString: the length of embedded text precedes it */
};

/* Returns the layout of a version, which is major << 16 | minor << 8 | patch; NULL when it is
 * unknown. */
const struct ux_ruby_layout *ux_ruby_layout_find(uint32_t version);

enum {
	UX_RUBY_BODY = 152, /* bytes of the body of an iseq that are read */
	UX_RUBY_WORD = 8,   /* bytes of an instruction's word */
};

/* A copy of an instruction sequence. Its strings are in the arena of ux_ruby_iseq_read_names(). */
struct ux_ruby_iseq {
	const struct ux_ruby_layout *layout;
	uint8_t body[UX_RUBY_BODY];
	uint64_t words; /* address of the first instruction */
	const char *name;
	const char *file;
	uint32_t first_line;
};

/* Copies the iseq at addr. Returns false when there is none. */
bool ux_ruby_iseq_read(struct ux_memory *m, const struct ux_ruby_layout *layout, uint64_t addr,
		       struct ux_ruby_iseq *ret) ux_must;

/* Reads the name and file of an iseq. UX_ENOMEM, and UX_ELIMIT when the budget of the arena is
 * used up. */
enum ux_code ux_ruby_iseq_read_names(struct ux_memory *m, struct ux_ruby_iseq *iseq,
				     struct ux_arena *a, struct ux_error *err) ux_must;

/* Returns whether addr still has the iseq that was copied from there. */
bool ux_ruby_iseq_unchanged(struct ux_memory *m, uint64_t addr, const struct ux_ruby_iseq *iseq)
	ux_must;

/* Returns the line of the instruction word at `offset` bytes; 0: unknown. */
uint32_t ux_ruby_iseq_line(struct ux_memory *m, const struct ux_ruby_iseq *iseq, uint64_t offset);

/* The Ruby of one process. */
struct ux_ruby {
	struct ux_memory memory;
	const struct ux_ruby_layout *layout;
	uint64_t vm_ptr; /* address of ruby_current_vm_ptr */
};

/* Opens the Ruby of version root->version whose ruby_current_vm_ptr is at root->addr.
 * UX_EUNSUPPORTED: an unknown version; UX_ECORRUPT: there is no VM at that address. */
enum ux_code ux_ruby_init(struct ux_ruby *r, const struct ux_memory_reader *reader,
			  const struct ux_interp_root *root, struct ux_error *err) ux_must;

/*
 * Searches [start, start + size), where a Ruby of that version has its variables, for
 * ruby_current_vm_ptr. It is recognised as a pointer to a VM whose lists of ractors and threads are
 * circular and whose main thread belongs to its main ractor. Returns false when it is not found.
 */
bool ux_ruby_search(const struct ux_memory_reader *reader, uint32_t version, uint64_t start,
		    uint64_t size, uint64_t *ret) ux_must;

/* Reports each thread. Returns the codes of ux_interp_walk(). */
enum ux_code ux_ruby_walk(struct ux_ruby *r, struct ux_stack_walker *t, struct ux_error *err)
	ux_must;

/* Resolves an iseq and the line of the instruction at `offset` bytes from its first one. */
enum ux_code ux_ruby_resolve(struct ux_ruby *r, uint64_t iseq, uint64_t offset, struct ux_arena *a,
			     struct ux_interp_frame *ret, struct ux_error *err) ux_must;

#endif
