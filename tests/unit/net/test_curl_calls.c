/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's functions, called through the names that this tree gives them. */
#include "sweep.h"

#include "curl_calls.h"

static void values_of_each_type_arrive(void **state)
{
	int mark = 0;
	void *back = NULL;
	(void)state;
	assert_int_equal(ux_curl_load(NULL), UX_OK);
	assert_int_equal(curl_global_init(CURL_GLOBAL_DEFAULT), CURLE_OK);
	CURL *curl = curl_easy_init();
	assert_non_null(curl);
	assert_int_equal(curl_easy_setopt(curl, CURLOPT_PORT, 65535L), CURLE_OK);
	assert_int_equal(curl_easy_setopt(curl, CURLOPT_PORT, 65536L), CURLE_BAD_FUNCTION_ARGUMENT);
	assert_int_equal(curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)1 << 40),
			 CURLE_OK);
	assert_int_equal(curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, -((curl_off_t)1 << 40)),
			 CURLE_BAD_FUNCTION_ARGUMENT);
	assert_int_equal(curl_easy_setopt(curl, CURLOPT_PRIVATE, &mark), CURLE_OK);
	assert_int_equal(curl_easy_getinfo(curl, CURLINFO_PRIVATE, &back), CURLE_OK);
	assert_ptr_equal(back, &mark);
	curl_easy_cleanup(curl);
}

static size_t write_count(char *data, size_t size, size_t n, void *ctx)
{
	(void)data;
	*(size_t *)ctx += size * n;
	return size * n;
}

static void functions_arrive_and_are_called(void **state)
{
	size_t n = 0;
	long status = -1;
	(void)state;
	assert_int_equal(ux_curl_load(NULL), UX_OK);
	CURL *curl = curl_easy_init();
	struct curl_slist *lines = curl_slist_append(NULL, "Accept:");
	struct curl_header *header = NULL;
	assert_non_null(curl);
	assert_non_null(lines);
	curl_easy_setopt(curl, CURLOPT_URL, "file:///proc/self/comm");
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_count);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &n);
	assert_int_equal(curl_easy_perform(curl), CURLE_OK);
	assert_true(n > 0);
	assert_int_equal(curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status), CURLE_OK);
	assert_int_equal(status, 0); /* a file has none */
	assert_int_not_equal(curl_easy_header(curl, "ETag", 0, CURLH_HEADER, -1, &header),
			     CURLHE_OK);
	curl_easy_reset(curl);
	assert_int_equal(curl_easy_perform(curl), CURLE_URL_MALFORMAT);
	assert_string_not_equal(curl_easy_strerror(CURLE_URL_MALFORMAT),
				curl_easy_strerror(CURLE_OK));
	assert_non_null(curl_version_info(CURLVERSION_NOW)->version);
	curl_easy_cleanup(curl);
	curl_slist_free_all(lines);
	curl_slist_free_all(NULL);
}

UX_SUITE(curl_calls)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_each_type_arrive),
		cmocka_unit_test(functions_arrive_and_are_called),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
