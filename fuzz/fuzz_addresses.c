/* SPDX-License-Identifier: Apache-2.0 */
/* Target: lines of addresses, as read from a pipe. Bit 0 of the first byte: all are hexadecimal. */
#include "fuzz.h"

#include "input.h"

#include <sys/mman.h>
#include <unistd.h>

FUZZ_TARGET(addresses)(const uint8_t *data, size_t size)
{
	static struct ux_address_reader reader; /* static because it is large */
	if (size == 0)
		return 0;
	int fd = memfd_create("addresses", MFD_CLOEXEC);
	fuzz_truth(fd >= 0);
	fuzz_truth(write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
	fuzz_truth(lseek(fd, 0, SEEK_SET) == 0);
	ux_address_reader_init(&reader, fd, data[0] & 1);
	struct ux_address_line requested;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t line = 0;
	while (ux_address_reader_next(&reader, &requested, &err)) {
		fuzz_truth(requested.line > line && requested.line <= size);
		fuzz_truth(requested.bad.size <= UX_ADDRESS_LINE_MAX);
		fuzz_truth(requested.bad.size == 0 ||
			   !memchr(requested.bad.data, '\n', requested.bad.size));
		line = requested.line;
	}
	fuzz_truth(err.code == UX_OK);
	close(fd);
	return 0;
}
