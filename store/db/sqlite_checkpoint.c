/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that copies the log of an SQLite database into the database. */
#include "db_engine.h"

#include <sqlite3.h>

enum {
	/*
	 * pages that commits may have added during a pass; they are copied while no commit can add
	 * more
	 */
	LAST_PAGES = 256,
	PASSES_MAX = 8, /* passes until at most LAST_PAGES are left */
	/*
	 * sizes of the log, as multiples of log_pages: from the first on background writers wait,
	 * from the second on all writers
	 */
	TIMES_BEHIND = 2,
	TIMES_MAX = 16,
};

struct ux_checkpointer {
	struct ux_db *writer;
	sqlite3 *connection;  /* the thread's own */
	int log_pages;        /* pages in the log from which on it is copied */
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	int due;   /* pages in the log from which on it is copied the next time */
	int pages; /* pages in the log after the last commit */
	bool started;
	bool stopping;
	pthread_t thread;
};

/* The result of a checkpoint. */
struct checkpoint {
	int pages;  /* pages in the log */
	int copied; /* copied pages, including the pages of earlier checkpoints */
};

/* Copies the pages that no reader of an earlier state needs. Commits continue at the same time. */
static struct checkpoint checkpoint_run(struct ux_checkpointer *c)
{
	struct checkpoint ret = {0};
	/* Another process may be doing it, or the disk refuses: try again later. */
	if (sqlite3_wal_checkpoint_v2(c->connection, NULL, SQLITE_CHECKPOINT_PASSIVE, &ret.pages,
				      &ret.copied) != SQLITE_OK)
		ret.copied = 0;
	return ret;
}

/*
 * Copies the whole log. Commits add pages during a pass, so the last pages are copied while commits
 * are excluded: the next commit can start the log from its beginning only if all of it was copied.
 * If too many commits arrive, the log grows instead, up to a size at which they have to wait.
 */
static struct checkpoint checkpoint_run_to_end(struct ux_checkpointer *c)
{
	struct checkpoint now = checkpoint_run(c), before = {0};
	for (int i = 0;
	     i < PASSES_MAX && now.copied > before.copied && now.pages - now.copied > LAST_PAGES;
	     i++) {
		before = now;
		now = checkpoint_run(c);
	}
	if (now.pages - now.copied > LAST_PAGES && now.pages < TIMES_MAX * c->log_pages)
		return now;
	UX_LOCKED(&c->writer->lock);
	return checkpoint_run(c);
}

/*
 * Plans the next checkpoint. If a reader keeps an old state, the rest of the log is not tried again
 * after each commit.
 */
static void checkpointer_plan(struct ux_checkpointer *c, struct checkpoint done)
{
	bool all = done.copied > 0 && done.copied == done.pages;
	c->pages = 0;
	c->due = all ? c->log_pages : ux_max(done.pages, c->due) + c->log_pages / 4;
}

static void *checkpointer_work(void *ctx)
{
	struct ux_checkpointer *c = ctx;
	pthread_mutex_lock(&c->lock);
	while (!c->stopping) {
		if (c->pages < c->due) {
			pthread_cond_wait(&c->changed, &c->lock);
			continue;
		}
		pthread_mutex_unlock(&c->lock);
		struct checkpoint done = checkpoint_run_to_end(c);
		pthread_mutex_lock(&c->lock);
		checkpointer_plan(c, done);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/*
 * Called by SQLite after each commit of the writer's connection. If the thread cannot start, the
 * caller copies the log.
 */
static int checkpointer_on_commit(void *ctx, sqlite3 *db, const char *name, int pages)
{
	struct ux_checkpointer *c = ctx;
	(void)name;
	pthread_mutex_lock(&c->lock);
	c->pages = pages;
	if (pages >= c->due && !c->started && !c->stopping)
		c->started = pthread_create(&c->thread, NULL, checkpointer_work, c) == 0;
	bool alone = pages >= c->due && !c->started;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (alone)
		sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return SQLITE_OK;
}

static enum ux_code checkpointer_connect(struct ux_checkpointer *c, struct ux_error *err)
{
	const char *path = sqlite3_db_filename(c->writer->connection, "main");
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(path, &c->connection, flags, NULL) != SQLITE_OK)
		return ux_error_set(err, UX_EIO, "cannot open the index for checkpoints");
	/*
	 * The log is on the disk before its pages go to the database, and these before the log
	 * starts over.
	 */
	return sqlite3_exec(c->connection, "PRAGMA synchronous = FULL; PRAGMA cache_size = 1", NULL,
			    NULL, NULL) == SQLITE_OK
		       ? UX_OK
		       : ux_error_set(err, UX_EIO, "cannot set up the index for checkpoints");
}

enum ux_code ux_checkpointer_open(struct ux_checkpointer **ret, struct ux_db *writer,
				  unsigned log_pages, struct ux_error *err)
{
	struct ux_checkpointer *c = calloc(1, sizeof(*c));
	if (!c)
		return ux_error_nomem(err);
	*c = (struct ux_checkpointer){
		.writer = writer, .log_pages = (int)log_pages, .due = (int)log_pages};
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	enum ux_code code = checkpointer_connect(c, err);
	if (code != UX_OK) {
		ux_checkpointer_close(c);
		return code;
	}
	/* replaces SQLite's own hook, which would copy within the commit */
	sqlite3_wal_hook(writer->connection, checkpointer_on_commit, c);
	*ret = c;
	return UX_OK;
}

bool ux_checkpointer_is_behind(struct ux_checkpointer *c)
{
	UX_LOCKED(&c->lock);
	return c->pages >= TIMES_BEHIND * c->log_pages;
}

void ux_checkpointer_close(struct ux_checkpointer *c)
{
	if (!c)
		return;
	sqlite3_wal_hook(c->writer->connection, NULL, NULL);
	pthread_mutex_lock(&c->lock);
	c->stopping = true;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (c->started)
		pthread_join(c->thread, NULL);
	sqlite3_close(c->connection);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
