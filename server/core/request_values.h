/* SPDX-License-Identifier: Apache-2.0 */
/* Parses values in requests: JSON, query parameters, IDs, qualities. */
#ifndef UX_REQUEST_VALUES_H
#define UX_REQUEST_VALUES_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "http.h"
#include "json_in.h"
#include "unhex/quality.h"

#include <jansson.h>

/* --- JSON that is read in place ----------------------------------------------------------------
 * For requests with many entries: a tree would take most of the time (json_in.h). */

/* UX_OK while the text is JSON, else UX_EINVAL with the offset and the reason. */
enum ux_code ux_json_in_status(const struct ux_cur *c, struct ux_error *err) ux_must;

/* Checks the kind of the next value, the member `key` or (NULL) the document. UX_EINVAL: the kind
 * differs, or the text is not JSON. */
enum ux_code ux_json_in_expect(struct ux_cur *c, const char *key, enum ux_json_kind expected,
			       struct ux_error *err) ux_must;

/* Returns false and passes the value if it is null. */
bool ux_json_in_given(struct ux_cur *c) ux_must;

/* Notes that a member was read. UX_EINVAL: it appears twice. */
enum ux_code ux_json_in_once(bool *seen, const char *key, struct ux_error *err) ux_must;

/* Reads a string, a slice of the body; one with escapes is decoded in the arena. UX_EINVAL: it is
 * not JSON. */
enum ux_code ux_json_in_string(struct ux_cur *c, struct ux_arena *arena, struct ux_bytes *ret,
			       struct ux_error *err) ux_must;

/* --- trees of JSON ---------------------------------------------------------------------------- */

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

/*
 * Read members of an object. If the member is absent or null, *ret is not changed. UX_EINVAL: it
 * has a different type.
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

/* Finds a quality by its name. UX_EINVAL: unknown name. */
enum ux_code ux_quality_parse(struct ux_bytes word, enum ux_quality *ret, struct ux_error *err)
	ux_must;

/*
 * Reads the member "quality". If it is absent, *ret is not changed and *ret_present is false.
 * UX_EINVAL: no such quality.
 */
enum ux_code ux_json_in_quality(const json_t *o, enum ux_quality *ret, bool *ret_present,
				struct ux_error *err) ux_must;

/* Returns the name of a value's type for error messages: as ux_json_kind_name(), but "an integer"
 * or "a fraction" for a number. */
const char *ux_json_in_type(const json_t *v);

/* --- IDs -------------------------------------------------------------------------------------- */

/* Parses the beginning of an ID (id_prefix.h); the text of the index is allocated in the arena.
 * UX_EINVAL, UX_ELIMIT: no ID begins with this text. */
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
