/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: indexes of packages: the first byte chooses APKINDEX, its signature, a database of Arch,
 * repomd.xml, primary.xml, an unpacked index of apk-tools 3, or Sources of Debian. All values
 * passed on are complete, inside of the mirror, and have no control characters.
 */
#include "fuzz.h"

#include "index_formats.h"
#include "text.h"

#define ROOT "https://mirror.example/repository"

static void check_text(const char *text)
{
	fuzz_truth(text);
	for (; *text; text++)
		fuzz_truth((unsigned char)*text >= ' ' && *text != 0x7f);
}

static enum ux_code check_package(void *ctx, const struct ux_package *p, struct ux_error *err)
{
	uint64_t *passed = ctx;
	(void)err;
	++*passed;
	check_text(p->key);
	check_text(p->arch);
	check_text(p->name);
	check_text(p->version);
	check_text(p->source);
	check_text(p->url);
	assert(p->n_files <= UX_PACKAGE_FILES_MAX);
	for (size_t i = 0; i < p->n_files; i++) {
		check_text(p->files[i].key);
		check_text(p->files[i].url);
	}
	fuzz_truth(p->key[0] && p->name[0] && p->version[0]);
	fuzz_truth(strncmp(p->url, ROOT "/", strlen(ROOT "/")) == 0 && !strstr(p->url, "/../"));
	fuzz_truth(p->has_sha256 || p->apk.size > 0);
	fuzz_truth(p->n_build_ids <= UX_PACKAGE_BUILD_IDS_MAX && p->time >= 0);
	for (size_t i = 0; i < p->n_build_ids; i++)
		fuzz_truth(p->build_ids[i].size >= 8 && p->build_ids[i].size <= UX_ID_GNU_MAX);
	return UX_OK;
}

/* Reads pieces of other sizes than the parser's. */
static enum ux_code read_some(void *ctx, void *to, size_t n, size_t *ret, struct ux_error *err)
{
	struct ux_bytes *left = ctx;
	(void)err;
	*ret = ux_min(ux_min(n, (size_t)1000), left->size);
	if (*ret > 0)
		memcpy(to, left->data, *ret);
	*left = ux_bytes(left->data + *ret, left->size - *ret);
	return UX_OK;
}

static void check_index(unsigned kind, struct ux_bytes text)
{
	struct ux_bytes left = text;
	uint64_t passed = 0;
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_repository repository = {
		.distribution = "d", .suite = "s", .component = "c", .arch = "x86_64"};
	struct ux_index_target to = {
		.repository = &repository, .root = ROOT, .take = check_package, .ctx = &passed};
	enum ux_code code = kind == 0   ? ux_apk_index_read(text, &to, &err)
			    : kind == 1 ? ux_arch_db_read(text, &to, &err)
			    : kind == 3 ? ux_apk_adb_read(text, &to, &err)
			    : kind == 4 ? ux_debian_sources_read(text, &to, &err)
					: ux_rpm_primary_read(read_some, &left, &to, &err);
	fuzz_truths_of_error(code, &err, text.size);
	fuzz_truth(passed <= to.packages);
}

static void check_signature(struct ux_bytes tar)
{
	struct ux_apk_signature s;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_apk_signature_read(tar, &s, &err);
	fuzz_truths_of_error(code, &err, tar.size);
	if (code != UX_OK)
		return;
	fuzz_truth(s.key[0] != '\0' && s.key[0] != '.' && !strchr(s.key, '/'));
	fuzz_truth(fuzz_inside(s.signature, tar));
}

static void check_repomd(struct ux_bytes xml)
{
	struct ux_rpm_primary p;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_rpm_repomd_read(xml, &p, &err);
	fuzz_truths_of_error(code, &err, xml.size);
	fuzz_truth(code != UX_OK || (p.href[0] != '\0' && p.has_sha256));
}

static void check_adb(struct ux_bytes file)
{
	struct ux_apk_adb adb;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_apk_adb_open(file, &adb, &err);
	fuzz_truths_of_error(code, &err, file.size);
	if (code != UX_OK)
		return;
	fuzz_truth(fuzz_inside(adb.values, file));
	for (size_t i = 0; i < adb.n_signatures; i++) {
		fuzz_truth(fuzz_inside(ux_bytes(adb.signatures[i].head, UX_APK_ADB_HEAD), file));
		fuzz_truth(fuzz_inside(adb.signatures[i].signature, file));
	}
	check_index(3, adb.values);
}

FUZZ_TARGET(package_index)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_bytes text = ux_bytes(data + 1, size - 1);
	unsigned kind = data[0] % 7;
	if (kind < 3)
		check_index(kind, text);
	else if (kind == 3)
		check_signature(text);
	else if (kind == 4)
		check_repomd(text);
	else if (kind == 5)
		check_adb(text);
	else
		check_index(4, text);
	return 0;
}
