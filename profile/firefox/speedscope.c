/* SPDX-License-Identifier: Apache-2.0 */
/* Writing speedscope's file format. Source: github.com/jlfwong/speedscope, "Importing from custom
 * sources", and its JSON schema. */
#include "json_out.h"
#include "profile_viewers.h"

/* The profile that is being written. */
struct speedscope {
	const struct ux_profile *p;
	struct ux_functions functions;
	struct ux_frame_functions of;
	uint32_t *order; /* samples, by thread */
	uint32_t *stack; /* functions of one sample, outermost first */
	size_t stack_cap;
	struct ux_json json;
	struct ux_stream *s;
};

static void speedscope_deinit(struct speedscope *w)
{
	ux_functions_deinit(&w->functions);
	ux_frame_functions_deinit(&w->of);
	free(w->order);
	free(w->stack);
}

static enum ux_code speedscope_put_frames(struct speedscope *w, struct ux_error *err)
{
	const struct ux_functions *fs = &w->functions;
	struct ux_json *j = &w->json;
	ux_json_key(j, "shared");
	ux_json_object_begin(j);
	ux_json_key(j, "frames");
	ux_json_array_begin(j);
	for (uint32_t i = 0; i < fs->list.size; i++) {
		const struct ux_function *f = &fs->list.data[i];
		uint32_t file = f->file ? f->file : f->path;
		ux_json_object_begin(j);
		ux_json_key_str(j, "name", ux_function_name(fs, i));
		if (file != 0)
			ux_json_key_str(j, "file", ux_strings_get(&fs->strings, file));
		if (f->file != 0 && f->line != 0)
			ux_json_key_u64(j, "line", f->line);
		ux_json_object_end(j);
		UX_TRY(ux_stream_pass(w->s, err));
	}
	ux_json_array_end(j);
	ux_json_object_end(j);
	return UX_OK;
}

/* Returns the schema's word for a unit; "none" for all others. */
static const char *speedscope_unit(struct ux_bytes unit)
{
	static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds", "bytes"};
	for (size_t i = 0; i < ux_countof(units); i++)
		if (ux_bytes_eq(unit, ux_bytes_cstr(units[i])))
			return units[i];
	return "none";
}

static enum ux_code speedscope_put_stack(struct speedscope *w, uint32_t stack, struct ux_error *err)
{
	const struct ux_profile *p = w->p;
	size_t total = 0, n = 0;
	for (uint32_t s = stack; s != 0; s = p->stacks.data[s].caller) {
		ux_functions_at(p, &w->of, p->stacks.data[s].location, &n);
		total += n;
	}
	if (total > w->stack_cap) {
		uint32_t *grown = reallocarray(w->stack, total * 2, sizeof(*grown));
		if (!grown)
			return ux_error_nomem(err);
		w->stack = grown;
		w->stack_cap = total * 2;
	}
	size_t at = total;
	for (uint32_t s = stack; s != 0; s = p->stacks.data[s].caller) {
		const uint32_t *functions =
			ux_functions_at(p, &w->of, p->stacks.data[s].location, &n);
		for (size_t i = 0; i < n; i++)
			w->stack[--at] = functions[i];
	}
	ux_json_array_begin(&w->json);
	for (size_t i = 0; i < total; i++)
		ux_json_u64(&w->json, w->stack[i]);
	ux_json_array_end(&w->json);
	return ux_stream_pass(w->s, err);
}

/* Returns the value of a sample; 0: it cannot be shown. */
static uint64_t speedscope_weight(const struct speedscope *w, size_t at, size_t type)
{
	const struct ux_profile_sample *sample = &w->p->samples.data[w->order[at]];
	int64_t v = ux_profile_sample_values(w->p, sample)[type];
	return v > 0 ? (uint64_t)v : 0;
}

