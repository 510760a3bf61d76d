/* SPDX-License-Identifier: Apache-2.0 */
/* What lookups in one module have found: asked again, an address costs one look into a table. */
#ifndef UX_MEMO_H
#define UX_MEMO_H

#include "bytes.h"
#include "unhex/demangle.h"
#include "unhex/frame.h"

#include <stdatomic.h>

/*
 * Profiles name the same addresses again and again, and most of what an address costs is in reading
 * its record and demangling its names. A memo keeps both: for an address the number of its
 * innermost frame, for a frame what is inlined into, and each text once. Numbers begin at 1; 0 is
 * "none".
 *
 * It only grows. Who finds it full takes another one (ux_open_module_memo()), so that what was not
 * asked for lately is forgotten, all at once. Tables are looked into and added to under its lock;
 * what a number stands for never changes or moves, and is read without. Strings of the module's
 * files are pointed to: a memo is used while its module is held.
 */
struct ux_memo;

enum {
	UX_MEMO_MOST = 24 << 20,  /* bytes of one */
	UX_MEMOS_MOST = 72 << 20, /* bytes of all of a server, about: then old ones are let go */
	UX_MEMO_MODES = UX_DEMANGLE_ELIDED + 1,
};

struct ux_memo_text {
	const char *data; /* NUL-terminated */
	uint32_t size;
	bool plain; /* printable ASCII without quotes and backslashes: needs no escape in JSON */
};

struct ux_memo_file {
	uint32_t dir, base; /* texts */
};

struct ux_memo_frame {
	uint32_t function; /* text, demangled */
	uint32_t file;
	uint32_t line;
	uint32_t up; /* the frame that it is inlined into, a smaller number; 0: none */
};

/* All bytes of all memos, which each of them is counted in. NULL when memory is short. */
struct ux_memo *ux_memo_create(enum ux_demangle_mode mode, atomic_size_t *all);
struct ux_memo *ux_memo_ref(struct ux_memo *m);
void ux_memo_drop(struct ux_memo *m);

/* What it takes. */
size_t ux_memo_bytes(struct ux_memo *m);

/*
 * The innermost frames of n addresses, each lowered by `back`. Those that are not known get
 * UX_MEMO_UNKNOWN; returns how many. An address below `back` has no frames.
 */
#define UX_MEMO_UNKNOWN UINT32_MAX
size_t ux_memo_find(struct ux_memo *m, const uint64_t *pcs, size_t n, uint64_t back, uint32_t *ret);

/* Around some ux_memo_add(). */
void ux_memo_lock(struct ux_memo *m);
void ux_memo_unlock(struct ux_memo *m);

/* Notes the frames of an address, innermost first, n = 0 for none. False when the memo is full, or
 * memory short. */
bool ux_memo_add(struct ux_memo *m, uint64_t pc, const struct ux_frame *frames, size_t n,
		 uint32_t *ret) ux_must;

/* Numbers that ux_memo_find() or ux_memo_add() gave to this thread, and what they lead to; not 0.
 */
struct ux_memo_frame ux_memo_frame(const struct ux_memo *m, uint32_t i);
struct ux_memo_file ux_memo_file(const struct ux_memo *m, uint32_t i);
struct ux_memo_text ux_memo_text(const struct ux_memo *m, uint32_t i);

#endif
