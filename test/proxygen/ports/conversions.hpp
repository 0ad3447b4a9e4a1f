#pragma once
#include <string>
namespace conversions {
struct Target { int i; };
typedef int (*Function)(int);
using Array = int[2];
class Port {
public:
    virtual ~Port() = default;
    virtual operator bool() const = 0;
    virtual explicit operator int() = 0;
    virtual operator const std::string &() const = 0;
    virtual operator Target *() = 0;
    virtual operator Target() && = 0;
    virtual operator Function() const = 0;
    virtual operator Array &() = 0;
    virtual operator double() const noexcept = 0;
};
}
