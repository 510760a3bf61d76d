/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the locations of an OTLP message from the locations of a profile: these get their
 * frames from the sources of names for profiles, files and servers. */
#include "otlp_names.h"

#include "demangle.h"
#include "profile_symbolize.h"

/* Lines of a profile's frames, and the functions that the message already has for them. */
struct otlp_lines {
	struct ux_otlp_names *names;
	const struct ux_profile *profile;
	uint32_t first; /* number in the profile of the first location */
	bool whole;     /* it has all locations of the message; else one for each address */
	struct ux_profile_numbers numbers; /* by linkage name and file of the profile */
	struct ux_out name;
};

static void otlp_lines_deinit(struct otlp_lines *t)
{
	ux_profile_numbers_deinit(&t->numbers);
	ux_out_deinit(&t->name);
}

/* Appends a function. Its strings come in the order of its fields, as a server appends them. */
static enum ux_code otlp_lines_add(struct otlp_lines *t, const struct ux_profile_frame *frame,
				   uint32_t *ret, struct ux_error *err)
{
	const struct ux_bytes linkage = ux_profile_text(t->profile, frame->linkage);
	ux_out_reset(&t->name);
	ux_demangle(linkage, UX_DEMANGLE_FULL, &t->name);
	UX_TRY(ux_out_status(&t->name, err));
	const uint32_t name = ux_otlp_names_string(t->names, ux_out_bytes(&t->name));
	const uint32_t system_name = ux_otlp_names_string(t->names, linkage);
	const uint32_t file =
		ux_otlp_names_string(t->names, ux_profile_text(t->profile, frame->file));
	*ret = ux_otlp_names_function(t->names, name, system_name, file);
	return UX_OK;
}

static enum ux_code otlp_lines_function(struct otlp_lines *t, const struct ux_profile_frame *frame,
					uint32_t *ret, struct ux_error *err)
{
	bool fresh = false;
	uint32_t *number = ux_profile_numbers_insert(
		&t->numbers, (uint64_t)frame->linkage << 32 | frame->file, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh)
		UX_TRY(otlp_lines_add(t, frame, number, err));
	*ret = *number;
	return UX_OK;
}

/* Gives an address the lines of its location in the profile. */
static enum ux_code otlp_lines_set(struct otlp_lines *t, size_t address, struct ux_error *err)
{
	struct ux_otlp_names *n = t->names;
	const size_t at = t->whole ? n->locations.data[n->owners[address]].number : address;
	const struct ux_profile_location *l = &t->profile->locations.data[t->first + at];
	uint8_t *end = ux_otlp_lines_begin(n, l->n);
	if (!end)
		return ux_otlp_names_status(n, err);
	for (uint32_t k = 0; k < l->n; k++) {
		const struct ux_profile_frame *frame = &t->profile->frames.data[l->first + k];
		uint32_t function = 0;
		UX_TRY(otlp_lines_function(t, frame, &function, err));
		end = ux_otlp_lines_put(end, function, frame->line);
	}
	ux_otlp_lines_end(n, address, end);
	return UX_OK;
}

/* Sets the lines of a module's addresses. A server knows the functions of one module at a time, so
 * each module begins with none here too: then both write the same bytes. */
static enum ux_code otlp_lines_set_module(struct otlp_lines *t, size_t first, size_t n,
					  struct ux_error *err)
{
	ux_profile_numbers_deinit(&t->numbers);
	for (size_t i = 0; i < n; i++)
		UX_TRY(otlp_lines_set(t, first + i, err));
	return UX_OK;
}

static enum ux_code otlp_lines_set_modules(struct otlp_lines *t, struct ux_error *err)
{
	const struct ux_otlp_modules *modules = &t->names->modules;
	for (size_t m = 0; m < modules->size; m++)
		UX_TRY(otlp_lines_set_module(t, modules->data[m].first, modules->data[m].n, err));
	return ux_otlp_names_status(t->names, err);
}

enum ux_code ux_otlp_names_take(struct ux_otlp_names *n, const struct ux_profile *p, uint32_t first,
				struct ux_error *err)
{
	ux_cleanup(otlp_lines_deinit) struct otlp_lines t = {
		.names = n, .profile = p, .first = first, .whole = true};
	UX_TRY(otlp_lines_set_modules(&t, err));
	UX_TRY(otlp_lines_set_module(&t, n->locations.size - n->n_unknown, n->n_unknown, err));
	return ux_otlp_names_status(n, err);
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
	ux_cleanup(otlp_lines_deinit) struct otlp_lines t = {.names = n, .profile = &p};
	UX_TRY(ux_profile_init(&p, err));
	UX_TRY(otlp_names_to_profile(n, &p, &t.first, err));
	UX_TRY(ux_profile_symbolize(&p, sources, err));
	return otlp_lines_set_modules(&t, err);
}
