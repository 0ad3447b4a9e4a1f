#pragma once
#include <bitset>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
namespace unusual {
typedef int Function(int, double) const;
template <class T> struct Outer {
    struct Port {
        virtual ~Port() = default;
        virtual T get(const T &t, Outer<T> *o) = 0;
    };
};
extern "C++" {
struct Über {
    virtual ~Über() = default;
    virtual Function typed = 0;
    virtual int größe(int länge) = 0;
    virtual int a() = 0, *b(int) = 0, &c() const = 0;
    virtual int constant(const int n, const std::string s, const std::unique_ptr<int> p, int *const q) = 0; // p cannot be moved
    virtual void nx(int x) noexcept(noexcept(x + 1)) = 0;
    virtual std::chrono::duration<double, std::milli> duration(std::chrono::microseconds n) = 0;
    virtual std::variant<int, std::string> variant(std::optional<std::pair<int, char>> o) = 0;
    virtual std::bitset<64> bits(std::bitset<3> b) = 0;
    virtual std::pair<const char *const *, void (*)(int)> pair(char *const argv[]) = 0;
    struct { int x; } anonymous{5};
    virtual int nameless(decltype(anonymous) &a) = 0;
};
}
}
