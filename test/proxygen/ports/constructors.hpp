#pragma once
#include <string>
#include <utility>
namespace constructors {
class Copied { // has to be told its name, and can be copied
public:
    explicit Copied(std::string name) : name_(std::move(name)) {}
    virtual ~Copied() = default;
    virtual int f(int) = 0;
    const std::string &name() const { return name_; }
private:
    std::string name_;
};
class Argument { // can be neither made without arguments nor copied
public:
    virtual ~Argument() = default;
    virtual int f(int) = 0;
    int sum() const { return a_ + b_; }
protected:
    Argument(int a, int b) : a_(a), b_(b) {}
    Argument(const Argument &) = delete;
private:
    int a_, b_;
};
class Hidden {
protected:
    Hidden() = default;
    Hidden(const Hidden &) = delete;
    Hidden &operator=(const Hidden &) = delete;
public:
    virtual ~Hidden() = default;
    virtual int f(int) = 0;
};
}
