/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stanzas of fields, the form of Debian's metadata: Release, Packages, *.sources.
 *
 * A stanza is lines "Name: value"; a line that begins with a blank continues the value. An empty
 * line ends a stanza. Lines that begin with '#' are comments. Names are of either case. Source:
 * Debian Policy 5.1; deb822(5).
 */
#ifndef UX_DEB822_H
#define UX_DEB822_H

#include "cursor.h"

enum {
	UX_DEB822_FIELD_MOST =
		64 << 20, /* bytes of one value: the hashes of a large Release have 1 MiB */
};

/* Reads front to back. The text must outlive it. It latches its first failure. */
struct ux_deb822 {
	struct ux_cur c;
	bool inside; /* of a stanza */
};

struct ux_deb822_field {
	struct ux_bytes name;
	/* without blanks at its ends; with the line breaks in it, each with the blank behind it */
	struct ux_bytes value;
};

/* section names the text in messages, and must outlive it. */
struct ux_deb822 ux_deb822_make(struct ux_bytes text, const char *section);

/* Moves to the next stanza, behind what is left of this one. False: there is none. */
bool ux_deb822_next_stanza(struct ux_deb822 *d) ux_must;

/* The next field of the stanza. False behind the last one, and after a failure. */
bool ux_deb822_next_field(struct ux_deb822 *d, struct ux_deb822_field *ret) ux_must;

/* UX_ECORRUPT with the offset of a line that is no field. */
enum ux_code ux_deb822_status(const struct ux_deb822 *d, struct ux_error *err) ux_must;

bool ux_deb822_is(const struct ux_deb822_field *field, const char *name);

/*
 * Takes the next word from the front of a value, up to white space. False: there is none left.
 */
bool ux_deb822_word(struct ux_bytes *value, struct ux_bytes *ret) ux_must;

/* Takes the next line. False: nothing is left. */
bool ux_deb822_line(struct ux_bytes *value, struct ux_bytes *ret) ux_must;

/*
 * A date as in Release files: "Sat, 11 Jul 2026 09:48:12 UTC", as seconds since 1970. False: it is
 * none. Source: RFC 5322 3.3, of which only UTC (also as GMT, Z, +0000) is used.
 */
bool ux_deb822_date(struct ux_bytes value, int64_t *ret) ux_must;

#endif
