/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for tables that are read at random positions. */
#ifndef UX_TABLE_MEMORY_H
#define UX_TABLE_MEMORY_H

#include "base.h"

/*
 * Returns a table of `size` zero bytes, size > 0. A large table gets huge pages if the system has
 * them: with small pages nearly every access to it would also miss the processor's TLB, and each 4
 * KiB would cost a page fault at its first use. NULL: memory is short.
 */
void *ux_table_alloc(size_t size);

/* Frees a table of that size; NULL is allowed. */
void ux_table_free(void *table, size_t size);

#endif
