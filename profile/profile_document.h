/* SPDX-License-Identifier: Apache-2.0 */
/* A profile in one of the formats that are read; the content tells which. */
#ifndef UX_PROFILE_DOCUMENT_H
#define UX_PROFILE_DOCUMENT_H

#include "firefox.h"
#include "otlp_json.h"
#include "perf_data.h"
#include "pprof.h"

enum ux_profile_format {
	UX_PROFILE_FORMAT_NONE,
	UX_PROFILE_FORMAT_PPROF,
	UX_PROFILE_FORMAT_FOLDED,
	UX_PROFILE_FORMAT_OTLP,
	UX_PROFILE_FORMAT_OTLP_JSON,
	UX_PROFILE_FORMAT_FIREFOX,
	UX_PROFILE_FORMAT_PERF_SCRIPT,
	UX_PROFILE_FORMAT_PERF_DATA,
};

/* Details of a profile's bytes, kept after reading so that the profile can be written again. Zeroed
 * = not read. */
struct ux_profile_document {
	enum ux_profile_format format;
	struct ux_profile_jit *jit; /* set before reading; NULL: jitdumps are not read */
	struct ux_pprof pprof;
	struct ux_otlp otlp;   /* also of OTLP in JSON */
	struct ux_out message; /* for OTLP in JSON: the same message in protobuf */
	struct ux_firefox firefox;
	/* for the text of perf script: counts for names of run-time code */
	struct ux_perf_summary perf;
};

/* Returns the format of a whole profile, without compression. */
enum ux_profile_format ux_profile_format_of(struct ux_bytes bytes) ux_must;

/*
 * Reads a profile, without compression, into an empty one. The bytes have to live as long as the
 * document. UX_EUNSUPPORTED: unknown format; the message lists the known ones. UX_ECORRUPT,
 * UX_ELIMIT, UX_ENOMEM. The document must be closed in any case.
 */
enum ux_code ux_profile_document_read(struct ux_profile_document *d, struct ux_bytes bytes,
				      struct ux_profile *p, struct ux_error *err) ux_must;

void ux_profile_document_close(struct ux_profile_document *d);

#endif
