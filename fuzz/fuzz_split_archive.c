/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: a wheel or JAR with libraries that are split, as a file in a folder. The first byte
 * chooses the options. If its highest bit is set, members follow, and an archive with correct
 * checksums is made from them, so that the fuzzer reaches their content: each is the length of its
 * name (one byte), the size of its content (two, little-endian), the name and the content.
 */
#include "fuzz.h"

#include "elf_file.h"
#include "file.h"
#include "split.h"
#include "zip_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#define WHEEL "a-1-py3-none-any.whl"
#define DEBUG "a-1-py3-none-any-debug-symbols.zip"

enum {
	FROM_MEMBERS = 1 << 7,
	WRITTEN_MAX = 2, /* files in the folder: the archive and the archive of debug files */
};

/* In memory if possible, since the files are synced. */
static char folder[32] = "/dev/shm/unhex-fuzz-XXXXXX";

/* Removes the files of the folder and returns how many there were. */
static unsigned folder_clear(void)
{
	unsigned n = 0;
	DIR *dir = opendir(folder);
	fuzz_truth(dir != NULL);
	for (struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] == '.' && strspn(e->d_name, ".") == strlen(e->d_name))
			continue;
		fuzz_truth(unlinkat(dirfd(dir), e->d_name, 0) == 0);
		n++;
	}
	closedir(dir);
	return n;
}

static void folder_remove(void)
{
	folder_clear();
	(void)rmdir(folder);
}

static void folder_make(void)
{
	static bool made;
	if (made)
		return;
	if (!mkdtemp(folder)) {
		snprintf(folder, sizeof(folder), "/tmp/unhex-fuzz-XXXXXX");
		fuzz_truth(mkdtemp(folder) != NULL);
	}
	atexit(folder_remove);
	fuzz_truth(setenv("PATH", "/nonexistent", 1) == 0); /* dsymutil is not run */
	made = true;
}

static void pack_members(struct ux_bytes from, struct ux_out *ret)
{
	ux_cleanup(ux_zip_writer_deinit) struct ux_zip_writer w = {.sink = fuzz_collect,
								   .ctx = ret};
	while (from.size >= 3) {
		size_t name = from.data[0], size = from.data[1] | (size_t)from.data[2] << 8;
		from = ux_bytes(from.data + 3, from.size - 3);
		name = ux_min(name, from.size);
		size = ux_min(size, from.size - name);
		fuzz_truth(ux_zip_writer_add(&w, ux_bytes(from.data, name),
					     ux_bytes(from.data + name, size), 0, 33,
					     NULL) == UX_OK);
		from = ux_bytes(from.data + name + size, from.size - name - size);
	}
	fuzz_truth(ux_zip_writer_end(&w, NULL) == UX_OK);
}

static void wheel_write(struct ux_bytes content, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/" WHEEL, folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	fuzz_truth(fd >= 0);
	fuzz_truth(write(fd, content.data, content.size) == (ssize_t)content.size);
	close(fd);
}

static bool file_is(const char *path, struct ux_bytes want)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	fuzz_truth(ux_file_map(path, &file, NULL) == UX_OK);
	return ux_bytes_eq(file.bytes, want);
}

/* The archive that was written has the same members in the same order. */
static void check_archive(const char *path, struct ux_bytes before)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_zip_close) struct ux_zip_file old = {0}, new = {0};
	fuzz_truth(ux_file_map(path, &file, NULL) == UX_OK);
	fuzz_truth(ux_zip_open(&old, before, NULL) == UX_OK);
	fuzz_truth(ux_zip_open(&new, file.bytes, NULL) == UX_OK);
	fuzz_truth(old.members.size == new.members.size);
	for (size_t i = 0; i < old.members.size; i++)
		fuzz_truth(ux_bytes_eq(old.members.data[i].name, new.members.data[i].name));
}

/* Each member of the archive of debug files is an ELF file. */
static void check_debug(const char *path)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_zip_close) struct ux_zip_file zip = {0};
	ux_cleanup(ux_out_deinit) struct ux_out content = {0};
	fuzz_truth(ux_file_map(path, &file, NULL) == UX_OK);
	fuzz_truth(ux_zip_open(&zip, file.bytes, NULL) == UX_OK);
	fuzz_truth(zip.members.size > 0);
	for (size_t i = 0; i < zip.members.size; i++) {
		ux_out_reset(&content);
		fuzz_truth(ux_zip_read(&zip.members.data[i], &content, NULL) == UX_OK);
		fuzz_truth(ux_elf_is(ux_out_bytes(&content)));
	}
}

static void count_member(void *ctx, const char *member, const struct ux_split_result *result,
			 const struct ux_error *why)
{
	unsigned *n = ctx;
	fuzz_truth(member && (result != NULL) != (why != NULL));
	*n += result != NULL;
}

static void split(struct ux_bytes wheel, const struct ux_split_options *options)
{
	ux_cleanup(ux_split_result_deinit) struct ux_split_result result = {0};
	struct ux_error err = UX_ERROR_INIT;
	char path[PATH_MAX], debug[PATH_MAX];
	unsigned members = 0;
	wheel_write(wheel, path);
	snprintf(debug, sizeof(debug), "%s/" DEBUG, folder);
	enum ux_code code = ux_dwo_file(path, options, count_member, &members, &result, &err);
	fuzz_truths_of_error(code, &err, SIZE_MAX);
	bool written = code == UX_OK && !options->dry_run;
	if (!written)
		fuzz_truth(file_is(path, wheel));
	if (code == UX_OK && result.archive)
		fuzz_truth(members > 0 && result.before == wheel.size);
	if (written && result.archive) {
		check_archive(path, wheel);
		check_debug(debug);
	}
	unsigned files = folder_clear();
	fuzz_truth(files == (written ? WRITTEN_MAX : 1));
}

FUZZ_TARGET(split_archive)(const uint8_t *data, size_t size)
{
	ux_cleanup(ux_out_deinit) struct ux_out packed = {0};
	if (size == 0)
		return 0;
	struct ux_bytes rest = ux_bytes(data + 1, size - 1);
	const struct ux_split_options options = {
		.pair = {.strip = (enum ux_strip)(data[0] % 4 % 3),
			 .compress = (enum ux_compress)(data[0] / 4 % 4),
			 .add_build_id = (data[0] & 16) != 0},
		.dry_run = (data[0] & 32) != 0,
		.epoch = data[0] & 64 ? 1000000000 : 0,
	};
	folder_make();
	if (data[0] & FROM_MEMBERS) {
		pack_members(rest, &packed);
		rest = ux_out_bytes(&packed);
	}
	split(rest, &options);
	return 0;
}
