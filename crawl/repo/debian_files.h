/* SPDX-License-Identifier: Apache-2.0 */
/* Files of Debian's: stanzas of fields, the Release file of a suite, the sources of apt. */
#ifndef UX_DEBIAN_FILES_H
#define UX_DEBIAN_FILES_H

#include "arena.h"
#include "cursor.h"
#include "vec.h"

/*
 * Stanzas of fields, the form of Debian's metadata: Release, Packages, *.sources.
 *
 * A stanza is lines "Name: value"; a line that begins with a blank continues the value. An empty
 * line ends a stanza. Lines that begin with '#' are comments. Names are of either case. Source:
 * Debian Policy 5.1; deb822(5).
 */
enum {
	UX_DEB822_FIELD_MAX =
		64 << 20, /* bytes of one value: the hashes of a large Release have 1 MiB */
};

/* Reads front to back. The text must outlive it. It latches its first failure. */
struct ux_deb822 {
	struct ux_cur c;
	bool inside; /* inside a stanza */
};

struct ux_deb822_field {
	struct ux_bytes name;
	/* without blanks at its ends; inner line breaks stay, each followed by its blank */
	struct ux_bytes value;
};

/* section names the text in messages, and must outlive it. */
struct ux_deb822 ux_deb822_make(struct ux_bytes text, const char *section);

/* Moves to the next stanza; skips the rest of this one. False: no more. */
bool ux_deb822_next_stanza(struct ux_deb822 *d) ux_must;

/* Reads the next field of the stanza. False after the last one, and after a failure. */
bool ux_deb822_next_field(struct ux_deb822 *d, struct ux_deb822_field *ret) ux_must;

/* Reports UX_ECORRUPT with the offset of a line that is not a field. */
enum ux_code ux_deb822_status(const struct ux_deb822 *d, struct ux_error *err) ux_must;

/* A field that a reader uses, and the target of its value. */
struct ux_deb822_known {
	const char *name;
	struct ux_bytes *value;
};

/*
 * Reads the rest of the stanza. Sets the values of known fields, the last value if several have the
 * same name; other fields are skipped. UX_ECORRUPT as ux_deb822_status().
 */
enum ux_code ux_deb822_read(struct ux_deb822 *d, const struct ux_deb822_known *known, size_t n,
			    struct ux_error *err) ux_must;

/* Takes the next word from the front of a value, up to white space. False: none is left. */
bool ux_deb822_word(struct ux_bytes *value, struct ux_bytes *ret) ux_must;

/*
 * Parses a date of Release files, "Sat, 11 Jul 2026 09:48:12 UTC", to seconds since 1970. False:
 * malformed. Source: RFC 5322 3.3; only UTC is accepted (also as GMT, Z, +0000).
 */
bool ux_deb822_date(struct ux_bytes value, int64_t *ret) ux_must;

/* --- the Release file of a suite: its dates, and the hashes of its indexes -------------------- */

/* Slices of the text that it was parsed from. Source: DebianRepository/Format in Debian's wiki. */
struct ux_debian_release {
	struct ux_bytes suite, codename;
	struct ux_bytes hashes; /* the field SHA256: lines of hash, size and path */
	int64_t date;           /* seconds since 1970; 0: none */
	int64_t valid_until;    /* 0: for ever */
	bool by_hash;
};

/* UX_ECORRUPT: not a Release file, no SHA256 field, or a malformed date. */
enum ux_code ux_debian_release_parse(struct ux_bytes text, struct ux_debian_release *ret,
				     struct ux_error *err) ux_must;

/* An index that Release lists. */
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
 * or plain, 3 to 0. The result is below *form, which is then set to it, for another call if the
 * mirror lacks that form. UX_ENOTFOUND. UX_ECORRUPT: a line of hashes is malformed.
 */
enum ux_code ux_debian_release_find(const struct ux_debian_release *r, const char *path, int *form,
				    struct ux_debian_index *ret, struct ux_error *err) ux_must;

/* --- the repositories that this machine's apt is configured with ------------------------------ */

enum {
	UX_APT_SOURCES_MAX = 1024, /* sources in all files together */
	UX_APT_WORDS_MAX = 64,     /* suites, components or architectures of one */
};

/* A repository for binary packages. Texts are the arena's. Lists are separated by single spaces. */
struct ux_apt_source {
	const char *uri;
	const char *suites;
	const char *components;
	const char *archs;     /* "": apt's own */
	const char *signed_by; /* paths of keyrings; "": apt's own, or a key in the file itself */
};

UX_VEC(ux_apt_source_vec, struct ux_apt_source);

/*
 * Reads /etc/apt/sources.list and the *.list and *.sources of sources.list.d, in the order of their
 * names. root: "" or a folder to prepend to these paths. Missing files are not a failure; lines
 * that apt would not understand are skipped. UX_ENOMEM, UX_ELIMIT, UX_EIO. Source: sources.list(5).
 */
enum ux_code ux_apt_sources_read(const char *root, struct ux_arena *arena,
				 struct ux_apt_source_vec *ret, struct ux_error *err) ux_must;

/* Reads the lines of one file in the form of sources.list. */
enum ux_code ux_apt_sources_list(struct ux_bytes text, struct ux_arena *arena,
				 struct ux_apt_source_vec *ret, struct ux_error *err) ux_must;

/* Reads the stanzas of one file in the form of *.sources. UX_ECORRUPT: it has a different form. */
enum ux_code ux_apt_sources_deb822(struct ux_bytes text, struct ux_arena *arena,
				   struct ux_apt_source_vec *ret, struct ux_error *err) ux_must;

#endif
