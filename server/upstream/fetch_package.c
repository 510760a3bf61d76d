/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mirror of a distribution as an upstream: the index knows which package has the file with a
 * build ID. Of that package, only this file and the supplementary file that dwz made for it are
 * kept.
 */
#include "fetcher_internal.h"

#include "route.h"
#include "text.h"
#include "upstream_set.h"
#include "url.h"

#include <errno.h>
#include <unistd.h>

enum {
	PIECE = 256 << 10,       /* bytes copied in one step */
	LOOKUP_MEMORY = 4 << 20, /* bytes for the rows of a module and its sources */
};

/* --- where it is ------------------------------------------------------------------------------ */

char *ux_fetch_package_path(const struct ux_upstream *up, const char *url, struct ux_arena *arena,
			    struct ux_error *err, enum ux_code *ret)
{
	const char *below = ux_url_below(url, up->url);
	*ret = UX_OK;
	if (!below || below[0] != '/')
		return NULL;
	char *path = ux_arena_strndup(arena, below, strlen(below));
	if (!path)
		*ret = ux_arena_fail(arena, err);
	return path;
}

const char *ux_fetch_file_name(const char *url, struct ux_arena *arena)
{
	const char *slash = strrchr(url, '/');
	struct ux_bytes name = ux_bytes_cstr(slash ? slash + 1 : ""), plain = UX_BYTES_NONE;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code =
		ux_percent_decode(name, /* plus= */ false, arena, "a name", &plain, &why);
	if (code == UX_OK)
		return ux_arena_strndup(arena, plain.data, plain.size);
	return code == UX_ENOMEM || code == UX_ELIMIT ? NULL : "";
}

/*
 * Tests whether a package can have the artifact: debug files and sources are in packages of their
 * own, executables in the others.
 */
static bool package_has_artifact(const struct ux_package_job *job, enum ux_artifact artifact)
{
	static const char *const roles[UX_ARTIFACT_COUNT] = {
		[UX_ARTIFACT_DEBUGINFO] = "debug",
		[UX_ARTIFACT_EXECUTABLE] = "stripped",
		[UX_ARTIFACT_SOURCE] = "source",
	};
	return roles[artifact] && strcmp(job->package.role, roles[artifact]) == 0;
}

