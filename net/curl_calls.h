/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, linked or loaded on demand.
 *
 * Half of the command's startup time was the loading of libcurl and of the 17 libraries that only
 * it needs, and most verbs send nothing. With UX_CURL_SONAME, the file name of the library, its
 * functions have names of their own here, and are loaded by ux_curl_load(): callers are written as
 * if the functions were linked, and <curl/curl.h> still checks the types of options.
 */
#ifndef UX_CURL_CALLS_H
#define UX_CURL_CALLS_H

#include "error.h"

/* Functions of libcurl that we use. */
#define UX_CURL_CALLS(X)       \
	X(curl_easy_cleanup)   \
	X(curl_easy_getinfo)   \
	X(curl_easy_header)    \
	X(curl_easy_init)      \
	X(curl_easy_perform)   \
	X(curl_easy_reset)     \
	X(curl_easy_setopt)    \
	X(curl_easy_strerror)  \
	X(curl_global_init)    \
	X(curl_slist_append)   \
	X(curl_slist_free_all) \
	X(curl_version_info)

#ifdef UX_CURL_SONAME
#pragma redefine_extname curl_easy_cleanup ux_curl_easy_cleanup
#pragma redefine_extname curl_easy_getinfo ux_curl_easy_getinfo
#pragma redefine_extname curl_easy_header ux_curl_easy_header
#pragma redefine_extname curl_easy_init ux_curl_easy_init
#pragma redefine_extname curl_easy_perform ux_curl_easy_perform
#pragma redefine_extname curl_easy_reset ux_curl_easy_reset
#pragma redefine_extname curl_easy_setopt ux_curl_easy_setopt
#pragma redefine_extname curl_easy_strerror ux_curl_easy_strerror
#pragma redefine_extname curl_global_init ux_curl_global_init
#pragma redefine_extname curl_slist_append ux_curl_slist_append
#pragma redefine_extname curl_slist_free_all ux_curl_slist_free_all
#pragma redefine_extname curl_version_info ux_curl_version_info
#endif

#include <curl/curl.h>

/*
 * Loads libcurl for the life of the process, once, if it is not linked. Call no other function of
 * libcurl before it has returned UX_OK. UX_EUNSUPPORTED: it is not installed, or lacks a function.
 * Any thread.
 */
#ifdef UX_CURL_SONAME
enum ux_code ux_curl_load(struct ux_error *err) ux_must;
#else
static inline enum ux_code ux_curl_load(struct ux_error *err)
{
	(void)err;
	return UX_OK;
}
#endif

#endif
