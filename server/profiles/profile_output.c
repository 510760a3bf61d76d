/* SPDX-License-Identifier: Apache-2.0 */
/* Writes answers from a profile. */
#include "profile_output.h"

#include "folded.h"
#include "profile_viewers.h"
#include "server.h"
#include "stored_profile.h"

/* share of the width; narrower frames, under half a pixel, are omitted from a picture */
static const double output_svg_min = 0.0004;

static const struct {
	const char *name;
	const char *type;
	const char *file; /* Content-Disposition of a download */
} outputs[] = {
	[UX_OUTPUT_PPROF] = {"pprof", "application/octet-stream",
			     "attachment; filename=\"profile.pb.gz\""},
	[UX_OUTPUT_FOLDED] = {"folded", "text/plain; charset=utf-8",
			      "attachment; filename=\"profile.folded\""},
	[UX_OUTPUT_SPEEDSCOPE] = {"speedscope", "application/json",
				  "attachment; filename=\"profile.speedscope.json\""},
	[UX_OUTPUT_FIREFOX] = {"firefox", "application/json",
			       "attachment; filename=\"profile.firefox.json\""},
	[UX_OUTPUT_HTML] = {"html", "text/html; charset=utf-8",
			    "attachment; filename=\"flame.html\""},
	[UX_OUTPUT_SVG] = {"svg", "image/svg+xml", "attachment; filename=\"flame.svg\""},
};

bool ux_profile_output_parse(struct ux_bytes name, enum ux_profile_output *ret)
{
	for (size_t i = 0; i < ux_countof(outputs); i++)
		if (ux_bytes_eq(name, ux_bytes_cstr(outputs[i].name))) {
			*ret = (enum ux_profile_output)i;
			return true;
		}
	return false;
}

bool ux_profile_output_has_pages(void *ctx, const struct ux_id *id)
{
	const struct ux_request *req = ctx;
	struct ux_index *ix = ux_server_of(req)->store->index;
	char text[UX_ID_TEXT];
	int64_t number = 0;
	return ix->modules.number(ix, ux_caller_of(req)->ns, ux_id_format(id, text), &number,
				  NULL) == UX_OK;
}

static enum ux_code output_pass(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_request *req = ctx;
	ux_out_put(&req->out, bytes.data, bytes.size);
	return ux_out_status(&req->out, err);
}

static enum ux_code output_put_graph(struct ux_request *req,
				     const struct ux_profile_output_options *o, struct ux_stream *s)
{
	bool picture = o->format == UX_OUTPUT_SVG;
	ux_cleanup(ux_call_tree_deinit) struct ux_call_tree tree = {0};
	struct ux_call_options options = {
		.demangle = UX_DEMANGLE_SHORT,
		.max = picture ? UX_OUTPUT_NODES_PICTURE_MAX : UX_OUTPUT_NODES_MAX,
		.grown_max = UX_OUTPUT_GROWN_MAX,
		.names_max = UX_PROFILE_NAMES_MAX,
		.min = picture ? output_svg_min : 0,
		.has_pages = o->flame.frame_url.size > 0 ? ux_profile_output_has_pages : NULL,
		.has_pages_ctx = req,
	};
	struct ux_flame_options flame = o->flame;
	UX_TRY(ux_call_tree_make(&tree, o->profile, o->before, &options, &req->err));
	UX_TRY(ux_call_tree_type(&tree, o->value, &flame.type, &req->err));
	UX_TRY(ux_request_check(req));
	return picture ? ux_flame_svg(&tree, &flame, s, &req->err)
		       : ux_flame_html(&tree, &flame, s, &req->err);
}

static enum ux_code output_put_samples(struct ux_request *req,
				       const struct ux_profile_output_options *o,
				       struct ux_stream *s)
{
	struct ux_viewer_options viewer = {.title = o->flame.title, .demangle = UX_DEMANGLE_SHORT};
	UX_TRY(ux_profile_type_find(o->profile, o->value, &viewer.type, &req->err));
	switch (o->format) {
	case UX_OUTPUT_PPROF:
		return ux_stored_profile_write(o->profile, &req->out, &req->err);
	case UX_OUTPUT_FOLDED:
		s->out.quota = req->out.quota;
		return ux_folded_write(o->profile, viewer.type, UX_DEMANGLE_SHORT, s, &req->err);
	case UX_OUTPUT_SPEEDSCOPE:
		return ux_speedscope_write(o->profile, &viewer, s, &req->err);
	case UX_OUTPUT_FIREFOX:
		return ux_firefox_write(o->profile, &viewer, s, &req->err);
	case UX_OUTPUT_HTML:
	case UX_OUTPUT_SVG:
		break;
	}
	return output_put_graph(req, o, s);
}

/*
 * Sets the policy. The page has the same in its own markup, but frame-ancestors works only in a
 * header.
 */
static enum ux_code output_put_policy(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_out_deinit) struct ux_out policy = {0};
	ux_out_fmt(
		&policy,
		"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
		"script-src '%s'; style-src '%s'",
		ux_asset_flame_script.integrity, ux_asset_flame_style.integrity);
	UX_TRY(ux_out_status(&policy, &req->err));
	char *kept = ux_arena_strndup(&req->arena, policy.data, policy.size);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	ux_response_field(res, "Content-Security-Policy", ux_bytes(kept, policy.size));
	ux_response_field(res, "Cross-Origin-Opener-Policy", UX_STR("same-origin"));
	ux_response_field(res, "Cross-Origin-Resource-Policy", UX_STR("same-origin"));
	return UX_OK;
}

enum ux_code ux_profile_output_put(struct ux_request *req, struct ux_response *res,
				   const struct ux_profile_output_options *o)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream s = {.write = output_pass, .ctx = req};
	UX_TRY(output_put_samples(req, o, &s));
	UX_TRY(ux_stream_flush(&s, &req->err));
	if (o->format == UX_OUTPUT_HTML)
		UX_TRY(output_put_policy(req, res));
	else if (o->format == UX_OUTPUT_SVG)
		ux_response_field(res, "Content-Security-Policy",
				  UX_STR("default-src 'none'; style-src 'unsafe-inline'; "
					 "frame-ancestors 'none'"));
	if (o->download)
		ux_response_field(res, "Content-Disposition",
				  ux_bytes_cstr(outputs[o->format].file));
	return ux_response_out(req, res, outputs[o->format].type);
}
