/* SPDX-License-Identifier: Apache-2.0 */
/* Copies all rows of a database to another one of the same schema, whatever their engines. */
#ifndef UX_DB_BULK_H
#define UX_DB_BULK_H

#include "db.h"
#include "out.h"

/* Counts of copied tables and rows. */
struct ux_db_bulk_sum {
	uint64_t tables;
	uint64_t rows;
};

/* Called regularly with the number of rows copied from a table. */
typedef void ux_db_bulk_fn(void *ctx, const char *table, uint64_t rows);

/*
 * Replaces all rows of `to` by the rows of `from`, in the caller's transaction of `to`, so that it
 * has all of them or none. `from` is read as of one moment, and may be written during the copy. The
 * rows are read again from `to` and compared: UX_EIO if a table differs. Tables that only a running
 * server needs (nodes, changes) are left out. Text that is not UTF-8 is compared in the form that
 * PostgreSQL stores.
 */
enum ux_code ux_db_bulk_copy(struct ux_db *from, struct ux_db *to, ux_db_bulk_fn *report, void *ctx,
			     struct ux_db_bulk_sum *ret, struct ux_error *err) ux_must;

/* The engine's part of a copy. */
struct ux_db_bulk {
	/*
	 * rows of table, column, type ("INTEGER", "TEXT", "BLOB"), by table; without computed
	 * columns
	 */
	struct ux_sql columns;
	/* tables with numbered rows, and the largest number that was ever used */
	struct ux_sql numbering;
	struct ux_sql renumber; /* sets that number, by :name and :last */
	/* Triggers and references have no effect from begin to end, in one transaction. */
	enum ux_code (*begin)(struct ux_db *db, struct ux_error *err);
	enum ux_code (*end)(struct ux_db *db, struct ux_error *err);
	/*
	 * Prepares the rows of a SELECT, which may exceed the memory. *ret: in out, the text of a
	 * statement that returns the next rows.
	 */
	enum ux_code (*rows)(struct ux_db *db, const char *select, unsigned number,
			     struct ux_out *out, struct ux_error *err);
	bool pages; /* run that statement until it returns no row */
};

#endif
