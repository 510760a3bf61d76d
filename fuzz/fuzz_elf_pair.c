/* SPDX-License-Identifier: Apache-2.0 */
/* Target: an ELF file that is divided into a stripped file and a debug file. The first byte chooses
 * the options. */
#include "fuzz.h"

#include "debug_file.h"
#include "elf_pair.h"

static void divide(const struct ux_elf_pair *pair, size_t size)
{
	ux_cleanup(ux_elf_image_deinit) struct ux_elf_image debug = {0};
	ux_cleanup(ux_elf_image_deinit) struct ux_elf_image stripped = {0};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_debuglink link;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_elf_pair_debug(pair, &debug, &err);
	fuzz_truths_of_error(code, &err, SIZE_MAX);
	err = (struct ux_error)UX_ERROR_INIT;
	code = ux_elf_pair_stripped(pair, "x.debug", 0x12345678, &stripped, &err);
	fuzz_truths_of_error(code, &err, SIZE_MAX);
	if (code != UX_OK)
		return;
	fuzz_truth(ux_elf_image_write(&stripped, fuzz_collect, &out, NULL) == UX_OK);
	fuzz_truth(out.size == stripped.size);
	/* each section may be aligned, to a page at most */
	fuzz_truth(out.size <= 2 * size + (pair->elf.n_sections + 1) * UINT64_C(4096));
	if (ux_elf_pair_check(pair, ux_out_bytes(&out), NULL) != UX_OK)
		return;
	fuzz_truth(ux_elf_open(&elf, ux_out_bytes(&out), NULL) == UX_OK);
	fuzz_truth(elf.n_segments == pair->elf.n_segments);
	fuzz_truth(ux_debuglink_read(&elf, &link, NULL) == UX_OK);
	fuzz_truth(link.crc == 0x12345678 && strcmp(link.name, "x.debug") == 0);
}

FUZZ_TARGET(elf_pair)(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct ux_pair_options options = {
		.strip = (enum ux_strip)(data[0] % 3),
		.compress = (enum ux_compress)(data[0] / 4 % 4),
		.add_build_id = (data[0] & 64) != 0,
	};
	ux_cleanup(ux_elf_pair_close) struct ux_elf_pair pair = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes file = ux_bytes(data + 1, size - 1);
	enum ux_code code = ux_elf_pair_open(&pair, file, &options, &err);
	fuzz_truths_of_error(code, &err, SIZE_MAX);
	if (code == UX_OK)
		divide(&pair, size);
	return 0;
}
