/* SPDX-License-Identifier: Apache-2.0 */
/* How long the text of a D name can get. */
#ifndef UX_DEMANGLE_DLANG_H
#define UX_DEMANGLE_DLANG_H

#include "bytes.h"

/*
 * True when the text of the mangled D name stays under about `most` bytes. A D name may refer back
 * to types in itself, each reference doubling what it refers to, so that 100 bytes can mean more
 * text than there is memory; real names pass. Source: the D ABI, "Name Mangling", back references.
 */
bool ux_dlang_bounded(struct ux_bytes name, uint64_t most);

#endif
