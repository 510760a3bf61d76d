/* SPDX-License-Identifier: Apache-2.0 */
/* The hash that CUPTI identifies a cubin by. */
#ifndef UX_CUBIN_CRC_H
#define UX_CUBIN_CRC_H

#include "bytes.h"

/*
 * Returns the value that cuptiGetCubinCrc() returns for these bytes, and that is cubinCrc in
 * CUPTI's records. Despite its name it is not a CRC: it hashes the size and at most 128 of the
 * bytes (docs/formats/cuda.md). Two builds of one kernel may well have the same value, so it serves
 * to find a cubin, but it does not prove that the cubin is the right one.
 */
uint32_t ux_cubin_crc(struct ux_bytes cubin);

#endif
