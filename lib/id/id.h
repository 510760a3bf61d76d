/* SPDX-License-Identifier: Apache-2.0 */
/* Typed identities of a module, their text form, and sets of them. */
#ifndef UX_ID_H
#define UX_ID_H

#include "bytes.h"
#include "error.h"
#include "unhex/ids.h"

/* The values are stable: they are stored. */
enum ux_id_type {
	UX_ID_GNU,       /* GNU build ID: content of the linker's note */
	UX_ID_GO,        /* Go build ID: text */
	UX_ID_FILE,      /* File ID: hash of the ends of the file */
	UX_ID_UUID,      /* Mach-O LC_UUID */
	UX_ID_CUBIN_CRC, /* CUPTI's checksum of a cubin: usable to find it, but not unique */
};

enum {
	UX_ID_GNU_MAX = 64,   /* bytes; linkers write 8 to 20, --build-id=0x... anything */
	UX_ID_GO_MAX = 128,   /* characters; the go command writes 83 */
	UX_ID_FILE_SIZE = 16, /* bytes; also of a UUID */
	UX_ID_CUBIN_CRC_SIZE = 4,
	UX_ID_BYTES_MAX = 128, /* most bytes of any type */
};

/*
 * An identity. Plain data, which can be assigned. Size 0 means "no identity". Bytes after `size`
 * are 0, so that equal identities can be compared as memory.
 */
struct ux_id {
	uint8_t type; /* enum ux_id_type */
	uint8_t size; /* bytes */
	uint8_t bytes[UX_ID_BYTES_MAX];
};

/* "gnu", "go", "file", "uuid", "cubin-crc"; never NULL. */
const char *ux_id_type_name(enum ux_id_type type);

/*
 * Makes an identity from its bytes (UX_ID_GO: its text). UX_EINVAL: empty, of an unknown type, a
 * File ID or UUID that is not 16 bytes, a Go build ID with a character outside 0x21 to 0x7e.
 * UX_ELIMIT: longer than the limits above. *ret is unchanged on failure.
 */
enum ux_code ux_id_make(enum ux_id_type type, struct ux_bytes bytes, struct ux_id *ret,
			struct ux_error *err) ux_must;

/*
 * Parses the text form: gnu:HEX, go:TEXT, file:HEX32, uuid:HEX32, cubin-crc:HEX8; bare hexadecimal
 * means gnu. Digits are of either case. A File ID or UUID may also begin with 0x and contain
 * dashes; a File ID may also be 22 characters of base64, URL-safe or standard, without padding.
 * Codes of ux_id_make().
 */
enum ux_code ux_id_parse(struct ux_bytes text, struct ux_id *ret, struct ux_error *err) ux_must;

/* Writes the text form, lower-case, to text (UX_ID_TEXT bytes) and returns it; "" for none. */
const char *ux_id_format(const struct ux_id *id, char *text);

/* Tests whether a text form, as ux_id_format() writes it, is the one of a File ID. */
static inline bool ux_id_text_is_file(const char *text)
{
	return strncmp(text, "file:", 5) == 0;
}

/* Returns the cubin-crc identity for a checksum of CUPTI (cubin_crc.h). */
struct ux_id ux_id_of_cubin_crc(uint32_t crc);

bool ux_id_eq(const struct ux_id *a, const struct ux_id *b);

/*
 * Returns true for texts of Go build IDs (without "go:") of different programs. The go command
 * writes LINK/PACKAGE/COMPILED/LINKED: flags of the linker such as -s -w change the outer parts,
 * the inner two belong to package main. Texts of another form may mean anything: false.
 */
bool ux_id_go_differs(struct ux_bytes a, struct ux_bytes b);

/* Compares by type, then by bytes. */
int ux_id_cmp(const struct ux_id *a, const struct ux_id *b);

/*
 * Reads the identity in a note: a GNU build ID (owner "GNU", type 3) or a Go build ID (owner "Go",
 * type 4). UX_ENOTFOUND, with err unchanged: any other note, one without content, or a Go build ID
 * with characters that the text form does not allow (users can set it to any text, and it then
 * identifies nothing). UX_ELIMIT: a GNU build ID longer than UX_ID_GNU_MAX.
 */
enum ux_code ux_id_of_note(struct ux_bytes owner, uint32_t type, struct ux_bytes desc,
			   struct ux_id *ret, struct ux_error *err) ux_must;

/* --- the identities of one module ------------------------------------------------------------- */

enum {
	UX_ID_SET_MAX = 8, /* GNU, Go, File ID, UUID, and as many aliases of one binary */
};

/* Plain data, in the order in which IDs were added. Zeroed is empty. */
struct ux_id_set {
	size_t size;
	struct ux_id ids[UX_ID_SET_MAX];
};

/* Adds id unless it is there already or is empty. UX_ELIMIT when the set is full. */
enum ux_code ux_id_set_add(struct ux_id_set *set, const struct ux_id *id, struct ux_error *err)
	ux_must;

bool ux_id_set_has(const struct ux_id_set *set, const struct ux_id *id);

/*
 * Returns the first Go build ID in `set` that names another program than all Go build IDs in
 * `known`; NULL: none does, or known has no Go build ID.
 */
const struct ux_id *ux_id_set_other_go(const struct ux_id_set *known, const struct ux_id_set *set);

/* Returns the first identity of that type, or NULL. */
const struct ux_id *ux_id_set_find(const struct ux_id_set *set, enum ux_id_type type);

/* --- File IDs: computed from a file's content, for files without another identity ------------- */

/*
 * Computes the File ID of the OpenTelemetry profiler (htlhash; docs/formats/ids.md): the first 16
 * bytes of SHA-256 over the first 4096 bytes, the last 4096 bytes and the size. Every file has one,
 * even an empty one. At most 8192 bytes of the file are read.
 */
struct ux_id ux_file_id(struct ux_bytes file);

/*
 * Computes the File ID as the profiler does for a kernel or a kernel module: not a hash of the
 * file, but FNV-1a-128 over the hexadecimal text of its GNU build ID. Without a build ID (gnu is
 * NULL or of another type), or with one of less than 8 bytes, it is a constant.
 */
struct ux_id ux_file_id_of_kernel(const struct ux_id *gnu);

/*
 * Returns id with its halves exchanged: the profiler's File ID of the debug file of the kernel that
 * has File ID `id`.
 */
struct ux_id ux_file_id_swapped(const struct ux_id *id);

#endif
