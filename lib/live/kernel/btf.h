/* SPDX-License-Identifier: Apache-2.0 */
/* BTF, the kernel's compact type information: as much of it as names functions and files. */
#ifndef UX_BTF_H
#define UX_BTF_H

#include "bytes.h"
#include "error.h"
#include "vec.h"

UX_VEC(ux_btf_offsets, uint32_t);

/* Points into the bytes it was opened with. */
struct ux_btf {
	struct ux_bytes strings;     /* ends with a NUL, if there are any */
	struct ux_btf_offsets names; /* of each type: in strings; 0 where it is no function */
	uint64_t unread;             /* bytes of types behind one of an unknown kind */
};

/*
 * Reads header, types and strings in the machine's byte order. UX_EUNSUPPORTED: another format or
 * version. UX_ECORRUPT: parts that leave the bytes. UX_ENOMEM. *ret is zeroed on failure. Source:
 * Linux, Documentation/bpf/btf.rst; include/uapi/linux/btf.h.
 */
enum ux_code ux_btf_open(struct ux_btf *ret, struct ux_bytes btf, struct ux_error *err) ux_must;
void ux_btf_close(struct ux_btf *b);

/* The string at an offset; "" when there is none. */
const char *ux_btf_string(const struct ux_btf *b, uint32_t off);

/* The name of the function that is a type; "" when it is none. */
const char *ux_btf_function(const struct ux_btf *b, uint32_t type);

#endif
