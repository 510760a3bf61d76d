/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the kernel of this machine, its modules and its vDSO with a recording's. */
#ifndef UX_PROFILE_KERNEL_H
#define UX_PROFILE_KERNEL_H

#include "file_symbols.h"
#include "kernel_symbols.h"
#include "profile_symbolize.h"

/* The running kernel's code for a module of a profile. */
struct ux_profile_kernel {
	struct ux_kernel *kernel; /* a reference */
	const char *label; /* name of the module in the running kernel, "[ext4]"; NULL: any code of
			      the kernel */
	uint64_t moved;    /* added to an address of the recording, modulo 2^64, because the code is
			      now loaded elsewhere */
};

void ux_profile_kernel_deinit(struct ux_profile_kernel *k);

/*
 * Finds the profile's kernel, or a module of it, in the running kernel, loaded from a file or not.
 * The build IDs of the kernel and of the module must equal the recording's, as far as both are
 * known. UX_ENOTFOUND: it differs; `err` has the details. UX_ENOMEM.
 */
enum ux_code ux_profile_kernel_find(const struct ux_profile *p, uint32_t module,
				    const struct ux_profile_sources *sources,
				    struct ux_profile_kernel *ret, struct ux_error *err) ux_must;

/* Returns whether a module of a profile is the kernel itself. */
bool ux_profile_is_kernel(const struct ux_profile *p, const struct ux_profile_module *m);

/* Returns whether the recording is known to be of another kernel than the running one. */
bool ux_profile_is_other_kernel(const struct ux_profile *p,
				const struct ux_profile_sources *sources);

/* Returns whether a module is the vDSO of processes of this machine's word size. */
bool ux_profile_is_vdso(const struct ux_profile *p, const struct ux_profile_module *m);

/*
 * Sets the symbols of this machine's vDSO, a reference, if it is the recorded one: it has the
 * module's build ID, or the module has none and the recording has the running kernel's build ID.
 * UX_ENOTFOUND: it differs; `err` has the details. UX_ENOMEM.
 */
enum ux_code ux_profile_own_vdso(const struct ux_profile *p, uint32_t module,
				 const struct ux_profile_sources *sources,
				 struct ux_file_symbols **ret, struct ux_error *err) ux_must;

#endif
