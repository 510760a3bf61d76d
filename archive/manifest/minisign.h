/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures and keys of minisign (Ed25519), as files of that program. Source: minisign(1) and
 * "Minisign", sections "Signature format" and "Secret key format".
 */
#ifndef UX_MINISIGN_H
#define UX_MINISIGN_H

#include "bytes.h"
#include "error.h"
#include "out.h"

enum {
	UX_MINISIGN_ID = 8,         /* bytes of a key's number */
	UX_MINISIGN_PUBLIC = 32,    /* bytes of a public key */
	UX_MINISIGN_SECRET = 64,    /* bytes of a secret key */
	UX_MINISIGN_FILE_MAX = 8192 /* bytes of a file that is read */
};

struct ux_minisign_public {
	uint8_t id[UX_MINISIGN_ID];
	uint8_t key[UX_MINISIGN_PUBLIC];
};

struct ux_minisign_secret {
	uint8_t id[UX_MINISIGN_ID];
	uint8_t key[UX_MINISIGN_SECRET];
};

/*
 * Reads a public key: the text of its file, or its one line of base64. UX_ECORRUPT. All functions
 * here: UX_EUNSUPPORTED if unhex was built without libsodium.
 */
enum ux_code ux_minisign_public_read(struct ux_bytes text, struct ux_minisign_public *ret,
				     struct ux_error *err) ux_must;

/*
 * Reads the file of a secret key. password: for a key that has one; NULL: unknown. UX_EDENIED: it
 * is missing or wrong; UX_ECORRUPT; UX_ENOMEM: the key was made to need more memory.
 */
enum ux_code ux_minisign_secret_read(struct ux_bytes text, const char *password,
				     struct ux_minisign_secret *ret, struct ux_error *err) ux_must;

/*
 * Verifies the text of a signature's file over a message, and its trusted comment. Accepts both
 * forms: over a hash of the message ("ED", which minisign writes) and over the message itself
 * ("Ed"). UX_ECORRUPT: it is not valid, or by another key.
 */
enum ux_code ux_minisign_verify(const struct ux_minisign_public *key, struct ux_bytes message,
				struct ux_bytes signature, struct ux_error *err) ux_must;

/* Appends the text of a signature's file. The same key and message always give the same bytes. */
enum ux_code ux_minisign_sign(const struct ux_minisign_secret *key, struct ux_bytes message,
			      struct ux_out *ret, struct ux_error *err) ux_must;

/* Makes a pair of keys and appends the texts of their files; the secret one has no password. */
enum ux_code ux_minisign_generate(struct ux_out *secret, struct ux_out *public_key,
				  struct ux_error *err) ux_must;

/* Overwrites a secret key. */
void ux_minisign_secret_wipe(struct ux_minisign_secret *key);

#endif
