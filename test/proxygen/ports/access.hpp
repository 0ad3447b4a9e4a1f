#pragma once
namespace access {
struct Base {
    virtual ~Base() = default;
    virtual int narrowed(int) = 0;
    virtual int narrowed(double) = 0;
protected:
    virtual int widened(int) = 0;
    virtual int used(int) = 0;
};
class Port : public Base { // changes who may call what
    int narrowed(int) override = 0;
    int narrowed(double) override = 0;
public:
    int widened(int) override = 0;
    using Base::used;
};
class Secret {
public:
    virtual ~Secret() = default;
    virtual int hidden() { return 1; }
};
struct Private : private Secret {
    virtual int shown(int) = 0;
    int call() { return hidden(); }
};
class Factory {
public:
    virtual ~Factory() = default;
    virtual int f(int) = 0;
    virtual int made() const { return 3; }
private:
    Factory() = default; // whoever derives from it copies one
    friend struct Maker;
};
}
