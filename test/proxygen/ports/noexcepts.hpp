#pragma once
#include <string>
namespace noexcepts {
constexpr bool never = true;
template <class T> struct Traits { static constexpr bool nothrow = sizeof(T) < 8; };
class Port {
public:
    virtual ~Port() noexcept(false) {}
    virtual int plain(int) noexcept = 0;
    virtual int computed(int) const noexcept(never && sizeof(int) == 4) = 0;
    virtual int old(int) throw() = 0;
    virtual int may(int) noexcept(false) = 0;
    virtual int trait(long) noexcept(Traits<long>::nothrow) = 0;
    virtual int &reference() & noexcept = 0;
    virtual void (*function(void (*f)() noexcept) noexcept)() noexcept = 0;
    virtual operator int() const noexcept = 0;
};
}
