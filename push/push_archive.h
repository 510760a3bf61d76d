/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations for unpacking archives, and images, whose layers are archives. */
#ifndef UX_PUSH_ARCHIVE_H
#define UX_PUSH_ARCHIVE_H

#include "members.h"
#include "push_work.h"

UX_VEC(ux_push_parts, struct ux_sandbox_part);

/* State of reading one archive that the user named, including the archives in it. */
struct ux_archive_walk {
	struct ux_push_work *p;
	struct ux_push_modules *ret;
	uint64_t left; /* bytes that may still come out */
	unsigned nested;
	bool named;
	struct ux_push_parts split; /* .dwo and .dwp files in the archive */
};

/* Returns how many bytes an archive of `size` bytes may unpack to. */
uint64_t ux_archive_budget(uint64_t size);

/* Starts the fork server that reading in children needs. */
enum ux_code ux_archive_begin(struct ux_push_work *p, struct ux_error *err) ux_must;

/*
 * Unpacks an archive in a confined child into an unnamed file, which stays open with the push.
 * *ret: its descriptor. Codes of ux_sandbox_members().
 */
enum ux_code ux_archive_unpack_to(struct ux_archive_walk *w, const struct ux_sandbox_part *archive,
				  enum ux_members_mode mode, int *ret, struct ux_error *err)
	ux_must;

/* Returns whether a member's name is the name of a file of split units. */
bool ux_archive_is_split(const char *name);

/* Notes a member with split units. UX_ENOMEM. */
enum ux_code ux_archive_keep_split(struct ux_archive_walk *w, const struct ux_sandbox_part *part,
				   struct ux_error *err) ux_must;

/*
 * Attaches the split units of the archive to its modules, from number `first` on; attaches none if
 * there are too many. Codes of ux_file_write(), UX_ENOMEM.
 */
enum ux_code ux_archive_give_split(struct ux_archive_walk *w, size_t first, struct ux_error *err)
	ux_must;

/* Appends the modules of a member, or of the archive that it is. UX_ENOMEM. */
enum ux_code ux_archive_add_member(struct ux_archive_walk *w, const char *archive, int pack,
				   const struct ux_packed_source *member, unsigned depth,
				   struct ux_error *err) ux_must;

/* Reports a file that cannot be read. UX_ENOMEM is the only failure. */
enum ux_code ux_archive_leave_out(struct ux_archive_walk *w, const char *name, bool named,
				  const struct ux_error *why, struct ux_error *err) ux_must;

#endif
