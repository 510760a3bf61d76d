/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches the functions of GSYMs by a part of their names. There is no index of names: each search
 * reads the names, and is bounded by the work of its request
 * (docs/decisions/0011-function-search.md).
 */
#ifndef UX_FUNCTION_SEARCH_H
#define UX_FUNCTION_SEARCH_H

#include "file.h"
#include "gsym_reader.h"
#include "out.h"
#include "server.h"

enum {
	UX_FUNCTION_QUERY_MAX = 256, /* bytes of a query */
	UX_FUNCTION_BEST_MAX =
		5, /* functions of one module that a search over many modules keeps */
};

/* A query for a part of a name. Ignores the case of ASCII letters, blanks, and "()" at the end. */
struct ux_function_query {
	char text[UX_FUNCTION_QUERY_MAX + 1]; /* in lower case, without blanks */
	size_t size;
	/*
	 * The longest identifier of the query that mangled names contain literally: only names with
	 * it are demangled. Empty: all names are demangled.
	 */
	char word[UX_FUNCTION_QUERY_MAX + 1];
	size_t word_size;
};

/* Parses a query. UX_EINVAL: it is empty; UX_ELIMIT: it is too long. */
enum ux_code ux_function_query_parse(struct ux_bytes text, struct ux_function_query *ret,
				     struct ux_error *err) ux_must;

/* How well a function matches. */
enum ux_function_rank {
	UX_FUNCTION_STUB,  /* a stub that only calls the named function: "read@plt" */
	UX_FUNCTION_PART,  /* the query is a part of a component of the name: "fread" */
	UX_FUNCTION_WHOLE, /* the query is whole components of the name: "read", "File::read(int)"
			    */
};

/* A function that matches. */
struct ux_function {
	uint32_t number; /* in its GSYM */
	uint64_t pc;
	uint64_t size;
	struct ux_bytes name; /* demangled; valid until the next function is read */
	enum ux_function_rank rank;
};

/* A scan of the functions of one GSYM, in the order of their addresses. */
struct ux_function_scan {
	const struct ux_gsym *gsym;
	const struct ux_function_query *query; /* NULL: every function matches */
	struct ux_work *work;                  /* charged for every name that is read */
	uint32_t next;                         /* index of the function that is read next */
	struct ux_out name;                    /* holds the bytes of ux_function.name */
	struct ux_out folded;
};

void ux_function_scan_deinit(struct ux_function_scan *scan);

/*
 * Finds the next function that matches; *ret_any is false at the end. Functions with only bounds
 * match no query. UX_ELIMIT, UX_EUNAVAILABLE: the work was refused (ux_request_work_code()); the
 * caller can continue the scan at `next` with other work. UX_ENOMEM.
 */
enum ux_code ux_function_scan_next(struct ux_function_scan *scan, struct ux_function *ret,
				   bool *ret_any, struct ux_error *err) ux_must;

/* The functions of one module that match. */
struct ux_functions_found {
	uint64_t total;
	/* the best ones, by their rank, then by address; names are in the arena */
	struct ux_function best[UX_FUNCTION_BEST_MAX];
	size_t n;
};

/* Maps the best GSYM of a module. UX_ENOTFOUND: it has none. */
enum ux_code ux_functions_open(struct ux_request *req, const struct ux_module *m,
			       struct ux_mapping *ret_file, struct ux_gsym *ret,
			       struct ux_error *err) ux_must;

/* Searches all functions of a GSYM. Codes of ux_function_scan_next(). */
enum ux_code ux_functions_find(const struct ux_gsym *g, const struct ux_function_query *query,
			       struct ux_work *work, struct ux_arena *arena,
			       struct ux_functions_found *ret, struct ux_error *err) ux_must;

#endif
