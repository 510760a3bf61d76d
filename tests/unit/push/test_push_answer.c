/* SPDX-License-Identifier: Apache-2.0 */
/* push/server_answer.c. */
#include "sweep.h"

#include "server_answer.h"

static struct ux_http_answer answer_of(unsigned status, const char *body)
{
	struct ux_http_answer answer = {.status = status};
	ux_out_cstr(&answer.body, body);
	return answer;
}

static void expect(unsigned status, const char *body, enum ux_code code, const char *text)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = answer_of(status, body);
	struct ux_error err = UX_ERROR_INIT;
	json_t *doc = NULL;
	assert_int_equal(ux_server_answer(&answer, &doc, &err), code);
	assert_string_equal(err.text, text);
	assert_true((doc != NULL) == (code == UX_OK));
	json_decref(doc);
}

static void a_good_answer_is_its_document(void **state)
{
	(void)state;
	expect(200, "{}", UX_OK, "");
	expect(201, "{\"uid\":\"x\"}", UX_OK, "");
	expect(200, "<html>", UX_EUNSUPPORTED, "server answered HTTP 200 without JSON");
	expect(204, "", UX_EUNSUPPORTED, "server answered HTTP 204 without JSON");
}

static void a_refusal_says_the_servers_words(void **state)
{
	(void)state;
	static const char body[] = "{\"error\":{\"code\":\"denied\",\"message\":\"no such key\"}}";
	expect(401, body, UX_EDENIED, "server says: no such key (HTTP 401)");
	/* To programs it names the header; a command's user has options. */
	expect(401,
	       "{\"error\":{\"code\":\"unauthorized\",\"message\":\"this needs a key of scope "
	       "upload: send Authorization: Bearer TOKEN\"}}",
	       UX_EDENIED,
	       "server says: this needs a key of scope upload (HTTP 401): --token-file FILE or "
	       "UNHEX_TOKEN");
	expect(403, body, UX_EDENIED, "server says: no such key (HTTP 403)");
	expect(404, body, UX_ENOTFOUND, "server says: no such key (HTTP 404)");
	expect(409, body, UX_ECONFLICT, "server says: no such key (HTTP 409)");
	expect(413, body, UX_ELIMIT, "server says: no such key (HTTP 413)");
	expect(422, body, UX_EINVAL, "server says: no such key (HTTP 422)");
	expect(500, body, UX_EUNAVAILABLE, "server says: no such key (HTTP 500)");
	expect(507, body, UX_EIO, "server says: no such key (HTTP 507)");
	expect(503, body, UX_EUNAVAILABLE, "server says: no such key (HTTP 503)");
}

static void a_refusal_without_words_says_the_status(void **state)
{
	(void)state;
	expect(502, "<html>Bad Gateway</html>", UX_EUNAVAILABLE,
	       "server answered HTTP 502: a proxy does not reach the server");
	expect(429, "", UX_EUNAVAILABLE, "server answered HTTP 429");
	expect(400, "{\"error\":7}", UX_EINVAL, "server answered HTTP 400");
	expect(302, "", UX_EUNSUPPORTED, "server redirects to  (HTTP 302)");
}

static void a_proxy_that_refuses_is_named(void **state)
{
	(void)state;
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = answer_of(413, "<html>");
	struct ux_error err = UX_ERROR_INIT;
	json_t *doc = NULL;
	snprintf(answer.software, sizeof(answer.software), "%s",
		 "nginx/1.22.1 of a very long name: 0123456789");
	assert_int_equal(ux_server_answer(&answer, &doc, &err), UX_ELIMIT);
	assert_string_equal(err.text,
			    "nginx/1.22.1 of a very long name: 012345 answered HTTP 413: a proxy "
			    "limits the size of requests; in nginx, raise client_max_body_size");
}

static void the_error_word_is_given_or_empty(void **state)
{
	(void)state;
	char word[16];
	struct ux_http_answer answer =
		answer_of(409, "{\"error\":{\"code\":\"better_there\",\"message\":\"m\"}}");
	ux_server_error_word(&answer, word, sizeof(word));
	assert_string_equal(word, "better_there");
	ux_server_error_word(&answer, word, 7);
	assert_string_equal(word, "better");
	ux_http_answer_deinit(&answer);
	answer = answer_of(409, "nothing");
	ux_server_error_word(&answer, word, sizeof(word));
	assert_string_equal(word, "");
	ux_http_answer_deinit(&answer);
}

UX_SUITE(push_answer)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_good_answer_is_its_document),
		UX_TEST(a_refusal_says_the_servers_words),
		UX_TEST(a_refusal_without_words_says_the_status),
		UX_TEST(a_proxy_that_refuses_is_named),
		UX_TEST(the_error_word_is_given_or_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
