/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seekable format of Zstandard: a file of many frames, each decompressed by itself, with a
 * table of them at its end, in a skippable frame that other readers pass over. Source: "Zstandard
 * Seekable Format", version 0.1.0, in the repository of Zstandard; frames are RFC 8878.
 */
#ifndef UX_SEEK_FRAMES_H
#define UX_SEEK_FRAMES_H

#include "bytes.h"
#include "error.h"

enum {
	UX_SEEK_FRAME = 64 << 10,     /* content bytes of a frame that we write */
	UX_SEEK_FRAME_MAX = 1 << 20,  /* content bytes of a frame that we can read */
	UX_SEEK_FRAMES_MAX = 1 << 20, /* frames of a file */
	UX_SEEK_TABLE_MAX = 17 + 12 * UX_SEEK_FRAMES_MAX, /* bytes of a table */
	UX_SEEK_TAIL = 9,                 /* bytes at the end that tell how long the table is */
	UX_SEEK_TAIL_MIN = 17 + 8 * 2048, /* a whole table of up to 2048 frames, so 128 MiB */
};

/* A table of frames; zeroed: empty. */
struct ux_seek_table {
	uint32_t n;
	/* n + 1 offsets each: of the frames in the file, and of their content */
	uint64_t *packed;
	uint64_t *content;
};

/*
 * Writes content to fd, from its current position on, in frames and their table. *ret_size: bytes
 * written. Uses little memory. UX_EIO, UX_ENOMEM.
 */
enum ux_code ux_seek_frames_write(struct ux_bytes content, int fd, uint64_t *ret_size,
				  struct ux_error *err) ux_must;

/*
 * Returns the size of the table of a file that ends with `tail`, of at least UX_SEEK_TAIL bytes. 0:
 * the file has no such table.
 */
uint64_t ux_seek_table_bytes(struct ux_bytes tail);

/*
 * Reads the table at the end of a file of file_size bytes. `tail` are its last bytes, including the
 * whole table. UX_ECORRUPT: no such table, or the frames do not fill the rest of the file.
 * UX_ELIMIT: too many frames, or too large ones. UX_ENOMEM.
 */
enum ux_code ux_seek_table_read(struct ux_bytes tail, uint64_t file_size, struct ux_seek_table *ret,
				struct ux_error *err) ux_must;
void ux_seek_table_deinit(struct ux_seek_table *t);

/* Returns the index of the frame with byte `off` of the content; t->n: after the end. */
uint32_t ux_seek_table_find(const struct ux_seek_table *t, uint64_t off);

/*
 * Decompresses one frame, whose content must have exactly `size` bytes. UX_ECORRUPT: it has not, or
 * its checksum differs. UX_ENOMEM.
 */
enum ux_code ux_seek_frame_unpack(struct ux_bytes frame, uint8_t *to, size_t size,
				  struct ux_error *err) ux_must;

#endif
