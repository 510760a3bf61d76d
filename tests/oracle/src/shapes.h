/* SPDX-License-Identifier: Apache-2.0 */
/* Templates, classes and namespaces in a header. */
#ifndef SHAPES_H
#define SHAPES_H

#include <cstddef>
#include <cstdint>

namespace shapes
{

template <typename T> struct point {
	T x;
	T y;
	T dot(const point &o) const
	{
		return x * o.x + y * o.y;
	}
	point operator+(const point &o) const
	{
		return {x + o.x, y + o.y};
	}
};

template <typename T, std::size_t N> class bag
{
	T items[N] = {};
	std::size_t used = 0;

      public:
	void put(const T &v)
	{
		items[used++ % N] = v;
	}
	template <typename F> auto fold(F f) const
	{
		auto sum = f(items[0]);
		for (std::size_t i = 1; i < used && i < N; i++)
			sum = sum + f(items[i]);
		return sum;
	}
};

class shape
{
	int id;

      public:
	explicit shape(int n);
	virtual ~shape();
	virtual double area() const = 0;
	int number() const
	{
		return id;
	}
};

class box : public shape
{
	point<double> corner;

      public:
	box(int n, double w, double h);
	double area() const override;
};

class disc final : public shape
{
	double radius;

      public:
	disc(int n, double r);
	~disc() override;
	double area() const override;
};

namespace detail
{
inline int clamp(int v, int low, int high)
{
	return v < low ? low : v > high ? high : v;
}
} // namespace detail

template <typename... Ts> int total(Ts... values)
{
	int sum = 0;
	for (int v : {static_cast<int>(values)...})
		sum += detail::clamp(v, -100, 100);
	return sum;
}

double measure(const shape &s);
int risky(int n);
int with_lambdas(int n);

} // namespace shapes

extern "C" int bare_assembly(int v);
#endif
