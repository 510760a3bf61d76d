/* SPDX-License-Identifier: Apache-2.0 */
/* The repositories that this machine's apt is configured with. */
#ifndef UX_APT_SOURCES_H
#define UX_APT_SOURCES_H

#include "arena.h"
#include "bytes.h"
#include "vec.h"

enum {
	UX_APT_SOURCES_MOST = 1024, /* of all files together */
	UX_APT_WORDS_MOST = 64,     /* suites, components or architectures of one */
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
 * names. root: "" or a folder in front of these paths. Files that are not there are no failure; a
 * line that is none of apt's is left out. UX_ENOMEM, UX_ELIMIT, UX_EIO. Source: sources.list(5).
 */
enum ux_code ux_apt_sources_read(const char *root, struct ux_arena *arena,
				 struct ux_apt_source_vec *ret, struct ux_error *err) ux_must;

/* The lines of one file, of the form of sources.list. */
enum ux_code ux_apt_sources_list(struct ux_bytes text, struct ux_arena *arena,
				 struct ux_apt_source_vec *ret, struct ux_error *err) ux_must;

/* The stanzas of one file, of the form of *.sources. UX_ECORRUPT: it has another form. */
enum ux_code ux_apt_sources_deb822(struct ux_bytes text, struct ux_arena *arena,
				   struct ux_apt_source_vec *ret, struct ux_error *err) ux_must;

#endif
