/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for Go programs' memory: pclntab of each layout, moduledata, build information. */
#ifndef UX_MAKE_GOSYM_H
#define UX_MAKE_GOSYM_H

#include "gosym.h"
#include "out.h"
#include "vec.h"

enum {
	MAKE_GO_TEXT = 0x1000,   /* pc of the first function */
	MAKE_GO_TABLE = 0x10000, /* of pclntab */
	MAKE_GO_DATA = 0x40000,  /* of build information, inline trees and moduledata */
	MAKE_GO_STEPS = 12,
	MAKE_GO_CALLS = 8,
};

/* This many bytes of code have the value. */
struct make_go_step {
	uint32_t bytes;
	int32_t value;
};

struct make_go_call {
	const char *name;
	uint32_t place; /* of the call */
	uint8_t id;
	bool stored; /* fields of layouts up to 1.19 are stored below; otherwise the calls determine
			them */
	int16_t parent; /* number of the call it stands in; -1: the function */
	int32_t file, line;
};

/* Steps end at the first of 0 bytes, calls at the first without a name. Numbers of files count from
 * 0 in the list below, whatever the layout makes of them. */
struct make_go_function {
	const char *name; /* NULL: none */
	uint32_t size;    /* to the next one */
	uint8_t id;
	struct make_go_step lines[MAKE_GO_STEPS];
	struct make_go_step files[MAKE_GO_STEPS];
	struct make_go_step calls[MAKE_GO_STEPS]; /* indexes into tree */
	struct make_go_call tree[MAKE_GO_CALLS];
};

UX_VEC(make_go_words, struct ux_gosym_word);

/* Input and output of making a table. Zeroed is 1.18's layout without a byte of its own: set word.
 */
struct make_go {
	enum ux_gosym_layout layout;
	int minor;        /* of the version; 0: the layout's last one */
	unsigned word;    /* 4 or 8 */
	bool big;         /* byte order */
	unsigned quantum; /* 0: 1 */
	bool loaded;      /* addresses are the loader's to write, and zeros in the file */
	bool no_module;
	bool split_text;          /* the second half of the functions is 0x2000 further */
	const char *const *files; /* up to NULL */
	const struct make_go_function *functions;
	size_t n_functions;

	struct ux_out text, table, data;
	struct make_go_words words;
	struct ux_gosym_segment segments[4];
	struct ux_gosym_image image;
	struct ux_gosym_hints hints; /* the hints that sections would give */
	uint64_t module;             /* pc */
	uint64_t trees;              /* pc of the first inline tree */
};

/* Aborts when memory is short. */
void make_go_finish(struct make_go *m);
void make_go_deinit(struct make_go *m);

/* The pc of a function by its number. */
uint64_t make_go_pc(const struct make_go *m, size_t function);

/* A program with something of each: inlined calls, one in another and one hidden, files, padding.
 */
extern const struct make_go_function make_go_sample[];
extern const size_t make_go_sample_size;
extern const char *const make_go_sample_files[];

#endif
