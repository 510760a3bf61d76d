/* SPDX-License-Identifier: Apache-2.0 */
/* The index: modules, their IDs and candidates; and the types that all of the index shares. */
#ifndef UX_INDEX_MODULES_H
#define UX_INDEX_MODULES_H

#include "arena.h"
#include "blobs.h"
#include "bytes.h"
#include "error.h"
#include "unhex/quality.h"

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

#endif
