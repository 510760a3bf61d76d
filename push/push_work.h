/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the push: client, scan, extraction, source files. */
#ifndef UX_PUSH_WORK_H
#define UX_PUSH_WORK_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "extract.h"
#include "file.h"
#include "hash.h"
#include "id.h"
#include "map.h"
#include "out.h"
#include "push_module.h"
#include "push_run.h"
#include "push_scan.h"
#include "registry.h"
#include "unhex/quality.h"
#include "vec.h"

struct json_t;
struct ux_http_client;

enum {
	UX_PUSH_REASON = 160,         /* size of a reason, with the NUL */
	UX_PUSH_QUERY_MAX = 10000,    /* modules of one query */
	UX_PUSH_PATHS_MAX = 64 << 10, /* bytes of memory for the forms of one path */
};

/* The connection to the bucket, if the server has one. */
struct ux_push_direct {
	/* CLOCK_MONOTONIC time until which the unreachable bucket is not used; 0: it is used */
	int64_t off_until_ms;
	char *origin; /* "scheme://host:port" */
	struct ux_http_client *http;
};

/* The connection to one server, and the deadline of the push. One thread at a time. */
struct ux_push_client {
	const struct ux_push_options *options;
	struct ux_http_client *http;
	struct ux_push_direct direct;
	int64_t timeout_ms; /* timeout of the whole push, for messages */
	/* CLOCK_MONOTONIC time at which the push must end */
	int64_t deadline_ms;
	unsigned tries;                          /* attempts of a call that makes no progress */
	void (*sent)(void *ctx, uint64_t bytes); /* called when a chunk has arrived; may be NULL */
	void *sent_ctx;
	/*
	 * Called by the client's thread before it sends a chunk of `bytes` bytes. It may wait, and
	 * extend the deadline by that time. NULL: chunks are sent immediately.
	 */
	void (*sends)(void *ctx, struct ux_push_client *c, uint64_t bytes);
	void *sends_ctx;
};

/* Uses url, token, cacert, proxy, retries and timeout_ms of the options, which must outlive it. */
enum ux_code ux_push_client_open(struct ux_push_client *c, const struct ux_push_options *o,
				 struct ux_error *err) ux_must;
/*
 * Opens another connection with the same deadline, for another thread. If `other` could not reach
 * the bucket, this connection does not try it either. The options must outlive it. Codes of
 * ux_push_client_open().
 */
enum ux_code ux_push_client_share(struct ux_push_client *c, const struct ux_push_options *o,
				  const struct ux_push_client *other, struct ux_error *err) ux_must;
void ux_push_client_close(struct ux_push_client *c);

/*
 * Sends pieces of an upload, from offset on, to the URLs in the member "direct" of the server's
 * answer. Returns how many bytes have arrived. If no byte arrived, the bucket is not used for ten
 * minutes.
 */
uint64_t ux_push_direct_send(struct ux_push_client *c, const struct json_t *direct,
			     struct ux_bytes bytes, uint64_t offset);
bool ux_push_direct_is_off(const struct ux_push_client *c);
/* Sends everything to the server, not to the bucket, for a while. */
void ux_push_direct_give_up(struct ux_push_client *c);
void ux_push_direct_close(struct ux_push_direct *d);

/* A server's answer about a module. */
enum ux_push_verdict {
	UX_PUSH_WANTED,
	UX_PUSH_UPLOADED,
	UX_PUSH_ALREADY_THERE,
	UX_PUSH_BETTER_THERE,
	UX_PUSH_PENDING, /* uploaded; the server is still extracting it */
	UX_PUSH_REFUSED, /* the ID is invalid, or the server found the GSYM to be corrupt */
};

struct ux_push_answer {
	enum ux_push_verdict verdict;
	char reason[UX_PUSH_REASON]; /* "": the server gave none */
	bool has_quality;            /* the server reported the quality of its extraction: */
	enum ux_quality quality;
};

struct ux_push_query_entry {
	const struct ux_id_set *ids;
	enum ux_quality quality;
	enum ux_trust trust; /* UX_TRUST_NONE: the level of the key */
};

/*
 * Queries which of these modules the server needs. While the server cannot be reached, requests are
 * retried a few times, until the deadline. UX_EDENIED: a key is missing or lacks the scope;
 * UX_EUNAVAILABLE; UX_EUNSUPPORTED: the answer is not from an unhex server.
 */
