/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup_llvm single|cold GSYM ADDRESSES: the time of lookups by LLVM's GsymReader.
 * lookup_llvm symbolizer ELF ADDRESSES: by the library that llvm-symbolizer is, from DWARF.
 */
#include "lookup_cases.h"

#include <llvm/DebugInfo/GSYM/GsymReader.h>
#include <llvm/DebugInfo/Symbolize/Symbolize.h>

using llvm::gsym::GsymReader;

static GsymReader open_reader(const char *path)
{
	llvm::Expected<GsymReader> reader = GsymReader::openFile(path);
	if (reader)
		return std::move(*reader);
	fprintf(stderr, "%s: %s\n", path, llvm::toString(reader.takeError()).c_str());
	exit(2);
}

static void one_by_one(const GsymReader &reader, const uint64_t *pcs, size_t n, uint64_t &frames,
		       uint64_t &lines)
{
	for (size_t i = 0; i < n; i++) {
		llvm::Expected<llvm::gsym::LookupResult> found = reader.lookup(pcs[i]);
		if (!found) {
			llvm::consumeError(found.takeError());
			continue;
		}
		frames += found->Locations.size();
		for (const llvm::gsym::SourceLocation &location : found->Locations)
			lines += location.Line;
	}
}

static void single(const char *path, const uint64_t *pcs, size_t n)
{
	GsymReader reader = open_reader(path);
	uint64_t frames = 0, lines = 0;
	one_by_one(reader, pcs, n, frames, lines); /* warms up */
	frames = lines = 0;
	double start = lookup_now();
	one_by_one(reader, pcs, n, frames, lines);
	lookup_report(lookup_now() - start, n, frames, lines);
}

static void cold(const char *path, const uint64_t *pcs, size_t n)
{
	uint64_t frames = 0, lines = 0;
	double start = lookup_now();
	for (size_t i = 0; i < n; i++) {
		GsymReader reader = open_reader(path);
		one_by_one(reader, &pcs[i], 1, frames, lines);
	}
	lookup_report(lookup_now() - start, n, frames, lines);
}

static void from_dwarf(llvm::symbolize::LLVMSymbolizer &symbolizer, const char *path,
		       const uint64_t *pcs, size_t n, uint64_t &frames, uint64_t &lines)
{
	for (size_t i = 0; i < n; i++) {
		auto found = symbolizer.symbolizeInlinedCode(
			path, {pcs[i], llvm::object::SectionedAddress::UndefSection});
		if (!found) {
			llvm::consumeError(found.takeError());
			continue;
		}
		frames += found->getNumberOfFrames();
		for (uint32_t k = 0; k < found->getNumberOfFrames(); k++)
			lines += found->getFrame(k).Line;
	}
}

static void symbolizer(const char *path, const uint64_t *pcs, size_t n)
{
	llvm::symbolize::LLVMSymbolizer::Options options;
	options.Demangle = false;
	llvm::symbolize::LLVMSymbolizer symbolizer(options);
	uint64_t frames = 0, lines = 0;
	from_dwarf(symbolizer, path, pcs, n, frames, lines); /* reads the units and warms up */
	frames = lines = 0;
	double start = lookup_now();
	from_dwarf(symbolizer, path, pcs, n, frames, lines);
	lookup_report(lookup_now() - start, n, frames, lines);
}

int main(int argc, char **argv)
{
	size_t n = 0;
	if (argc != 4) {
		fprintf(stderr, "usage: lookup_llvm single|cold|symbolizer FILE ADDRESSES\n");
		return 2;
	}
	uint64_t *pcs = lookup_addresses(argv[3], &n);
	if (strcmp(argv[1], "cold") == 0)
		cold(argv[2], pcs, n);
	else if (strcmp(argv[1], "symbolizer") == 0)
		symbolizer(argv[2], pcs, n);
	else
		single(argv[2], pcs, n);
	free(pcs);
	return 0;
}
