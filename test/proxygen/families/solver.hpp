// A port that implementations of a family are behind.
#pragma once
#include <vector>

namespace exchange {

class Solver {
public:
    virtual ~Solver() = default;
    virtual double solve(const std::vector<double> &u, int order) = 0;
    virtual int sweep(int n) = 0;
    virtual int name() const = 0;
};

}
