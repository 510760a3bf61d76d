/* SPDX-License-Identifier: Apache-2.0 */
/* Names of run-time code: by perf maps of this machine, by snapshots at a server. */
#include "symbolize_batch.h"

#include "file.h"
#include "jit.h"
#include "jit_files.h"

/* Names addresses of run-time code by one of the server's snapshots of it. */
static enum ux_code symbolize_snapshot(struct ux_symbolize_batch *b, uint32_t module,
				       const struct ux_profile_sources *sources,
				       const struct ux_id *id)
{
	b->n_pcs = 0;
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		if (l->n == 0)
			ux_symbolize_add_pc(b, b->locations[i], l->address);
	}
	return ux_symbolize_query(b, module, sources, id, /* may_be_gone= */ true);
}

/*
 * Names addresses of run-time code by the snapshots that an agent has sent to the server: the
 * snapshot of the time, then earlier ones of the same process. The time is in the module's
 * identity, or is the end of the recording.
 */
enum ux_code ux_symbolize_jit_by_server(struct ux_symbolize_batch *b, uint32_t module,
					const struct ux_profile_sources *sources)
{
	const struct ux_profile *p = b->profile;
	const struct ux_profile_module *m = &p->modules.data[module];
	ux_cleanup(ux_runtime_list_deinit) struct ux_runtime_list list = {0};
	struct ux_error why = UX_ERROR_INIT;
	size_t at = 0;
	if (!sources->server || !sources->server_runtime || p->host == 0 || m->pid == 0)
		return UX_OK;
	const char *host = (const char *)ux_profile_text(p, p->host).data;
	enum ux_code code = sources->server_runtime(sources->server_ctx, host, m->pid, &list, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	if (code != UX_OK)
		return ux_symbolize_reason(b, module, &why);
	if (m->id.size > 0)
		while (at < list.size && !ux_id_eq(&list.data[at].id, &m->id))
			at++;
	else
		at = ux_runtime_list_find(&list, p->start_ns > 0
							 ? (int64_t)(p->start_ns + p->duration_ns)
							 : INT64_MAX);
	ux_symbolize_forget_texts(b);
	b->passing = true;
	for (size_t i = at; i < list.size; i++)
		if (list.data[i].span.started_ns == list.data[at].span.started_ns)
			UX_TRY(symbolize_snapshot(b, module, sources, &list.data[i].id));
	return UX_OK;
}

enum ux_code ux_symbolize_perf_map(struct ux_symbolize_batch *b, uint32_t module,
				   const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_perf_map_deinit) struct ux_perf_map map;
	struct ux_error why = UX_ERROR_INIT;
	size_t used = 0;
	ux_perf_map_init(&map);
	enum ux_code code = ux_perf_map_open(sources, m->pid, &file, &path, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	if (code != UX_OK)
		return ux_symbolize_reason(b, module, &why);
	code = ux_perf_map_feed(&map, file.bytes, &used, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	for (size_t i = 0; i < b->n; i++) {
		const struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		struct ux_frame frame;
		uint64_t size = 0;
		if (ux_perf_map_lookup(&map, l->address - (l->returns && l->address > 0), &frame,
				       &size))
			UX_TRY(ux_symbolize_name(b, b->locations[i], &frame, 1));
	}
	ux_out_reset(&b->path);
	ux_out_fmt(&b->path, "final state of %s, which has no timestamps", path);
	UX_TRY(ux_out_status(&b->path, b->err));
	return ux_profile_string(b->profile, ux_out_bytes(&b->path), &m->source, b->err);
}
