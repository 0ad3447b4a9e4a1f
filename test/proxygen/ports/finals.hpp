#pragma once
namespace finals {
class Base {
public:
    virtual ~Base() = default;
    virtual int open(int) = 0;
    virtual int closed(int i) = 0;
    virtual int overloaded(int) = 0;
    virtual int overloaded(double) = 0;
};
class Port : public Base {
public:
    int closed(int i) final { return open(i) * 2; }
    int overloaded(int i) final { return i + 1; }
    virtual int sealed() final { return 3; }
};
class Last final : public Port {
    using Port::overloaded;
public:
    int open(int i) override { return i; }
    int overloaded(double) override { return 0; }
};
}
