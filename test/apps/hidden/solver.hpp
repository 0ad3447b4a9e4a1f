// All that there is of a component beside its library, which is stripped: see component.cpp.
#pragma once

#include <vector>

namespace vendor {

class Solver {
public:
    virtual ~Solver() = default;
    virtual double solve(int n, const std::vector<double> &start) = 0;
};

Solver *make_solver();

}
