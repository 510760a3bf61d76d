/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of tar archives that we write and read as a stream. Source: POSIX.1-2017, pax, "ustar
 * Interchange Format" and "pax Extended Header"; GNU tar's manual, "Basic Tar Format".
 */
#ifndef UX_TAR_HEADER_H
#define UX_TAR_HEADER_H

#include "bytes.h"
#include "error.h"
#include "out.h"

enum {
	UX_TAR_BLOCK = 512,
	UX_TAR_PATH = 1024,          /* bytes of a path, with its NUL */
	UX_TAR_EXTENDED_MAX = 16384, /* bytes of an extended header or a long name */
};

enum ux_tar_type {
	UX_TAR_FILE,
	UX_TAR_LINK,      /* another name of an earlier member */
	UX_TAR_EXTENDED,  /* pax records about the next member */
	UX_TAR_LONG_NAME, /* the name of the next member, as GNU tar writes it... */
	UX_TAR_LONG_LINK, /* ...and its link's */
	UX_TAR_OTHER,     /* folders and devices, which are skipped */
	UX_TAR_END,       /* a block of zeros */
};

struct ux_tar_header {
	enum ux_tar_type type;
	uint64_t size; /* bytes after the header, padded to whole blocks */
	char path[UX_TAR_PATH];
	char link[UX_TAR_PATH]; /* target of a link (UX_TAR_LINK) */
};

/* Reads a block. UX_ECORRUPT: its checksum is wrong, or a number is malformed. */
enum ux_code ux_tar_header_read(const uint8_t block[UX_TAR_BLOCK], struct ux_tar_header *ret,
				struct ux_error *err) ux_must;

/*
 * Applies the content of an extended header or of a long name, of type `type`, to the header of the
 * member that follows. UX_ECORRUPT; UX_ELIMIT.
 */
enum ux_code ux_tar_extended_apply(enum ux_tar_type type, struct ux_bytes content,
				   struct ux_tar_header *to, struct ux_error *err) ux_must;

/*
 * Appends the header of a file of `size` bytes, or with `link`, of another name of a member; before
 * it an extended header if a name is too long. mtime: seconds since 1970.
 */
enum ux_code ux_tar_header_write(const char *path, const char *link, uint64_t size, uint64_t mtime,
				 struct ux_out *out, struct ux_error *err) ux_must;

/* Returns the zero bytes after a content, up to a whole block. */
static inline uint64_t ux_tar_padding(uint64_t size)
{
	return (UX_TAR_BLOCK - size % UX_TAR_BLOCK) % UX_TAR_BLOCK;
}

#endif
