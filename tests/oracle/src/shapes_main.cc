// SPDX-License-Identifier: Apache-2.0
// A C++ program whose shapes the oracle test looks up: the library's templates inlined deep.
#include "shapes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

struct by_area {
	bool operator()(const std::unique_ptr<shapes::shape> &a,
			const std::unique_ptr<shapes::shape> &b) const
	{
		return a->area() < b->area();
	}
};

std::string label(int n)
{
	std::string s = "shape ";
	for (; n > 0; n /= 10)
		s.push_back(static_cast<char>('0' + n % 10));
	return s;
}

std::map<std::string, double> areas(int n)
{
	std::vector<std::unique_ptr<shapes::shape>> all;
	for (int i = 0; i < n; i++) {
		if (i % 2)
			all.push_back(std::make_unique<shapes::box>(i, i, i + 1));
		else
			all.push_back(std::make_unique<shapes::disc>(i, i));
	}
	std::sort(all.begin(), all.end(), by_area());
	std::map<std::string, double> result;
	for (const auto &s : all)
		result[label(s->number())] += shapes::measure(*s);
	return result;
}

} // namespace

int main(int argc, char **)
{
	double sum = 0;
	for (const auto &entry : areas(argc + 20))
		sum += entry.second + static_cast<double>(entry.first.size());
	shapes::bag<shapes::point<int>, 8> points;
	for (int i = 0; i < argc + 5; i++)
		points.put({i, argc});
	auto far = points.fold([](const shapes::point<int> &p) { return p + p; });
	int n = shapes::total(argc, 2.5, 'c', far.dot(far)) + shapes::with_lambdas(argc);
	try {
		n += shapes::risky(argc);
	} catch (const std::exception &e) {
		n += static_cast<int>(std::string(e.what()).size());
	}
	return sum + n + bare_assembly(argc) > 1e9;
}
