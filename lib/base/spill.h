/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the system can take back: regions of unlinked files. */
#ifndef UX_SPILL_H
#define UX_SPILL_H

#include "base.h"
#include "error.h"

/*
 * A region of `size` bytes, all 0, in a file of its own without a name in `folder`: its pages are
 * the page cache's and can be written out under pressure, where anonymous memory could not. The
 * disk space is reserved, so that a full disk is an error here and never a signal later.
 * Page-aligned; gone with ux_spill_unmap() or the process. Any thread.
 */
enum ux_code ux_spill_map(const char *folder, size_t size, void **ret, struct ux_error *err)
	ux_must;
void ux_spill_unmap(void *region, size_t size);

#endif
