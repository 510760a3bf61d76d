/* SPDX-License-Identifier: Apache-2.0 */
/* GET /modules: the list of modules. */
#include "page.h"
#include "pages.h"

enum {
	PAGE = 50 /* modules on one page */
};

/*
 * A page of modules, newest first; ?before= is the number of the last module on the previous page.
 */
enum ux_code ux_web_modules(struct ux_request *req, struct ux_response *res)
{
	const struct ux_page page = {.title = "Modules - unhex", .section = UX_PAGE_MODULES};
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_module_list list;
	int64_t before = ux_page_number(req, "before", INT64_MAX);
	UX_TRY(ix->modules.newest(ix, ux_caller_of(req)->ns, before, PAGE, &req->arena, &list,
				  &req->err));
	ux_page_begin(req, &page);
	ux_out_cstr(out, "<h1>Modules</h1>\n<p class=\"hint\">Newest first.</p>\n");
	if (list.n == 0)
		ux_out_cstr(out, "<p>There are none.</p>\n");
	else
		ux_out_cstr(out, "<ol class=\"modules\">\n");
	for (size_t i = 0; i < list.n; i++)
		ux_page_module_entry(out, &list.modules[i]);
	if (list.n > 0)
		ux_out_cstr(out, "</ol>\n");
	ux_out_cstr(out, "<nav class=\"pages\" aria-label=\"Pages\">");
	if (before != INT64_MAX)
		ux_out_cstr(out, "<a href=\"/modules\">Newest</a> ");
	if (list.more)
		UX_HTML(out, "<a rel=\"next\" href=\"/modules?before=$\">Older</a>",
			list.modules[list.n - 1].number);
	ux_out_cstr(out, "</nav>\n");
	return ux_page_end(req, res, &page);
}
