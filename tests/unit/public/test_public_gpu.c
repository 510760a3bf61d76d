/* SPDX-License-Identifier: Apache-2.0 */
/* unhex/gpu.h, and GPU code as a module, through the installed headers alone. */
#include "test_public.h"

#include "make_cubin.h"
#include "make_fatbin.h"

/* Three rows of one kernel; CUPTI hands such bytes to a profiler. */
static struct ux_bytes make_kernel(struct make_cubin *m, uint64_t *ret_off)
{
	make_cubin_init(m, 90, /* cuda12= */ false);
	uint32_t section = make_cubin_section(m, ".text.k", 0x80);
	uint32_t k = make_cubin_function(m, "k", section, 0, 0x80);
	make_cubin_lines_begin(m, (const char *const[]){"/src", NULL},
			       (const char *const[]){"k.cu", NULL}, (const uint8_t[]){1});
	make_cubin_sequence(m, k);
	make_cubin_row(m, 0, 1, 7);
	make_cubin_inlined(m, 1, "in");
	make_cubin_row(m, 0x10, 1, 3);
	make_cubin_sequence_end(m, 0x80);
	make_cubin_lines_end(m);
	struct ux_bytes file = make_cubin_finish(m);
	*ret_off = m->elf.sections.data[section].off;
	return file;
}

static void cubin_in_memory_is_a_module(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_ids ids;
	struct ux_module *module = NULL;
	struct ux_frame frames[UX_FRAMES_MAX];
	uint64_t off = 0;
	size_t n = 0;
	struct ux_input in = input_of(make_kernel(&m, &off));
	assert_int_equal(ux_ids_read(&in, &ids, NULL), UX_OK);
	assert_int_equal(ids.n, 2);
	assert_int_equal(strncmp(ids.text[1], "cubin-crc:", 10), 0);
	assert_int_equal(ux_module_open(&in, NULL, &module, NULL), UX_OK);
	assert_int_equal(ux_module_lookup(module, off + 0x20, 0, frames, UX_FRAMES_MAX, &n, NULL),
			 UX_OK);
	assert_int_equal(n, 2);
	assert_string_equal(frames[0].function, "in");
	assert_int_equal(frames[0].line, 3);
	assert_string_equal(frames[1].function, "k");
	assert_int_equal(frames[1].line, 7);
	ux_module_close(module);
	make_cubin_deinit(&m);
}

