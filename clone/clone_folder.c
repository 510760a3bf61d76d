/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder as the source or the target of a copy. Objects appear under their paths in one step,
 * complete and checked against their hashes; the manifest is replaced when all of them are there.
 * docs/clone.md describes the contents of the folder.
 */
#include "clone_endpoint.h"

#include "file.h"
#include "json_in.h"
#include "json_out.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder for objects in transit; no path of an object begins with a dot. */
#define PARTS ".clone"
#define NOTES PARTS "/sources.json"
#define LOCK  PARTS "/lock"

enum {
	FOLDER_MODE = 0777,
	FILE_MODE = 0666,
	NOTES_MAX = 1 << 20, /* bytes */
	SOURCE_MAX = 4096,   /* bytes of the name of a source in it */
	LINK_TRIES = 100,
};

struct clone_folder {
	struct ux_clone_endpoint base;
	int dir;
	int lock;
	bool check;
	const struct ux_clone_plan *plan;
	struct ux_entries_by_hash by_hash; /* the objects that the folder had */
};

static struct clone_folder *clone_folder_of(struct ux_clone_endpoint *e)
{
	return ux_container_of(e, struct clone_folder, base);
}

static void folder_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Opens a regular file of the folder; a link in its place is not followed. UX_ENOTFOUND. */
static enum ux_code folder_open_file(const struct clone_folder *f, const char *path, int *ret,
				     uint64_t *ret_size, struct ux_error *err)
{
	struct stat st;
	int fd = openat(f->dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? ux_error_set(err, UX_ENOTFOUND, "%.120s does not exist", path)
			       : ux_error_os(err, errno, "cannot open %.100s", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return ux_error_set(err, UX_EINVAL, "%.100s is not a regular file", path);
	}
	*ret = fd;
	*ret_size = (uint64_t)st.st_size;
	return UX_OK;
}

static enum ux_code folder_read_file(const struct clone_folder *f, const char *path, uint64_t max,
				     struct ux_out *ret, struct ux_error *err)
{
	ux_cleanup(folder_close_fd) int fd = -1;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	uint64_t size = 0;
	UX_TRY(folder_open_file(f, path, &fd, &size, err));
	if (size > max)
		return ux_error_set(err, UX_ELIMIT,
				    "%.100s has %" PRIu64 " bytes; the limit is %" PRIu64, path,
				    size, max);
	UX_TRY(ux_file_map_fd(fd, &file, err));
	ux_out_put(ret, file.bytes.data, file.bytes.size);
	return ux_out_status(ret, err);
}

static enum ux_code clone_folder_list(struct ux_clone_endpoint *e, const char *since,
				      struct ux_clone_list *ret, struct ux_error *err)
{
	const struct clone_folder *f = clone_folder_of(e);
	struct ux_error why = UX_ERROR_INIT;
	(void)since; /* the manifest lists everything */
	UX_TRY(folder_read_file(f, UX_MANIFEST_NAME, UX_MANIFEST_SIZE_MAX, &ret->text, err));
	enum ux_code code = folder_read_file(f, UX_MANIFEST_SIGNATURE, UX_MANIFEST_LINE_MAX,
					     &ret->signature, &why);
	if (code != UX_OK && code != UX_ENOTFOUND) {
		*err = why;
		return code;
	}
	/* a source's manifest is read after its signature was checked */
	return e->put ? ux_manifest_read(ux_out_bytes(&ret->text), &ret->manifest, err) : UX_OK;
}

static enum ux_code clone_folder_get(struct ux_clone_endpoint *e, unsigned worker,
				     const struct ux_entry *o, int to, uint64_t have,
				     struct ux_error *err)
{
	ux_cleanup(folder_close_fd) int fd = -1;
	uint64_t size = 0;
	(void)worker;
	UX_TRY(folder_open_file(clone_folder_of(e), o->path, &fd, &size, err));
	if (size != o->size)
		return ux_error_set(err, UX_ECORRUPT,
				    "it has %" PRIu64 " bytes; the manifest says %" PRIu64, size,
				    o->size);
	if (lseek(to, (off_t)have, SEEK_SET) < 0)
		return ux_error_os(err, errno, "cannot seek");
	return ux_clone_copy(fd, have, o->size - have, to, err);
}

/* --- objects that a target has ---------------------------------------------------------------- */

/* Sets whether the file of a path exists with these bytes. known: an earlier manifest lists it. */
static enum ux_code folder_file_is(const struct clone_folder *f, const char *path,
				   const struct ux_entry *o, bool known, bool *ret,
				   struct ux_error *err)
{
	ux_cleanup(folder_close_fd) int fd = -1;
	uint8_t hash[UX_MANIFEST_HASH];
	uint64_t size = 0;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = folder_open_file(f, path, &fd, &size, &why);
	*ret = false;
	if (code == UX_ENOTFOUND || (code == UX_OK && size != o->size))
		return UX_OK;
	if (code != UX_OK) {
		*err = why;
		return code;
	}
	*ret = known && !f->check;
	if (*ret)
		return UX_OK;
	UX_TRY(ux_clone_hash(fd, size, hash, err));
	*ret = memcmp(hash, o->hash, sizeof(hash)) == 0;
	return UX_OK;
}

static enum ux_code folder_make_above(const struct clone_folder *f, const char *path,
				      struct ux_error *err)
{
	char above[UX_MANIFEST_PATH_MAX];
	if (snprintf(above, sizeof(above), "%s", path) >= (int)sizeof(above))
		return ux_error_set(err, UX_ELIMIT, "the path of an object is too long");
	for (char *slash = strchr(above, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(f->dir, above, FOLDER_MODE) != 0 && errno != EEXIST)
			return ux_error_os(err, errno, "cannot create the folder %.100s", above);
		*slash = '/';
	}
	return UX_OK;
}

/* Links the file of one path to another path too, and replaces the file there. */
static enum ux_code folder_link(const struct clone_folder *f, const char *from, const char *to,
				struct ux_error *err)
{
	char temp[UX_MANIFEST_PATH_MAX];
	UX_TRY(folder_make_above(f, to, err));
	for (int i = 0; i < LINK_TRIES; i++) {
		(void)snprintf(temp, sizeof(temp), PARTS "/link.%ld.%d", (long)gettid(), i);
		if (linkat(f->dir, from, f->dir, temp, 0) != 0) {
			if (errno == EEXIST)
				continue;
			return ux_error_os(err, errno, "cannot link %.100s", from);
		}
		int failed = renameat(f->dir, temp, f->dir, to) != 0 ? errno : 0;
		/* if both are already the same file, the rename does nothing */
		(void)unlinkat(f->dir, temp, 0);
		return failed ? ux_error_os(err, failed, "cannot rename to %.100s", to) : UX_OK;
	}
	return ux_error_set(err, UX_EIO, "cannot make a name for a link");
}

/* Finds another path at which the folder has these bytes; NULL: none. */
static enum ux_code folder_find_same(const struct clone_folder *f, const struct ux_entry *o,
				     const char **ret, struct ux_error *err)
{
	const struct ux_entries_by_hash *by = &f->by_hash;
	*ret = NULL;
	for (size_t i = ux_entries_by_hash_find(by, o->hash); !*ret && i < by->n;
	     i = ux_entries_by_hash_next(by, i)) {
		bool is = false;
		UX_TRY(folder_file_is(f, by->items[i]->path, o, /* known= */ false, &is, err));
		*ret = is ? by->items[i]->path : NULL;
	}
	return UX_OK;
}

static enum ux_code clone_folder_has(struct ux_clone_endpoint *e, const struct ux_entry *o,
				     enum ux_clone_outcome *ret, struct ux_error *err)
{
	const struct clone_folder *f = clone_folder_of(e);
	const struct ux_entry *had =
		f->plan->had ? ux_manifest_find(&f->plan->had->manifest, o->path) : NULL;
	bool known = had && memcmp(had->hash, o->hash, sizeof(o->hash)) == 0, is = false;
	const char *same = NULL;
	*ret = UX_CLONE_THERE;
	UX_TRY(folder_file_is(f, o->path, o, known, &is, err));
	if (!is)
		UX_TRY(folder_find_same(f, o, &same, err));
	if (same && !f->plan->dry_run)
		UX_TRY(folder_link(f, same, o->path, err));
	if (!is && !same)
		*ret = UX_CLONE_COPIED;
	return UX_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static enum ux_code folder_take_lock(struct clone_folder *f, struct ux_error *err)
{
	if (mkdirat(f->dir, PARTS, FOLDER_MODE) != 0 && errno != EEXIST)
		return ux_error_os(err, errno, "cannot create the folder " PARTS);
	f->lock = openat(f->dir, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (f->lock < 0)
		return ux_error_os(err, errno, "cannot open " LOCK);
	if (flock(f->lock, LOCK_EX | LOCK_NB) != 0)
		return ux_error_set(err, UX_ECONFLICT, "another copy to this folder is running");
	return UX_OK;
}

/*
 * Links objects that get another path, because a better one takes theirs, before anything is
 * replaced: so a killed copy loses none of them.
 */
static enum ux_code folder_keep_moved(struct clone_folder *f, struct ux_error *err)
{
	const struct ux_entries *all = &f->plan->all->objects;
	for (size_t i = 0; i < all->size; i++) {
		const struct ux_entry *o = &all->data[i];
		const char *same = NULL;
		if (ux_manifest_find(&f->plan->had->manifest, o->path) ||
		    faccessat(f->dir, o->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		UX_TRY(folder_find_same(f, o, &same, err));
		if (same)
			UX_TRY(folder_link(f, same, o->path, err));
	}
	return UX_OK;
}

static enum ux_code clone_folder_begin(struct ux_clone_endpoint *e,
				       const struct ux_clone_plan *plan, struct ux_error *err)
{
	struct clone_folder *f = clone_folder_of(e);
	f->plan = plan;
	if (!plan->dry_run)
		UX_TRY(folder_take_lock(f, err));
	if (plan->had)
		UX_TRY(ux_entries_by_hash_make(&plan->had->manifest, &f->by_hash, err));
	return plan->had && !plan->dry_run ? folder_keep_moved(f, err) : UX_OK;
}

/* The name is the same in the next run, which continues with the bytes in the file. */
static enum ux_code clone_folder_part(struct ux_clone_endpoint *e, struct ux_clone_part *p,
				      uint64_t *ret_have, struct ux_error *err)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	char hex[2 * SHA256_DIGEST_SIZE + 1];
	struct sha256_ctx sha;
	struct stat st;
	sha256_init(&sha);
	sha256_update(&sha, strlen(p->object->path), (const uint8_t *)p->object->path);
	sha256_update(&sha, sizeof(p->object->hash), p->object->hash);
	sha256_digest(&sha, sizeof(digest), digest);
	ux_hex_encode(ux_bytes(digest, sizeof(digest)), hex);
	(void)snprintf(p->name, sizeof(p->name), PARTS "/%.32s.part", hex);
	int fd = openat(clone_folder_of(e)->dir, p->name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			FILE_MODE);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create %.60s", p->name);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return ux_error_set(err, UX_EINVAL, "%.60s is not a regular file", p->name);
	}
	p->fd = fd;
	*ret_have = (uint64_t)st.st_size;
	return UX_OK;
}

static enum ux_code clone_folder_put(struct ux_clone_endpoint *e, unsigned worker,
				     struct ux_clone_part *parts, size_t n,
				     ux_clone_report_fn *report, void *ctx, struct ux_error *err)
{
	const struct clone_folder *f = clone_folder_of(e);
	(void)worker;
	for (size_t i = 0; i < n; i++) {
		const struct ux_clone_part *p = &parts[i];
		const char *path = p->object->path;
		if (p->fd < 0) {
			UX_TRY(folder_link(f, parts[p->same].object->path, path, err));
		} else {
			UX_TRY(folder_make_above(f, path, err));
			if (fdatasync(p->fd) != 0)
				return ux_error_os(err, errno, "cannot sync %.60s", p->name);
			if (renameat(f->dir, p->name, f->dir, path) != 0)
				return ux_error_os(err, errno, "cannot rename to %.100s", path);
		}
		parts[i].done = true;
		report(ctx, p->object, UX_CLONE_COPIED, "");
	}
	return UX_OK;
}

/* Replaces a file of the folder; empty: removes it. */
static enum ux_code folder_write_file(const struct clone_folder *f, const char *name,
				      struct ux_bytes bytes, struct ux_error *err)
{
	static const char temp[] = PARTS "/new";
	if (bytes.size == 0)
		return unlinkat(f->dir, name, 0) == 0 || errno == ENOENT
			       ? UX_OK
			       : ux_error_os(err, errno, "cannot remove %s", name);
	ux_cleanup(folder_close_fd) int fd = openat(
		f->dir, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create %s", temp);
	UX_TRY(ux_file_write(fd, bytes, err));
	if (fsync(fd) != 0)
		return ux_error_os(err, errno, "cannot sync %s", temp);
	if (renameat(f->dir, temp, f->dir, name) != 0)
		return ux_error_os(err, errno, "cannot rename to %s", name);
	return UX_OK;
}

/* Removes paths that the manifest no longer has: their objects have other paths now. */
static void folder_remove_left(const struct clone_folder *f)
{
	const struct ux_entries *had = &f->plan->had->manifest.objects;
	for (size_t i = 0; i < had->size; i++)
		if (!ux_manifest_find(f->plan->all, had->data[i].path))
			(void)unlinkat(f->dir, had->data[i].path, 0);
}

/*
 * All objects are on the disk before the manifest names them. The signature of the earlier manifest
 * is removed first: between the two steps there is no signature, rather than a wrong one.
 */
static enum ux_code clone_folder_finish(struct ux_clone_endpoint *e, struct ux_bytes manifest,
					struct ux_bytes signature, struct ux_error *err)
{
	const struct clone_folder *f = clone_folder_of(e);
	const struct ux_clone_list *had = f->plan->had;
	if (had && ux_bytes_eq(manifest, ux_out_bytes(&had->text)) &&
	    ux_bytes_eq(signature, ux_out_bytes(&had->signature)))
		return UX_OK;
	if (syncfs(f->dir) != 0)
		return ux_error_os(err, errno, "cannot sync the folder");
	UX_TRY(folder_write_file(f, UX_MANIFEST_SIGNATURE, UX_BYTES_NONE, err));
	UX_TRY(folder_write_file(f, UX_MANIFEST_NAME, manifest, err));
	if (signature.size > 0)
		UX_TRY(folder_write_file(f, UX_MANIFEST_SIGNATURE, signature, err));
	if (fsync(f->dir) != 0)
		return ux_error_os(err, errno, "cannot sync the folder");
	if (had)
		folder_remove_left(f);
	return UX_OK;
}

/* --- where the lists of sources continue ------------------------------------------------------ */

/* Reads ["SOURCE","PLACE",...]. A damaged file counts as empty: then everything is listed. */
typedef void folder_note_fn(void *ctx, struct ux_bytes source, struct ux_bytes next);

static void folder_each_note(struct ux_bytes text, folder_note_fn *fn, void *ctx)
{
	struct ux_cur c = ux_cur_make(text, NOTES, false);
	size_t n = 0;
	while (ux_json_read_element(&c, &n)) {
		ux_cleanup(ux_out_deinit) struct ux_out source = {0};
		ux_json_unescape(ux_json_read_text(&c), &source);
		if (!ux_json_read_element(&c, &n))
			return;
		struct ux_bytes next = ux_json_read_text(&c).raw;
		if (!c.failed && !source.failed && source.size <= SOURCE_MAX &&
		    next.size < UX_CLONE_NEXT)
			fn(ctx, ux_out_bytes(&source), next);
	}
}

struct folder_note {
	struct ux_bytes source;
	char next[UX_CLONE_NEXT];
	struct ux_json *json; /* output for the other notes */
};

static void folder_find_note(void *ctx, struct ux_bytes source, struct ux_bytes next)
{
	struct folder_note *note = ctx;
	if (!ux_bytes_eq(source, note->source))
		return;
	memcpy(note->next, next.data, next.size);
	note->next[next.size] = '\0';
}

static enum ux_code clone_folder_noted(struct ux_clone_endpoint *e, const char *source,
				       char ret[UX_CLONE_NEXT], struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	struct folder_note note = {.source = ux_bytes_cstr(source)};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = folder_read_file(clone_folder_of(e), NOTES, NOTES_MAX, &text, &why);
	ret[0] = '\0';
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		return UX_OK;
	folder_each_note(ux_out_bytes(&text), folder_find_note, &note);
	memcpy(ret, note.next, UX_CLONE_NEXT);
	return UX_OK;
}

static void folder_write_note(void *ctx, struct ux_bytes source, struct ux_bytes next)
{
	struct folder_note *note = ctx;
	if (ux_bytes_eq(source, note->source))
		return;
	ux_json_str(note->json, source);
	ux_json_str(note->json, next);
}

static enum ux_code clone_folder_note(struct ux_clone_endpoint *e, const char *source,
				      const char *next, struct ux_error *err)
{
	const struct clone_folder *f = clone_folder_of(e);
	ux_cleanup(ux_out_deinit) struct ux_out text = {0}, out = {0};
	struct ux_json j = ux_json_make(&out);
	struct folder_note note = {.json = &j};
	struct ux_error why = UX_ERROR_INIT;
	if (strlen(source) > SOURCE_MAX)
		return UX_OK;
	(void)!folder_read_file(f, NOTES, NOTES_MAX, &text, &why);
	ux_json_array_begin(&j);
	folder_write_note(&note, ux_bytes_cstr(source), ux_bytes_cstr(next));
	note.source = ux_bytes_cstr(source);
	folder_each_note(ux_out_bytes(&text), folder_write_note, &note);
	ux_json_array_end(&j);
	UX_TRY(ux_out_status(&out, err));
	return folder_write_file(f, NOTES, ux_out_bytes(&out), err);
}

static void clone_folder_close(struct ux_clone_endpoint *e)
{
	struct clone_folder *f = clone_folder_of(e);
	folder_close_fd(&f->lock);
	folder_close_fd(&f->dir);
	ux_entries_by_hash_deinit(&f->by_hash);
	free(f);
}

enum ux_code ux_clone_folder_open(const char *path, bool target, bool check,
				  struct ux_clone_endpoint **ret, struct ux_error *err)
{
	struct clone_folder *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	*f = (struct clone_folder){
		.base = {.keeps = target,
			 .list = clone_folder_list,
			 .get = clone_folder_get,
			 .begin = target ? clone_folder_begin : NULL,
			 .has = target ? clone_folder_has : NULL,
			 .part = target ? clone_folder_part : NULL,
			 .put = target ? clone_folder_put : NULL,
			 .finish = target ? clone_folder_finish : NULL,
			 .noted = target ? clone_folder_noted : NULL,
			 .note = target ? clone_folder_note : NULL,
			 .close = clone_folder_close},
		.check = check,
		.lock = -1,
	};
	if (target && mkdir(path, FOLDER_MODE) != 0 && errno != EEXIST) {
		ux_error_os(err, errno, "cannot create the folder %.100s", path);
		free(f);
		return UX_EIO;
	}
	f->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0) {
		enum ux_code code = ux_error_os(err, errno, "cannot open the folder %.100s", path);
		free(f);
		return code;
	}
	*ret = &f->base;
	return UX_OK;
}
