// proxygen: --port declarators::Port
#include "declarators_proxy.hpp"
#include "check.hpp"
using declarators::Object;
static int twice(int i) { return 2 * i; }
static int thrice(int i) { return 3 * i; }
static int apply(int (*f)(int), int i) { return f(i); }
static int (*get())(int) { return twice; }
struct Component : declarators::Port {
    int a[2] = {1, 2};
    int (*function(int i))(int) override { return i ? twice : thrice; }
    auto array() -> int (&)[2] override { return a; }
    auto array_pointer() const noexcept -> int (*)[2] override { return const_cast<int (*)[2]>(&a); }
    int Object::*member(int Object::*m) override { return m; }
    int (Object::*method(int (Object::*m)(int) const, int (Object::*)(int)))(int) const override { return m; }
    int arrays(int (&x)[3], int (*b)[2], int c[], double d[4][2], const char *const e[]) override
    {
        return x[2] + (*b)[1] + c[0] + static_cast<int>(d[1][1]) + e[0][0];
    }
    int functions(int f(int), int (&g)(int), int (*h)(int (*)(int), int), int (*const *i)(int)) override { return f(1) + g(2) + h(twice, 3) + (*i)(4); }
    int (*(*nested(int (*(*f)())(int)))())(int) override { return f; }
    auto constant(const int (&x)[2]) -> const int (&)[2] override { return x; }
    int (*array_of_functions(int (*(&table)[2])(int)))(int) override { return table[1]; }
    void *const *volatile *levels(void *const *volatile *p) override { return p; }
    int moved(int (&&x)[2]) override { return x[1]; }
};
int main()
{
    return check::same<declarators::PortProxy, Component>([](declarators::Port &p, check::trace &t) {
        int a[3] = {1, 2, 3}, b[2] = {4, 5};
        double d[4][2] = {{1, 2}, {3, 4}};
        const char *const e[] = {"A"};
        int (*const f)(int) = twice;
        int (*table[2])(int) = {twice, thrice};
        Object o;
        t << p.function(1)(5) << p.function(0)(5) << p.array()[1] << (*p.array_pointer())[0] << o.*p.member(&Object::member)
          << (o.*p.method(&Object::function, &Object::quiet))(4) << p.arrays(a, &b, a, d, e) << p.functions(twice, thrice, apply, &f)
          << p.nested(get)()(8) << (&p.constant(b) == &b) << p.array_of_functions(table)(6) << (p.levels(nullptr) == nullptr) << p.moved({7, 8});
    });
}
