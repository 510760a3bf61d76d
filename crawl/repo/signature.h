/* SPDX-License-Identifier: Apache-2.0 */
/* OpenPGP signatures of metadata, checked by gpgv in a process of its own. */
#ifndef UX_SIGNATURE_H
#define UX_SIGNATURE_H

#include "bytes.h"
#include "error.h"
#include "out.h"

enum {
	UX_KEYRINGS_MAX = 64,
	UX_SIGNED_BYTES_MAX = 32 << 20, /* bytes of a signed file: a large Release has 1 MiB */
};

/* The trusted keys: gpgv's files (.gpg, .kbx), or ASCII armour (.asc). */
struct ux_keyrings {
	const char *const *paths;
	size_t n;
};

/*
 * Checks a clear-signed text (InRelease), and appends the signed text to *ret: nothing outside of
 * the signature is used. One good signature by a trusted key is enough, as signatures of further
 * keys, which are not here, are usual. MD5, SHA-1 and RIPEMD-160 are too weak.
 *
 * UX_EDENIED: no good signature, or a bad one; the message tells which and names the key.
 * UX_ECORRUPT: not a clear-signed text. UX_EINVAL: no keyrings, or one that cannot be read.
 * UX_EUNSUPPORTED: gpgv is not installed. UX_EUNAVAILABLE: it did not end. Any thread. Source:
 * gpgv(1); doc/DETAILS of GnuPG.
 */
enum ux_code ux_signature_clear(const struct ux_keyrings *keys, struct ux_bytes text,
				struct ux_out *ret, struct ux_error *err) ux_must;

/* Checks a signature that is a file of its own (Release.gpg, repomd.xml.asc). Codes as above. */
enum ux_code ux_signature_detached(const struct ux_keyrings *keys, struct ux_bytes text,
				   struct ux_bytes signature, struct ux_error *err) ux_must;

/*
 * Reads gpgv's status output. Codes as above. It is a separate function for tests, which prove that
 * only a good status is accepted.
 */
enum ux_code ux_signature_status(struct ux_bytes status, struct ux_error *err) ux_must;

/*
 * Appends the bytes of a block in ASCII armour (RFC 9580, 6.2). UX_ECORRUPT: there is no block, or
 * it is damaged.
 */
enum ux_code ux_armour_decode(struct ux_bytes text, struct ux_out *ret, struct ux_error *err)
	ux_must;

#endif
