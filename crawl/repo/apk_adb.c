/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alpine's index of apk-tools 3: a file of the ADB format, whose root has an array of the metadata
 * of packages. Source: apk-v3(5), and the field numbers in apk-tools' schemas.
 */
#include "adb_value.h"
#include "index_formats.h"

enum {
	PACKAGES_MAX = 1 << 20,
	SIGNATURE_VERSION = 0,
	HASH_SHA512 = 4,
	/* fields: of the index, a package, a dependency */
	INDEX_PACKAGES = 2,
	INDEX_NAMES = 3,
	INFO_NAME = 1,
	INFO_VERSION = 2,
	INFO_HASH = 3,
	INFO_ARCH = 5,
	INFO_ORIGIN = 7,
	INFO_TIME = 11,
	INFO_INSTALLED = 12,
	INFO_SIZE = 13,
	INFO_DEPENDS = 15,
	DEPEND_NAME = 1,
};

static const char section[] = "ADB";

/* --- blocks ----------------------------------------------------------------------------------- */

/* Reads a block at the beginning of *file; *file becomes the rest. */
static enum ux_code adb_take_block(struct ux_bytes *file, struct ux_adb_block *ret_block,
				   struct ux_bytes *ret, struct ux_error *err)
{
	if (file->size < 4 || file->size < ux_adb_block_head_size(file->data))
		return ux_error_set(err, UX_ECORRUPT, "the index ends in a block header");
	UX_TRY(ux_adb_block_read(file->data, ret_block, err));
	if (ret_block->size > file->size - ret_block->head)
		return ux_error_set(err, UX_ECORRUPT,
				    "the index ends in a block of %" PRIu64 " bytes",
				    ret_block->size);
	*ret = ux_bytes(file->data + ret_block->head, (size_t)ret_block->size);
	size_t skip = ret_block->head + ret->size;
	skip += ux_min((size_t)ret_block->padding, file->size - skip);
	*file = ux_bytes(file->data + skip, file->size - skip);
	return UX_OK;
}

enum ux_code ux_apk_adb_open(struct ux_bytes file, struct ux_apk_adb *ret, struct ux_error *err)
{
	struct ux_adb_block block;
	struct ux_bytes content;
	*ret = (struct ux_apk_adb){0};
	if (!ux_bytes_starts(file, UX_STR("ADB.indx")))
		return ux_error_set(err, UX_ECORRUPT, "not an index of apk-tools 3");
	file = ux_bytes(file.data + UX_ADB_FILE_HEAD, file.size - UX_ADB_FILE_HEAD);
	UX_TRY(adb_take_block(&file, &block, &ret->values, err));
	if (block.type != UX_ADB_BLOCK_VALUES)
		return ux_error_set(err, UX_ECORRUPT, "the index does not begin with its values");
	while (file.size > 0 && ret->n_signatures < ux_countof(ret->signatures)) {
		UX_TRY(adb_take_block(&file, &block, &content, err));
		if (block.type != UX_ADB_BLOCK_SIGNATURE)
			return ux_error_set(err, UX_ECORRUPT,
					    "a block of the index is not a signature");
		if (content.size > UX_APK_ADB_HEAD && content.data[0] == SIGNATURE_VERSION &&
		    content.data[1] == HASH_SHA512)
			ret->signatures[ret->n_signatures++] = (struct ux_apk_adb_signature){
				.head = content.data,
				.signature = ux_bytes(content.data + UX_APK_ADB_HEAD,
						      content.size - UX_APK_ADB_HEAD)};
	}
	return UX_OK;
}

/* --- packages --------------------------------------------------------------------------------- */

struct adb_packages {
	struct ux_adb_list list;
	uint32_t at;
	/* dependencies that may still be examined: lists may be shared, but must not make the time
	 * quadratic */
	uint64_t depends_left;
};

static void adb_packages_rewind(void *ctx)
{
	struct adb_packages *p = ctx;
	p->at = 0;
	p->depends_left = p->list.values.size;
}

