/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the visible files of a container image, whose layers hide files of lower layers. Source:
 * OCI Image Format Specification 1.1, "Image Layer Filesystem Changeset" (whiteouts, opaque
 * folders).
 */
#ifndef UX_IMAGE_FILES_H
#define UX_IMAGE_FILES_H

#include "arena.h"
#include "hash.h"
#include "map.h"
#include "source_pack.h"
#include "vec.h"

static inline bool ux_image_path_eq(struct ux_bytes a, struct ux_bytes b)
{
	return ux_bytes_eq(a, b);
}

/* The state of paths in the upper layers: UX_IMAGE_* bits of image_files.c. */
UX_MAP(ux_image_paths, struct ux_bytes, unsigned, ux_hash_bytes, ux_image_path_eq);

/* A visible file. Its path begins with the folder of its kind (members.h). */
struct ux_image_member {
	int pack;
	struct ux_packed_source file;
};

UX_VEC(ux_image_members, struct ux_image_member);

/* A zeroed struct is an image without layers. */
struct ux_image_files {
	struct ux_image_paths above;
	struct ux_image_members members;
};

/*
 * Adds the next lower layer. Appends its files that the upper layers do not hide to members, sorted
 * by path. list: the result of ux_source_pack_read() for the pack of UX_MEMBERS_FILE_SYSTEM; list
 * and arena must outlive *f. A visible hard link to a hidden file replaces the file. UX_ENOMEM,
 * UX_ELIMIT.
 */
enum ux_code ux_image_files_add_layer(struct ux_image_files *f, struct ux_bytes pack,
				      const struct ux_packed_source *list, size_t n, int fd,
				      struct ux_arena *arena, struct ux_error *err) ux_must;
void ux_image_files_deinit(struct ux_image_files *f);

#endif
