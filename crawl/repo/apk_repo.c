/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alpine's repositories. APKINDEX.tar.gz is two gzip members: a tar with the signature of the
 * second member's bytes by an RSA key, and a tar with APKINDEX. The signature's name ends with the
 * name of the key's file in the folder of keys (/etc/apk/keys). Alpine signs the SHA-1 of an index;
 * to forge an index with the same SHA-1, an attacker would have to have made the original too. The
 * index of apk-tools 3 is a file of the ADB format (apk_adb.c).
 */
#include "adb_value.h"
#include "file.h"
#include "index_formats.h"
#include "packed_file.h"
#include "repo_url.h"
#include "repository.h"

#include <libdeflate.h>

enum {
	INDEX_MAX = 256 << 20, /* bytes as sent; Alpine's main has 500 kB */
	TAR_MAX = 1 << 30,     /* bytes unpacked */
	SIGNATURE_MAX = 64 << 10,
	ADB_MAX = 320 << 20, /* bytes of an unpacked index of apk-tools 3 */
	UNPACK_PIECE = 64 << 10,
	URL_MEMORY = 64 << 10,
};

/* Unpacks the first gzip member, which is small, and sets *ret_size to its packed bytes. */
static enum ux_code apk_unpack_first(struct ux_bytes file, uint8_t *to, size_t *ret_made,
				     size_t *ret_size, struct ux_error *err)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (!d)
		return ux_error_nomem(err);
	enum libdeflate_result r = libdeflate_gzip_decompress_ex(d, file.data, file.size, to,
								 SIGNATURE_MAX, ret_size, ret_made);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS
		       ? UX_OK
		       : ux_error_set(err, UX_EDENIED,
				      "bad signature: the index does not begin with a signature");
}

/* Checks the signature; sets *ret_signed to the signed bytes. */
static enum ux_code apk_check(const struct ux_repository *r, struct ux_bytes file,
			      struct ux_bytes *ret_signed, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) uint8_t *tar = malloc(SIGNATURE_MAX);
	struct ux_apk_signature signature;
	size_t made = 0, size = 0;
	if (!tar)
		return ux_error_nomem(err);
	UX_TRY(apk_unpack_first(file, tar, &made, &size, err));
	UX_TRY(ux_apk_signature_read(ux_bytes(tar, made), &signature, err));
	struct ux_bytes rest = ux_bytes(file.data + size, file.size - size);
	UX_TRY(ux_apk_key_verify(&r->keys, &signature, rest, err));
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

/* --- an index of apk-tools 3 ------------------------------------------------------------------ */

static void apk_close_unpack(struct ux_unpack **u)
{
	ux_unpack_close(*u);
}

/* Unpacks the file. The signature is inside, so the decoder reads bytes that are not yet verified.
 */
static enum ux_code apk_unpack_adb(struct ux_bytes file, struct ux_out *ret, struct ux_error *err)
{
	ux_cleanup(apk_close_unpack) struct ux_unpack *u = NULL;
	enum ux_unpack_form form = UX_UNPACK_NONE;
	size_t skip = 0, n = 0;
	UX_TRY(ux_adb_form(file, &form, &skip, err));
	file = ux_bytes(file.data + skip, file.size - skip);
	UX_TRY(ux_unpack_open(&u, form, ux_unpack_from_bytes, &file, err));
	do {
		if (ret->size > ADB_MAX)
			return ux_error_set(err, UX_ELIMIT,
					    "the index unpacks to more than %d bytes", ADB_MAX);
		uint8_t *to = ux_out_room(ret, UNPACK_PIECE);
		if (!to)
			return ux_out_status(ret, err);
		enum ux_code code = ux_unpack_read(u, to, UNPACK_PIECE, &n, err);
		ret->size -= UNPACK_PIECE - n;
		UX_TRY(code);
	} while (n > 0);
	return UX_OK;
}

static enum ux_code apk_read_adb(const struct ux_repository *r, struct ux_bytes file,
				 struct ux_index_target *to, struct ux_repository_result *ret,
				 struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out unpacked = {0};
	struct ux_apk_adb adb;
	UX_TRY(apk_unpack_adb(file, &unpacked, err));
	UX_TRY(ux_apk_adb_open(ux_out_bytes(&unpacked), &adb, err));
	enum ux_code code = ux_apk_adb_verify(&r->keys, &adb, err);
	if (code == UX_EDENIED)
		ret->cause = "signature";
	UX_TRY(code);
	return ux_apk_adb_read(adb.values, to, err);
}

/* --- both ------------------------------------------------------------------------------------- */

static enum ux_code apk_read_targz(const struct ux_repository *r, struct ux_bytes file,
				   struct ux_index_target *to, struct ux_repository_result *ret,
				   struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping tar = {0};
	struct ux_bytes index;
	enum ux_code code = apk_check(r, file, &index, err);
	if (code == UX_EDENIED)
		ret->cause = "signature";
	UX_TRY(code);
	UX_TRY(ux_packed_inflate(index, TAR_MAX, &tar, err));
	return apk_read_tar(tar.bytes, to, err);
}

/* Fetches the index, by the first of its names that the mirror has. */
static enum ux_code apk_fetch(const char *root, struct ux_polite *client,
			      const struct ux_repository_state *known, struct ux_fetched *ret,
			      struct ux_error *err)
{
	static const char *const names[] = {"APKINDEX.tar.gz", "APKINDEX.adb", "packages.adb"};
	const struct ux_expected what = {.size = UINT64_MAX, .max = INDEX_MAX};
	struct ux_error first = UX_ERROR_INIT;
	for (size_t i = 0; i < ux_countof(names); i++) {
		UX_ARENA(arena, URL_MEMORY);
		struct ux_error why = UX_ERROR_INIT;
		const char *url = NULL;
		UX_TRY(ux_repo_url_join(&arena, root, ux_bytes_cstr(names[i]), &url, err));
		enum ux_code code = ux_polite_fetch(
			client, url, &what, known && known->known ? &known->validators : NULL, ret,
			&why);
		if (code == UX_OK)
			return UX_OK;
		first = first.code == UX_OK ? why : first;
		if (code == UX_ENOTFOUND)
			continue;
		*err = err->code == UX_OK ? why : *err;
		return code;
	}
	*err = err->code == UX_OK ? first : *err;
	return first.code;
}

enum ux_code ux_alpine_read(const struct ux_repository *r, struct ux_polite *client,
			    const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			    struct ux_repository_result *ret, struct ux_error *err)
{
	UX_ARENA(arena, URL_MEMORY);
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_index_target to = {.repository = r, .take = take, .ctx = ctx};
	struct ux_fetched f = {0};
	UX_TRY(ux_repo_url_check(r->mirror, err));
	UX_TRY(ux_repo_url_join(&arena, r->mirror, ux_bytes_cstr(r->path), &to.root, err));
	UX_TRY(apk_fetch(to.root, client, known, &f, err));
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
	enum ux_code code = ux_adb_is(file.bytes) ? apk_read_adb(r, file.bytes, &to, ret, err)
						  : apk_read_targz(r, file.bytes, &to, ret, err);
	ret->packages = to.packages;
	return code;
}
