/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON sequentially, without building a tree. */
#ifndef UX_JSON_OUT_H
#define UX_JSON_OUT_H

#include "out.h"
#include "unhex/quality.h"

enum {
	UX_JSON_DEPTH_MAX = 32
};

/*
 * Adds commas and quotes. The caller keeps begin and end paired, which is asserted. Failures are
 * recorded in the output buffer. Text is UTF-8; each maximal invalid sequence becomes U+FFFD, so
 * that the document is always valid.
 */
struct ux_json {
	struct ux_out *out;
	uint32_t filled; /* one bit for each depth: a value was written at that level */
	unsigned depth;
	bool after_key;
	bool in_html; /* inside of a <script>: '<' and '>' of texts are escaped, so that no text
			 ends the element */
};

static inline struct ux_json ux_json_make(struct ux_out *out)
{
	return (struct ux_json){.out = out};
}

void ux_json_object_begin(struct ux_json *j);
void ux_json_object_end(struct ux_json *j);
void ux_json_array_begin(struct ux_json *j);
void ux_json_array_end(struct ux_json *j);

/* A key without characters that need escaping. */
void ux_json_key(struct ux_json *j, const char *key);
/* Writes a key and a path, joined as in ux_json_path(). */
void ux_json_key_path(struct ux_json *j, struct ux_bytes dir, struct ux_bytes base);

void ux_json_str(struct ux_json *j, struct ux_bytes text);
/* Writes dir and base joined by one '/' as one string. If dir is "", writes only base. */
void ux_json_path(struct ux_json *j, struct ux_bytes dir, struct ux_bytes base);
void ux_json_cstr(struct ux_json *j, const char *text);
void ux_json_u64(struct ux_json *j, uint64_t v);
void ux_json_i64(struct ux_json *j, int64_t v);
void ux_json_bool(struct ux_json *j, bool v);
void ux_json_null(struct ux_json *j);

/*
 * Copies a document that another program wrote. What acts on a terminal is written as an escape, as
 * in ux_json_str(): it can only be in strings.
 */
void ux_json_copy(struct ux_out *out, struct ux_bytes document);

/* Begins a value that is already JSON: the caller appends it to the returned buffer. */
struct ux_out *ux_json_value(struct ux_json *j);

/* key and value in one call. */
void ux_json_key_str(struct ux_json *j, const char *key, struct ux_bytes text);
void ux_json_key_cstr(struct ux_json *j, const char *key, const char *text);
void ux_json_key_u64(struct ux_json *j, const char *key, uint64_t v);
void ux_json_key_bool(struct ux_json *j, const char *key, bool v);

/* "counts":{...} inside an object that is open. */
void ux_json_counts(struct ux_json *j, const struct ux_counts *counts);

/* "quality":"...","counts":{...} inside an object that is open. */
void ux_json_symbols(struct ux_json *j, enum ux_quality quality, const struct ux_counts *counts);

#endif
