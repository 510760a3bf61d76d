/* SPDX-License-Identifier: Apache-2.0 */
/* Files of each machine that call two functions of other modules: the forms of stubs. */
#ifndef UX_MAKE_STUBS_H
#define UX_MAKE_STUBS_H

#include "make_elf.h"

enum {
	MAKE_STUBS_AT = 0x1000,    /* where their code is */
	MAKE_STUBS_SLOTS = 0x3000, /* .got.plt; puts is three words in, open four */
};

/* One shape of stubs. */
struct make_stubs {
	const char *name;
	unsigned bits;
	bool big;
	uint16_t machine;
	uint32_t type;       /* of the relocations */
	const char *section; /* where the code is */
	struct ux_bytes code;
	const char *expected; /* "pc name size" of each, with a comma and a blank between */
};

extern const struct make_stubs make_stubs_shapes[];
extern const size_t make_stubs_count;

/* The file of a shape, in m until make_elf_deinit(). */
struct ux_bytes make_stubs_file(struct make_elf *m, const struct make_stubs *shape);

/* The same, but a function at `resolver` chooses the slots' contents: symbols of type STT_GNU_IFUNC
 * name that function. irelative: the relocation's type. */
struct ux_bytes make_stubs_chosen(struct make_elf *m, const struct make_stubs *shape,
				  uint32_t irelative, uint64_t resolver, bool named);

#endif
