/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alpine's repositories. APKINDEX.tar.gz is two gzip members: a tar with the signature of the bytes
 * of the second one by an RSA key, and a tar with APKINDEX. The key is a file of the name that the
 * signature's name ends with, in the folder of keys (/etc/apk/keys). Alpine signs the SHA-1 of an
 * index; whoever can make another index of the same SHA-1 has to have made this one too.
 */
#include "file.h"
#include "index_formats.h"
#include "packed_file.h"
#include "repo_url.h"
#include "repository.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <libdeflate.h>
#include <nettle/sha2.h>
#include <sys/stat.h>

enum {
	INDEX_MOST = 256 << 20, /* bytes as it is sent; main of Alpine has 500 kB */
	TAR_MOST = 1 << 30,     /* and unpacked */
	SIGNATURE_MOST = 64 << 10,
	KEY_MOST = 64 << 10,
	URL_MEMORY = 64 << 10,
};

/* Unpacks the first gzip member, which is small, and sets *ret_size to its packed bytes. */
static enum ux_code apk_unpack_first(struct ux_bytes file, uint8_t *to, size_t *ret_made,
				     size_t *ret_size, struct ux_error *err)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (!d)
		return ux_error_nomem(err);
	enum libdeflate_result r = libdeflate_gzip_decompress_ex(
		d, file.data, file.size, to, SIGNATURE_MOST, ret_size, ret_made);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS
		       ? UX_OK
		       : ux_error_set(err, UX_EDENIED,
				      "bad signature: no signed index: its first part is no small "
				      "gzip member");
}

/* The key's file in one of the folders, or one of the files itself. */
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
	return ux_error_set(err, UX_EDENIED,
			    "bad signature: by a key that is not in the keyrings: %.80s", name);
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
	if (pem.size > KEY_MOST || gnutls_pubkey_init(&key) != 0)
		return ux_error_set(err, UX_EDENIED, "bad signature: the key %.80s is none",
				    s->key);
	int r = gnutls_pubkey_import(key, &text, GNUTLS_X509_FMT_PEM);
	if (r == 0)
		r = gnutls_pubkey_verify_data2(key, algorithm, GNUTLS_VERIFY_ALLOW_SIGN_WITH_SHA1,
					       &bytes, &sig);
	gnutls_pubkey_deinit(key);
	return r >= 0 ? UX_OK
		      : ux_error_set(err, UX_EDENIED,
				     "bad signature: the index is not what was signed by the key "
				     "%.80s",
				     s->key);
}

/* Checks the signature; sets *ret_signed to the bytes that it is for. */
static enum ux_code apk_check(const struct ux_repository *r, struct ux_bytes file,
			      struct ux_bytes *ret_signed, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping key = {0};
	ux_cleanup(ux_free_ptr) uint8_t *tar = malloc(SIGNATURE_MOST);
	struct ux_apk_signature signature;
	size_t made = 0, size = 0;
	if (!tar)
		return ux_error_nomem(err);
	UX_TRY(apk_unpack_first(file, tar, &made, &size, err));
	UX_TRY(ux_apk_signature_read(ux_bytes(tar, made), &signature, err));
	UX_TRY(apk_find_key(&r->keys, signature.key, &key, err));
	struct ux_bytes rest = ux_bytes(file.data + size, file.size - size);
	UX_TRY(apk_verify(key.bytes, &signature, rest, err));
	*ret_signed = rest;
	return UX_OK;
}

static enum ux_code apk_read_tar(struct ux_bytes tar, struct ux_index_target *to,
				 struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(tar, "APKINDEX.tar", /* swap= */ false);
	struct ux_tar_file file;
	while (ux_tar_next(&c, &file))
		if (ux_bytes_eq(file.name, UX_STR("APKINDEX")))
			return ux_apk_index_read(file.content, to, err);
	UX_TRY(ux_cur_status(&c, err));
	return ux_error_set(err, UX_ECORRUPT, "APKINDEX.tar.gz has no APKINDEX");
}

enum ux_code ux_alpine_read(const struct ux_repository *r, struct ux_polite *client,
			    const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			    struct ux_repository_result *ret, struct ux_error *err)
{
	UX_ARENA(arena, URL_MEMORY);
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping tar = {0};
	struct ux_index_target to = {.repository = r, .take = take, .ctx = ctx};
	struct ux_fetched f = {0};
	struct ux_bytes index;
	const char *url = NULL;
	const struct ux_expected what = {.size = UINT64_MAX, .most = INDEX_MOST};
	UX_TRY(ux_repo_url_check(r->mirror, err));
	UX_TRY(ux_repo_url_join(&arena, r->mirror, ux_bytes_cstr(r->path), &to.root, err));
	UX_TRY(ux_repo_url_join(&arena, to.root, UX_STR("APKINDEX.tar.gz"), &url, err));
	UX_TRY(ux_polite_fetch(client, url, &what,
			       known && known->known ? &known->validators : NULL, &f, err));
	file = f.file;
	ret->unchanged =
		f.answer.unchanged || (known && known->known &&
				       memcmp(known->sha256, f.sha256, sizeof(known->sha256)) == 0);
	if (ret->unchanged) {
		ret->state = *known;
		return UX_OK;
	}
	ret->state = (struct ux_repository_state){.validators = f.answer.validators, .known = true};
	memcpy(ret->state.sha256, f.sha256, sizeof(ret->state.sha256));
	enum ux_code code = apk_check(r, file.bytes, &index, err);
	if (code == UX_EDENIED)
		ret->cause = "signature";
	UX_TRY(code);
	UX_TRY(ux_packed_inflate(index, TAR_MOST, &tar, err));
	code = apk_read_tar(tar.bytes, &to, err);
	ret->packages = to.packages;
	return code;
}
