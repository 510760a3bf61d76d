/* SPDX-License-Identifier: Apache-2.0 */
/* What Go's own tables say of a module: its functions, lines and inlined calls, stripped or not. */
#ifndef UX_GOSYM_H
#define UX_GOSYM_H

#include "gosym_find.h"
#include "gosym_module.h"
#include "gosym_version.h"

/* How inline trees are stored. */
enum ux_gosym_trees {
	UX_GOSYM_TREES_NONE,  /* not at all, not as we know them, or not where we find them */
	UX_GOSYM_TREES_GO19,  /* 1.9 to 1.11: 16 bytes a call, with the number of the one around it
			       */
	UX_GOSYM_TREES_GO112, /* 1.12: 20 bytes from here on, with the place of the call */
	UX_GOSYM_TREES_GO113, /* 1.13 to 1.15 */
	UX_GOSYM_TREES_GO116, /* 1.16 to 1.19 */
	UX_GOSYM_TREES_GO120, /* 1.20 on: 16 bytes */
};

/* Points into the image, which must stay. Nothing to release; any number of threads. */
struct ux_gosym {
	const struct ux_gosym_image *image;
	struct ux_gosym_table table;
	struct ux_gosym_module module; /* zeros when there is none, or none is needed */
	enum ux_gosym_trees trees;
	uint8_t wrapper; /* what the runtime knows functions as that the compiler made up;
			    0: no function is known as anything */
	char version[UX_GOSYM_VERSION_MOST]; /* "go1.19.8"; "" when it is not said */
};

/*
 * Finds the tables. UX_ENOTFOUND, with nothing said in err: this is no Go program. UX_ECORRUPT: it
 * is one, but where its text begins is not to be found.
 */
enum ux_code ux_gosym_open(const struct ux_gosym_image *image, const struct ux_gosym_hints *hints,
			   struct ux_gosym *ret, struct ux_error *err) ux_must;

#endif
