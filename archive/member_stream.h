/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a package that can have symbols, while it arrives: without seeking, and with only
 * a piece of the current member in memory.
 */
#ifndef UX_MEMBER_STREAM_H
#define UX_MEMBER_STREAM_H

#include "bundle.h"
#include "bytes.h"
#include "error.h"
#include "members.h"

/* Reads at most n bytes. *ret 0: the end. */
typedef enum ux_code ux_stream_read_fn(void *ctx, void *to, size_t n, size_t *ret,
				       struct ux_error *err);

struct ux_stream_source {
	ux_stream_read_fn *read;
	void *ctx;
	/*
	 * The SHA-256 of the metadata of an .apk of version 3, or its first 20 bytes, from its
	 * repository; empty: unknown. Other packages have a hash of their bytes.
	 */
	struct ux_bytes identity;
};

/* Receives the members. Any code other than UX_OK ends the reading with that code. */
struct ux_stream_sink {
	/*
	 * A member begins: UX_MEMBER_OBJECT, UX_MEMBER_GSYM, or UX_MEMBER_PACKED for a kernel
	 * module or debug file that is compressed as a whole. name: canonical, with a leading
	 * slash. size: bytes, as its header tells.
	 */
	enum ux_code (*begin)(void *ctx, enum ux_member_kind kind, const char *name, uint64_t size,
			      struct ux_error *err);
	enum ux_code (*put)(void *ctx, struct ux_bytes bytes, struct ux_error *err);
	enum ux_code (*end)(void *ctx, struct ux_error *err);
	void *ctx;
};

enum {
	/* unpacked bytes for each byte of the package... */
	UX_STREAM_RATIO_MAX = 200,
	UX_STREAM_FREE_SIZE = 256 << 20, /* ...and in addition */
	UX_STREAM_IDENTITY_MAX = 32,
};

#define UX_STREAM_MEMBER_MAX (UINT64_C(8) << 30)  /* bytes of one member */
#define UX_STREAM_TOTAL_MAX  (UINT64_C(64) << 30) /* bytes of all members, wanted or not */

/*
 * Reads a package from the source to its end, including bytes after the end of its archive: .deb
 * (tar inside of ar), rpm, .apk, tar and cpio, compressed by gzip, bzip2, xz, lzma, lz4 or zstd.
 * Archives among the files of a package are not read. The package is untrusted and is read by
 * libarchive, so this must run only in the confined child (sandbox.h). UX_ECORRUPT: it is damaged
 * or truncated; UX_EINVAL: a name leads above the root; UX_ELIMIT: its content exceeds
 * UX_STREAM_RATIO_MAX or another limit; UX_ECONFLICT: an .apk of version 3 has a different hash;
 * codes of the source and the sink.
 */
enum ux_code ux_member_stream_read(const struct ux_archive_calls *calls,
				   const struct ux_stream_source *source,
				   const struct ux_stream_sink *sink, struct ux_error *err) ux_must;

#endif
