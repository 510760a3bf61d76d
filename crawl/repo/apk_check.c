/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the bytes of an .apk against a signed index. */
#include "apk_check.h"

#include "adb_value.h"
#include "debian_files.h"
#include "index_formats.h"
#include "text.h"

#include <libdeflate.h>
#include <nettle/sha1.h>

enum {
	/* Bytes that are needed to unpack the first two parts, unless the file is shorter. */
	HEAD_FIRST = 64 << 10,
	TAR_FIRST = 256 << 10, /* bytes for an unpacked part, doubled up to... */
	TAR_MAX = 16 << 20,
};

/* --- parts ------------------------------------------------------------------------------------ */

/* One gzip member: its compressed size, and its content, which is malloc'ed. */
struct apk_part {
	size_t packed;
	uint8_t *tar;
	size_t size;
};

static void apk_part_free(struct apk_part *p)
{
	free(p->tar);
}

/* UX_ECORRUPT: it is damaged or incomplete. */
static enum ux_code apk_part_unpack(struct ux_bytes file, struct apk_part *ret,
				    struct ux_error *err)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	enum libdeflate_result r = LIBDEFLATE_INSUFFICIENT_SPACE;
	if (!d)
		return ux_error_nomem(err);
	for (size_t n = TAR_FIRST; r == LIBDEFLATE_INSUFFICIENT_SPACE && n <= TAR_MAX; n *= 2) {
		free(ret->tar);
		ret->tar = malloc(n);
		if (!ret->tar)
			break;
		r = libdeflate_gzip_decompress_ex(d, file.data, file.size, ret->tar, n,
						  &ret->packed, &ret->size);
	}
	libdeflate_free_decompressor(d);
	if (!ret->tar)
		return ux_error_nomem(err);
	return r == LIBDEFLATE_SUCCESS
		       ? UX_OK
		       : ux_error_set(err, UX_ECORRUPT,
				      "the package does not begin with gzip members of a "
				      "signature and .PKGINFO");
}

static bool apk_part_is_signature(const struct apk_part *p)
{
	struct ux_cur c = ux_cur_make(ux_bytes(p->tar, p->size), "package", /* swap= */ false);
	struct ux_tar_file file;
	return ux_tar_next(&c, &file) && ux_bytes_starts(file.name, UX_STR(".SIGN."));
}

/* Finds "datahash = HEX" in .PKGINFO. */
static bool apk_datahash(struct ux_bytes info, uint8_t ret[UX_PACKAGE_SHA256_BYTES])
{
	const struct ux_bytes name = UX_STR("datahash");
	struct ux_bytes line;
	while (ux_text_take_line(&info, &line)) {
		const uint8_t *equals = line.size > 0 ? memchr(line.data, '=', line.size) : NULL;
		size_t n = 0;
		if (!equals)
			continue;
		struct ux_bytes key = ux_bytes(line.data, (size_t)(equals - line.data));
		struct ux_bytes value = ux_bytes(equals + 1, line.size - key.size - 1);
		if (ux_bytes_eq(ux_trim(key), name))
			return ux_hex_decode(ux_trim(value), ret, UX_PACKAGE_SHA256_BYTES, &n) &&
			       n == UX_PACKAGE_SHA256_BYTES;
	}
	return false;
}

static enum ux_code apk_read_control(struct ux_apk_check *c, const struct apk_part *p,
				     struct ux_error *err)
{
	struct ux_cur cur = ux_cur_make(ux_bytes(p->tar, p->size), ".PKGINFO", /* swap= */ false);
	struct ux_tar_file file;
	while (ux_tar_next(&cur, &file))
		if (ux_bytes_eq(file.name, UX_STR(".PKGINFO")) &&
		    apk_datahash(file.content, c->datahash))
			return UX_OK;
	UX_TRY(ux_cur_status(&cur, err));
	return ux_error_set(err, UX_ECORRUPT, "the package has no datahash");
}

