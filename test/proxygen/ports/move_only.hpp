#pragma once
#include <atomic>
#include <future>
#include <memory>
#include <vector>
namespace move_only {
struct Token {
    explicit Token(int i) : id(i) {}
    Token(Token &&other) noexcept : id(other.id) { other.id = 0; }
    Token &operator=(Token &&) = delete;
    int id;
};
struct Pinned { // can only be made in place
    explicit Pinned(int i) : id(i) {}
    Pinned(const Pinned &) = delete;
    int id;
};
class Port {
public:
    virtual ~Port() = default;
    virtual std::unique_ptr<int> pass(std::unique_ptr<int> p) = 0;
    virtual Token exchange(Token t, Token &&u) = 0;
    virtual Pinned make(int id) = 0;
    virtual std::future<int> later(std::promise<int> p) = 0;
    virtual std::vector<std::unique_ptr<int>> all(std::vector<std::unique_ptr<int>> list) = 0;
    virtual const Pinned &same(const Pinned &p) = 0;
    virtual void keep(std::unique_ptr<int> &&p) = 0;
};
}
