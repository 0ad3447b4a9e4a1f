#pragma once
#include <cstddef>
#include <string>
namespace operators {
class Port {
public:
    virtual ~Port() = default;
    virtual int operator+(int) const = 0;
    virtual int operator-() const = 0;
    virtual int operator*() = 0;
    virtual int operator*(double) const = 0;
    virtual int operator()(int, int) = 0;
    virtual int operator()() const = 0;
    virtual int &operator[](std::size_t) = 0;
    virtual const int &operator[](std::size_t) const = 0;
    virtual std::string *operator->() = 0;
    virtual int operator->*(int) = 0;
    virtual Port &operator+=(int) = 0;
    virtual Port &operator++() = 0;
    virtual int operator++(int) = 0;
    virtual bool operator==(const Port &) const = 0;
    virtual bool operator<(int) const = 0;
    virtual bool operator!() const = 0;
    virtual bool operator&&(bool) const = 0;
    virtual int operator~() const = 0;
    virtual Port &operator<<(const char *) = 0;
    virtual int operator>>(int) = 0;
    virtual int operator,(int) = 0;
    virtual int operator&() = 0;
    virtual Port &operator=(int) = 0;
    virtual int value() const = 0;
};
}
