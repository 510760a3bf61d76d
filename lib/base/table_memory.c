/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for large tables, in huge pages. */
#include "table_memory.h"

#include <sys/mman.h>

#define TABLE_PAGE ((size_t)2 << 20) /* a huge page */

/*
 * Small tables come from malloc(), which AddressSanitizer watches; with the sanitizer all tables
 * do.
 */
static bool table_is_mapped(size_t size)
{
#ifdef __SANITIZE_ADDRESS__
	(void)size;
	return false;
#else
	return size >= TABLE_PAGE && size <= SIZE_MAX - 2 * TABLE_PAGE;
#endif
}

/* Returns the size of a mapped table in whole huge pages. */
static size_t table_mapped_size(size_t size)
{
	return (size + TABLE_PAGE - 1) & ~(TABLE_PAGE - 1);
}

static uint8_t *table_mmap(size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map != MAP_FAILED ? map : NULL;
}

/*
 * Maps more than needed, and gives back the parts before the first huge page and after the last
 * one. Near a memory limit the table gets small pages.
 */
static void *table_map(size_t size)
{
	uint8_t *map = table_mmap(size + TABLE_PAGE);
	if (!map)
		return table_mmap(size);
	size_t before = -(uintptr_t)map & (TABLE_PAGE - 1);
	if (before > 0)
		(void)munmap(map, before);
	if (before < TABLE_PAGE)
		(void)munmap(map + before + size, TABLE_PAGE - before);
	(void)madvise(map + before, size, MADV_HUGEPAGE); /* only advice: failure is ignored */
	return map + before;
}

void *ux_table_alloc(size_t size)
{
	assert(size > 0);
	return table_is_mapped(size) ? table_map(table_mapped_size(size)) : calloc(1, size);
}

void ux_table_free(void *table, size_t size)
{
	if (!table_is_mapped(size))
		free(table);
	else if (table)
		(void)munmap(table, table_mapped_size(size));
}
