/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the kernel of this machine, its modules and its vDSO are those of a recording. */
#ifndef UX_PROFILE_KERNEL_H
#define UX_PROFILE_KERNEL_H

#include "file_symbols.h"
#include "kernel_symbols.h"
#include "profile_symbolize.h"

/* The code of the running kernel that a module of a profile is. */
struct ux_profile_kernel {
	struct ux_kernel *kernel; /* a reference */
	const char *label; /* of the module in the running kernel, "[ext4]"; NULL: any code of the
			      kernel */
	uint64_t moved;    /* is added to an address of the recording, modulo 2^64, because the
			      code is loaded elsewhere by now */
};

void ux_profile_kernel_deinit(struct ux_profile_kernel *k);

/*
 * Finds in the running kernel what the profile has as the kernel or as a module of it, loaded from
 * a file or not. The build IDs of the kernel and of the module must be those of the recording, as
 * far as both are known. UX_ENOTFOUND: it is another one, and `err` says so. UX_ENOMEM.
 */
enum ux_code ux_profile_kernel_find(const struct ux_profile *p, uint32_t module,
				    const struct ux_profile_sources *sources,
				    struct ux_profile_kernel *ret, struct ux_error *err) ux_must;

/* Whether a module of a profile is the kernel itself. */
bool ux_profile_is_kernel(const struct ux_profile *p, const struct ux_profile_module *m);

/* Whether the recording is known to be of another kernel than the one that runs here. */
bool ux_profile_is_other_kernel(const struct ux_profile *p,
				const struct ux_profile_sources *sources);

/* Whether a module is the vDSO of processes of this machine's word size. */
bool ux_profile_is_vdso(const struct ux_profile *p, const struct ux_profile_module *m);

/*
 * Sets the symbols of this machine's vDSO, a reference, if it is the recorded one: if it has the
 * build ID of the module, or if that has none, if the recording has the build ID of the running
 * kernel. UX_ENOTFOUND: it is not, and `err` says so. UX_ENOMEM.
 */
enum ux_code ux_profile_own_vdso(const struct ux_profile *p, uint32_t module,
				 const struct ux_profile_sources *sources,
				 struct ux_file_symbols **ret, struct ux_error *err) ux_must;

#endif
