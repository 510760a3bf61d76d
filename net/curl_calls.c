/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libcurl that call the functions of the loaded library. */
#include "curl_calls.h"

#include "library_calls.h"

#include <stdarg.h>

/* <curl/curl.h> defines macros of these names that check types at the call */
#undef curl_easy_getinfo
#undef curl_easy_setopt

static struct {
#define CALL(name) __typeof__(&(name)) name;
	UX_CURL_CALLS(CALL)
#undef CALL
} curl_library;

static const char *const curl_names[] = {
#define NAME(name) #name,
	UX_CURL_CALLS(NAME)
#undef NAME
};
static_assert(sizeof(curl_library) == sizeof(curl_names), "a name for each call");

static struct ux_library curl_loaded = UX_LIBRARY(
	UX_CURL_SONAME, "network connections need libcurl (Debian: apt install libcurl3-gnutls)",
	curl_names, &curl_library);

enum ux_code ux_curl_load(struct ux_error *err)
{
	return ux_library_load(&curl_loaded, err);
}

CURL *curl_easy_init(void)
{
	return curl_library.curl_easy_init();
}

void curl_easy_cleanup(CURL *curl)
{
	curl_library.curl_easy_cleanup(curl);
}

CURLcode curl_easy_perform(CURL *curl)
{
	return curl_library.curl_easy_perform(curl);
}

void curl_easy_reset(CURL *curl)
{
	curl_library.curl_easy_reset(curl);
}

const char *curl_easy_strerror(CURLcode code)
{
	return curl_library.curl_easy_strerror(code);
}

CURLHcode curl_easy_header(CURL *curl, const char *name, size_t index, unsigned origin, int request,
			   struct curl_header **ret)
{
	return curl_library.curl_easy_header(curl, name, index, origin, request, ret);
}

/* Each kind of information is returned through a pointer (curl_easy_getinfo(3)). */
CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
	va_list args;
	va_start(args, info);
	void *ret = va_arg(args, void *);
	va_end(args);
	return curl_library.curl_easy_getinfo(curl, info, ret);
}

/* An option's number determines the type of its value (curl_easy_setopt(3)). */
CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
	CURLcode code;
	va_list args;
	va_start(args, option);
	if ((int)option < CURLOPTTYPE_OBJECTPOINT)
		code = curl_library.curl_easy_setopt(curl, option, va_arg(args, long));
	else if ((int)option >= CURLOPTTYPE_OFF_T && (int)option < CURLOPTTYPE_BLOB)
		code = curl_library.curl_easy_setopt(curl, option, va_arg(args, curl_off_t));
	else if ((int)option >= CURLOPTTYPE_FUNCTIONPOINT && (int)option < CURLOPTTYPE_OFF_T)
		code = curl_library.curl_easy_setopt(curl, option, va_arg(args, void (*)(void)));
	else
		code = curl_library.curl_easy_setopt(curl, option, va_arg(args, void *));
	va_end(args);
	return code;
}

CURLcode curl_global_init(long flags)
{
	return curl_library.curl_global_init(flags);
}

curl_version_info_data *curl_version_info(CURLversion version)
{
	return curl_library.curl_version_info(version);
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
	return curl_library.curl_slist_append(list, text);
}

void curl_slist_free_all(struct curl_slist *list)
{
	if (list)
		curl_library.curl_slist_free_all(list);
}
