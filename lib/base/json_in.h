/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON in place and sequentially, without building a tree, so that unknown parts can be
 * copied byte for byte. Source: RFC 8259.
 *
 * All functions move a cursor over UTF-8 text, which latches the first failure: then each of them
 * returns false or an empty text. A caller that reads an object or array must read or skip each of
 * its values.
 */
#ifndef UX_JSON_IN_H
#define UX_JSON_IN_H

#include "cursor.h"
#include "out.h"

enum {
	UX_JSON_NESTED_MAX = 512 /* arrays and objects inside of each other in a skipped value */
};

enum ux_json_kind {
	UX_JSON_NONE, /* the cursor has failed */
	UX_JSON_NULL,
	UX_JSON_BOOL,
	UX_JSON_NUMBER,
	UX_JSON_STRING,
	UX_JSON_ARRAY,
	UX_JSON_OBJECT,
};

/* Returns "an object", "a string", ... for messages; static. */
const char *ux_json_kind_name(enum ux_json_kind kind);

/* The content of a string as the document has it, without its quotes. */
struct ux_json_text {
	struct ux_bytes raw;
	bool escaped; /* the text contains escapes */
};

/* Moves to the next value, which is not read yet, and returns its kind. */
enum ux_json_kind ux_json_peek(struct ux_cur *c);

/*
 * Iterates over the members of an object: with *n = 0, while (ux_json_read_member(c, &n, &key)).
 * The value of each has to be read or skipped. False after the object, or if the value is not an
 * object.
 */
bool ux_json_read_member(struct ux_cur *c, size_t *n, struct ux_json_text *ret_key) ux_must;

/* Does the same for the elements of an array. */
bool ux_json_read_element(struct ux_cur *c, size_t *n) ux_must;

struct ux_json_text ux_json_read_text(struct ux_cur *c);

/* Reads the digits of a number, which has the form that RFC 8259 defines. */
struct ux_bytes ux_json_read_number(struct ux_cur *c);
bool ux_json_read_bool(struct ux_cur *c);

/* Passes one value of any kind, and returns its bytes. */
struct ux_bytes ux_json_skip(struct ux_cur *c);

/* Fails if anything but white space follows the outermost value. */
void ux_json_read_end(struct ux_cur *c);

/* Latches the failure that the value at the cursor is not of the expected kind. */
void ux_json_expected(struct ux_cur *c, const char *what);

bool ux_json_text_eq(struct ux_json_text text, const char *name) ux_must;

/* Appends the text without its escapes. Halves of surrogates that stand alone become U+FFFD. */
void ux_json_unescape(struct ux_json_text text, struct ux_out *out);

/*
 * Converts a number's digits if its value is an integer that fits into 64 bits, also written as 1.0
 * or 1e3. *ret is its two's complement; *ret_negative: it is below 0.
 */
bool ux_json_integer(struct ux_bytes digits, uint64_t *ret, bool *ret_negative) ux_must;

/*
 * Sets the value of a number's digits. False, with *ret unchanged, for no digits and for over 400.
 */
bool ux_json_double(struct ux_bytes digits, double *ret);

#endif
