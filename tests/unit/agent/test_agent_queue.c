/* SPDX-License-Identifier: Apache-2.0 */
/* agent_queue: symbols that wait are read as they were written, or not at all. */
#include "sweep.h"

#include "agent_queue.h"

static const char path[] = "/usr/bin/program";
static const char symbols[] = "symbols, which nothing here looks into";

/* A message with two IDs. The caller releases it. */
static struct ux_out make_message(void)
{
	struct ux_out out = {0};
	struct ux_agent_message m = {.quality = UX_QUALITY_SYMTAB, .path = ux_bytes_cstr(path)};
	struct ux_id gnu, go;
	assert_int_equal(ux_id_make(UX_ID_GNU, UX_STR("01234567890123456789"), &gnu, NULL), UX_OK);
	assert_int_equal(ux_id_make(UX_ID_GO, UX_STR("go/build/id"), &go, NULL), UX_OK);
	assert_int_equal(ux_id_set_add(&m.ids, &gnu, NULL), UX_OK);
	assert_int_equal(ux_id_set_add(&m.ids, &go, NULL), UX_OK);
	ux_agent_message_write_head(&out, &m);
	ux_out_cstr(&out, symbols);
	assert_false(out.failed);
	return out;
}

static void expect_message(struct ux_bytes bytes, size_t symbols_size)
{
	struct ux_agent_message m;
	struct ux_error err = UX_ERROR_INIT;
	char id[UX_ID_TEXT];
	if (ux_agent_message_parse(bytes, &m, &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(m.quality, UX_QUALITY_SYMTAB);
	assert_int_equal(m.ids.size, 2);
	assert_string_equal(ux_id_format(&m.ids.ids[0], id),
			    "gnu:3031323334353637383930313233343536373839");
	assert_string_equal(ux_id_format(&m.ids.ids[1], id), "go:go/build/id");
	assert_int_equal(m.path.size, strlen(path));
	assert_memory_equal(m.path.data, path, m.path.size);
	assert_int_equal(m.gsym.size, symbols_size);
	if (symbols_size > 0)
		assert_memory_equal(m.gsym.data, symbols, symbols_size);
}

static void a_message_is_read_as_it_was_written(void **state)
{
	(void)state;
	struct ux_out out = make_message();
	expect_message(ux_out_bytes(&out), strlen(symbols));
	ux_out_deinit(&out);
}

static void read_prefix(struct ux_bytes bytes, void *ctx)
{
	const size_t *head = ctx;
	struct ux_agent_message m;
	if (bytes.size >= *head) /* the symbols have their own form, which the server checks */
		expect_message(bytes, bytes.size - *head);
	else
		assert_int_not_equal(ux_agent_message_parse(bytes, &m, NULL), UX_OK);
}

static void no_prefix_of_a_head_is_a_message(void **state)
{
	(void)state;
	struct ux_out out = make_message();
	size_t head = out.size - strlen(symbols);
	each_prefix(ux_out_bytes(&out), read_prefix, &head);
	ux_out_deinit(&out);
}

static void each_changed_bit_of_a_head_is_noticed(void **state)
{
	(void)state;
	struct ux_out out = make_message();
	size_t head = out.size - strlen(symbols);
	for (size_t bit = 0; bit < 8 * head; bit++) {
		struct ux_agent_message m;
		out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_not_equal(ux_agent_message_parse(ux_out_bytes(&out), &m, NULL), UX_OK);
		out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	ux_out_deinit(&out);
}

static void a_long_path_is_cut(void **state)
{
	(void)state;
	static char long_path[2 * UX_AGENT_PATH_MAX];
	struct ux_out out = {0};
	struct ux_id id;
	memset(long_path, 'a', sizeof(long_path) - 1);
	assert_int_equal(ux_id_make(UX_ID_GO, UX_STR("x/y"), &id, NULL), UX_OK);
	struct ux_agent_message m = {.path = ux_bytes_cstr(long_path)}, read;
	assert_int_equal(ux_id_set_add(&m.ids, &id, NULL), UX_OK);
	ux_agent_message_write_head(&out, &m);
	assert_int_equal(ux_agent_message_parse(ux_out_bytes(&out), &read, NULL), UX_OK);
	assert_int_equal(read.path.size, UX_AGENT_PATH_MAX);
	assert_int_equal(read.gsym.size, 0);
	ux_out_deinit(&out);
}

UX_SUITE(agent_queue)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_read_as_it_was_written),
		cmocka_unit_test(no_prefix_of_a_head_is_a_message),
		cmocka_unit_test(each_changed_bit_of_a_head_is_noticed),
		cmocka_unit_test(a_long_path_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
