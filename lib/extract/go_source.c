/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own tables as a source. */
#include "go_source.h"

#include "order.h"

static int by_pc(const void *a, const void *b)
{
	const struct ux_gosym_segment *x = a, *y = b;
	UX_ORDER(x->pc, y->pc);
	UX_ORDER(x->bytes.size, y->bytes.size);
	UX_ORDER(x->bytes.data, y->bytes.data);
	return 0;
}

void ux_go_memory_settle(struct ux_go_memory *memory, size_t n)
{
	if (n > 1)
		qsort(memory->segments, n, sizeof(*memory->segments), by_pc);
	memory->image.segments = memory->segments;
	memory->image.n_segments = n;
}

void ux_go_memory_close(struct ux_go_memory *memory)
{
	free(memory->segments);
	free(memory->words);
	*memory = (struct ux_go_memory){0};
}

enum ux_code ux_go_source_read(struct ux_go_source *go, struct ux_module_build *build,
			       struct ux_error *err)
{
	struct ux_error reason = UX_ERROR_INIT;
	if (!ux_extract_includes(build->options, UX_SOURCE_GOPCLNTAB))
		return UX_OK;
	enum ux_code code =
		ux_gosym_open(&go->memory.image, &go->memory.hints, &go->tables, &reason);
	if (code == UX_ENOTFOUND)
		return UX_OK;
	if (code != UX_OK) {
		ux_module_build_lost(build, &reason);
		return UX_OK;
	}
	memcpy(build->stats.go_version, go->tables.version, sizeof(build->stats.go_version));
	UX_TRY(ux_go_units_read(&go->tables, build->threads, build->spill, &go->units, err));
	go->leave = go->tables.trees != UX_GOSYM_TREES_NONE;
	return go->leave ? ux_go_units_leave(&go->units, &build->text, &go->rest, err) : UX_OK;
}

struct ux_range_set ux_go_source_rest(const struct ux_go_source *go,
				      const struct ux_module_build *build)
{
	if (go->leave)
		return (struct ux_range_set){go->rest.data, go->rest.size};
	return ux_module_build_text(build);
}

enum ux_code ux_go_source_add(struct ux_go_source *go, struct ux_module_build *build,
			      struct ux_error *err)
{
	return ux_go_units_add(&go->units, build, err);
}

void ux_go_source_close(struct ux_go_source *go)
{
	ux_range_vec_deinit(&go->rest);
	ux_go_units_free(&go->units);
	ux_go_memory_close(&go->memory);
}
