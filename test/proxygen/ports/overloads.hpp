#pragma once
#include <string>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"
namespace overloads {
struct Base {
    virtual ~Base() = default;
    virtual int f(char) = 0;
    virtual int g(int) { return 1; }
};
struct Port : Base {
    using Base::f;
    virtual int f(int) = 0;
    virtual int f(int &) = 0;
    virtual int f(long) const = 0;
    virtual int f(double, double) = 0;
    virtual int f(const std::string &) = 0;
    virtual int f(std::string &&) = 0;
    virtual int f(std::string &) = 0;
    virtual int at(int) = 0;
    virtual int at(int) const = 0;
    virtual int g(double) { return 2; } // hides Base::g
    int f(void *) { return 100; }
};
}
#pragma GCC diagnostic pop
