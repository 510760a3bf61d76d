/* SPDX-License-Identifier: Apache-2.0 */
/* Target: a file that is compressed as a whole. */
#include "fuzz.h"

#include "packed_file.h"

#include <sys/mman.h>

FUZZ_TARGET(packed_file)(const uint8_t *data, size_t size)
{
	struct ux_error err = UX_ERROR_INIT;
	struct ux_mapping m = {0};
	if (size == 0)
		return 0;
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fuzz_truth(at != MAP_FAILED);
	memcpy(at, data, size);
	m.bytes = ux_bytes(at, size);
	bool packed = ux_packed_is(m.bytes);
	enum ux_code code = ux_packed_open(&m, &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(packed || (code == UX_OK && m.bytes.data == at));
	fuzz_truth(code == UX_OK || m.bytes.data == at);
	fuzz_truth(m.bytes.size <= ((size_t)64 << 20) + 32 * size + 4096);
	uint8_t sum = 0; /* all of it can be read */
	for (size_t i = 0; i < m.bytes.size; i += 4096)
		sum ^= m.bytes.data[i];
	fuzz_truth(sum == 0 || m.bytes.size > 0);
	ux_file_unmap(&m);
	return 0;
}
