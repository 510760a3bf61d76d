/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of indexes, after they were fetched and unpacked: Alpine's APKINDEX, Arch's databases,
 * the XML of rpm's repositories. The readers get slices, never a file.
 */
#ifndef UX_INDEX_FORMATS_H
#define UX_INDEX_FORMATS_H

#include "cursor.h"
#include "repository.h"
#include "xml.h"

/* The receiver of an index's packages. */
struct ux_index_target {
	const struct ux_repository *repository;
	const char *root; /* URL or path that the files' names count from */
	ux_package_fn *take;
	void *ctx;
	uint64_t packages; /* packages in the index, passed on or not */
};

/* --- tar -------------------------------------------------------------------------------------- */

/* A regular file. */
struct ux_tar_file {
	struct ux_bytes name; /* as in the header: at most 100 bytes */
	struct ux_bytes content;
};

/*
 * Reads the next regular file; others are skipped. False at the end, and after a failure, which the
 * cursor has. Source: POSIX.1-2017, pax, "ustar Interchange Format".
 */
bool ux_tar_next(struct ux_cur *c, struct ux_tar_file *ret) ux_must;

/*
 * Finds the content of a regular file, whose name may begin with "./". UX_ENOTFOUND. UX_ECORRUPT:
 * the tar is damaged or truncated. UX_ELIMIT: it has very many files.
 */
enum ux_code ux_tar_find(struct ux_bytes tar, const char *name, struct ux_bytes *ret,
			 struct ux_error *err) ux_must;

/* --- Debian ----------------------------------------------------------------------------------- */

/*
 * Reads the text Sources: source packages, with the key and URL of their .dsc, and their archives
 * as further files. A package with over UX_PACKAGE_FILES_MAX archives is skipped. UX_ECORRUPT:
 * offset and reason.
 */
enum ux_code ux_debian_sources_read(struct ux_bytes text, struct ux_index_target *to,
				    struct ux_error *err) ux_must;

/* --- Alpine ----------------------------------------------------------------------------------- */

/* Reads the text APKINDEX. UX_ECORRUPT: offset and reason. Source: apk-package(5),
 * apk-repositories(5). */
enum ux_code ux_apk_index_read(struct ux_bytes text, struct ux_index_target *to,
			       struct ux_error *err) ux_must;

/* A signature in the first part of APKINDEX.tar.gz. */
struct ux_apk_signature {
	char key[128];      /* name of the key's file */
	unsigned hash_bits; /* 160: SHA-1, 256, 512 */
	struct ux_bytes signature;
};

/* Finds the signature in the tar. UX_EDENIED: it has none of a known kind. */
enum ux_code ux_apk_signature_read(struct ux_bytes tar, struct ux_apk_signature *ret,
				   struct ux_error *err) ux_must;

/* A signature in an index of apk-tools 3: of the SHA-512 of the values. */
struct ux_apk_adb_signature {
	const uint8_t *head; /* UX_APK_ADB_HEAD bytes, which are signed too */
	struct ux_bytes signature;
};

enum {
	UX_APK_ADB_HEAD = 18,
	UX_APK_ADB_SIGNATURES = 16, /* signatures that are examined */
};

/* An index of apk-tools 3, unpacked. */
struct ux_apk_adb {
	struct ux_bytes values;
	struct ux_apk_adb_signature signatures[UX_APK_ADB_SIGNATURES];
	size_t n_signatures; /* number of signatures of a known kind */
};

/* Finds the blocks of an index. UX_ECORRUPT. Source: apk-v3(5). */
enum ux_code ux_apk_adb_open(struct ux_bytes file, struct ux_apk_adb *ret, struct ux_error *err)
	ux_must;

/*
 * Reads the values of such an index. UX_ECORRUPT: offset and reason; UX_EUNSUPPORTED: its files
 * have other names than NAME-VERSION.apk; UX_ELIMIT.
 */
enum ux_code ux_apk_adb_read(struct ux_bytes values, struct ux_index_target *to,
			     struct ux_error *err) ux_must;

/* The fields of a package that are used. The slices are parts of the index. */
struct ux_apk_record {
	struct ux_bytes name, version, arch, origin;
	struct ux_apk_identity identity; /* size 0: absent or malformed */
	uint64_t size, installed, time;
	bool has_size;
	bool needs_libc; /* needs the C library, by the name of its file */
	uint64_t off;    /* in the index */
};

/* An index; its packages are read twice. */
struct ux_apk_records {
	void (*rewind)(void *ctx);
	/* False: no more, or *ret_code is a failure. */
	bool (*next)(void *ctx, struct ux_apk_record *ret, enum ux_code *ret_code,
		     struct ux_error *err);
	void *ctx;
	const char *section; /* for messages */
};

/* Passes on the packages that have code; debug packages with the packages that they belong to. */
enum ux_code ux_apk_records_read(const struct ux_apk_records *records, struct ux_index_target *to,
				 struct ux_error *err) ux_must;

/*
 * Verifies that s is the signature of the bytes, by the key of its name. UX_EDENIED: it is not, or
 * the key is not in the keyrings.
 */
enum ux_code ux_apk_key_verify(const struct ux_keyrings *keys, const struct ux_apk_signature *s,
			       struct ux_bytes data, struct ux_error *err) ux_must;

/*
 * Verifies that one of the signatures of an index of apk-tools 3 is by one of the keys. A signature
 * there names its key by a hash and not by a file, so that all are tried. UX_EDENIED.
 */
enum ux_code ux_apk_adb_verify(const struct ux_keyrings *keys, const struct ux_apk_adb *adb,
			       struct ux_error *err) ux_must;

/* --- Arch ------------------------------------------------------------------------------------- */

/* Reads a database, a tar of NAME-VERSION/desc. Source: repo-add(8) of pacman. */
enum ux_code ux_arch_db_read(struct ux_bytes tar, struct ux_index_target *to, struct ux_error *err)
	ux_must;

/* --- rpm -------------------------------------------------------------------------------------- */

/* The entry of primary.xml in repomd.xml. */
struct ux_rpm_primary {
	char href[512]; /* relative to the folder that repodata/ is in */
	uint8_t sha256[32];
	bool has_sha256;
	uint64_t size; /* UINT64_MAX: not stated */
};

/* Source: createrepo_c's documentation. UX_ECORRUPT: not XML, or it names no primary. */
enum ux_code ux_rpm_repomd_read(struct ux_bytes xml, struct ux_rpm_primary *ret,
				struct ux_error *err) ux_must;

/*
 * Reads primary.xml from a function, in pieces. UX_ECORRUPT: with the offset where the XML is
 * malformed, or a package lacks a field; codes of the function.
 */
enum ux_code ux_rpm_primary_read(ux_xml_read_fn *read, void *from, struct ux_index_target *to,
				 struct ux_error *err) ux_must;

#endif
