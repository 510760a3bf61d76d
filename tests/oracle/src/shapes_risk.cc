// SPDX-License-Identifier: Apache-2.0
// Exceptions with their landing pads, lambdas, local classes, a function that is never called.
#include "shapes.h"

#include <stdexcept>

namespace shapes {

namespace {
struct guard {
	int *count;
	explicit guard(int *c) : count(c)
	{
		++*count;
	}
	~guard()
	{
		--*count;
	}
};

template <int N> struct ladder {
	static int climb(int v)
	{
		return ladder<N - 1>::climb(v + N) + (v & N);
	}
};
template <> struct ladder<0> {
	static int climb(int v)
	{
		return v;
	}
};
} // namespace

int risky(int n)
{
	int depth = 0;
	guard outer(&depth);
	for (int i = 0; i < n; i++) {
		guard inner(&depth);
		if (i == 1000)
			throw std::runtime_error("a thousand");
		if (i > 2000)
			throw std::out_of_range("too many");
	}
	return ladder<6>::climb(n) + depth;
}

int with_lambdas(int n)
{
	struct local {
		static int twice(int v)
		{
			return v * 2;
		}
	};
	int calls = 0;
	auto once = [&calls](int v) {
		calls++;
		return local::twice(v);
	};
	auto outer = [&once, n](int v) {
		auto inner = [v](int w) { return detail::clamp(v - w, 0, 50); };
		return once(v) + inner(n);
	};
	return outer(n) + outer(calls) + total(n, calls);
}

template <typename T> static T dead_template(T v)
{
	return v * v + static_cast<T>(detail::clamp(static_cast<int>(v), 1, 9));
}

int nobody_calls_this(int n)
{
	return dead_template(n) + static_cast<int>(dead_template(2.5));
}

} // namespace shapes
