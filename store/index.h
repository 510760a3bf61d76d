/* SPDX-License-Identifier: Apache-2.0 */
/* The index: the interface that every backend fills in, a struct of functions for each noun. */
#ifndef UX_INDEX_H
#define UX_INDEX_H

#include "arena.h"
#include "blobs.h"
#include "bytes.h"
#include "error.h"
#include "unhex/quality.h"

/* --- modules, their IDs and candidates -------------------------------------------------------- */

enum {
	UX_INDEX_VERSION = 2,
	UX_INDEX_IDS_MOST = 16,     /* IDs of one upload */
	UX_INDEX_ID_BYTES = 256,    /* text of one ID */
	UX_INDEX_TEXT_BYTES = 1024, /* description, file name, reason */
	UX_INDEX_NS_BYTES = 64,     /* name of a namespace */
	UX_INDEX_CANDIDATES_MOST =
		4096, /* of one module: a program has as many .dwo files as units */
};

#define UX_NAMESPACE_DEFAULT "default"

/* Seconds since 1970, by the clock of the caller: the server's is in store.h. */
typedef int64_t ux_time;

struct ux_index;

/* Who writes, for the audit (index.h). Strings, never NULL. */
struct ux_who {
	const char *key_id; /* "" without a key */
	const char *from;   /* address of the client, or "cli", "server" */
};

/* What a candidate's bytes are. Only a GSYM answers addresses. */
enum ux_kind {
	UX_KIND_GSYM,
	UX_KIND_EXECUTABLE, /* ELF with code, with or without debug information */
	UX_KIND_DEBUGINFO,  /* ELF without code: a .debug file */
	UX_KIND_DWO,
	UX_KIND_DWP,
	UX_KIND_SOURCES, /* a bundle; its files are in index.h */
	UX_KIND_COUNT
};

/* Part of a split build: of use only with the file that names it. */
static inline bool ux_kind_is_split(enum ux_kind kind)
{
	return kind == UX_KIND_DWO || kind == UX_KIND_DWP;
}

/* What an ELF candidate can be served as; known once it is measured. */
enum {
	UX_HOLDS_CODE = 1 << 0,    /* as debuginfod's executable */
	UX_HOLDS_DEBUG = 1 << 1,   /* as debuginfod's debuginfo: .debug_info or .symtab */
	UX_HOLDS_SECTIONS = 1 << 2 /* has section headers */
};

enum ux_candidate_state {
	UX_CANDIDATE_READY,
	UX_CANDIDATE_PENDING, /* a job extracts it */
	UX_CANDIDATE_FAILED,  /* could not be read; stays so that a newer parser may try again */
};

enum ux_origin {
	UX_ORIGIN_UPLOAD,
	UX_ORIGIN_UPSTREAM,
	UX_ORIGIN_CRAWL, /* reserved by the schema for the crawler; nothing writes it yet */
};

/*
 * One source of symbols for a module. Quality, counts, code_total and holds were measured by
 * the server; claim is the client's.
 */
struct ux_candidate {
	int64_t number;
	int64_t parent; /* the candidate that this GSYM was extracted from; 0: none */
	enum ux_kind kind;
	enum ux_candidate_state state;
	const char *reason; /* of FAILED; else "" */
	struct ux_blob_hash blob;
	uint64_t size; /* bytes of the blob */
	enum ux_quality quality;
	enum ux_quality claim;
	struct ux_counts counts;
	uint64_t code_total; /* bytes of code that the module has; 0: not known */
	unsigned holds;      /* UX_HOLDS_* */
	unsigned parser;     /* generation of what measured it */
	bool forced;         /* accepted although a better one was there */
	enum ux_origin origin;
	const char *origin_name; /* of the upstream or the archive; "" for an upload */
	const char *description;
	const char *file_name;
	const char *key_id; /* who uploaded it */
	ux_time created;
};

struct ux_module {
	int64_t number;   /* ascending in order of creation */
	const char **ids; /* canonical text; gnu before go before uuid before file */
	size_t n_ids;
	/* Ready GSYMs first, best first; then the ELF ones, best first; then the others. */
	struct ux_candidate *candidates;
	size_t n_candidates;
	ux_time created;
	ux_time updated;
	ux_time last_used; /* as of the last modules.touch */
	ux_time marked;    /* retention found it idle then; 0: not */
	bool pinned;
};

