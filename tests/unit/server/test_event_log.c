/* SPDX-License-Identifier: Apache-2.0 */
/* The log: one line an event, whatever is in it. */
#include "event_log.h"
#include "sweep.h"

#include "routes.h"

#include <jansson.h>
#include <sys/mman.h>
#include <unistd.h>

static const char token[] = "ux_k6r7xsq74me7gnef4tadxflpcfvpqn4lstinh4lr2to6wwx45e7a";

/* The output of a call to stderr. */
struct caught {
	int saved;
	int fd;
	char text[8192];
};

static void catch_begin(struct caught *c)
{
	fflush(stderr);
	c->saved = dup(STDERR_FILENO);
	c->fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(c->saved >= 0 && c->fd >= 0);
	dup2(c->fd, STDERR_FILENO);
}

static const char *catch_end(struct caught *c)
{
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	ssize_t n = pread(c->fd, c->text, sizeof(c->text) - 1, 0);
	assert_true(n >= 0);
	c->text[n] = '\0';
	close(c->fd);
	ux_log_configure(UX_LOG_TEXT, UX_LOG_INFO);
	return c->text;
}

static json_t *object_of(const char *line)
{
	json_error_t why;
	json_t *doc = json_loads(line, JSON_REJECT_DUPLICATES, &why);
	if (!doc)
		fail_msg("%s: %s", why.text, line);
	return doc;
}

static const char *member(const json_t *doc, const char *key)
{
	const char *text = json_string_value(json_object_get(doc, key));
	return text ? text : "(none)";
}

static void a_line_is_the_same_event_in_both_forms(void **state)
{
	(void)state;
	struct caught c;
	char quoted[64], cut[12];
	ux_log_quote(UX_STR("a \"b\"=c\n\xff"), quoted, sizeof(quoted));
	ux_log_quote(UX_STR("a long text"), cut, sizeof(cut));
	for (int json = 0; json < 2; json++) {
		catch_begin(&c);
		ux_log_configure(json ? UX_LOG_JSON : UX_LOG_TEXT, UX_LOG_INFO);
		ux_log_line("warning", "thing",
			    "n=12 word=two path=%s cut=%s zero=007 none= nil=0 big=%s", quoted, cut,
			    "18446744073709551615");
		const char *line = catch_end(&c);
		assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
		if (!json) {
			assert_non_null(strstr(line, " level=warning event=thing n=12 word=two "));
			continue;
		}
		json_t *doc = object_of(line);
		assert_string_equal(member(doc, "level"), "warning");
		assert_string_equal(member(doc, "event"), "thing");
		assert_int_equal(json_integer_value(json_object_get(doc, "n")), 12);
		assert_string_equal(member(doc, "word"), "two");
		assert_string_equal(member(doc, "path"), "a \"b\"=c\n\xef\xbf\xbd");
		assert_string_equal(member(doc, "cut"), "a long...");
		assert_string_equal(member(doc, "zero"), "007");
		assert_string_equal(member(doc, "none"), "");
		assert_true(json_is_integer(json_object_get(doc, "nil")));
		assert_int_equal(json_integer_value(json_object_get(doc, "nil")), 0);
		assert_string_equal(member(doc, "big"), "18446744073709551615");
		json_decref(doc);
	}
}

static void no_value_makes_a_line_of_its_own_or_breaks_the_object(void **state)
{
	(void)state;
	static const char *const hostile[] = {
		"a=\"unfinished",
		"a=\"x\"y b=1",
		"\x1b[31m\r\n a=1",
		"no key at all",
		"=",
		"= =",
		"a=\\",
		"a=\"\\",
		"\"a\"=1",
		"a=\xff\xfe b=\"\xff\"",
		" a=1  b=2 ",
		"a",
		"",
	};
	for (size_t i = 0; i < ux_countof(hostile); i++) {
		for (int json = 0; json < 2; json++) {
			struct caught c;
			catch_begin(&c);
			ux_log_configure(json ? UX_LOG_JSON : UX_LOG_TEXT, UX_LOG_DEBUG);
			ux_log_line("debug", "e", "%s", hostile[i]);
			const char *line = catch_end(&c);
			size_t n = strlen(line);
			assert_ptr_equal(strchr(line, '\n'), line + n - 1);
			for (size_t k = 0; k + 1 < n; k++)
				assert_true((uint8_t)line[k] >= ' ');
			if (json)
				json_decref(object_of(line));
		}
	}
}

static void a_long_line_is_cut_and_stays_whole(void **state)
{
	(void)state;
	static char text[4000];
	memset(text, 'x', sizeof(text) - 1);
	for (size_t quote = 1350; quote < 1420; quote++) {
		struct caught c;
		text[quote] = '"';
		text[quote - 5] = '=';
		text[quote - 8] = ' ';
		catch_begin(&c);
		ux_log_configure(UX_LOG_JSON, UX_LOG_INFO);
		ux_log_line("info", "e", "a=%s", text);
		json_decref(object_of(catch_end(&c)));
		memset(text, 'x', sizeof(text) - 1);
	}
}

