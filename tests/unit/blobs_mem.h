/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs in memory that fail on a test's request. */
#ifndef UX_BLOBS_MEM_H
#define UX_BLOBS_MEM_H

#include "blobs.h"

/* Empty, failing nothing. Released by its close(). */
struct ux_blobs *blobs_mem_create(void);

/* Makes the n-th fallible call from now on (1 = the next) fail with UX_EIO; 0: none. */
void blobs_mem_fail(struct ux_blobs *b, unsigned nth);

/* How many blobs there are. */
size_t blobs_mem_count(const struct ux_blobs *b);

#endif
