/* SPDX-License-Identifier: Apache-2.0 */
/* Parses values in requests: JSON, query parameters, IDs, qualities. */
#ifndef UX_REQUEST_VALUES_H
#define UX_REQUEST_VALUES_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "http.h"
#include "unhex/quality.h"

#include <jansson.h>

/* --- JSON ------------------------------------------------------------------------------------- */

enum {
	/*
	 * A tree needs up to 100 times the memory of its text ("[],[],..."), so values are counted
	 * before a tree is built. The largest request that is accepted has 10,000 modules and
	 * 100,000 addresses; in Mozilla's form each of them is an array.
	 */
	UX_JSON_VALUES_MAX = 400000,
	UX_JSON_CONTAINERS_MAX = 120000,
};

/*
 * Parses a JSON object. UX_EINVAL: the text is not a JSON object, and the message says where;
 * UX_ELIMIT: it has too many values. Duplicate keys are an error.
 */
enum ux_code ux_json_in_parse(struct ux_bytes text, json_t **ret, struct ux_error *err) ux_must;

/* Checks the size of a tree of the text. UX_ELIMIT: it would exceed the limits above. */
enum ux_code ux_json_in_weigh(struct ux_bytes text, struct ux_error *err) ux_must;

/*
 * Read members of an object. If the member is absent or null, *ret is not changed. UX_EINVAL: it
 * has another type.
 */
enum ux_code ux_json_in_bool(const json_t *o, const char *key, bool *ret, struct ux_error *err)
	ux_must;
enum ux_code ux_json_in_u64(const json_t *o, const char *key, uint64_t *ret, struct ux_error *err)
	ux_must;
/* Reads a string of at most `max` bytes; NUL-terminated, valid as long as the document. */
enum ux_code ux_json_in_str(const json_t *o, const char *key, size_t max, const char **ret,
			    struct ux_error *err) ux_must;
/* Reads an array of at most `max` elements, otherwise UX_ELIMIT. NULL if absent. */
enum ux_code ux_json_in_array(const json_t *o, const char *key, size_t max, const json_t **ret,
			      struct ux_error *err) ux_must;
/* Returns UX_ELIMIT if the number of elements n of array `key` exceeds `max`. */
enum ux_code ux_json_in_array_size(const char *key, size_t n, size_t max, struct ux_error *err)
	ux_must;

/* Finds a quality by its name. UX_EINVAL: unknown name. */
enum ux_code ux_quality_parse(struct ux_bytes word, enum ux_quality *ret, struct ux_error *err)
	ux_must;

/*
 * Reads the member "quality". If it is absent, *ret is not changed and *ret_present is false.
 * UX_EINVAL: no such quality.
 */
enum ux_code ux_json_in_quality(const json_t *o, enum ux_quality *ret, bool *ret_present,
				struct ux_error *err) ux_must;

/* Returns the name of a value's type for error messages: "object", "string", ... */
const char *ux_json_in_type(const json_t *v);

/* --- IDs -------------------------------------------------------------------------------------- */

/* Parses the beginning of an ID (id_prefix.h); the text of the index is allocated in the arena.
 * UX_EINVAL, UX_ELIMIT: no ID begins so. */
enum ux_code ux_module_prefix_parse(struct ux_bytes text, struct ux_arena *arena, const char **ret,
				    struct ux_error *err) ux_must;

/* Parses an ID; the canonical text is allocated in the arena. UX_EINVAL: it is not an ID. */
enum ux_code ux_module_id_parse(struct ux_bytes text, struct ux_arena *arena, const char **ret,
				struct ux_error *err) ux_must;

/* Parses the array o.ids of 1 to UX_INDEX_IDS_MAX IDs into canonical texts. */
enum ux_code ux_module_ids_parse(const json_t *o, struct ux_arena *arena, const char ***ret,
				 size_t *ret_n, struct ux_error *err) ux_must;

/* --- query parameters ------------------------------------------------------------------------- */

/*
 * Reads a decimal query parameter between lo and hi. If it is absent, *ret is not changed.
 * UX_EINVAL.
 */
enum ux_code ux_query_number(struct ux_request *req, const char *name, uint64_t lo, uint64_t hi,
			     uint64_t *ret) ux_must;

#endif
