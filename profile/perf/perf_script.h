/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that `perf script` prints: for each sample a line with its command, thread, time and
 * event, and a line for each location of its callchain. Source: Linux, perf-script(1).
 */
#ifndef UX_PERF_SCRIPT_H
#define UX_PERF_SCRIPT_H

#include "demangle.h"
#include "out.h"
#include "profile_jit.h"

/* Returns whether the text's first line other than a comment is the head of a sample. */
bool ux_perf_script_is(struct ux_bytes text);

/*
 * Reads the text into an empty profile. Values: the number of samples, and their periods. Locations
 * with a symbol keep it. An address below 2^40 in a file is a position in the file, as perf prints
 * it since Linux 5.8; above it is an address of the process. Lines of other events, such as
 * PERF_RECORD_MMAP2, are skipped, except that mappings of jitdumps tell where these are.
 *
 * With `jit`, code made at run time gets the names that its process's jitdump had at the time of
 * the sample; `jit` must live until the text is rewritten. The text's header names the clock of the
 * times (`perf script --header`); without a header they are taken as CLOCK_MONOTONIC, and
 * jit->unsure counts the addresses. UX_ECORRUPT: with the number of the line. UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_perf_script_read(struct ux_bytes text, struct ux_profile_jit *jit,
				 struct ux_profile *p, struct ux_error *err) ux_must;

/*
 * Appends the text with the names that its locations have got since it was read into p: a line for
 * each frame, inlined ones with "(inlined)" as perf prints them. A location on the line of its
 * sample, where there are no callchains, gets its function there. All other lines are copied.
 */
enum ux_code ux_perf_script_rewrite(struct ux_bytes text, struct ux_profile_jit *jit,
				    struct ux_profile *p, enum ux_demangle_mode mode,
				    struct ux_out *out, struct ux_error *err) ux_must;

#endif
