#pragma once
#include <string>
#include <vector>
namespace trailing {
inline std::vector<int> list = {1, 2, 3};
class Port {
public:
    struct Inner { int i; };
    virtual ~Port() = default;
    virtual auto plain(int i) -> std::string = 0;
    virtual auto inner() const -> Inner = 0;
    virtual auto deduced(double x, int i) -> decltype(x * i) = 0;
    virtual auto function(int i) noexcept -> int (*)(int) = 0;
    virtual decltype(list) &reference() = 0;
    virtual decltype(nullptr) null(decltype(nullptr) p) = 0;
    virtual auto nothing(int &i) -> void = 0;
    virtual auto operator[](int i) & -> decltype(list[0]) = 0;
};
}
