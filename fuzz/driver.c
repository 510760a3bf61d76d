/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the named fuzz target once over each file given, so that every compiler can replay a corpus.
 */
#include "fuzz.h"

#include "file.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct fuzz_target *fuzz_targets;
static const struct fuzz_target *target;

int fuzz_input(const uint8_t *data, size_t size)
{
	return target->run(data, size);
}

static bool target_choose(const char *name)
{
	for (target = fuzz_targets; target && strcmp(target->name, name) != 0;
	     target = target->next)
		continue;
	return target != NULL;
}

/* Places the bytes before an unreadable page: a read past their end crashes in every build. */
static void run_guarded(struct ux_bytes bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (bytes.size + page - 1) & ~(page - 1);
	uint8_t *map =
		mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fuzz_truth(map != MAP_FAILED);
	uint8_t *at = map + room - bytes.size;
	if (bytes.size > 0)
		memcpy(at, bytes.data, bytes.size);
	fuzz_truth(mprotect(map, room + page, PROT_READ) == 0 || room == 0);
	fuzz_truth(mprotect(map + room, page, PROT_NONE) == 0);
	LLVMFuzzerTestOneInput(at, bytes.size);
	munmap(map, room + page);
}

static bool run_file(const char *path)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping map = {0};
	struct ux_error err = UX_ERROR_INIT;
	if (ux_file_map(path, &map, &err) != UX_OK) {
		char text[256];
		fprintf(stderr, "%s: %s\n", path, ux_error_format(&err, text, sizeof(text)));
		return false;
	}
	fprintf(stderr, "%s: %zu bytes\n", path, map.bytes.size);
	run_guarded(map.bytes);
	return true;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Runs the files of a folder in the order of their names; returns their number, or -1. */
static int run_folder(const char *path)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_visible, alphasort);
	bool ok = n >= 0;
	for (int i = 0; i < n; i++) {
		char file[PATH_MAX];
		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		ok = ok && run_file(file);
		free(entries[i]);
	}
	free(entries);
	return ok ? n : -1;
}

int main(int argc, char **argv)
{
	int count = 0;
	if (argc < 2 || !target_choose(argv[1])) {
		fprintf(stderr, "usage: replay TARGET FILE...; targets are fuzz_TARGET.c\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		struct stat st;
		bool folder = stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode);
		int n = folder ? run_folder(argv[i]) : run_file(argv[i]) ? 1 : -1;
		if (n < 0) {
			fprintf(stderr, "%s: cannot be replayed\n", argv[i]);
			return 1;
		}
		count += n;
	}
	fprintf(stderr, "%d inputs replayed\n", count);
	return count > 0 ? 0 : 1;
}
