#pragma once
#include <stdexcept>
#define API __attribute__((visibility("default")))
namespace attributes {
struct [[deprecated("use New")]] Old { int i; };
class API Port {
public:
    virtual ~Port() = default;
    [[nodiscard]] virtual int checked(int) = 0;
    [[deprecated("use checked")]] virtual int old(int) = 0;
    [[noreturn]] virtual void fail(int code) = 0;
    __attribute__((warn_unused_result, nonnull(2))) virtual int gnu(const char *p) const = 0;
    virtual int unused([[maybe_unused]] int a, int /* no name */) = 0;
    [[nodiscard, deprecated]] virtual int both() = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    virtual Old relic(Old o) = 0;
#pragma GCC diagnostic pop
};
}
