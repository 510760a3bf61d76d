/* SPDX-License-Identifier: Apache-2.0 */
/* GET /uploads: open and recent uploads, and the form to send files. */
#include "page.h"
#include "pages.h"

enum {
	RUNNING = 100, /* uploads shown */
	ENDED = 20,
	JOBS = 100
};

static const struct ux_page page = {
	.title = "Uploads - unhex", .section = UX_PAGE_UPLOADS, .script = true};

static const char *page_uploads_state_name(enum ux_upload_state state)
{
	switch (state) {
	case UX_UPLOAD_OPEN:
		return "uploading";
	case UX_UPLOAD_PENDING:
		return "being extracted";
	case UX_UPLOAD_DONE:
		return "done";
	case UX_UPLOAD_FAILED:
		break;
	}
	return "failed";
}

static const char *page_uploads_state_class(enum ux_upload_state state)
{
	return state == UX_UPLOAD_DONE ? "good" : state == UX_UPLOAD_FAILED ? "bad" : "busy";
}

/* Returns the bytes received. The part may have been removed since; then 0. */
static uint64_t page_uploads_bytes_there(struct ux_request *req, const struct ux_upload *up)
{
	struct ux_blobs *b = ux_server_of(req)->store->blobs;
	uint64_t n = 0;
	if (up->state == UX_UPLOAD_PENDING)
		return up->size;
	return b->part_size(b, up->uid, &n, NULL) == UX_OK ? ux_min(n, up->size) : 0;
}

static void page_uploads_put_progress(struct ux_request *req, const struct ux_upload *up)
{
	uint64_t there = page_uploads_bytes_there(req, up);
	UX_HTML(&req->out,
		"<progress max=\"$\" value=\"$\" aria-label=\"Bytes received\"></progress> "
		"<span>$ of $</span> ",
		up->size, there, ux_html_size(there), ux_html_size(up->size));
}

static void page_uploads_put_upload(struct ux_request *req, const struct ux_upload *up)
{
	struct ux_out *out = &req->out;
	bool running = up->state == UX_UPLOAD_OPEN || up->state == UX_UPLOAD_PENDING;
	const char *id = up->n_ids > 0 ? up->ids[0] : "";
	UX_HTML(out, "<li><p><b>$</b> <span class=\"tag $\">$</span> ",
		up->file_name[0] != '\0' ? up->file_name : ux_kind_name(up->kind),
		page_uploads_state_class(up->state), page_uploads_state_name(up->state));
	ux_page_module_link(out, id);
	ux_out_cstr(out, "</p>\n");
	if (up->reason[0] != '\0')
		UX_HTML(out, "<p class=\"$\">$</p>\n",
			up->state == UX_UPLOAD_FAILED ? "reason" : "hint", up->reason);
	ux_out_cstr(out, "<p class=\"facts\">");
	if (running)
		page_uploads_put_progress(req, up);
	else
		UX_HTML(out, "<span>$</span> <span>$</span> ", up->status, ux_html_size(up->size));
	UX_HTML(out, "<span>$</span> <span>key <code>$</code></span> <span>$</span></p></li>\n",
		ux_kind_name(up->kind), up->key_id, ux_html_time(up->updated));
}

static enum ux_code page_uploads_put_uploads(struct ux_request *req, bool running, size_t max,
					     const char *nothing)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_upload_list list;
	UX_TRY(ix->uploads.list(ix, ux_caller_of(req)->ns, running, max, &req->arena, &list,
				&req->err));
	if (list.n == 0)
		UX_HTML(out, "<p class=\"hint\">$</p>\n", nothing);
	else
		ux_out_cstr(out, "<ul class=\"uploads\">\n");
	for (size_t i = 0; i < list.n; i++)
		page_uploads_put_upload(req, &list.uploads[i]);
	if (list.n > 0)
		ux_out_cstr(out, "</ul>\n");
	return UX_OK;
}

