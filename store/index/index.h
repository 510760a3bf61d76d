/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index: the interface that every backend implements, with one struct of functions for each
 * noun.
 */
#ifndef UX_INDEX_H
#define UX_INDEX_H

#include "arena.h"
#include "blobs.h"
#include "bytes.h"
#include "error.h"
#include "index_access.h"
#include "index_jobs.h"
#include "index_nodes.h"
#include "index_packages.h"
#include "index_profiles.h"
#include "provenance.h"
#include "stage_times.h"
#include "unhex/quality.h"

/* --- modules, their IDs and candidates -------------------------------------------------------- */

enum {
	UX_INDEX_VERSION = 6,
	UX_INDEX_IDS_MAX = 16,      /* IDs of one upload */
	UX_INDEX_ID_BYTES = 256,    /* text of one ID */
	UX_INDEX_TEXT_BYTES = 1024, /* description, file name, reason */
	UX_INDEX_NS_BYTES = 64,     /* name of a namespace */
	UX_INDEX_CANDIDATES_MAX =
		/* candidates of one module: a program has as many .dwo files as compilation
		 * units */
		4096,
};

#define UX_NAMESPACE_DEFAULT "default"

/* The content of a candidate. Only a GSYM can resolve addresses. */
enum ux_kind {
	UX_KIND_GSYM,
	UX_KIND_EXECUTABLE, /* ELF with code, with or without debug information */
	UX_KIND_DEBUGINFO,  /* ELF without code: a .debug file */
	UX_KIND_DWO,
	UX_KIND_DWP,
	UX_KIND_SOURCES, /* a bundle of source files; see ux_index_sources */
	UX_KIND_COUNT
};

/*
 * Tests for a part of a split build (.dwo, .dwp), which can only be used with the file that refers
 * to it.
 */
static inline bool ux_kind_is_split(enum ux_kind kind)
{
	return kind == UX_KIND_DWO || kind == UX_KIND_DWP;
}

/* The ways in which an ELF candidate can be served. Known after it was measured. */
enum {
	UX_HOLDS_CODE = 1 << 0,    /* it can be served as debuginfod's executable */
	UX_HOLDS_DEBUG = 1 << 1,   /* as debuginfod's debuginfo: it has .debug_info or .symtab */
	UX_HOLDS_SECTIONS = 1 << 2 /* it has section headers */
};

enum ux_candidate_state {
	UX_CANDIDATE_READY,
	UX_CANDIDATE_PENDING, /* a job extracts it */
	UX_CANDIDATE_FAILED,  /* could not be read; kept so that a newer parser can try again */
};

enum ux_origin {
	UX_ORIGIN_UPLOAD,
	UX_ORIGIN_UPSTREAM,
	UX_ORIGIN_CRAWL, /* reserved by the schema for the crawler; not used yet */
};

/*
 * One source of symbols for a module. quality, counts, code_total and holds were measured by the
 * server; claim is the quality that the client announced.
 */
struct ux_candidate {
	int64_t number;
	int64_t parent; /* the candidate from which this GSYM was extracted; 0: none */
	enum ux_kind kind;
	enum ux_candidate_state state;
	const char *reason; /* reason of a failure; otherwise "" */
	struct ux_blob_hash blob;
	uint64_t size; /* bytes of the blob */
	enum ux_quality quality;
	enum ux_quality claim;
	struct ux_counts counts;
	uint64_t code_total; /* bytes of code in the module; 0: unknown */
	unsigned holds;      /* UX_HOLDS_* */
	unsigned parser;     /* version of the parser that measured it (UX_EXTRACTOR_PARSER) */
	bool forced;         /* accepted although a better candidate existed */
	enum ux_origin origin;
	const char *origin_name; /* name of the upstream or the archive; "" for an upload */
	const char *description;
	struct ux_provenance provenance;
	const char *file_name;
	const char *key_id; /* key of the uploader */
	ux_time created;
	enum ux_trust trust;
	const char *file_id;    /* File ID of the loaded file; "" or NULL: not announced */
	const char *apart_from; /* build ID that it is kept apart from; "" or NULL: none */
	bool damaged; /* its row does not fit its sum: failed, and all else may be wrong */
};

struct ux_module {
	int64_t number;   /* ascending in order of creation */
	const char **ids; /* canonical text, ordered gnu, go, uuid, file */
	size_t n_ids;
	/*
	 * Ready GSYMs first, from best to worst; then the ELF files, likewise; then the others. A
	 * more trusted one is better, whatever its quality.
	 */
	struct ux_candidate *candidates;
	size_t n_candidates;
	ux_time created;
	ux_time updated;
	ux_time last_used; /* as of the last modules.touch */
	ux_time marked;    /* time at which retention found it idle; 0: not marked */
	bool pinned;
};

