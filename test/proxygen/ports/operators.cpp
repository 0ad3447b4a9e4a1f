#include "operators_proxy.hpp"
#include "check.hpp"
struct Component : operators::Port {
    int v = 10, list[3] = {1, 2, 3};
    std::string s = "text";
    int operator+(int i) const override { return v + i; }
    int operator-() const override { return -v; }
    int operator*() override { return v; }
    int operator*(double d) const override { return static_cast<int>(v * d); }
    int operator()(int a, int b) override { return a * b; }
    int operator()() const override { return 6; }
    int &operator[](std::size_t i) override { return list[i]; }
    const int &operator[](std::size_t i) const override { return list[2 - i]; }
    std::string *operator->() override { return &s; }
    int operator->*(int i) override { return i + 8; }
    Port &operator+=(int i) override { v += i; return *this; }
    Port &operator++() override { ++v; return *this; }
    int operator++(int) override { return v++; }
    bool operator==(const Port &p) const override { return v == p.value(); }
    bool operator<(int i) const override { return v < i; }
    bool operator!() const override { return !v; }
    bool operator&&(bool b) const override { return v && b; }
    int operator~() const override { return ~v; }
    Port &operator<<(const char *t) override { s += t; return *this; }
    int operator>>(int i) override { return v >> i; }
    int operator,(int i) override { return i + 9; }
    int operator&() override { return 11; }
    Port &operator=(int i) override { v = i; return *this; }
    int value() const override { return v; }
};
int main()
{
    return check::same<operators::PortProxy, Component>([](operators::Port &p, check::trace &t) {
        const operators::Port &c = p;
        p[0] = 30;
        ++p;
        p += 4;
        p << "more" << "text";
        t << p + 1 << -p << *p << p * 2.5 << p(2, 3) << c() << p[0] << c[0] << p->size() << (p->*1) << p++ << (p == p) << (p < 3) << !p << (p && true)
          << ~p << (p >> 1) << (p, 5) << &p << p.value();
        p = 3;
        t << p.value();
    });
}