struct ux_module_list {
	struct ux_module *modules;
	size_t n;
	bool more; /* there are modules after the last one */
};

/* Something that becomes a candidate of the module that any of ids names. */
struct ux_arrival {
	const char *ns;
	const char *const *ids;
	size_t n_ids;
	bool force; /* accept it although a better one is there */
};

enum ux_add {
	UX_ADD_NEW,    /* the candidate is in */
	UX_ADD_SAME,   /* this blob was a candidate already */
	UX_ADD_POORER, /* refused: what is there is better */
};

struct ux_add_result {
	enum ux_add add;
	bool had_any;         /* ready candidates of the kind that were there before... */
	enum ux_quality best; /* ...and the best of them; UX_QUALITY_NONE when there was none */
	int64_t module;
	int64_t candidate; /* 0 when refused */
	enum ux_candidate_state state;
};

/* What came of a pending candidate. */
struct ux_settled {
	enum ux_candidate_state state; /* READY or FAILED */
	const char *reason;            /* of FAILED */
	enum ux_kind kind;             /* of ELF bytes: what they turned out to be */
	enum ux_quality quality;
	struct ux_counts counts;
	uint64_t code_total;
	unsigned holds;
	unsigned parser;
	const char *const
		*ids; /* found in the bytes; become aliases unless another module has them */
	size_t n_ids;
	const struct ux_candidate *derived; /* the GSYM extracted from it; NULL: none */
};

enum ux_search_by {
	UX_SEARCH_FILE, /* file name, or its last component, is text */
	UX_SEARCH_GLOB, /* file name matches: * (also over '/'), ?, [...] */
	UX_SEARCH_ID,   /* an ID begins with text */
};

struct ux_search {
	enum ux_search_by by;
	const char *text;
	int64_t after; /* candidate number; for UX_SEARCH_ID, module number */
	size_t limit;
};

/* One hit: a candidate; with UX_SEARCH_ID a module (candidate 0, kind and holds 0). */
struct ux_hit {
	int64_t module;
	int64_t candidate;
	const char *id; /* first ID of the module, or the one that matched */
	enum ux_kind kind;
	unsigned holds;
	const char *file_name;
	const char *origin_name;
};

struct ux_hits {
	struct ux_hit *hits;
	size_t n;
	bool more;
};

/* A module was used at that time. */
struct ux_touch {
	int64_t module;
	ux_time time;
};

/* A module that may be removed by retention. */
struct ux_idle {
	int64_t module;
	const char *ns;
	const char *id;
	ux_time last_used;
	ux_time marked;
	uint64_t bytes; /* of its candidates */
};

struct ux_idle_list {
	struct ux_idle *modules;
	size_t n;
};

struct ux_pin {
	const char *label; /* for example a release */
	const char *key_id;
	ux_time created;
};

