/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index inside: its two connections, and the functions of its parts. */
#ifndef UX_INDEX_SQLITE_H
#define UX_INDEX_SQLITE_H

#include "index.h"
#include "sqlite_db.h"

/*
 * Readers have a connection of their own, so that they do not wait while a writer syncs; a read
 * that begins after a write returned sees it.
 */
struct ux_index_sqlite {
	struct ux_index base;
	struct ux_db writer;
	struct ux_db reader;
};

static inline struct ux_index_sqlite *ux_index_sqlite_of(struct ux_index *ix)
{
	return ux_container_of(ix, struct ux_index_sqlite, base);
}

/* Fill in their part of base. */
void ux_sqlite_modules_init(struct ux_index *ix);
void ux_sqlite_uploads_init(struct ux_index *ix);
void ux_sqlite_keys_init(struct ux_index *ix);

/* The module of an ID in *ret_number; UX_ENOTFOUND. With the connection's lock held. */
enum ux_code ux_sqlite_module_number(struct ux_db *db, const char *ns, const char *id,
				     struct ux_module *ret, struct ux_error *err) ux_must;

/* Reads IDs and candidates of module ret->number. With the connection's lock held. */
enum ux_code ux_sqlite_module_fill(struct ux_db *db, struct ux_arena *arena, struct ux_module *ret,
				   struct ux_error *err) ux_must;

/* Rows of one text column as an array in the arena. */
enum ux_code ux_sqlite_texts(struct ux_stmt *st, struct ux_arena *arena, const char ***ret,
			     size_t *ret_n, struct ux_error *err) ux_must;

#endif
