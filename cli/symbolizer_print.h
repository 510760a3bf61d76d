/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in the styles of llvm-symbolizer. */
#ifndef UX_SYMBOLIZER_PRINT_H
#define UX_SYMBOLIZER_PRINT_H

#include "declaration.h"
#include "demangle.h"
#include "out.h"
#include "symbol_list.h"
#include "unhex/frame.h"

enum ux_symbolizer_style {
	UX_SYMBOLIZER_LLVM, /* with columns, and an empty line behind each answer */
	UX_SYMBOLIZER_GNU,  /* as binutils' addr2line */
	UX_SYMBOLIZER_JSON,
};

enum ux_symbolizer_functions {
	UX_SYMBOLIZER_NO_NAMES,
	UX_SYMBOLIZER_SHORT, /* without what qualifies them and without parameters */
	UX_SYMBOLIZER_LINKAGE,
};

struct ux_symbolizer_print {
	struct ux_out *out;
	enum ux_symbolizer_style style;
	enum ux_symbolizer_functions functions;
	unsigned source_lines; /* to show around a line; 0: none */
	bool demangle, addresses, pretty, verbose, basenames;
	bool listed;    /* JSON: answers are elements of a list */
	bool has_first; /* JSON: one of them was written */
};

/* What was asked, and in which module. */
struct ux_symbolizer_question {
	const char *module;
	struct ux_bytes symbol; /* empty: by address */
	uint64_t address;       /* as it was asked */
	uint64_t pc;
	bool has_address; /* else the request made no sense */
};

void ux_symbolizer_print_code(struct ux_symbolizer_print *p, const struct ux_symbolizer_question *q,
			      const struct ux_frame *frames, size_t n);

/* symbol, declared: NULL when there is none. JSON has no place for the declaration. */
void ux_symbolizer_print_data(struct ux_symbolizer_print *p, const struct ux_symbolizer_question *q,
			      const struct ux_listed_symbol *symbol,
			      const struct ux_declaration *declared);

/* Local variables of a frame: always "unknown". */
void ux_symbolizer_print_locals(struct ux_symbolizer_print *p,
				const struct ux_symbolizer_question *q);

/* Only JSON has a place for what went wrong; the others print an unknown answer. */
void ux_symbolizer_print_error(struct ux_symbolizer_print *p,
			       const struct ux_symbolizer_question *q, const char *what);

/* The brackets of the list. */
void ux_symbolizer_print_begin(struct ux_symbolizer_print *p);
void ux_symbolizer_print_end(struct ux_symbolizer_print *p);

#endif
