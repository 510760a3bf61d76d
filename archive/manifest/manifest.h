/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest of a folder of symbols: its objects with their paths and contents. docs/clone.md
 * describes the format.
 */
#ifndef UX_MANIFEST_H
#define UX_MANIFEST_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "id.h"
#include "out.h"
#include "provenance.h"
#include "unhex/quality.h"
#include "vec.h"

#define UX_MANIFEST_NAME      "manifest.jsonl"
#define UX_MANIFEST_SIGNATURE UX_MANIFEST_NAME ".minisig"

enum {
	UX_MANIFEST_VERSION = 1,
	UX_MANIFEST_HASH = 32, /* bytes of a SHA-256 */
	UX_MANIFEST_OBJECTS_MAX = 1 << 22,
	UX_MANIFEST_LINE_MAX = 64 << 10, /* bytes of one line */
	UX_MANIFEST_SIZE_MAX = 1 << 30,  /* bytes of a manifest... */
	/* ...and of the memory that its objects take */
	UX_MANIFEST_MEMORY_MAX = 2000 << 20,
	UX_MANIFEST_PATH_MAX = 512,  /* bytes of a path, with its NUL */
	UX_MANIFEST_IDS_MAX = 16,    /* IDs of one module */
	UX_MANIFEST_ID_MAX = 256,    /* bytes of the text of an ID */
	UX_MANIFEST_TEXT_MAX = 1024, /* bytes of a description, a name, a fact */
	UX_MANIFEST_NS_MAX = 64,     /* bytes of the name of a namespace */
	UX_MANIFEST_STORE_MAX = 128, /* bytes of the name of a store */
	UX_MANIFEST_SEEN_MAX = 64,   /* stores that a copy remembers */
	UX_MANIFEST_TIME_TEXT = 32,  /* bytes of the text of a time, with its NUL */
	UX_ENTRY_NAME_DIGITS =
		16, /* digits of the hash, after the name of an object that is not the best */
};

/* Objects of the namespace with this name have no folder of their own. */
#define UX_MANIFEST_NS_DEFAULT "default"

/* The kind of an object. Its names equal the names of a server's uploads. */
enum ux_entry_kind {
	UX_ENTRY_GSYM,
	UX_ENTRY_EXECUTABLE,
	UX_ENTRY_DEBUGINFO,
	UX_ENTRY_DWO,
	UX_ENTRY_DWP,
	UX_ENTRY_SOURCES,
	UX_ENTRY_KIND_COUNT
};

/* Parts of an ELF file. */
enum {
	UX_ENTRY_CODE = 1 << 0,
	UX_ENTRY_DEBUG = 1 << 1,
	UX_ENTRY_SECTIONS = 1 << 2,
	UX_ENTRY_HOLDS_COUNT = 3
};

/* One object under one path. Texts are never NULL, except for the provenance's. */
struct ux_entry {
	const char *path; /* relative to the folder; "" until ux_manifest_name() */
	uint8_t hash[UX_MANIFEST_HASH];
	uint64_t size;
	/* IDs of its module in canonical form; the first one names its folder */
	const char *const *ids;
	size_t n_ids;
	enum ux_entry_kind kind;
	enum ux_quality quality;
	struct ux_counts counts;
	unsigned holds; /* UX_ENTRY_* bits of an ELF file */
	const char *ns; /* namespace */
	const char *description;
	const char *file; /* name of the file that it was made from */
	struct ux_provenance provenance;
	enum ux_trust trust; /* of the original store's namespace */
	int64_t time;        /* seconds since 1970: when its original store received it */
};

UX_VEC(ux_entries, struct ux_entry);

/* A state of a store: its manifests have increasing serials. */
struct ux_manifest_state {
	const char *store; /* name */
	uint64_t serial;
};

/* What a manifest says of itself, so that an earlier one cannot pass for the present one. */
struct ux_manifest_head {
	struct ux_manifest_state own; /* store NULL: its signer did not say */
	int64_t time;                 /* seconds since 1970: when it was signed */
	/* the newest states of other stores whose objects are in this copy */
	struct ux_manifest_state seen[UX_MANIFEST_SEEN_MAX];
	size_t n_seen;
};

/* Zeroed except for the arena, which owns all texts; ux_manifest_init() makes an empty one. */
struct ux_manifest {
	struct ux_arena arena;
	struct ux_manifest_head head;
	struct ux_entries objects; /* sorted by path, unless stated otherwise */
};

void ux_manifest_init(struct ux_manifest *m);
void ux_manifest_deinit(struct ux_manifest *m);

/* Returns "gsym", "executable", ...; never NULL. */
const char *ux_entry_kind_name(enum ux_entry_kind kind);

