/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that wait in a folder until they are forwarded. */
#include "disk_queue.h"

#include "clock.h"
#include "condition.h"
#include "text.h"
#include "vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BLOCK = 4096,                 /* a file takes whole blocks */
	DIGITS = 16,                  /* hex digits of a number, and of a sender */
	NAME_DIGITS = 2 * DIGITS + 1, /* "NUMBER-SENDER", before the suffix */
	PATH_SIZE = 4096,
};

/* A message. It is in its lane from the moment when its number was assigned. */
struct disk_entry {
	struct disk_entry *next;
	uint64_t number;
	uint64_t sender;
	uint64_t bytes;
	int64_t since_s; /* wall clock */
	bool ready;      /* its file is complete */
	bool failed;     /* it could not be written */
};

struct disk_lane {
	struct disk_entry *first;
	struct disk_entry *last;
};

struct ux_disk_queue {
	char *dir;
	char *suffix;
	int lock_fd;
	unsigned n_lanes;
	uint64_t bytes_max;
	bool drops_oldest;
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t changed;
	struct disk_lane lanes[UX_DISK_QUEUE_LANES_MAX];
	uint64_t next_number;
	uint64_t messages;
	uint64_t bytes;
	uint64_t lost;
	uint64_t dropped;
	bool stopping;
};

void ux_disk_message_close(struct ux_disk_message *m)
{
	ux_file_unmap(&m->file);
	*m = (struct ux_disk_message){0};
}

/* --- lanes ------------------------------------------------------------------------------------ */

static struct disk_lane *disk_queue_lane_of(struct ux_disk_queue *q, uint64_t sender)
{
	return &q->lanes[sender % q->n_lanes];
}

static void disk_queue_append(struct ux_disk_queue *q, struct disk_entry *e)
{
	assert(!e->next);
	struct disk_lane *lane = disk_queue_lane_of(q, e->sender);
	if (lane->last)
		lane->last->next = e;
	else
		lane->first = e;
	lane->last = e;
	q->messages++;
	q->bytes += e->bytes;
}

static void disk_queue_drop_first(struct ux_disk_queue *q, struct disk_lane *lane)
{
	assert(lane->first);
	struct disk_entry *e = lane->first;
	lane->first = e->next;
	if (!lane->first)
		lane->last = NULL;
	assert(q->messages > 0 && q->bytes >= e->bytes);
	q->messages--;
	q->bytes -= e->bytes;
	free(e);
}

/* Removes entries that could not be written from the front of a lane. */
static void disk_queue_drop_failed(struct ux_disk_queue *q, struct disk_lane *lane)
{
	while (lane->first && lane->first->failed)
		disk_queue_drop_first(q, lane);
}

static bool disk_queue_path(const struct ux_disk_queue *q, const struct disk_entry *e,
			    char path[PATH_SIZE])
{
	int n = snprintf(path, PATH_SIZE, "%s/%016" PRIx64 "-%016" PRIx64 "%s", q->dir, e->number,
			 e->sender, q->suffix);
	return n > 0 && n < PATH_SIZE;
}

/* --- opening ---------------------------------------------------------------------------------- */

UX_VEC(disk_entries, struct disk_entry *);

static void disk_entries_free(struct disk_entries *list)
{
	for (size_t i = 0; i < list->size; i++)
		free(list->data[i]);
	disk_entries_deinit(list);
}

