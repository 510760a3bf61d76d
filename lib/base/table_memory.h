/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of tables that are read at random places. */
#ifndef UX_TABLE_MEMORY_H
#define UX_TABLE_MEMORY_H

#include "base.h"

/*
 * A table of `size` zero bytes, size > 0. A large one has huge pages where the system has them:
 * with small ones nearly every access to such a table would miss the processor's table of pages as
 * well, and each 4 KiB would cost a page fault when they are used first. NULL: memory is short.
 */
void *ux_table_alloc(size_t size);

/* Frees a table of that size; NULL is allowed. */
void ux_table_free(void *table, size_t size);

#endif