struct ux_module_list {
	struct ux_module *modules;
	size_t n;
	bool more; /* there are more modules after the last one */
};

/* A new candidate of the module that any of the IDs names. */
struct ux_arrival {
	const char *ns;
	const char *const *ids;
	size_t n_ids;
	bool force; /* accept the candidate although a better one exists */
};

enum ux_add {
	UX_ADD_NEW,    /* the candidate was added */
	UX_ADD_SAME,   /* the module already has a candidate with this blob */
	UX_ADD_POORER, /* refused: the module has a better candidate */
};

struct ux_add_result {
	enum ux_add add;
	bool had_any; /* the module had ready candidates of the same kind... */
	/* ...and this was the quality of the best one; UX_QUALITY_NONE: had none */
	enum ux_quality best;
	enum ux_trust best_trust;
	bool apart; /* kept apart from another file with its build ID */
	int64_t module;
	int64_t candidate; /* 0 when refused */
	enum ux_candidate_state state;
	uint64_t queued; /* other candidates that will be extracted again with this file */
};

/*
 * How the debug information of a candidate was extracted if it refers to a supplementary file of
 * dwz.
 */
enum ux_supplementary_state {
	UX_SUPPLEMENTARY_NONE,     /* it refers to none */
	UX_SUPPLEMENTARY_USED,     /* with the file */
	UX_SUPPLEMENTARY_ABSENT,   /* without it, because the namespace does not have it */
	UX_SUPPLEMENTARY_UNUSABLE, /* without it, because it cannot be read */
};

struct ux_supplementary {
	const char *id; /* canonical ID of the file; "" for UX_SUPPLEMENTARY_NONE */
	enum ux_supplementary_state state;
};

/* Result of processing a pending candidate. */
struct ux_settled {
	enum ux_candidate_state state; /* READY or FAILED */
	const char *reason;            /* for FAILED */
	enum ux_kind kind;             /* for ELF files: the kind that was detected */
	enum ux_quality quality;
	struct ux_counts counts;
	uint64_t code_total;
	unsigned holds;
	unsigned parser;
	const char *const
		/* found in the file; they become aliases unless they belong to another module */
		*ids;
	size_t n_ids;
	const char *supplementary; /* ID of the supplementary file; NULL for NONE */
	enum ux_supplementary_state supplementary_state;
	const struct ux_candidate *derived; /* the GSYM that was extracted from it; NULL: none */
	int64_t job; /* the job that ends with this result, if job_owner has its lease; 0: none */
	const char *job_owner;
};

enum ux_search_by {
	UX_SEARCH_FILE, /* the file name, or its last component, equals text */
	UX_SEARCH_GLOB, /* the file name matches the pattern: * (also matches '/'), ?, [...] */
	UX_SEARCH_ID,   /* an ID begins with text */
};

struct ux_search {
	enum ux_search_by by;
	const char *text;
	int64_t after; /* candidate number; for UX_SEARCH_ID, module number */
	size_t limit;
};

/* One search hit: a candidate, or for UX_SEARCH_ID a module (candidate, kind and holds are 0). */
struct ux_hit {
	int64_t module;
	int64_t candidate;
	const char *id; /* the module's first ID, or the one that matched */
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

/*
 * A search for modules by the names of their files and by other facts. Zeroed, with a limit: all
 * modules of the namespace.
 */
struct ux_module_search {
	/*
	 * pattern of glob.h, in lower case: a name of a file, in lower case, must match it; NULL:
	 * any name. Only ASCII letters are compared without case.
	 */
	const char *pattern;
	/* another pattern that the same name must match; only together with `pattern` */
	const char *also;
	const char *base; /* the last component of a file's name equals it; NULL: any name */
	/* instead of names: start of a candidate's git revision; NULL: any revision */
	const char *revision;
	const char *ci_run;  /* instead of names: the run that a candidate comes from; NULL: any */
	const char *package; /* instead of names: the package that a candidate is from; NULL: any */
	/* instead of names: the build ID that a candidate is kept apart from; NULL: any */
	const char *apart;
	bool gsym; /* only modules with a ready GSYM */
	/* minimum quality of the best ready GSYM; UX_QUALITY_NONE: none required */
	enum ux_quality min;
	ux_time since;  /* only modules created at this time or later */
	int64_t before; /* only modules with lower numbers; 0: all */
	size_t limit;
};

/* Facts about the module that an ID names, without reading its rows. */
struct ux_known {
	int64_t module; /* 0: no module has the ID; the rest is 0 then */
	ux_time marked; /* 0: retention has not marked it */
	/* the module has a ready GSYM, or a pending candidate of a kind other than sources */
	bool any;
	enum ux_trust trust;     /* the highest level of these */
	enum ux_quality quality; /* the best of that level; for a pending one the claimed quality */
};

/* A module was used at this time. */
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
	uint64_t bytes; /* size of its candidates */
};

