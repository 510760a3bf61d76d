/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of an SQLite database, by a thread of their own. */
#ifndef UX_SQLITE_CHECKPOINT_H
#define UX_SQLITE_CHECKPOINT_H

#include "db.h"

/*
 * Copies pages of the log into the database while the writer goes on: no commit waits for that.
 * Without it, the commit that fills the log copies all of it before it returns.
 */
struct ux_checkpointer;

/*
 * Begins for the writer's connection, once its log has so many pages. The thread is started when
 * that is so for the first time. Call it before other threads use the connection.
 */
enum ux_code ux_checkpointer_open(struct ux_checkpointer **ret, struct ux_db *writer,
				  unsigned log_pages, struct ux_error *err) ux_must;

/* Has the log grown to twice those pages, or more? Any thread. */
bool ux_checkpointer_is_behind(struct ux_checkpointer *c);

/* Ends the thread; the log stays as it is. Call it before the connection is closed. NULL is
 * allowed.
 */
void ux_checkpointer_close(struct ux_checkpointer *c);

#endif
