/* SPDX-License-Identifier: Apache-2.0 */
/* Binary search. */
#ifndef UX_PARTITION_H
#define UX_PARTITION_H

#include <stddef.h>

/*
 * Returns the first index in [from, to) for which the expression `before` is false, or `to` if it
 * is true for all of them. `before` names the index `i`, and must be true for a first part of the
 * indexes and false for the rest: list[i].start <= pc. It is evaluated once for each step, `from`
 * and `to` once.
 */
#define ux_partition_point(i, from, to, before)                              \
	__extension__({                                                      \
		size_t i##_from = (from), i##_to = (to);                     \
		while (i##_from < i##_to) {                                  \
			const size_t i = i##_from + (i##_to - i##_from) / 2; \
			if (before)                                          \
				i##_from = i + 1;                            \
			else                                                 \
				i##_to = i;                                  \
		}                                                            \
		i##_from;                                                    \
	})

#endif
