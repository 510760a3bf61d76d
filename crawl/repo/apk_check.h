/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the bytes of an .apk of version 2 are those that a signed index names. The file is two or
 * three parts, each compressed by gzip: perhaps a signature, which the index replaces, then a tar
 * with .PKGINFO, whose SHA-1 the index has, then the data, whose SHA-256 is the datahash of
 * .PKGINFO. Nothing is read of a part that is not signed but the frames of gzip and tar around the
 * signature. An index of apk-tools 3 has the SHA-256 instead of the SHA-1, also of packages of
 * version 3: these have their hashes inside of what is compressed, so that the confined child that
 * unpacks them checks them (member_stream.h), and nothing is checked here. Source: abuild-sign(1),
 * apk-package(5), apk-v3(5), apk-spec of the Alpine wiki.
 */
#ifndef UX_APK_CHECK_H
#define UX_APK_CHECK_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "package.h"

#include <nettle/sha2.h>

enum {
	UX_APK_HEAD_MAX = 4 << 20, /* bytes of the first two parts; scripts take some kilobytes */
};

struct ux_apk_check {
	struct ux_out head; /* until the data begin */
	bool in_data;
	bool elsewhere; /* version 3, which is not checked here */
	struct sha256_ctx data;
	struct ux_apk_identity identity;           /* as the index has it */
	uint8_t datahash[UX_PACKAGE_SHA256_BYTES]; /* as .PKGINFO has it */
	struct ux_error err;
};

void ux_apk_check_init(struct ux_apk_check *c, const struct ux_apk_identity *identity);

/* The next bytes of the file. What is wrong with them is said by ux_apk_check_end(). */
void ux_apk_check_put(struct ux_apk_check *c, struct ux_bytes bytes);

/*
 * The file has ended. UX_ECORRUPT: it is none, or another one than that of the index; the message
 * says which part. UX_ENOMEM.
 */
enum ux_code ux_apk_check_end(struct ux_apk_check *c, struct ux_error *err) ux_must;
void ux_apk_check_deinit(struct ux_apk_check *c);

#endif