static int disk_queue_compare(const void *a, const void *b)
{
	const struct disk_entry *const *x = a, *const *y = b;
	return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

static bool disk_queue_name_read(const struct ux_disk_queue *q, const char *name,
				 uint64_t *ret_number, uint64_t *ret_sender)
{
	struct ux_bytes text = ux_bytes_cstr(name);
	if (text.size != NAME_DIGITS + strlen(q->suffix) || name[DIGITS] != '-' ||
	    strcmp(name + NAME_DIGITS, q->suffix) != 0)
		return false;
	return ux_hex_parse_u64(ux_bytes(text.data, DIGITS), true, ret_number) &&
	       ux_hex_parse_u64(ux_bytes(text.data + DIGITS + 1, DIGITS), true, ret_sender);
}

/* Tests for a file left by a process that ended while it wrote. */
static bool disk_queue_name_is_temporary(const struct ux_disk_queue *q, const char *name)
{
	const char *at = strstr(name, q->suffix);
	return at && strncmp(at + strlen(q->suffix), ".tmp-", 5) == 0;
}

static enum ux_code disk_queue_read_name(struct ux_disk_queue *q, int dir, const char *name,
					 struct disk_entries *list, struct ux_error *err)
{
	struct stat st;
	struct disk_entry found = {.ready = true};
	if (disk_queue_name_is_temporary(q, name)) {
		(void)unlinkat(dir, name, 0);
		return UX_OK;
	}
	if (!disk_queue_name_read(q, name, &found.number, &found.sender) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
		return UX_OK;
	struct disk_entry *e = malloc(sizeof(*e));
	found.bytes = ((uint64_t)st.st_size + BLOCK - 1) / BLOCK * BLOCK;
	found.since_s = st.st_mtim.tv_sec;
	if (e)
		*e = found;
	if (!e || !disk_entries_append(list, e)) {
		free(e);
		return ux_error_nomem(err);
	}
	q->next_number = ux_max(q->next_number, found.number + 1);
	return UX_OK;
}

static void disk_queue_close_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

/* Reads the messages in the folder, in the order of their numbers. */
static enum ux_code disk_queue_read_dir(struct ux_disk_queue *q, struct ux_error *err)
{
	ux_cleanup(disk_entries_free) struct disk_entries list = {0};
	ux_cleanup(disk_queue_close_dir) DIR *d = opendir(q->dir);
	if (!d)
		return ux_error_os(err, errno, "cannot read the folder %s", q->dir);
	for (struct dirent *one; (one = readdir(d));)
		UX_TRY(disk_queue_read_name(q, dirfd(d), one->d_name, &list, err));
	if (list.size > 0)
		qsort(list.data, list.size, sizeof(struct disk_entry *), disk_queue_compare);
	for (size_t i = 0; i < list.size; i++)
		disk_queue_append(q, list.data[i]);
	list.size = 0; /* the lanes own them */
	return UX_OK;
}

/* Locks the folder: only one process forwards its messages. */
static enum ux_code disk_queue_lock(struct ux_disk_queue *q, struct ux_error *err)
{
	char path[PATH_SIZE];
	if (snprintf(path, sizeof(path), "%s/lock", q->dir) >= PATH_SIZE)
		return ux_error_set(err, UX_ELIMIT, "the path %s is too long", q->dir);
	if (mkdir(q->dir, 0700) != 0 && errno != EEXIST)
		return ux_error_os(err, errno, "cannot create the folder %s", q->dir);
	q->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (q->lock_fd < 0)
		return ux_error_os(err, errno, "cannot open %s", path);
	if (flock(q->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return ux_error_set(err, UX_ECONFLICT,
				    "the queue in %s is in use by another process", q->dir);
	return UX_OK;
}

static void disk_queue_guard(struct ux_disk_queue **q)
{
	ux_disk_queue_close(*q);
}

enum ux_code ux_disk_queue_open(struct ux_disk_queue **ret,
				const struct ux_disk_queue_options *options, struct ux_error *err)
{
	ux_cleanup(disk_queue_guard) struct ux_disk_queue *q = calloc(1, sizeof(*q));
	if (!q)
		return ux_error_nomem(err);
	q->lock_fd = -1;
	q->bytes_max = options->bytes_max;
	q->drops_oldest = options->drops_oldest;
	q->n_lanes = ux_min(ux_max(options->lanes, 1U), (unsigned)UX_DISK_QUEUE_LANES_MAX);
	pthread_mutex_init(&q->lock, NULL);
	ux_condition_init(&q->changed);
	q->dir = strdup(options->dir);
	q->suffix = strdup(options->suffix);
	if (!q->dir || !q->suffix)
		return ux_error_nomem(err);
	UX_TRY(disk_queue_lock(q, err));
	UX_TRY(disk_queue_read_dir(q, err));
	*ret = ux_take(&q);
	return UX_OK;
}

void ux_disk_queue_close(struct ux_disk_queue *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->n_lanes; i++)
		while (q->lanes[i].first)
			disk_queue_drop_first(q, &q->lanes[i]);
	if (q->lock_fd >= 0)
		close(q->lock_fd);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q->suffix);
	free(q->dir);
	free(q);
}

/* --- adding ----------------------------------------------------------------------------------- */

static bool disk_queue_may_add(const struct ux_disk_queue *q, uint64_t bytes)
{
	return q->messages < UX_DISK_QUEUE_MESSAGES_MAX && q->bytes <= q->bytes_max &&
	       bytes <= q->bytes_max - q->bytes;
}

bool ux_disk_queue_has_room(struct ux_disk_queue *q)
{
	pthread_mutex_lock(&q->lock);
	bool may = disk_queue_may_add(q, BLOCK);
	pthread_mutex_unlock(&q->lock);
	return may;
}

/*
 * Removes the oldest message, if it is complete. A reader of its file can continue: the file only
 * loses its name. False: nothing to remove. Locked.
 */
static bool disk_queue_drop_oldest(struct ux_disk_queue *q)
{
	char path[PATH_SIZE];
	struct disk_lane *oldest = NULL;
	for (size_t i = 0; i < q->n_lanes; i++) {
		struct disk_lane *lane = &q->lanes[i];
		disk_queue_drop_failed(q, lane);
		if (lane->first && lane->first->ready &&
		    (!oldest || lane->first->number < oldest->first->number))
			oldest = lane;
	}
	if (!oldest || !disk_queue_path(q, oldest->first, path))
		return false;
	(void)unlink(path);
	disk_queue_drop_first(q, oldest);
	q->dropped++;
	return true;
}

/* Makes room for a message, if possible. Locked. */
static bool disk_queue_make_room(struct ux_disk_queue *q, uint64_t bytes)
{
	while (!disk_queue_may_add(q, bytes))
		if (!q->drops_oldest || bytes > q->bytes_max || !disk_queue_drop_oldest(q))
			return false;
	return true;
}

/* Assigns the sequence number and links the entry. */
static enum ux_code disk_queue_begin(struct ux_disk_queue *q, struct disk_entry *e,
				     struct ux_error *err)
{
	enum ux_code code = UX_OK;
	pthread_mutex_lock(&q->lock);
	if (disk_queue_make_room(q, e->bytes)) {
		e->number = q->next_number++;
		disk_queue_append(q, e);
	} else {
		code = ux_error_set(err, UX_ELIMIT,
				    "the queue is full: %" PRIu64 " messages, %" PRIu64
				    " bytes; maximum %" PRIu64 " bytes",
				    q->messages, q->bytes, q->bytes_max);
	}
	pthread_mutex_unlock(&q->lock);
	return code;
}

static enum ux_code disk_queue_write(struct ux_disk_queue *q, const struct disk_entry *e,
				     const struct ux_bytes *parts, size_t n, struct ux_error *err)
{
	char path[PATH_SIZE];
	ux_cleanup(ux_file_new_deinit) struct ux_file_new file = UX_FILE_NEW_INIT;
	if (!disk_queue_path(q, e, path))
		return ux_error_set(err, UX_ELIMIT, "the path %s is too long", q->dir);
	UX_TRY(ux_file_new_open(&file, path, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(ux_file_write(file.fd, parts[i], err));
	enum ux_code code = ux_file_new_commit(&file, /* sync= */ true, err);
	if (code != UX_OK)
		(void)unlink(path); /* it may have been renamed before the folder was synced */
	return code;
}

enum ux_code ux_disk_queue_add_parts(struct ux_disk_queue *q, uint64_t sender,
				     const struct ux_bytes *parts, size_t n, struct ux_error *err)
{
	struct disk_entry *e = calloc(1, sizeof(*e));
	if (!e)
		return ux_error_nomem(err);
	e->sender = sender;
	uint64_t size = 0;
	for (size_t i = 0; i < n; i++)
		size += parts[i].size;
	e->bytes = (size + BLOCK - 1) / BLOCK * BLOCK;
	e->since_s = ux_clock_wall();
	enum ux_code code = disk_queue_begin(q, e, err);
	if (code != UX_OK) {
		free(e);
		return code;
	}
	code = disk_queue_write(q, e, parts, n, err);
	pthread_mutex_lock(&q->lock);
	e->ready = code == UX_OK;
	e->failed = code != UX_OK; /* removed when it is at the front of its lane */
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return code;
}

enum ux_code ux_disk_queue_add(struct ux_disk_queue *q, uint64_t sender, struct ux_bytes message,
			       struct ux_error *err)
{
	return ux_disk_queue_add_parts(q, sender, &message, 1, err);
}

/* --- the front -------------------------------------------------------------------------------- */

/* Waits for the first message of a lane to be complete; NULL: the queue is stopping. Locked. */
static struct disk_entry *disk_queue_wait_first(struct ux_disk_queue *q, struct disk_lane *lane)
{
	while (!q->stopping) {
		disk_queue_drop_failed(q, lane);
		if (lane->first && lane->first->ready)
			return lane->first;
		pthread_cond_wait(&q->changed, &q->lock);
	}
	return NULL;
}

enum ux_code ux_disk_queue_front(struct ux_disk_queue *q, unsigned lane,
				 struct ux_disk_message *ret, struct ux_error *err)
{
	assert(lane < q->n_lanes);
	char path[PATH_SIZE];
	for (;;) {
		pthread_mutex_lock(&q->lock);
		struct disk_entry *e = disk_queue_wait_first(q, &q->lanes[lane]);
		if (e)
			ret->number = e->number;
		bool named = e && disk_queue_path(q, e, path);
		pthread_mutex_unlock(&q->lock);
		if (!e)
			return ux_error_set(err, UX_EUNAVAILABLE, "the queue is stopping");
		if (named && ux_file_map(path, &ret->file, NULL) == UX_OK)
			return UX_OK;
		pthread_mutex_lock(&q->lock);
		/* unless the message was just dropped to make room */
		if (q->lanes[lane].first && q->lanes[lane].first->number == ret->number) {
			q->lost++;
			disk_queue_drop_first(q, &q->lanes[lane]);
		}
		pthread_mutex_unlock(&q->lock);
	}
}

enum ux_code ux_disk_queue_next(struct ux_disk_queue *q, unsigned lane, uint64_t from,
				struct ux_disk_message *ret, struct ux_error *err)
{
	assert(lane < q->n_lanes);
	char path[PATH_SIZE];
	for (;; from = ret->number + 1) {
		pthread_mutex_lock(&q->lock);
		disk_queue_drop_failed(q, &q->lanes[lane]);
		const struct disk_entry *e = q->lanes[lane].first;
		while (e && (!e->ready || e->number < from))
			e = e->next;
		if (e)
			ret->number = e->number;
		bool named = e && disk_queue_path(q, e, path);
		pthread_mutex_unlock(&q->lock);
		if (!e)
			return ux_error_set(err, UX_ENOTFOUND, "the queue is empty");
		if (named && ux_file_map(path, &ret->file, NULL) == UX_OK)
			return UX_OK;
	}
}

void ux_disk_queue_remove(struct ux_disk_queue *q, unsigned lane, uint64_t number)
{
	assert(lane < q->n_lanes);
	char path[PATH_SIZE];
	struct disk_lane *l = &q->lanes[lane];
	pthread_mutex_lock(&q->lock);
	disk_queue_drop_failed(q, l);
	bool there = l->first && l->first->number == number;
	bool named = there && disk_queue_path(q, l->first, path);
	/* before its room is freed, so that the folder never exceeds its limit */
	if (named)
		(void)unlink(path);
	if (there)
		disk_queue_drop_first(q, l);
	pthread_mutex_unlock(&q->lock);
}

bool ux_disk_queue_pause(struct ux_disk_queue *q, int64_t ms)
{
	const int64_t until_ms = ux_clock_ms() + ms;
	pthread_mutex_lock(&q->lock);
	while (!q->stopping && ux_condition_wait(&q->changed, &q->lock, until_ms))
		;
	bool goes_on = !q->stopping;
	pthread_mutex_unlock(&q->lock);
	return goes_on;
}

void ux_disk_queue_stop(struct ux_disk_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopping = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

bool ux_disk_queue_is_stopping(struct ux_disk_queue *q)
{
	pthread_mutex_lock(&q->lock);
	bool stopping = q->stopping;
	pthread_mutex_unlock(&q->lock);
	return stopping;
}

struct ux_disk_queue_state ux_disk_queue_state(struct ux_disk_queue *q)
{
	int64_t oldest = INT64_MAX, now = ux_clock_wall();
	pthread_mutex_lock(&q->lock);
	for (size_t i = 0; i < q->n_lanes; i++)
		if (q->lanes[i].first)
			oldest = ux_min(oldest, q->lanes[i].first->since_s);
	struct ux_disk_queue_state s = {.messages = q->messages,
					.bytes = q->bytes,
					.bytes_max = q->bytes_max,
					.oldest_s = oldest < now ? (uint64_t)(now - oldest) : 0,
					.lost = q->lost,
					.dropped = q->dropped};
	pthread_mutex_unlock(&q->lock);
	return s;
}
