/* SPDX-License-Identifier: Apache-2.0 */
/* How much a GSYM knows, counted. */
#ifndef UX_GSYM_MEASURE_H
#define UX_GSYM_MEASURE_H

#include "gsym_reader.h"
#include "unhex/quality.h"

/*
 * Counts all records. Bytes that several functions cover count once, for the one that begins first.
 * Allocates nothing; time in proportion to the file.
 */
enum ux_code ux_gsym_measure(const struct ux_gsym *g, struct ux_counts *ret, struct ux_error *err)
	ux_must;

#endif