static enum ux_code places_of_packages(const struct ux_fetch *fetch, struct ux_store *store,
				       const struct ux_upstream *up, enum ux_artifact artifact,
				       struct ux_arena *arena, struct ux_fetch_places *ret,
				       struct ux_error *err)
{
	enum {
		LOOKED_AT = 32, /* packages with the same file, from several suites and mirrors */
	};
	struct ux_index *ix = store->index;
	struct ux_package_jobs jobs = {0};
	if (artifact == UX_ARTIFACT_SOURCE)
		UX_TRY(ix->packages.sources(ix, fetch->ns, fetch->id, LOOKED_AT, arena, &jobs,
					    err));
	else if (fetch->parsed.type == UX_ID_GNU)
		UX_TRY(ix->packages.holding(ix, fetch->ns,
					    ux_bytes(fetch->parsed.bytes, fetch->parsed.size),
					    LOOKED_AT, arena, &jobs, err));
	for (size_t i = 0; i < jobs.n && ret->paths.n < UX_UPSTREAM_PATHS_MAX; i++) {
		enum ux_code code = UX_OK;
		if (!package_has_artifact(&jobs.items[i], artifact))
			continue;
		char *path =
			ux_fetch_package_path(up, jobs.items[i].package.url, arena, err, &code);
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

/* --- the received package --------------------------------------------------------------------- */

struct package_arrival {
	struct ux_fetcher *f;
	const struct ux_fetched_package *from;
	struct ux_fetched_files kept;
	bool found;
	char sha256[2 * sizeof(struct ux_blob_hash) + 1]; /* SHA-256 of the package, in hex */
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

/* Returns the provenance that a crawl would record for the module. */
static struct ux_provenance package_provenance(const struct package_arrival *a)
{
	const struct ux_package_row *p = &a->from->package->package;
	return (struct ux_provenance){.facts = {[UX_DISTRIBUTION] = p->distribution,
						[UX_SUITE] = p->suite,
						[UX_PACKAGE] = p->name,
						[UX_PACKAGE_VERSION] = p->version,
						[UX_PACKAGE_SHA256] = a->sha256}};
}

static enum ux_code member_pass_on(struct package_arrival *a, const char *id, const char *name,
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
		.file = name,
		.provenance = package_provenance(a),
		.part = part,
		.bytes = bytes.bytes,
		.hash = ux_blob_hash_of(bytes.bytes),
	};
	if (o->make_room)
		UX_TRY(o->make_room(o->ctx, &arrived, err));
	return o->arrived(o->ctx, &arrived, err);
}

static enum ux_code member_keep(struct package_arrival *a, const char *id,
				const struct ux_package_member *m, struct ux_error *err)
{
	struct ux_blobs *b = a->f->store->blobs;
	struct ux_blob_part *part = NULL;
	char uid[UX_UPLOAD_UID_SIZE];
	uint64_t size = 0;
	UX_TRY(ux_upload_uid_make(uid, err));
	UX_TRY(b->part_open(b, uid, &part, &size, err));
	enum ux_code code = member_copy(b, part, &m->part, err);
	if (code == UX_OK)
		code = member_pass_on(a, id, m->name, part, err);
	b->part_close(part);
	(void)!b->part_remove(b, uid, NULL);
	return code;
}

static bool package_wants(void *ctx, const struct ux_id *id)
{
	const struct package_arrival *a = ctx;
	const struct ux_fetched_package *p = a->from;
	return ux_id_eq(id, &p->fetch->parsed) ||
	       (a->kept.n < UX_FETCH_BESIDE_MAX &&
		ux_fetcher_wants(a->f, p->fetch, p->artifact, id));
}

/*
 * Keeps a member of the package. Only the file that is fetched has to be usable: without the
 * supplementary file of dwz, names are missing, which is better than no answer.
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
		return member_keep(a, a->from->fetch->id, m, err);
	}
	ux_id_format(&m->id, id);
	enum ux_code code = member_keep(a, id, m, &why);
	if (code == UX_OK && a->kept.n < UX_FETCH_BESIDE_MAX)
		a->kept.beside[a->kept.n++] = m->id;
	if (code == UX_OK || why.os_errno == 0)
		return UX_OK;
	*err = why;
	return code;
}

/* Compares the SHA-256 of the package with the announced one, if one was announced. */
static enum ux_code package_check_hash(struct package_arrival *a, struct ux_error *err)
{
	const struct ux_package_row *p = &a->from->package->package;
	if (ux_fetch_is_source_package(a->from->package)) {
		/*
		 * each file was checked when it arrived; the key of the first one identifies the
		 * package
		 */
		snprintf(a->sha256, sizeof(a->sha256), "%s", p->key);
		return UX_OK;
	}
	struct ux_blob_hash hash = ux_blob_hash_of(a->from->bytes);
	ux_blob_hash_text(&hash, a->sha256);
	return p->sha256[0] == '\0' || strcasecmp(a->sha256, p->sha256) == 0
		       ? UX_OK
		       : ux_error_set(err, UX_ECONFLICT,
				      "package %.80s does not match its announced SHA-256",
				      p->name);
}

/*
 * Stores all sources of a package with the module, so that the package is fetched only once. A
 * source file that is missing then is not in the package.
 */
static enum ux_code package_keep_sources(struct package_arrival *a, struct ux_error *err)
{
	UX_ARENA(arena, LOOKUP_MEMORY);
	const struct ux_fetch *fetch = a->from->fetch;
	const struct ux_fetcher_options *o = &a->f->options;
	const char *file = ux_fetch_file_name(a->from->package->package.url, &arena);
	struct ux_source found;
	if (!file)
		return ux_arena_fail(&arena, err);
	const struct ux_arrived arrived = {
		.ns = fetch->ns,
		.id = fetch->id,
		.upstream = a->from->up->name,
		.artifact = UX_ARTIFACT_SOURCE,
		.source = fetch->source,
		.file = file,
		.provenance = package_provenance(a),
		.part = a->from->part,
		.bytes = a->from->bytes,
		.hash = ux_blob_hash_of(a->from->bytes),
	};
	if (o->make_room)
		UX_TRY(o->make_room(o->ctx, &arrived, err));
	UX_TRY(o->arrived(o->ctx, &arrived, err));
	a->kept.size = a->from->bytes.size;
	/*
	 * a source with a relative path in the symbols was stored under that path when the package
	 * was unpacked
	 */
	const struct ux_source_request request = {
		.ns = fetch->ns, .id = fetch->id, .path = fetch->source};
	enum ux_code code = ux_source_lookup(a->f->store, &request, &arena, &found, NULL);
	if (code == UX_ENOTFOUND)
		return ux_error_set(err, UX_ENOTFOUND, "source package %.80s has no such file",
				    a->from->package->package.name);
	return code;
}

enum ux_code ux_fetched_package_store(struct ux_fetcher *f, const struct ux_fetched_package *p,
				      struct ux_fetched_files *ret, struct ux_error *err)
{
	struct package_arrival a = {.f = f, .from = p};
	const struct ux_id *id = &p->fetch->parsed;
	struct ux_index *ix = f->store->index;
	UX_TRY(package_check_hash(&a, err));
	if (p->artifact == UX_ARTIFACT_SOURCE) {
		enum ux_code code = package_keep_sources(&a, err);
		*ret = a.kept;
		return code;
	}
	UX_TRY(ux_package_members_find(p->bytes, package_wants, package_on_member, &a, &f->stopping,
				       err));
	*ret = a.kept;
	if (a.found)
		return UX_OK;
	(void)!ix->packages.lacks(ix, p->fetch->ns, ux_bytes(id->bytes, id->size),
				  p->package->number, NULL);
	return ux_error_set(err, UX_ENOTFOUND, "package %.80s has no such file",
			    p->package->package.name);
}
