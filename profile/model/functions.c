/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions, from the frames and places of a profile. */
#include "functions.h"

#include "demangle.h"
#include "profile_text.h"

enum ux_code ux_functions_init(struct ux_functions *fs, enum ux_demangle_mode demangle,
			       struct ux_error *err)
{
	*fs = (struct ux_functions){.demangle = demangle};
	return ux_strings_init(&fs->strings, err);
}

void ux_functions_deinit(struct ux_functions *fs)
{
	ux_strings_deinit(&fs->strings);
	ux_function_list_deinit(&fs->list);
	ux_profile_numbers_deinit(&fs->numbers);
}

void ux_frame_functions_deinit(struct ux_frame_functions *f)
{
	free(f->of_frame);
	free(f->of_location);
	*f = (struct ux_frame_functions){0};
}

/* Finds or adds a function. Fills in properties that were unknown. */
static enum ux_code functions_add(struct ux_functions *fs, const struct ux_function *function,
				  uint32_t *ret, struct ux_error *err)
{
	bool fresh = false;
	uint32_t *number = ux_profile_numbers_insert(
		&fs->numbers, (uint64_t)function->name << 32 | function->module, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh) {
		if (fs->list.size >= UINT32_MAX)
			return ux_error_set(err, UX_ELIMIT, "more than %u functions", UINT32_MAX);
		*number = (uint32_t)fs->list.size;
		*ret = *number;
		return ux_function_list_append(&fs->list, *function) ? UX_OK : ux_error_nomem(err);
	}
	*ret = *number;
	struct ux_function *known = &fs->list.data[*number];
	if (known->file == 0) {
		known->file = function->file;
		known->line = function->line;
	}
	return UX_OK;
}

enum ux_code ux_functions_add_label(struct ux_functions *fs, struct ux_bytes name, uint32_t *ret,
				    struct ux_error *err)
{
	struct ux_function label = {.named = true};
	UX_TRY(ux_strings_add(&fs->strings, name, &label.name, err));
	return functions_add(fs, &label, ret, err);
}

/* A profile that is being added to the table. */
struct functions_input {
	struct ux_functions *fs;
	const struct ux_profile *p;
	uint32_t *kept;        /* for each string of the profile: number in the table, plus one */
	uint32_t *demangled;   /* the same for the readable text of a linkage name */
	uint32_t *module_name; /* for each module */
	uint32_t *module_path;
	uint32_t *module_why;
	struct ux_out text;
};

static enum ux_code functions_keep(struct functions_input *in, uint32_t string, uint32_t *ret,
				   struct ux_error *err)
{
	if (in->kept[string] == 0) {
		UX_TRY(ux_strings_add(&in->fs->strings, ux_profile_text(in->p, string), ret, err));
		in->kept[string] = *ret + 1;
	}
	*ret = in->kept[string] - 1;
	return UX_OK;
}

static enum ux_code functions_demangle(struct functions_input *in, uint32_t string, uint32_t *ret,
				       struct ux_error *err)
{
	if (in->demangled[string] == 0) {
		ux_out_reset(&in->text);
		ux_demangle(ux_profile_text(in->p, string), in->fs->demangle, &in->text);
		UX_TRY(ux_out_status(&in->text, err));
		UX_TRY(ux_strings_add(&in->fs->strings, ux_out_bytes(&in->text), ret, err));
		in->demangled[string] = *ret + 1;
	}
	*ret = in->demangled[string] - 1;
	return UX_OK;
}

static enum ux_code functions_modules(struct functions_input *in, struct ux_error *err)
{
	for (size_t i = 0; i < in->p->modules.size; i++) {
		const struct ux_profile_module *m = &in->p->modules.data[i];
		struct ux_bytes name = ux_profile_base_name(ux_profile_text(in->p, m->path));
		UX_TRY(functions_keep(in, m->path, &in->module_path[i], err));
		UX_TRY(functions_keep(in, m->why, &in->module_why[i], err));
		UX_TRY(ux_strings_add(&in->fs->strings, name, &in->module_name[i], err));
	}
	return UX_OK;
}

/* Sets the function of a location without a name: "libx.so+0x1234". */
static enum ux_code functions_unnamed(struct functions_input *in,
				      const struct ux_profile_location *l, uint32_t *ret,
				      struct ux_error *err)
{
	struct ux_function f = {
		.module = in->module_name[l->module],
		.path = in->module_path[l->module],
		.why = in->module_why[l->module],
	};
	ux_out_reset(&in->text);
	ux_profile_write_place(in->p, l, &in->text);
	UX_TRY(ux_out_status(&in->text, err));
	UX_TRY(ux_strings_add(&in->fs->strings, ux_out_bytes(&in->text), &f.name, err));
	return functions_add(in->fs, &f, ret, err);
}

static enum ux_code functions_frame(struct functions_input *in, const struct ux_profile_location *l,
				    const struct ux_profile_frame *frame, uint32_t *ret,
				    struct ux_error *err)
{
	struct ux_function f = {
		.module = in->module_name[l->module],
		.path = in->module_path[l->module],
		.line = frame->start_line ? frame->start_line : frame->line,
		.named = ux_profile_frame_is_named(in->p, frame),
	};
	if (frame->name != 0)
		UX_TRY(functions_keep(in, frame->name, &f.name, err));
	else if (frame->linkage != 0)
		UX_TRY(functions_demangle(in, frame->linkage, &f.name, err));
	else
		return functions_unnamed(in, l, ret, err);
	UX_TRY(functions_keep(in, frame->file, &f.file, err));
	return functions_add(in->fs, &f, ret, err);
}

static enum ux_code functions_locations(struct functions_input *in, struct ux_frame_functions *ret,
					struct ux_error *err)
{
	for (size_t i = 0; i < in->p->locations.size; i++) {
		const struct ux_profile_location *l = &in->p->locations.data[i];
		if (l->n == 0 && i > 0)
			UX_TRY(functions_unnamed(in, l, &ret->of_location[i], err));
		for (uint32_t k = 0; k < l->n; k++)
			UX_TRY(functions_frame(in, l, &in->p->frames.data[l->first + k],
					       &ret->of_frame[l->first + k], err));
	}
	return UX_OK;
}

enum ux_code ux_functions_of_profile(struct ux_functions *fs, const struct ux_profile *p,
				     struct ux_frame_functions *ret, struct ux_error *err)
{
	size_t strings = p->strings.list.size;
	size_t modules = p->modules.size;
	struct functions_input in = {.fs = fs, .p = p};
	in.kept = calloc(strings, sizeof(*in.kept));
	in.demangled = calloc(strings, sizeof(*in.demangled));
	in.module_name = calloc(modules, sizeof(*in.module_name));
	in.module_path = calloc(modules, sizeof(*in.module_path));
	in.module_why = calloc(modules, sizeof(*in.module_why));
	ret->of_frame = calloc(p->frames.size + 1, sizeof(*ret->of_frame));
	ret->of_location = calloc(p->locations.size, sizeof(*ret->of_location));
	enum ux_code code = UX_OK;
	if (!in.kept || !in.demangled || !in.module_name || !in.module_path || !in.module_why ||
	    !ret->of_frame || !ret->of_location)
		code = ux_error_nomem(err);
	if (code == UX_OK)
		code = functions_modules(&in, err);
	if (code == UX_OK)
		code = functions_locations(&in, ret, err);
	free(in.kept);
	free(in.demangled);
	free(in.module_name);
	free(in.module_path);
	free(in.module_why);
	ux_out_deinit(&in.text);
	return code;
}
