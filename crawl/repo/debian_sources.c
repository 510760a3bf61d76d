/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debian's index of source packages, Sources: the files of a package, with their SHA-256. The .dsc
 * names the package; the other files are needed to read it. Source: DebianRepository/Format in
 * Debian's wiki, "Sources Indices"; dsc(5).
 */
#include "arena.h"
#include "debian_files.h"
#include "index_formats.h"
#include "repo_url.h"
#include "text.h"

enum {
	PACKAGE_MEMORY = 1 << 20, /* texts of one package */
};

struct sources_stanza {
	struct ux_bytes package, version, directory, checksums;
};

static enum ux_code sources_stanza_read(struct ux_deb822 *reader, struct sources_stanza *s,
					struct ux_error *err)
{
	const struct ux_deb822_known known[] = {
		{"Package", &s->package},
		{"Version", &s->version},
		{"Directory", &s->directory},
		{"Checksums-Sha256", &s->checksums},
	};
	*s = (struct sources_stanza){0};
	return ux_deb822_read(reader, known, ux_countof(known), err);
}

/* A file of a package. */
struct sources_file {
	struct ux_bytes name;
	uint8_t sha256[UX_PACKAGE_SHA256_BYTES];
	uint64_t size;
};

/* Reads a line "hash size name". The name has no folders, so that it stays in the directory. */
static bool sources_file_read(struct ux_bytes line, struct sources_file *ret)
{
	struct ux_bytes hash, size;
	size_t n = 0;
	return ux_deb822_word(&line, &hash) && ux_deb822_word(&line, &size) &&
	       ux_deb822_word(&line, &ret->name) && ux_decimal_parse(size, &ret->size) &&
	       ux_hex_decode(hash, ret->sha256, sizeof(ret->sha256), &n) &&
	       n == sizeof(ret->sha256) && !memchr(ret->name.data, '/', ret->name.size);
}

static enum ux_code sources_place(const struct sources_file *f, const struct sources_stanza *s,
				  const struct ux_index_target *to, struct ux_arena *arena,
				  const char **ret_key, const char **ret_url, struct ux_error *err)
{
	size_t n = s->directory.size;
	char *path = ux_arena_array(arena, char, n + f->name.size + 2);
	char *key = ux_arena_array(arena, char, 2 * sizeof(f->sha256) + 1);
	if (!path || !key)
		return ux_arena_fail(arena, err);
	ux_hex_encode(ux_bytes(f->sha256, sizeof(f->sha256)), key);
	memcpy(path, s->directory.data, n);
	path[n] = '/';
	memcpy(path + n + 1, f->name.data, f->name.size);
	*ret_key = key;
	return ux_repo_url_join(arena, to->root, ux_bytes(path, n + 1 + f->name.size), ret_url,
				err);
}

/* Finds the .dsc and the archives. False: too many, or none. */
static bool sources_files(const struct sources_stanza *s, struct sources_file *dsc,
			  struct sources_file files[UX_PACKAGE_FILES_MAX], size_t *ret_n)
{
	struct ux_bytes left = s->checksums, line;
	size_t n = 0;
	*dsc = (struct sources_file){0};
	while (ux_text_take_line(&left, &line)) {
		struct sources_file one;
		struct ux_bytes words = line, word;
		if (!ux_deb822_word(&words, &word))
			continue;
		if (!sources_file_read(line, &one))
			return false;
		if (ux_bytes_has_suffix(one.name, UX_STR(".asc")) ||
		    ux_bytes_has_suffix(one.name, UX_STR(".sig")))
			continue;
		if (ux_bytes_has_suffix(one.name, UX_STR(".dsc")))
			*dsc = one;
		else if (n == UX_PACKAGE_FILES_MAX)
			return false;
		else
			files[n++] = one;
	}
	*ret_n = n;
	return dsc->name.size > 0 && n > 0;
}

static enum ux_code sources_package(const struct sources_stanza *s, struct ux_index_target *to,
				    struct ux_arena *arena, uint64_t off, struct ux_error *err)
{
	struct sources_file dsc, files[UX_PACKAGE_FILES_MAX];
	struct ux_package_file kept[UX_PACKAGE_FILES_MAX];
	struct ux_package p = {
		.distribution = to->repository->distribution,
		.suite = to->repository->suite,
		.component = to->repository->component,
		.arch = "source",
		.kind = UX_PACKAGE_DSC,
		.role = UX_PACKAGE_SOURCE,
		.has_sha256 = true,
		.source_version = "",
		.files = kept,
	};
	to->packages++;
	if (s->package.size == 0 || s->version.size == 0 || s->directory.size == 0)
		return ux_error_at(err, UX_ECORRUPT, "Sources", off,
				   "a stanza lacks Package, Version or Directory");
	/* without SHA-256, or with very many archives, the package could not be read */
	if (!sources_files(s, &dsc, files, &p.n_files))
		return UX_OK;
	UX_TRY(sources_place(&dsc, s, to, arena, &p.key, &p.url, err));
	memcpy(p.sha256, dsc.sha256, sizeof(p.sha256));
	p.size = dsc.size;
	for (size_t i = 0; i < p.n_files; i++) {
		kept[i].size = files[i].size;
		UX_TRY(sources_place(&files[i], s, to, arena, &kept[i].key, &kept[i].url, err));
	}
	UX_TRY(ux_repo_text(arena, s->package, "Package", &p.name, err));
	UX_TRY(ux_repo_text(arena, s->version, "Version", &p.version, err));
	p.source = p.name;
	return to->take(to->ctx, &p, err);
}

enum ux_code ux_debian_sources_read(struct ux_bytes text, struct ux_index_target *to,
				    struct ux_error *err)
{
	struct ux_deb822 reader = ux_deb822_make(text, "Sources");
	while (ux_deb822_next_stanza(&reader)) {
		UX_ARENA(arena, PACKAGE_MEMORY);
		uint64_t off = ux_cur_off(&reader.c);
		struct sources_stanza s;
		UX_TRY(sources_stanza_read(&reader, &s, err));
		UX_TRY(sources_package(&s, to, &arena, off, err));
	}
	return ux_deb822_status(&reader, err);
}
