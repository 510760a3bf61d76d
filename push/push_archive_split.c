/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Split units in archives. All .dwo and .dwp files of an archive or image, and of archives in it,
 * become one static library, which is read together with each module of the archive. Units are
 * found by their IDs, so units of other modules do no harm.
 */
#include "push_archive.h"

#include "ar_write.h"
#include "file.h"

#include <strings.h>
#include <unistd.h>

enum {
	SPLIT_PARTS_MAX = 4000, /* files of one archive */
};

/* limit of the sum of their sizes: larger sums are not extracted */
#define SPLIT_BYTES_MAX (UINT64_C(1) << 30)

bool ux_archive_is_split(const char *name)
{
	size_t n = strlen(name);
	return n > 4 &&
	       (strcasecmp(name + n - 4, ".dwo") == 0 || strcasecmp(name + n - 4, ".dwp") == 0);
}

enum ux_code ux_archive_keep_split(struct ux_archive_walk *w, const struct ux_sandbox_part *part,
				   struct ux_error *err)
{
	return ux_push_parts_append(&w->split, *part) ? UX_OK : ux_error_nomem(err);
}

/* Writes the library. */
static enum ux_code archive_write_split(const struct ux_push_parts *parts, int fd,
					struct ux_error *err)
{
	UX_TRY(ux_ar_write_begin(fd, err));
	for (size_t i = 0; i < parts->size; i++) {
		ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
		struct ux_bytes bytes;
		UX_TRY(ux_push_map_part(NULL, &parts->data[i], &file, &bytes, err));
		UX_TRY(ux_ar_write_member(fd, i, bytes, err));
	}
	return UX_OK;
}

enum ux_code ux_archive_give_split(struct ux_archive_walk *w, size_t first, struct ux_error *err)
{
	uint64_t size = 0;
	for (size_t i = 0; i < w->split.size; i++)
		size += w->split.data[i].size;
	if (size == 0 || first == w->ret->size || w->split.size > SPLIT_PARTS_MAX ||
	    size > SPLIT_BYTES_MAX)
		return UX_OK; /* the modules then say how many are missing */
	struct ux_sandbox_part library = {.fd = -1};
	UX_TRY(ux_file_temporary(&library.fd, err));
	if (!ux_push_packs_append(&w->p->packs, library.fd)) {
		close(library.fd);
		return ux_error_nomem(err);
	}
	UX_TRY(archive_write_split(&w->split, library.fd, err));
	off_t end = lseek(library.fd, 0, SEEK_CUR);
	library.size = end > 0 ? (uint64_t)end : 0;
	for (size_t i = first; i < w->ret->size; i++)
		w->ret->data[i].split = library;
	return UX_OK;
}
