#pragma once
namespace destructors {
class Pure {
public:
    virtual ~Pure() = 0;
    virtual int f(int) = 0;
};
inline Pure::~Pure() {}
class Guarded { // is not to be deleted through the port
public:
    virtual int f(int) = 0;
protected:
    ~Guarded() = default;
};
class Throwing {
public:
    virtual ~Throwing() noexcept(false) = default;
    virtual int f(int) = 0;
};
}
