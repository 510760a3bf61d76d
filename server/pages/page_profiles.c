/* SPDX-License-Identifier: Apache-2.0 */
/* GET /profiles: the services with kept profiles. */
#include "page.h"
#include "pages.h"
#include "profile_keeper.h"
#include "profiles.h"

enum {
	SERVICES = 100 /* services on one page */
};

static void page_profiles_put_service(struct ux_out *out, const struct ux_profile_service *s)
{
	UX_HTML(out,
		"<tr><th scope=\"row\"><a href=\"/profiles/$\">$</a></th><td class=\"num\">$</td>"
		"<td class=\"num\">$</td><td>$</td></tr>\n",
		ux_html_url(s->name), s->name, ux_html_count(s->profiles), ux_html_size(s->bytes),
		ux_html_time(s->ended));
}

/* Writes what to do if no profile was kept yet. */
static void page_profiles_put_hint(struct ux_request *req)
{
	bool on = ux_profile_keeper_is_on(ux_server_of(req)->profiles);
	ux_out_cstr(&req->out, "<p>There are none.</p>\n");
	ux_out_cstr(
		&req->out,
		on ? "<p class=\"hint\">Upload one: <code>curl --data-binary @cpu.pb.gz -H "
		     "\"Authorization: Bearer TOKEN\" SERVER/v1/profiles?service=NAME</code>, or "
		     "point an OpenTelemetry profiler at this server.</p>\n"
		   : "<p class=\"hint\">This server keeps no profiles: <code>unhex serve "
		     "--keep-profiles 7d</code> does.</p>\n");
}

enum ux_code ux_web_profiles(struct ux_request *req, struct ux_response *res)
{
	const struct ux_page page = {.title = "Profiles - unhex", .section = UX_PAGE_PROFILES};
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_profile_services list;
	struct ux_bytes after = ux_page_query(req, "after");
	UX_TRY(ux_profiles_check(req));
	UX_TRY(ix->profiles.services(ix, ux_caller_of(req)->ns, (const char *)after.data, SERVICES,
				     &req->arena, &list, &req->err));
	ux_page_begin(req, &page);
	ux_out_cstr(out, "<h1>Profiles</h1>\n");
	if (list.n == 0) {
		page_profiles_put_hint(req);
		return ux_page_end(req, res, &page);
	}
	ux_out_cstr(out,
		    "<div class=\"wide\" role=\"region\" aria-label=\"Services\" "
		    "tabindex=\"0\">\n<table><thead><tr><th scope=\"col\">service</th>"
		    "<th class=\"num\" scope=\"col\">profiles</th><th class=\"num\" "
		    "scope=\"col\">stored</th><th scope=\"col\">newest</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < list.n; i++)
		page_profiles_put_service(out, &list.items[i]);
	ux_out_cstr(out, "</tbody></table>\n</div>\n");
	if (list.more)
		UX_HTML(out,
			"<nav class=\"pages\" aria-label=\"Pages\"><a rel=\"next\" "
			"href=\"/profiles?after=$\">More</a></nav>\n",
			ux_html_url(list.items[list.n - 1].name));
	return ux_page_end(req, res, &page);
}