enum ux_code ux_push_query(struct ux_push_client *c, const struct ux_push_query_entry *entries,
			   size_t n, bool force, struct ux_push_answer *answers,
			   struct ux_error *err) ux_must;

struct ux_push_upload {
	const struct ux_id_set *ids;
	enum ux_quality quality;
	struct ux_bytes bytes;
	const char *kind;                       /* "gsym", "executable", "debuginfo" */
	const char *description;                /* "" for none */
	const struct ux_provenance *provenance; /* NULL: not known */
	enum ux_trust trust;                    /* UX_TRUST_NONE: the level of the key */
	const char *file;
	bool force;
};

/*
 * Sends one file in chunks, unless the server has the same bytes, which it detects by the announced
 * hash. After a broken connection it resumes at the server's offset. If the server extracts the
 * file, waits for the result. The verdict is never UX_PUSH_WANTED; it is UX_PUSH_PENDING when the
 * deadline passed first. Codes of ux_push_query().
 */
enum ux_code ux_push_upload(struct ux_push_client *c, const struct ux_push_upload *upload,
			    struct ux_push_answer *ret, struct ux_error *err) ux_must;

static inline uint64_t ux_push_id_hash(struct ux_id id)
{
	return ux_hash_bytes(ux_bytes(id.bytes, id.size));
}

static inline bool ux_push_id_eq(struct ux_id a, struct ux_id b)
{
	return ux_id_eq(&a, &b);
}

/* Maps each ID of the modules to the module's index. */
UX_MAP(ux_push_by_id, struct ux_id, size_t, ux_push_id_hash, ux_push_id_eq);

/* An unpacked layer of an image. */
struct ux_image_layer {
	char digest[UX_DIGEST_TEXT];
	int pack;
};

UX_VEC(ux_image_layers, struct ux_image_layer);

/* Descriptors of unnamed files with the members of archives. */
UX_VEC(ux_push_packs, int);

/*
 * Unnamed files that successive extractions reuse, because creating and removing them takes a large
 * part of a small module's time. Each extraction overwrites the previous GSYM.
 */
struct ux_push_reused {
	int gsym;  /* -1: not made */
	int spill; /* `spill` of struct ux_sandbox_limits; reused like the file above */
};

enum ux_code ux_push_reused_open(struct ux_push_reused *ret, struct ux_error *err) ux_must;
void ux_push_reused_close(struct ux_push_reused *r);

UX_VEC(ux_source_tree_vec, char *);

/*
 * Debug information is untrusted and may name any file of this machine, and a link may lead to any.
 * A source file is sent only if it really is, after all links, in one of these trees:
 *  - the one around each file or folder that is pushed, and around the working folder: up to the
 *    folder with .git, and without one the folder itself; but neither / nor the home of the user;
 *  - the TO of each rule FROM=TO;
 *  - /usr, for files that every user may read: headers and sources of the distribution.
 * Zeroed: only the last one.
 */
struct ux_source_trees {
	struct ux_source_tree_vec roots; /* resolved paths */
};

/* Adds the tree around a file or folder. A path that does not exist adds none. UX_ENOMEM. */
enum ux_code ux_source_trees_add_around(struct ux_source_trees *t, const char *path,
					struct ux_error *err) ux_must;

/* Adds a folder or file that the user named for sources, and no more. UX_ENOMEM. */
enum ux_code ux_source_trees_add(struct ux_source_trees *t, const char *path, struct ux_error *err)
	ux_must;
void ux_source_trees_deinit(struct ux_source_trees *t);

/*
 * Maps a file of the trees. UX_EDENIED: it is outside. Other codes of ux_file_map(). Any thread,
 * when no more trees are added.
 */
enum ux_code ux_source_trees_map(const struct ux_source_trees *t, const char *path,
				 struct ux_mapping *ret, struct ux_error *err) ux_must;

