/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files that contain no code for unhex, for messages. */
#include "file_kind.h"

#include "core_file.h"
#include "text.h"

#define UNPACK "; unpack it first"

#define VMLINUX "; its symbols are in vmlinux (Debian: linux-image-VERSION-dbg)"

#define MAGIC(literal) (literal), sizeof(literal) - 1

/* Magic numbers from libmagic and the formats' own specifications. */
static const struct file_kind {
	size_t off;
	const char *magic;
	size_t size; /* size of the magic number */
	const char *what;
} file_kinds[] = {
	{0, MAGIC("PK\003\004"), "a ZIP archive (a wheel, a jar, an apk)" UNPACK},
	{0, MAGIC("PK\005\006"), "an empty ZIP archive"},
	{0, MAGIC("!<arch>\ndebian-binary"), "a Debian package" UNPACK " (dpkg-deb -x)"},
	{0, MAGIC("!<arch>\n"), "a static library, whose members have no addresses yet"},
	{0, MAGIC("!<thin>\n"), "a thin static library, whose members have no addresses yet"},
	{0, MAGIC("\xed\xab\xee\xdb"), "an RPM package" UNPACK " (rpm2cpio)"},
	{257, MAGIC("ustar"), "a tar archive" UNPACK},
	{0, MAGIC("\037\213"), "compressed with gzip" UNPACK},
	{0, MAGIC("BZh"), "compressed with bzip2" UNPACK},
	{0, MAGIC("\3757zXZ\0"), "compressed with xz" UNPACK},
	{0, MAGIC("\x28\xb5\x2f\xfd"), "compressed with zstd" UNPACK},
	{0, MAGIC("7z\274\257\047\034"), "a 7z archive" UNPACK},
	{0, MAGIC("070701"), "a cpio archive" UNPACK},
	{0, MAGIC("hsqs"), "a squashfs image" UNPACK},
	/* Kernel images begin like Windows programs, so that firmware can start them. */
	{0x202, MAGIC("HdrS"), "a compressed kernel image" VMLINUX},
	{4, MAGIC("zimg"), "a compressed kernel image" VMLINUX},
	{56, MAGIC("ARM\x64"), "a kernel image without symbols" VMLINUX},
	{0, MAGIC("MZ"), "a Windows program (PE), which unhex does not read"},
	{0, MAGIC("Microsoft C/C++ MSF 7.00"),
	 "a Windows symbol file (PDB), which unhex does not read"},
	{0, MAGIC("\0asm"), "a WebAssembly module, which unhex does not read"},
	{0, MAGIC("BC\xc0\xde"), "LLVM bitcode, which has no addresses yet"},
	{0, MAGIC("PERFILE2"), "a perf recording"},
	{0, MAGIC("#!"), "a script"},
};

enum {
	TEXT_READ = 1024 /* bytes of a file that show whether it is text */
};

/* Text has no control characters but white space and the escapes of terminals. */
static bool file_is_text(struct ux_bytes file)
{
	size_t n = ux_min(file.size, (size_t)TEXT_READ);
	for (size_t i = 0; i < n; i++)
		if (file.data[i] < ' ' && !ux_is_space(file.data[i]) && file.data[i] != 0x1b)
			return false;
	return memchr(file.data, '\n', n) != NULL;
}

const char *ux_file_kind(struct ux_bytes file)
{
	if (file.size == 0)
		return "empty";
	for (size_t i = 0; i < ux_countof(file_kinds); i++) {
		const struct file_kind *k = &file_kinds[i];
		if (file.size >= k->off + k->size &&
		    memcmp(file.data + k->off, k->magic, k->size) == 0)
			return k->what;
	}
	if (ux_core_is(file))
		return "a core dump; unhex symbolize names its stacks, and unhex id lists its "
		       "modules";
	if (file_is_text(file))
		return "text; for a crash report use unhex symbolize";
	return NULL;
}
