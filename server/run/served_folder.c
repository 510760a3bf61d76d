/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves a folder of symbols directly (docs/clone.md): its manifest becomes an index in a temporary
 * folder, and its files are the blobs.
 */
#include "serve.h"

#include "event_log.h"
#include "manifest.h"
#include "minisign.h"
#include "s3_client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	WALK_DESCRIPTORS = 16
};

struct ux_served_folder {
	int dir;                 /* folder of the objects; -1: they are in a bucket */
	struct ux_blobs *bucket; /* NULL: they are in a folder */
	bool attaching;          /* treat every object of the manifest as present */
	struct ux_manifest manifest;
	struct ux_entries_by_hash by_hash;
	char *scratch; /* folder of the index; malloc'ed */
};

static int served_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

void ux_served_folder_close(struct ux_served_folder *f)
{
	if (!f)
		return;
	/* The bucket's copies are in the folder that is removed below. */
	if (f->bucket)
		f->bucket->close(f->bucket);
	if (f->scratch)
		(void)nftw(f->scratch, served_remove_one, WALK_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
	free(f->scratch);
	ux_entries_by_hash_deinit(&f->by_hash);
	ux_manifest_deinit(&f->manifest);
	if (f->dir >= 0)
		close(f->dir);
	free(f);
}

const char *ux_served_folder_scratch(const struct ux_served_folder *f)
{
	return f->scratch;
}

static void served_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static enum ux_code served_map(const struct ux_served_folder *f, const char *name, uint64_t max,
			       struct ux_mapping *ret, struct ux_error *err)
{
	ux_cleanup(served_close_fd) int fd =
		openat(f->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return ux_error_os(err, errno, "serve-from: cannot open %s", name);
	UX_TRY(ux_file_map_fd(fd, ret, err));
	return ret->bytes.size <= max
		       ? UX_OK
		       : ux_error_set(err, UX_ELIMIT, "serve-from: %s exceeds %" PRIu64 " bytes",
				      name, max);
}

static enum ux_code served_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	if (bytes.size > UX_MANIFEST_SIZE_MAX - out->size)
		return ux_error_set(err, UX_ELIMIT, "serve-from: the manifest is too large");
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

/* Reads a key: the name of a file, or the key itself. */
static enum ux_code served_read_key(const char *text, struct ux_minisign_public *ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	if (access(text, F_OK) != 0 &&
	    ux_minisign_public_read(ux_bytes_cstr(text), ret, NULL) == UX_OK)
		return UX_OK;
	UX_TRY(ux_file_map(text, &file, err));
	return ux_minisign_public_read(file.bytes, ret, err);
}

static enum ux_code served_verify(const struct ux_served_folder *f, struct ux_bytes manifest,
				  const char *key, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping signature = {0};
	struct ux_minisign_public public_key;
	if (!key)
		return UX_OK;
	UX_TRY(served_read_key(key, &public_key, err));
	UX_TRY(served_map(f, UX_MANIFEST_SIGNATURE, UX_MINISIGN_FILE_MAX, &signature, err));
	return ux_minisign_verify(&public_key, manifest, signature.bytes, err);
}

/* Reads the manifest of a bucket, and its signature if a key is required. */
static enum ux_code served_read_bucket(struct ux_served_folder *f,
				       const struct ux_s3_options *where, const char *key,
				       struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	ux_cleanup(ux_out_deinit) struct ux_out signature = {0};
	struct ux_minisign_public public_key;
	struct ux_s3 *s3 = NULL;
	UX_TRY(ux_s3_open(&s3, where, err));
	enum ux_code code = ux_s3_get(s3, UX_MANIFEST_NAME, 0, UINT64_MAX, served_take, &text, err);
	if (code == UX_OK && key)
		code = ux_s3_get(s3, UX_MANIFEST_SIGNATURE, 0, UINT64_MAX, served_take, &signature,
				 err);
	ux_s3_close(s3);
	UX_TRY(code);
	if (key) {
		UX_TRY(served_read_key(key, &public_key, err));
		UX_TRY(ux_minisign_verify(&public_key, ux_out_bytes(&text),
					  ux_out_bytes(&signature), err));
	}
	UX_TRY(ux_manifest_read(ux_out_bytes(&text), &f->manifest, err));
	return ux_entries_by_hash_make(&f->manifest, &f->by_hash, err);
}

static enum ux_code served_read(struct ux_served_folder *f, const char *path, const char *key,
				struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping text = {0};
	f->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0)
		return ux_error_os(err, errno, "serve-from: cannot open %.100s", path);
	UX_TRY(served_map(f, UX_MANIFEST_NAME, UX_MANIFEST_SIZE_MAX, &text, err));
	UX_TRY(served_verify(f, text.bytes, key, err));
	UX_TRY(ux_manifest_read(text.bytes, &f->manifest, err));
	return ux_entries_by_hash_make(&f->manifest, &f->by_hash, err);
}

static enum ux_code served_make_scratch(struct ux_served_folder *f, struct ux_error *err)
{
	const char *tmp = getenv("TMPDIR");
	if (asprintf(&f->scratch, "%s/unhex-serve.XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0) {
		f->scratch = NULL;
		return ux_error_nomem(err);
	}
	if (mkdtemp(f->scratch))
		return UX_OK;
	enum ux_code code = ux_error_os(err, errno, "cannot create %.100s", f->scratch);
	free(ux_take(&f->scratch));
	return code;
}

static bool served_path(void *ctx, const struct ux_blob_hash *hash, char path[UX_BLOBS_PATH_MAX])
{
	const struct ux_served_folder *f = ctx;
	size_t i = ux_entries_by_hash_find(&f->by_hash, hash->bytes);
	if (i == f->by_hash.n)
		return false;
	(void)snprintf(path, UX_BLOBS_PATH_MAX, "%s", f->by_hash.items[i]->path);
	return true;
}

static enum ux_code served_open_bucket(struct ux_served_folder *f,
				       const struct ux_s3_options *where, uint64_t cache_bytes,
				       struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *cache = NULL;
	if (asprintf(&cache, "%s/cache", f->scratch) < 0) {
		cache = NULL;
		return ux_error_nomem(err);
	}
	UX_TRY(ux_blobs_s3_open(&f->bucket, where, cache, cache_bytes, err));
	ux_blobs_s3_name(f->bucket, served_path, f);
	return UX_OK;
}

enum ux_code ux_served_folder_open(struct ux_served_folder **ret, const char *path, const char *key,
				   int64_t max_age_s, const struct ux_s3_options *bucket,
				   uint64_t cache_bytes, struct ux_error *err)
{
	struct ux_served_folder *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	f->dir = -1;
	ux_manifest_init(&f->manifest);
	enum ux_code code =
		bucket ? served_read_bucket(f, bucket, key, err) : served_read(f, path, key, err);
	if (code == UX_OK)
		code = ux_manifest_check_age(&f->manifest.head, max_age_s, err);
	if (code == UX_OK)
		code = served_make_scratch(f, err);
	if (code == UX_OK && bucket)
		code = served_open_bucket(f, bucket, cache_bytes, err);
	if (code != UX_OK) {
		ux_served_folder_close(f);
		return code;
	}
	*ret = f;
	return UX_OK;
}

/* Implements ux_blobs_lower_fn. The user of the bytes compares them with the hash. */
static int served_open_blob(void *ctx, const struct ux_blob_hash *hash)
{
	const struct ux_served_folder *f = ctx;
	size_t i = ux_entries_by_hash_find(&f->by_hash, hash->bytes);
	int fd = -1;
	uint64_t size = 0;
	if (i < f->by_hash.n && f->bucket) {
		enum ux_code code = f->attaching
					    ? ux_file_temporary(&fd, NULL)
					    : f->bucket->open(f->bucket, hash, &fd, &size, NULL);
		return code == UX_OK ? fd : -1;
	}
	return i == f->by_hash.n ? -1
				 : openat(f->dir, f->by_hash.items[i]->path,
					  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static unsigned served_holds(unsigned holds)
{
	return ((holds & UX_ENTRY_CODE) != 0 ? UX_HOLDS_CODE : 0U) |
	       ((holds & UX_ENTRY_DEBUG) != 0 ? UX_HOLDS_DEBUG : 0U) |
	       ((holds & UX_ENTRY_SECTIONS) != 0 ? UX_HOLDS_SECTIONS : 0U);
}

/* Adds an object. Bundles of sources are unpacked like uploaded ones; all others are ready. */
static enum ux_code served_add(struct ux_store *s, const struct ux_entry *e, struct ux_error *err)
{
	struct ux_add_result result;
	struct ux_candidate c = {
		.size = e->size,
		.quality = e->quality,
		.claim = e->quality,
		.counts = e->counts,
		.holds = served_holds(e->holds),
		.state = e->kind == UX_ENTRY_SOURCES ? UX_CANDIDATE_PENDING : UX_CANDIDATE_READY,
		.reason = "",
		.forced = true,
		.origin_name = "",
		.description = e->description,
		.provenance = e->provenance,
		.trust = e->trust,
		.file_name = e->file,
		.key_id = "",
	};
	const struct ux_arrival arrival = {
		.ns = e->ns, .ids = e->ids, .n_ids = e->n_ids, .force = true};
	const struct ux_who who = {.key_id = "", .from = "serve-from"};
	if (!ux_kind_parse(ux_bytes_cstr(ux_entry_kind_name(e->kind)), &c.kind))
		return ux_error_set(
			err, UX_EUNSUPPORTED,
			"serve-from: this version does not support the kind of an object");
	memcpy(c.blob.bytes, e->hash, sizeof(c.blob.bytes));
	return ux_store_commit_candidate(s, NULL, &arrival, &c, &who, &result, err);
}

/* Adds all objects. Logs and skips objects that are missing or inconsistent; the rest is served. */
static enum ux_code served_add_all(const struct ux_served_folder *f, struct ux_store *s,
				   struct ux_error *err)
{
	const struct ux_entries *all = &f->manifest.objects;
	size_t served = 0;
	for (size_t i = 0; i < all->size; i++) {
		char quoted[300];
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = served_add(s, &all->data[i], &why);
		if (code != UX_OK && code != UX_ENOTFOUND && code != UX_ECONFLICT &&
		    code != UX_EIO) {
			*err = why;
			return code;
		}
		served += code == UX_OK;
		if (code != UX_OK)
			ux_log_line("warning", "serve-from", "left_out=%s error=%s",
				    all->data[i].path,
				    ux_log_quote(ux_bytes_cstr(why.text), quoted, sizeof(quoted)));
	}
	ux_log_line("info", "serve-from", "objects=%zu served=%zu", all->size, served);
	return UX_OK;
}

enum ux_code ux_served_folder_attach(struct ux_served_folder *f, struct ux_store *s,
				     struct ux_error *err)
{
	struct ux_blobs *overlay = NULL;
	UX_TRY(ux_blobs_overlay_open(&overlay, s->blobs, served_open_blob, f, err));
	s->blobs = overlay;
	ux_index_throw_away(s->index);
	/* Checking each object of a bucket would fetch them all. */
	f->attaching = f->bucket != NULL;
	enum ux_code code = served_add_all(f, s, err);
	f->attaching = false;
	return code;
}
