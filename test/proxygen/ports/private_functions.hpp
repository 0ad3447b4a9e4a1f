#pragma once
#include <vector>
namespace private_functions {
// The non-virtual interface idiom: what is to be overridden is private.
class Port {
public:
    virtual ~Port() = default;
    int compute(int n) { return do_compute(n) + do_compute(n, 1.5) + hook(); }
    int constant() const { return do_constant({{1}, {2}}); }
private:
    struct Item { int i; };
    using Items = std::vector<Item>;
    virtual int do_compute(int n) = 0;
    virtual int do_compute(int n, double x) = 0;
    virtual int hook() { return 0; }
    virtual int do_constant(const std::vector<Item> &) const { return 3; }
    virtual int last() final { return 4; }
};
}
