#pragma once
#include <cstdarg>
namespace variadic {
class Port {
public:
    virtual ~Port() = default;
    virtual int print(const char *format, ...) = 0;
    virtual int vprint(const char *format, va_list list) = 0;
    virtual int optional(int n, ...) { return n; }
    virtual int quiet(...) noexcept { return 2; }
    int all(const char *format, ...)
    {
        va_list list;
        va_start(list, format);
        int result = vprint(format, list);
        va_end(list);
        return result;
    }
};
}
