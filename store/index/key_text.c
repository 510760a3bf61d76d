/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes keys as text. */
#include "key_text.h"

#include "index.h"
#include "text.h"

#include <time.h>

enum {
	DAY_S = 24 * 60 * 60,
	YEARS_MAX = 1000,
};

bool ux_key_duration_parse(const char *text, int64_t *ret)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'d', DAY_S}, {'h', 3600}, {'m', 60}, {'s', 1}};
	uint64_t n = 0;
	size_t size = strlen(text);
	if (strcmp(text, "0") == 0) {
		*ret = 0;
		return true;
	}
	for (size_t i = 0; i < ux_countof(units) && size > 1; i++) {
		if (text[size - 1] != units[i].unit ||
		    !ux_decimal_parse(ux_bytes(text, size - 1), &n) ||
		    n > (uint64_t)(YEARS_MAX * 366 * (int64_t)DAY_S / units[i].seconds))
			continue;
		*ret = (int64_t)n * units[i].seconds;
		return true;
	}
	return false;
}

/* Parses a date like "2027-12-31" to the first second of that day in UTC. */
static bool key_day_parse(const char *text, ux_time *ret)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	if (!end || *end != '\0' || strlen(text) != strlen("2027-12-31"))
		return false;
	struct tm same = tm;
	*ret = timegm(&same);
	return same.tm_mday == tm.tm_mday &&
	       same.tm_mon == tm.tm_mon; /* timegm() normalises days that do not exist */
}

enum ux_code ux_key_expiry_parse(const char *text, const char *name, ux_time now, ux_time *ret,
				 struct ux_error *err)
{
	int64_t seconds = 0;
	if (ux_key_duration_parse(text, &seconds) && seconds > 0)
		*ret = now + seconds;
	else if (!key_day_parse(text, ret))
		return ux_error_set(err, UX_EINVAL,
				    "%s is \"%.40s\"; expected 90d, 12h, 30m or 2027-12-31", name,
				    text);
	return *ret > now ? UX_OK
			  : ux_error_set(err, UX_EINVAL, "%s %.40s is in the past", name, text);
}

enum ux_code ux_key_overlap_parse(const char *text, const char *name, int64_t *ret,
				  struct ux_error *err)
{
	if (ux_key_duration_parse(text, ret))
		return UX_OK;
	return ux_error_set(err, UX_EINVAL, "%s is \"%.40s\"; expected 0, 30m, 12h or 7d", name,
			    text);
}

void ux_json_scopes(struct ux_json *j, unsigned scopes)
{
	char text[UX_SCOPES_TEXT];
	ux_json_key(j, "scopes");
	ux_json_array_begin(j);
	for (unsigned bit = 1; bit <= UX_SCOPES_ALL; bit <<= 1)
		if ((scopes & bit) != 0)
			ux_json_cstr(j, ux_scopes_text(bit, text));
	ux_json_array_end(j);
}

static void key_json_time(struct ux_json *j, const char *name, ux_time t)
{
	char when[UX_TIME_TEXT];
	if (t != 0)
		ux_json_key_cstr(j, name, ux_time_text(t, when));
}

static void key_json_count(struct ux_json *j, const char *name, uint64_t n, uint64_t min)
{
	if (n >= min)
		ux_json_key_u64(j, name, n);
}

void ux_json_api_key(struct ux_json *j, const struct ux_key *key, const char *token)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "id", key->id);
	if (token)
		ux_json_key_cstr(j, "token", token);
	ux_json_scopes(j, key->scopes);
	ux_json_key_cstr(j, "namespace", key->ns ? key->ns : UX_NAMESPACE_DEFAULT);
	ux_json_key_cstr(j, "description", key->description ? key->description : "");
	key_json_time(j, "created", key->created);
	key_json_count(j, "tokens", key->tokens, 2); /* 1 is usual, and omitted */
	key_json_count(j, "rate", key->rate, 1);
	key_json_count(j, "uploads", key->uploads, 1);
	key_json_time(j, "last_used", key->last_used);
	key_json_time(j, "expires", key->expires);
	key_json_time(j, "revoked", key->revoked);
	ux_json_object_end(j);
}
