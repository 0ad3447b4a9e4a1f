#pragma once
#include <string>
namespace bases {
// Unrelated bases with functions of the same name, and of the same signature.
struct Left {
    virtual ~Left() = default;
    virtual int f(int) = 0;
    virtual int only_left(int) = 0;
    virtual int both(int) = 0;
};
struct Right {
    virtual ~Right() = default;
    virtual int f(double) = 0;
    virtual int only_right(const std::string &) const = 0;
    virtual int both(int) = 0;
};
struct Middle : Right {
    int only_right(const std::string &) const override = 0; // declared again
    virtual int deeper() { return 5; }
};
struct Port : Left, Middle {
    virtual int own() = 0;
    int deeper() override { return 6; }
};
}
