/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of Alpine's ADB format, the form of packages and indexes of apk-tools 3. A file is
 * "ADB.", a schema of four bytes, and blocks at multiples of eight bytes: one of values (ADB), then
 * signatures of it, then the data of files. A value is four bytes, little-endian: its type in the
 * four high bits, and an immediate number or the offset of its content in the block of values. The
 * compressed forms are "ADBd" and raw deflate, or "ADBc", an algorithm, a level, and the stream.
 * Source: apk-v3(5).
 */
#ifndef UX_ADB_VALUE_H
#define UX_ADB_VALUE_H

#include "bytes.h"
#include "error.h"
#include "unpack_stream.h"

enum {
	UX_ADB_MAGIC = 4,              /* bytes of "ADB." and the like */
	UX_ADB_FILE_HEAD = 8,          /* magic and schema */
	UX_ADB_COMPRESSED = 6,         /* bytes before a compressed stream, at most */
	UX_ADB_BLOCK_HEAD = 16,        /* bytes of the head of a block, at most */
	UX_ADB_VALUES_MAX = 256 << 20, /* offsets have 28 bits */
};

enum ux_adb_block_type {
	UX_ADB_BLOCK_VALUES,
	UX_ADB_BLOCK_SIGNATURE,
	UX_ADB_BLOCK_DATA,
};

/* The content of a block's head. */
struct ux_adb_block {
	enum ux_adb_block_type type;
	unsigned head;    /* bytes of the head: 4, or 16 for blocks of 1 GiB and more */
	uint64_t size;    /* bytes of the content, which follows the head */
	uint64_t padding; /* bytes after the content */
};

/* Returns whether a file begins like one of this format, compressed or not. */
bool ux_adb_is(struct ux_bytes head);

/*
 * Sets the compression of the file, by its first UX_ADB_COMPRESSED bytes; *ret_skip is where the
 * stream begins. UX_EUNSUPPORTED: another algorithm.
 */
enum ux_code ux_adb_form(struct ux_bytes head, enum ux_unpack_form *ret, size_t *ret_skip,
			 struct ux_error *err) ux_must;

/* Returns the size of a block's head, 4 or 16 bytes, from its first four bytes. */
unsigned ux_adb_block_head_size(const uint8_t first[4]);

/* Reads a head of that size. UX_ECORRUPT: of another type, or shorter than its own head. */
enum ux_code ux_adb_block_read(const uint8_t *head, struct ux_adb_block *ret, struct ux_error *err)
	ux_must;

/* Numbered values of an object or an array, from 1. A zeroed struct has none. */
struct ux_adb_list {
	struct ux_bytes values; /* the whole block */
	uint32_t off;           /* offset of the slots */
	uint32_t n;             /* number of the last one */
};

/* Sets the object at the root of a block of values. UX_ECORRUPT; UX_EUNSUPPORTED: another version.
 */
enum ux_code ux_adb_root(struct ux_bytes values, struct ux_adb_list *ret, struct ux_error *err)
	ux_must;

/*
 * Read value number i of a list: a list, text or bytes, a number. An absent value is an empty list,
 * no bytes, 0. UX_ECORRUPT: it is of another type, or outside of the block.
 */
enum ux_code ux_adb_list_get(const struct ux_adb_list *l, uint32_t i, struct ux_adb_list *ret,
			     struct ux_error *err) ux_must;
enum ux_code ux_adb_bytes_get(const struct ux_adb_list *l, uint32_t i, struct ux_bytes *ret,
			      struct ux_error *err) ux_must;
enum ux_code ux_adb_number_get(const struct ux_adb_list *l, uint32_t i, uint64_t *ret,
			       struct ux_error *err) ux_must;

#endif
