/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI says of cubins. No GPU is needed, only the toolkit: built by tests/e2e/test_cuda.py.
 *
 *   cupti_lines LIBCUPTI crc FILE...          a line each: the number by which CUPTI names it
 *   cupti_lines LIBCUPTI lines CUBIN <QUERIES  of each line "FUNCTION OFFSET": "DIR\tFILE\tLINE",
 *                                             or "-" when it knows nothing
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <dlfcn.h>

#include <cupti.h>
#include <cupti_pcsampling.h>

static std::string read_file(const char *path)
{
	std::ifstream in(path, std::ios::binary);
	return std::string(std::istreambuf_iterator<char>(in), {});
}

template <typename F> static F *load(void *library, const char *name)
{
	void *found = dlsym(library, name);
	if (!found) {
		fprintf(stderr, "no %s\n", name);
		exit(2);
	}
	return reinterpret_cast<F *>(found);
}

static int print_crcs(void *library, int argc, char **argv)
{
	auto *get = load<decltype(cuptiGetCubinCrc)>(library, "cuptiGetCubinCrc");
	for (int i = 0; i < argc; i++) {
		std::string cubin = read_file(argv[i]);
		CUpti_GetCubinCrcParams p = {};
		p.size = CUpti_GetCubinCrcParamsSize;
		p.cubin = cubin.data();
		p.cubinSize = cubin.size();
		if (get(&p) != CUPTI_SUCCESS)
			return 2;
		printf("%llx\n", static_cast<unsigned long long>(p.cubinCrc));
	}
	return 0;
}

static int print_lines(void *library, const char *path)
{
	auto *get = load<decltype(cuptiGetSassToSourceCorrelation)>(
		library, "cuptiGetSassToSourceCorrelation");
	std::string cubin = read_file(path);
	static char name[1 << 16];
	unsigned long long off = 0;
	while (scanf("%65535s %llu", name, &off) == 2) {
		CUpti_GetSassToSourceCorrelationParams p = {};
		p.size = CUpti_GetSassToSourceCorrelationParamsSize;
		p.cubin = cubin.data();
		p.cubinSize = cubin.size();
		p.functionName = name;
		p.pcOffset = off;
		if (get(&p) == CUPTI_SUCCESS)
			printf("%s\t%s\t%u\n", p.dirName ? p.dirName : "",
			       p.fileName ? p.fileName : "", p.lineNumber);
		else
			puts("-");
		free(p.fileName);
		free(p.dirName);
	}
	return 0;
}

int main(int argc, char **argv)
{
	void *library = argc >= 4 ? dlopen(argv[1], RTLD_NOW) : nullptr;
	if (!library) {
		fprintf(stderr, "usage: cupti_lines LIBCUPTI crc|lines FILE...\n");
		return 2;
	}
	if (strcmp(argv[2], "crc") == 0)
		return print_crcs(library, argc - 3, argv + 3);
	return print_lines(library, argv[3]);
}
