#include "containers_proxy.hpp"
#include "check.hpp"
struct Component : containers::Port {
    std::size_t pairs(const std::vector<std::pair<int, double>> &list) override { return list.size() + 1; }
    std::size_t map(std::map<std::string, std::vector<std::array<float, 3>>> m) override { return m.size() + 2; }
    std::size_t text(std::string_view s, const std::string &t, std::string u) override { return s.size() + t.size() + u.size(); }
    std::size_t list(std::initializer_list<int> l) override { return l.size() + 3; }
    std::size_t field(const containers::Field<double> &f, const containers::Sizeless &s) override { return f.size() + s.size().size(); }
    std::unordered_map<int, std::set<long>> make(std::deque<bool> d, std::tuple<int, char> t) const override
    {
        return {{std::get<0>(t), {static_cast<long>(d.size()), 5}}};
    }
    std::size_t pointers(const std::vector<int> *p, std::vector<int *> &q) override { q.push_back(nullptr); return p ? p->size() : 77; }
    std::size_t compared(const std::set<int, std::greater<>> &s, const std::map<int, int, std::greater<int>> &m) override { return s.size() * 10 + m.size(); }
};
int main()
{
    check::same<containers::PortProxy, Component>([](containers::Port &p, check::trace &t) {
        std::vector<int *> q;
        t << p.pairs({{1, 2.}, {3, 4.}}) << p.map({{"a", {{1, 2, 3}}}}) << p.text("ab", "cde", "fghi") << p.list({1, 2, 3, 4})
          << p.field(containers::Field<double>(9), {}) << p.make({true, false}, {8, 'x'}).at(8).size() << p.pointers(nullptr, q) << q.size()
          << p.compared({1, 2}, {{1, 1}});
    });
    auto &v = check::values;
    check::expect(v["pairs"]["list.size"] == 2 && v["map"]["m.size"] == 1 && v["list"]["l.size"] == 4 && v["field"]["f.size"] == 9, "sizes");
    check::expect(v["text"]["s.size"] == 2 && v["text"]["t.size"] == 3 && v["text"]["u.size"] == 4, "sizes of texts");
    check::expect(v["field"].size() == 1 && v["pointers"].size() == 1 && v["make"].size() == 1, "values that are none");
    return check::failures != 0;
}
