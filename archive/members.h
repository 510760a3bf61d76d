/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of an archive that can have symbols: object files, GSYMs, and archives inside of it.
 * They are written to a pack (source_pack.h).
 */
#ifndef UX_MEMBERS_H
#define UX_MEMBERS_H

#include "bundle.h"
#include "bytes.h"
#include "error.h"
#include "source_pack.h"

enum {
	/* including folders and links; a root file system of a distribution has 100,000 */
	UX_MEMBERS_MAX = 1000000,
	UX_MEMBERS_HEAD = 512, /* bytes of a file that ux_member_kind() reads at most */
};

enum ux_member_kind {
	UX_MEMBER_OTHER,
	UX_MEMBER_OBJECT, /* ELF or Mach-O, or a fat binary of GPU code */
	UX_MEMBER_PACKED, /* one file that is compressed as a whole */
	UX_MEMBER_GSYM,
	UX_MEMBER_ARCHIVE,
	UX_MEMBER_LINK, /* its content is the name of the member that has the content */
	UX_MEMBER_FOLDER,
	UX_MEMBER_KIND_COUNT
};

/*
 * Returns the kind of a file by its first bytes. If they only show a compression, its name decides:
 * a ".tar.gz", ".tgz" or ".apk" is an archive, another ".gz" is a packed file. An archive of object
 * files (.a) has no modules and is UX_MEMBER_OTHER.
 */
enum ux_member_kind ux_member_kind(struct ux_bytes head, const char *name);

/* Returns whether the path has a usual name of a compressed kernel module or debug file. */
bool ux_member_name_is_packed(const char *path);

/*
 * Splits a path of the pack, which begins with a folder that is the kind: "/object", "/packed",
 * "/gsym", "/archive", "/link", "/folder" or "/other". Sets *ret_name to the rest, which begins
 * with a slash. False: the path has no such folder.
 */
bool ux_member_of_path(const char *path, enum ux_member_kind *ret, const char **ret_name) ux_must;

enum ux_members_mode {
	UX_MEMBERS_SYMBOLS, /* members that can have symbols */
	/*
	 * these, and the names of all others, of links and folders: a file system needs them to
	 * know where a layer hides a file of the layer below it
	 */
	UX_MEMBERS_FILE_SYSTEM,
	UX_MEMBERS_CONTENTS, /* the contents of all files, and symbolic links */
};

/*
 * Packs the members of a tar, zip, ar, cpio or rpm archive, and with UX_MEMBERS_SYMBOLS of an .apk
 * of apk-tools 3 (UX_ECONFLICT: a file does not match its hash in the package), which may be
 * compressed by gzip, bzip2, xz, lzma, lz4 or zstd. Contents begin at multiples of 64 bytes. `max`
 * bounds the bytes of the contents. The archive is untrusted and is read by libarchive, so this
 * must run only in the confined child (sandbox.h). UX_ECORRUPT: it is damaged or truncated;
 * UX_EINVAL: a name leads above the root; UX_ELIMIT.
 */
enum ux_code ux_members_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
			       uint64_t max, enum ux_members_mode mode,
			       struct ux_source_packer *packer, struct ux_error *err) ux_must;

#endif
