/* SPDX-License-Identifier: Apache-2.0 */
/* Run-time code as symbols: perf maps and jitdumps become GSYMs, each for a span of time. */
#ifndef UX_RUNTIME_GSYM_H
#define UX_RUNTIME_GSYM_H

#include "gsym_encode.h"
#include "runtime_part.h"

/*
 * Writes the code that the file describes behind its first `known` bytes, with one GSYM for each
 * span of time in which no address had two functions: where code was put at an address that had
 * other code, a new part begins. That is so only for jitdumps, which have times, and for at most
 * UX_RUNTIME_PARTS_MOST parts of at least a millisecond; then, and in perf maps, the later code
 * holds for the whole part. Without new code nothing is written. UX_EUNSUPPORTED, UX_ECORRUPT: it
 * is no such file; UX_ELIMIT: it has more code than the readers take; UX_ENOMEM.
 */
enum ux_code ux_runtime_gsym_write(struct ux_bytes file, const struct ux_runtime_request *what,
				   ux_gsym_sink_fn *sink, void *ctx, struct ux_error *err) ux_must;

#endif
