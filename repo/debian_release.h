/* SPDX-License-Identifier: Apache-2.0 */
/* The Release file of a suite: its dates, and the hashes of its indexes. */
#ifndef UX_DEBIAN_RELEASE_H
#define UX_DEBIAN_RELEASE_H

#include "bytes.h"
#include "error.h"

/* Slices of the text that it was parsed from. Source: DebianRepository/Format in Debian's wiki. */
struct ux_debian_release {
	struct ux_bytes suite, codename;
	struct ux_bytes hashes; /* the field SHA256: lines of hash, size and path */
	int64_t date;           /* seconds since 1970; 0: there is none */
	int64_t valid_until;    /* 0: for ever */
	bool by_hash;
};

/* UX_ECORRUPT: no Release file, one without SHA256, or with a date that is none. */
enum ux_code ux_debian_release_parse(struct ux_bytes text, struct ux_debian_release *ret,
				     struct ux_error *err) ux_must;

/* An index as Release has it. */
struct ux_debian_index {
	struct ux_bytes path;
	uint64_t size;
	uint8_t sha256[32];
};

enum {
	UX_DEBIAN_FORMS = 4 /* the first bound of ux_debian_release_find() */
};

/*
 * Finds the index of the given path without its ending, in the best form there is: .xz, .zst, .gz
 * or plain, 3 to 0. *form is a bound, which the form found is below; it is set to that form, for a
 * further call where the mirror lacks it. UX_ENOTFOUND. UX_ECORRUPT: a line of hashes is malformed.
 */
enum ux_code ux_debian_release_find(const struct ux_debian_release *r, const char *path, int *form,
				    struct ux_debian_index *ret, struct ux_error *err) ux_must;

#endif
