/* SPDX-License-Identifier: Apache-2.0 */
/* Typed values out of what clients send: JSON, parameters of a query, IDs, qualities. */
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
	 * A tree costs up to 100 times its text ("[],[],..."), so values are counted before one is
	 * made. The largest request that is accepted has 10,000 modules and 100,000 addresses, each
	 * an array by itself in Mozilla's form.
	 */
	UX_JSON_VALUES_MOST = 400000,
	UX_JSON_CONTAINERS_MOST = 120000,
};

/* The guard for a document. */
void ux_json_in_drop(json_t **doc);

/*
 * An object. UX_EINVAL: the text is not a JSON object, and the message says where; UX_ELIMIT: too
 * many values. The same key twice is an error.
 */
enum ux_code ux_json_in_parse(struct ux_bytes text, json_t **ret, struct ux_error *err) ux_must;

/* UX_ELIMIT when a tree of the text would have more values or containers than the limits above. */
enum ux_code ux_json_in_weigh(struct ux_bytes text, struct ux_error *err) ux_must;

/* Members; absent or null leaves *ret as it was. UX_EINVAL: another type. */
enum ux_code ux_json_in_bool(const json_t *o, const char *key, bool *ret, struct ux_error *err)
	ux_must;
enum ux_code ux_json_in_u64(const json_t *o, const char *key, uint64_t *ret, struct ux_error *err)
	ux_must;
/* NUL-terminated, at most `most` bytes; lives as long as the document. */
enum ux_code ux_json_in_str(const json_t *o, const char *key, size_t most, const char **ret,
			    struct ux_error *err) ux_must;
/* NULL when absent; at most `most` elements, else UX_ELIMIT. */
enum ux_code ux_json_in_array(const json_t *o, const char *key, size_t most, const json_t **ret,
			      struct ux_error *err) ux_must;
/* UX_ELIMIT when n, the elements of array `key`, is over `most`. */
enum ux_code ux_json_in_array_size(const char *key, size_t n, size_t most, struct ux_error *err)
	ux_must;

/* Member "quality"; absent leaves *ret as it was and *ret_present false. UX_EINVAL: no such
 * quality. */
enum ux_code ux_json_in_quality(const json_t *o, enum ux_quality *ret, bool *ret_present,
				struct ux_error *err) ux_must;

/* "object", "string", ...: for messages. */
const char *ux_json_in_type(const json_t *v);

/* --- IDs -------------------------------------------------------------------------------------- */

/* Canonical text in the arena. UX_EINVAL: the text is not an ID. */
enum ux_code ux_module_id_parse(struct ux_bytes text, struct ux_arena *arena, const char **ret,
				struct ux_error *err) ux_must;

/* The array of strings o.ids, each canonical, 1 to UX_INDEX_IDS_MOST of them. */
enum ux_code ux_module_ids_parse(const json_t *o, struct ux_arena *arena, const char ***ret,
				 size_t *ret_n, struct ux_error *err) ux_must;

/* --- parameters of a query -------------------------------------------------------------------- */

/* The decimal parameter of that name, between lo and hi; absent leaves *ret as it was. UX_EINVAL.
 */
enum ux_code ux_query_number(struct ux_request *req, const char *name, uint64_t lo, uint64_t hi,
			     uint64_t *ret) ux_must;

#endif