struct ux_idle_list {
	struct ux_idle *modules;
	size_t n;
};

struct ux_pin {
	const char *label; /* for example the name of a release */
	const char *key_id;
	ux_time created;
};

struct ux_pin_list {
	struct ux_pin *pins;
	size_t n;
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_modules {
	/* Finds the module that has the ID. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const char *id,
			     struct ux_arena *arena, struct ux_module *ret, struct ux_error *err);
	/*
	 * Finds the module for an answer to a client: from a replica, if there is one, which may
	 * lag by changes that poll() has not returned yet.
	 */
	enum ux_code (*look_up)(struct ux_index *ix, const char *ns, const char *id,
				struct ux_arena *arena, struct ux_module *ret,
				struct ux_error *err);
	/* Finds only the number of that module, by one indexed query. UX_ENOTFOUND. */
	enum ux_code (*number)(struct ux_index *ix, const char *ns, const char *id, int64_t *ret,
			       struct ux_error *err);
	/*
	 * Looks up many IDs with few statements; ret[i] belongs to ids[i]. With more than ten
	 * thousand IDs, the result is not one snapshot.
	 */
	enum ux_code (*known)(struct ux_index *ix, const char *ns, const char *const *ids, size_t n,
			      struct ux_known *ret, struct ux_error *err);
	/* Lists up to limit modules whose numbers are above after, ascending. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
			     struct ux_arena *arena, struct ux_module_list *ret,
			     struct ux_error *err);
	/* Lists up to limit modules whose numbers are below before, newest first. */
	enum ux_code (*newest)(struct ux_index *ix, const char *ns, int64_t before, size_t limit,
			       struct ux_arena *arena, struct ux_module_list *ret,
			       struct ux_error *err);
	/* Lists the modules of these numbers, in their order, without modules that do not exist. */
	enum ux_code (*numbered)(struct ux_index *ix, const char *ns, const int64_t *numbers,
				 size_t n, struct ux_arena *arena, struct ux_module_list *ret,
				 struct ux_error *err);
	/*
	 * Returns hits in ascending order of their numbers. If ret->more is set, repeat the search
	 * after the last number.
	 */
	enum ux_code (*search)(struct ux_index *ix, const char *ns, const struct ux_search *what,
			       struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err);
	/*
	 * Lists up to what->limit modules, newest first. *ret_total: how many match, whatever their
	 * numbers; 0 if the list is empty. It may read every name of the namespace. With ret_total
	 * NULL nothing is counted, and without names only as many modules are read as are needed.
	 * UX_EINVAL: the pattern is not valid. UX_EUNAVAILABLE: it takes too long.
	 */
	enum ux_code (*search_newest)(struct ux_index *ix, const char *ns,
				      const struct ux_module_search *what, struct ux_arena *arena,
				      struct ux_module_list *ret, uint64_t *ret_total,
				      struct ux_error *err);
	/* Removes the module with all its IDs and candidates. UX_ENOTFOUND. */
	enum ux_code (*remove)(struct ux_index *ix, const char *ns, const char *id,
			       const struct ux_who *who, ux_time now, struct ux_error *err);

	/*
	 * In one transaction: adds the candidate to the module that the IDs name, unless a ready
	 * candidate of its kind is better and force is not set. The module is created if it does
	 * not exist, and new IDs become aliases. A PENDING candidate gets an "extract" job. If the
	 * same bytes failed before, they are tried again; if they were extracted from an upload,
	 * they become an upload of their own; the new description and provenance replace the
	 * earlier ones. The number in cand is ignored.
	 *
	 * UX_ECONFLICT: the IDs belong to different modules, or the module would get a second GNU
	 * build ID. An ID of type cubin-crc beside other IDs does not identify the module, and is
	 * moved to this module if another one had it. UX_ELIMIT: the namespace's quota is exceeded,
	 * or there are too many candidates.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_arrival *what,
			    const struct ux_candidate *cand, const struct ux_who *who, ux_time now,
			    struct ux_add_result *ret, struct ux_error *err);
	/*
	 * In one transaction: records the measurements, adds the extracted GSYM unless a better one
	 * exists, and ends the job and the uploads that waited for it. A candidate that turns out
	 * poorer than a ready one of its kind, and was not forced, is removed: UX_ADD_POORER. A
	 * GSYM that was extracted again replaces the earlier one, unless it is poorer. Candidates
	 * that refer to this file as their supplementary file, and were extracted without it, get a
	 * job each (modules.add does so too). Repeating the call changes nothing. Survives a crash
	 * of the process, but a power cut only after `sync`. UX_ENOTFOUND: the candidate has been
	 * removed. UX_ECONFLICT: the file has another GNU build ID than the module.
	 */
	enum ux_code (*settle)(struct ux_index *ix, int64_t candidate,
			       const struct ux_settled *what, ux_time now,
			       struct ux_add_result *ret, struct ux_error *err);
	/*
	 * Reads a candidate, with the number, namespace and first ID of its module. UX_ENOTFOUND.
	 */
	enum ux_code (*candidate)(struct ux_index *ix, int64_t number, struct ux_arena *arena,
				  struct ux_candidate *ret, struct ux_idle *ret_of,
				  struct ux_error *err);
	/* Reads which supplementary file a candidate refers to, and whether it was used. */
	enum ux_code (*supplementary)(struct ux_index *ix, int64_t candidate,
				      struct ux_arena *arena, struct ux_supplementary *ret,
				      struct ux_error *err);
	/* Removes one candidate and the GSYM extracted from it. UX_ENOTFOUND. */
	enum ux_code (*candidate_remove)(struct ux_index *ix, int64_t number,
					 const struct ux_who *who, ux_time now,
					 struct ux_error *err);
	/*
	 * Makes failed candidates that were measured by an older parser pending, with a job each.
	 * *ret: how many.
	 */
	enum ux_code (*retry_failed)(struct ux_index *ix, unsigned parser, ux_time now,
				     uint64_t *ret, struct ux_error *err);

	/*
	 * Gives each pending candidate without a job a new job; *ret: how many. Called when a
	 * server starts.
	 */
	enum ux_code (*requeue)(struct ux_index *ix, ux_time now, uint64_t *ret,
				struct ux_error *err);

	/*
	 * Records a batch of uses in one transaction. Keeps a later recorded time; removes the idle
	 * mark. Skips modules that no longer exist, and unmarked modules whose recorded use was
	 * less than step_s seconds earlier.
	 */
	enum ux_code (*touch)(struct ux_index *ix, const struct ux_touch *touches, size_t n,
			      int64_t step_s, struct ux_error *err);
	/*
	 * UX_ENOTFOUND: no such module, or (unpin) no such label. Pinning twice keeps the first
	 * pin.
	 */
	enum ux_code (*pin)(struct ux_index *ix, const char *ns, const char *id, const char *label,
			    const struct ux_who *who, ux_time now, struct ux_error *err);
	enum ux_code (*unpin)(struct ux_index *ix, const char *ns, const char *id,
			      const char *label, const struct ux_who *who, ux_time now,
			      struct ux_error *err);
	enum ux_code (*pins)(struct ux_index *ix, int64_t module, struct ux_arena *arena,
			     struct ux_pin_list *ret, struct ux_error *err);

	/*
	 * Lists modules that are not pinned and were not used since `before`, idle longest first,
	 * marked or not. A supplementary file is not listed while candidates refer to it.
	 */
	enum ux_code (*idle)(struct ux_index *ix, const char *ns, ux_time before, size_t limit,
			     struct ux_arena *arena, struct ux_idle_list *ret,
			     struct ux_error *err);
	/*
	 * Marks a module as idle since `before`. *ret is false if it has been used, pinned, marked
	 * or removed since.
	 */
	enum ux_code (*mark)(struct ux_index *ix, int64_t module, ux_time before, ux_time now,
			     bool *ret, struct ux_error *err);
	/*
	 * Removes the module if it was marked at `marked_before` or earlier, is still idle and is
	 * not pinned. Otherwise *ret is false.
	 */
	enum ux_code (*sweep)(struct ux_index *ix, int64_t module, ux_time before,
			      ux_time marked_before, ux_time now, bool *ret, struct ux_error *err);
	/*
	 * Lists candidates that can be extracted or fetched again, from the least recently used
	 * modules, until their sizes add up to `bytes`. Each is one struct ux_idle with the
	 * candidate's number in `module`.
	 */
	enum ux_code (*caches)(struct ux_index *ix, uint64_t bytes, struct ux_arena *arena,
			       struct ux_idle_list *ret, struct ux_error *err);
};

/*
 * Compares two candidates by trust, then by quality, bytes of code with a line, bytes covered by
 * functions, and number of functions. The result is above 0 if a is better.
 */
int ux_candidate_cmp(const struct ux_candidate *a, const struct ux_candidate *b);

/* Returns the best ready candidate of a kind; NULL: none. */
const struct ux_candidate *ux_module_best(const struct ux_module *m, enum ux_kind kind);

/*
 * Checks that the IDs contain no second GNU build ID for the module, and no Go build ID of another
 * program. A linked file has one of each; so a second one means that two files were mixed up, or
 * that two Go programs were linked with the same -B. UX_ECONFLICT.
 */
enum ux_code ux_ids_agree(const struct ux_module *m, const char *const *ids, size_t n,
			  struct ux_error *err) ux_must;

/* Returns the best ready ELF candidate that has all these UX_HOLDS_* bits; NULL: none. */
const struct ux_candidate *ux_module_elf(const struct ux_module *m, unsigned holds);

/* Returns the first candidate in a state that has symbols, not sources; NULL: none. */
const struct ux_candidate *ux_module_in_state(const struct ux_module *m,
					      enum ux_candidate_state state);

/*
 * UX_EIO: the row of a candidate is damaged, and may have been the file that the module seems to
 * lack. Call it before an answer that something is missing.
 */
enum ux_code ux_module_check_rows(const struct ux_module *m, struct ux_error *err) ux_must;

/* Returns the quality of the GSYM that resolves addresses; UX_QUALITY_NONE: no GSYM. */
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
	UX_UPLOAD_PENDING, /* all bytes were received; a job extracts the candidate */
};

