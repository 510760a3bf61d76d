/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as text: durations and dates as people write them, and JSON as command and server print it.
 */
#ifndef UX_KEY_TEXT_H
#define UX_KEY_TEXT_H

#include "json_out.h"
#include "keys.h"

#define UX_KEY_OVERLAP_DEFAULT "7d"

/* Parses a duration such as "90d", "12h", "30m", "45s", or 0 without a unit, to seconds. */
bool ux_key_duration_parse(const char *text, int64_t *ret) ux_must;

/*
 * Parses the end of a key: a duration after now, or the first second of a day such as "2027-12-31"
 * in UTC. UX_EINVAL: it is neither, or in the past; the message begins with name.
 */
enum ux_code ux_key_expiry_parse(const char *text, const char *name, ux_time now, ux_time *ret,
				 struct ux_error *err) ux_must;

/* Parses how long earlier tokens stay valid after a rotation. UX_EINVAL as above. */
enum ux_code ux_key_overlap_parse(const char *text, const char *name, int64_t *ret,
				  struct ux_error *err) ux_must;

/* Writes the member "scopes", an array of names. */
void ux_json_scopes(struct ux_json *j, unsigned scopes);

/* Writes the key as an object. token: a new one, which is shown only this once; NULL: omitted. */
void ux_json_api_key(struct ux_json *j, const struct ux_key *key, const char *token);

#endif
