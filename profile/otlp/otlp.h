/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of OpenTelemetry (OTLP), as messages: ExportProfilesServiceRequest, or ProfilesData,
 * which has the same form. Source: opentelemetry-proto, profiles/v1development, version 1.10; the
 * messages of the dictionary have been the same since 1.8.
 */
#ifndef UX_OTLP_H
#define UX_OTLP_H

#include "profile.h"

/* Below this, the start of a mapping is an address of the file, which the OpenTelemetry profiler
 * writes; from here on it is an address of a process. */
#define UX_OTLP_PROCESS_START (UINT64_C(1) << 40)

/* A message, and its parts that were read. Zeroed = closed. */
struct ux_otlp {
	struct ux_bytes bytes; /* owned by the caller */
	uint32_t
		first_location; /* number in the profile of the first entry of its location table */
	uint32_t n_locations;
};

/* The source of a part of the samples. Strings of the profile; 0: unknown. */
struct ux_otlp_resource {
	uint32_t service; /* service.name, or another attribute that names the program */
	uint32_t host;    /* host.name, or the node */
	uint32_t build;   /* service.version */
	uint64_t start_ns;
	uint64_t duration_ns;
};

UX_VEC(ux_otlp_resources, struct ux_otlp_resource);

enum {
	/* distinct resources that are kept apart: rows that one transaction adds */
	UX_OTLP_RESOURCES_MAX = 4096,
};

/* Returns whether the bytes may be such a message: a dictionary with tables, and resource profiles.
 */
bool ux_otlp_is(struct ux_bytes bytes);

/*
 * Reads a message into an empty profile. The producer has already moved addresses of callers back
 * into the call, so no location is a return address. A location that has lines keeps them. The
 * address of a mapping that begins below UX_OTLP_PROCESS_START is a virtual address of the file.
 * UX_ECORRUPT: with the offset in the message. UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_otlp_read(struct ux_otlp *f, struct ux_bytes bytes, struct ux_profile *p,
			  struct ux_error *err) ux_must;

/*
 * The same as ux_otlp_read(), but keeps samples of different resources apart: the
 * thread of a sample is the number of its resource in *ret, plus one. ret is empty, and must be
 * released in either case. UX_ELIMIT: also more than UX_OTLP_RESOURCES_MAX resources.
 */
enum ux_code ux_otlp_read_resources(struct ux_otlp *f, struct ux_bytes bytes, struct ux_profile *p,
				    struct ux_otlp_resources *ret, struct ux_error *err) ux_must;

#endif
