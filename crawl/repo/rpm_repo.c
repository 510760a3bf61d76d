/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories of rpm: repodata/repomd.xml has the hash of primary.xml, which has the hash of each
 * package. Some repositories sign repomd.xml (repomd.xml.asc); others sign only packages, and then
 * it must come over https.
 */
#include "arena.h"
#include "debian_files.h"
#include "index_formats.h"
#include "repo_url.h"
#include "repository.h"
#include "text.h"
#include "unpack_stream.h"

enum {
	REPOMD_MAX = 16 << 20,
	PRIMARY_MAX = 512 << 20, /* bytes as sent; Fedora's has 20 MB */
	PRIMARY_FREE = 64 << 20, /* bytes that it may unpack to... */
	PRIMARY_RATIO = 64,      /* ...and this many times its size */
	URL_MEMORY = 64 << 10,
	LIST_MAX = 64 << 10, /* bytes of a list of mirrors */
	ROOTS_MAX = 16,      /* mirrors of the list that are tried */
};

/* primary.xml while it is unpacked. */
struct rpm_unpacking {
	struct ux_unpack *unpack;
	struct ux_bytes left; /* compressed bytes that are left */
	uint64_t out, max;    /* unpacked bytes */
};

static void rpm_unpacking_close(struct rpm_unpacking *u)
{
	ux_unpack_close(u->unpack);
}

static enum ux_code rpm_read_unpacked(void *ctx, void *to, size_t n, size_t *ret,
				      struct ux_error *err)
{
	struct rpm_unpacking *u = ctx;
	UX_TRY(ux_unpack_read(u->unpack, to, n, ret, err));
	u->out += *ret;
	return u->out <= u->max
		       ? UX_OK
		       : ux_error_set(err, UX_ELIMIT,
				      "primary.xml unpacks to more than %" PRIu64 " bytes", u->max);
}

/* Reads primary.xml. Neither the unpacked file nor its elements are ever in memory as a whole. */
static enum ux_code rpm_unpack_primary(struct ux_bytes file, struct ux_index_target *to,
				       struct ux_error *err)
{
	ux_cleanup(rpm_unpacking_close) struct rpm_unpacking u = {
		.left = file, .max = PRIMARY_FREE + (uint64_t)PRIMARY_RATIO * file.size};
	UX_TRY(ux_unpack_open(&u.unpack, ux_unpack_form_of(file), ux_unpack_from_bytes, &u.left,
			      err));
	return ux_rpm_primary_read(rpm_read_unpacked, &u, to, err);
}

/* Reads the repository below a root. */
static enum ux_code rpm_read_root(const struct ux_repository *r, const char *root,
				  struct ux_polite *client, const struct ux_repository_state *known,
				  ux_package_fn *take, void *ctx, struct ux_repository_result *ret,
				  struct ux_error *err)
{
	UX_ARENA(arena, URL_MEMORY);
	ux_cleanup(ux_file_unmap) struct ux_mapping repomd = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping primary = {0};
	struct ux_index_target to = {.repository = r, .root = root, .take = take, .ctx = ctx};
	struct ux_rpm_primary where;
	struct ux_fetched f = {0};
	const char *url = NULL;
	UX_TRY(ux_repository_fetch_root(r, client, root, "repodata/repomd.xml", ".asc", known,
					REPOMD_MAX, ret, &repomd, err));
	if (ret->unchanged)
		return UX_OK;
	UX_TRY(ux_rpm_repomd_read(repomd.bytes, &where, err));
	UX_TRY(ux_repo_url_join(&arena, root, ux_bytes_cstr(where.href), &url, err));
	const struct ux_expected what = {
		.size = where.size, .sha256 = where.sha256, .max = PRIMARY_MAX};
	enum ux_code code = ux_polite_fetch(client, url, &what, NULL, &f, err);
	if (code == UX_ECORRUPT)
		ret->cause = ux_repository_file_cause(err);
	UX_TRY(code);
	primary = f.file;
	code = rpm_unpack_primary(primary.bytes, &to, err);
	ret->packages = to.packages;
	return code;
}

/* --- lists of mirrors ------------------------------------------------------------------------- */

/* Roots, the best one first. Texts are the arena's. */
struct rpm_roots {
	const char *list[ROOTS_MAX];
	size_t n;
};

/*
 * Adds a line of the list, with $basearch replaced by the architecture. Only a list of this machine
 * may name its folders: another machine must not make this one read and announce them.
 */
