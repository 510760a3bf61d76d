/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that strangers send, and typed looks into it. */
#ifndef UX_JSON_IN_H
#define UX_JSON_IN_H

#include "bytes.h"
#include "error.h"

#include <jansson.h>

enum {
	/*
	 * A tree costs up to 100 times its text ("[],[],..."), so values are counted before one is
	 * made. The biggest request that we take has 10,000 modules and 100,000 addresses, each an
	 * array by itself in Mozilla's form.
	 */
	UX_JSON_VALUES_MOST = 400000,
	UX_JSON_CONTAINERS_MOST = 120000,
};

/* The guard for a document. */
void ux_json_in_drop(json_t **doc);

/*
 * An object. UX_EINVAL: it is none, and the message says where; UX_ELIMIT: too many values. Twice
 * the same key is an error.
 */
enum ux_code ux_json_in_parse(struct ux_bytes text, json_t **ret, struct ux_error *err) ux_must;

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

/* "object", "string", ...: for messages. */
const char *ux_json_in_type(const json_t *v);

#endif
