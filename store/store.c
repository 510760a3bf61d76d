/* SPDX-License-Identifier: Apache-2.0 */
/* A store in one folder: DIR/index.sqlite, DIR/blobs, DIR/uploads, DIR/lock. */
#include "store.h"

#include "clock.h"
#include "s3_client.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char index_name[] = "index.sqlite";

enum ux_code ux_store_default_dir(char **ret, struct ux_error *err)
{
	const char *data = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");
	int n = -1;
	if (data && data[0] == '/')
		n = asprintf(ret, "%s/unhex", data);
	else if (home && home[0] != '\0')
		n = asprintf(ret, "%s/.local/share/unhex", home);
	else
		return ux_error_set(err, UX_EINVAL,
				    "no data folder: neither XDG_DATA_HOME nor HOME is set");
	return n >= 0 ? UX_OK : ux_error_nomem(err);
}

/*
 * Creates folders like mkdir -p, with access only for the owner, because the index holds hashes of
 * keys.
 */
static enum ux_code store_make_folders(const char *dir, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	if (asprintf(&path, "%s/", dir) < 0) { /* the last component ends with a slash as well */
		path = NULL;
		return ux_error_nomem(err);
	}
	return ux_file_make_folders(path, 0700, err);
}

/*
 * Creates the index with mode 0600. SQLite would use the permissions that the umask allows. Its log
 * gets the same mode as the file.
 */
static enum ux_code store_make_index(const char *path, struct ux_error *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot open %s", path);
	close(fd);
	return UX_OK;
}

