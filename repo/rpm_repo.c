/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories of rpm: repodata/repomd.xml has the hash of primary.xml, which has that of each
 * package. repomd.xml is signed by some (repomd.xml.asc); others sign packages alone, and then it
 * has to come over https.
 */
#include "arena.h"
#include "index_formats.h"
#include "packed_file.h"
#include "repo_url.h"
#include "repository.h"

enum {
	REPOMD_MOST = 16 << 20,
	PRIMARY_MOST = 512 << 20, /* as it is sent; Fedora's has 20 MB */
	URL_MEMORY = 64 << 10,
};

enum ux_code ux_rpm_read(const struct ux_repository *r, struct ux_polite *client,
			 const struct ux_repository_state *known, ux_package_fn *take, void *ctx,
			 struct ux_repository_result *ret, struct ux_error *err)
{
	UX_ARENA(arena, URL_MEMORY);
	ux_cleanup(ux_file_unmap) struct ux_mapping repomd = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping primary = {0};
	struct ux_index_target to = {.repository = r, .take = take, .ctx = ctx};
	struct ux_rpm_primary where;
	struct ux_fetched f = {0};
	const char *url = NULL;
	UX_TRY(ux_repo_url_check(r->mirror, err));
	to.root = r->mirror;
	if (r->path[0] != '\0')
		UX_TRY(ux_repo_url_join(&arena, r->mirror, ux_bytes_cstr(r->path), &to.root, err));
	UX_TRY(ux_repository_fetch_root(r, client, to.root, "repodata/repomd.xml", ".asc", known,
					REPOMD_MOST, ret, &repomd, err));
	if (ret->unchanged)
		return UX_OK;
	UX_TRY(ux_rpm_repomd_read(repomd.bytes, &where, err));
	UX_TRY(ux_repo_url_join(&arena, to.root, ux_bytes_cstr(where.href), &url, err));
	const struct ux_expected what = {
		.size = where.size, .sha256 = where.sha256, .most = PRIMARY_MOST};
	enum ux_code code = ux_polite_fetch(client, url, &what, NULL, &f, err);
	if (code == UX_ECORRUPT)
		ret->cause = ux_repository_file_cause(err);
	UX_TRY(code);
	primary = f.file;
	UX_TRY(ux_packed_open(&primary, err));
	code = ux_rpm_primary_read(primary.bytes, &to, err);
	ret->packages = to.packages;
	return code;
}
