/* SPDX-License-Identifier: Apache-2.0 */
/* All rows of a database, copied to another one of the same schema, whatever their engines. */
#ifndef UX_DB_BULK_H
#define UX_DB_BULK_H

#include "db.h"
#include "out.h"

/* What was copied. */
struct ux_db_bulk_sum {
	uint64_t tables;
	uint64_t rows;
};

/* Called for each so many rows of a table. */
typedef void ux_db_bulk_fn(void *ctx, const char *table, uint64_t rows);

/*
 * Replaces all rows of `to` by those of `from`, in the caller's transaction of `to`, so that it has
 * all of them or none. `from` is read as of one moment, and may be written to meanwhile. The rows
 * are read again from `to` and compared: UX_EIO when a table has others. What only a running server
 * needs (nodes, changes) is left out. Text that is not UTF-8 is compared as PostgreSQL stores it.
 */
enum ux_code ux_db_bulk_copy(struct ux_db *from, struct ux_db *to, ux_db_bulk_fn *report, void *ctx,
			     struct ux_db_bulk_sum *ret, struct ux_error *err) ux_must;

/* The engine's part. */
struct ux_db_bulk {
	/* rows of table, column, type ("INTEGER", "TEXT", "BLOB"), by table; columns that are
	 * computed are left out */
	struct ux_sql columns;
	/* rows of a table whose rows are numbered, and the largest number that was ever given */
	struct ux_sql numbering;
	struct ux_sql renumber; /* sets that, by :name and :last */
	/* Triggers and references do nothing from begin to end, in one transaction. */
	enum ux_code (*begin)(struct ux_db *db, struct ux_error *err);
	enum ux_code (*end)(struct ux_db *db, struct ux_error *err);
	/*
	 * Readies the rows of a SELECT, which may be more than memory holds. *ret: text of a
	 * statement that returns the next ones, in out.
	 */
	enum ux_code (*rows)(struct ux_db *db, const char *select, unsigned number,
			     struct ux_out *out, struct ux_error *err);
	bool pages; /* that statement is run until it returns no row */
};

#endif