struct ux_pin_list {
	struct ux_pin *pins;
	size_t n;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_modules {
	/* The module that any of its IDs names. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const char *id,
			     struct ux_arena *arena, struct ux_module *ret, struct ux_error *err);
	/* Its number alone, by one indexed query. UX_ENOTFOUND. */
	enum ux_code (*number)(struct ux_index *ix, const char *ns, const char *id, int64_t *ret,
			       struct ux_error *err);
	/* Up to limit modules with a number above after, ascending. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
			     struct ux_arena *arena, struct ux_module_list *ret,
			     struct ux_error *err);
	/* The same backwards: those with a number below before, the newest first. */
	enum ux_code (*newest)(struct ux_index *ix, const char *ns, int64_t before, size_t limit,
			       struct ux_arena *arena, struct ux_module_list *ret,
			       struct ux_error *err);
	/* Ascending by number; ret->more: ask again after the last one's. */
	enum ux_code (*search)(struct ux_index *ix, const char *ns, const struct ux_search *what,
			       struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err);
	/* With all its IDs and candidates. UX_ENOTFOUND. */
	enum ux_code (*remove)(struct ux_index *ix, const char *ns, const char *id,
			       const struct ux_who *who, ux_time now, struct ux_error *err);

	/*
	 * In one transaction: adds the candidate to the module that the IDs name (created if
	 * there is none; new IDs become aliases), unless a ready one of its kind is better and
	 * force is not set. PENDING ones get a job "extract" (index.h). Bytes of a failed
	 * candidate are tried again; bytes of an extracted one become an upload of their own; a
	 * description replaces the earlier one. cand's number is ignored.
	 *
	 * UX_ECONFLICT: the IDs belong to different modules, or would give a module a second
	 * GNU build ID. A cubin-crc: beside another ID names no module, and moves to this one
	 * if another had it. UX_ELIMIT: the namespace's quota, or too many candidates.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_arrival *what,
			    const struct ux_candidate *cand, const struct ux_who *who, ux_time now,
			    struct ux_add_result *ret, struct ux_error *err);
	/*
	 * In one transaction: what was measured; the extracted GSYM unless a better one is there;
	 * the uploads that waited for it are done, or failed. A candidate that turns out poorer
	 * than a ready one of its kind, and was not forced, is removed: UX_ADD_POORER. Doing it
	 * twice changes nothing. UX_ENOTFOUND: the candidate is gone. UX_ECONFLICT: the bytes have
	 * another GNU build ID than the module.
	 */
	enum ux_code (*settle)(struct ux_index *ix, int64_t candidate,
			       const struct ux_settled *what, ux_time now,
			       struct ux_add_result *ret, struct ux_error *err);
	/* With the number, namespace and first ID of its module. UX_ENOTFOUND. */
	enum ux_code (*candidate)(struct ux_index *ix, int64_t number, struct ux_arena *arena,
				  struct ux_candidate *ret, struct ux_idle *ret_of,
				  struct ux_error *err);
	/* One candidate, with what was extracted from it. UX_ENOTFOUND. */
	enum ux_code (*candidate_remove)(struct ux_index *ix, int64_t number,
					 const struct ux_who *who, ux_time now,
					 struct ux_error *err);
	/* Failed ones that an older parser than this saw become pending, with a job; *ret: how
	 * many. */
	enum ux_code (*retry_failed)(struct ux_index *ix, unsigned parser, ux_time now,
				     uint64_t *ret, struct ux_error *err);

	/* Pending ones without a job get one; *ret: how many. For a server's start. */
	enum ux_code (*requeue)(struct ux_index *ix, ux_time now, uint64_t *ret,
				struct ux_error *err);

	/* A batch in one transaction; a later time stays; a mark goes. Numbers that are gone are
	 * passed over. */
	enum ux_code (*touch)(struct ux_index *ix, const struct ux_touch *touches, size_t n,
			      struct ux_error *err);
	/*
	 * UX_ENOTFOUND: no such module, or (unpin) no such label. Pinning twice leaves the
	 * first pin.
	 */
	enum ux_code (*pin)(struct ux_index *ix, const char *ns, const char *id, const char *label,
			    const struct ux_who *who, ux_time now, struct ux_error *err);
	enum ux_code (*unpin)(struct ux_index *ix, const char *ns, const char *id,
			      const char *label, const struct ux_who *who, ux_time now,
			      struct ux_error *err);
	enum ux_code (*pins)(struct ux_index *ix, int64_t module, struct ux_arena *arena,
			     struct ux_pin_list *ret, struct ux_error *err);

	/* Not pinned and not used since `before`, longest first; marked or not. */
	enum ux_code (*idle)(struct ux_index *ix, const char *ns, ux_time before, size_t limit,
			     struct ux_arena *arena, struct ux_idle_list *ret,
			     struct ux_error *err);
	/*
	 * Marks a module as idle since `before`; *ret false when it is used, pinned, marked
	 * already or gone.
	 */
	enum ux_code (*mark)(struct ux_index *ix, int64_t module, ux_time before, ux_time now,
			     bool *ret, struct ux_error *err);
	/* Removes it if it was marked at `marked_before` or earlier and is still idle and not
	 * pinned; false in *ret otherwise. */
	enum ux_code (*sweep)(struct ux_index *ix, int64_t module, ux_time before,
			      ux_time marked_before, ux_time now, bool *ret, struct ux_error *err);
	/*
	 * Candidates that can be extracted or fetched again, of the modules used the longest
	 * ago, until `bytes` are found; one struct ux_idle for each, with the candidate's
	 * number in `module`.
	 */
	enum ux_code (*caches)(struct ux_index *ix, uint64_t bytes, struct ux_arena *arena,
			       struct ux_idle_list *ret, struct ux_error *err);
};

/*
 * Compares two candidates by quality, then bytes of code with a line, bytes covered by
 * functions, functions: above 0 if a is better.
 */
int ux_candidate_cmp(enum ux_quality a, const struct ux_counts *a_counts, enum ux_quality b,
		     const struct ux_counts *b_counts);

/* The best ready candidate of a kind; NULL. */
const struct ux_candidate *ux_module_best(const struct ux_module *m, enum ux_kind kind);

/* The best ready ELF candidate that holds these; NULL. */
const struct ux_candidate *ux_module_elf(const struct ux_module *m, unsigned holds);

/* The first candidate of symbols, not of sources, in a state; NULL. */
const struct ux_candidate *ux_module_in_state(const struct ux_module *m,
					      enum ux_candidate_state state);

/* Quality of what answers addresses; UX_QUALITY_NONE. */
enum ux_quality ux_module_quality(const struct ux_module *m);

/* "gsym", "executable", "debuginfo", "dwo", "dwp", "sources". */
const char *ux_kind_name(enum ux_kind kind);
bool ux_kind_parse(struct ux_bytes text, enum ux_kind *ret) ux_must;

/* "ready", "pending", "failed". */
const char *ux_candidate_state_name(enum ux_candidate_state state);

/* "upload", "upstream", "crawl". */
const char *ux_origin_name(enum ux_origin origin);

/* --- uploads ---------------------------------------------------------------------------------- */

enum ux_upload_state {
	UX_UPLOAD_OPEN,
	UX_UPLOAD_DONE,
	UX_UPLOAD_FAILED,
	UX_UPLOAD_PENDING, /* its bytes are here; a job extracts the candidate */
};

/* Of uploads that are open and were announced after `since`, each 0: any number. */
struct ux_upload_limits {
	uint64_t of_key;
	uint64_t all;
	uint64_t bytes_of_key;
	uint64_t bytes_all;
	ux_time since;
	bool reached; /* an upload was refused for one of them */
};

/* An announced upload. Strings as long-lived as what they were read into. */
struct ux_upload {
	char uid[UX_UPLOAD_UID_SIZE];
	const char *ns;
	const char *key_id;
	const char **ids;
	size_t n_ids;
	uint64_t size;
	struct ux_blob_hash hash;
	enum ux_kind kind;
	enum ux_quality claim;
	const char *description;
	const char *file_name;
	bool force;
	enum ux_upload_state state;
	int64_t candidate;  /* that it became; 0: none */
	const char *status; /* "uploaded", "already-there", "pending", ...; once not open */
	const char *reason;
	ux_time created;
	ux_time updated;
	struct ux_upload_limits *limits; /* heeded by uploads.add; NULL: none */
};

/* Uploads that are open or pending. */
struct ux_upload_counts {
	uint64_t of_key;
	uint64_t of_ns;
	uint64_t all;
	uint64_t bytes_of_ns; /* announced by the open ones */
};

struct ux_upload_list {
	struct ux_upload *uploads;
	size_t n;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_uploads {
	/* UX_ELIMIT: with it the namespace would be over its quota, or it is already.
	 * UX_EUNAVAILABLE with up->limits->reached: too much is on its way; another time is right.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_upload *up, struct ux_error *err);
	/* UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *uid, struct ux_arena *arena,
			     struct ux_upload *ret, struct ux_error *err);
	/* modules.add of the candidate, in one transaction with the end of the upload: done,
	 * pending with a pending candidate, or failed with status "better-there". UX_ECONFLICT also
	 * for one that has ended already. */
	enum ux_code (*finish)(struct ux_index *ix, const struct ux_upload *up,
			       const struct ux_candidate *cand, const struct ux_who *who,
			       ux_time now, struct ux_add_result *ret, struct ux_error *err);
	/*
	 * Fails an open upload for good; status is the code that goes with the reason.
	 * UX_ECONFLICT: it has ended.
	 */
	enum ux_code (*give_up)(struct ux_index *ix, const char *uid, const char *status,
				const char *reason, ux_time now, struct ux_error *err);
	/* Forgets uploads that wait for nothing and whose last change was before `before`; *ret:
	 * how many. */
	enum ux_code (*expire)(struct ux_index *ix, ux_time before, uint64_t *ret,
			       struct ux_error *err);
	/* Up to limit, those first that changed last: with running, the open and pending ones;
	 * else those that have ended and are not forgotten. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, bool running, size_t limit,
			     struct ux_arena *arena, struct ux_upload_list *ret,
			     struct ux_error *err);
	enum ux_code (*counts)(struct ux_index *ix, const char *ns, const char *key_id,
			       struct ux_upload_counts *ret, struct ux_error *err);
};

struct ux_blob_row {
	struct ux_blob_hash hash;
	uint64_t size;
};

struct ux_blob_rows {
	struct ux_blob_row *rows;
	size_t n;
	bool more;
};

/* Rows that were removed with a lost blob. */
struct ux_blob_loss {
	uint64_t candidates; /* that are gone; what was extracted from them stays */
	uint64_t sources;    /* files that are no more known */
	uint64_t fetched;    /* answers of upstreams that are forgotten */
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_blobs {
	/* Does any candidate, source or upstream answer refer to it? */
	enum ux_code (*used)(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
			     struct ux_error *err);
	/* Up to limit of those used, in order of their hashes, after *after (NULL: from the
	 * beginning). */
	enum ux_code (*list)(struct ux_index *ix, const struct ux_blob_hash *after, size_t limit,
			     struct ux_arena *arena, struct ux_blob_rows *ret,
			     struct ux_error *err);
	/* The candidates that have it, of any state and namespace: up to limit. */
	enum ux_code (*users)(struct ux_index *ix, const struct ux_blob_hash *hash, size_t limit,
			      struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err);
	/*
	 * Removes every row that refers to a blob whose bytes are lost or damaged, so that
	 * nothing is answered from it and clients upload it again. The audit records the
	 * reason.
	 */
	enum ux_code (*lose)(struct ux_index *ix, const struct ux_blob_hash *hash,
			     const char *reason, ux_time now, struct ux_blob_loss *ret,
			     struct ux_error *err);
	/* The integrity that the backend can check by itself. UX_EIO with what is wrong. */
	enum ux_code (*verify)(struct ux_index *ix, struct ux_error *err);
};

enum {
	UX_SOURCES_MOST = 1000000 /* of one candidate */
};

/* size bytes at off of a blob, which is the one file or a whole bundle. */
struct ux_source {
	const char *path; /* canonical: ux_path_canonical() */
	struct ux_blob_hash blob;
	uint64_t blob_size;
	uint64_t off;
	uint64_t size;
	const char *bundle; /* file name of the candidate that it came with; of sources.find */
	ux_time created;    /* of the candidate; of sources.find */
};

struct ux_source_list {
	struct ux_source *sources;
	size_t n;
	bool more;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_sources {
	/*
	 * Replaces all files of a candidate; they are removed with it. UX_ENOTFOUND: there is
	 * no such candidate. Called by ux_store_commit_sources() alone.
	 */
	enum ux_code (*put)(struct ux_index *ix, int64_t candidate, const struct ux_source *sources,
			    size_t n, struct ux_error *err);
	/* Of the module that the ID names; of several candidates', the newest's. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const char *id, const char *path,
			     struct ux_arena *arena, struct ux_source *ret, struct ux_error *err);
	/* Up to limit of a module by path, after `after` ("": from the beginning). */
	enum ux_code (*list)(struct ux_index *ix, int64_t module, const char *after, size_t limit,
			     struct ux_arena *arena, struct ux_source_list *ret,
			     struct ux_error *err);
};

enum ux_fetch_outcome {
	UX_FETCH_FOUND,
	UX_FETCH_ABSENT, /* the upstream does not have it */
	UX_FETCH_FAILED, /* no answer, or an unusable one */
};

/* One answer; by (ns, id, artifact, upstream) there is one. */
struct ux_fetched {
	const char *ns;
	const char *upstream; /* its name in the configuration */
	const char *id;
	const char *artifact; /* "debuginfo", "executable", "gsym", "source/PATH", "section/NAME" */
	enum ux_fetch_outcome outcome;
	unsigned status;    /* of HTTP; 0: none came */
	const char *reason; /* for explain */
	ux_time asked;
	ux_time expires; /* from then on it is requested again */
	uint64_t took_ms;
	bool has_blob; /* found, and kept outside of the candidates: a source, a section */
	struct ux_blob_hash blob;
	uint64_t size;
	const char *file_name;
};

struct ux_fetched_list {
	struct ux_fetched *answers;
	size_t n;
};

/*
 * Part of struct ux_index, whose rules hold. Expired answers are returned too: check `expires`.
 */
struct ux_index_fetched {
	/* Replaces an earlier one. Called by ux_store_commit_answer() alone. */
	enum ux_code (*put)(struct ux_index *ix, const struct ux_fetched *answer,
			    struct ux_error *err);
	/* UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const char *id,
			     const char *artifact, const char *upstream, struct ux_arena *arena,
			     struct ux_fetched *ret, struct ux_error *err);
	/* Everything about one ID; artifact NULL: any. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, const char *id,
			     const char *artifact, struct ux_arena *arena,
			     struct ux_fetched_list *ret, struct ux_error *err);
	/* Forgets those that expired before `before`, INT64_MAX: all; upstream, if not NULL, only
	 * its own. *ret: how many. */
	enum ux_code (*expire)(struct ux_index *ix, const char *upstream, ux_time before,
			       uint64_t *ret, struct ux_error *err);
};

/* Kinds of our own; a subject makes a job of a kind the only one. */
#define UX_JOB_EXTRACT "extract" /* candidate: what to extract; made by modules.add */
#define UX_JOB_FETCH   "fetch"
#define UX_JOB_SWEEP   "sweep"

struct ux_job {
	int64_t number;
	const char *kind;
	const char *subject;
	const char *ns;
	int64_t candidate;   /* 0: none; the job goes with it */
	const char *payload; /* JSON or "" */
	unsigned attempts;   /* counting the one that took it */
	bool failed;         /* for good: it is never leased again */
	ux_time next;        /* not before */
	ux_time lease_until; /* 0: not leased */
	const char *reason;  /* of the last failure */
	ux_time created;
};

struct ux_job_list {
	struct ux_job *jobs;
	size_t n;
};

struct ux_job_counts {
	uint64_t waiting;
	uint64_t running;
	uint64_t failed;
	ux_time oldest; /* created, of the waiting; 0: none */
};

/*
 * Part of struct ux_index, whose rules hold. A lease expires by itself, so long work renews it.
 * done, retry, give_up and renew return UX_ECONFLICT after the lease was lost.
 */
struct ux_index_jobs {
	/* Of spec, kind, subject, ns, candidate, payload and next count. One of that kind and
	 * subject that is there stays, comes at the earlier of the two times, and has its failure
	 * forgiven. *ret: its number. */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_job *spec, ux_time now,
			    int64_t *ret, struct ux_error *err);
	/* The job of the kind that has been due for longest, for lease_s. UX_ENOTFOUND: none is
	 * due. */
	enum ux_code (*take)(struct ux_index *ix, const char *kind, const char *owner, ux_time now,
			     int64_t lease_s, struct ux_arena *arena, struct ux_job *ret,
			     struct ux_error *err);
	enum ux_code (*renew)(struct ux_index *ix, int64_t number, const char *owner, ux_time now,
			      int64_t lease_s, struct ux_error *err);
	/* Forgets it. */
	enum ux_code (*done)(struct ux_index *ix, int64_t number, const char *owner,
			     struct ux_error *err);
	/* Again from `next` on. */
	enum ux_code (*retry)(struct ux_index *ix, int64_t number, const char *owner, ux_time next,
			      const char *reason, struct ux_error *err);
	enum ux_code (*give_up)(struct ux_index *ix, int64_t number, const char *owner,
				const char *reason, struct ux_error *err);
	/* Releases all leases of an owner that has ended: a server's start. */
	enum ux_code (*release)(struct ux_index *ix, const char *owner, struct ux_error *err);
	/* Up to limit, oldest first; kind NULL: any. */
	enum ux_code (*list)(struct ux_index *ix, const char *kind, size_t limit,
			     struct ux_arena *arena, struct ux_job_list *ret, struct ux_error *err);
	enum ux_code (*counts)(struct ux_index *ix, const char *kind, ux_time now,
			       struct ux_job_counts *ret, struct ux_error *err);
	/* When the next one of the kind is due, or its lease ends; INT64_MAX: none. */
	enum ux_code (*next_due)(struct ux_index *ix, const char *kind, ux_time *ret,
				 struct ux_error *err);
};

/* Who may read and symbolize without a key. */
enum ux_ns_reading {
	UX_NS_AS_SERVED, /* the default namespace: as the server is configured; others: no one */
	UX_NS_OPEN,
	UX_NS_KEYED,
};

struct ux_namespace {
	const char *name;
	enum ux_ns_reading reading;
	uint64_t quota_bytes;   /* of originals; 0: none */
	uint64_t quota_modules; /* 0: none */
	int64_t retention_s;    /* modules not used for this long are removed; 0: never, -1: the
				   server's setting */
	const char *upstreams;  /* names, separated by spaces, in order; "*": all; "": none */
	const char *description;
	ux_time created;
	ux_time updated;
};

struct ux_namespace_list {
	struct ux_namespace *items;
	size_t n;
};

/* Kept current by triggers: reading it is one row. */
struct ux_usage {
	uint64_t modules;
	uint64_t bytes;       /* of originals */
	uint64_t cache_bytes; /* of what can be had again: extracted, or from upstreams */
};

/* By how much the numbers that are kept up are above those that are counted anew. */
struct ux_usage_error {
	const char *ns;
	int64_t modules;
	int64_t bytes;
	int64_t cache_bytes;
};

struct ux_usage_errors {
	struct ux_usage_error *items;
	size_t n;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_namespaces {
	/* UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *name, struct ux_arena *arena,
			     struct ux_namespace *ret, struct ux_error *err);
	enum ux_code (*list)(struct ux_index *ix, struct ux_arena *arena,
			     struct ux_namespace_list *ret, struct ux_error *err);
	/* Creates or changes it; `created` stays. UX_EINVAL: ux_namespace_valid() is false. */
	enum ux_code (*put)(struct ux_index *ix, const struct ux_namespace *ns,
			    const struct ux_who *who, ux_time now, struct ux_error *err);
	/* UX_ENOTFOUND. UX_ECONFLICT: it has modules, or keys that are valid; or is the default. */
	enum ux_code (*remove)(struct ux_index *ix, const char *name, const struct ux_who *who,
			       ux_time now, struct ux_error *err);
	/* ns NULL: of all together. */
	enum ux_code (*usage)(struct ux_index *ix, const char *ns, struct ux_usage *ret,
			      struct ux_error *err);
	/* Counts everything again and returns where usage is wrong; repair: corrects it. */
	enum ux_code (*recount)(struct ux_index *ix, bool repair, struct ux_arena *arena,
				struct ux_usage_errors *ret, struct ux_error *err);
};

/* 1 to 63 of a-z, 0-9, '-', '_', '.', a letter or digit first. */
bool ux_namespace_valid(const char *name) ux_must;

enum {
	UX_KEY_ID_SIZE = 13 /* 12 hex digits and a NUL */
};

/* One secret of a key. A key has several while it is rotated. */
struct ux_token_row {
	char id[UX_KEY_ID_SIZE];  /* beginning of the hash, in hex; the first one's is its key's */
	struct ux_blob_hash hash; /* SHA-256 of the token */
	ux_time created;
	ux_time expires; /* 0: as the key */
};

struct ux_key {
	char id[UX_KEY_ID_SIZE];
	const char *ns;
	unsigned scopes; /* enum ux_scope */
	const char *description;
	ux_time created;
	ux_time expires;   /* 0: never */
	ux_time revoked;   /* 0: not */
	ux_time last_used; /* as of the last keys.touch */
	uint64_t rate;     /* requests a second; 0: the server's setting */
	uint64_t uploads;  /* open at a time; 0: the server's setting */
	unsigned tokens;   /* that it has; of keys.list and keys.get */
};

struct ux_key_list {
	struct ux_key *keys;
	size_t n;
};

struct ux_key_touch {
	char id[UX_KEY_ID_SIZE];
	ux_time time;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_keys {
	/*
	 * With its first token; creates the namespace if there is none. UX_ECONFLICT: the ID
	 * exists.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_key *key,
			    const struct ux_token_row *token, const struct ux_who *who,
			    struct ux_error *err);
	/* The key of a token's ID. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *token_id, struct ux_arena *arena,
			     struct ux_key *ret, struct ux_token_row *ret_token,
			     struct ux_error *err);
	/* By its own ID. UX_ENOTFOUND. */
	enum ux_code (*get)(struct ux_index *ix, const char *id, struct ux_arena *arena,
			    struct ux_key *ret, struct ux_error *err);
	/* In order of creation, revoked ones too. */
	enum ux_code (*list)(struct ux_index *ix, struct ux_arena *arena, struct ux_key_list *ret,
			     struct ux_error *err);
	/* UX_ENOTFOUND; revoking twice leaves the first time. */
	enum ux_code (*revoke)(struct ux_index *ix, const char *id, const struct ux_who *who,
			       ux_time now, struct ux_error *err);
	/* Adds a token; those that were there end at old_until at the latest. UX_ENOTFOUND.
	 * UX_ECONFLICT: revoked. */
	enum ux_code (*rotate)(struct ux_index *ix, const char *id,
			       const struct ux_token_row *token, ux_time old_until,
			       const struct ux_who *who, ux_time now, struct ux_error *err);
	/* A batch in one transaction. */
	enum ux_code (*touch)(struct ux_index *ix, const struct ux_key_touch *touches, size_t n,
			      struct ux_error *err);
};

/* One change, written in the transaction that made it. */
struct ux_audit {
	int64_t number; /* ascending */
	ux_time time;
	const char *key_id;
	const char *from;
	const char *ns;
	const char *what;    /* "upload", "module-delete", "key-create", "pin", ... */
	const char *subject; /* ID of a module, a key, a namespace */
	const char *detail;
	int64_t module; /* that changed; 0: none */
};

struct ux_audit_list {
	struct ux_audit *lines;
	size_t n;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_audit {
	/* For what changes outside of the index. */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_audit *line, struct ux_error *err);
	/* Up to limit with a number above after, ascending; ns NULL: of all. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
			     struct ux_arena *arena, struct ux_audit_list *ret,
			     struct ux_error *err);
	/* The last `limit` of a module, newest first, also of one that is gone. */
	enum ux_code (*history)(struct ux_index *ix, int64_t module, size_t limit,
				struct ux_arena *arena, struct ux_audit_list *ret,
				struct ux_error *err);
	enum ux_code (*expire)(struct ux_index *ix, ux_time before, uint64_t *ret,
			       struct ux_error *err);
};

/*
 * A backend: embedded first in the backend's own struct. Any thread. Results go into the
 * caller's arena. A write that returned UX_OK survives a crash of the machine. IDs are
 * canonical text and are not parsed here. Each ret is set on UX_OK alone, unless said
 * otherwise.
 */
struct ux_index {
	unsigned version; /* UX_INDEX_VERSION */
	struct ux_index_modules modules;
	struct ux_index_uploads uploads;
	struct ux_index_blobs blobs;
	struct ux_index_sources sources;
	struct ux_index_fetched fetched;
	struct ux_index_jobs jobs;
	struct ux_index_namespaces namespaces;
	struct ux_index_keys keys;
	struct ux_index_audit audit;

	/* A number stored under a name; 0 if there is none. */
	enum ux_code (*number_get)(struct ux_index *ix, const char *name, int64_t *ret,
				   struct ux_error *err);
	enum ux_code (*number_put)(struct ux_index *ix, const char *name, int64_t value,
				   struct ux_error *err);
	void (*close)(struct ux_index *ix);
};

/* SQLite in one file, write-ahead log, synchronous = FULL. Made, and its schema brought up to date,
 * when needed. UX_EUNSUPPORTED: the file is of a newer unhex. */
enum ux_code ux_index_sqlite_open(struct ux_index **ret, const char *path, struct ux_error *err)
	ux_must;

/*
 * Declares that no other process adds modules to the index until it is closed: a filter of its
 * IDs then answers for unknown IDs without a query. Call it before other threads use the index.
 * Without memory for the filter nothing changes.
 */
void ux_index_own(struct ux_index *ix);

enum {
	UX_TIME_TEXT = 32 /* bytes of a time's text, with the NUL */
};

/* "2026-08-21T10:00:00Z" (RFC 3339), "unknown" for a time that no calendar has; returns text. */
const char *ux_time_text(ux_time t, char text[UX_TIME_TEXT]);

#endif
