/* SPDX-License-Identifier: Apache-2.0 */
/* bundle: archives of sources, written and read. */
#include "sweep.h"

#include "archive_calls.h"
#include "bundle.h"

static struct ux_out make_bundle(void)
{
	struct ux_out out = {0};
	struct ux_bundle_writer w;
	assert_int_equal(ux_bundle_writer_open(&w, &out, 1 << 20, NULL), UX_OK);
	assert_int_equal(ux_bundle_writer_add(&w, "/src/a.c", UX_STR("int a;\n"), NULL), UX_OK);
	assert_int_equal(ux_bundle_writer_add(&w, "/src/\xc3\xbc \xff.c", UX_STR("x"), NULL),
			 UX_OK);
	assert_int_equal(ux_bundle_writer_add(&w, "/src/none", UX_BYTES_NONE, NULL), UX_OK);
	assert_int_equal(ux_bundle_writer_end(&w, NULL), UX_OK);
	ux_bundle_writer_close(&w);
	return out;
}

static enum ux_code unpack(struct ux_bytes bundle, uint64_t max, struct ux_out *ret,
			   struct ux_error *err)
{
	ux_cleanup(ux_source_packer_deinit) struct ux_source_packer p = {.write = collect,
									 .ctx = ret};
	return ux_bundle_unpack(&calls, bundle, max, &p, err);
}

static void what_was_bundled_is_unpacked_under_its_name(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out bundle = make_bundle(), pack = {0};
	struct ux_packed_source *list = NULL;
	struct ux_error err = UX_ERROR_INIT;
	size_t n = 0;
	enum ux_code code = unpack(ux_out_bytes(&bundle), 1 << 20, &pack, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(code, UX_OK);
	assert_int_equal(ux_source_pack_read(ux_out_bytes(&pack), &arena, &list, &n, NULL), UX_OK);
	assert_int_equal(n, 3);
	assert_string_equal(list[0].path, "/src/a.c");
	assert_memory_equal(pack.data + list[0].off, "int a;\n", 7);
	assert_string_equal(list[1].path, "/src/none");
	assert_string_equal(list[2].path, "/src/\xc3\xbc \xff.c");
}

static void same_files_give_the_same_bytes(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out a = make_bundle(), b = make_bundle();
	assert_true(ux_bytes_eq(ux_out_bytes(&a), ux_out_bytes(&b)));
}

static void more_than_was_allowed_is_a_limit(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out bundle = make_bundle(), pack = {0}, small = {0};
	struct ux_bundle_writer w;
	static uint8_t noise[1 << 20];
	uint64_t seed = 1;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)((seed = seed * 6364136223846793005u + 1) >> 56);
	assert_int_equal(unpack(ux_out_bytes(&bundle), 7, &pack, NULL), UX_ELIMIT);
	assert_int_equal(ux_bundle_writer_open(&w, &small, 100000, NULL), UX_OK);
	enum ux_code code =
		ux_bundle_writer_add(&w, "/noise", ux_bytes(noise, sizeof(noise)), NULL);
	if (code == UX_OK)
		code = ux_bundle_writer_end(&w, NULL);
	assert_int_equal(code, UX_ELIMIT);
	ux_bundle_writer_close(&w);
}

static void unpack_any(struct ux_bytes bundle, void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out pack = {0};
	struct ux_packed_source *list = NULL;
	size_t n = 0;
	if (unpack(bundle, 1 << 20, &pack, NULL) == UX_OK)
		assert_int_equal(ux_source_pack_read(ux_out_bytes(&pack), &arena, &list, &n, NULL),
				 UX_OK);
}

static void damaged_bundle_is_an_error_or_a_pack(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out bundle = make_bundle();
	each_prefix(ux_out_bytes(&bundle), unpack_any, NULL);
	each_bit_flip(ux_out_bytes(&bundle), unpack_any, NULL);
}

static void what_is_no_archive_is_reported_by_its_beginning(void **state)
{
	(void)state;
	assert_int_equal(ux_bundle_check(UX_STR("int main(void);"), NULL), UX_EUNSUPPORTED);
	assert_int_equal(ux_bundle_check(UX_BYTES_NONE, NULL), UX_EUNSUPPORTED);
	assert_int_equal(ux_bundle_check(UX_STR("PK\3\4"), NULL), UX_OK);
}

UX_SUITE(bundle)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(what_was_bundled_is_unpacked_under_its_name),
		UX_TEST(same_files_give_the_same_bytes),
		UX_TEST(more_than_was_allowed_is_a_limit),
		UX_TEST(damaged_bundle_is_an_error_or_a_pack),
		UX_TEST(what_is_no_archive_is_reported_by_its_beginning),
	};
	return cmocka_run_group_tests(tests, load, NULL);
}
