/* SPDX-License-Identifier: Apache-2.0 */
/* The states of stores in the head of a manifest: their serials, and the time of a signature. */
#include "clock.h"
#include "manifest.h"

#include <time.h>

const struct ux_manifest_state *ux_manifest_state(const struct ux_manifest_head *head,
						  const char *store)
{
	const struct ux_manifest_state *own = &head->own, *found = NULL;
	for (size_t i = 0; i < head->n_seen && !found; i++)
		if (strcmp(head->seen[i].store, store) == 0)
			found = &head->seen[i];
	if (!own->store || strcmp(own->store, store) != 0)
		return found;
	return found && found->serial > own->serial ? found : own;
}

enum ux_code ux_manifest_see(struct ux_manifest_head *head, const struct ux_manifest_state *state,
			     struct ux_error *err)
{
	for (size_t i = 0; i < head->n_seen; i++)
		if (strcmp(head->seen[i].store, state->store) == 0) {
			head->seen[i].serial = ux_max(head->seen[i].serial, state->serial);
			return UX_OK;
		}
	if (head->n_seen == ux_countof(head->seen))
		return ux_error_set(err, UX_ELIMIT, "the copy has objects of more than %d stores",
				    UX_MANIFEST_SEEN_MAX);
	head->seen[head->n_seen++] = *state;
	return UX_OK;
}

const char *ux_manifest_time(const struct ux_manifest_head *head, char text[UX_MANIFEST_TIME_TEXT])
{
	struct tm tm;
	time_t t = (time_t)head->time;
	if (!gmtime_r(&t, &tm) ||
	    strftime(text, UX_MANIFEST_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(text, UX_MANIFEST_TIME_TEXT, "%" PRId64, head->time);
	return text;
}

enum ux_code ux_manifest_check_age(const struct ux_manifest_head *head, int64_t max_age_s,
				   struct ux_error *err)
{
	char text[UX_MANIFEST_TIME_TEXT];
	if (max_age_s == 0)
		return UX_OK;
	if (!head->own.store)
		return ux_error_set(err, UX_ECORRUPT,
				    "the manifest has no time, so its age is unknown; expected one "
				    "that was signed in the last %" PRId64 " s",
				    max_age_s);
	const int64_t age = ux_clock_wall() - head->time;
	return age <= max_age_s
		       ? UX_OK
		       : ux_error_set(err, UX_ECORRUPT,
				      "the manifest of store \"%.60s\" was signed at %s, %" PRId64
				      " s ago; the maximum is %" PRId64 " s",
				      head->own.store, ux_manifest_time(head, text), age,
				      max_age_s);
}
