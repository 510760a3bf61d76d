/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of an OTLP message from the sources of names for profiles: files and
 * servers. */
#include "otlp_names.h"

#include "demangle.h"
#include "profile_symbolize.h"

/* Functions that the message already has, by linkage name and file of the profile. */
struct otlp_functions {
	struct ux_otlp_names *names;
	const struct ux_profile *profile;
	struct ux_profile_numbers numbers;
	struct ux_out name;
};

static void otlp_functions_deinit(struct otlp_functions *f)
{
	ux_profile_numbers_deinit(&f->numbers);
	ux_out_deinit(&f->name);
}

static enum ux_code otlp_functions_find(struct otlp_functions *f,
					const struct ux_profile_frame *frame, uint32_t *ret,
					struct ux_error *err)
{
	bool fresh = false;
	uint32_t *number = ux_profile_numbers_insert(
		&f->numbers, (uint64_t)frame->linkage << 32 | frame->file, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh) {
		struct ux_bytes linkage = ux_profile_text(f->profile, frame->linkage);
		ux_out_reset(&f->name);
		ux_demangle(linkage, UX_DEMANGLE_FULL, &f->name);
		UX_TRY(ux_out_status(&f->name, err));
		*number = ux_otlp_names_function(
			f->names, ux_otlp_names_string(f->names, ux_out_bytes(&f->name)),
			ux_otlp_names_string(f->names, linkage),
			ux_otlp_names_string(f->names, ux_profile_text(f->profile, frame->file)));
	}
	*ret = *number;
	return UX_OK;
}

/* Makes a profile of the modules and their addresses. Its first location has number `first`. */
static enum ux_code otlp_names_to_profile(const struct ux_otlp_names *n, struct ux_profile *p,
					  uint32_t *first, struct ux_error *err)
{
	*first = (uint32_t)p->locations.size;
	for (size_t m = 0; m < n->modules.size; m++) {
		const struct ux_otlp_module *from = &n->modules.data[m];
		struct ux_profile_module module = {.id = from->id};
		struct ux_profile_location location = {.kind = UX_PROFILE_PC};
		uint32_t unused = 0;
		UX_TRY(ux_profile_string(p, from->path, &module.path, err));
		UX_TRY(ux_profile_add_module(p, module, &location.module, err));
		for (size_t i = 0; i < from->n; i++) {
			location.address = n->addresses[from->first + i];
			UX_TRY(ux_profile_add_location(p, location, &unused, err));
		}
	}
	return UX_OK;
}

enum ux_code ux_otlp_names_symbolize(struct ux_otlp_names *n,
				     const struct ux_profile_sources *sources, struct ux_error *err)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p = {0};
	ux_cleanup(otlp_functions_deinit) struct otlp_functions f = {.names = n, .profile = &p};
	uint32_t first = 0;
	UX_TRY(ux_profile_init(&p, err));
	UX_TRY(otlp_names_to_profile(n, &p, &first, err));
	UX_TRY(ux_profile_symbolize(&p, sources, err));
	for (size_t i = first; i < p.locations.size; i++) {
		const struct ux_profile_location *l = &p.locations.data[i];
		uint8_t *end = ux_otlp_lines_begin(n, l->n);
		for (uint32_t k = 0; end && k < l->n; k++) {
			const struct ux_profile_frame *frame = &p.frames.data[l->first + k];
			uint32_t function = 0;
			UX_TRY(otlp_functions_find(&f, frame, &function, err));
			end = ux_otlp_lines_put(end, function, frame->line);
		}
		/* the addresses of all modules follow each other as the locations do */
		if (end)
			ux_otlp_lines_end(n, i - first, end);
	}
	return ux_otlp_names_status(n, err);
}
