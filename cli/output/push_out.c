/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a push as text and as JSON. */
#include "push_out.h"

#include "json_out.h"
#include "output.h"

void ux_push_result_json(struct ux_out *out, const struct ux_push_result *r)
{
	char id[UX_ID_TEXT];
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "file", r->path);
	if (r->gpu > 0)
		ux_json_key_u64(&j, "gpu", r->gpu);
	if (r->id)
		ux_json_key_cstr(&j, "id", ux_id_format(r->id, id));
	ux_json_key_cstr(&j, "status", ux_push_status_name(r->status));
	ux_json_key_cstr(&j, "reason", r->reason);
	if (r->warning)
		ux_json_key_cstr(&j, "warning", r->warning);
	if (r->debug)
		ux_json_key_cstr(&j, "debug", r->debug);
	if (r->is_sources) {
		ux_json_key_cstr(&j, "kind", "sources");
		ux_json_key_u64(&j, "sources", r->sources);
		ux_json_key_u64(&j, "missing", r->sources_missing);
		ux_json_key_u64(&j, "outside", r->sources_outside);
		ux_json_key_u64(&j, "size", r->size);
	} else if (r->status == UX_PUSH_DONE_UPLOADED) {
		ux_json_key_cstr(&j, "quality", ux_quality_name(r->quality));
		ux_json_key_u64(&j, "functions", r->counts.functions);
		ux_json_key_u64(&j, "size", r->size);
	}
	ux_json_object_end(&j);
	ux_out_u8(out, '\n');
}

void ux_push_result_text(struct ux_out *out, const struct ux_push_result *r)
{
	char id[UX_ID_TEXT];
	ux_out_fmt(out, "%-13s  ", ux_push_status_name(r->status));
	ux_text(out, ux_bytes_cstr(r->path));
	if (r->gpu > 0)
		ux_out_fmt(out, " gpu %u", r->gpu);
	if (r->id)
		ux_out_fmt(out, "  %s", ux_id_format(r->id, id));
	if (r->is_sources) {
		ux_out_fmt(out, "  %" PRIu64 " source files, ", r->sources);
		ux_text_size(out, r->size);
		if (r->sources_missing > 0)
			ux_out_fmt(out, ", %" PRIu64 " not here", r->sources_missing);
		if (r->sources_outside > 0)
			ux_out_fmt(out, ", %" PRIu64 " outside of the pushed trees",
				   r->sources_outside);
	} else if (r->status == UX_PUSH_DONE_UPLOADED) {
		ux_out_fmt(out, "  %s, ", ux_quality_name(r->quality));
		if (r->counts.functions > 0) /* 0: the server counts them */
			ux_out_fmt(out, "%" PRIu64 " functions, ", r->counts.functions);
		ux_text_size(out, r->size);
		if (r->debug) {
			ux_out_cstr(out, ", from ");
			ux_text(out, ux_bytes_cstr(r->debug));
		}
	}
	if (*r->reason) {
		ux_out_cstr(out, "  (");
		ux_text(out, ux_bytes_cstr(r->reason));
		ux_out_u8(out, ')');
	}
	ux_out_u8(out, '\n');
}

void ux_push_summary_write(struct ux_out *out, const struct ux_push_summary *s, bool dry_run)
{
	static const char *const words[UX_PUSH_STATUS_COUNT] = {
		[UX_PUSH_DONE_UPLOADED] = "uploaded",
		[UX_PUSH_DONE_ALREADY_THERE] = "already there",
		[UX_PUSH_DONE_BETTER_THERE] = "better there",
		[UX_PUSH_DONE_SKIPPED] = "skipped",
		[UX_PUSH_DONE_FAILED] = "failed",
	};
	if (dry_run)
		ux_out_fmt(out, "%" PRIu64 " would be uploaded", s->planned);
	for (size_t i = dry_run ? UX_PUSH_DONE_UPLOADED + 1 : 0; i < UX_PUSH_STATUS_COUNT; i++)
		ux_out_fmt(out, "%s%" PRIu64 " %s", i > 0 ? ", " : "",
			   s->counts[i] - (i == UX_PUSH_DONE_SKIPPED ? s->planned : 0), words[i]);
	ux_out_u8(out, '\n');
}

void ux_push_unlisted_add(struct ux_push_unlisted *u, const char *reason)
{
	/* The rest of a reason is about this one file. */
	int size = (int)ux_min(strcspn(reason, ":;"), (size_t)UX_PUSH_REASON_SHORT - 1);
	char text[UX_PUSH_REASON_SHORT];
	size_t i = 0;
	(void)snprintf(text, sizeof(text), "%.*s", size, reason);
	u->total++;
	while (i < u->n && strcmp(u->of[i].reason, text) != 0)
		i++;
	if (i == UX_PUSH_REASONS_MAX) {
		u->others++;
		return;
	}
	if (i == u->n)
		memcpy(u->of[u->n++].reason, text, sizeof(text));
	u->of[i].n++;
}

void ux_push_unlisted_write(struct ux_out *out, const struct ux_push_unlisted *u)
{
	if (u->total == 0)
		return;
	ux_out_fmt(out,
		   "%-13s  %" PRIu64 " %s in folders: ", ux_push_status_name(UX_PUSH_DONE_SKIPPED),
		   u->total, u->total == 1 ? "file" : "files");
	for (size_t i = 0; i < u->n; i++) {
		ux_out_fmt(out, "%s%" PRIu64 " ", i > 0 ? ", " : "", u->of[i].n);
		ux_text(out, ux_bytes_cstr(u->of[i].reason));
	}
	if (u->others > 0)
		ux_out_fmt(out, ", %" PRIu64 " others", u->others);
	ux_out_cstr(out, "; -v prints them\n");
}