static void speedscope_put_name(struct speedscope *w, uint32_t thread, size_t type)
{
	const struct ux_profile_thread *t = &w->p->threads.data[thread];
	struct ux_out *out = &w->s->out;
	ux_cleanup(ux_out_deinit) struct ux_out text = {0};
	struct ux_bytes name = ux_profile_text(w->p, w->p->types[type].name);
	struct ux_bytes comm = ux_profile_text(w->p, t->comm);
	ux_out_put(&text, name.data, name.size);
	if (thread != 0) {
		ux_out_cstr(&text, " of ");
		ux_out_put(&text, comm.data, comm.size);
		ux_out_fmt(&text, " (%" PRIu32 "/%" PRIu32 ")", t->pid, t->tid);
	}
	out->failed |= text.failed;
	ux_json_key_str(&w->json, "name", ux_out_bytes(&text));
}

/* Writes the samples order[first] to order[last - 1], which belong to one thread. */
static enum ux_code speedscope_put_profile(struct speedscope *w, size_t first, size_t last,
					   size_t type, struct ux_error *err)
{
	struct ux_json *j = &w->json;
	uint64_t sum = 0;
	for (size_t i = first; i < last; i++)
		sum += speedscope_weight(w, i, type);
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "type", "sampled");
	speedscope_put_name(w, w->p->samples.data[w->order[first]].thread, type);
	ux_json_key_cstr(j, "unit", speedscope_unit(ux_profile_text(w->p, w->p->types[type].unit)));
	ux_json_key_u64(j, "startValue", 0);
	ux_json_key_u64(j, "endValue", sum);
	ux_json_key(j, "samples");
	ux_json_array_begin(j);
	for (size_t i = first; i < last; i++)
		if (speedscope_weight(w, i, type) > 0)
			UX_TRY(speedscope_put_stack(w, w->p->samples.data[w->order[i]].stack, err));
	ux_json_array_end(j);
	ux_json_key(j, "weights");
	ux_json_array_begin(j);
	for (size_t i = first; i < last; i++) {
		uint64_t weight = speedscope_weight(w, i, type);
		if (weight > 0)
			ux_json_u64(j, weight);
		UX_TRY(ux_stream_pass(w->s, err));
	}
	ux_json_array_end(j);
	ux_json_object_end(j);
	return UX_OK;
}

/* Writes one profile for each value and thread. */
static enum ux_code speedscope_put_profiles(struct speedscope *w, size_t *ret_threads,
					    struct ux_error *err)
{
	size_t n = w->p->samples.size;
	ux_json_key(&w->json, "profiles");
	ux_json_array_begin(&w->json);
	for (size_t type = 0; type < w->p->n_types; type++) {
		*ret_threads = 0;
		for (size_t i = 0, end = 0; i < n; i = end, ++*ret_threads) {
			uint32_t thread = w->p->samples.data[w->order[i]].thread;
			while (end < n && w->p->samples.data[w->order[end]].thread == thread)
				end++;
			UX_TRY(speedscope_put_profile(w, i, end, type, err));
		}
	}
	ux_json_array_end(&w->json);
	return UX_OK;
}

static enum ux_code speedscope_put(struct speedscope *w, const struct ux_viewer_options *options,
				   struct ux_error *err)
{
	size_t threads = 0;
	UX_TRY(ux_functions_init(&w->functions, options->demangle, err));
	UX_TRY(ux_functions_of_profile(&w->functions, w->p, &w->of, err));
	UX_TRY(ux_profile_order(w->p, &w->order, err));
	ux_json_object_begin(&w->json);
	ux_json_key_cstr(&w->json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	ux_json_key_str(&w->json, "name", options->title);
	ux_json_key_cstr(&w->json, "exporter", "unhex@" UX_VERSION);
	UX_TRY(speedscope_put_frames(w, err));
	UX_TRY(speedscope_put_profiles(w, &threads, err));
	ux_json_key_u64(&w->json, "activeProfileIndex", threads * options->type);
	ux_json_object_end(&w->json);
	ux_out_u8(&w->s->out, '\n');
	return ux_stream_flush(w->s, err);
}

enum ux_code ux_speedscope_write(const struct ux_profile *p,
				 const struct ux_viewer_options *options, struct ux_stream *s,
				 struct ux_error *err)
{
	struct speedscope w = {.p = p, .s = s, .json = ux_json_make(&s->out)};
	enum ux_code code = speedscope_put(&w, options, err);
	speedscope_deinit(&w);
	return code;
}
