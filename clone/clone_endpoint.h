/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a source and a target of a copy; each kind of place has its own file. */
#ifndef UX_CLONE_ENDPOINT_H
#define UX_CLONE_ENDPOINT_H

#include "clone.h"
#include "minisign.h"

enum {
	UX_CLONE_NEXT = 128, /* bytes of a server's place in its list, with the NUL */
	UX_CLONE_TRIES = 4,  /* attempts at one object while a server cannot be reached */
};

/* The listing of an endpoint. */
struct ux_clone_list {
	struct ux_manifest manifest;
	/* the bytes of its manifest and of the signature; empty: it keeps none */
	struct ux_out text, signature;
	/* where the server's next list continues; "": not supported */
	char next[UX_CLONE_NEXT];
};

static inline void ux_clone_list_init(struct ux_clone_list *list)
{
	*list = (struct ux_clone_list){0};
	ux_manifest_init(&list->manifest);
}

static inline void ux_clone_list_deinit(struct ux_clone_list *list)
{
	ux_manifest_deinit(&list->manifest);
	ux_out_deinit(&list->text);
	ux_out_deinit(&list->signature);
}

/* The bytes of an object in transit: written by the source, then given to the target. */
struct ux_clone_part {
	const struct ux_entry *object; /* from the target's manifest */
	int fd;                        /* its bytes; -1: the same bytes as part `same` */
	size_t same;                   /* index of another part of the module */
	char name[64];                 /* private to the target */
	bool done; /* set by put(): the target has it, or has reported why not */
};

/* The planned contents of a target. */
struct ux_clone_plan {
	struct ux_clone_list *had; /* result of its list(); NULL: the target was empty */
	const struct ux_manifest *all;
	/* text and signature of the manifest `all`, if every object is available */
	struct ux_bytes text, signature;
	bool dry_run; /* nothing may be changed */
};

/*
 * A place. Functions that are NULL are not supported: a source has list() and get(), a target the
 * others too. Worker numbers are below UX_CLONE_JOBS_MAX, and one thread at a time uses each.
 */
struct ux_clone_endpoint {
	/* a single worker reads, or writes, the objects in the order of their paths */
	bool in_order;
	/* the target keeps a manifest, which includes the objects that it had before */
	bool keeps;

	/*
	 * Lists all objects. since: a place of an earlier list of a server, "": all. UX_ENOTFOUND:
	 * the place is still empty (a target).
	 */
	enum ux_code (*list)(struct ux_clone_endpoint *e, const char *since,
			     struct ux_clone_list *ret, struct ux_error *err);
	/*
	 * Appends the bytes of an object from `have` on to the end of fd, at most to its size; or,
	 * if the source cannot start there, empties the file and writes all of them. UX_ENOTFOUND:
	 * it is gone. UX_EUNAVAILABLE: try again.
	 */
	enum ux_code (*get)(struct ux_clone_endpoint *e, unsigned worker, const struct ux_entry *o,
			    int fd, uint64_t have, struct ux_error *err);

	/* Prepares for the objects of this plan, which lives until close(). */
	enum ux_code (*begin)(struct ux_clone_endpoint *e, const struct ux_clone_plan *plan,
			      struct ux_error *err);
	/* Sets whether the target already has this object of the manifest. Called in order, before
	 * put(). */
	enum ux_code (*has)(struct ux_clone_endpoint *e, const struct ux_entry *o,
			    enum ux_clone_outcome *ret, struct ux_error *err);
	/* Opens a file for the bytes of an object; *ret_have of them are already in it. */
	enum ux_code (*part)(struct ux_clone_endpoint *e, struct ux_clone_part *p,
			     uint64_t *ret_have, struct ux_error *err);
	/* Takes complete, checked objects of one module. Calls report() for each. */
	enum ux_code (*put)(struct ux_clone_endpoint *e, unsigned worker,
			    struct ux_clone_part *parts, size_t n, ux_clone_report_fn *report,
			    void *ctx, struct ux_error *err);
	/*
	 * Ends the copy when everything is there. Gets the bytes of the manifest and of its
	 * signature (empty: none). left: objects of an earlier manifest that are not in this one
	 * may be removed.
	 */
	enum ux_code (*finish)(struct ux_clone_endpoint *e, struct ux_bytes manifest,
			       struct ux_bytes signature, struct ux_error *err);
	/* Sets where the list of a source continues, from a folder's notes. "": nothing is noted.
	 */
	enum ux_code (*noted)(struct ux_clone_endpoint *e, const char *source,
			      char ret[UX_CLONE_NEXT], struct ux_error *err);
	enum ux_code (*note)(struct ux_clone_endpoint *e, const char *source, const char *next,
			     struct ux_error *err);

