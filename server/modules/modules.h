/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of /v1/modules, /v1/gsym and /v1/explain; the paths are in server/run/routes.c. */
#ifndef UX_MODULES_H
#define UX_MODULES_H

#include "server.h"

/* /v1/modules, /v1/modules/{id}, /v1/gsym/{id}. */
ux_handler_fn ux_handle_modules, ux_handle_module, ux_handle_module_delete, ux_handle_gsym;

/* /v1/modules/{id}/pins/{label}: modules that retention must not remove. */
ux_handler_fn ux_handle_pin, ux_handle_unpin;

/* GET /v1/export, /v1/export/{sha256}: the objects of a namespace in the order of their arrival. */
ux_handler_fn ux_handle_export, ux_handle_export_object;

/* GET /v1/explain/{id}: the candidates, their answers, and how to improve the result. */
ux_handler_fn ux_handle_explain;

#endif
