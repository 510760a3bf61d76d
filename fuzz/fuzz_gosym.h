/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the input of the target `gosym`, which is cut into a program's memory. */
#ifndef UX_FUZZ_GOSYM_H
#define UX_FUZZ_GOSYM_H

/*
 * The first byte chooses: bit 0, the other byte order; bit 1, hints as sections would give them.
 * Then, little-endian, u32 bytes of pclntab and u32 bytes of data, both, and up to the end the
 * loader's words: u64 pc and u64 value each, in order.
 */
enum {
	FUZZ_GO_SWAP = 1,
	FUZZ_GO_HINTS = 2,
	FUZZ_GO_HEAD = 9,
	/* where make_gosym.h puts them */
	FUZZ_GO_TEXT = 0x1000,
	FUZZ_GO_TEXT_SIZE = 0x4000,
	FUZZ_GO_TABLE = 0x10000,
	FUZZ_GO_DATA = 0x40000,
};

#endif
