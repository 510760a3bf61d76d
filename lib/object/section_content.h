/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of sections of any object format: as they are in the file, inflated at once, or inflated
 * front to back while they are read.
 *
 * Two forms of compression (gABI, "Section Compression"; the older one is the GNU tools' own, and
 * Go's in Mach-O files):
 *   SHF_COMPRESSED   Chdr in the file's class and byte order (32 bit: type, size, alignment, 4
 *                    bytes each; 64 bit: type and 4 unused bytes, size, alignment, 8 bytes each),
 *                    then a zlib or zstd stream
 *   .zdebug_*        "ZLIB", the inflated size as 8 big-endian bytes, then a zlib stream
 * Producers that join such sections leave several streams behind one header; they count as one.
 */
#ifndef UX_SECTION_CONTENT_H
#define UX_SECTION_CONTENT_H

#include "bytes.h"
#include "error.h"

enum ux_packing {
	UX_PACKING_NONE,
	UX_PACKING_CHDR, /* SHF_COMPRESSED */
	UX_PACKING_GNU,  /* .zdebug_* */
};

/* A section as it is stored. The bytes are the file's, which must outlive what is made of them. */
struct ux_section_bytes {
	const char *name; /* for messages */
	struct ux_bytes raw;
	enum ux_packing packing;
	bool is64; /* the class of a Chdr */
	bool swap; /* its byte order is not the machine's */
};

/* Content of a section: a slice of the file, or memory of its own when it had to be inflated. */
struct ux_content {
	struct ux_bytes bytes;
	uint8_t *owned; /* NULL, or where bytes points to */
	bool spilled;   /* owned is a region of the disk (region.h), else malloc'ed */
};

/* True for the content of a section that is called .zdebug_* and is packed as GNU's tools did. */
bool ux_section_is_gnu_packed(const char *name, struct ux_bytes raw);

/*
 * The bytes as the producer meant them: inflated (zlib by libdeflate, zstd) when packed. max_size
 * bounds the inflated size (UX_ELIMIT); a header with a wrong size is UX_ECORRUPT. spill: NULL, or
 * the folder whose disk is to hold what is inflated. *ret is set on success.
 */
enum ux_code ux_content_load(const struct ux_section_bytes *section, uint64_t max_size,
			     const char *spill, struct ux_content *ret, struct ux_error *err)
	ux_must;
/* The same, but always memory of its own, which may be written to. */
enum ux_code ux_content_load_copy(const struct ux_section_bytes *section, uint64_t max_size,
				  const char *spill, struct ux_content *ret, struct ux_error *err)
	ux_must;
void ux_content_free(struct ux_content *content);

/* The size that ux_content_load() would give, by the header alone; 0 for a damaged one. */
uint64_t ux_content_size(const struct ux_section_bytes *section);

/*
 * A zlib section inflated front to back, a part at a time: what is there can be read while the rest
 * is made, and be released afterwards. ux_content_load() is a twelfth faster where all of it is
 * needed at once.
 */
struct ux_section_stream;

/*
 * Opens the section; *ret_size is how many bytes it will give. UX_EUNSUPPORTED: it is not
 * compressed by zlib, or the library was built without ISA-L. Wrong headers and max_size are as of
 * ux_content_load().
 */
enum ux_code ux_section_stream_open(const struct ux_section_bytes *section, uint64_t max_size,
				    struct ux_section_stream **ret, uint64_t *ret_size,
				    struct ux_error *err) ux_must;
struct ux_section_stream *ux_section_stream_close(struct ux_section_stream *stream);

/*
 * The next n bytes, not more than are left, to `to`. UX_ECORRUPT: the stream is damaged, or ends
 * elsewhere than its header says. One thread at a time.
 */
enum ux_code ux_section_stream_read(struct ux_section_stream *stream, uint8_t *to, size_t n,
				    struct ux_error *err) ux_must;

/* Such a stream with the addresses of all of its bytes: a window of them is in memory. */
struct ux_section_window;

/*
 * Opens the section; *ret_bytes is where its bytes will be, all of them: only what
 * ux_section_window_fill() made may be read. UX_EUNSUPPORTED as of ux_section_stream_open().
 */
enum ux_code ux_section_window_open(const struct ux_section_bytes *section, uint64_t max_size,
				    struct ux_section_window **ret, struct ux_bytes *ret_bytes,
				    struct ux_error *err) ux_must;
void ux_section_window_close(struct ux_section_window *window);

/* Inflates everything in front of `end`, or to the end. One thread at a time; others may read what
 * is there. */
enum ux_code ux_section_window_fill(struct ux_section_window *window, uint64_t end,
				    struct ux_error *err) ux_must;

/* Releases the memory of what is in front of `start`, which no thread reads any more. Not beside
 * ux_section_window_fill(). */
void ux_section_window_release(struct ux_section_window *window, uint64_t start);

#endif
