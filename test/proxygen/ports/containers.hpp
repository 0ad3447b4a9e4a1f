#pragma once
#include <array>
#include <deque>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>
namespace containers {
template <class T> class Field { // the user's own
public:
    explicit Field(unsigned n) : n_(n) {}
    unsigned size() const { return n_; }
private:
    unsigned n_;
};
struct Sizeless { std::string size() const { return "large"; } };
class Port {
public:
    virtual ~Port() = default;
    virtual std::size_t pairs(const std::vector<std::pair<int, double>> &list) = 0;
    virtual std::size_t map(std::map<std::string, std::vector<std::array<float, 3>>> m) = 0;
    virtual std::size_t text(std::string_view s, const std::string &t, std::string u) = 0;
    virtual std::size_t list(std::initializer_list<int> l) = 0;
    virtual std::size_t field(const Field<double> &f, const Sizeless &s) = 0;
    virtual std::unordered_map<int, std::set<long>> make(std::deque<bool> d, std::tuple<int, char> t) const = 0;
    virtual std::size_t pointers(const std::vector<int> *p, std::vector<int *> &q) = 0;
    virtual std::size_t compared(const std::set<int, std::greater<>> &s, const std::map<int, int, std::greater<int>> &m) = 0;
};
}
