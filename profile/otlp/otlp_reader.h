/* SPDX-License-Identifier: Apache-2.0 */
/* The state of reading an OTLP message, between its dictionary and its samples. */
#ifndef UX_OTLP_READER_H
#define UX_OTLP_READER_H

#include "otlp.h"
#include "protobuf.h"

#define OTLP_SECTION "OTLP profiles"

UX_VEC(otlp_slices, struct ux_bytes);
UX_VEC(otlp_numbers, uint32_t);

/* An attribute of a mapping that identifies its file. */
struct otlp_attribute {
	uint64_t key;          /* a string of the dictionary */
	struct ux_bytes value; /* if it is in the attribute itself */
	uint64_t text;         /* else a string of the dictionary; 0: none */
};

struct otlp_mapping {
	uint32_t module;
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
};

struct otlp_function {
	uint64_t name, system_name, filename, start_line;
};

UX_VEC(otlp_attributes, struct otlp_attribute);
UX_VEC(otlp_mappings, struct otlp_mapping);
UX_VEC(otlp_functions, struct otlp_function);

/* The state of reading. Tables have the order of the dictionary. */
struct otlp_reader {
	struct ux_otlp *file;
	struct ux_profile *profile;
	struct otlp_slices strings;
	struct otlp_numbers texts; /* number in the profile plus 1 of each string that was used */
	struct otlp_attributes attributes;
	struct otlp_mappings mappings;
	struct otlp_functions functions;
	struct otlp_numbers stacks; /* stack of the profile */
	struct otlp_numbers stack; /* the stack that is being read: its locations, the leaf first */
	struct ux_profile_frames frames;
	struct ux_otlp_resources *resources; /* NULL: resources are not kept apart */
	struct ux_strings resource_keys;
	struct ux_profile_numbers resource_of; /* thread of a key */
	uint32_t thread;                       /* of the samples that are being read; 0: none */
};

/* Reports UX_ECORRUPT: a number is out of range of a table with n elements. */
enum ux_code ux_otlp_dangling(const struct ux_cur *c, const char *what, uint64_t number, size_t n,
			      struct ux_error *err);

/* Sets the index that a string of the dictionary has in the profile. UX_ECORRUPT, UX_ENOMEM,
 * UX_ELIMIT. */
enum ux_code ux_otlp_reader_text(struct otlp_reader *r, uint64_t number, const struct ux_cur *c,
				 uint32_t *ret, struct ux_error *err) ux_must;

/*
 * Reads a ResourceProfiles after its dictionary: the types of its values, or its samples. All types
 * must be known before the first sample. UX_ECORRUPT, UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_otlp_reader_resource(struct otlp_reader *r, bool samples, struct ux_cur c,
				     struct ux_error *err) ux_must;

#endif
