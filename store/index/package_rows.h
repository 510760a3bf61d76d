/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of packages, shared by the files that write and read them. */
#ifndef UX_PACKAGE_ROWS_H
#define UX_PACKAGE_ROWS_H

#include "index_packages.h"
#include "index_sql.h"

/* Columns of packages p and repositories r in the order in which ux_package_job_read() has them. */
#define UX_PACKAGE_COLUMNS                                                                     \
	"p.number, p.key, p.name, p.version, p.arch, p.source, p.distribution, p.suite, "      \
	"p.component, p.kind, p.role, p.url, p.host, p.sha256, p.size, p.installed, p.state, " \
	"p.tries, p.losses, p.next, p.worker, p.lease, p.lease_until, p.cause, p.reason, "     \
	"p.modules, p.fetched, p.stored, p.ended, r.name, p.files "

enum {
	UX_PACKAGE_COLUMN_COUNT = 31
};

enum ux_code ux_package_job_read(struct ux_stmt *st, struct ux_arena *arena,
				 struct ux_package_job *ret, struct ux_error *err) ux_must;

/* Binds the parameters :key, :name, ..., :installed of an announced package. */
void ux_package_row_bind(struct ux_stmt *st, const struct ux_package_row *p);

#endif
