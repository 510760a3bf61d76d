/* SPDX-License-Identifier: Apache-2.0 */
/* The number by which CUPTI names a cubin. */
#ifndef UX_CUBIN_CRC_H
#define UX_CUBIN_CRC_H

#include "bytes.h"

/*
 * What cuptiGetCubinCrc() says of these bytes, and what CUPTI's records have as cubinCrc. Despite
 * its name no CRC: a hash of the size and of at most 128 of the bytes (docs/formats/cuda.md). Two
 * builds of one kernel may well share it, so it is a name to look by, never proof.
 */
uint32_t ux_cubin_crc(struct ux_bytes cubin);

#endif
