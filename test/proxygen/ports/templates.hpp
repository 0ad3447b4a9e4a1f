#pragma once
#include <array>
#include <complex>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>
namespace templates {
enum class Order { rows, columns };
template <class T, Order O, std::size_t... N> struct Tensor { std::vector<T> data; };
template <class T, class A = std::allocator<T>> class Source {
public:
    using value_type = T;
    using vector = std::vector<T, A>;
    virtual ~Source() = default;
    virtual vector read(typename vector::size_type n) = 0;
    virtual const T &peek(const T &fallback) const { return fallback; }
    virtual void write(value_type v, T *p, std::array<T, 3> a) = 0;
};
template <class D> class Sink { // knows what is derived from it
public:
    virtual ~Sink() = default;
    virtual D &self() = 0;
    virtual int put(const D &d) = 0;
};
template <class T> class Port : public Source<std::complex<T>>, public Sink<Port<T>> {
public:
    virtual Tensor<T, Order::columns, 3, 4> tensor(Tensor<T, Order::rows> t) = 0;
    virtual std::function<std::unique_ptr<T>(T)> function(std::function<T(Port &)> f) = 0;
    template <class U> U cast(T x) { return static_cast<U>(x); }
    virtual typename std::make_unsigned<int>::type trait(std::enable_if_t<std::is_floating_point_v<T>, int> i) = 0;
};
using RealPort = Port<double>;
}