enum ux_code ux_store_open_index(const char *dir, struct ux_index **ret, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	UX_TRY(store_make_folders(dir, err));
	if (asprintf(&path, "%s/index.sqlite", dir) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	UX_TRY(store_make_index(path, err));
	return ux_index_open(ret, path, err);
}

static enum ux_code store_lock_folder(struct ux_store *s, const char *dir, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	if (asprintf(&path, "%s/lock", dir) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return ux_error_os(err, errno, "cannot open %s", path);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return ux_error_set(err, UX_ECONFLICT, "another server uses the folder %.100s",
				    dir);
	return UX_OK;
}

static enum ux_code store_has_file(const char *dir, const char *name, bool *ret,
				   struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return ux_error_nomem(err);
	}
	*ret = access(path, F_OK) == 0;
	return UX_OK;
}

static enum ux_code store_check_finished(const struct ux_store_place *place, struct ux_error *err)
{
	const char *dir = place->dir;
	bool index = place->index != NULL, unfinished = false;
	if (index)
		return UX_OK;
	UX_TRY(store_has_file(dir, index_name, &index, err));
	UX_TRY(store_has_file(dir, UX_STORE_UNFINISHED, &unfinished, err));
	return index || !unfinished
		       ? UX_OK
		       : ux_error_set(
				 err, UX_ECONFLICT,
				 "a backup or restore to %.100s was not finished; run it again",
				 dir);
}

/* Opens the index. Writes to an index in the folder may use the reserve of a full disk. */
static enum ux_code store_open_limited(struct ux_store *s, const struct ux_store_place *place,
				       struct ux_error *err)
{
	const char *dir = place->dir;
	UX_TRY(ux_room_open(&s->room, dir, err));
	if (place->index)
		return ux_index_open(&s->index, place->index, err);
	(void)ux_room_release(&s->room); /* opening the index writes some pages */
	UX_TRY(ux_store_open_index(dir, &s->index, err));
	ux_index_limit(s->index, &s->room);
	return UX_OK;
}

/* Opens the bucket. It need not be reachable now: copies in the cache are served until it is. */
static enum ux_code store_open_bucket(struct ux_store *s, const struct ux_store_place *place,
				      struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *cache = NULL;
	const struct ux_s3_options bucket = {.place = place->blobs,
					     .endpoint = place->s3_endpoint,
					     .public_endpoint = place->s3_public_endpoint,
					     .region = place->s3_region,
					     .keys = place->s3_keys,
					     .cafile = place->s3_cafile,
					     .host_style = place->s3_host_style};
	if (asprintf(&cache, "%s/cache", place->dir) < 0) {
		cache = NULL;
		return ux_error_nomem(err);
	}
	UX_TRY(ux_blobs_s3_open(&s->blobs, &bucket, cache, place->blob_cache, err));
	ux_blobs_s3_set_parts(s->blobs, place->blob_parts);
	return UX_OK;
}

/*
 * Returns the number by which an index remembers the place of its blobs; 0: in the folder. An index
 * opened with another place would count all its blobs as lost.
 */
static int64_t store_blobs_number(const char *place)
{
	int64_t number = 0;
	if (!place)
		return 0;
	struct ux_bytes text = ux_bytes_cstr(place);
	while (text.size > 0 && text.data[text.size - 1] == '/')
		text.size--;
	struct ux_blob_hash hash = ux_blob_hash_of(text);
	memcpy(&number, hash.bytes, sizeof(number));
	return number | 1;
}

static enum ux_code store_check_blobs(struct ux_store *s, const char *blobs, struct ux_error *err)
{
	int64_t mine = store_blobs_number(blobs), stored = 0;
	UX_TRY(s->index->number_get(s->index, UX_STORE_BLOBS_PLACE, &stored, err));
	if (stored == mine)
		return UX_OK;
	if (stored == 0)
		return s->index->number_put(s->index, UX_STORE_BLOBS_PLACE, mine, err);
	return ux_error_set(err, UX_ECONFLICT, "the blobs of this index are in a different %s",
			    blobs ? "bucket, or under another prefix"
				  : "place: a bucket, which the setting blobs names");
}

static enum ux_code store_open_blobs(struct ux_store *s, const struct ux_store_place *place,
				     struct ux_error *err)
{
	UX_TRY(store_check_blobs(s, place->blobs, err));
	UX_TRY(place->blobs ? store_open_bucket(s, place, err)
			    : ux_blobs_fs_open(&s->blobs, place->dir, err));
	s->blobs->room = &s->room;
	return UX_OK;
}

static enum ux_code store_open_all(struct ux_store *s, const struct ux_store_place *place,
				   struct ux_error *err)
{
	UX_TRY(store_make_folders(place->dir, err));
	UX_TRY(store_lock_folder(s, place->dir, err));
	UX_TRY(store_check_finished(place, err));
	UX_TRY(store_open_limited(s, place, err));
	return store_open_blobs(s, place, err);
}

enum ux_code ux_store_check_backends(const struct ux_store *s, struct ux_error *err)
{
	if (s->index->version != UX_INDEX_VERSION)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the index backend has interface %u; this unhex needs %d",
				    s->index->version, UX_INDEX_VERSION);
	if (s->blobs->version != UX_BLOBS_VERSION)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the blob backend has interface %u; this unhex needs %d",
				    s->blobs->version, UX_BLOBS_VERSION);
	return UX_OK;
}

/* Names of the stored numbers. */
static const char clock_name[] = "clock", latest_name[] = "clock-latest";

/*
 * Initializes the lock. New commits queue after a waiting removal; otherwise it would never get its
 * turn.
 */
