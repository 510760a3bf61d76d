/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF programs that are loaded now, asked of the kernel by bpf(2). */
#ifndef UX_BPF_PROGRAMS_H
#define UX_BPF_PROGRAMS_H

#include "bpf_code.h"

/* Immutable. */
struct ux_bpf_programs {
	struct ux_bpf_code code;
	struct ux_error lost; /* why there are none, or fewer; code UX_OK: nothing is lost */
};

/* Asks for all of them. UX_ENOMEM; any other failure is in (*ret)->lost: bpf(2) takes
 * CAP_SYS_ADMIN, and kernel.kptr_restrict hides where code is from it, too. */
enum ux_code ux_bpf_programs_read(struct ux_bpf_programs **ret, struct ux_error *err) ux_must;
void ux_bpf_programs_free(struct ux_bpf_programs *p); /* NULL is fine */

#endif