	void (*close)(struct ux_clone_endpoint *e); /* NULL e is not allowed */
};

/*
 * Tests whether the source's manifest may follow the states that the target has seen: it is of the
 * expected store, not older than these states, and not too old. UX_ECORRUPT: the message has both.
 */
enum ux_code ux_clone_check_state(const struct ux_clone_options *o,
				  const struct ux_manifest_head *source,
				  const struct ux_manifest_head *target, struct ux_error *err)
	ux_must;

/*
 * Makes the head of the target's manifest, with the states that the target and the source know.
 * Borrows their names; key_id: room for a name.
 */
enum ux_code ux_clone_make_head(const struct ux_clone_options *o,
				const struct ux_manifest_head *source,
				const struct ux_manifest_head *target,
				char key_id[2 * UX_MINISIGN_ID + 1], struct ux_manifest_head *ret,
				struct ux_error *err) ux_must;

/* Tests whether a manifest with the source's own head keeps all that the target has seen. */
bool ux_clone_head_covers(const struct ux_manifest_head *source,
			  const struct ux_manifest_head *target);

/* Open endpoints. *ret is malloc'ed and released by its close(). */
enum ux_code ux_clone_folder_open(const char *path, bool target, bool check,
				  struct ux_clone_endpoint **ret, struct ux_error *err) ux_must;
enum ux_code ux_clone_server_open(const struct ux_clone_place *place, const char *cacert,
				  struct ux_clone_endpoint **ret, struct ux_error *err) ux_must;
enum ux_code ux_clone_web_open(const struct ux_clone_place *place, const char *cacert,
			       struct ux_clone_endpoint **ret, struct ux_error *err) ux_must;
enum ux_code ux_clone_s3_open(const char *where, const struct ux_clone_options *o, bool target,
			      struct ux_clone_endpoint **ret, struct ux_error *err) ux_must;
enum ux_code ux_clone_tar_open(const char *path, bool target, struct ux_clone_endpoint **ret,
			       struct ux_error *err) ux_must;

/* Makes an unnamed temporary file for the bytes of an object, for targets that keep no parts. */
enum ux_code ux_clone_temporary_part(struct ux_clone_endpoint *e, struct ux_clone_part *p,
				     uint64_t *ret_have, struct ux_error *err) ux_must;

/* Appends size bytes of one file, from `off` on, to another one. */
enum ux_code ux_clone_copy(int from, uint64_t off, uint64_t size, int to, struct ux_error *err)
	ux_must;

/* Computes the SHA-256 of a file of that many bytes. UX_ECORRUPT: it has a different size. */
enum ux_code ux_clone_hash(int fd, uint64_t size, uint8_t hash[UX_MANIFEST_HASH],
			   struct ux_error *err) ux_must;

/*
 * Sends GET for a path and appends the answer to fd, from `have` on (see get()). Repeats a call
 * that breaks off as long as it makes progress.
 */
struct ux_http_client;
enum ux_code ux_clone_download(struct ux_http_client *client, const char *path,
			       const struct ux_entry *o, int fd, uint64_t have,
			       struct ux_error *err) ux_must;

#endif
