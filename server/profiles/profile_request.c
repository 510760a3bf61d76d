/* SPDX-License-Identifier: Apache-2.0 */
/* Reads parameters of requests about kept profiles. */
#include "profile_request.h"

#include "text.h"

#include <time.h>

enum {
	SPAN_S = 3600, /* seconds of the time range without a parameter */
};

bool ux_profile_time_parse(struct ux_bytes text, ux_time *ret)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	char copy[32];
	uint64_t seconds = 0;
	if (ux_decimal_parse(text, &seconds) && seconds <= INT64_MAX / 2) {
		*ret = (ux_time)seconds;
		return true;
	}
	if (text.size >= sizeof(copy) || text.size == 0)
		return false;
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	if (copy[text.size - 1] == 'Z')
		copy[text.size - 1] = '\0';
	for (size_t i = 0; i < ux_countof(forms); i++) {
		struct tm tm = {0};
		const char *end = strptime(copy, forms[i], &tm);
		if (!end || *end != '\0')
			continue;
		struct tm same = tm;
		*ret = timegm(&same);
		/* timegm() normalises days that do not exist. */
		return same.tm_mday == tm.tm_mday && same.tm_mon == tm.tm_mon && *ret >= 0;
	}
	return false;
}

enum ux_code ux_profile_parameter(struct ux_request *req, const char *name, const char **ret)
{
	struct ux_bytes v;
	*ret = NULL;
	if (!ux_request_query(req, name, &v) || v.size == 0)
		return UX_OK;
	*ret = ux_arena_strndup(&req->arena, v.data, v.size);
	return *ret ? UX_OK : ux_arena_fail(&req->arena, &req->err);
}

/* Reads a time. *ret is unchanged if the parameter is absent. */
static enum ux_code request_time(struct ux_request *req, const char *name, ux_time *ret)
{
	struct ux_bytes v;
	if (!ux_request_query(req, name, &v) || v.size == 0 || ux_profile_time_parse(v, ret))
		return UX_OK;
	return ux_error_set(
		&req->err, UX_EINVAL,
		"%s is \"%.*s\"; expected 2026-11-22T16:05 (UTC), or seconds since 1970", name,
		(int)ux_min(v.size, (size_t)40), (const char *)v.data);
}

/* Gets the newest time of a service, from a list that begins with its name and has one entry. */
static enum ux_code request_newest(struct ux_request *req, const char *ns, const char *service,
				   ux_time *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_profile_service found;
	UX_TRY(ix->profiles.service(ix, ns, service, &req->arena, &found, &req->err));
	*ret = found.ended;
	return UX_OK;
}

static enum ux_code request_span(struct ux_request *req, const char *from, const char *until,
				 struct ux_profile_filter *f)
{
	UX_TRY(request_time(req, until, &f->until));
	f->from = f->until - SPAN_S;
	UX_TRY(request_time(req, from, &f->from));
	if (f->from > f->until)
		return ux_error_set(&req->err, UX_EINVAL, "%s is later than %s", from, until);
	return UX_OK;
}

static enum ux_code request_before(struct ux_request *req, struct ux_profile_request *r)
{
	struct ux_bytes v;
	const char *build = NULL;
	UX_TRY(ux_profile_parameter(req, "before_build", &build));
	bool times = (ux_request_query(req, "before_from", &v) && v.size > 0) ||
		     (ux_request_query(req, "before_until", &v) && v.size > 0);
	bool earlier = ux_request_query(req, "compare", &v) && ux_bytes_eq(v, UX_STR("before"));
	r->compared = build || times || earlier;
	r->before = r->filter;
	if (!r->compared)
		return UX_OK;
	if (build)
		r->before.build = build;
	if (times || !build) {
		r->before.until = r->filter.from - 1;
		UX_TRY(request_time(req, "before_until", &r->before.until));
		r->before.from = r->before.until - (r->filter.until - r->filter.from);
		UX_TRY(request_time(req, "before_from", &r->before.from));
	}
	if (r->before.from > r->before.until)
		return ux_error_set(&req->err, UX_EINVAL, "before_from is later than before_until");
	return UX_OK;
}

enum ux_code ux_profile_request_read(struct ux_request *req, const char *service,
				     struct ux_profile_request *ret)
{
	struct ux_bytes v;
	const char *ns = ux_caller_of(req)->ns;
	*ret = (struct ux_profile_request){.value = UX_STR("")};
	ret->filter = (struct ux_profile_filter){.ns = ns, .service = service};
	if (!service)
		UX_TRY(ux_profile_parameter(req, "service", &ret->filter.service));
	UX_TRY(ux_profile_parameter(req, "host", &ret->filter.host));
	UX_TRY(ux_profile_parameter(req, "build", &ret->filter.build));
	if (!ret->filter.service)
		return ux_error_set(&req->err, UX_EINVAL,
				    "missing service; expected ?service=NAME");
	if (ux_request_query(req, "value", &v))
		ret->value = v;
	ret->lines = ux_request_query(req, "level", &v) && ux_bytes_eq(v, UX_STR("lines"));
	UX_TRY(request_newest(req, ns, ret->filter.service, &ret->filter.until));
	UX_TRY(request_span(req, "from", "until", &ret->filter));
	return request_before(req, ret);
}