static void page_uploads_put_job(struct ux_out *out, const struct ux_job *job, ux_time now)
{
	bool runs = job->lease_until > now;
	UX_HTML(out,
		"<li><p><b>$</b> <code>$</code> <span class=\"tag $\">$</span> "
		"<span>try $</span></p>\n",
		job->kind, job->subject, job->failed ? "bad" : "busy",
		job->failed ? "given up"
		: runs      ? "running"
			    : "waiting",
		job->attempts);
	if (job->reason[0] != '\0')
		UX_HTML(out, "<p class=\"reason\">$</p>\n", job->reason);
	UX_HTML(out, "<p class=\"facts\"><span>since $</span>", ux_html_time(job->created));
	if (!job->failed && !runs && job->next > now)
		UX_HTML(out, " <span>again at $</span>", ux_html_time(job->next));
	ux_out_cstr(out, "</p></li>\n");
}

static enum ux_code page_uploads_put_jobs(struct ux_request *req)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_index *ix = s->store->index;
	struct ux_out *out = &req->out;
	struct ux_job_list list;
	UX_TRY(ix->jobs.list(ix, ux_caller_of(req)->ns, NULL, JOBS, &req->arena, &list, &req->err));
	if (list.n > 0)
		ux_out_cstr(out, "<h2>Jobs</h2>\n<ul class=\"uploads\">\n");
	for (size_t i = 0; i < list.n; i++)
		page_uploads_put_job(out, &list.jobs[i], ux_store_now(s->store));
	if (list.n > 0)
		ux_out_cstr(out, "</ul>\n");
	return UX_OK;
}

/*
 * Writes the form, which only the script makes visible. Without scripts, files are uploaded with
 * the command.
 */
static void page_uploads_put_form(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	bool may = (ux_caller_of(req)->scopes & UX_SCOPE_UPLOAD) != 0;
	ux_out_cstr(out, "<section aria-labelledby=\"send\">\n<h2 id=\"send\">Send files</h2>\n");
	if (!may)
		ux_out_cstr(out,
			    "<p><a href=\"/sign-in?next=%2Fuploads\">Sign in</a> with a key that "
			    "may upload.</p>\n");
	else
		ux_out_cstr(
			out,
			"<form id=\"form\" class=\"send\" hidden>\n"
			"<label for=\"files\">Programs, libraries, debug files or GSYMs</label>\n"
			"<input id=\"files\" type=\"file\" multiple required>\n"
			"<label for=\"description\">Description (optional)</label>\n"
			"<input id=\"description\" maxlength=\"1024\" autocomplete=\"off\">\n"
			"<div class=\"row\"><label class=\"check\"><input id=\"force\" "
			"type=\"checkbox\"> accept them even if the server has better "
			"symbols</label><button class=\"main\">Send</button></div>\n"
			"</form>\n<ul id=\"sending\" class=\"uploads\" aria-live=\"polite\" "
			"aria-label=\"Files of this page\"></ul>\n");
	ux_out_cstr(out, "<p class=\"hint\">From a terminal, or without scripts: <code>unhex push "
			 "FILE...</code></p>\n</section>\n");
}

enum ux_code ux_web_uploads(struct ux_request *req, struct ux_response *res)
{
	struct ux_out *out = &req->out;
	ux_page_begin(req, &page);
	ux_out_cstr(out, "<h1>Uploads</h1>\n");
	page_uploads_put_form(req);
	ux_out_cstr(out, "<section id=\"running\" aria-labelledby=\"now\">\n"
			 "<h2 id=\"now\">In progress</h2>\n");
	UX_TRY(page_uploads_put_uploads(req, /* running= */ true, RUNNING, "None."));
	UX_TRY(page_uploads_put_jobs(req));
	ux_out_cstr(out, "<h2>Ended today</h2>\n");
	UX_TRY(page_uploads_put_uploads(req, /* running= */ false, ENDED, "None."));
	ux_out_cstr(out, "</section>\n");
	return ux_page_end(req, res, &page);
}
