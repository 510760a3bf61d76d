/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arch's repositories: COMPONENT.db is a tar, packed by gzip or zstd, with a file NAME-VERSION/desc
 * for each package. In it a line %FIELD% is followed by lines of values, up to an empty line. The
 * database is usually unsigned; then it must come over https. It has the SHA-256 of each package.
 */
#include "arena.h"
#include "debian_files.h"
#include "index_formats.h"
#include "packed_file.h"
#include "repo_url.h"
#include "text.h"

enum {
	DB_MAX = 256 << 20,
	TAR_MAX = 1 << 30,
	PACKAGE_MEMORY = 1 << 20,
	URL_MEMORY = 64 << 10,
};

struct arch_desc {
	struct ux_bytes filename, name, base, version, csize, isize, sha256, arch, built, depends;
};

static struct ux_bytes *arch_field(struct arch_desc *d, struct ux_bytes name)
{
	const struct {
		const char *name;
		struct ux_bytes *value;
	} known[] = {
		{"%FILENAME%", &d->filename}, {"%NAME%", &d->name},   {"%BASE%", &d->base},
		{"%VERSION%", &d->version},   {"%CSIZE%", &d->csize}, {"%ISIZE%", &d->isize},
		{"%SHA256SUM%", &d->sha256},  {"%ARCH%", &d->arch},   {"%BUILDDATE%", &d->built},
		{"%DEPENDS%", &d->depends},
	};
	for (size_t i = 0; i < ux_countof(known); i++)
		if (ux_bytes_eq(name, ux_bytes_cstr(known[i].name)))
			return known[i].value;
	return NULL;
}

/* Takes the lines up to an empty one. */
static struct ux_bytes arch_value(struct ux_bytes *text)
{
	const uint8_t *start = text->data;
	size_t size = 0;
	struct ux_bytes line;
	while (ux_text_take_line(text, &line) && line.size > 0)
		size = (size_t)(line.data + line.size - start);
	return ux_bytes(start, size);
}

static void arch_parse(struct ux_bytes text, struct arch_desc *ret)
{
	struct ux_bytes line;
	*ret = (struct arch_desc){0};
	while (ux_text_take_line(&text, &line)) {
		if (line.size == 0)
			continue;
		struct ux_bytes *to = arch_field(ret, line);
		struct ux_bytes value = arch_value(&text);
		if (to)
			*to = value;
	}
}

/* Returns whether a package has code: programs need the C library, by its package or by its file.
 */
static bool arch_has_code(const struct arch_desc *d)
{
	static const char *const needs[] = {"glibc", "gcc-libs", "libgcc", "libc.so"};
	for (size_t i = 0; i < ux_countof(needs); i++)
		if (d->depends.size > 0 &&
		    memmem(d->depends.data, d->depends.size, needs[i], strlen(needs[i])))
			return true;
	return ux_bytes_eq(d->name, UX_STR("linux")) || ux_bytes_eq(d->name, UX_STR("glibc"));
}

static bool arch_is_debug(struct ux_bytes name)
{
	static const char ending[] = "-debug";
	size_t n = strlen(ending);
	return name.size > n && memcmp(name.data + name.size - n, ending, n) == 0;
}

static enum ux_code arch_texts(const struct arch_desc *d, const struct ux_index_target *to,
			       struct ux_arena *arena, struct ux_package *p, struct ux_error *err)
{
	p->key = ux_arena_strndup(arena, d->sha256.data, d->sha256.size);
	if (!p->key)
		return ux_arena_fail(arena, err);
	UX_TRY(ux_repo_text(arena, d->name, "%NAME%", &p->name, err));
	UX_TRY(ux_repo_text(arena, d->version, "%VERSION%", &p->version, err));
	UX_TRY(ux_repo_text(arena, d->arch, "%ARCH%", &p->arch, err));
	UX_TRY(ux_repo_text(arena, d->base, "%BASE%", &p->source, err));
	return ux_repo_url_join(arena, to->root, d->filename, &p->url, err);
}

