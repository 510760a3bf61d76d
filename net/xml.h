/* SPDX-License-Identifier: Apache-2.0 */
/* Reads XML documents of servers as a stream of elements. */
#ifndef UX_XML_H
#define UX_XML_H

#include "bytes.h"
#include "error.h"

enum {
	UX_XML_DEPTH_MAX = 32,  /* nesting depth of elements */
	UX_XML_TEXT_MAX = 2048, /* bytes of the text of an element that is used */
};

/* State of reading a document. Zeroed before ux_xml_parse(). */
struct ux_xml {
	void *parser;
	struct ux_error *err;
	enum ux_code code; /* the reason for which reading ended */
	uint64_t given;    /* bytes given to the parser */
	unsigned depth;    /* depth of the open element; 1: the document's own */
	bool wants_text;   /* set by on_start: the text of the element is kept until on_end */
	char text[UX_XML_TEXT_MAX];
	size_t text_size;
	/* ctx is the member below */
	void (*on_start)(void *ctx, const char *name, const char **attributes);
	void (*on_end)(void *ctx, const char *name);
	void *ctx;
};

/*
 * Parses a whole document and calls x->on_start and x->on_end for each element. Refuses a document
 * type, and thereby all entities that the document defines. UX_ECORRUPT: it is not well-formed,
 * nested too deeply, or a wanted text is too long; or the code of ux_xml_stop(). One thread.
 */
enum ux_code ux_xml_parse(struct ux_xml *x, struct ux_bytes xml, struct ux_error *err) ux_must;

/* Reads at most n bytes. *ret 0: the end. */
typedef enum ux_code ux_xml_read_fn(void *ctx, void *to, size_t n, size_t *ret,
				    struct ux_error *err);

/*
 * Parses a document that a function reads in pieces. The same codes, or the code of that function.
 */
enum ux_code ux_xml_parse_from(struct ux_xml *x, ux_xml_read_fn *read, void *from,
			       struct ux_error *err) ux_must;

/* Called by a callback: ends the reading with that code. */
void ux_xml_stop(struct ux_xml *x, enum ux_code code);

/* Stops with UX_ECORRUPT at the current offset; `what` is a sentence. */
void ux_xml_bad(struct ux_xml *x, const char *what);

/* Returns the value of an attribute; "" if absent. */
const char *ux_xml_attribute(const char **attributes, const char *name);

/* Called in on_end: returns the text of an element whose text was wanted. */
static inline struct ux_bytes ux_xml_text(const struct ux_xml *x)
{
	return ux_bytes(x->text, x->text_size);
}

#endif