/* False: there is no such kind. */
bool ux_entry_kind_parse(struct ux_bytes text, enum ux_entry_kind *ret) ux_must;

/* Returns the name of a bit: "code", "debug", "sections". */
const char *ux_entry_holds_name(unsigned bit);

/*
 * Reads a whole manifest into an empty one. Checks that every path fits its module and kind and
 * stays in the folder, that no path occurs twice, and that the first line's numbers of objects and
 * bytes match the other lines. UX_ECORRUPT, with the offset; UX_ELIMIT; UX_EUNSUPPORTED: of a newer
 * unhex.
 */
enum ux_code ux_manifest_read(struct ux_bytes text, struct ux_manifest *ret, struct ux_error *err)
	ux_must;

/*
 * Appends the text of a manifest whose objects are sorted. The same objects always give the same
 * bytes.
 */
enum ux_code ux_manifest_write(const struct ux_manifest *m, struct ux_out *out,
			       struct ux_error *err) ux_must;

/* Finds the newest state of a store that the head has, of itself or seen; NULL: none. */
const struct ux_manifest_state *ux_manifest_state(const struct ux_manifest_head *head,
						  const char *store);

/* Notes a state as seen, unless the head has a newer one. Borrows the name. UX_ELIMIT. */
enum ux_code ux_manifest_see(struct ux_manifest_head *head, const struct ux_manifest_state *state,
			     struct ux_error *err) ux_must;

/*
 * Tests whether a manifest was signed in the last max_age_s seconds; 0: any age will do.
 * UX_ECORRUPT: it was not, or does not say when.
 */
enum ux_code ux_manifest_check_age(const struct ux_manifest_head *head, int64_t max_age_s,
				   struct ux_error *err) ux_must;

/* Writes when it was signed: "2026-08-21T10:00:00Z". Returns text. */
const char *ux_manifest_time(const struct ux_manifest_head *head, char text[UX_MANIFEST_TIME_TEXT]);

/* Appends one object as a line, also one without a path. */
void ux_entry_write(const struct ux_entry *o, struct ux_out *out);

/*
 * Reads the members of one object, as ux_entry_write() writes them; other members are ignored. The
 * path may be absent. Texts are copied to the arena. Also reads a server's answers.
 */
enum ux_code ux_entry_read(struct ux_bytes line, uint64_t off, struct ux_arena *arena,
			   struct ux_entry *ret, struct ux_error *err) ux_must;

/* Copies an object with borrowed texts into the manifest. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_manifest_add(struct ux_manifest *m, const struct ux_entry *o, struct ux_error *err)
	ux_must;

/*
 * Gives every object its path and sorts by path. If several objects have the same module, kind and
 * content, only the last is kept. The best GSYM of a module is "gsym", the best file with code
 * "executable", the best with debug information "debuginfo"; others have the beginning of their
 * hash after the name. An ELF file that is the best of both kinds is listed twice.
 */
enum ux_code ux_manifest_name(struct ux_manifest *m, struct ux_error *err) ux_must;

/*
 * Writes the folder of a module: "buildid/HEX" for a GNU build ID, "module/TYPE/HEX" for others,
 * below "ns/NAME" unless the namespace is the default. UX_EINVAL: the ID or the name is not valid.
 */
enum ux_code ux_manifest_folder(const char *ns, const char *id, char path[UX_MANIFEST_PATH_MAX],
				struct ux_error *err) ux_must;

/* Finds the object of a path in a sorted manifest; NULL if absent. */
const struct ux_entry *ux_manifest_find(const struct ux_manifest *m, const char *path);

/* The objects of a manifest in the order of their hashes. Zeroed is empty. */
struct ux_entries_by_hash {
	const struct ux_entry **items; /* borrowed from the manifest */
	size_t n;
};

enum ux_code ux_entries_by_hash_make(const struct ux_manifest *m, struct ux_entries_by_hash *ret,
				     struct ux_error *err) ux_must;
void ux_entries_by_hash_deinit(struct ux_entries_by_hash *by);

/* Returns the index of the first object with this hash, which others with the same hash may follow;
 * n: not found. */
size_t ux_entries_by_hash_find(const struct ux_entries_by_hash *by,
			       const uint8_t hash[UX_MANIFEST_HASH]);

/* Returns the index of the next object with the same hash; n: that was the last one. */
size_t ux_entries_by_hash_next(const struct ux_entries_by_hash *by, size_t i);

/* Returns the length of the folder in the object's path: objects of one module have the same
 * folder. */
size_t ux_entry_folder_size(const struct ux_entry *o);

/* Compares how much two objects of one kind contain: above 0 if a is better. */
int ux_entry_cmp(const struct ux_entry *a, const struct ux_entry *b);

#endif
