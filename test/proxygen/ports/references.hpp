#pragma once
#include <string>
#include <vector>
namespace references {
class Port {
public:
    virtual ~Port() = default;
    virtual int &element(std::size_t i) = 0;
    virtual const std::string &name() const = 0;
    virtual std::string &&give() = 0;
    virtual void fill(int &a, const int &b, int &&c) = 0;
    virtual std::string take(std::string &&s, const std::string &&t) = 0;
    virtual const int *where(const int &x) const = 0;
    virtual std::vector<int> copy(std::vector<int> v) = 0;
    virtual void swap(std::string &a, std::string &b) noexcept = 0;
    virtual int *const &pointer(int *const &p) = 0;
    virtual void (&call(void (&f)(int &)))(int &) = 0;
};
}
