/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mirror of a distribution as an upstream: the index knows which package has the file with a
 * build ID, and of the package that came, this file and the one that dwz made for it are kept.
 */
#include "fetcher_inside.h"

#include "text.h"

#include <errno.h>
#include <unistd.h>

enum {
	PIECE = 256 << 10, /* bytes that are copied at a time */
};

/* --- where it is ------------------------------------------------------------------------------ */

/*
 * The path of a package below the URL of the upstream; NULL: it is elsewhere. Only what the
 * operator has configured is fetched, whatever was announced.
 */
static char *package_path(const struct ux_upstream *up, const char *url, struct ux_arena *arena,
			  struct ux_error *err, enum ux_code *ret)
{
	size_t n = strlen(up->url);
	*ret = UX_OK;
	if (strncmp(url, up->url, n) != 0 || url[n] != '/' || strstr(url + n, "/../"))
		return NULL;
	char *path = ux_arena_strndup(arena, url + n, strlen(url + n));
	if (!path)
		*ret = ux_arena_fail(arena, err);
	return path;
}

/* Debug files are in packages for debuggers, executables in the others. */
static bool package_has_artifact(const struct ux_package_job *job, enum ux_artifact artifact)
{
	if (artifact == UX_ARTIFACT_DEBUGINFO)
		return strcmp(job->package.role, "debug") == 0;
	return artifact == UX_ARTIFACT_EXECUTABLE && strcmp(job->package.role, "stripped") == 0;
}

static enum ux_code places_of_packages(const struct ux_fetch *fetch, struct ux_store *store,
				       const struct ux_upstream *up, enum ux_artifact artifact,
				       struct ux_arena *arena, struct ux_fetch_places *ret,
				       struct ux_error *err)
{
	enum {
		LOOKED_AT = 32, /* packages with the same file: of several suites and mirrors */
	};
	struct ux_index *ix = store->index;
	struct ux_package_jobs jobs;
	bool has = artifact == UX_ARTIFACT_DEBUGINFO || artifact == UX_ARTIFACT_EXECUTABLE;
	if (!has || fetch->parsed.type != UX_ID_GNU)
		return UX_OK;
	UX_TRY(ix->packages.holding(ix, fetch->ns,
				    ux_bytes(fetch->parsed.bytes, fetch->parsed.size), LOOKED_AT,
				    arena, &jobs, err));
	for (size_t i = 0; i < jobs.n && ret->paths.n < UX_UPSTREAM_PATHS_MOST; i++) {
		enum ux_code code = UX_OK;
		if (!package_has_artifact(&jobs.items[i], artifact))
			continue;
		char *path = package_path(up, jobs.items[i].package.url, arena, err, &code);
		UX_TRY(code);
		if (!path)
			continue;
		ret->packages[ret->paths.n] = jobs.items[i];
		ret->paths.paths[ret->paths.n++] = path;
	}
	return UX_OK;
}

enum ux_code ux_fetch_places_get(const struct ux_fetch *fetch, struct ux_store *store,
				 const struct ux_upstream *up, enum ux_artifact artifact,
				 struct ux_arena *arena, struct ux_fetch_places *ret,
				 struct ux_error *err)
{
	*ret = (struct ux_fetch_places){0};
	if (up->kind == UX_UPSTREAM_PACKAGES)
		return places_of_packages(fetch, store, up, artifact, arena, ret, err);
	return ux_upstream_paths_get(up, &fetch->parsed, artifact, fetch->source, arena,
				     &ret->paths, err);
}

/* --- what came -------------------------------------------------------------------------------- */

struct package_arrival {
	struct ux_fetcher *f;
	const struct ux_fetched_package *from;
	struct ux_fetched_files kept;
	bool found;
};

static enum ux_code member_copy(struct ux_blobs *b, struct ux_blob_part *part,
				const struct ux_sandbox_part *from, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) uint8_t *piece = malloc(PIECE);
	if (!piece)
		return ux_error_nomem(err);
	for (uint64_t at = 0; at < from->size;) {
		size_t want = (size_t)ux_min(from->size - at, (uint64_t)PIECE);
		ssize_t n = pread(from->fd, piece, want, (off_t)(from->off + at));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return ux_error_os(err, n < 0 ? errno : EIO,
					   "cannot read an unpacked member");
		UX_TRY(b->part_write(part, ux_bytes(piece, (size_t)n), err));
		at += (uint64_t)n;
	}
	return UX_OK;
}

