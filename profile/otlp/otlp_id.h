/* SPDX-License-Identifier: Apache-2.0 */
/* Identities of modules in OTLP profiles. */
#ifndef UX_OTLP_ID_H
#define UX_OTLP_ID_H

#include "id.h"

/*
 * Takes the identity from a mapping's attribute if it is better than *id: a GNU build ID before a
 * File ID before a Go build ID. Other attributes, and malformed values, are ignored. Source:
 * OpenTelemetry semantic conventions, process.executable.build_id.*.
 */
void ux_otlp_id_take(struct ux_bytes key, struct ux_bytes value, struct ux_id *id);

#endif