struct ux_push_work {
	const struct ux_push_options *o;
	struct ux_push_summary *summary;
	struct ux_scan scan;
	struct ux_push_modules modules;
	struct ux_push_by_id known;
	struct ux_push_client client;
	struct ux_push_progress progress;
	struct ux_push_packs packs;
	struct ux_source_trees trees; /* of o->sources */
	/* fork server of the children that read members; NULL: not started */
	struct ux_fork_server *forks;
	struct ux_image_layers layers; /* layers of all images, so that each is unpacked once */
	/* members of layers that were read already, by descriptor and offset: images share
	 * layers */
	struct ux_scan_inodes members_seen;
	int scratch; /* file that the children write to; -1: not created */
	/* files for extractions of members; NULL: each extraction creates its own */
	const struct ux_push_reused *reused;
	/* called before and after an extraction; may wait before it; NULL: not called */
	void (*extracts)(void *ctx, bool begins);
	void *extracts_ctx;
};

/*
 * Extracts and sends all modules on several threads, and reports them in their order; the first
 * `front` of them before all others. After an error of the connection the others are reported as
 * unreached.
 */
enum ux_code ux_push_jobs_run(struct ux_push_work *p, const struct ux_push_answer *answers,
			      size_t front, struct ux_error *err) ux_must;

/* Acts on the server's answer about one module. */
enum ux_code ux_push_module_send(struct ux_push_work *p, struct ux_push_module *m,
				 const struct ux_push_answer *answer, struct ux_error *err) ux_must;

/* Counts a result and reports it. */
void ux_push_report(struct ux_push_work *p, const struct ux_push_result *r);

/*
 * Returns the absolute path under which a server lists a file, without "." and ".."; links are
 * kept. Allocated in the arena; NULL: memory is short.
 */
const char *ux_push_listed_path(const char *path, struct ux_arena *arena);

/* Returns the status for a verdict. */
enum ux_push_status ux_push_status_of(enum ux_push_verdict verdict);

/*
 * Sends the files of a module as they are and reports the result. *ret_there: the quality that
 * the server extracted; UX_QUALITY_COUNT when nothing was sent or the server did not report it.
 */
enum ux_code ux_push_files(struct ux_push_work *p, const struct ux_push_module *m,
			   enum ux_quality *ret_there, struct ux_error *err) ux_must;

/* Returns whether a file is an archive, by its first bytes and its name. */
bool ux_push_archive_is(const char *path);

/*
 * Unpacks an archive and the archives in it, and appends their modules. An unreadable member is
 * reported, and the others are still found. UX_ENOMEM.
 */
enum ux_code ux_push_archive_read(struct ux_push_work *p, const char *path, bool named,
				  struct ux_push_modules *ret, struct ux_error *err) ux_must;

/*
 * Appends the modules in a part of a file under a name. A confined child reads the part. The
 * descriptor must stay open. Codes of ux_sandbox_facts().
 */
enum ux_code ux_push_part_read(struct ux_push_work *p, const char *name,
			       const struct ux_sandbox_part *part, bool packed,
			       struct ux_push_modules *ret, struct ux_error *err) ux_must;
void ux_push_archives_close(struct ux_push_work *p);

/*
 * Extracted symbols, in a mapped file without a name: in memory, the symbols of a large module
 * would take much of the room for another extraction. A zeroed struct is empty.
 */
struct ux_push_gsym {
	struct ux_mapping file;
};

void ux_push_gsym_deinit(struct ux_push_gsym *gsym);

/* Extracts a module that has parts, in a confined child. Codes of ux_sandbox_symbols(). */
enum ux_code ux_push_archive_extract(const struct ux_push_work *p, struct ux_push_module *m,
				     struct ux_push_gsym *gsym, struct ux_extract_stats *stats,
				     struct ux_error *err) ux_must;

/*
 * Makes GSYMs of a perf map or jitdump in a confined child. *ret is the output;
 * ux_runtime_part_next() reads it. Codes of ux_sandbox_runtime().
 */
enum ux_code ux_push_runtime_read(struct ux_push_work *p, const struct ux_sandbox_part *file,
				  const struct ux_runtime_request *what, struct ux_mapping *ret,
				  struct ux_error *err) ux_must;

/*
 * Adds each mapped file with code of a process to the scan, if its path leads to the same file on
 * this machine. Other files (deleted, in another file system, without a name, the vDSO) are read in
 * a confined child and appended to *ret. Unreadable files are reported. UX_ENOTFOUND: there is no
 * such process; UX_EDENIED: its mappings cannot be read.
 */
