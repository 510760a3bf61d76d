/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmicrohttpd, linked or loaded on demand (gnutls_calls.h). With UX_MICROHTTPD_SONAME, the file
 * name of the library, its functions are called through the pointers of ux_microhttpd.
 */
#ifndef UX_MICROHTTPD_CALLS_H
#define UX_MICROHTTPD_CALLS_H

#include "error.h"

#include <microhttpd.h>

/* Functions of libmicrohttpd that we use. */
#define UX_MICROHTTPD_CALLS(X)                     \
	X(MHD_add_connection)                      \
	X(MHD_add_response_header)                 \
	X(MHD_create_response_from_buffer)         \
	X(MHD_create_response_from_fd_at_offset64) \
	X(MHD_destroy_response)                    \
	X(MHD_get_connection_info)                 \
	X(MHD_get_connection_values_n)             \
	X(MHD_get_reason_phrase_for)               \
	X(MHD_get_version)                         \
	X(MHD_queue_response)                      \
	X(MHD_resume_connection)                   \
	X(MHD_start_daemon)                        \
	X(MHD_stop_daemon)                         \
	X(MHD_suspend_connection)

/*
 * Loads libmicrohttpd for the life of the process, once, if it is not linked. Call no function of
 * it before it has returned UX_OK. UX_EUNSUPPORTED: it is not installed, or lacks a function. Any
 * thread.
 */
enum ux_code ux_microhttpd_load(struct ux_error *err) ux_must;

#ifdef UX_MICROHTTPD_SONAME
/* The functions of the loaded library; NULL before it is loaded. */
struct ux_microhttpd_calls {
#define CALL(name) __typeof__(&(name)) name;
	UX_MICROHTTPD_CALLS(CALL)
#undef CALL
};

extern struct ux_microhttpd_calls ux_microhttpd;

#define MHD_add_connection              ux_microhttpd.MHD_add_connection
#define MHD_add_response_header         ux_microhttpd.MHD_add_response_header
#define MHD_create_response_from_buffer ux_microhttpd.MHD_create_response_from_buffer
#define MHD_create_response_from_fd_at_offset64 \
	ux_microhttpd.MHD_create_response_from_fd_at_offset64
#define MHD_destroy_response        ux_microhttpd.MHD_destroy_response
#define MHD_get_connection_info     ux_microhttpd.MHD_get_connection_info
#define MHD_get_connection_values_n ux_microhttpd.MHD_get_connection_values_n
#define MHD_get_reason_phrase_for   ux_microhttpd.MHD_get_reason_phrase_for
#define MHD_get_version             ux_microhttpd.MHD_get_version
#define MHD_queue_response          ux_microhttpd.MHD_queue_response
#define MHD_resume_connection       ux_microhttpd.MHD_resume_connection
#define MHD_start_daemon            ux_microhttpd.MHD_start_daemon
#define MHD_stop_daemon             ux_microhttpd.MHD_stop_daemon
#define MHD_suspend_connection      ux_microhttpd.MHD_suspend_connection
#endif

#endif