static enum ux_code rpm_add_root(struct ux_arena *arena, struct ux_bytes line, const char *arch,
				 bool local, struct rpm_roots *ret, struct ux_error *err)
{
	const char *path = NULL;
	const struct ux_bytes basearch = UX_STR("$basearch");
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	while (line.size > 0) {
		bool word = ux_bytes_starts(line, basearch);
		size_t n = word ? basearch.size : 1;
		if (word)
			ux_out_cstr(&out, arch);
		else
			ux_out_u8(&out, line.data[0]);
		line = ux_bytes(line.data + n, line.size - n);
	}
	UX_TRY(ux_out_status(&out, err));
	UX_TRY(ux_repo_text(arena, ux_out_bytes(&out), "a mirror's URL", &ret->list[ret->n], err));
	UX_TRY(ux_repo_url_check(ret->list[ret->n], err));
	if (!local && ux_repo_url_is_file(ret->list[ret->n], &path))
		return ux_error_set(err, UX_EDENIED,
				    "the list of mirrors names a folder of this machine: %.100s",
				    ret->list[ret->n]);
	ret->n++;
	return UX_OK;
}

/*
 * Reads a list of mirrors, one URL in a line. Amazon Linux has its repositories at URLs with a hash
 * that only such a list contains.
 */
static enum ux_code rpm_fetch_roots(const struct ux_repository *r, struct ux_polite *client,
				    const char *url, struct ux_arena *arena, struct rpm_roots *ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	const struct ux_expected what = {.size = UINT64_MAX, .max = LIST_MAX};
	struct ux_fetched f = {0};
	struct ux_bytes line;
	const char *path = NULL;
	bool local = ux_repo_url_is_file(url, &path);
	UX_TRY(ux_polite_fetch(client, url, &what, NULL, &f, err));
	file = f.file;
	struct ux_bytes text = file.bytes;
	while (ret->n < ROOTS_MAX && ux_text_take_line(&text, &line)) {
		line = ux_trim(line);
		if (line.size > 0 && line.data[0] != '#')
			UX_TRY(rpm_add_root(arena, line, r->arch, local, ret, err));
	}
	return ret->n > 0 ? UX_OK
			  : ux_error_set(err, UX_ECORRUPT, "the list of mirrors is empty: %.100s",
					 url);
}

/* Reads the first mirror that answers. Each is trusted only for what its own URL or signature
 * proves. */
static enum ux_code rpm_read_mirrors(const struct ux_repository *r, const struct rpm_roots *roots,
				     struct ux_polite *client,
				     const struct ux_repository_state *known, ux_package_fn *take,
				     void *ctx, struct ux_repository_result *ret,
				     struct ux_error *err)
{
	struct ux_error first = UX_ERROR_INIT;
	enum ux_code code = UX_ENOTFOUND;
	for (size_t i = 0; i < roots->n; i++) {
		struct ux_repository one = *r;
		struct ux_error why = UX_ERROR_INIT;
		one.mirror = roots->list[i];
		code = rpm_read_root(&one, roots->list[i], client, known, take, ctx, ret, &why);
		first = first.code == UX_OK ? why : first;
		if (code != UX_EUNAVAILABLE && code != UX_ENOTFOUND)
			break;
	}
	if (code != UX_OK && err && err->code == UX_OK)
		*err = first;
	return code == UX_OK ? UX_OK : first.code;
}

enum ux_code ux_rpm_read(const struct ux_repository *r, struct ux_polite *client,
			 const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			 struct ux_repository_result *ret, struct ux_error *err)
{
	static const char list[] = "/mirror.list";
	UX_ARENA(arena, URL_MEMORY);
	struct rpm_roots roots = {0};
	const char *root = r->mirror;
	UX_TRY(ux_repo_url_check(r->mirror, err));
	if (r->path[0] != '\0')
		UX_TRY(ux_repo_url_join(&arena, r->mirror, ux_bytes_cstr(r->path), &root, err));
	size_t n = strlen(root);
	if (n < sizeof(list) || strcmp(root + n - (sizeof(list) - 1), list) != 0)
		return rpm_read_root(r, root, client, known, take, ctx, ret, err);
	UX_TRY(rpm_fetch_roots(r, client, root, &arena, &roots, err));
	return rpm_read_mirrors(r, &roots, client, known, take, ctx, ret, err);
}
