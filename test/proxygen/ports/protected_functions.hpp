#pragma once
#include <memory>
#include <string>
namespace protected_functions {
class Base {
protected:
    virtual int deep(int) const = 0;
    virtual int deep(const std::string &) const { return -1; }
public:
    virtual ~Base() = default;
    int go_deep(int i) const { return deep(i) + deep(std::string("abc")); }
};
class Port : public virtual Base {
public:
    int run(int i) { return before(i) + work(i) + work(std::make_unique<int>(i)) + std::move(*this).after(i); }
    virtual int visible(int) = 0;
protected:
    enum class Step { one, two };
    virtual int before(int) { return 1; }
    virtual int work(int n) noexcept = 0;
    virtual int work(std::unique_ptr<int> p) = 0;
    virtual int after(int) && = 0;
    virtual Step step(Step s, int n = 3) const = 0;
public:
    bool stepped() const { return step(Step::one) == Step::two; }
};
}
