#pragma once
#include <string>
namespace names {
struct Type { int i; };
enum Color { red, green };
#define FUNCTION(result, name, ...) virtual result name(__VA_ARGS__) = 0
class Port {
public:
    virtual ~Port() = default;
    // What the proxy itself might use, as names of arguments and of functions.
    virtual int call(int call, int forward, int target, int component, int instance) = 0;
    virtual int forward(int call_, int call, std::string call__) const = 0;
    virtual int invocation(int marple, int std) = 0;
    virtual int method(int marple_target_x, int marple_methods_x) = 0;
    virtual int size(const std::string &size) = 0;
    virtual int parameter(int, int arg1, int) = 0;
    virtual Type type(Type Type) = 0;
    virtual names::Color Color(names::Color) = 0;
    virtual int move(std::string &&move) = 0;
    virtual int begin() = 0;
    FUNCTION(int, from_macro, int a, int b);
    virtual int marple(int n) = 0;
};
}
