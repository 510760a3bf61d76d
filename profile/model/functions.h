/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one or several profiles, by the names that people read: the boxes of a flame
 * graph and the rows of a table.
 */
#ifndef UX_FUNCTIONS_H
#define UX_FUNCTIONS_H

#include "profile.h"
#include "unhex/demangle.h"

/* Strings are indexes into the table's strings. */
struct ux_function {
	uint32_t name;   /* without a name: the text of ux_profile_write_place() */
	uint32_t module; /* base name of its file; 0: unknown */
	uint32_t path;   /* path of its module; 0: unknown */
	uint32_t file;   /* source; 0: unknown */
	/* line of its definition, otherwise the first line that was seen; 0: unknown */
	uint32_t line;
	uint32_t why; /* why it has no name; 0: it has one, or the reason is unknown */
	bool named;
};

UX_VEC(ux_function_list, struct ux_function);

/* Two functions with the same name in modules of the same name are one. */
struct ux_functions {
	struct ux_strings strings;
	struct ux_function_list list;
	struct ux_profile_numbers numbers; /* function of (name, module) */
	enum ux_demangle_mode demangle;    /* for linkage names whose readable text is not in the
					      recording */
};

enum ux_code ux_functions_init(struct ux_functions *fs, enum ux_demangle_mode demangle,
			       struct ux_error *err) ux_must;
void ux_functions_deinit(struct ux_functions *fs);

/* Finds or adds a function that stands for something other than code, such as a thread. UX_ENOMEM,
 * UX_ELIMIT. */
enum ux_code ux_functions_add_label(struct ux_functions *fs, struct ux_bytes name, uint32_t *ret,
				    struct ux_error *err) ux_must;

/* The functions of the frames of a profile. Zeroed = empty. */
struct ux_frame_functions {
	uint32_t *of_frame;    /* function of each frame */
	uint32_t *of_location; /* function of each location without frames */
};

/*
 * Adds the functions of all locations of a profile. `ret` must be released in either case.
 * UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_functions_of_profile(struct ux_functions *fs, const struct ux_profile *p,
				     struct ux_frame_functions *ret, struct ux_error *err) ux_must;
void ux_frame_functions_deinit(struct ux_frame_functions *f);

/* Returns the functions of a location, innermost first; *ret_n is at least 1. */
static inline const uint32_t *ux_functions_at(const struct ux_profile *p,
					      const struct ux_frame_functions *f, uint32_t location,
					      size_t *ret_n)
{
	const struct ux_profile_location *l = &p->locations.data[location];
	*ret_n = l->n ? l->n : 1;
	return l->n ? f->of_frame + l->first : f->of_location + location;
}

static inline struct ux_bytes ux_function_name(const struct ux_functions *fs, uint32_t function)
{
	return ux_strings_get(&fs->strings, fs->list.data[function].name);
}

#endif