static void gpu_code_of_a_fat_binary_is_chosen(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0};
	struct ux_extract_opts opts = {.size = sizeof(opts), .gpu = "sm_90"};
	struct ux_module_opts how = {.size = sizeof(how), .extract = &opts};
	struct ux_module *module = NULL;
	uint64_t off = 0;
	struct ux_bytes cubin = make_kernel(&m, &off);
	size_t at = make_fatbin_begin(&fat);
	for (uint32_t arch = 80; arch <= 90; arch += 10)
		make_fatbin_add(&fat, &(struct make_fatbin_entry){.arch = arch, .content = cubin});
	make_fatbin_end(&fat, at);
	struct ux_input in = input_of(ux_out_bytes(&fat));
	assert_int_equal(ux_module_open(&in, &how, &module, NULL), UX_OK);
	ux_module_close(module);
	opts.gpu = "sm_70";
	assert_int_equal(ux_module_open(&in, &how, &module, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_module_open(&in, NULL, &module, NULL), UX_ECONFLICT);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

/* A fat binary with the cubin, packed, and PTX. */
static struct ux_bytes make_pieces(struct ux_out *fat, struct ux_bytes cubin)
{
	size_t at = make_fatbin_begin(fat);
	make_fatbin_add(fat,
			&(struct make_fatbin_entry){
				.arch = 90, .flags = 0x2000, .name = "k.cu", .content = cubin});
	make_fatbin_add(fat, &(struct make_fatbin_entry){.kind = 1,
							 .arch = 80,
							 .content = UX_STR(".version 9.0\n//\n")});
	make_fatbin_end(fat, at);
	return ux_out_bytes(fat);
}

static enum ux_code collect(void *ctx, const void *data, size_t size)
{
	ux_out_put(ctx, data, size);
	return UX_OK;
}

static enum ux_code refuse(void *ctx, const void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return UX_EDENIED;
}

static bool count_function(void *ctx, const struct ux_gpu_function *f)
{
	uint64_t *starts = ctx;
	assert_string_equal(f->name, "k");
	assert_true(f->kernel);
	assert_int_equal(f->size, 0x80);
	assert_int_equal(f->index, 1);
	starts[0]++;
	starts[1] = f->start;
	return true;
}

static void gpu_code_is_reported_piece_by_piece(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0}, content = {0};
	struct ux_gpu *gpu = NULL;
	struct ux_gpu_piece piece = {.size = sizeof(piece)};
	struct ux_ids ids, same;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t off = 0, walked[2] = {0};
	struct ux_bytes cubin = make_kernel(&m, &off);
	struct ux_input in = input_of(make_pieces(&fat, cubin)), alone = input_of(cubin);
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 2);
	assert_int_equal(ux_gpu_damaged(gpu, &err), 0);
	assert_int_equal(err.code, UX_OK);
	assert_int_equal(ux_gpu_piece_at(gpu, 0, &piece, NULL), UX_OK);
	assert_int_equal(piece.number, 1);
	assert_int_equal(piece.kind, UX_GPU_CUBIN);
	assert_string_equal(piece.arch, "sm_90");
	assert_string_equal(piece.name, "k.cu");
	assert_int_equal(piece.off, 16);
	assert_int_equal(piece.bytes, cubin.size);
	assert_int_equal(ux_gpu_ids(gpu, 0, &ids, NULL), UX_OK);
	assert_int_equal(ux_ids_read(&alone, &same, NULL), UX_OK);
	assert_memory_equal(&ids, &same, sizeof(ids));
	assert_int_equal(ux_gpu_functions(gpu, 0, count_function, walked, NULL), UX_OK);
	assert_int_equal(walked[0], 1);
	assert_int_equal(walked[1], off);
	assert_int_equal(ux_gpu_content(gpu, 0, collect, &content, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&content), cubin));
	assert_int_equal(ux_gpu_content(gpu, 0, refuse, NULL, NULL), UX_EDENIED);
	ux_gpu_close(gpu);
	ux_gpu_close(NULL);
	ux_out_deinit(&content);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

static void ptx_is_reported_as_what_it_is(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0}, content = {0};
	struct ux_gpu *gpu = NULL;
	struct ux_gpu_piece piece = {.size = sizeof(piece)};
	struct ux_ids ids;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t off = 0;
	struct ux_input in = input_of(make_pieces(&fat, make_kernel(&m, &off)));
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_piece_at(gpu, 1, &piece, NULL), UX_OK);
	assert_int_equal(piece.kind, UX_GPU_PTX);
	assert_string_equal(piece.arch, "compute_80");
	assert_string_equal(piece.name, "");
	assert_string_equal(ux_gpu_kind_name((enum ux_gpu_kind)piece.kind), "ptx");
	assert_int_equal(ux_gpu_ids(gpu, 1, &ids, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "GPU code 2 is ptx: expected a cubin, which has addresses");
	assert_int_equal(ux_gpu_functions(gpu, 1, count_function, NULL, NULL), UX_EUNSUPPORTED);
	assert_int_equal(ux_gpu_content(gpu, 1, collect, &content, NULL), UX_OK);
	assert_true(ux_bytes_eq(ux_out_bytes(&content), UX_STR(".version 9.0\n//\n")));
	assert_int_equal(ux_gpu_piece_at(gpu, 2, &piece, NULL), UX_EINVAL);
	piece.size = 8;
	assert_int_equal(ux_gpu_piece_at(gpu, 1, &piece, NULL), UX_EINVAL);
	ux_gpu_close(gpu);
	ux_out_deinit(&content);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

static void cubin_alone_is_its_own_piece_and_other_files_have_none(void **state)
{
	(void)state;
	struct make_cubin m;
	struct make_elf elf;
	struct ux_gpu *gpu = NULL;
	struct ux_gpu_piece piece = {.size = sizeof(piece)};
	uint64_t off = 0, walked[2] = {0};
	struct ux_input in = input_of(make_kernel(&m, &off));
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 1);
	assert_int_equal(ux_gpu_piece_at(gpu, 0, &piece, NULL), UX_OK);
	assert_string_equal(piece.arch, "sm_90");
	assert_int_equal(ux_gpu_functions(gpu, 0, count_function, walked, NULL), UX_OK);
	assert_int_equal(walked[0], 1);
	ux_gpu_close(gpu);
	make_cubin_deinit(&m);
	in = input_of(make_binary(&elf, 1));
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 0);
	ux_gpu_close(gpu);
	make_elf_deinit(&elf);
	in = input_of(UX_STR("neither"));
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 0);
	ux_gpu_close(gpu);
}