static enum ux_code member_pass_on(struct package_arrival *a, const char *id,
				   struct ux_blob_part *part, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping bytes = {0};
	const struct ux_fetcher_options *o = &a->f->options;
	UX_TRY(a->f->store->blobs->part_map(part, &bytes, err));
	const struct ux_arrived arrived = {
		.ns = a->from->fetch->ns,
		.id = id,
		.upstream = a->from->up->name,
		.artifact = a->from->artifact,
		.part = part,
		.bytes = bytes.bytes,
		.hash = ux_blob_hash_of(bytes.bytes),
	};
	if (o->make_room)
		UX_TRY(o->make_room(o->ctx, &arrived, err));
	return o->arrived(o->ctx, &arrived, err);
}

static enum ux_code member_keep(struct package_arrival *a, const char *id,
				const struct ux_sandbox_part *from, struct ux_error *err)
{
	struct ux_blobs *b = a->f->store->blobs;
	struct ux_blob_part *part = NULL;
	char uid[UX_UPLOAD_UID_SIZE];
	uint64_t size = 0;
	UX_TRY(ux_upload_uid_make(uid, err));
	UX_TRY(b->part_open(b, uid, &part, &size, err));
	enum ux_code code = member_copy(b, part, from, err);
	if (code == UX_OK)
		code = member_pass_on(a, id, part, err);
	b->part_close(part);
	(void)!b->part_remove(b, uid, NULL);
	return code;
}

static bool package_wants(void *ctx, const struct ux_id *id)
{
	const struct package_arrival *a = ctx;
	const struct ux_fetched_package *p = a->from;
	return ux_id_eq(id, &p->fetch->parsed) ||
	       (a->kept.n < UX_FETCH_BESIDE_MOST &&
		ux_fetcher_wants(a->f, p->fetch, p->artifact, id));
}

/*
 * A file beside the one that is fetched may be unusable. Without the one that dwz made, names are
 * missing, which is better than no answer.
 */
static enum ux_code package_on_member(void *ctx, const struct ux_package_member *m,
				      struct ux_error *err)
{
	struct package_arrival *a = ctx;
	char id[UX_ID_TEXT];
	struct ux_error why = UX_ERROR_INIT;
	if (ux_id_eq(&m->id, &a->from->fetch->parsed)) {
		if (a->found)
			return UX_OK;
		a->found = true;
		a->kept.size = m->part.size;
		return member_keep(a, a->from->fetch->id, &m->part, err);
	}
	ux_id_format(&m->id, id);
	enum ux_code code = member_keep(a, id, &m->part, &why);
	if (code == UX_OK && a->kept.n < UX_FETCH_BESIDE_MOST)
		a->kept.beside[a->kept.n++] = m->id;
	if (code == UX_OK || why.os_errno == 0)
		return UX_OK;
	*err = why;
	return code;
}

static enum ux_code package_check_hash(const struct ux_fetched_package *p, struct ux_error *err)
{
	char text[2 * sizeof(struct ux_blob_hash) + 1];
	const char *announced = p->package->package.sha256;
	if (announced[0] == '\0')
		return UX_OK;
	struct ux_blob_hash hash = ux_blob_hash_of(p->bytes);
	ux_blob_hash_text(&hash, text);
	return strcasecmp(text, announced) == 0
		       ? UX_OK
		       : ux_error_set(err, UX_ECONFLICT,
				      "the package %.80s has another SHA-256 than announced",
				      p->package->package.name);
}

enum ux_code ux_fetched_package_store(struct ux_fetcher *f, const struct ux_fetched_package *p,
				      struct ux_fetched_files *ret, struct ux_error *err)
{
	struct package_arrival a = {.f = f, .from = p};
	const struct ux_id *id = &p->fetch->parsed;
	struct ux_index *ix = f->store->index;
	UX_TRY(package_check_hash(p, err));
	UX_TRY(ux_package_members_find(p->bytes, package_wants, package_on_member, &a, &f->stopping,
				       err));
	*ret = a.kept;
	if (a.found)
		return UX_OK;
	(void)!ix->packages.lacks(ix, p->fetch->ns, ux_bytes(id->bytes, id->size),
				  p->package->number, NULL);
	return ux_error_set(err, UX_ENOTFOUND, "its package %.80s has no such file",
			    p->package->package.name);
}