/* Sets whether the dependencies include the C library, by the name of its file. */
static enum ux_code adb_needs_libc(struct adb_packages *p, const struct ux_adb_list *info,
				   bool *ret, struct ux_error *err)
{
	struct ux_adb_list depends, one;
	struct ux_bytes name;
	*ret = false;
	UX_TRY(ux_adb_list_get(info, INFO_DEPENDS, &depends, err));
	if (depends.n > p->depends_left)
		return ux_error_at(err, UX_ELIMIT, section, info->off,
				   "the packages have more dependencies than the index has bytes");
	p->depends_left -= depends.n;
	for (uint32_t i = 1; i <= depends.n && !*ret; i++) {
		UX_TRY(ux_adb_list_get(&depends, i, &one, err));
		UX_TRY(ux_adb_bytes_get(&one, DEPEND_NAME, &name, err));
		*ret = ux_bytes_starts(name, UX_STR("so:libc."));
	}
	return UX_OK;
}

static enum ux_code adb_read_package(struct adb_packages *p, const struct ux_adb_list *info,
				     struct ux_apk_record *r, struct ux_error *err)
{
	struct ux_bytes hash;
	UX_TRY(ux_adb_bytes_get(info, INFO_NAME, &r->name, err));
	UX_TRY(ux_adb_bytes_get(info, INFO_VERSION, &r->version, err));
	UX_TRY(ux_adb_bytes_get(info, INFO_ARCH, &r->arch, err));
	UX_TRY(ux_adb_bytes_get(info, INFO_ORIGIN, &r->origin, err));
	UX_TRY(ux_adb_number_get(info, INFO_SIZE, &r->size, err));
	UX_TRY(ux_adb_number_get(info, INFO_INSTALLED, &r->installed, err));
	UX_TRY(ux_adb_number_get(info, INFO_TIME, &r->time, err));
	UX_TRY(adb_needs_libc(p, info, &r->needs_libc, err));
	UX_TRY(ux_adb_bytes_get(info, INFO_HASH, &hash, err));
	r->has_size = r->size > 0;
	r->off = info->off;
	if (hash.size == UX_PACKAGE_SHA1_BYTES || hash.size == UX_PACKAGE_APK_BYTES) {
		r->identity.sha256 = true;
		r->identity.size = (unsigned)hash.size;
		memcpy(r->identity.hash, hash.data, hash.size);
	}
	return UX_OK;
}

static bool adb_packages_next(void *ctx, struct ux_apk_record *ret, enum ux_code *ret_code,
			      struct ux_error *err)
{
	struct adb_packages *p = ctx;
	struct ux_adb_list info;
	*ret = (struct ux_apk_record){0};
	if (p->at >= p->list.n)
		return false;
	*ret_code = ux_adb_list_get(&p->list, ++p->at, &info, err);
	if (*ret_code == UX_OK)
		*ret_code = adb_read_package(p, &info, ret, err);
	return *ret_code == UX_OK;
}

enum ux_code ux_apk_adb_read(struct ux_bytes values, struct ux_index_target *to,
			     struct ux_error *err)
{
	struct ux_adb_list root;
	struct ux_bytes names;
	struct adb_packages p = {.at = 0};
	const struct ux_apk_records records = {.rewind = adb_packages_rewind,
					       .next = adb_packages_next,
					       .ctx = &p,
					       .section = section};
	UX_TRY(ux_adb_root(values, &root, err));
	UX_TRY(ux_adb_list_get(&root, INDEX_PACKAGES, &p.list, err));
	UX_TRY(ux_adb_bytes_get(&root, INDEX_NAMES, &names, err));
	if (names.size > 0 && !ux_bytes_eq(names, UX_STR("${name}-${version}.apk")))
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the index has an unsupported naming rule for files: %.*s",
				    (int)ux_min(names.size, (size_t)80), (const char *)names.data);
	if (p.list.n > PACKAGES_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "the index has %u packages; at most %d are read", p.list.n,
				    PACKAGES_MAX);
	return ux_apk_records_read(&records, to, err);
}
