// SPDX-License-Identifier: Apache-2.0
// Counts the words of files again and again: something to profile for `./dev run`.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace words {

using counts = std::map<std::string, unsigned>;

static bool is_letter(char c)
{
	return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

static std::string lower(std::string word)
{
	std::transform(word.begin(), word.end(), word.begin(), [](char c) {
		return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
	});
	return word;
}

static void count(const std::string &text, counts &found)
{
	for (auto at = text.begin(); at != text.end();) {
		auto begin = std::find_if(at, text.end(), is_letter);
		auto end = std::find_if_not(begin, text.end(), is_letter);
		if (begin != end)
			found[lower(std::string(begin, end))]++;
		at = end;
	}
}

static std::vector<std::pair<unsigned, std::string>> most_frequent(const counts &found)
{
	std::vector<std::pair<unsigned, std::string>> order;
	for (const auto &[word, n] : found)
		order.emplace_back(n, word);
	std::sort(order.begin(), order.end(), std::greater<>());
	return order;
}

static std::string contents(const char *path)
{
	std::ifstream file(path, std::ios::binary);
	return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace words

int main(int argc, char **argv)
{
	for (int round = 0; round < 100000; round++) {
		words::counts found;
		for (int i = 1; i < argc; i++)
			words::count(words::contents(argv[i]), found);
		for (const auto &[n, word] : words::most_frequent(found))
			std::printf("%7u %s\n", n, word.c_str());
	}
}
