/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, writes and checks minisign's signatures and keys, with libsodium. */
#include "minisign.h"

#include "text.h"

#include <sodium.h>

enum {
	ALGORITHM = 2,
	CHECKSUM = 32,
	SALT = 32,
	PUBLIC_BLOB = ALGORITHM + UX_MINISIGN_ID + UX_MINISIGN_PUBLIC,
	/* number, secret key, checksum: the part that a password encrypts */
	HIDDEN = UX_MINISIGN_ID + UX_MINISIGN_SECRET + CHECKSUM,
	SECRET_BLOB = 3 * ALGORITHM + SALT + 2 * 8 + HIDDEN,
	SIGNATURE_BLOB = ALGORITHM + UX_MINISIGN_ID + crypto_sign_BYTES,
	BLOB_MAX = SECRET_BLOB,
	LINE_BYTES_MAX = 1024,   /* bytes of a line of base64 */
	COMMENT_MAX = 4096,      /* bytes of a trusted comment */
	MEMORY_MAX = 2000 << 20, /* bytes that the derivation of a password may take */
};

static const char untrusted[] = "untrusted comment: ";
static const char trusted[] = "trusted comment: ";

static enum ux_code minisign_begin(struct ux_error *err)
{
	return sodium_init() >= 0
		       ? UX_OK
		       : ux_error_set(err, UX_EUNSUPPORTED, "cannot initialize libsodium");
}

/* Takes the next line, without its end; false: no more lines. */
static bool minisign_line(struct ux_bytes *text, struct ux_bytes *ret)
{
	if (!ux_text_take_line(text, ret))
		return false;
	if (ret->size > 0 && ret->data[ret->size - 1] == '\r')
		ret->size--;
	return true;
}

/* Decodes a line of base64 that has exactly n bytes. */
static bool minisign_decode(struct ux_bytes line, uint8_t *ret, size_t n)
{
	uint8_t bytes[LINE_BYTES_MAX];
	size_t got = 0;
	line = ux_trim(line);
	if (line.size > LINE_BYTES_MAX || !ux_base64_decode(line, bytes, &got) || got != n)
		return false;
	memcpy(ret, bytes, n);
	return true;
}

static void minisign_put_line(struct ux_out *out, const uint8_t *bytes, size_t n)
{
	char text[sodium_base64_ENCODED_LEN(BLOB_MAX, sodium_base64_VARIANT_ORIGINAL)];
	sodium_bin2base64(text, sizeof(text), bytes, n, sodium_base64_VARIANT_ORIGINAL);
	ux_out_fmt(out, "%s\n", text);
	sodium_memzero(text, sizeof(text));
}

/* Returns the line after the untrusted comment; a text of one line is that line. */
static struct ux_bytes minisign_body(struct ux_bytes *text)
{
	struct ux_bytes line = UX_BYTES_NONE;
	if (minisign_line(text, &line) && ux_bytes_starts(line, ux_bytes_cstr(untrusted)) &&
	    !minisign_line(text, &line))
		return UX_BYTES_NONE;
	return line;
}

enum ux_code ux_minisign_public_read(struct ux_bytes text, struct ux_minisign_public *ret,
				     struct ux_error *err)
{
	uint8_t blob[PUBLIC_BLOB];
	if (!minisign_decode(minisign_body(&text), blob, sizeof(blob)) ||
	    memcmp(blob, "Ed", ALGORITHM) != 0)
		return ux_error_set(err, UX_ECORRUPT, "not a minisign public key");
	memcpy(ret->id, blob + ALGORITHM, sizeof(ret->id));
	memcpy(ret->key, blob + ALGORITHM + UX_MINISIGN_ID, sizeof(ret->key));
	return UX_OK;
}

/* Computes the checksum of a secret key: over the algorithm, its number and itself. */
static void minisign_checksum(const uint8_t *hidden, uint8_t ret[CHECKSUM])
{
	crypto_generichash_state state;
	(void)crypto_generichash_init(&state, NULL, 0, CHECKSUM);
	(void)crypto_generichash_update(&state, (const uint8_t *)"Ed", ALGORITHM);
	(void)crypto_generichash_update(&state, hidden, UX_MINISIGN_ID + UX_MINISIGN_SECRET);
	(void)crypto_generichash_final(&state, ret, CHECKSUM);
}

