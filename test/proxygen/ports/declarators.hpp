#pragma once
namespace declarators {
struct Object {
    int member = 3;
    int function(int i) const { return i + member; }
    int quiet(int i) { return i; }
};
constexpr int N = 2;
class Port {
public:
    virtual ~Port() = default;
    virtual int (*function(int i))(int) = 0;
    virtual int (&array())[N] = 0;
    virtual int (*array_pointer() const noexcept)[N] = 0;
    virtual int Object::*member(int Object::*m) = 0;
    virtual int (Object::*method(int (Object::*m)(int) const, int (Object::*n)(int)))(int) const = 0;
    virtual int arrays(int (&a)[3], int (*b)[N], int c[], double d[4][N], const char *const e[]) = 0;
    virtual int functions(int f(int), int (&g)(int), int (*h)(int (*)(int), int), int (*const *i)(int)) = 0;
    virtual int (*(*nested(int (*(*f)())(int)))())(int) = 0;
    virtual const int (&constant(const int (&a)[N]))[N] = 0;
    virtual int (*array_of_functions(int (*(&table)[2])(int)))(int) = 0;
    virtual void *const *volatile *levels(void *const *volatile *p) = 0;
    virtual int moved(int (&&a)[2]) = 0;
};
}
