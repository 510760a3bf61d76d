/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of sections of any object format: as they are in the file, decompressed in one call, or
 * decompressed front to back while they are read.
 *
 * Two forms of compression (gABI, "Section Compression"; the older one is the GNU tools' own, and
 * Go's in Mach-O files):
 *   SHF_COMPRESSED   Chdr in the file's class and byte order (32 bit: type, size, alignment, 4
 *                    bytes each; 64 bit: type and 4 unused bytes, size, alignment, 8 bytes each),
 *                    then a zlib or zstd stream
 *   .zdebug_*        "ZLIB", the inflated size as 8 big-endian bytes, then a zlib stream
 * Producers that concatenate such sections leave several streams after one header; they are read as
 * one stream.
 */
#ifndef UX_SECTION_CONTENT_H
#define UX_SECTION_CONTENT_H

#include "bytes.h"
#include "error.h"
#include "region.h"

enum ux_packing {
	UX_PACKING_NONE,
	UX_PACKING_CHDR, /* SHF_COMPRESSED */
	UX_PACKING_GNU,  /* .zdebug_* */
};

/*
 * A section as it is stored. The bytes belong to the file, which must outlive everything made from
 * this struct.
 */
struct ux_section_bytes {
	const char *name; /* for messages */
	struct ux_bytes raw;
	enum ux_packing packing;
	bool is64; /* the file's class, which decides the layout of a Chdr */
	bool swap; /* its byte order is not the machine's */
	/* It was mapped by ux_file_map(): pages of compressed content are given back as soon as it
	 * is decompressed. */
	bool mapped;
};

/* Content of a section: a slice of the file, or allocated memory when it had to be decompressed. */
struct ux_content {
	struct ux_bytes bytes;
	uint8_t *owned; /* NULL, or the allocated memory that `bytes` refers to */
	bool spilled;   /* `owned` is a region in a file (region.h), else it is malloc'ed */
};

/*
 * Returns true for a section that is named .zdebug_* and is compressed in the GNU tools' older
 * form.
 */
bool ux_section_is_gnu_packed(const char *name, struct ux_bytes raw);

/*
 * Loads the section's content, decompressed if necessary (zlib by libdeflate, or zstd). max_size
 * limits the decompressed size (UX_ELIMIT); a header with a wrong size is UX_ECORRUPT. spill: where
 * decompressed content is stored in files; NULL: in memory. *ret is set on success.
 */
enum ux_code ux_content_load(const struct ux_section_bytes *section, uint64_t max_size,
			     struct ux_spill *spill, struct ux_content *ret, struct ux_error *err)
	ux_must;
/* As ux_content_load(), but always into allocated memory, which may be written to. */
enum ux_code ux_content_load_copy(const struct ux_section_bytes *section, uint64_t max_size,
				  struct ux_spill *spill, struct ux_content *ret,
				  struct ux_error *err) ux_must;
void ux_content_free(struct ux_content *content);

/* Returns the size of the loaded content as the header states it; 0 when the header is damaged. */
uint64_t ux_content_size(const struct ux_section_bytes *section);

/*
 * A stream that decompresses a zlib section from front to back, a part at a time. Each part can be
 * used while the next is decompressed, and be released afterwards. If the whole section is needed
 * in memory, ux_content_load() is a twelfth faster.
 */
struct ux_section_stream;

/*
 * Opens the stream; *ret_size is how many bytes it will produce. UX_EUNSUPPORTED: the section is
 * not compressed with zlib, or the library was built without ISA-L. Wrong headers and max_size are
 * handled as by ux_content_load().
 */
enum ux_code ux_section_stream_open(const struct ux_section_bytes *section, uint64_t max_size,
				    struct ux_section_stream **ret, uint64_t *ret_size,
				    struct ux_error *err) ux_must;
struct ux_section_stream *ux_section_stream_close(struct ux_section_stream *stream);

/* Begins at the start of the section again. */
void ux_section_stream_rewind(struct ux_section_stream *stream);

/*
 * Writes the next n bytes, at most the bytes that are left, to `to`. UX_ECORRUPT: the stream is
 * damaged, or does not have the size that its header states. One thread at a time.
 */
enum ux_code ux_section_stream_read(struct ux_section_stream *stream, uint8_t *to, size_t n,
				    struct ux_error *err) ux_must;

/* A decompressed section. Every byte of it has an address, but only a window of it is in memory. */
struct ux_section_window;

/*
 * Opens the window; *ret_bytes is the address range of the whole content. Only the bytes that
 * ux_section_window_fill() has produced may be read. spill: where the window is (region.h); NULL:
 * in memory. UX_EUNSUPPORTED as of ux_section_stream_open().
 */
enum ux_code ux_section_window_open(const struct ux_section_bytes *section, uint64_t max_size,
				    struct ux_spill *spill, struct ux_section_window **ret,
				    struct ux_bytes *ret_bytes, struct ux_error *err) ux_must;
void ux_section_window_close(struct ux_section_window *window);

/* Empties the window and begins at the start of the section again. No other thread may use it. */
void ux_section_window_rewind(struct ux_section_window *window);

/*
 * Decompresses everything before `end`, or to the end of the section. Only one thread at a time may
 * call it; others may read the bytes that were produced before.
 */
enum ux_code ux_section_window_fill(struct ux_section_window *window, uint64_t end,
				    struct ux_error *err) ux_must;

/*
 * Releases the memory before `start`, which no thread may read any more. It must not run at the
 * same time as ux_section_window_fill().
 */
void ux_section_window_release(struct ux_section_window *window, uint64_t start);

#endif
