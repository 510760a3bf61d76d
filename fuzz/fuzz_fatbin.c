/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the GPU code in a file, unpacked.
 *
 * Truths: entries lie in the file, ascending in each run of containers; unpacked content has the
 * stated size; stored content is a slice of the file.
 */
#include "fuzz.h"

#include "cubin.h"
#include "cubin_crc.h"
#include "fatbin.h"

enum {
	UNPACKED_MAX = 1 << 24, /* bytes of all entries together: each may use up the limit */
};

static void look_at_cubin(struct ux_bytes bytes)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	uint64_t pc = 0;
	(void)ux_cubin_crc(bytes);
	if (!ux_cubin_is(bytes) || ux_elf_open(&elf, bytes, NULL) != UX_OK)
		return;
	fuzz_truth(ux_cubin_sm(&elf) <= UINT8_MAX);
	for (uint32_t i = 0; i < 16; i++)
		if (ux_cubin_pc(&elf, i, 0, &pc, NULL) == UX_OK)
			fuzz_truth(elf.n_sections > 0);
}

/* Returns the size of the unpacked content. */
static uint64_t look_at(const struct ux_fatbin_entry *e, struct ux_bytes file)
{
	struct ux_fatbin_content content;
	struct ux_error err = UX_ERROR_INIT;
	char text[UX_FATBIN_ARCH_TEXT];
	fuzz_truth(e->off < file.size);
	fuzz_truth(fuzz_inside(e->payload, file) && fuzz_inside(e->name, file));
	fuzz_truth(strchr(ux_fatbin_arch(e, text), '_') != NULL);
	enum ux_code code = ux_fatbin_unpack(e, NULL, &content, &err);
	fuzz_truths_of_error(code, &err, file.size);
	fuzz_truth(code != UX_OK || content.bytes.size == e->size);
	fuzz_truth(content.owned || fuzz_inside(content.bytes, file));
	look_at_cubin(content.bytes);
	ux_fatbin_content_free(&content);
	return e->size;
}

FUZZ_TARGET(fatbin)(const uint8_t *data, size_t size)
{
	struct ux_bytes file = ux_bytes(data, size);
	struct ux_fatbin_list list;
	uint64_t sum = 0;
	look_at_cubin(file);
	fuzz_truth(ux_fatbin_list_read(file, &list, NULL) == UX_OK);
	fuzz_truth(list.bad == 0 || list.reason.code != UX_OK);
	for (size_t i = 0; i < list.entries.size && sum < UNPACKED_MAX; i++)
		sum += look_at(&list.entries.data[i], file);
	ux_fatbin_list_deinit(&list);
	return 0;
}
