/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of routes about kept profiles; their paths are in server/run/routes.c. */
#ifndef UX_PROFILES_H
#define UX_PROFILES_H

#include "server.h"

/* POST /v1/profiles?service=NAME: keeps a profile. */
ux_handler_fn ux_handle_profile_upload;

/* GET /v1/profiles and /v1/profiles/services: lists of kept profiles and their services. */
ux_handler_fn ux_handle_profiles, ux_handle_profile_services;

/* GET /v1/profiles/merged?service=NAME&format=...: the sum of a time range. */
ux_handler_fn ux_handle_profile_merged;

/* GET and DELETE /v1/profiles/{id}. */
ux_handler_fn ux_handle_profile, ux_handle_profile_delete;

/* /p/{id}/pprof/profile and /p/{id}/pprof/symbol: the paths that pprof's tools fetch. */
ux_handler_fn ux_handle_profile_pprof, ux_handle_profile_symbol_probe, ux_handle_profile_symbol;

/* Returns UX_EUNAVAILABLE if this server neither keeps nor shows profiles. */
enum ux_code ux_profiles_check(struct ux_request *req) ux_must;

/* Parses the number of a profile in a path. UX_ENOTFOUND. */
enum ux_code ux_profile_number(struct ux_request *req, struct ux_bytes text, int64_t *ret) ux_must;

#endif
