/* SPDX-License-Identifier: Apache-2.0 */
/* Files of about 1 MB that ask for as much work and memory as their format lets them. */
#ifndef MAKE_HOSTILE_H
#define MAKE_HOSTILE_H

#include "make_dwarf.h"
#include "make_elf.h"

enum {
	MAKE_HOSTILE_SIZE = 1 << 20, /* bytes that each of them comes close to */
	MAKE_HOSTILE_TEXT = 0x10000, /* where its code is */
	MAKE_HOSTILE_TEXT_SIZE = 1 << 24,
};

/* A file while it is made. */
struct make_hostile {
	struct make_elf elf;
	struct make_dwarf dwarf;
	uint32_t text; /* index of the section with the code */
};

/* One way to be hostile; its name tells which part is excessive. */
struct make_hostile_kind {
	const char *name;
	void (*fill)(struct make_hostile *m);
};

extern const struct make_hostile_kind make_hostile_kinds[];
extern const size_t make_hostile_count;

/* The file of a kind, in m until make_hostile_deinit(). */
struct ux_bytes make_hostile_file(struct make_hostile *m, const struct make_hostile_kind *kind);

/* A file of skeletons, and the .dwp package of the one split unit that all of them stand for. */
struct ux_bytes make_hostile_skeletons(struct make_hostile *m);
struct ux_bytes make_hostile_package(struct make_hostile *m);

void make_hostile_deinit(struct make_hostile *m);

#endif