enum ux_code ux_push_process_read(struct ux_push_work *p, pid_t pid, struct ux_push_modules *ret,
				  struct ux_error *err) ux_must;

/*
 * Appends the modules of a container image: a folder, a file or a reference. Unreadable parts are
 * reported. UX_ENOMEM.
 */
enum ux_code ux_push_image_read(struct ux_push_work *p, const char *name,
				struct ux_push_modules *ret, struct ux_error *err) ux_must;

/* Reports a file that was rejected before it became a module. ctx: struct ux_push_work. */
void ux_push_report_left_out(void *ctx, const char *path, bool named, const struct ux_error *err);

/* Calls o->reading, if set, before path is mapped. */
void ux_push_reading(const struct ux_push_options *o, const char *path);

/*
 * Extracts m into gsym, which is emptied first. A debug file that was found by a search may be
 * damaged: then it is dropped, and the file is extracted alone. Codes of ux_extract() and
 * ux_file_map().
 */
enum ux_code ux_push_extract(const struct ux_push_work *p, struct ux_push_module *m,
			     struct ux_push_gsym *gsym, struct ux_extract_stats *stats,
			     struct ux_error *err) ux_must;

/*
 * The first part of ux_push_module_send(), which needs no connection: extracts m into gsym if the
 * answer requests its symbols. *ret_sends: ux_push_gsym_send() is to follow; otherwise the result
 * was reported. For a push that sends neither files nor sources. Codes: UX_ENOMEM.
 */
enum ux_code ux_push_module_extract(struct ux_push_work *p, struct ux_push_module *m,
				    const struct ux_push_answer *answer, struct ux_push_gsym *gsym,
				    struct ux_extract_stats *stats, bool *ret_sends,
				    struct ux_error *err) ux_must;

/* Returns the level of trust that a module's symbols are sent with; UX_TRUST_NONE: of the key. */
enum ux_trust ux_push_trust_of(const struct ux_push_work *p, const struct ux_push_module *m);

/*
 * Sends the extracted symbols of a module, unless their quality is below what its sections promised
 * and the server then does not need them, and reports the result. Codes: see ux_push_query().
 */
enum ux_code ux_push_gsym_send(struct ux_push_work *p, const struct ux_push_module *m,
			       const struct ux_push_gsym *gsym,
			       const struct ux_extract_stats *stats, struct ux_error *err) ux_must;

enum {
	UX_PUSH_SOURCES_MAX = 100000,          /* files of a module */
	UX_PUSH_SOURCE_MAX = 16 << 20,         /* bytes of one file */
	UX_PUSH_SOURCES_BYTES_MAX = 512 << 20, /* bytes of all of them together */
	UX_PUSH_BUNDLE_MAX = 256 << 20,        /* bytes of the archive */
};

/* A zeroed struct is empty. */
struct ux_push_sources {
	struct ux_out archive; /* see bundle.h */
	uint64_t files;        /* number of files in the archive */
	uint64_t missing;      /* files that do not exist here, or cannot be read */
	uint64_t outside;      /* files that exist, but outside of the trees */
	/* files that are too large, or whose names no source file has */
	uint64_t left_out;
};

/*
 * Collects the source files that a GSYM names into one archive, under their paths in the GSYM.
 * o->prefixes maps these paths to this machine: the first rule whose FROM is a prefix of the path
 * replaces FROM by TO. Only regular files with the name of a source file are read, and only in the
 * trees, because debug information is untrusted and could name /etc/shadow. The archive is
 * deterministic. UX_ENOTFOUND: no file exists here; UX_EUNSUPPORTED: this build cannot write
 * archives; UX_EINVAL: o->prefixes is malformed.
 */
enum ux_code ux_push_sources_collect(struct ux_bytes gsym, const struct ux_push_options *o,
				     const struct ux_source_trees *trees,
				     struct ux_push_sources *ret, struct ux_error *err) ux_must;

/* Adds the trees of a push of these files and folders. UX_ENOMEM. */
enum ux_code ux_push_sources_trees(const struct ux_push_options *o, char *const *paths, size_t n,
				   struct ux_source_trees *ret, struct ux_error *err) ux_must;
void ux_push_sources_deinit(struct ux_push_sources *s);

#endif
