/* SPDX-License-Identifier: Apache-2.0 */
/* An image of memory with a PHP in it: a stack of three. */
#ifndef UX_MAKE_PHP_H
#define UX_MAKE_PHP_H

#include "make_interp.h"
#include "unhex/interp.h"

enum {
	MAKE_PHP_ROOM = 4096,
};

struct make_php {
	uint8_t image[MAKE_PHP_ROOM]; /* the memory from MAKE_INTERP_BASE on */
	size_t size;
	struct ux_interp_root root;
	uint64_t current;      /* where the innermost frame is noted */
	uint64_t frames[4];    /* innermost first; [2] has no function */
	uint64_t functions[3]; /* "fgets", "Cls::run" of "a.php" from line 10 on, the file's own
				  code */
};

/* Fills it with a PHP of version 0x080200 or 0x080400. */
void make_php(struct make_php *m, uint32_t version);

void make_php_put(struct make_php *m, uint64_t addr, uint64_t value);

#endif