static void walk_pieces(struct ux_bytes input, void *ctx)
{
	struct ux_input in = input_of(input);
	struct ux_gpu *gpu = NULL;
	(void)ctx;
	if (ux_gpu_open(&in, &gpu, NULL) != UX_OK)
		return;
	for (size_t i = 0; i < ux_gpu_count(gpu); i++) {
		struct ux_gpu_piece piece = {.size = sizeof(piece)};
		struct ux_ids ids;
		ux_cleanup(ux_out_deinit) struct ux_out content = {0};
		assert_int_equal(ux_gpu_piece_at(gpu, i, &piece, NULL), UX_OK);
		assert_non_null(piece.name);
		(void)!ux_gpu_ids(gpu, i, &ids, NULL);
		(void)!ux_gpu_content(gpu, i, collect, &content, NULL);
	}
	ux_gpu_close(gpu);
}

static void damaged_gpu_code_is_read_cleanly(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0};
	uint64_t off = 0;
	struct ux_bytes file = make_pieces(&fat, make_kernel(&m, &off));
	each_prefix(file, walk_pieces, NULL);
	each_bit_flip(file, walk_pieces, NULL);
	fat.data[0x18] = 0xff; /* the first entry leaves the container */
	fat.data[0x1c] = 0xff;
	struct ux_input in = input_of(ux_out_bytes(&fat));
	struct ux_gpu *gpu = NULL;
	struct ux_error first;
	assert_int_equal(ux_gpu_open(&in, &gpu, NULL), UX_OK);
	assert_int_equal(ux_gpu_count(gpu), 0);
	assert_int_equal(ux_gpu_damaged(gpu, &first), 1);
	assert_int_equal(first.code, UX_ECORRUPT);
	ux_gpu_close(gpu);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

static enum ux_code open_pieces(void *ctx)
{
	struct ux_gpu *gpu = NULL;
	enum ux_code code = ux_gpu_open(ctx, &gpu, NULL);
	ux_gpu_close(gpu);
	return code;
}

static void lack_of_memory_for_pieces_is_reported(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_out fat = {0};
	uint64_t off = 0;
	struct ux_input in = input_of(make_pieces(&fat, make_kernel(&m, &off)));
	assert_true(each_failed_alloc(open_pieces, &in, /* may_recover= */ false) > 3);
	ux_out_deinit(&fat);
	make_cubin_deinit(&m);
}

UX_SUITE(public_gpu)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(cubin_in_memory_is_a_module),
		UX_TEST(gpu_code_of_a_fat_binary_is_chosen),
		UX_TEST(gpu_code_is_reported_piece_by_piece),
		UX_TEST(ptx_is_reported_as_what_it_is),
		UX_TEST(cubin_alone_is_its_own_piece_and_other_files_have_none),
		UX_TEST(damaged_gpu_code_is_read_cleanly),
		UX_TEST(lack_of_memory_for_pieces_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
