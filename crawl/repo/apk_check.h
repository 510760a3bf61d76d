/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the bytes of an .apk of version 2 against a signed index. The file has two or three gzip
 * members: perhaps a signature, which the index replaces; then a tar with .PKGINFO, whose SHA-1 is
 * in the index; then the data, whose SHA-256 is the datahash of .PKGINFO. Of a part that is not
 * signed, only the gzip and tar frames around the signature are read. An index of apk-tools 3 has
 * the SHA-256 instead of the SHA-1, also for packages of version 3: these have their hashes inside
 * the compressed content, so the confined child that unpacks them checks them (member_stream.h),
 * and nothing is checked here. Source: abuild-sign(1), apk-package(5), apk-v3(5), apk-spec of the
 * Alpine wiki.
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
	struct ux_out head; /* the parts before the data */
	bool in_data;
	bool elsewhere; /* version 3, which is not checked here */
	struct sha256_ctx data;
	struct ux_apk_identity identity;           /* from the index */
	uint8_t datahash[UX_PACKAGE_SHA256_BYTES]; /* from .PKGINFO */
	struct ux_error err;
};

void ux_apk_check_init(struct ux_apk_check *c, const struct ux_apk_identity *identity);

/* Takes the next bytes of the file. ux_apk_check_end() reports any fault. */
void ux_apk_check_put(struct ux_apk_check *c, struct ux_bytes bytes);

/*
 * Ends the file. UX_ECORRUPT: it is not an .apk, or another one than the index names; the message
 * tells which part differs. UX_ENOMEM.
 */
enum ux_code ux_apk_check_end(struct ux_apk_check *c, struct ux_error *err) ux_must;
void ux_apk_check_deinit(struct ux_apk_check *c);

#endif