static void levels_are_a_threshold(void **state)
{
	(void)state;
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	for (unsigned level = UX_LOG_ERROR; level <= UX_LOG_DEBUG; level++) {
		struct caught c;
		catch_begin(&c);
		ux_log_configure(UX_LOG_TEXT, (enum ux_log_level)level);
		for (size_t i = 0; i < ux_countof(levels); i++)
			ux_log_line(levels[i], "e", "n=1");
		const char *text = catch_end(&c);
		for (size_t i = 0; i < ux_countof(levels); i++)
			assert_int_equal(strstr(text, levels[i]) != NULL, i <= level);
	}
}

static void a_token_is_in_no_line(void **state)
{
	(void)state;
	static const char *const around[][2] = {
		{"", ""},    {"a=", " b=1"}, {"path=\"/x/", "/y\""},
		{"ux_", ""}, {"xx", "-..."}, {"q=\"Bearer ", "\""},
	};
	for (size_t i = 0; i < ux_countof(around); i++) {
		struct caught c;
		catch_begin(&c);
		ux_log_line("info", "e", "%s%s%s", around[i][0], token, around[i][1]);
		const char *text = catch_end(&c);
		assert_null(strstr(text, token + 4));
		assert_non_null(strstr(text, "ux_…"));
	}
}

static void what_is_no_token_stays(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_log_redact(UX_STR("ux_server_run ux_ /ux_a/ux_"), &out);
	assert_true(ux_bytes_eq(ux_out_bytes(&out), UX_STR("ux_server_run ux_ /ux_a/ux_")));
}

static void a_path_shows_no_token(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		const char *shown;
	} paths[] = {
		{"/v1/modules/gnu:00%20", "/v1/modules/gnu:00%20"},
		{"/k/anything/v1/modules", "/k/…/v1/modules"},
		{"/k/anything", "/k/…"},
		{"//k/anything/x", "/k/…/x"},
		{"/k/a%2fb/x", "/k/…/b/x"},
		{"/k/%zz/x", "/k/…/x"},
		{"/%6b/some/x", "/k/…/x"},
		{"/k/", "/k/"},
		{"/ka/b", "/ka/b"},
		{"/x/%75x_k6r7xsq74me7gnef4tadxflpcfvpqn4lstin", "/x/ux_…"},
		{"", ""},
		{"/", "/"},
	};
	for (size_t i = 0; i < ux_countof(paths); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		ux_log_path(ux_bytes_cstr(paths[i].path), &out);
		if (!ux_bytes_eq(ux_out_bytes(&out), ux_bytes_cstr(paths[i].shown)))
			fail_msg("%s is shown as %.*s", paths[i].path, (int)out.size, out.data);
	}
}

/* The line of a request, or "" for none. */
static const char *request_line(struct caught *c, uint64_t id, unsigned status, bool sent)
{
	const struct ux_request req = {
		.id = id, .name = "r", .path = UX_STR("/x"), .body_size = 11, .err = UX_ERROR_INIT};
	const struct ux_response res = {.status = status, .body = UX_STR("12345"), .fd = -1};
	catch_begin(c);
	ux_log_configure(UX_LOG_TEXT, UX_LOG_INFO);
	ux_log_request(NULL, &req, &res, sent, 77);
	return catch_end(c);
}

static void one_of_many_requests_is_logged_but_each_that_failed(void **state)
{
	(void)state;
	struct caught c;
	enum {
		REQUESTS = 400,
		OF = 4
	};
	unsigned logged = 0;
	ux_log_sample(OF);
	for (unsigned i = 1; i <= REQUESTS; i++) {
		const char *line = request_line(&c, i, 200, true);
		assert_int_equal(line[0] == '\0', !strstr(line, " sample=4"));
		logged += line[0] != '\0';
	}
	assert_in_range(logged, REQUESTS / OF / 2, REQUESTS / OF * 2);
	for (unsigned of = 0; of <= OF; of += OF) {
		ux_log_sample(of);
		for (unsigned i = 1; i <= 8; i++) {
			const char *line = request_line(&c, i, 400, true);
			assert_non_null(strstr(line, " status=400 sent=yes "));
			assert_null(strstr(line, "sample"));
			line = request_line(&c, i, 200, false);
			assert_non_null(strstr(line, " status=200 sent=no "));
			assert_null(strstr(line, "sample"));
		}
	}
	ux_log_sample(0);
	assert_string_equal(request_line(&c, 1, 399, true), "");
	ux_log_sample(1);
	const char *line = request_line(&c, 1, 200, true);
	assert_non_null(strstr(line, "level=info event=request request=r "));
	assert_non_null(
		strstr(line, " path=\"/x\" status=200 sent=yes duration_us=77 in=11 out=5 key=- "));
	assert_null(strstr(line, "sample"));
	assert_non_null(strstr(request_line(&c, 1, 500, true), "level=error event=request "));
}

UX_SUITE(event_log)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_line_is_the_same_event_in_both_forms),
		UX_TEST(no_value_makes_a_line_of_its_own_or_breaks_the_object),
		UX_TEST(a_long_line_is_cut_and_stays_whole),
		UX_TEST(levels_are_a_threshold),
		UX_TEST(a_token_is_in_no_line),
		UX_TEST(what_is_no_token_stays),
		UX_TEST(a_path_shows_no_token),
		UX_TEST(one_of_many_requests_is_logged_but_each_that_failed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
