/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of OpenTelemetry in JSON. A message is converted to protobuf, which ux_otlp_read() and
 * ux_otlp_names_read() read; names are then written into the text of the JSON. Source: OTLP 1.10,
 * "JSON Protobuf Encoding".
 */
#ifndef UX_OTLP_JSON_H
#define UX_OTLP_JSON_H

#include "otlp.h"
#include "out.h"

struct ux_otlp_names;

enum {
	UX_OTLP_JSON_NESTED_MAX = 64 /* messages inside of each other */
};

/* Returns whether the bytes may be such a message: an object with resource profiles or a
 * dictionary. */
bool ux_otlp_json_is(struct ux_bytes json);

/*
 * Appends the message as protobuf. Unknown keys are left out, null counts as absent, and a key that
 * an object has twice is an error. UX_ECORRUPT: with the offset in the JSON. UX_ENOMEM, or the code
 * of the quota of `message`.
 */
enum ux_code ux_otlp_json_convert(struct ux_bytes json, struct ux_out *message,
				  struct ux_error *err) ux_must;

/*
 * Converts a message and reads it in the same way as ux_otlp_read(), but errors have offsets in the
 * JSON. f->bytes refers to `message`, which was empty and has to live as long.
 */
enum ux_code ux_otlp_json_read(struct ux_otlp *f, struct ux_bytes json, struct ux_out *message,
			       struct ux_profile *p, struct ux_error *err) ux_must;

/*
 * The same as ux_otlp_names_write(), for JSON from which the message of n was converted. Only its
 * dictionary differs: locations have lines, and functions and strings follow at the end of their
 * tables. Everything else is copied byte for byte. UX_ENOMEM, and the code of the quota of `out`,
 * for which all memory counts.
 */
enum ux_code ux_otlp_json_write(const struct ux_otlp_names *n, struct ux_bytes json,
				struct ux_out *out, struct ux_error *err) ux_must;

#endif
