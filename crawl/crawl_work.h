/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of a worker: packages that the server leases, and the symbols extracted from
 * one. */
#ifndef UX_CRAWL_WORK_H
#define UX_CRAWL_WORK_H

#include "crawl_client.h"
#include "crawl_worker.h"
#include "package_stream.h"
#include "polite_client.h"
#include "push_work.h"

/* --- the memory of extractions ------------------------------------------------------------------
 */

struct ux_extraction_memory;

/* total: bytes for all concurrent extractions. NULL: out of memory. */
struct ux_extraction_memory *ux_extraction_memory_new(uint64_t total);
void ux_extraction_memory_free(struct ux_extraction_memory *m); /* NULL is allowed */

/*
 * Waits for memory to extract a file of this size; returns the bytes it gets, at most the total. An
 * extraction that gets the total runs alone. Any thread; a thread may hold only one part.
 */
uint64_t ux_extraction_memory_take(struct ux_extraction_memory *m, uint64_t file_bytes);
void ux_extraction_memory_give(struct ux_extraction_memory *m, uint64_t part);

/* --- the reading of a package ------------------------------------------------------------------
 */

struct ux_package_reading {
	struct ux_polite *mirrors;
	bool (*stopped)(void *ctx); /* as of struct ux_package_stream_options */
	void *ctx;
};

/* --- the symbols of a package ------------------------------------------------------------------
 */

/* The symbols of one module, until they are sent. */
struct ux_kept_symbols {
	struct ux_push_module module;
	struct ux_sandbox_part gsym; /* in the file of the package */
	struct ux_extract_stats stats;
};

UX_VEC(ux_kept_list, struct ux_kept_symbols);

/* The symbols of a package. It must not move: the options point into it. */
struct ux_package_symbols {
	struct ux_push_options options; /* with the package's origin */
	char sha256[2 * UX_PACKAGE_SHA256_BYTES + 1];
	struct ux_kept_list kept;
	int file;      /* without a name, contains the GSYMs of all modules; -1: not made */
	uint64_t used; /* bytes of it */
	struct ux_crawl_result result;
};

/*
 * Reads the package and extracts the symbols that the server needs. They may be sent if the result
 * is UX_CRAWL_DONE: then all of the package's bytes were received and match its repository's
 * SHA-256. work has its options, an open client and a fork server; its modules are dropped. The
 * package must outlive *ret. Any thread, one at a time for one work.
 */
void ux_package_symbols_read(struct ux_push_work *work, const struct ux_package *package,
			     const struct ux_package_reading *reading,
			     struct ux_extraction_memory *memory, struct ux_package_symbols *ret);
void ux_package_symbols_deinit(struct ux_package_symbols *s);

/* --- the stripped files of debug files without build IDs -------------------------------------- */

/*
 * Alpine's debug files have no build IDs. A debug file's path tells which stripped file it belongs
 * to, and the CRC in .gnu_debuglink proves it. A zeroed struct is empty.
 */
struct ux_stripped_files {
	struct ux_package_stream *streams[UX_PACKAGE_FILES_MAX]; /* their members stay */
	size_t n_streams;
	struct ux_push_modules list; /* stripped files that name a debug file */
	uint64_t bytes;              /* bytes received */
	enum ux_package_cause cause; /* why one of the packages could not be read */
};

/*
 * Reads the further files of a package. Codes of ux_package_stream_next() and ux_push_part_read(),
 * except that unreadable members are skipped.
 */
enum ux_code ux_stripped_files_read(struct ux_stripped_files *s, struct ux_push_work *work,
				    const struct ux_package *package,
				    const struct ux_package_reading *reading, struct ux_error *err)
	ux_must;
void ux_stripped_files_deinit(struct ux_stripped_files *s);

/*
 * Makes the module of a debug file. It gets the identity of its stripped file, whose module is
 * taken. path: "/usr/lib/debug/usr/bin/x.debug". UX_ENOTFOUND: no stripped file has that path, or
 * it was taken; UX_ECONFLICT: it names a debug file with another CRC; UX_EIO, UX_ENOMEM.
 */
