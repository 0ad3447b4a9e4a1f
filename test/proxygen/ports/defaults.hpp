#pragma once
#include <cstdlib>
#include <string>
#include <vector>
#define DEFAULT_SIZE 64
namespace defaults {
enum class Mode { sequential, strided = 4 };
struct Options { int a = 1; int b = 2; };
class Port {
    static constexpr int secret = 17;
    static int hidden(int i) { return i * 2; }
public:
    virtual ~Port() = default;
    virtual int plain(int n = 3) = 0;
    virtual int many(int a, int b = DEFAULT_SIZE, std::string c = "x, y", Mode d = Mode::strided, const Options &e = {}) const = 0;
    virtual int privately(int n = secret, int m = hidden(secret)) = 0;
    virtual int pointers(const char *text = "text", void *p = nullptr, int (*f)(int) = std::abs) = 0;
    virtual int containers(const std::vector<int> &v = {1, 2, 3}, std::vector<int> &&w = std::vector<int>(5)) = 0;
    virtual int overloaded(int a) = 0;
    virtual int overloaded(int a, int b, int c = 5) = 0;
    virtual double computed(double x = 1.5, std::size_t n = sizeof(Options) + DEFAULT_SIZE) & = 0;
    virtual int all(int a = 1, int b = 2) && = 0;
};
class Derived : public Port {
public:
    int plain(int n = 30) override = 0;
    int privately(int n, int m) override = 0;
};
}