static void store_init_commit_lock(struct ux_store *s)
{
	pthread_rwlockattr_t attr;
	pthread_rwlockattr_init(&attr);
#ifdef __GLIBC__
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
	pthread_rwlock_init(&s->commit_lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static void store_init(struct ux_store *s)
{
	*s = (struct ux_store){.lock_fd = -1, .room.dir = -1};
	store_init_commit_lock(s);
	pthread_mutex_init(&s->work_lock, NULL);
	pthread_mutex_init(&s->lost.lock, NULL);
	ux_last_use_init(&s->last_use, UX_USED_MODULE);
	ux_last_use_init(&s->query_use, UX_QUERIED_MODULE);
	ux_last_use_init(&s->key_use, UX_USED_KEY);
	ux_store_clock_init(&s->clock, 0, 0, 0);
}

static enum ux_code store_set_clock(struct ux_store *s, bool is_server, struct ux_error *err)
{
	ux_time stored = 0, latest = 0;
	int64_t server_ms = 0;
	if (is_server)
		UX_TRY(s->index->nodes.time(s->index, &server_ms, err));
	UX_TRY(s->index->number_get(s->index, clock_name, &stored, err));
	UX_TRY(s->index->number_get(s->index, latest_name, &latest, err));
	ux_store_clock_deinit(&s->clock);
	ux_store_clock_init(&s->clock, stored, latest, server_ms);
	return UX_OK;
}

static enum ux_code store_requeue_jobs(struct ux_store *s, struct ux_error *err)
{
	uint64_t n = 0;
	UX_TRY(s->index->jobs.release(s->index, s->fleet ? s->node : NULL,
				      /* has_ended= */ true, err));
	return s->index->modules.requeue(s->index, ux_store_now(s), &n, err);
}

static enum ux_code store_check_migrated(struct ux_store *s, struct ux_error *err)
{
	int64_t going = 0;
	UX_TRY(s->index->number_get(s->index, UX_STORE_MIGRATION, &going, err));
	return going == 0
		       ? UX_OK
		       : ux_error_set(err, UX_ECONFLICT,
				      "a migration to this store was not finished; run it again");
}

enum ux_code ux_store_open_migrated(struct ux_store *s, const struct ux_store_place *place,
				    struct ux_error *err)
{
	store_init(s);
	enum ux_code code = store_open_all(s, place, err);
	if (code == UX_OK)
		code = ux_store_check_backends(s, err);
	if (code != UX_OK)
		ux_store_close(s);
	return code;
}

enum ux_code ux_store_open_at(struct ux_store *s, const struct ux_store_place *place,
			      struct ux_error *err)
{
	store_init(s);
	enum ux_code code = store_open_all(s, place, err);
	if (code == UX_OK)
		code = ux_store_check_backends(s, err);
	if (code == UX_OK)
		code = store_check_migrated(s, err);
	if (code == UX_OK)
		s->index->stages = &s->stages;
	if (code == UX_OK && !place->index)
		ux_index_own(s->index); /* the lock excludes other writers of modules */
	if (code == UX_OK)
		code = store_set_clock(s, place->index != NULL, err);
	if (code == UX_OK)
		code = ux_node_name_of(place->dir, place->node, s->node, err);
	if (code == UX_OK && place->index && place->replica)
		code = ux_index_read_from(s->index, place->replica, err);
	s->has_replica = code == UX_OK && place->index && place->replica;
	if (code == UX_OK && place->index)
		code = ux_fleet_start(&s->fleet, s, err);
	if (code == UX_OK)
		code = store_requeue_jobs(s, err);
	if (code == UX_OK)
		ux_store_watch_lost(s);
	if (code != UX_OK)
		ux_store_close(s);
	return code;
}

static enum ux_code store_open_target(struct ux_store *s, const char *dir, bool fresh,
				      struct ux_error *err)
{
	bool index = false;
	UX_TRY(store_make_folders(dir, err));
	UX_TRY(store_lock_folder(s, dir, err));
	UX_TRY(store_has_file(dir, index_name, &index, err));
	if (index && fresh)
		return ux_error_set(err, UX_ECONFLICT, "%.100s already has a store", dir);
	return ux_blobs_fs_open(&s->blobs, dir, err);
}

enum ux_code ux_store_open_target(struct ux_store *s, const char *dir, bool fresh,
				  struct ux_error *err)
{
	store_init(s);
	enum ux_code code = store_open_target(s, dir, fresh, err);
	if (code != UX_OK)
		ux_store_close(s);
	return code;
}

static enum ux_code store_check_folder(const char *dir, struct ux_error *err)
{
	bool index = false;
	UX_TRY(store_has_file(dir, index_name, &index, err));
	if (!index)
		return ux_error_set(
			err, UX_ENOTFOUND,
			"%.100s has no index.sqlite; expected a data folder of unhex serve", dir);
	return UX_OK;
}

enum ux_code ux_store_open_beside(struct ux_store *s, const struct ux_store_place *place,
				  struct ux_error *err)
{
	store_init(s);
	enum ux_code code = place->index ? UX_OK : store_check_folder(place->dir, err);
	if (code == UX_OK)
		code = store_open_limited(s, place, err);
	if (code == UX_OK)
		code = store_open_blobs(s, place, err);
	if (code == UX_OK)
		code = ux_store_check_backends(s, err);
	if (code == UX_OK)
		code = store_set_clock(s, place->index != NULL, err);
	if (code != UX_OK)
		ux_store_close(s);
	return code;
}

void ux_store_close(struct ux_store *s)
{
	ux_fleet_stop(ux_take(&s->fleet));
	if (s->blobs)
		s->blobs->close(s->blobs);
	if (s->index)
		s->index->close(s->index);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	ux_room_close(&s->room);
	ux_last_use_deinit(&s->last_use);
	ux_last_use_deinit(&s->query_use);
	ux_last_use_deinit(&s->key_use);
	ux_store_clock_deinit(&s->clock);
	pthread_mutex_destroy(&s->work_lock);
	pthread_mutex_destroy(&s->lost.lock);
	pthread_rwlock_destroy(&s->commit_lock);
	*s = (struct ux_store){.lock_fd = -1, .room.dir = -1};
}

void ux_store_on_changes(struct ux_store *s, ux_store_changes_fn *changes, void *ctx)
{
	pthread_mutex_lock(&s->work_lock);
	s->changes = changes;
	s->changes_ctx = ctx;
	pthread_mutex_unlock(&s->work_lock);
}

void ux_store_take_changes(struct ux_store *s, const struct ux_change_batch *batch)
{
	pthread_mutex_lock(&s->work_lock);
	if (s->changes && (batch->everything || batch->n_modules > 0))
		s->changes(s->changes_ctx, batch);
	if (s->work && batch->jobs_due)
		s->work(s->work_ctx);
	pthread_mutex_unlock(&s->work_lock);
}

ux_time ux_store_now(struct ux_store *s)
{
	return ux_store_clock_now(&s->clock);
}

ux_time ux_store_key_now(struct ux_store *s)
{
	return ux_store_clock_latest(&s->clock);
}

enum ux_code ux_store_key_now_of(struct ux_index *ix, ux_time *ret, struct ux_error *err)
{
	ux_time latest = 0;
	UX_TRY(ix->number_get(ix, latest_name, &latest, err));
	*ret = ux_max(latest, (ux_time)ux_clock_wall());
	return UX_OK;
}

/* Removes the marks of retention. True: done, and nothing is left to be noted. */
static bool store_unmark(struct ux_store *s, const int64_t *modules, size_t n, ux_time now)
{
	ux_cleanup(ux_free_ptr) struct ux_touch *touches = calloc(n, sizeof(*touches));
	for (size_t i = 0; touches && i < n; i++)
		touches[i] = (struct ux_touch){modules[i], now};
	return touches &&
	       s->index->modules.touch(s->index, touches, n, /* step_s= */ 0, NULL) == UX_OK;
}

void ux_store_used(struct ux_store *s, const struct ux_module *m)
{
	const ux_time now = ux_store_now(s);
	if (m->marked == 0 || !store_unmark(s, &m->number, 1, now))
		ux_last_use_note(&s->last_use, m->number, now,
				 /* urgent= */ now - m->last_used > UX_STORE_URGENT_S);
}

void ux_store_queried(struct ux_store *s, const int64_t *modules, size_t n, bool marked)
{
	const ux_time now = ux_store_now(s);
	if (n > 0 && (!marked || !store_unmark(s, modules, n, now)))
		ux_last_use_note_all(&s->query_use, modules, n, now);
}

enum ux_code ux_store_write_uses(struct ux_store *s, bool *ret_complete, struct ux_error *err)
{
	bool used = false, queried = false;
	UX_TRY(ux_last_use_flush(&s->last_use, s->index, &used, err));
	UX_TRY(ux_last_use_flush(&s->query_use, s->index, &queried, err));
	*ret_complete = used && queried;
	return UX_OK;
}

void ux_store_used_again(struct ux_store *s, int64_t module)
{
	ux_last_use_note(&s->last_use, module, ux_store_now(s), /* urgent= */ false);
}

void ux_store_key_used(struct ux_store *s, const char *key_id)
{
	uint64_t number = 0;
	if (ux_hex_parse_u64(ux_bytes_cstr(key_id), /* hex= */ true, &number))
		ux_last_use_note(&s->key_use, (int64_t)number, ux_store_now(s),
				 /* urgent= */ false);
}

static enum ux_code store_write_latest(struct ux_store *s, struct ux_error *err)
{
	ux_time latest = ux_store_key_now(s);
	UX_TRY(s->index->number_put(s->index, latest_name, latest, err));
	pthread_mutex_lock(&s->clock.lock);
	s->clock.written = latest;
	pthread_mutex_unlock(&s->clock.lock);
	return UX_OK;
}

enum ux_code ux_store_tick(struct ux_store *s, struct ux_error *err)
{
	bool complete = false;
	ux_room_restore(&s->room);
	UX_TRY(s->index->number_put(s->index, clock_name, ux_store_now(s), err));
	UX_TRY(store_write_latest(s, err));
	UX_TRY(ux_last_use_flush(&s->key_use, s->index, &complete, err));
	return ux_store_write_uses(s, &complete, err);
}

struct sweep {
	struct ux_store *store;
	int64_t grace_s;
	bool dry_run;
	struct ux_sweep *done;
};

static enum ux_code store_sweep_blob(void *ctx, const char *name, int64_t age_s,
				     struct ux_error *err)
{
	struct sweep *sw = ctx;
	struct ux_blob_hash hash;
	bool dropped = false;
	if (age_s < sw->grace_s || !ux_blob_hash_parse(ux_bytes_cstr(name), &hash))
		return UX_OK;
	UX_TRY(ux_store_drop_blob(sw->store, &hash, sw->dry_run, &dropped, err));
	sw->done->blobs += dropped;
	return UX_OK;
}

static enum ux_code store_sweep_part(void *ctx, const char *name, int64_t age_s,
				     struct ux_error *err)
{
	struct sweep *sw = ctx;
	if (age_s < sw->grace_s || !ux_upload_uid_valid(ux_bytes_cstr(name)))
		return UX_OK;
	if (!sw->dry_run)
		UX_TRY(sw->store->blobs->part_remove(sw->store->blobs, name, err));
	sw->done->parts++;
	return UX_OK;
}

enum ux_code ux_store_sweep(struct ux_store *s, int64_t grace_s, ux_time now, bool dry_run,
			    struct ux_sweep *ret, struct ux_error *err)
{
	*ret = (struct ux_sweep){0};
	struct sweep sw = {s, grace_s, dry_run, ret};
	if (!dry_run)
		UX_TRY(s->index->uploads.expire(s->index, now - grace_s, &ret->uploads, err));
	if (!dry_run)
		UX_TRY(ux_store_collect_all(s, &ret->blobs, err));
	UX_TRY(s->blobs->each_part(s->blobs, store_sweep_part, &sw, err));
	if (s->blobs->tidy) {
		uint64_t n = 0;
		UX_TRY(s->blobs->tidy(s->blobs, grace_s, dry_run, &n, err));
		ret->parts += n;
	}
	return s->blobs->each_blob(s->blobs, store_sweep_blob, &sw, err);
}
