/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a CRuby and their stacks. */
#ifndef UX_RUBY_STACK_H
#define UX_RUBY_STACK_H

#include "interp_teller.h"
#include "ruby_layout.h"

/* One process's Ruby. */
struct ux_ruby {
	struct ux_memory memory;
	const struct ux_ruby_layout *layout;
	uint64_t vm_ptr; /* address of ruby_current_vm_ptr */
};

/* Begins with the ruby_current_vm_ptr at root->addr, of a Ruby of root->version. UX_EUNSUPPORTED: a
 * version that is not known; UX_ECORRUPT: what is there cannot be one. */
enum ux_code ux_ruby_init(struct ux_ruby *r, const struct ux_memory_reader *reader,
			  const struct ux_interp_root *root, struct ux_error *err) ux_must;

/*
 * Finds ruby_current_vm_ptr among the words of [start, start + size), where a Ruby of that version
 * has its variables: the one that leads to a machine whose lists of ractors and threads are
 * circles, and whose main thread is one of its main ractor's. False: there is none.
 */
bool ux_ruby_search(const struct ux_memory_reader *reader, uint32_t version, uint64_t start,
		    uint64_t size, uint64_t *ret) ux_must;

/* Tells each thread; the codes of ux_interp_walk(). */
enum ux_code ux_ruby_walk(struct ux_ruby *r, struct ux_interp_teller *t, struct ux_error *err)
	ux_must;

/* One iseq, and the instruction at `offset` bytes of its first. */
enum ux_code ux_ruby_resolve(struct ux_ruby *r, uint64_t iseq, uint64_t offset, struct ux_arena *a,
			     struct ux_interp_frame *ret, struct ux_error *err) ux_must;

#endif
