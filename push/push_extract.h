/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a module to push. */
#ifndef UX_PUSH_EXTRACT_H
#define UX_PUSH_EXTRACT_H

#include "extract.h"
#include "out.h"
#include "push_module.h"
#include "push_run.h"

/* Tells whoever asked for it that path is about to be mapped. */
void ux_push_reading(const struct ux_push_options *o, const char *path);

/*
 * Extracts m, in place of what gsym holds. A debug file that was found and not given may be
 * damaged: then it is forgotten, and the file alone is read. Codes as of ux_extract() and
 * ux_file_map().
 */
enum ux_code ux_push_extract(const struct ux_push_options *o, struct ux_push_module *m,
			     struct ux_out *gsym, struct ux_extract_stats *stats,
			     struct ux_error *err) ux_must;

#endif