/* Limits on open uploads that were announced after `since`. A limit of 0 means no limit. */
struct ux_upload_limits {
	uint64_t of_key;
	uint64_t all;
	uint64_t bytes_of_key;
	uint64_t bytes_all;
	ux_time since;
	bool reached; /* set when an upload was refused because of one of these limits */
};

/* An announced upload. Its strings live as long as the arena that it was read into. */
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
	struct ux_provenance provenance;
	enum ux_trust trust;
	const char *file_name;
	bool force;
	enum ux_upload_state state;
	int64_t candidate; /* the candidate that the upload became; 0: none */
	/* after it ended: "uploaded", "already-there", "pending", ... */
	const char *status;
	const char *reason;
	ux_time created;
	ux_time updated;
	struct ux_upload_limits *limits; /* checked by uploads.add; NULL: none */
};

/* Numbers of open or pending uploads. */
struct ux_upload_counts {
	uint64_t of_key;
	uint64_t of_ns;
	uint64_t all;
	uint64_t bytes_of_ns; /* announced sizes of the open ones */
};

struct ux_upload_list {
	struct ux_upload *uploads;
	size_t n;
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_uploads {
	/*
	 * Adds an upload. It survives a crash of the process, but a power cut only after `sync`:
	 * otherwise the client announces the upload again. UX_ELIMIT: the upload would exceed the
	 * namespace's quota, or the quota is already exceeded. UX_EUNAVAILABLE with
	 * up->limits->reached: too many uploads are open; retry later.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_upload *up, struct ux_error *err);
	/* UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *uid, struct ux_arena *arena,
			     struct ux_upload *ret, struct ux_error *err);
	/*
	 * Finds the newest open upload of the same key and namespace that was announced with the
	 * same IDs, bytes, kind, force and texts, so that a later run of a client resumes it.
	 * UX_ENOTFOUND.
	 */
	enum ux_code (*find_same)(struct ux_index *ix, const struct ux_upload *up,
				  struct ux_arena *arena, struct ux_upload *ret,
				  struct ux_error *err);
	/*
	 * Adds the candidate (see modules.add) and ends the upload in one transaction: as done, as
	 * pending with a pending candidate, or as failed with status "better-there". UX_ECONFLICT:
	 * as for modules.add, and if the upload has already ended.
	 */
	enum ux_code (*finish)(struct ux_index *ix, const struct ux_upload *up,
			       const struct ux_candidate *cand, const struct ux_who *who,
			       ux_time now, struct ux_add_result *ret, struct ux_error *err);
	/*
	 * Ends an open upload as failed; status is the code of the reason. UX_ECONFLICT: it has
	 * already ended.
	 */
	enum ux_code (*give_up)(struct ux_index *ix, const char *uid, const char *status,
				const char *reason, ux_time now, struct ux_error *err);
	/* Deletes ended uploads whose last change was before `before`; *ret: how many. */
	enum ux_code (*expire)(struct ux_index *ix, ux_time before, uint64_t *ret,
			       struct ux_error *err);
	/*
	 * Lists up to limit uploads, most recently changed first. With running, the open and
	 * pending ones; otherwise the ended ones that were not deleted yet.
	 */
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

/* Numbers of rows that changed because their blob was lost. GSYMs extracted from it are kept. */
struct ux_blob_loss {
	uint64_t candidates; /* candidates that were removed, or failed */
	uint64_t sources;    /* source files that are no longer available */
	uint64_t fetched;    /* removed answers of upstreams */
	uint64_t profiles;   /* removed profiles */
};

/*
 * Tests again whether the bytes of a blob are lost, while no row of it can be added. Any code but
 * UX_OK: not known.
 */
typedef enum ux_code ux_blob_lost_fn(void *ctx, const struct ux_blob_hash *hash, bool *ret,
				     struct ux_error *err);

/* Part of struct ux_index; see there for general rules. */
struct ux_index_blobs {
	/* Tests whether any candidate, source, upstream answer or profile refers to the blob. */
	enum ux_code (*used)(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
			     struct ux_error *err);
	/*
	 * Lists up to limit referenced blobs in order of their hashes, after *after (NULL: from the
	 * beginning).
	 */
	enum ux_code (*list)(struct ux_index *ix, const struct ux_blob_hash *after, size_t limit,
			     struct ux_arena *arena, struct ux_blob_rows *ret,
			     struct ux_error *err);
	/*
	 * Lists up to limit blobs that have lost their last row, and whose files have not been
	 * removed since, in that order. Their sizes are 0. upto: last number of the list to
	 * include, see garbage_last.
	 */
	enum ux_code (*garbage)(struct ux_index *ix, int64_t upto, size_t limit,
				struct ux_arena *arena, struct ux_blob_rows *ret,
				struct ux_error *err);
	/* Gets the number of the blob that was last added to that list; 0: it is empty. */
	enum ux_code (*garbage_last)(struct ux_index *ix, int64_t *ret, struct ux_error *err);
	/*
	 * Claims the removal of a blob's file, if several servers share the index: until removed()
	 * no row can name the blob, and commits of such a row fail with UX_EUNAVAILABLE. The claim
	 * of a server that ended is taken over after some minutes. *ret is false if a row names the
	 * blob, or another server is removing it.
	 */
	enum ux_code (*remove_begin)(struct ux_index *ix, const struct ux_blob_hash *hash,
				     ux_time now, bool *ret, struct ux_error *err);
	/* Ends the claim of `now`, after the file was removed. */
	enum ux_code (*removed)(struct ux_index *ix, const struct ux_blob_hash *hash, ux_time now,
				struct ux_error *err);
	/* Removes blobs from that list, except those with a claimed removal. */
	enum ux_code (*collected)(struct ux_index *ix, const struct ux_blob_row *rows, size_t n,
				  struct ux_error *err);
	/* Lists up to limit candidates that have the blob, in any state and namespace. */
	enum ux_code (*users)(struct ux_index *ix, const struct ux_blob_hash *hash, size_t limit,
			      struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err);
	/*
	 * Removes every row that refers to a blob whose bytes are lost or damaged, so that no
	 * answer uses it and clients upload it again. The audit log records the reason.
	 */
	enum ux_code (*lose)(struct ux_index *ix, const struct ux_blob_hash *hash,
			     const char *reason, ux_time now, struct ux_blob_loss *ret,
			     struct ux_error *err);
	/*
	 * Tests whether a row needs the bytes of the blob, other than a candidate that has failed.
	 */
	enum ux_code (*expected)(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
				 struct ux_error *err);
	/*
	 * Notes that the bytes of a blob are lost, if lost() still finds so: its candidates fail
	 * for this reason, so that queries want their modules, and the same bytes make them ready
	 * again. If it was made from another candidate, that one becomes pending; requeue() makes
	 * the jobs. Answers of upstreams, source files and profiles are removed as by lose().
	 * Nothing was lost if all counts of *ret are 0.
	 */
	enum ux_code (*fail_lost)(struct ux_index *ix, const struct ux_blob_hash *hash,
				  const char *reason, ux_time now, ux_blob_lost_fn *lost, void *ctx,
				  struct ux_blob_loss *ret, struct ux_error *err);
	/* Runs the backend's own integrity check. UX_EIO: the message describes the damage. */
	enum ux_code (*verify)(struct ux_index *ix, struct ux_error *err);
};

enum {
	UX_SOURCES_MAX = 1000000 /* source files of one candidate */
};

/* A source file: size bytes at off of a blob, which is that one file or a whole bundle. */
struct ux_source {
	const char *path; /* canonical: ux_path_canonical() */
	struct ux_blob_hash blob;
	uint64_t blob_size;
	uint64_t off;
	uint64_t size;
	const char *bundle; /* file name of the candidate that contained it; set by sources.find */
	ux_time created;    /* creation time of that candidate; set by sources.find */
};

struct ux_source_list {
	struct ux_source *sources;
	size_t n;
	bool more;
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_sources {
	/*
	 * Replaces all source files of a candidate; they are removed together with it.
	 * UX_ENOTFOUND: there is no such candidate. Called only by ux_store_commit_sources().
	 */
	enum ux_code (*put)(struct ux_index *ix, int64_t candidate, const struct ux_source *sources,
			    size_t n, struct ux_error *err);
	/*
	 * Finds a source file of the module that has the ID; if several candidates have it, the
	 * newest one's. UX_ENOTFOUND.
	 */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const char *id, const char *path,
			     struct ux_arena *arena, struct ux_source *ret, struct ux_error *err);
	/*
	 * Lists up to limit source files of a module by path, after `after` ("": from the
	 * beginning).
	 */
	enum ux_code (*list)(struct ux_index *ix, int64_t module, const char *after, size_t limit,
			     struct ux_arena *arena, struct ux_source_list *ret,
			     struct ux_error *err);
};

/*
 * The place where a list of stored objects continues. Objects are listed in the order in which they
 * became ready: arrived, were extracted, or got another ID. So new objects always come after
 * earlier ones.
 */
struct ux_stored_place {
	/* a random number of the index: places of another index are meaningless here */
	int64_t store;
	int64_t sequence;  /* ascending */
	int64_t candidate; /* for several with the same sequence, by number */
};

/* A ready candidate with the IDs of its module. */
struct ux_stored_object {
	struct ux_stored_place place;
	const char **ids;
	size_t n_ids;
	struct ux_candidate candidate;
};

struct ux_stored_objects {
	struct ux_stored_object *objects;
	size_t n;
	bool more;
	struct ux_stored_place next; /* the place after the last one */
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_objects {
	/*
	 * Lists up to limit objects after a place (zeroed: from the beginning). A place of another
	 * index, or one that this index has not reached, for example after a backup was restored,
	 * also means the beginning.
	 */
	enum ux_code (*list)(struct ux_index *ix, const char *ns,
			     const struct ux_stored_place *after, size_t limit,
			     struct ux_arena *arena, struct ux_stored_objects *ret,
			     struct ux_error *err);
	/*
	 * Gets the size of a ready candidate's blob. UX_ENOTFOUND: no candidate in the namespace
	 * has it.
	 */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const struct ux_blob_hash *blob,
			     uint64_t *ret_size, struct ux_error *err);
};

enum ux_fetch_outcome {
	UX_FETCH_FOUND,
	UX_FETCH_ABSENT, /* the upstream does not have it */
	UX_FETCH_FAILED, /* an answer that is unusable, and would be so again */
	UX_FETCH_AWAY,   /* no answer: it may have it */
	UX_FETCH_OUTCOMES
};

/* One answer of an upstream, unique by (ns, id, artifact, upstream). */
struct ux_fetched {
	const char *ns;
	const char *upstream; /* name of the upstream in the configuration */
	const char *id;
	const char *artifact; /* "debuginfo", "executable", "gsym", "source/PATH", "section/NAME" */
	enum ux_fetch_outcome outcome;
	unsigned status;    /* HTTP status; 0: none */
	const char *reason; /* shown by explain */
	ux_time queried;
	ux_time expires; /* after this time the upstream is queried again */
	uint64_t took_ms;
	bool has_blob; /* found, and stored outside the candidates: a source file or a section */
	struct ux_blob_hash blob;
	uint64_t size;
	const char *file_name;
};

struct ux_fetched_list {
	struct ux_fetched *answers;
	size_t n;
};

/*
 * Part of struct ux_index; see there for general rules. Expired answers are returned too: check
 * `expires`.
 */
struct ux_index_fetched {
	/* Replaces an earlier answer. Called only by ux_store_commit_answer(). */
	enum ux_code (*put)(struct ux_index *ix, const struct ux_fetched *answer,
			    struct ux_error *err);
	/* UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const char *id,
			     const char *artifact, const char *upstream, struct ux_arena *arena,
			     struct ux_fetched *ret, struct ux_error *err);
	/* Lists all answers about one ID; artifact NULL: about any artifact. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, const char *id,
			     const char *artifact, struct ux_arena *arena,
			     struct ux_fetched_list *ret, struct ux_error *err);
	/*
	 * Deletes answers that expired before `before` (INT64_MAX: all), of one upstream if it is
	 * not NULL. *ret: how many.
	 */
	enum ux_code (*expire)(struct ux_index *ix, const char *upstream, ux_time before,
			       uint64_t *ret, struct ux_error *err);
	/*
	 * Adds up the bytes of everything that upstreams sent and that was extracted from it. ns
	 * "": all namespaces, here and below. It reads every such row.
	 */
	enum ux_code (*bytes)(struct ux_index *ix, const char *ns, uint64_t *ret,
			      struct ux_error *err);
	/* Lists candidates that upstreams sent, like modules.caches. */
	enum ux_code (*caches)(struct ux_index *ix, const char *ns, uint64_t bytes,
			       struct ux_arena *arena, struct ux_idle_list *ret,
			       struct ux_error *err);
	/* Deletes answers with files, the oldest first, until at least `bytes` are freed. */
	enum ux_code (*drop_files)(struct ux_index *ix, const char *ns, uint64_t bytes,
				   struct ux_error *err);
};

/*
 * Interface of an index backend, which embeds it as the first member of its own struct. Functions
 * may be called from any thread. Results are allocated in the caller's arena. A write that returned
 * UX_OK survives a crash of the machine. IDs are canonical text and are not parsed here. Each ret
 * is set only on UX_OK, unless stated otherwise.
 */
enum ux_sync {
	UX_SYNC_PROMISED, /* writes that are confirmed to clients: finished uploads */
	UX_SYNC_ALL,      /* also writes that are simply repeated if they are lost */
};

/* Connections to a database server. */
struct ux_index_connections {
	uint64_t open; /* connections of the pool for reads */
	uint64_t used;
	uint64_t waits;       /* times that a thread had to wait for one */
	uint64_t wait_us;     /* total duration of these waits */
	uint64_t round_trips; /* round trips of the pool, and of the connection for writes */
	uint64_t connected;
	uint64_t refused;
	bool replica; /* there is a replica; otherwise the other fields are unknown */
	bool answers; /* it answered recently, or was not tried */
};

/* Gets a row that does not fit its sum. more: there may be others, which are not listed. */
typedef void ux_damaged_row_fn(void *ctx, const char *table, const char *key, bool more);

struct ux_index {
	unsigned version; /* UX_INDEX_VERSION */
	struct ux_index_objects objects;
	struct ux_index_modules modules;
	struct ux_index_uploads uploads;
	struct ux_index_blobs blobs;
	struct ux_index_sources sources;
	struct ux_index_fetched fetched;
	struct ux_index_jobs jobs;
	struct ux_index_namespaces namespaces;
	struct ux_index_keys keys;
	struct ux_index_audit audit;
	struct ux_index_profiles profiles;
	struct ux_index_packages packages;
	struct ux_index_nodes nodes;
	/* durations of the stages of uploads; borrowed; NULL: not measured */
	struct ux_stage_times *stages;

	/* Reads a number stored under a name; 0: not stored. */
	enum ux_code (*number_get)(struct ux_index *ix, const char *name, int64_t *ret,
				   struct ux_error *err);
	enum ux_code (*number_put)(struct ux_index *ix, const char *name, int64_t value,
				   struct ux_error *err);
	/*
	 * Copies the current state of the index to a new file, which replaces an earlier one at
	 * that path. Other threads and processes can read and write during the copy. It is on the
	 * disk when this returns.
	 */
	enum ux_code (*copy)(struct ux_index *ix, const char *path, struct ux_error *err);
	/*
	 * Waits until the writes of other threads are on the disk. Neither writes nor waits if they
	 * are.
	 */
	enum ux_code (*sync)(struct ux_index *ix, enum ux_sync what, struct ux_error *err);
	/*
	 * Compares all rows that decide names and access with their sums, and reports the rows that
	 * do not fit; at most 1,000 of each table.
	 */
	enum ux_code (*damaged_rows)(struct ux_index *ix, ux_damaged_row_fn *report, void *ctx,
				     struct ux_error *err);
	/* Gets the counts of connections to the database, or to its replica. Any thread. */
	void (*connections)(struct ux_index *ix, bool replica, struct ux_index_connections *ret);
	void (*close)(struct ux_index *ix);
};

/* How often this process has read a row that did not fit its sum. */
uint64_t ux_index_row_damages(void);

/* Tests whether it is the URL of a database, not the path of a file. */
bool ux_index_is_url(const char *location);

/*
 * Opens an index in a PostgreSQL database, by its URL, or in one SQLite file, by its path, with a
 * write-ahead log and synchronous = FULL. Creates the file and migrates the schema if necessary.
 * UX_EUNSUPPORTED: the index was written by a newer unhex, or libpq is not installed;
 * UX_EUNAVAILABLE: the database cannot be reached.
 */
enum ux_code ux_index_open(struct ux_index **ret, const char *path, struct ux_error *err) ux_must;

/*
 * Declares that no other process adds modules to the index until it is closed. Then a filter of its
 * IDs rejects unknown IDs without a query, and a separate thread copies the log of an index in a
 * file into it. Call it before other threads use the index. If memory is short, queries and commits
 * work without these.
 */
void ux_index_own(struct ux_index *ix);

/*
 * Declares that nobody needs an index in a file after its process has ended, so that no commit
 * waits for the disk. Call it before other threads use the index.
 */
void ux_index_throw_away(struct ux_index *ix);

/*
 * Declares that answers may come from a physical replica of the database, given by its URL. Call it
 * before other threads use the index. While the replica cannot be reached, the database answers.
 */
enum ux_code ux_index_read_from(struct ux_index *ix, const char *url, struct ux_error *err) ux_must;

/* Lets writes empty the reserve of a disk that is nearly full, from now on. room is borrowed. */
void ux_index_limit(struct ux_index *ix, struct ux_room *room);

enum {
	UX_TIME_TEXT = 32 /* size of a time's text, with the NUL */
};

/*
 * Formats a time as "2026-08-21T10:00:00Z" (RFC 3339), or "unknown" if it is outside the calendar's
 * range. Returns text.
 */
const char *ux_time_text(ux_time t, char text[UX_TIME_TEXT]);

#endif
