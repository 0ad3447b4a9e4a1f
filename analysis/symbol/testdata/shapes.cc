// C++: namespaces, classes, templates, lambdas.
#include "probe.h"
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

volatile int one = 1;

namespace geo {

class Shape {
public:
	Shape(int n);
	virtual ~Shape();
	NOINLINE virtual int area(int k) const
	{
		PROBE("geo::Shape::area");
		return n * k;
	}
	NOINLINE bool operator<(const Shape &o) const
	{
		PROBE("geo::Shape::operator<");
		return n < o.n;
	}
	NOINLINE static int count(std::vector<int> v)
	{
		PROBE("geo::Shape::count");
		return v.size();
	}
	INLINE int inlined(int line1)
	{
		PROBE3("geo::Shape::inlined|geo::outside", line1, 0);
		return n;
	}

	int n;
};

NOINLINE Shape::Shape(int n) : n(n)
{
	PROBE("geo::Shape::Shape");
}

NOINLINE Shape::~Shape()
{
	PROBE("geo::Shape::~Shape");
}

namespace {

struct Hidden {
	NOINLINE int poke(int x)
	{
		PROBE("geo::(anonymous namespace)::Hidden::poke");
		return x * one;
	}
};

} // namespace

template <class T, int N> struct Grid {
	NOINLINE T step(T x)
	{
		PROBE("geo::Grid<int, 3>::step");
		return x * one;
	}
};

template <class T> struct Wide {
	NOINLINE int size(const T &x)
	{
		PROBE("geo::Wide<…>::size");
		return x.size();
	}
};

template <class T> NOINLINE T twice(T x)
{
	PROBE("geo::twice<double>");
	return x * 2 * one;
}

NOINLINE int outside(Shape &s)
{
	return s.inlined(__LINE__);
}

NOINLINE int call(const std::function<int(int)> &f, int x)
{
	return f(x);
}

NOINLINE int lambda(int x)
{
	auto f = [x](int y) NOINLINE {
		PROBE("geo::lambda::%::operator()");
		return x + y * one;
	};
	return call(f, 3);
}

// gcc calls the enclosing function by its unqualified name here.
NOINLINE int local(int x)
{
	struct Local {
		NOINLINE int go(int y)
		{
			PROBE("geo::local::Local::go");
			return y * one;
		}
	} l;
	return l.go(x);
}

} // namespace geo

extern "C" NOINLINE int c_linkage(int x)
{
	PROBE("c_linkage");
	return x;
}

static NOINLINE int file_static(int x)
{
	PROBE("file_static");
	return x * one;
}

extern "C" void run(void)
{
	int sum = 0;
	{
		geo::Shape a(one), b(2);
		sum += a.area(one) + (a < b) + geo::Shape::count({1, 2}) + geo::outside(a);
	}
	geo::Hidden h;
	geo::Grid<int, 3> g;
	geo::Wide<std::map<std::string, std::vector<std::string>>> w;
	sum += h.poke(one) + g.step(one) + w.size({{"a", {"b"}}});
	sum += (int)geo::twice(1.5 * one) + geo::lambda(one) + geo::local(one);
	sum += c_linkage(one) + file_static(one);
	std::printf("%d\n", sum);
}