static bool apk_is_identity(const struct ux_apk_identity *want, struct ux_bytes control)
{
	uint8_t have[SHA256_DIGEST_SIZE];
	if (want->sha256) {
		struct sha256_ctx ctx;
		sha256_init(&ctx);
		sha256_update(&ctx, control.size, control.data);
		sha256_digest(&ctx, sizeof(have), have);
	} else {
		struct sha1_ctx ctx;
		sha1_init(&ctx);
		sha1_update(&ctx, control.size, control.data);
		sha1_digest(&ctx, SHA1_DIGEST_SIZE, have);
	}
	return want->size > 0 && memcmp(have, want->hash, want->size) == 0;
}

/* Reads the parts before the data. */
static enum ux_code apk_read_head(struct ux_apk_check *c, struct ux_error *err)
{
	ux_cleanup(apk_part_free) struct apk_part first = {0}, second = {0};
	struct ux_bytes file = ux_out_bytes(&c->head);
	const struct apk_part *control = &first;
	UX_TRY(apk_part_unpack(file, &first, err));
	size_t at = 0;
	if (apk_part_is_signature(&first)) {
		at = first.packed;
		UX_TRY(apk_part_unpack(ux_bytes(file.data + at, file.size - at), &second, err));
		control = &second;
	}
	if (!apk_is_identity(&c->identity, ux_bytes(file.data + at, control->packed)))
		return ux_error_set(
			err, UX_ECORRUPT,
			"the %s of the package's control segment does not match its repository "
			"index",
			c->identity.sha256 ? "SHA-256" : "SHA-1");
	UX_TRY(apk_read_control(c, control, err));
	at += control->packed;
	sha256_init(&c->data);
	sha256_update(&c->data, file.size - at, file.data + at);
	c->in_data = true;
	ux_out_deinit(&c->head);
	c->head = (struct ux_out){0};
	return UX_OK;
}

void ux_apk_check_init(struct ux_apk_check *c, const struct ux_apk_identity *identity)
{
	*c = (struct ux_apk_check){.err = UX_ERROR_INIT, .identity = *identity};
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Checks whether the head is complete, each time its size has doubled. */
static void apk_try_head(struct ux_apk_check *c, size_t before)
{
	struct ux_error why = UX_ERROR_INIT;
	size_t wants = HEAD_FIRST;
	while (wants <= before)
		wants *= 2;
	if (c->head.size < wants)
		return;
	enum ux_code code = apk_read_head(c, &why);
	if (code != UX_OK && c->head.size >= UX_APK_HEAD_MAX)
		c->err = why;
}

void ux_apk_check_put(struct ux_apk_check *c, struct ux_bytes bytes)
{
	if (c->err.code != UX_OK || bytes.size == 0)
		return;
	if (c->in_data) {
		sha256_update(&c->data, bytes.size, bytes.data);
		return;
	}
	size_t before = c->head.size;
	if (c->elsewhere)
		return;
	ux_out_put(&c->head, bytes.data, bytes.size);
	c->elsewhere = c->identity.sha256 && ux_adb_is(ux_out_bytes(&c->head));
	if (ux_out_status(&c->head, &c->err) == UX_OK)
		apk_try_head(c, before);
}

enum ux_code ux_apk_check_end(struct ux_apk_check *c, struct ux_error *err)
{
	uint8_t have[SHA256_DIGEST_SIZE];
	if (c->elsewhere)
		return UX_OK;
	if (c->err.code == UX_OK && !c->in_data)
		(void)!apk_read_head(c, &c->err);
	if (c->err.code != UX_OK) {
		*err = err->code == UX_OK ? c->err : *err;
		return c->err.code;
	}
	sha256_digest(&c->data, sizeof(have), have);
	if (memcmp(c->datahash, have, sizeof(have)) != 0)
		return ux_error_set(err, UX_ECORRUPT,
				    "the package's data does not match its datahash (SHA-256)");
	return UX_OK;
}

void ux_apk_check_deinit(struct ux_apk_check *c)
{
	ux_out_deinit(&c->head);
}