static uint64_t minisign_u64(const uint8_t *p)
{
	uint64_t v = 0;
	for (size_t i = 0; i < sizeof(v); i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* Decrypts the hidden part with the password: XORs it with a stream derived from the password. */
static enum ux_code minisign_unlock(const uint8_t *salt, const char *password, uint8_t *hidden,
				    struct ux_error *err)
{
	uint8_t stream[HIDDEN];
	const uint64_t work = minisign_u64(salt + SALT), memory = minisign_u64(salt + SALT + 8);
	if (!password)
		return ux_error_set(err, UX_EDENIED,
				    "the secret key is encrypted, and no password was given");
	if (memory > MEMORY_MAX || work > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "decrypting the key needs too much memory: %" PRIu64 " bytes",
				    memory);
	if (crypto_pwhash_scryptsalsa208sha256(stream, sizeof(stream), password, strlen(password),
					       salt, work, (size_t)memory) != 0)
		return ux_error_nomem(err);
	for (size_t i = 0; i < HIDDEN; i++)
		hidden[i] ^= stream[i];
	sodium_memzero(stream, sizeof(stream));
	return UX_OK;
}

static enum ux_code minisign_open_secret(uint8_t *blob, const char *password,
					 struct ux_minisign_secret *ret, struct ux_error *err)
{
	static const uint8_t no_password[ALGORITHM] = {0, 0};
	uint8_t checksum[CHECKSUM];
	uint8_t *salt = blob + 3 * ALGORITHM, *hidden = salt + SALT + 2 * 8;
	bool locked = memcmp(blob + ALGORITHM, "Sc", ALGORITHM) == 0;
	if (memcmp(blob, "Ed", ALGORITHM) != 0 ||
	    memcmp(blob + 2 * ALGORITHM, "B2", ALGORITHM) != 0 ||
	    (!locked && memcmp(blob + ALGORITHM, no_password, ALGORITHM) != 0))
		return ux_error_set(err, UX_ECORRUPT, "not a minisign secret key");
	if (locked)
		UX_TRY(minisign_unlock(salt, password, hidden, err));
	minisign_checksum(hidden, checksum);
	if (sodium_memcmp(checksum, hidden + UX_MINISIGN_ID + UX_MINISIGN_SECRET, CHECKSUM) != 0)
		return locked ? ux_error_set(err, UX_EDENIED, "the password is wrong")
			      : ux_error_set(err, UX_ECORRUPT, "the secret key is damaged");
	memcpy(ret->id, hidden, sizeof(ret->id));
	memcpy(ret->key, hidden + UX_MINISIGN_ID, sizeof(ret->key));
	return UX_OK;
}

enum ux_code ux_minisign_secret_read(struct ux_bytes text, const char *password,
				     struct ux_minisign_secret *ret, struct ux_error *err)
{
	uint8_t blob[SECRET_BLOB];
	UX_TRY(minisign_begin(err));
	if (!minisign_decode(minisign_body(&text), blob, sizeof(blob)))
		return ux_error_set(err, UX_ECORRUPT, "not a minisign secret key");
	enum ux_code code = minisign_open_secret(blob, password, ret, err);
	sodium_memzero(blob, sizeof(blob));
	return code;
}

/* Computes the hash of a message, which is signed in place of it. */
static void minisign_hash(struct ux_bytes message, uint8_t ret[crypto_generichash_BYTES_MAX])
{
	(void)crypto_generichash(ret, crypto_generichash_BYTES_MAX, message.data, message.size,
				 NULL, 0);
}

enum ux_code ux_minisign_verify(const struct ux_minisign_public *key, struct ux_bytes message,
				struct ux_bytes signature, struct ux_error *err)
{
	uint8_t blob[SIGNATURE_BLOB], whole[crypto_sign_BYTES];
	uint8_t hash[crypto_generichash_BYTES_MAX];
	uint8_t signed_comment[crypto_sign_BYTES + COMMENT_MAX];
	struct ux_bytes comment = UX_BYTES_NONE, line = UX_BYTES_NONE;
	const struct ux_bytes prefix = ux_bytes_cstr(trusted);
	UX_TRY(minisign_begin(err));
	if (!minisign_decode(minisign_body(&signature), blob, sizeof(blob)) ||
	    !minisign_line(&signature, &comment) || !ux_bytes_starts(comment, prefix) ||
	    comment.size - prefix.size > COMMENT_MAX || !minisign_line(&signature, &line) ||
	    !minisign_decode(line, whole, sizeof(whole)))
		return ux_error_set(err, UX_ECORRUPT, "not a minisign signature");
	bool hashed = memcmp(blob, "ED", ALGORITHM) == 0;
	if (!hashed && memcmp(blob, "Ed", ALGORITHM) != 0)
		return ux_error_set(err, UX_ECORRUPT, "the signature has an unknown algorithm");
	if (memcmp(blob + ALGORITHM, key->id, sizeof(key->id)) != 0)
		return ux_error_set(err, UX_ECORRUPT, "the signature was made with another key");
	if (hashed) {
		minisign_hash(message, hash);
		message = ux_bytes(hash, sizeof(hash));
	}
	const uint8_t *sig = blob + ALGORITHM + UX_MINISIGN_ID;
	if (crypto_sign_verify_detached(sig, message.data, message.size, key->key) != 0)
		return ux_error_set(err, UX_ECORRUPT, "the signature is not valid");
	comment = ux_bytes(comment.data + prefix.size, comment.size - prefix.size);
	memcpy(signed_comment, sig, crypto_sign_BYTES);
	if (comment.size > 0)
		memcpy(signed_comment + crypto_sign_BYTES, comment.data, comment.size);
	if (crypto_sign_verify_detached(whole, signed_comment, crypto_sign_BYTES + comment.size,
					key->key) != 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "the signature of the trusted comment is not valid");
	return UX_OK;
}

enum ux_code ux_minisign_sign(const struct ux_minisign_secret *key, struct ux_bytes message,
			      struct ux_out *ret, struct ux_error *err)
{
	/* constant, so that equal manifests have equal signatures */
	static const char comment[] = "unhex manifest";
	uint8_t blob[SIGNATURE_BLOB], whole[crypto_sign_BYTES];
	uint8_t hash[crypto_generichash_BYTES_MAX];
	uint8_t signed_comment[crypto_sign_BYTES + sizeof(comment) - 1];
	uint8_t *sig = blob + ALGORITHM + UX_MINISIGN_ID;
	UX_TRY(minisign_begin(err));
	minisign_hash(message, hash);
	memcpy(blob, "ED", ALGORITHM);
	memcpy(blob + ALGORITHM, key->id, sizeof(key->id));
	(void)crypto_sign_detached(sig, NULL, hash, sizeof(hash), key->key);
	memcpy(signed_comment, sig, crypto_sign_BYTES);
	memcpy(signed_comment + crypto_sign_BYTES, comment, sizeof(comment) - 1);
	(void)crypto_sign_detached(whole, NULL, signed_comment, sizeof(signed_comment), key->key);
	ux_out_fmt(ret, "%ssignature of unhex clone\n", untrusted);
	minisign_put_line(ret, blob, sizeof(blob));
	ux_out_fmt(ret, "%s%s\n", trusted, comment);
	minisign_put_line(ret, whole, sizeof(whole));
	return ux_out_status(ret, err);
}

enum ux_code ux_minisign_generate(struct ux_out *secret, struct ux_out *public_key,
				  struct ux_error *err)
{
	uint8_t blob[SECRET_BLOB] = {0}, open[PUBLIC_BLOB];
	uint8_t *hidden = blob + 3 * ALGORITHM + SALT + 2 * 8;
	UX_TRY(minisign_begin(err));
	memcpy(open, "Ed", ALGORITHM);
	randombytes_buf(open + ALGORITHM, UX_MINISIGN_ID);
	memcpy(hidden, open + ALGORITHM, UX_MINISIGN_ID);
	(void)crypto_sign_keypair(open + ALGORITHM + UX_MINISIGN_ID, hidden + UX_MINISIGN_ID);
	memcpy(blob, "Ed\0\0B2", 3 * ALGORITHM);
	minisign_checksum(hidden, hidden + UX_MINISIGN_ID + UX_MINISIGN_SECRET);
	ux_out_fmt(secret, "%sminisign secret key, without a password\n", untrusted);
	minisign_put_line(secret, blob, sizeof(blob));
	ux_out_fmt(public_key, "%sminisign public key %016" PRIX64 "\n", untrusted,
		   minisign_u64(open + ALGORITHM));
	minisign_put_line(public_key, open, sizeof(open));
	sodium_memzero(blob, sizeof(blob));
	UX_TRY(ux_out_status(secret, err));
	return ux_out_status(public_key, err);
}

void ux_minisign_secret_wipe(struct ux_minisign_secret *key)
{
	sodium_memzero(key, sizeof(*key));
}
