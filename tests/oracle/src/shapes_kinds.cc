// SPDX-License-Identifier: Apache-2.0
// Constructors in their two variants, virtual functions, destructors.
#include "shapes.h"

namespace shapes {

static int made;

shape::shape(int n) : id(n)
{
	made++;
}

shape::~shape()
{
	made--;
}

box::box(int n, double w, double h) : shape(n), corner{w, h}
{
}

double box::area() const
{
	return corner.dot({corner.y, 0});
}

disc::disc(int n, double r) : shape(n), radius(detail::clamp(static_cast<int>(r), 0, 1000))
{
}

disc::~disc() = default;

double disc::area() const
{
	return 3.14159 * radius * radius;
}

double measure(const shape &s)
{
	double a = s.area();
	{
		double scaled = a * 2;
		if (scaled > 100) {
			point<double> p{scaled, a};
			return p.dot(p);
		}
	}
	return a;
}

} // namespace shapes
