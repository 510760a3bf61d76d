/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies signatures of Alpine's indexes, with GnuTLS. */
#include "index_formats.h"

#include "file.h"
#include "gnutls_calls.h"

#include <dirent.h>
#include <nettle/sha2.h>
#include <sys/stat.h>

enum {
	KEY_MAX = 64 << 10,
	KEYS_MAX = 256, /* in one folder; all of them are tried */
	SCHEMA = 4,
};

/* Finds the key's file in one of the folders, or among the files themselves. */
static enum ux_code apk_find_key(const struct ux_keyrings *keys, const char *name,
				 struct ux_mapping *ret, struct ux_error *err)
{
	for (size_t i = 0; i < keys->n; i++) {
		char path[PATH_MAX];
		struct stat st;
		const char *base = strrchr(keys->paths[i], '/');
		base = base ? base + 1 : keys->paths[i];
		bool folder = stat(keys->paths[i], &st) == 0 && S_ISDIR(st.st_mode);
		if (!folder && strcmp(base, name) != 0)
			continue;
		int n = snprintf(path, sizeof(path), "%s%s%s", keys->paths[i], folder ? "/" : "",
				 folder ? name : "");
		if (n > 0 && (size_t)n < sizeof(path) && ux_file_map(path, ret, NULL) == UX_OK)
			return UX_OK;
	}
	return ux_error_set(err, UX_EDENIED, "bad signature: key %.80s is not in the keyrings",
			    name);
}

static enum ux_code apk_verify(struct ux_bytes pem, const struct ux_apk_signature *s,
			       struct ux_bytes data, struct ux_error *err)
{
	gnutls_pubkey_t key = NULL;
	const gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem.data, (unsigned)pem.size};
	const gnutls_datum_t bytes = {(unsigned char *)(uintptr_t)data.data, (unsigned)data.size};
	const gnutls_datum_t sig = {(unsigned char *)(uintptr_t)s->signature.data,
				    (unsigned)s->signature.size};
	gnutls_sign_algorithm_t algorithm = s->hash_bits == 512   ? GNUTLS_SIGN_RSA_SHA512
					    : s->hash_bits == 256 ? GNUTLS_SIGN_RSA_SHA256
								  : GNUTLS_SIGN_RSA_SHA1;
	if (pem.size > KEY_MAX || gnutls_pubkey_init(&key) != 0)
		return ux_error_set(err, UX_EDENIED, "bad signature: key %.80s is not a valid key",
				    s->key);
	int r = gnutls_pubkey_import(key, &text, GNUTLS_X509_FMT_PEM);
	if (r == 0)
		r = gnutls_pubkey_verify_data2(key, algorithm, GNUTLS_VERIFY_ALLOW_SIGN_WITH_SHA1,
					       &bytes, &sig);
	gnutls_pubkey_deinit(key);
	return r >= 0 ? UX_OK
		      : ux_error_set(err, UX_EDENIED,
				     "bad signature: the index does not match its signature by key "
				     "%.80s",
				     s->key);
}

enum ux_code ux_apk_key_verify(const struct ux_keyrings *keys, const struct ux_apk_signature *s,
			       struct ux_bytes data, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping key = {0};
	UX_TRY(ux_gnutls_load(err));
	UX_TRY(apk_find_key(keys, s->key, &key, err));
	return apk_verify(key.bytes, s, data, err);
}

/* --- indexes of apk-tools 3 ------------------------------------------------------------------- */

/* Returns the signed bytes: the schema, the head of the signature, the SHA-512 of the values. */
static gnutls_datum_t adb_signed(const struct ux_apk_adb *adb, const struct ux_apk_adb_signature *s,
				 uint8_t to[SCHEMA + UX_APK_ADB_HEAD + SHA512_DIGEST_SIZE])
{
	struct sha512_ctx ctx;
	memcpy(to, "indx", SCHEMA);
	memcpy(to + SCHEMA, s->head, UX_APK_ADB_HEAD);
	sha512_init(&ctx);
	sha512_update(&ctx, adb->values.size, adb->values.data);
	sha512_digest(&ctx, SHA512_DIGEST_SIZE, to + SCHEMA + UX_APK_ADB_HEAD);
	return (gnutls_datum_t){to, SCHEMA + UX_APK_ADB_HEAD + SHA512_DIGEST_SIZE};
}

static bool adb_key_signed(struct ux_bytes pem, const gnutls_datum_t *data,
			   const struct ux_apk_adb_signature *s)
{
	gnutls_pubkey_t key = NULL;
	const gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem.data, (unsigned)pem.size};
	const gnutls_datum_t sig = {(unsigned char *)(uintptr_t)s->signature.data,
				    (unsigned)s->signature.size};
	if (pem.size > KEY_MAX || gnutls_pubkey_init(&key) != 0)
		return false;
	int r = gnutls_pubkey_import(key, &text, GNUTLS_X509_FMT_PEM);
	if (r == 0) {
		int pk = gnutls_pubkey_get_pk_algorithm(key, NULL);
		gnutls_sign_algorithm_t by =
			gnutls_pk_to_sign((gnutls_pk_algorithm_t)pk, GNUTLS_DIG_SHA512);
		r = gnutls_pubkey_verify_data2(key, by, 0, data, &sig);
	}
	gnutls_pubkey_deinit(key);
	return r >= 0;
}

/* Returns whether one of the signatures is by the key in the file. */
static bool adb_file_signed(const char *path, const struct ux_apk_adb *adb)
{
	uint8_t text[SCHEMA + UX_APK_ADB_HEAD + SHA512_DIGEST_SIZE];
	ux_cleanup(ux_file_unmap) struct ux_mapping key = {0};
	bool good = false;
	if (ux_file_map(path, &key, NULL) != UX_OK)
		return false;
	for (size_t i = 0; i < adb->n_signatures && !good; i++) {
		const gnutls_datum_t data = adb_signed(adb, &adb->signatures[i], text);
		good = adb_key_signed(key.bytes, &data, &adb->signatures[i]);
	}
	return good;
}

static bool adb_folder_signed(const char *folder, const struct ux_apk_adb *adb)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry = NULL;
	bool good = false;
	for (unsigned n = 0; dir && !good && n < KEYS_MAX && (entry = readdir(dir)); n++) {
		char path[PATH_MAX];
		int size = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		good = entry->d_name[0] != '.' && size > 0 && (size_t)size < sizeof(path) &&
		       adb_file_signed(path, adb);
	}
	if (dir)
		(void)closedir(dir);
	return good;
}

enum ux_code ux_apk_adb_verify(const struct ux_keyrings *keys, const struct ux_apk_adb *adb,
			       struct ux_error *err)
{
	UX_TRY(ux_gnutls_load(err));
	if (adb->n_signatures == 0)
		return ux_error_set(err, UX_EDENIED, "bad signature: missing");
	for (size_t i = 0; i < keys->n; i++) {
		struct stat st;
		bool folder = stat(keys->paths[i], &st) == 0 && S_ISDIR(st.st_mode);
		if (folder ? adb_folder_signed(keys->paths[i], adb)
			   : adb_file_signed(keys->paths[i], adb))
			return UX_OK;
	}
	return ux_error_set(err, UX_EDENIED,
			    "bad signature: no key in the keyrings verifies the index");
}
