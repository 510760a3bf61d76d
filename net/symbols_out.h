/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a file's symbols, as JSON. */
#ifndef UX_SYMBOLS_OUT_H
#define UX_SYMBOLS_OUT_H

#include "json_out.h"
#include "unhex/quality.h"

/* "counts":{...} inside an object that is open. */
void ux_counts_out(struct ux_json *j, const struct ux_counts *counts);

/* "quality":"...","counts":{...} inside an object that is open. */
void ux_symbols_out(struct ux_json *j, enum ux_quality quality, const struct ux_counts *counts);

#endif
