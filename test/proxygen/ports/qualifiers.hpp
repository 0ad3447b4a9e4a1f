#pragma once
namespace qualifiers {
class Port {
public:
    virtual ~Port() {}
    virtual int plain(int) = 0;
    virtual int constant(int) const = 0;
    virtual int shaky(int) volatile = 0;
    virtual int both(int) const volatile = 0;
    virtual int lvalue(int) & = 0;
    virtual int rvalue(int) && = 0;
    virtual int each(int) & = 0;
    virtual int each(int) const & = 0;
    virtual int each(int) && = 0;
    virtual int each(int) const && = 0;
    virtual int volatiles(int) & = 0;
    virtual int volatiles(int) volatile & noexcept;
};
inline int Port::volatiles(int) volatile & noexcept { return -1; }
}