static enum ux_code arch_package(struct ux_bytes text, struct ux_index_target *to,
				 struct ux_arena *arena, struct ux_error *err)
{
	struct arch_desc d;
	uint64_t built = 0;
	size_t n = 0;
	arch_parse(text, &d);
	bool debug = arch_is_debug(d.name);
	struct ux_package p = {
		.distribution = to->repository->distribution,
		.suite = to->repository->suite,
		.component = to->repository->component,
		.kind = UX_PACKAGE_PACMAN,
		.role = debug ? UX_PACKAGE_DEBUG : UX_PACKAGE_STRIPPED,
		.has_sha256 = true,
	};
	to->packages++;
	if (d.name.size == 0 || d.filename.size == 0 || d.version.size == 0 ||
	    !ux_decimal_parse(d.csize, &p.size) || d.sha256.size != 2 * sizeof(p.sha256) ||
	    !ux_hex_decode(d.sha256, p.sha256, sizeof(p.sha256), &n))
		return ux_error_set(err, UX_ECORRUPT,
				    "the description of %.*s lacks name, version, file, size or "
				    "SHA-256",
				    (int)ux_min(d.name.size, (size_t)40),
				    (const char *)d.name.data);
	if (ux_bytes_eq(d.arch, UX_STR("any")) || !(debug || arch_has_code(&d)))
		return UX_OK;
	(void)!ux_decimal_parse(d.isize, &p.installed);
	if (ux_decimal_parse(d.built, &built) && built < INT64_MAX)
		p.time = (int64_t)built;
	UX_TRY(arch_texts(&d, to, arena, &p, err));
	return to->take(to->ctx, &p, err);
}

enum ux_code ux_arch_db_read(struct ux_bytes tar, struct ux_index_target *to, struct ux_error *err)
{
	UX_ARENA(arena, PACKAGE_MEMORY);
	struct ux_cur c = ux_cur_make(tar, "database", /* swap= */ false);
	struct ux_tar_file file;
	while (ux_tar_next(&c, &file)) {
		const uint8_t *slash = ux_bytes_find_last(file.name, '/');
		struct ux_arena_mark mark = ux_arena_mark(&arena);
		if (!slash ||
		    !ux_bytes_eq(ux_bytes(slash, file.name.size - (size_t)(slash - file.name.data)),
				 UX_STR("/desc")))
			continue;
		UX_TRY(arch_package(file.content, to, &arena, err));
		ux_arena_rewind(&arena, mark);
	}
	return ux_cur_status(&c, err);
}

enum ux_code ux_arch_read(const struct ux_repository *r, struct ux_polite *client,
			  const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			  struct ux_repository_result *ret, struct ux_error *err)
{
	UX_ARENA(arena, URL_MEMORY);
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_index_target to = {.repository = r, .take = take, .ctx = ctx};
	char name[256];
	snprintf(name, sizeof(name), "%.200s.db", r->component);
	UX_TRY(ux_repo_url_check(r->mirror, err));
	UX_TRY(ux_repo_url_join(&arena, r->mirror, ux_bytes_cstr(r->path), &to.root, err));
	UX_TRY(ux_repository_fetch_root(r, client, to.root, name, ".sig", known, DB_MAX, ret, &file,
					err));
	if (ret->unchanged)
		return UX_OK;
	if (ux_packed_is(file.bytes)) {
		ux_cleanup(ux_file_unmap) struct ux_mapping packed = file;
		file = (struct ux_mapping){0};
		UX_TRY(ux_packed_open(&packed, err));
		file = packed;
		packed = (struct ux_mapping){0};
	}
	if (file.bytes.size > TAR_MAX)
		return ux_error_set(err, UX_ELIMIT, "the database is over 1 GiB");
	enum ux_code code = ux_arch_db_read(file.bytes, &to, err);
	ret->packages = to.packages;
	return code;
}
