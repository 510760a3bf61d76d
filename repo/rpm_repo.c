/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories of rpm: repodata/repomd.xml has the hash of primary.xml, which has that of each
 * package. repomd.xml is signed by some (repomd.xml.asc); others sign packages alone, and then it
 * has to come over https.
 */
#include "arena.h"
#include "index_formats.h"
#include "unpack_stream.h"
#include "repo_url.h"
#include "repository.h"

enum {
	REPOMD_MOST = 16 << 20,
	PRIMARY_MOST = 512 << 20, /* as it is sent; Fedora's has 20 MB */
	PRIMARY_FREE = 64 << 20,  /* bytes that it may unpack to... */
	PRIMARY_RATIO = 64,       /* ...and this many times its size */
	URL_MEMORY = 64 << 10,
};

/* primary.xml, as it is unpacked. */
struct rpm_unpacking {
	struct ux_unpack *unpack;
	struct ux_bytes left; /* as it was sent */
	uint64_t out, most;   /* bytes that came out */
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
	return u->out <= u->most
		       ? UX_OK
		       : ux_error_set(err, UX_ELIMIT,
				      "primary.xml unpacks to over %" PRIu64 " bytes", u->most);
}

/* Neither the unpacked file nor its elements are ever in memory as a whole. */
static enum ux_code rpm_unpack_primary(struct ux_bytes file, struct ux_index_target *to,
				       struct ux_error *err)
{
	ux_cleanup(rpm_unpacking_close) struct rpm_unpacking u = {
		.left = file, .most = PRIMARY_FREE + (uint64_t)PRIMARY_RATIO * file.size};
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
					REPOMD_MOST, ret, &repomd, err));
	if (ret->unchanged)
		return UX_OK;
	UX_TRY(ux_rpm_repomd_read(repomd.bytes, &where, err));
	UX_TRY(ux_repo_url_join(&arena, root, ux_bytes_cstr(where.href), &url, err));
	const struct ux_expected what = {
		.size = where.size, .sha256 = where.sha256, .most = PRIMARY_MOST};
	enum ux_code code = ux_polite_fetch(client, url, &what, NULL, &f, err);
	if (code == UX_ECORRUPT)
		ret->cause = ux_repository_file_cause(err);
	UX_TRY(code);
	primary = f.file;
	code = rpm_unpack_primary(primary.bytes, &to, err);
	ret->packages = to.packages;
	return code;
}

enum ux_code ux_rpm_read(const struct ux_repository *r, struct ux_polite *client,
			 const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			 struct ux_repository_result *ret, struct ux_error *err)
{
	UX_ARENA(arena, URL_MEMORY);
	const char *root = r->mirror;
	UX_TRY(ux_repo_url_check(r->mirror, err));
	if (r->path[0] != '\0')
		UX_TRY(ux_repo_url_join(&arena, r->mirror, ux_bytes_cstr(r->path), &root, err));
	return rpm_read_root(r, root, client, known, take, ctx, ret, err);
}