enum ux_code ux_stripped_files_join(struct ux_stripped_files *s, const char *path,
				    struct ux_push_module *debug, struct ux_error *err) ux_must;

/* --- leases ----------------------------------------------------------------------------------- */

/* A lease. Zeroed: none. */
struct ux_crawl_lease {
	json_t *doc; /* as the server sent it; holds the texts of the package */
	uint64_t id;
	const char *lease;
	unsigned slot; /* slot among the renewed leases */
	struct ux_package package;
	struct ux_package_file *files; /* files of the package; malloc'ed */
};

void ux_crawl_lease_free(struct ux_crawl_lease *job);

struct ux_crawl_leases;

/*
 * Opens the connections, and starts the thread that renews leases, at most `slots` at a time. The
 * options must outlive it.
 */
enum ux_code ux_crawl_leases_open(struct ux_crawl_leases **ret,
				  const struct ux_crawl_work_options *options, unsigned slots,
				  struct ux_error *err) ux_must;
void ux_crawl_leases_close(struct ux_crawl_leases *j);

/*
 * Takes a package. *ret_more false: nothing is left on the server. If packages are left but none is
 * due, waits a moment and returns with ret->doc NULL. UX_EUNSUPPORTED: the answer is not an unhex
 * server's. Any thread, like the functions below.
 */
enum ux_code ux_crawl_leases_take(struct ux_crawl_leases *j, struct ux_crawl_lease *ret,
				  bool *ret_more, struct ux_error *err) ux_must;

/*
 * Tells the server that all bytes of the package were received, so that its mirror has room for
 * another one. If the message is lost, the mirror has room when the job ends.
 */
void ux_crawl_leases_received(struct ux_crawl_leases *j, const struct ux_crawl_lease *job);

/* Returns whether the server said that the lease was lost: the work on its package is in vain. */
bool ux_crawl_leases_lost(struct ux_crawl_leases *j, const struct ux_crawl_lease *job);

/* Ends the job. A lease that was lost is not an error: another worker has the package then. */
enum ux_code ux_crawl_leases_end(struct ux_crawl_leases *j, const struct ux_crawl_lease *job,
				 const struct ux_crawl_result *result, struct ux_error *err)
	ux_must;

/* --- uploads ---------------------------------------------------------------------------------- */

/* A package that was read and is being sent to the server. */
struct ux_package_delivery {
	struct ux_crawl_lease job; /* zeroed: a package without a lease */
	const struct ux_package *package;
	struct ux_package_symbols symbols;
	struct ux_package_delivery *behind; /* next in the queue */
	size_t next;                        /* index of the symbols to send next */
	size_t sending;                     /* symbols being sent now */
	size_t failed_at; /* index of the first symbols that could not be sent; SIZE_MAX: none */
};

/* Returns NULL if out of memory. */
struct ux_package_delivery *ux_package_delivery_new(void);
void ux_package_delivery_free(struct ux_package_delivery *d);

/*
 * Sends the symbols of packages to the server, over several connections: a server waits for its
 * disk at the end of each upload, and uploads that end together share that. In the meantime the
 * next packages are read.
 */
struct ux_package_uploads;

/*
 * Starts `threads` threads. At most `packages` packages wait or are being sent. ended: called by
 * any thread, also in ux_package_uploads_put(), for each package when it has nothing left to send;
 * it takes the delivery, whose result is complete. push must outlive it.
 */
enum ux_code ux_package_uploads_open(struct ux_package_uploads **ret,
				     const struct ux_push_options *push, unsigned threads,
				     unsigned packages,
				     void (*ended)(void *ctx, struct ux_package_delivery *d),
				     void *ctx, struct ux_error *err) ux_must;

/* Takes a package; waits until there is room for it. Any thread. */
void ux_package_uploads_put(struct ux_package_uploads *u, struct ux_package_delivery *d);

/* Waits until all is sent. NULL is allowed. */
void ux_package_uploads_close(struct ux_package_uploads *u);

#endif
