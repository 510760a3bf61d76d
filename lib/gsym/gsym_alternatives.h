/* SPDX-License-Identifier: Apache-2.0 */
/* Other names of the function at an address. */
#ifndef UX_GSYM_ALTERNATIVES_H
#define UX_GSYM_ALTERNATIVES_H

#include "gsym_reader.h"

/*
 * The names of the functions that are merged with the one at pc, in the file's order, at most `max`
 * of them; *ret_n is how many there are. Of merged functions in merged functions the outer ones
 * count. The strings point into the file. UX_ENOTFOUND when no function covers pc; UX_OK and none
 * when the one that does has no other name; UX_ECORRUPT when the record is bad.
 */
enum ux_code ux_gsym_alternatives(const struct ux_gsym *g, uint64_t pc, const char **names,
				  size_t max, size_t *ret_n, struct ux_error *err) ux_must;

#endif
