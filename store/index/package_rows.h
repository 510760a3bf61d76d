/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of packages, shared by the files that write and read them, and the leases of their hosts. */
#ifndef UX_PACKAGE_ROWS_H
#define UX_PACKAGE_ROWS_H

#include "index_packages.h"
#include "index_sql.h"
#include "vec.h"

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

/* --- the leases of a host: package_hosts.c ---------------------------------------------------- */

/*
 * All workers together spare a host, and namespaces share what it has room for. The namespace with
 * the fewest leases comes first, among equals the one whose last turn is the longest ago. Only
 * namespaces whose workers were refused within the last seconds count, so that packages without
 * workers delay no other namespace.
 */
enum {
	UX_HOSTS_NOTED = 64, /* hosts for which one request is noted */
};

/* A namespace whose worker was refused a package of a host just now. */
struct ux_host_asker {
	const char *ns, *host;
	int64_t turn; /* the last turn of one of its repositories */
};

UX_VEC(ux_host_askers, struct ux_host_asker);

/* The hosts during one request for packages. */
struct ux_hosts {
	const char *ns;
	unsigned most; /* leases of one host */
	ux_time now;
	int64_t turn; /* the namespace's last turn; grows with the time and with each lease */
	struct ux_host_askers askers; /* of other namespaces */
	const char *noted[UX_HOSTS_NOTED];
	size_t n_noted;
};

/* Reads who else asks. Texts are the arena's. */
enum ux_code ux_hosts_open(struct ux_hosts *h, struct ux_db *db, struct ux_arena *arena,
			   struct ux_error *err) ux_must;
void ux_hosts_close(struct ux_hosts *h);

/*
 * Tests whether the namespace may lease a package of this host now. If others have had all of its
 * leases for long, one of theirs ends. A path has no host: there is no need to spare a disk.
 */
enum ux_code ux_hosts_have_room(struct ux_hosts *h, struct ux_db *db, const char *host, bool *ret,
				struct ux_error *err) ux_must;

/* Begins the turn of a repository: h->turn is its number. */
void ux_hosts_take_turn(struct ux_hosts *h);

/* Notes that the first due package of a repository has to wait for its host. */
enum ux_code ux_hosts_note_waiting(struct ux_hosts *h, struct ux_db *db,
				   const struct ux_package_job *job, struct ux_error *err) ux_must;

#endif
